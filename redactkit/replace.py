"""Redacted text from decisions: every REDACT span, and the people in the speaker column, become tags or a mask.

One number a person and dialogue: "Maria", "Maria R." and the speaker label "Maria Riemann" are all [NAME_1]; the
numbers run in reading order. Characters outside the redacted spans are never touched.
"""

from __future__ import annotations

import re
import unicodedata

import pandas as pd

from redactkit.roles import names_a_person
from redactkit.tables import REDACT, InputError, check_spans, check_turns

HOW = ("tag", "mask")
MASK = "[REDACTED]"  # of one length for all, so that it does not tell how long the name was
_TITLES = {"mr", "mrs", "ms", "miss", "mx", "dr", "prof", "professor", "coach", "sir", "madam", "teacher", "tutor"}


def replace(turns: pd.DataFrame, spans: pd.DataFrame, how: str = "tag") -> pd.DataFrame:
    """`turns` with the spans whose decision is REDACT replaced in the text, and participants' names as speakers too.

    A spans table without a decision column (gold) is redacted whole. Overlapping spans are replaced as one.
    `how`: "tag" (the upper-case label and a number, [NAME_1]) or "mask" ([REDACTED]).

    Raises
    ------
    InputError : an unknown `how`, or tables that break the contract or do not belong together.
    """
    check_how(how)
    turns = check_turns(turns)
    spans = check_spans(spans, turns)
    if "decision" in spans:
        spans = spans[spans["decision"].fillna(REDACT) == REDACT]
    by_turn: dict[tuple[str, int], list[dict]] = {}
    for span in spans[["dialogue_id", "turn_id", "start", "end", "surface", "label"]].to_dict("records"):
        by_turn.setdefault((span["dialogue_id"], span["turn_id"]), []).append(span)
    books: dict[str, _Numbers] = {}
    speakers, texts = [], []
    for d, t, speaker, text in zip(turns["dialogue_id"], turns["turn_id"], turns["speaker"], turns["text"]):
        book = books.setdefault(d, _Numbers(how))
        speakers.append(book.replacement("Name", speaker) if names_a_person(speaker) else speaker)
        texts.append(_spliced(text, _merged(by_turn.get((d, t), []), text), book))
    return turns.assign(speaker=speakers, text=texts)


def check_how(how: str) -> None:
    """Raise InputError unless `how` is one of the ways to replace."""
    if how not in HOW:
        raise InputError(f"how={how!r} is unknown; choose one of {', '.join(HOW)}.")


class _Numbers:
    """Who is who in one dialogue, and the number of each."""

    def __init__(self, how: str) -> None:
        self.how = how
        self.people: list[set[tuple[str, ...]]] = []
        self.things: dict[str, list[str]] = {}

    def replacement(self, label: str, surface: str) -> str:
        if self.how == "mask":
            return MASK
        number = self._person(surface) if label == "Name" else self._thing(label, surface)
        return f"[{label.upper()}_{number}]"

    def _person(self, surface: str) -> int:
        name = name_parts(surface)
        for number, forms in enumerate(self.people, 1):
            if name in forms or all(_one_person(name, form) for form in forms):
                forms.add(name)
                return number
        self.people.append({name})
        return len(self.people)

    def _thing(self, label: str, surface: str) -> int:
        known = self.things.setdefault(label, [])
        folded = " ".join(surface.casefold().split())
        if folded not in known:
            known.append(folded)
        return known.index(folded) + 1


def name_parts(surface: str) -> tuple[str, ...]:
    """A name's words without case, accents, titles and possessive: "Ms. Núñez's" → ("nunez",)."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", surface) if not unicodedata.combining(c)).casefold()
    found = re.findall(r"\w+", re.sub(r"['’]s\b", "", bare))
    return tuple(w for w in found if w not in _TITLES) or tuple(found)


def only_title(surface: str) -> bool:
    """Whether a "name" holds nothing but titles: "yes miss", "Dr." name nobody."""
    return set(name_parts(surface)) <= _TITLES


def _one_person(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    """Whether the shorter name's words are all in the longer one, in order; an initial stands for a word.

    A lone initial is too little to tell who it is.
    """
    short, long = sorted((a, b), key=len)
    if not short or (all(len(w) == 1 for w in short) and short != long):
        return False
    rest = iter(long)
    return all(any(_same_word(word, other) for other in rest) for word in short)


def _same_word(a: str, b: str) -> bool:
    return a == b or (min(len(a), len(b)) == 1 and a[0] == b[0])


def _merged(spans: list[dict], text: str) -> list[dict]:
    """Overlapping spans of a turn as one, which keeps the label of the longest."""
    merged: list[dict] = []
    for span in sorted(spans, key=lambda s: (s["start"], -s["end"])):
        last = merged[-1] if merged else None
        if last and span["start"] < last["end"]:
            longest = max(last, span, key=lambda s: s["end"] - s["start"])
            end = max(last["end"], span["end"])
            merged[-1] = {**longest, "start": last["start"], "end": end, "surface": text[last["start"] : end]}
        else:
            merged.append(span)
    return merged


def _spliced(text: str, spans: list[dict], book: _Numbers) -> str:
    pieces, at = [], 0
    for span in spans:
        pieces += [text[at : span["start"]], book.replacement(span["label"], text[span["start"] : span["end"]])]
        at = span["end"]
    return "".join([*pieces, text[at:]])
