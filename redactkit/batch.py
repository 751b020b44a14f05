"""One `redact` run over files: what is read, the names of what is written, and that nothing is ever half-written."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from redactkit.cascade import Bar, Cascade
from redactkit.formats import SUFFIXES, Columns, Transcript
from redactkit.replace import replace
from redactkit.tables import SPAN_COLUMNS, InputError, write_rows

AUDIT = "spans.jsonl"
_UNFINISHED = ".redactkit-unfinished"


def open_transcripts(path: str, out: Path | None, columns: Columns, roles: dict[str, str]) -> dict[str, Transcript]:
    """The transcripts of a file, a folder or stdin ("-"), by the name each will have under `out`.

    Raises
    ------
    InputError : nothing there, one of them cannot be read, or writing to `out` would overwrite something.
    """
    if path == "-":
        transcript = Transcript.open(sys.stdin.buffer.read(), columns=columns, roles=roles)
        found = {f"stdin{transcript.suffix}": transcript}
    else:
        if out is None:
            raise InputError("Give --out DIR, the folder for the redacted files.")
        files = _files(Path(path), out)
        _refuse_inputs(out, files)
        found = {name: Transcript.open(file, columns=columns, roles=roles) for name, file in files.items()}
    if out is not None:
        _refuse_strangers(out, found)
    return found


def redact_all(
    transcripts: dict[str, Transcript], cascade: Cascade, how: str, lexicon: list[tuple[str, str]] | None, bar: Bar
) -> tuple[dict[str, bytes], pd.DataFrame]:
    """Each redacted file's bytes by its name, and all decisions in one spans table.

    Where two files share a dialogue id, every id in the table is preceded by its file's name ("a.csv:1").
    """
    ids = [d for t in transcripts.values() for d in t.turns["dialogue_id"].unique()]
    shared = len(ids) != len(set(ids))
    contents, tables = {}, []
    for name, transcript in transcripts.items():
        spans = cascade.decide(transcript.turns, lexicon, bar(name))
        contents[name] = transcript.to_bytes(replace(transcript.turns, spans, how))
        tables.append(spans.assign(dialogue_id=f"{name}:" + spans["dialogue_id"]) if shared else spans)
    return contents, pd.concat(tables, ignore_index=True)[SPAN_COLUMNS]


def write_all(contents: dict[str, bytes], spans: pd.DataFrame, out: Path) -> None:
    """Write all files aside, then rename them, so that a run that breaks off leaves nothing by halves."""
    aside = out / _UNFINISHED
    shutil.rmtree(aside, ignore_errors=True)
    write_rows(spans, aside / AUDIT)
    for name, content in contents.items():
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        (aside / name).write_bytes(content)
    for name in (AUDIT, *contents):  # the audit first: it marks the folder as ours, should the rest break off
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (aside / name).replace(out / name)
    shutil.rmtree(aside)


def _files(source: Path, out: Path) -> dict[str, Path]:
    if not source.exists():
        raise InputError(f"{source}: no such file or folder.")
    if source.is_file():
        return {source.name: source}
    files = sorted(f for f in source.rglob("*") if f.is_file() and f.suffix.lower() in SUFFIXES)
    mine = {f.relative_to(source).as_posix(): f for f in files if out.resolve() not in f.resolve().parents}
    if not mine:
        raise InputError(f"{source}: no transcripts there; supported are {', '.join(SUFFIXES)}.")
    return mine


def _refuse_inputs(out: Path, files: dict[str, Path]) -> None:
    for name, file in files.items():
        if (out / name).resolve() == file.resolve():
            raise InputError(f"--out {out} would overwrite the input {file}. Choose another folder.")
        if name == AUDIT:
            raise InputError(f"{file}: its redacted copy would be called {AUDIT}, like the audit. Rename the input.")


def _refuse_strangers(out: Path, names: Iterable[str]) -> None:
    """A folder with an audit is an earlier run's and may be written again; other people's files are not overwritten."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file. Give a folder.")
    there = [n for n in names if (out / n).exists()]
    if there and not (out / AUDIT).exists():
        raise InputError(f"{out / there[0]} exists and is no earlier output of redactkit. Choose another --out.")
