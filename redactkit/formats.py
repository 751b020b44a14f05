"""Transcripts in and out: CSV, TSV, JSONL and Parquet as researchers have them, turned into turns and back.

This is the door before stage 1; the papers start from their platforms' own exports and say nothing of files. A text
file is taken apart only as far as needed to know where each cell stands. Writing it again splices the changed cells
into the original text, so every other character, and with it quoting, number formats, key order, line endings and
encoding, is the input's own. Excluded here: subtitles, documents, and JSON that is one array instead of a line a turn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields, replace
from pathlib import Path

import pandas as pd

from redactkit.roles import infer_role
from redactkit.sources import ParquetSource, TextSource, delimited_lines, encode, json_text, parquet_bytes, take_apart
from redactkit.tables import ROLES, TURN_COLUMNS, InputError, check_turns, whole_file

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")

# What columns are called, compared without case, spaces and underscores. The first group with a match decides; two
# matches in that group are ambiguous, because the one not chosen would be left as it is, with the names in it.
_NAMES: dict[str, tuple[str, ...]] = {
    "text": (
        "text utterance message content sentence body speech transcription "
        "turntext utterancetext messagetext messagebody messagecontent",
        "dialogue dialog transcript",
    ),
    "speaker": (
        "speaker speakername speakerlabel user username name from author sender sendername participant",
        "speakerid userid participantid authorid senderid",
        "role speakerrole speakertype participantrole",
    ),
    "role": ("role", "speakerrole speakertype participantrole userrole"),
    "dialogue": (
        "dialogueid dialogid",
        "sessionid cid conversationid transcriptid chatid lessonid threadid convid",
        "dialogue dialog session conversation transcript lesson",
    ),
    "turn": ("turnid", "turn turnno turnnumber turnindex turnnum utteranceid utteranceno utteranceindex"),
}


@dataclass(frozen=True)
class Columns:
    """Which column of the file holds what; None is guessed from the common names, or done without."""

    text: str | None = None
    speaker: str | None = None
    role: str | None = None
    dialogue: str | None = None
    turn: str | None = None


GUESSED = Columns()


@dataclass
class Transcript:
    """One transcript file: its turns, and the way back into the same file.

    Attributes
    ----------
    turns : the contract table in the file's row order, checked. Columns that the contract does not need are carried
        under their own names; those it was made from (text, speaker, …) appear under the contract's names only.
    columns : which column of the file each came from; None where the file has none.
    name : what errors call the file.
    """

    turns: pd.DataFrame = field(repr=False)
    columns: Columns
    name: str
    _source: TextSource | ParquetSource = field(repr=False)
    _data: bytes = field(repr=False)
    _own: pd.DataFrame = field(repr=False)  # the turns as read: the caller may have changed `turns` in place
    _path: Path | None = None

    @classmethod
    def open(
        cls,
        source: str | Path | bytes,
        *,
        columns: Columns = GUESSED,
        roles: Mapping[str, str] | None = None,
        name: str = "<stdin>",
    ) -> Transcript:
        """Read a transcript from a path, or from bytes whose format is told from their beginning.

        Parameters
        ----------
        columns : names set by the user; the rest is guessed.
        roles : speaker label → "tutor", "student" or "other"; wins over the role column and over inference.
        name : what to call a source of bytes, in errors and as the dialogue's id where the file has none.

        Raises
        ------
        InputError : the file is missing, empty, damaged or of another format, its text column is missing or not
            clear, a row is ragged, or the turns break the contract.
        """
        path = None if isinstance(source, bytes) else _existing(source)
        data = source if isinstance(source, bytes) else Path(source).read_bytes()
        where, stem = (str(path), path.stem) if path else (name, Path(name.strip("<>")).stem)
        taken_apart = take_apart(data, path.suffix.lower() if path else "", where)
        found = _find_columns(taken_apart.names, columns, where)
        turns, found = _turns(taken_apart, found, columns.turn is not None, _checked_roles(roles), stem, where)
        return cls(turns, found, where, taken_apart, data, turns.copy(), path)

    @property
    def suffix(self) -> str:
        """The format, as a file name ends: ".csv", ".tsv", ".jsonl" or ".parquet"."""
        return self._path.suffix.lower() if self._path else self._source.suffix

    def to_bytes(self, turns: pd.DataFrame) -> bytes:
        """The file again, in its own format, with the text and speaker cells of `turns` in place of its own.

        `turns` holds the same turns by (dialogue_id, turn_id), in any order. A cell whose value is unchanged keeps
        its bytes, also where it is null or a number; with nothing changed the result is the input, byte for byte.

        Raises
        ------
        InputError : a turn is missing or added, or the file's encoding lacks a character of a new cell.
        """
        edits = self._edits(check_turns(turns, self.name))
        return self._source.rewrite(edits, self.name) if edits else self._data

    def write(self, turns: pd.DataFrame, path: str | Path) -> None:
        """Write `to_bytes(turns)` to `path`, whole or not at all. Raises InputError also for the input's own path."""
        if self._path and Path(path).exists() and Path(path).samefile(self._path):
            raise InputError(f"{path}: this is the input itself, and an input is never overwritten. Name another path.")
        data = self.to_bytes(turns)
        with whole_file(path) as out:
            out.write(data)

    def _edits(self, turns: pd.DataFrame) -> dict[tuple[int, str], str]:
        """The new cells by (row of the file, column of the file)."""
        new = {(d, t): (x, s) for d, t, x, s in zip(*(turns[c] for c in ("dialogue_id", "turn_id", "text", "speaker")))}
        keys = list(zip(self._own["dialogue_id"], self._own["turn_id"]))
        for dialogue, turn in new.keys() ^ set(keys):
            state = "not among the turns to write" if (dialogue, turn) not in new else "not in the file"
            raise InputError(f"{self.name}: turn {turn} of dialogue {dialogue!r} is {state}. Give this file's turns.")
        edits = {}
        for row, (key, text, speaker) in enumerate(zip(keys, self._own["text"], self._own["speaker"])):
            if new[key][0] != text and self.columns.text:
                edits[row, self.columns.text] = new[key][0]
            if new[key][1] != speaker and self.columns.speaker:
                edits[row, self.columns.speaker] = new[key][1]
        return edits


def read(
    path: str | Path,
    *,
    text: str | None = None,
    speaker: str | None = None,
    role: str | None = None,
    dialogue: str | None = None,
    turn: str | None = None,
    roles: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Read a transcript file into a turns table; the options name columns, see `Columns` and `Transcript.open`."""
    return Transcript.open(path, columns=Columns(text, speaker, role, dialogue, turn), roles=roles).turns


def write(turns: pd.DataFrame, path: str | Path) -> None:
    """Write a turns table, further columns included, as the suffix of `path` says: whole or not at all, in UTF-8.

    Raises
    ------
    InputError : an unsupported suffix, a table that breaks the contract, or a value the format cannot hold.
    """
    suffix = _supported(Path(path))
    checked = check_turns(turns, str(path))
    if suffix == ".parquet":
        data = parquet_bytes(checked, str(path))
    else:
        rows = checked.astype(object).where(checked.notna(), None).to_dict("records")
        lines = map(json_text, rows) if suffix == ".jsonl" else delimited_lines(checked.columns, rows, suffix)
        data = encode("".join(line + "\n" for line in lines), "utf-8", str(path))
    with whole_file(path) as out:
        out.write(data)


# --- what the columns mean ---------------------------------------------------------------------------------------


def _find_columns(names: list[str], asked: Columns, where: str) -> Columns:
    found = {f.name: _asked(names, f.name, getattr(asked, f.name), where) for f in fields(Columns)}
    for part, name in found.items():
        if name is None:
            others = {taken for other, taken in found.items() if {part, other} != {"speaker", "role"}}
            found[part] = _guess([n for n in names if n not in others], part, names, where)
    if found["text"] is None:
        raise InputError(f"{where}: no column looks like the turns' text ({_listed(names)}). {_cure('text')}")
    return Columns(**found)


def _asked(names: list[str], part: str, name: str | None, where: str) -> str | None:
    if name is None:
        return None
    fits = [n for n in names if n == name] or [n for n in names if _folded(n) == _folded(name)]
    if len(fits) != 1:
        state = "there is no" if not fits else "there is more than one"
        raise InputError(f"{where}: {state} column {name!r} ({_listed(names)}). {_cure(part)}")
    return fits[0]


def _guess(free: list[str], part: str, names: list[str], where: str) -> str | None:
    own = {"dialogue": "dialogue_id", "turn": "turn_id"}.get(part, part)
    if set(TURN_COLUMNS) <= set(names) and own in free:
        return own  # a table in the contract needs no guess
    for group in _NAMES[part]:
        fits = [name for name in free if _folded(name) in group.split()]
        if len(fits) > 1:
            raise InputError(
                f"{where}: {' and '.join(fits)} could each be the {part} ({_listed(names)}). {_cure(part)}"
            )
        if fits:
            return fits[0]
    return None


def _folded(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def _listed(names: list[str]) -> str:
    """The columns found, shortened: in a file without a header they are a turn's own words."""
    return "columns found: " + ", ".join(name[:30] for name in names[:20]) + (", …" if len(names) > 20 else "")


def _cure(part: str) -> str:
    return f"Name it with --{part}-column NAME."


def _turns(
    source: TextSource | ParquetSource, found: Columns, strict: bool, roles: dict[str, str], stem: str, where: str
) -> tuple[pd.DataFrame, Columns]:
    """The contract table, and the columns it was made from."""
    dialogues = source.texts(found.dialogue, where) if found.dialogue else [stem] * len(source)
    numbers: list[int | str] = [_whole(cell) for cell in source.texts(found.turn, where)] if found.turn else []
    unique = len(set(zip(dialogues, numbers))) == len(source) and all(isinstance(n, int) for n in numbers)
    if not unique and not (strict or _folded(found.turn or "") == "turnid"):
        found = replace(found, turn=None)  # a guessed "turn" may count something else: the turn a sentence belongs to
    if not found.turn:
        numbers = [*pd.Series(dialogues, dtype=object).groupby(dialogues).cumcount().tolist()]
    speakers = source.texts(found.speaker, where) if found.speaker else [""] * len(source)
    cells = source.texts(found.role, where) if found.role else [""] * len(source)
    turns = {
        "dialogue_id": pd.Series(dialogues, dtype="str"),
        "turn_id": pd.Series(numbers, dtype="int64" if all(isinstance(n, int) for n in numbers) else object),
        "speaker": pd.Series(speakers, dtype="str"),
        "role": pd.Series([_role(cell, speaker, roles) for cell, speaker in zip(cells, speakers)], dtype="str"),
        "text": pd.Series(source.texts(str(found.text), where), dtype="str"),
    }
    consumed = {*TURN_COLUMNS, *astuple(found)}
    further = {name: source.column(name) for name in source.names if name not in consumed}
    return check_turns(pd.DataFrame(turns | further), where), found


def _whole(cell: str) -> int | str:
    """A turn number, also one that became "3.0" next to a null; anything else stays for `check_turns` to refuse."""
    number = re.fullmatch(r"(-?[0-9]{1,18})(?:\.0+)?", cell.strip())
    return int(number[1]) if number else cell


def _role(cell: str, speaker: str, roles: dict[str, str]) -> str:
    """The user's word first, then the role column's where it holds a known one, then the speaker label's."""
    cell, label = cell.strip().casefold(), speaker.strip().casefold()
    named = roles.get(label) or roles.get(cell) or (cell if cell in ROLES else None)
    return named or next((role for role in map(infer_role, (cell, label)) if role != "other"), "other")


def _checked_roles(roles: Mapping[str, str] | None) -> dict[str, str]:
    for label, role in (roles or {}).items():
        if role not in ROLES:
            raise InputError(f"--roles, {label!r}: {role!r} is no role. Use one of {', '.join(ROLES)}.")
    return {label.strip().casefold(): role for label, role in (roles or {}).items()}


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file. Give the path of a transcript ({', '.join(SUFFIXES)}).")
    _supported(path)
    return path


def _supported(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: {suffix or 'a file without a suffix'} is not supported. Use {', '.join(SUFFIXES)}.")
    return suffix
