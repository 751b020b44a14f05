"""Systems side by side on the same turns: the cascade, its parts, and the baselines (PAPER.md R11–R13)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from redactkit import baselines, corpora, scoring
from redactkit.cascade import Bar, Cascade, Progress
from redactkit.corpora import Corpus
from redactkit.tables import InputError

SYSTEMS = ("offline", "proposer-a", "proposer-b", "union", "presidio", "spacy")
TEST_CORPORA = ("mathdial", "mathdial_collide", "talkmoves", "bridge")
SHARES = ("precision", "recall", "f1", "keep_share")
_COUNTS = ("tp", "fp", "fn", "partial")
System = Callable[[pd.DataFrame, Progress], pd.DataFrame]


def compare(parts: dict[str, Corpus], systems: list[str], bar: Bar) -> pd.DataFrame:
    """One row a corpus and system: shares with their 95 % intervals (`f1`, `f1_low`, `f1_high`), and counts.

    `bar` makes the progress bar of one system on one corpus from its title.

    Raises
    ------
    InputError : an unknown system.
    """
    check_systems(systems)
    run = _runners(systems)
    rows = []
    for name, data in parts.items():
        for system in systems:
            spans = run[system](data.turns, bar(f"{system} on {name}"))
            found = figures(data.gold, spans, data.turns, data.keep, data.ignore)
            rows.append({"corpus": name, "system": system, **found})
    return pd.DataFrame(rows)


def check_systems(names: list[str]) -> None:
    """Raise InputError unless every name is one of SYSTEMS."""
    for name in names:
        if name not in SYSTEMS:
            raise InputError(f"--system {name!r} is unknown; choose from {', '.join(SYSTEMS)}.")


def figures(
    gold: pd.DataFrame,
    pred: pd.DataFrame,
    turns: pd.DataFrame | None = None,
    keep: pd.DataFrame | None = None,
    ignore: pd.DataFrame | None = None,
) -> dict[str, float | int | None]:
    """The result of `scoring.evaluate` in one row; None where there is nothing to measure."""
    table = scoring.evaluate(gold, pred, turns, keep, ignore).set_index("metric")
    row: dict[str, float | int | None] = {}
    for metric in SHARES:
        for column, suffix in (("value", ""), ("low", "_low"), ("high", "_high")):
            number = float(table[column].loc[metric])
            row[metric + suffix] = round(number, 4) if number == number else None
    return row | {metric: int(table["value"].loc[metric]) for metric in _COUNTS}


def parts_of(folder: Path, part: str) -> dict[str, Corpus]:
    """The corpora of the README's table that are in `folder`. Raises InputError where none is."""
    found = {name: corpora.load(folder, name, part) for name in TEST_CORPORA if (folder / name).is_dir()}
    if not found:
        raise InputError(f"{folder}: holds none of {', '.join(TEST_CORPORA)}.")
    return found


def _runners(systems: list[str]) -> dict[str, System]:
    run: dict[str, System] = {"presidio": baselines.presidio, "spacy": baselines.spacy}
    if set(systems) - set(run):
        cascade = Cascade.load("offline")
        a, b = cascade.proposers
        run |= {"union": cascade.propose, "proposer-a": a.propose, "proposer-b": b.propose}
        run["offline"] = lambda turns, progress: cascade.decide(turns, progress=progress)
    return run
