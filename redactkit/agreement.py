"""What the mentions of one name know of each other: in a dialogue they are found together and answered together.

A name that a proposer or the speaker column is sure of is looked up in the whole dialogue (`echo`), so that one clear
mention makes every other one a candidate. After the review, `agree` lets the mentions of one person inform each other:
fifty mentions of one child get one answer, unless the text itself separates the child from a character who has the
same name (PAPER.md N3, paper App. G: inconsistency within a dialogue).
"""

from __future__ import annotations

import difflib
import re

import numpy as np
import pandas as pd
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from redactkit.replace import name_parts
from redactkit.roles import names_a_person
from redactkit.tables import make_spans, touching

SURE = 0.5  # the proposers' score from which a name is looked up in the rest of the dialogue
SHORTEST = 3  # letters of a word that is looked up or compared: initials and "Al" are too little to go by
CLEAR = 0.6  # log-odds at which one mention says REDACT or KEEP by itself; chosen on the development parts
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")
ALIKE, LONG_ENOUGH = 0.85, 5  # share of letters in common from which two words of five letters are one, misspelt


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
    rows = []
    for dialogue, turn, text in zip(turns["dialogue_id"], turns["turn_id"], turns["text"]):
        names = known.get(dialogue, set())
        for word in _WORD.finditer(text) if names else ():
            end = word.start() + len(_POSSESSIVE.sub("", word[0]))
            surface = text[word.start() : end]
            if names.issuperset(name_parts(surface)):
                rows.append(
                    dict(dialogue_id=dialogue, turn_id=turn, start=word.start(), end=end, surface=surface, label="Name")
                )
    found = make_spans(rows, source="echo")
    return found.loc[[not held for held in touching(found, candidates)]].reset_index(drop=True)


def _parts(surface: str) -> set[str]:
    """The words of a name that are long enough to look up, without case, titles and possessive."""
    return {w for w in name_parts(surface) if len(w) >= SHORTEST}


def agree(candidates: pd.DataFrame, logits: np.ndarray) -> np.ndarray:
    """The log-odds of each candidate after the mentions of one person have been heard together.

    All mentions get their mean, and so one answer. Where one is clearly redacted and another clearly kept (CLEAR), the
    text tells two bearers of the name apart, or a name from a word, and each mention keeps its own.
    """
    who = people(candidates)
    heard = pd.Series(logits).where((who >= 0) & np.isfinite(logits)).groupby(who)
    separated = (heard.transform("max") >= CLEAR) & (heard.transform("min") <= -CLEAR)
    alone = (who < 0) | ~np.isfinite(logits) | separated.to_numpy()
    return np.where(alone, logits, heard.transform("mean"))


def people(candidates: pd.DataFrame) -> np.ndarray:
    """A number for the person each name candidate may mean, the same for all forms of one name in a dialogue; −1: none.

    Forms are one name when they share a word, when a word begins another ("Jon", "Jonathan") or when two words are
    nearly the same ("Jonathan", "Jonathon"). Case, accents, titles and possessives do not count.
    """
    out = np.full(len(candidates), -1)
    is_name = (candidates["label"] == "Name").to_numpy()
    first = 0
    for members in candidates.groupby("dialogue_id", sort=False).indices.values():
        rows = np.asarray(members)[is_name[members]]
        forms = [frozenset(_parts(s)) for s in candidates["surface"].iloc[rows]]
        words = sorted({w for form in forms for w in form})
        of_word = _one_name(words, forms)
        for row, form in zip(rows, forms):
            out[row] = first + of_word[min(form)] if form else -1
        first += len(words)
    return out


def _one_name(words: list[str], forms: list[frozenset[str]]) -> dict[str, int]:
    """For each word the number of its name: words of one form, and words alike, belong together."""
    place = {w: n for n, w in enumerate(words)}
    pairs = [(place[min(form)], place[w]) for form in set(forms) for w in form]
    pairs += [(a, b) for a in range(len(words)) for b in range(a) if _alike(words[a], words[b])]
    links = coo_matrix((np.ones(len(pairs)), tuple(zip(*pairs)) or ((), ())), shape=(len(words),) * 2)
    return dict(zip(words, connected_components(links, directed=False)[1].tolist()))


def _alike(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    if a[0] != b[0] or len(short) < SHORTEST:
        return False
    if long.startswith(short):
        return True
    return len(short) >= LONG_ENOUGH and difflib.SequenceMatcher(None, a, b).ratio() >= ALIKE
