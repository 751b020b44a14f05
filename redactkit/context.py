"""What the reviewer sees of a candidate: the span in its turn, the turns around it, who speaks, and where in the
dialogue it stands (PAPER.md R6, paper section 3.3).

The text before and after the span is returned apart, so that a reviewer can mark the span and cut a long context
at its far ends, never at the span.
"""

from __future__ import annotations

import pandas as pd

from redactkit.tables import text_of

TURNS_BEFORE, TURNS_AFTER = 3, 2
NEIGHBOUR_CHARS, OWN_CHARS = 120, 300  # of each turn around; of the own turn on each side of the span
_ROLE_WORDS = {"tutor", "teacher", "student", "t", "s", "ss", "other"}


def render(turns: pd.DataFrame, candidates: pd.DataFrame) -> pd.DataFrame:
    """The context of each candidate, in the candidates' order: columns before, surface, after (text).

    `before` opens with the turn's place in the dialogue and ends where the span begins.
    """
    place = {key: row for row, key in enumerate(zip(turns["dialogue_id"], turns["turn_id"]))}
    texts = text_of(turns)
    tags = [_tag(role, speaker) for role, speaker in zip(turns["role"], turns["speaker"])]
    lines = [f"{tag}: {text}" for tag, text in zip(tags, turns["text"])]
    members = {d: rows.tolist() for d, rows in pd.Series(range(len(turns))).groupby(turns["dialogue_id"].to_numpy())}
    order = {row: n for rows in members.values() for n, row in enumerate(rows)}
    out = []
    for d, t, s, e in zip(candidates["dialogue_id"], candidates["turn_id"], candidates["start"], candidates["end"]):
        row, text, siblings = place[d, t], texts[d, t], members[d]
        n = order[row]
        earlier = [_tail(lines[r]) for r in siblings[max(n - TURNS_BEFORE, 0) : n]]
        later = [lines[r][:NEIGHBOUR_CHARS] for r in siblings[n + 1 : n + 1 + TURNS_AFTER]]
        head = f"turn {n + 1} of {len(siblings)}."
        before = " | ".join([head, *earlier, f"{tags[row]}: {text[max(s - OWN_CHARS, 0) : s]}"])
        after = " | ".join([text[e : e + OWN_CHARS], *later])
        out.append((before, text[s:e], after))
    return pd.DataFrame(out, columns=["before", "surface", "after"], index=candidates.index)


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
