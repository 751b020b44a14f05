"""What the mentions of one name know of each other: in a dialogue they are found together and answered together.

A name that a proposer or the speaker column is sure of is looked up in the whole dialogue (`echo`), so that one clear
mention makes every other one a candidate. After the review, `agree` lets the mentions of one person inform each other:
fifty mentions of one child get one answer, unless the text itself separates the child from a character who has the
same name (PAPER.md N3, paper App. G: inconsistency within a dialogue).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

from redactkit.replace import name_parts
from redactkit.roles import names_a_person
from redactkit.tables import make_spans, overlaps, spans_by_turn

SURE = 0.5  # the proposers' score from which a name is looked up in the rest of the dialogue
SHORTEST = 3  # letters of a word that is looked up or compared: initials and "Al" are too little to go by
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_ALIKE = 0.85  # share of letters in common from which two names are one, misspelt


def echo(turns: pd.DataFrame, candidates: pd.DataFrame) -> pd.DataFrame:
    """New candidates: the words of sure names where no candidate has them; source "echo".

    Sure are names in the speaker column and name candidates with a score of at least SURE. Case does not matter. No
    proposer scored an echo, so its `score` is missing and the reviewer alone decides.
    """
    sure = candidates[(candidates["label"] == "Name") & (candidates["score"] >= SURE)]
    known: dict[str, set[str]] = {}
    for dialogue, surface in zip(sure["dialogue_id"], sure["surface"]):
        known.setdefault(dialogue, set()).update(_parts(surface))
    for dialogue, speaker in turns[["dialogue_id", "speaker"]].drop_duplicates().itertuples(index=False):
        if names_a_person(speaker):
            known.setdefault(dialogue, set()).update(_parts(speaker))
    held = spans_by_turn(candidates)
    rows = []
    for dialogue, turn, text in zip(turns["dialogue_id"], turns["turn_id"], turns["text"]):
        names = known.get(dialogue)
        for word in _WORD.finditer(text) if names else ():
            end = word.start() + len(_POSSESSIVE.sub("", word[0]))
            surface = text[word.start() : end]
            if names.issuperset(name_parts(surface)) and not _held(held.get((dialogue, turn), ()), word.start(), end):
                rows.append(
                    dict(dialogue_id=dialogue, turn_id=turn, start=word.start(), end=end, surface=surface, label="Name")
                )
    return make_spans(rows, source="echo")


def _parts(surface: str) -> set[str]:
    """The words of a name that are long enough to look up, without case, titles and possessive."""
    return {w for w in name_parts(surface) if len(w) >= SHORTEST}


def _held(spans: Iterable[tuple[int, int]], start: int, end: int) -> bool:
    return any(overlaps((start, end), span) for span in spans)
