"""Labelled corpora in the contract: `DIR/NAME/PART.turns.jsonl` with `.gold`, `.keep` and `.ignore` beside it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from redactkit.tables import InputError, check_turns, make_spans, read_rows, read_spans


class Corpus(NamedTuple):
    """Turns, spans to redact, spans that must stay, and spans left unlabelled in the source."""

    turns: pd.DataFrame
    gold: pd.DataFrame
    keep: pd.DataFrame
    ignore: pd.DataFrame


def load(folder: str | Path, name: str, part: str) -> Corpus:
    """One part ("train", "dev", "test") of one corpus; absent keep and ignore files are empty tables.

    Raises
    ------
    InputError : the turns or gold file is missing or malformed.
    """
    stem = Path(folder) / name / part
    turns = check_turns(read_rows(f"{stem}.turns.jsonl"), f"{stem}.turns.jsonl")
    gold = read_spans(f"{stem}.gold.jsonl", turns)
    return Corpus(turns, gold, *(_optional(f"{stem}.{kind}.jsonl", turns) for kind in ("keep", "ignore")))


def story_problems(folder: str | Path) -> list[str]:
    """The texts of the story problems in ``DIR/word_problems/*.jsonl`` (GSM8K and SVAMP in the public layout)."""
    files = sorted((Path(folder) / "word_problems").glob("*.jsonl"))
    if not files:
        raise InputError(f"{folder}/word_problems: no JSONL files there. Give the folder that holds the corpora.")
    return [text for file in files for text in read_rows(file)["text"]]


def _optional(path: str, turns: pd.DataFrame) -> pd.DataFrame:
    return read_spans(path, turns) if Path(path).is_file() else make_spans([])
