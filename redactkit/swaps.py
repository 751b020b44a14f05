"""Name swaps: the same labelled dialogue with its names exchanged, to train on and to test by (PAPER.md N2)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pandas as pd

from redactkit.casting import given_name
from redactkit.tables import make_spans

Piece = tuple[str, tuple[str, str] | None]  # a stretch of text, with the table and label it is marked by


def swap_names(
    turns: pd.DataFrame,
    gold: pd.DataFrame,
    keep: pd.DataFrame,
    seed: int,
    collide: float = 1 / 3,
    noise: float = 0.0,
    origins: Sequence[str] = (),
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Exchange every labelled name of each dialogue for one from the pools, one new name for each old name and role.

    With probability `collide` a participant takes the name of a character of the same dialogue, so that one string
    stands in both roles. Case is kept (jordy → maribel), but for the share `noise` of the mentions, which lose it or
    are mistyped (Maribel → maribel, Marribel, Mairbel). `origins` limits the names to some of `casting.name_pools`.
    Labels other than names pass unchanged. Speaker labels that are a participant's name follow.
    """
    rng, slip = random.Random(f"swap-{seed}"), random.Random(f"slip-{seed}")
    new_turns: list[dict] = []
    new_gold: list[dict] = []
    new_keep: list[dict] = []
    names = {kind: _by_dialogue(table) for kind, table in (("gold", gold), ("keep", keep))}
    fresh = {
        dialogue: _fresh_names(names["gold"].get(dialogue, []), names["keep"].get(dialogue, []), rng, collide, origins)
        for dialogue in dict.fromkeys(turns["dialogue_id"])
    }
    for row in turns.to_dict("records"):
        dialogue, turn = row["dialogue_id"], row["turn_id"]
        marks = sorted(
            ((s["start"], s["end"]), kind, s["label"])
            for kind, table in names.items()
            for s in table.get(dialogue, [])
            if s["turn_id"] == turn
        )
        pieces = [
            (_mistyped(text, slip) if mark and _is_name(*mark) and slip.random() < noise else text, mark)
            for text, mark in _exchange(row["text"], marks, fresh[dialogue])
        ]
        speaker = fresh[dialogue].get(("Name", row["speaker"].casefold()), row["speaker"])
        new_turns.append({**row, "speaker": speaker, "text": join(pieces)})
        collect(pieces, dialogue, turn, new_gold, new_keep)
    return pd.DataFrame(new_turns), make_spans(new_gold, source="gold"), make_spans(new_keep, source="gold")


def join(pieces: list[Piece]) -> str:
    """The text of a turn."""
    return "".join(text for text, _ in pieces)


def collect(pieces: list[Piece], dialogue: str, turn: int, gold: list[dict], keep: list[dict]) -> None:
    """Add the marked pieces of a turn to the rows of its table."""
    at = 0
    for text, mark in pieces:
        if mark and text:
            row = dict(dialogue_id=dialogue, turn_id=turn, start=at, end=at + len(text), surface=text, label=mark[1])
            (gold if mark[0] == "gold" else keep).append(row)
        at += len(text)


def _by_dialogue(spans: pd.DataFrame) -> dict[str, list[dict]]:
    out: dict[str, list[dict]] = {}
    for row in spans[["dialogue_id", "turn_id", "start", "end", "surface", "label"]].to_dict("records"):
        out.setdefault(row["dialogue_id"], []).append(row)
    return out


def _fresh_names(
    gold: list[dict], keep: list[dict], rng: random.Random, collide: float, origins: Sequence[str]
) -> dict:
    """A new name for each (label, old name); participants and characters are drawn apart, then collide by chance."""
    fresh = {("keep", old): given_name(rng, origins) for old in dict.fromkeys(s["surface"].casefold() for s in keep)}
    characters = list(fresh.values())
    for old in dict.fromkeys(s["surface"].casefold() for s in gold if s["label"] == "Name"):
        clash = characters and rng.random() < collide
        fresh["Name", old] = rng.choice(characters) if clash else given_name(rng, origins)
    return fresh


def _exchange(text: str, spans: list, fresh: dict) -> list[Piece]:
    pieces, at = [], 0
    for (start, end), kind, label in spans:
        if start < at:
            continue
        old = text[start:end]
        new = fresh.get(("keep" if kind == "keep" else label, old.casefold()), old)
        pieces += [(text[at:start], None), (_same_case(old, new), (kind, label))]
        at = end
    return [p for p in [*pieces, (text[at:], None)] if p[0]]


def _same_case(old: str, new: str) -> str:
    return new.lower() if old.islower() else new.upper() if old.isupper() and len(old) > 1 else new


def _is_name(kind: str, label: str) -> bool:
    return kind == "keep" or label == "Name"


def _mistyped(name: str, rng: random.Random) -> str:
    """The name in lower case, or with two letters exchanged, one doubled or one left out; never its first."""
    if len(name) < 4 or rng.random() < 0.5:
        return name.lower()
    at = rng.randrange(1, len(name) - 1)
    return rng.choice(
        (
            name[:at] + name[at + 1] + name[at] + name[at + 2 :],
            name[:at] + name[at] + name[at:],
            name[:at] + name[at + 1 :],
        )
    )
