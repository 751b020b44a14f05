"""What the reviewer sees of a candidate: the span in its turn, the turns around it, who speaks, and what the rest of
the dialogue knows of the same name (PAPER.md R6, N3; paper section 3.3).

The text before and after the span is returned apart, so that a reviewer can mark the span and cut a long context
at its far ends, never at the span. The evidence of the dialogue is a text of its own, shown before it and never cut
for the context's sake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache

import pandas as pd

from redactkit import mathtext
from redactkit.roles import names_a_person
from redactkit.tables import text_of

TURNS_BEFORE, TURNS_AFTER = 3, 2
NEIGHBOUR_CHARS, OWN_CHARS = 120, 300  # of each turn around; of the own turn on each side of the span
EVIDENCE = ("position", "roster", "mentions", "math")  # all there is; a reviewer may be shown less
ROSTER_NAMES, SNIPPETS, SNIPPET_CHARS = 6, 3, 28
_ROLE_WORDS = {"tutor", "teacher", "student", "t", "s", "ss", "other"}
_WORD = re.compile(r"[^\W\d_]+")


def render(turns: pd.DataFrame, candidates: pd.DataFrame, evidence: Sequence[str] = EVIDENCE) -> pd.DataFrame:
    """The context of each candidate, in the candidates' order: columns evidence, before, surface, after (text).

    `evidence` holds any of "position" (the turn's place, and which of the name's mentions this is), "roster" (the
    names in the speaker column), "mentions" (where else the dialogue says the name), "math" (the turn is mathematics).
    `before` ends where the span begins.
    """
    place = {key: row for row, key in enumerate(zip(turns["dialogue_id"], turns["turn_id"]))}
    texts = text_of(turns)
    tags = [_tag(role, speaker) for role, speaker in zip(turns["role"], turns["speaker"])]
    lines = [f"{tag}: {text}" for tag, text in zip(tags, turns["text"])]
    members = {
        str(d): rows.tolist() for d, rows in pd.Series(range(len(turns))).groupby(turns["dialogue_id"].to_numpy())
    }
    order = {row: n for rows in members.values() for n, row in enumerate(rows)}
    known = _Evidence(turns, members, evidence)
    out = []
    for d, t, s, e in zip(candidates["dialogue_id"], candidates["turn_id"], candidates["start"], candidates["end"]):
        row, text, siblings = place[d, t], texts[d, t], members[d]
        n = order[row]
        earlier = [_tail(lines[r]) for r in siblings[max(n - TURNS_BEFORE, 0) : n]]
        later = [lines[r][:NEIGHBOUR_CHARS] for r in siblings[n + 1 : n + 1 + TURNS_AFTER]]
        before = " | ".join([*earlier, f"{tags[row]}: {text[max(s - OWN_CHARS, 0) : s]}"])
        after = " | ".join([text[e : e + OWN_CHARS], *later])
        out.append((known.of(d, row, n, s, e), before, text[s:e], after))
    return pd.DataFrame(out, columns=["evidence", "before", "surface", "after"], index=candidates.index)


class _Evidence:
    """What the whole dialogue says of a name; each dialogue's roster and words are looked up once."""

    def __init__(self, turns: pd.DataFrame, members: dict[str, list[int]], kinds: Sequence[str]) -> None:
        self.kinds, self.members = kinds, members
        self.texts, self.roles = turns["text"].tolist(), turns["role"].tolist()
        speakers = turns["speaker"].tolist()
        self.rosters = {d: _roster([speakers[r] for r in rows]) for d, rows in members.items()}
        self.is_math = cache(lambda row: mathtext.is_math(self.texts[row]))  # a long turn may hold many candidates
        self.where: dict[str, dict[str, list[tuple[int, int, int]]]] = {}

    def of(self, dialogue: str, row: int, n: int, start: int, end: int) -> str:
        surface = self.texts[row][start:end]
        mentions = self._mentions(dialogue, surface) if {"position", "mentions"} & set(self.kinds) else []
        others = [m for m in mentions if m[0] != row or m[2] <= start or m[1] >= end]
        tell: dict[str, Callable[[], str]] = {
            "position": lambda: self._position(dialogue, n, mentions, (row, start)),
            "roster": lambda: _present(surface, self.rosters[dialogue]),
            "mentions": lambda: self._snippets(others, row),
            "math": lambda: "math." if self.is_math(row) else "",
        }
        return " ".join(filter(None, (tell[kind]() for kind in EVIDENCE if kind in self.kinds)))

    def _mentions(self, dialogue: str, surface: str) -> list[tuple[int, int, int]]:
        """(row, start, end) of every word of the dialogue that is the name's longest word, whatever its case."""
        if dialogue not in self.where:
            words: dict[str, list[tuple[int, int, int]]] = {}
            for row in self.members[dialogue]:
                for word in _WORD.finditer(self.texts[row]):
                    words.setdefault(word[0].casefold(), []).append((row, word.start(), word.end()))
            self.where[dialogue] = words
        names = sorted(_WORD.findall(surface), key=len)
        return self.where[dialogue].get(names[-1].casefold(), []) if names else []

    def _position(self, dialogue: str, n: int, mentions: list, here: tuple[int, int]) -> str:
        earlier = sum(m[:2] < here for m in mentions)
        which = f" mention {earlier + 1} of {len(mentions)}." if len(mentions) > 1 else ""
        return f"turn {n + 1} of {len(self.members[dialogue])}.{which}"

    def _snippets(self, others: list[tuple[int, int, int]], row: int) -> str:
        """The nearest of the other mentions, each in a few of its words."""
        near = sorted(sorted(others, key=lambda m: abs(m[0] - row))[:SNIPPETS])
        return " ".join(f"[{self.roles[r]}: {_around(self.texts[r], s, e)}]" for r, s, e in near)


def _around(text: str, start: int, end: int) -> str:
    """A mention and the whole words around it."""
    low, high = max(start - SNIPPET_CHARS, 0), min(end + SNIPPET_CHARS, len(text))
    head = text[low:start] if low == 0 else text[low:start].partition(" ")[2]
    tail = text[end:high] if high == len(text) else text[end:high].rpartition(" ")[0]
    return f"{head}{text[start:end]}{tail}".strip()


def _roster(speakers: list[str]) -> list[str]:
    return [s.strip()[:40] for s in dict.fromkeys(speakers) if names_a_person(s)]


def _present(surface: str, roster: list[str]) -> str:
    """The names in the speaker column, after the word whether this is one of them."""
    if not roster:
        return ""
    words = {w.casefold() for w in _WORD.findall(surface)}
    hit = any(words & {w.casefold() for w in _WORD.findall(name)} for name in roster)
    return f"{'a speaker.' if hit else 'no speaker.'} speakers: {', '.join(roster[:ROSTER_NAMES])}."


def _tag(role: str, speaker: str) -> str:
    """The role, and the speaker's name where the label is one."""
    label = speaker.strip()
    return role if not label or label.casefold() in _ROLE_WORDS or label.casefold() == role else f"{role} {label[:40]}"


def _tail(line: str) -> str:
    """A turn's tag and the end of its text: what was said last stands nearest to the candidate."""
    if len(line) <= NEIGHBOUR_CHARS:
        return line
    tag, _, text = line.partition(": ")
    return f"{tag}: …{text[-NEIGHBOUR_CHARS:]}"
