"""Cascade-aligned labels: what the reviewer should have answered for each candidate (PAPER.md R5, section 3.3.1).

Any overlap with a gold span → REDACT, none → KEEP. Candidates that touch only text left unlabelled in the source
teach nothing and are dropped. Gold that no candidate touches is lost to the reviewer: it is counted, not hidden.
"""

from __future__ import annotations

import pandas as pd

from redactkit.tables import KEEP, REDACT, touching


def label(candidates: pd.DataFrame, gold: pd.DataFrame, ignore: pd.DataFrame | None = None) -> pd.DataFrame:
    """`candidates` with `decision` set to the right answer; the rows and their order stay, less the ignored ones."""
    at_gold = touching(candidates, gold)
    out = candidates.assign(decision=[REDACT if hit else KEEP for hit in at_gold]).astype({"decision": "str"})
    if ignore is not None:
        unknown = [i and not g for i, g in zip(touching(candidates, ignore), at_gold)]
        out = out[[not u for u in unknown]]
    return out.reset_index(drop=True)


def counts(labelled: pd.DataFrame, gold: pd.DataFrame) -> pd.DataFrame:
    """One row: candidates labelled REDACT and KEEP, gold spans, and those that no candidate touches."""
    decisions = labelled["decision"].value_counts()
    missed = sum(not hit for hit in touching(gold, labelled))
    row = dict(
        candidates=len(labelled),
        redact=decisions.get(REDACT, 0),
        keep=decisions.get(KEEP, 0),
        gold=len(gold),
        gold_missed=missed,
    )
    return pd.DataFrame([row])
