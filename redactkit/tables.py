"""The one data contract: two DataFrames, turns and spans, that every stage takes and returns.

Checked once at the door (`check_turns`, `check_spans`) and trusted inside. Offsets count Python code points,
half-open, and ``text[start:end] == surface`` always holds. All errors of the toolkit come from the one family here.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
import regex

REDACT, KEEP = "REDACT", "KEEP"
ROLES = ("tutor", "student", "other")
TURN_COLUMNS = ["dialogue_id", "turn_id", "speaker", "role", "text"]
SPAN_COLUMNS = [
    "dialogue_id",
    "turn_id",
    "start",
    "end",
    "surface",
    "label",
    "source",
    "score",
    "decision",
    "p_redact",
    "route",
    "reason",
]
LEARNED_LABELS = ("Name", "School", "Address", "Username", "Date_of_Birth")
RULE_LABELS = ("Email", "URL", "IP_Address", "Phone_Number", "Identifying_Number", "Tutor_Provider")
LABELS = LEARNED_LABELS + RULE_LABELS
_KEY = ["dialogue_id", "turn_id"]
_LONGEST_CLUSTER = 256  # code points


class RedactKitError(Exception):
    """Base of every error the toolkit raises on purpose; its text says what is wrong, where, and what to do."""


class InputError(RedactKitError):
    """A transcript, table or option of the user's cannot be used as it is."""


class ModelError(RedactKitError):
    """A base model or a trained component is missing, altered or of the wrong kind."""


_TURNS = pa.DataFrameSchema(
    {
        "dialogue_id": pa.Column(str),
        "turn_id": pa.Column(int, pa.Check.ge(0)),
        "speaker": pa.Column(str),
        "role": pa.Column(str, pa.Check.isin(ROLES)),
        "text": pa.Column(str),
    },
    strict=False,
)
_SPANS = pa.DataFrameSchema(
    {
        "dialogue_id": pa.Column(str),
        "turn_id": pa.Column(int, pa.Check.ge(0)),
        "start": pa.Column(int, pa.Check.ge(0)),
        "end": pa.Column(int, pa.Check.ge(1)),
        "decision": pa.Column(str, pa.Check.isin((REDACT, KEEP)), required=False, nullable=True),
    },
    strict=False,
)
_CURES = {
    "column_in_dataframe": "add the column",
    "not_nullable": "fill the empty cell or drop the row",
    "greater_than_or_equal_to": "use whole numbers counted from 0",
    "isin": "use one of the allowed values",
}


def check_turns(turns: pd.DataFrame, where: str = "turns") -> pd.DataFrame:
    """Return `turns` with the contract's dtypes, or raise.

    Parameters
    ----------
    turns : columns dialogue_id, turn_id, speaker, role, text; any further columns pass untouched.
    where : what to call the table in an error, usually the file's path.

    Raises
    ------
    InputError : a column is missing, a cell is empty or of the wrong kind, or (dialogue_id, turn_id) repeats.
    """
    checked = _validate(_TURNS, turns, where)
    twice = checked.duplicated(_KEY).to_numpy()
    if twice.any():
        row = int(twice.argmax())
        dialogue, turn = checked.iloc[row][_KEY]
        raise InputError(
            f"{where}, row {row + 1}, column turn_id: turn {turn} of dialogue {dialogue!r} stands there twice. "
            "Number the turns of a dialogue 0, 1, 2, …, or leave turn_id out and it is counted for you."
        )
    return checked


def check_spans(spans: pd.DataFrame, turns: pd.DataFrame | None = None, where: str = "spans") -> pd.DataFrame:
    """Return `spans` with the contract's dtypes, or raise; with `turns`, every span is checked against its text.

    Missing optional columns are left out, not invented.

    Raises
    ------
    InputError : a column is missing or malformed, a span is empty, lies outside its turn, names a turn that is
        not there, or its surface is not ``text[start:end]``.
    """
    checked = _validate(_SPANS, spans, where)
    empty = (checked["end"] <= checked["start"]).to_numpy()
    if empty.any():
        raise InputError(
            f"{where}, row {int(empty.argmax()) + 1}, column end: the span is empty; end must exceed start."
        )
    if turns is not None:
        _check_against_text(checked, turns, where)
    return checked


def make_spans(rows: Iterable[dict], **defaults: object) -> pd.DataFrame:
    """Build a spans table with every contract column from dicts; absent values are `defaults` or missing."""
    frame = pd.DataFrame([{**defaults, **row} for row in rows], columns=SPAN_COLUMNS)
    whole = {"turn_id": "int64", "start": "int64", "end": "int64", "score": "float64", "p_redact": "float64"}
    text = {c: "str" for c in SPAN_COLUMNS if c not in whole}
    return frame.astype(whole | text)


def in_order(spans: pd.DataFrame, turns: pd.DataFrame) -> pd.DataFrame:
    """Spans sorted as a reader meets them: in the order of `turns`, then by start and end."""
    place = pd.Series(range(len(turns)), index=pd.MultiIndex.from_frame(turns[_KEY]))
    at = place.reindex(pd.MultiIndex.from_frame(spans[_KEY])).to_numpy()
    order = spans.assign(_at=at).sort_values(["_at", "start", "end"], kind="stable").index
    return spans.loc[order].reset_index(drop=True)


def text_of(turns: pd.DataFrame) -> dict[tuple[str, int], str]:
    """The text of each turn by (dialogue_id, turn_id)."""
    return dict(zip(zip(turns["dialogue_id"], turns["turn_id"]), turns["text"]))


def spans_by_turn(spans: pd.DataFrame) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """Distinct (start, end) pairs of each turn, sorted, by (dialogue_id, turn_id)."""
    out: dict[tuple[str, int], set[tuple[int, int]]] = {}
    for d, t, s, e in zip(spans["dialogue_id"], spans["turn_id"], spans["start"], spans["end"]):
        out.setdefault((d, t), set()).add((s, e))
    return {key: sorted(pairs) for key, pairs in out.items()}


def overlaps(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two half-open spans share a code point."""
    return a[0] < b[1] and b[0] < a[1]


def touching(spans: pd.DataFrame, others: pd.DataFrame) -> list[bool]:
    """For each row of `spans`, whether any of `others` overlaps it."""
    by_turn = spans_by_turn(others)
    keys = zip(spans["dialogue_id"], spans["turn_id"], spans["start"], spans["end"])
    return [any(overlaps((s, e), other) for other in by_turn.get((d, t), ())) for d, t, s, e in keys]


def whole_characters(text: str, start: int, end: int) -> tuple[int, int]:
    """Widen a span so that it cuts no character as a reader sees it (grapheme cluster: letter + accents, emoji)."""
    if text.isascii() and "\r" not in text:
        return start, end
    low, high = start, end
    # a cluster is short: looking from a little before the span keeps long turns linear
    for cluster in regex.finditer(r"\X", text, pos=max(0, start - _LONGEST_CLUSTER), endpos=end + _LONGEST_CLUSTER):
        if cluster.start() < start < cluster.end():
            low = cluster.start()
        if cluster.start() < end < cluster.end():
            high = cluster.end()
        if cluster.start() >= end:
            break
    return low, high


def read_rows(path: str | Path) -> pd.DataFrame:
    """Read a contract table (turns or spans) from JSONL or Parquet; an empty JSONL file is an empty table.

    Raises
    ------
    InputError : the file is missing, is neither kind, or a line is not a JSON object.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file. Give the path of a JSONL or Parquet table.")
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as problem:
            raise InputError(f"{path}, line {number}: not JSON ({problem.msg}). Give one JSON object a line.") from None
        if not isinstance(rows[-1], dict):
            raise InputError(f"{path}, line {number}: not a JSON object. Give one JSON object a line.")
    try:
        return pd.DataFrame(rows)
    except UnicodeEncodeError:
        raise InputError(
            f"{path}: a text holds half a surrogate pair (\\ud800–\\udfff). Write whole characters."
        ) from None


def read_spans(path: str | Path, turns: pd.DataFrame | None = None) -> pd.DataFrame:
    """Read and check a spans table; an empty file is a table without rows. Raises InputError as `check_spans`."""
    spans = read_rows(path)
    if spans.empty:
        return make_spans([])
    return check_spans(spans, turns, str(path))


def write_rows(rows: pd.DataFrame, path: str | Path) -> None:
    """Write a table as JSONL, whole or not at all: missing values become null, key order is column order."""
    with whole_file(path) as out:
        for record in rows.astype(object).where(rows.notna(), None).to_dict("records"):
            out.write((json.dumps(record, ensure_ascii=False) + "\n").encode())


@contextmanager
def whole_file(path: str | Path) -> Iterator:
    """Open a binary file that appears at `path` complete or not at all (written aside, then renamed)."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(aside, 0o666 & ~mask)  # mkstemp made it private; a finished file follows the user's umask
        os.replace(aside, path)
    finally:
        Path(aside).unlink(missing_ok=True)


def _validate(schema: pa.DataFrameSchema, frame: pd.DataFrame, where: str) -> pd.DataFrame:
    try:
        return schema.validate(_as_contract(frame))
    except UnicodeEncodeError:
        raise InputError(
            f"{where}: a text holds half a surrogate pair (U+D800–U+DFFF). Write whole characters."
        ) from None
    except pa.errors.SchemaError as problem:
        raise InputError(_explain(problem, frame, where)) from None


def _as_contract(frame: pd.DataFrame) -> pd.DataFrame:
    """Whole-number columns that arrived as floats (a null once stood in the file) become integers again."""
    out = frame.reset_index(drop=True)
    for column in ("turn_id", "start", "end"):
        if column in out and pd.api.types.is_float_dtype(out[column]) and (out[column] % 1 == 0).all():
            out[column] = out[column].astype("int64")
    for column in ("dialogue_id", "speaker", "role", "text", "decision"):
        if column in out and all(isinstance(v, str) or v is None for v in out[column]):
            out[column] = out[column].astype("str")
    return out


def _explain(problem: pa.errors.SchemaError, frame: pd.DataFrame, where: str) -> str:
    name = getattr(problem.check, "name", None) or str(problem.check).split("(")[0]
    if name == "column_in_dataframe":
        column = problem.failure_cases
        return f"{where}: column {column!r} is missing (found: {', '.join(map(str, frame.columns))}); add the column."
    column = problem.schema.name
    if name.startswith("dtype"):
        bad = next((i for i, v in enumerate(frame[column]) if not _fits(column, v)), 0)
        kind = "a whole number" if column in ("turn_id", "start", "end") else "text"
        return (
            f"{where}, row {bad + 1}, column {column}: expected {kind}, found {type(frame[column].iloc[bad]).__name__}."
        )
    row = int(problem.failure_cases["index"].iloc[0]) + 1
    allowed = f" ({', '.join(ROLES if column == 'role' else (REDACT, KEEP))})" if name == "isin" else ""
    return f"{where}, row {row}, column {column}: {_CURES.get(name, name)}{allowed}."


def _fits(column: str, value: object) -> bool:
    if column in ("turn_id", "start", "end"):
        return isinstance(value, int) or (isinstance(value, float) and value % 1 == 0)
    return isinstance(value, str)


def _check_against_text(spans: pd.DataFrame, turns: pd.DataFrame, where: str) -> None:
    texts = text_of(turns)
    surfaces = spans["surface"] if "surface" in spans else [None] * len(spans)
    for row, (d, t, s, e, surface) in enumerate(
        zip(spans["dialogue_id"], spans["turn_id"], spans["start"], spans["end"], surfaces), 1
    ):
        if (d, t) not in texts:
            raise InputError(
                f"{where}, row {row}: turn {t} of dialogue {d!r} is not among the turns. Give the matching turns file."
            )
        if e > len(texts[d, t]):
            raise InputError(
                f"{where}, row {row}, column end: {e} lies beyond the turn's {len(texts[d, t])} characters."
            )
        if isinstance(surface, str) and texts[d, t][s:e] != surface:
            raise InputError(
                f"{where}, row {row}, column surface: it is not text[{s}:{e}] of turn {t} of dialogue {d!r}. "
                "Offsets count Python code points (not bytes or UTF-16 units), end exclusive."
            )
