"""Transcript files taken apart: the cells of a CSV, TSV, JSONL or Parquet file, where each stands, and the way back.

The files' half of `formats`: nothing here knows what a column means. A text file is taken apart only as far as needed
to know where each cell stands, so that writing it again splices the changed cells into the original text.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from charset_normalizer import from_bytes

from redactkit.tables import InputError

DELIMITERS = ",;\t|"
_HALVED = re.compile("[\ud800-\udfff]")  # half a surrogate pair: JSON can spell it, no encoding can hold it
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


class _Cell(NamedTuple):
    value: object
    start: int  # where its raw form stands in the file's text, code points, half-open
    end: int


@dataclass
class TextSource:
    """A CSV, TSV or JSONL file as its text and the place of every cell in it."""

    names: list[str]
    rows: list[dict[str, _Cell]]
    text: str
    codec: str
    bom: bytes
    spell: Callable[[str, str], str]  # (new value, raw form of the old cell) -> raw form of the new
    suffix: str

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> pd.Series:
        return pd.Series([row[name].value if name in row else None for row in self.rows], dtype=object)

    def texts(self, name: str, where: str) -> list[str]:
        """The cells as text: null and absent are "", a number is spelled as in the file."""
        out = []
        for row in self.rows:
            value, start, end = row.get(name, _Cell(None, 0, 0))
            if isinstance(value, (list, dict)) or (isinstance(value, str) and _HALVED.search(value)):
                kind = "half a surrogate pair" if isinstance(value, str) else f"a {type(value).__name__}"
                at = f"{where}, line {_line(self.text, start)}, column {name}"
                raise InputError(f"{at}: expected text, found {kind}. Give one plain text a cell.")
            out.append(value if isinstance(value, str) else "" if value is None else self.text[start:end])
        return out

    def rewrite(self, edits: dict[tuple[int, str], str], where: str) -> bytes:
        parts: list[str] = []
        at = 0
        absent = next((row + 1 for row, name in edits if name not in self.rows[row]), None)
        if absent:
            raise InputError(
                f"{where}, row {absent}: there is no cell to put the new value in. Leave that turn as it is."
            )
        changed = [(self.rows[row][name][1:], new) for (row, name), new in edits.items()]
        for (start, end), new in sorted(changed):
            parts += [self.text[at:start], self.spell(new, self.text[start:end])]
            at = end
        return self.bom + encode("".join(parts) + self.text[at:], self.codec, where)


class ParquetSource:
    """A Parquet file as its Arrow table, whose schema and metadata are written again."""

    suffix = ".parquet"

    def __init__(self, data: bytes, where: str) -> None:
        try:
            self.table = pq.ParquetFile(pa.BufferReader(data)).read()
        except (pa.ArrowException, OSError):
            raise InputError(f"{where}: not a Parquet file, or a damaged one. Write it again.") from None
        self.names: list[str] = self.table.column_names

    def __len__(self) -> int:
        return self.table.num_rows

    def column(self, name: str) -> pd.Series:
        return self.table.column(self.names.index(name)).to_pandas()

    def texts(self, name: str, where: str) -> list[str]:
        out = []
        for row, value in enumerate(self.table.column(name).to_pylist(), 1):
            if isinstance(value, (list, dict, bytes)):
                kind = type(value).__name__
                raise InputError(
                    f"{where}, row {row}, column {name}: expected text, found {kind}. Give one text a cell."
                )
            out.append("" if value is None or value != value else str(value))  # NaN is the number unlike itself
        return out

    def rewrite(self, edits: dict[tuple[int, str], str], where: str) -> bytes:
        table = self.table
        for name in dict.fromkeys(name for _, name in edits):
            place = self.names.index(name)
            old = table.schema.field(place)
            values = table.column(place).to_pylist()
            held = old.type.value_type if pa.types.is_dictionary(old.type) else old.type
            if not (pa.types.is_string(held) or pa.types.is_large_string(held) or pa.types.is_string_view(held)):
                old = old.with_type(pa.string())  # a number has been redacted: the column can only go on as text
                values = [None if v is None else str(v) for v in values]
            new = [edits.get((row, name), value) for row, value in enumerate(values)]
            table = table.set_column(place, old, pa.array(new, type=old.type))
        out = pa.BufferOutputStream()
        pq.write_table(table, out)
        return out.getvalue().to_pybytes()


def take_apart(data: bytes, suffix: str, where: str) -> TextSource | ParquetSource:
    if suffix == ".parquet" or (not suffix and data.startswith(b"PAR1")):
        return ParquetSource(data, where)
    text, codec, bom = _decode(data, where)
    if not text.strip():
        raise InputError(f"{where}: the file is empty. Give a transcript with a header or at least one turn.")
    if suffix == ".jsonl" or (not suffix and text.lstrip()[:1] in ("{", "[")):
        return _json_lines(text, codec, bom, where)
    outside = re.sub(r'"[^"]*"', "", text).lstrip("\r\n")
    header = re.split(r"[\r\n]", outside, maxsplit=1)[0]
    delimiter = "\t" if suffix == ".tsv" else max(DELIMITERS, key=header.count)
    return _delimited(text, codec, bom, delimiter, where)


def _json_lines(text: str, codec: str, bom: bytes, where: str) -> TextSource:
    rows, start = [], 0
    for number, line in enumerate(text.split("\n"), 1):  # not splitlines: JSON text may hold U+2028 and U+0085
        if line.strip():
            rows.append(_members(line, start, f"{where}, line {number}"))
        start += len(line) + 1
    names = list(dict.fromkeys(name for row in rows for name in row))
    ascii_only = text.isascii()
    return TextSource(names, rows, text, codec, bom, lambda new, _: json_text(new, ascii_only, codec), ".jsonl")


def _members(line: str, offset: int, at: str) -> dict[str, _Cell]:
    """The members of the object on a line, each with the place of its value in the whole text."""
    try:
        known = json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(f"{at}: not JSON. Give one JSON object a line.") from None
    if not isinstance(known, dict):
        raise InputError(f"{at}: not a JSON object but a {type(known).__name__}. Give one JSON object a line.")
    cells: dict[str, _Cell] = {}
    place = _skip(line, line.index("{") + 1)
    while line[place] != "}":
        place = _skip(line, place + 1) if line[place] == "," else place
        key, place = _DECODER.raw_decode(line, place)
        start = _skip(line, _skip(line, place) + 1)  # past the colon
        value, end = _DECODER.raw_decode(line, start)
        if key in cells:
            raise InputError(f"{at}: the key {key!r} stands there twice. Keep one of them.")
        cells[key] = _Cell(value, offset + start, offset + end)
        place = _skip(line, end)
    return cells


def _skip(line: str, place: int) -> int:
    return _SPACE.match(line, place).end()  # type: ignore[union-attr]  # it matches nothing, too


def json_text(value: object, ascii_only: bool = False, codec: str = "utf-8") -> str:
    """JSON in the file's habit: with \\u escapes where it uses nothing else, or where its encoding has no other way."""
    raw = json.dumps(value, ensure_ascii=ascii_only, default=str)
    return raw if raw.encode(codec, "ignore").decode(codec) == raw else json.dumps(value, default=str)


def _delimited(text: str, codec: str, bom: bytes, delimiter: str, where: str) -> TextSource:
    header, *records = _records(text, delimiter, where)
    names = [str(cell.value) for cell in header]
    for record in records:
        if len(record) != len(names):
            at = f"{where}, line {_line(text, record[0].start)}"
            counts = f"{len(record)} cells where the header has {len(names)}"
            raise InputError(f"{at}: {counts}. Put quotes around a cell that holds {delimiter!r} or a line break.")
    rows = [dict(zip(names, record)) for record in records]
    suffix = ".tsv" if delimiter == "\t" else ".csv"
    return TextSource(
        names, rows, text, codec, bom, lambda new, old: _quoted(new, delimiter, old.startswith('"')), suffix
    )


def _records(text: str, delimiter: str, where: str) -> Iterator[list[_Cell]]:
    """The rows of a delimited file, blank lines left out; unlike the csv module's they know where each cell stands.

    Stricter than that module, too: it swallows half a file into one cell when a quote is not closed.
    """
    cell = re.compile(
        rf'(?:"(?P<quoted>[^"]*+(?:""[^"]*+)*+)"|(?!")(?P<plain>[^{delimiter}\r\n]*+))'
        rf"(?P<stop>[{delimiter}]|\r\n|\r|\n|\Z)"
    )
    row: list[_Cell] = []
    place = 0
    while place < len(text) or row:
        match = cell.match(text, place)
        if not match:
            raise InputError(
                f"{where}, line {_line(text, place)}: the quote that opens a cell here is not closed at its end. "
                'Close it, and write a quote inside a quoted cell twice ("").'
            )
        value = match["plain"] if match["quoted"] is None else match["quoted"].replace('""', '"')
        row.append(_Cell(value, match.start(), match.start("stop")))
        place = match.end()
        if match["stop"] != delimiter:
            if len(row) > 1 or row[0].end > row[0].start:
                yield row
            row = []


def _quoted(value: str, delimiter: str, always: bool) -> str:
    if always or any(c in value for c in f'{delimiter}"\r\n'):
        return '"' + value.replace('"', '""') + '"'
    return value


def delimited_lines(columns: pd.Index, rows: list[dict], suffix: str) -> Iterator[str]:
    delimiter = "\t" if suffix == ".tsv" else ","
    for cells in [list(columns), *(row.values() for row in rows)]:
        spelled = ("" if v is None else json_text(v) if isinstance(v, (list, dict)) else str(v) for v in cells)
        yield delimiter.join(_quoted(cell, delimiter, always=False) for cell in spelled)


def parquet_bytes(turns: pd.DataFrame, where: str) -> bytes:
    out = pa.BufferOutputStream()
    try:
        pq.write_table(pa.Table.from_pandas(turns, preserve_index=False), out)
    except (pa.ArrowException, UnicodeEncodeError):
        raise InputError(f"{where}: a column mixes kinds that Parquet keeps apart. Write it as .jsonl.") from None
    return out.getvalue().to_pybytes()


def _line(text: str, place: int) -> int:
    return len(re.findall(r"\r\n|\r|\n", text[:place])) + 1


# --- encodings ---------------------------------------------------------------------------------------------------


def _decode(data: bytes, where: str) -> tuple[str, str, bytes]:
    """Text, codec and byte order mark; the three give the same bytes again."""
    bom, codec = next(((mark, name) for mark, name in _BOMS if data.startswith(mark)), (b"", ""))
    body = data[len(bom) :]
    codec = codec or _codec(body, where)
    try:
        text = body.decode(codec)
    except UnicodeDecodeError as problem:
        raise InputError(f"{where}: byte {problem.start + len(bom)} is not {codec}. Save the file as UTF-8.") from None
    if "\0" in text:
        at = f"{where}, line {_line(text, text.index(chr(0)))}"
        raise InputError(f"{at}: a NUL byte; the file is damaged, or UTF-16 without its mark. Save it as UTF-8.")
    if text.encode(codec) != body:
        raise InputError(f"{where}: its encoding ({codec}) cannot be written back as it was. Save the file as UTF-8.")
    return text, codec, bom


def _codec(body: bytes, where: str) -> str:
    try:
        body.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError as problem:
        line = body[: problem.start].count(b"\n") + 1
    lossy = body.decode("utf-8", "replace")
    if sum(c > "\x7f" and c != "\ufffd" for c in lossy) > lossy.count("\ufffd"):
        raise InputError(f"{where}, line {line}: damaged UTF-8; most of the file is UTF-8, this is not. Save it again.")
    # Latin-1 and its kin put single high bytes between plain letters; other scripts come in runs. The guesser is
    # asked about the runs only: on a few accented letters it sees Polish or Korean.
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", body)]
    if 2 * sum(run for run in runs if run > 2) < sum(runs):
        return "latin-1" if re.search(rb"[\x81\x8d\x8f\x90\x9d]", body) else "cp1252"
    best = from_bytes(body).best()
    if best is None:
        raise InputError(f"{where}, line {line}: the encoding cannot be told. Save the file as UTF-8.")
    return best.encoding


def encode(text: str, codec: str, where: str) -> bytes:
    try:
        return text.encode(codec)
    except UnicodeEncodeError as problem:
        sign = f"U+{ord(text[problem.start]):04X}"
        raise InputError(f"{where}: {codec} has no way to write {sign}. Save the input as UTF-8.") from None
