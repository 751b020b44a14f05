"""Synthetic tutoring dialogues with exact gold and keep spans (PAPER.md R1, R2).

Real transcripts may not be shared, so the weights that ship are trained on dialogues made here: scenes written by
hand (`data/scenes`), cast anew each time with names of some thirty origins, so that a name's form says nothing about
its role: the same name greets the tutor in one dialogue and owns fifteen apples in the next, or does both in one.
Platform A is short and question-focused, platform B a long lesson or a classroom. Everything follows from the seed.
Every tenth scene is held out of the training dialogues and makes those that are measured on.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import lru_cache

import pandas as pd

from redactkit.casting import DATA, FILLERS, Cast, name_pools, read_data, words
from redactkit.roles import infer_role
from redactkit.swaps import Piece, collect, join
from redactkit.tables import InputError, make_spans

SCENES = {  # what a dialogue of each platform is put together from, with the weight of each file
    "A": {"chats": 6, "sums": 4, "identifiers": 1, "lessons": 0.5},
    "B": {"lessons": 3, "classroom": 4, "sums": 2.5, "identifiers": 1.5, "chats": 1},
}
GOLD = {
    **dict.fromkeys("student peer peer2 peer3 tutor ms full surname initial nick spelled family".split(), "Name"),
    "school": "School",
    "place": "Address",
    "address": "Address",
    "username": "Username",
    "dob": "Date_of_Birth",
}
KEPT = {
    **dict.fromkeys("char char2 char3 charfull".split(), "problem_character"),
    **dict.fromkeys("eponym public pplace brand pdate".split(), "curricular"),
}
_SPEAKERS = {"T": "tutor", "S": "student", "P": "student", "Q": "student"}
_LABEL_STYLES = (  # how transcripts name the speakers: (tutor, student, peers); None stands for the person's own name
    ("tutor", "student", "student"),
    ("Teacher", "Student", "Student"),
    ("T", "S", "S"),
    ("Teacher", None, None),
    ("T", None, None),
    ("tutor", "S1", "S2"),
    (None, None, None),
)
_CHAT_ENDS = ("", "", "", " lol", "!!", " 😊", " 😂😂", " :)", " xd", "…", " 🎉", " haha")
SPLITS = {  # dialogues of each platform (paper, Table 1)
    "train": {"A": 800, "B": 305},
    "val": {"A": 100, "B": 76},
    "test": {"A": 100, "B": 100},
    "challenge": {"A": 50, "B": 80},
}
HELD_OUT = 10  # every tenth scene
Tables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]  # turns, gold spans, keep spans
_Filled = list[tuple[str, str | None]]  # stretches of text, each with the slot it came from


def split(part: str, platform: str) -> Tables:
    """One part ("train", "val", "test", "challenge") of the synthetic corpus, as large as in the paper's Table 1.

    In each "challenge" dialogue a participant's name and a story character's co-occur, often as one name.

    Raises
    ------
    InputError : an unknown part or platform.
    """
    if part not in SPLITS:
        raise InputError(f"part {part!r} is unknown; choose one of {', '.join(SPLITS)}.")
    seed, n = 1000 + list(SPLITS).index(part), SPLITS[part].get(platform, 0)
    return synthesize(platform, n, seed, held_out=part != "train", challenge=part == "challenge")


def synthesize(
    platform: str,
    n: int,
    seed: int,
    problems: list[str] | None = None,
    held_out: bool = False,
    challenge: bool = False,
) -> Tables:
    """Make `n` labelled dialogues of platform "A" (short, one question) or "B" (a lesson).

    `problems` are further story problems (plain texts) to mix in; the names found in them are exchanged. `held_out`
    uses the scenes that training never sees. `challenge` keeps only dialogues that name a participant and a character.
    Returns turns, gold spans (what must be redacted) and keep spans (characters, eponyms, places of problems).

    Raises
    ------
    InputError : an unknown platform, or the scene files are not there.
    """
    if platform not in SCENES:
        raise InputError(f"platform {platform!r} is unknown; choose one of {', '.join(SCENES)}.")
    rng = random.Random(f"{platform}-{seed}-{held_out}-{challenge}")
    turns: list[dict] = []
    gold: list[dict] = []
    keep: list[dict] = []
    for i in range(n):
        dialogue = f"synth-{platform}-{seed}-{i}"
        for turn, (speaker, role, filled) in enumerate(_drawn(platform, rng, problems, held_out, challenge)):
            pieces: list[Piece] = [(text, _mark(slot)) for text, slot in filled]
            turns.append(dict(dialogue_id=dialogue, turn_id=turn, speaker=speaker, role=role, text=join(pieces)))
            collect(pieces, dialogue, turn, gold, keep)
    return pd.DataFrame(turns), make_spans(gold, source="gold"), make_spans(keep, source="gold")


@lru_cache
def scenes(name: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The scenes of `data/scenes/<name>.txt`: each a tuple of (speaker letter, template)."""
    out, scene = [], []
    for number, line in enumerate([*read_data(DATA / "scenes" / f"{name}.txt").splitlines(), ""], 1):
        if line.startswith("#"):
            continue
        if line.strip():
            letter, _, text = line.partition(":")
            _check_line(letter, text, f"data/scenes/{name}.txt, line {number}")
            scene.append((letter, text.strip()))
        elif scene:
            out.append(tuple(scene))
            scene = []
    return tuple(out)


def _check_line(letter: str, text: str, where: str) -> None:
    known = {*GOLD, *KEPT, *FILLERS}
    unknown = [slot for slot in re.findall(r"<(\w+)>", text) if slot not in known]
    if letter not in _SPEAKERS or unknown or text.count("{") != text.count("}"):
        fault = f"unknown slot <{unknown[0]}>" if unknown else "not 'T: text' (or S:, P:, Q:) with braces in pairs"
        raise InputError(f"{where}: {fault}. Slots are {', '.join(sorted(known))}.")


# --- writing a dialogue ------------------------------------------------------------------------------------------


def _mark(slot: str | None) -> tuple[str, str] | None:
    if slot in GOLD:
        return "gold", GOLD[slot]
    return ("keep", KEPT[slot]) if slot in KEPT else None


def _drawn(
    platform: str, rng: random.Random, problems: list[str] | None, held_out: bool, challenge: bool
) -> list[tuple[str, str, _Filled]]:
    while True:
        dialogue = _dialogue(platform, rng, problems, held_out, challenge)
        marks = {_mark(slot) for _, _, filled in dialogue for _, slot in filled}
        if not challenge or {("gold", "Name"), ("keep", "problem_character")} <= marks:
            return dialogue


def _dialogue(
    platform: str, rng: random.Random, problems: list[str] | None, held_out: bool, challenge: bool
) -> list[tuple[str, str, _Filled]]:
    cast = Cast(rng, collide=challenge or rng.random() < 0.4)
    labels, style = rng.choice(_LABEL_STYLES), _style(rng)
    known = rng.random() < 0.5  # whether the transcript tells the role of a speaker whose label is a name

    def role(letter: str, speaker: str) -> str:
        return _SPEAKERS[letter] if known or infer_role(speaker) != "other" else "other"

    length = rng.choice((1, 1, 2, 2, 3)) if platform == "A" else rng.randint(4, 14)
    out = []
    for _ in range(length):
        file = rng.choices(list(SCENES[platform]), list(SCENES[platform].values()))[0]
        cast.new_scene(classroom=file == "classroom")
        story = rng.random() < (0.6 if platform == "A" else 0.25)
        for letter, template in (
            *rng.choice(_scenes(file, held_out)),
            *(_problem(rng, held_out) if story and not problems else ()),
        ):
            speaker = _speaker(letter, labels, cast)
            out.append((speaker, role(letter, speaker), style(_pieces(template, cast, rng))))
        if story and problems:
            speaker = _speaker("T", labels, cast)
            out.append((speaker, role("T", speaker), style(_recast(rng.choice(problems), cast, rng))))
    return out


@lru_cache
def _scenes(name: str, held_out: bool) -> list[tuple[tuple[str, str], ...]]:
    return [scene for n, scene in enumerate(scenes(name)) if (n % HELD_OUT == 0) == held_out]


def _problem(rng: random.Random, held_out: bool) -> list[tuple[str, str]]:
    lines = [line for _ in range(rng.choice((1, 1, 2))) for line in rng.choice(_scenes("problems", held_out))]
    return [(rng.choice("TS"), " ".join(text for _, text in lines))]


def _speaker(letter: str, labels: tuple, cast: Cast) -> str:
    label = labels["TSPQ".index(letter) if letter in "TS" else 2]
    if label is not None:
        return label
    return cast.people[{"T": "tutor", "S": "student", "P": "peer", "Q": "peer2"}[letter]]


def _pieces(template: str, cast: Cast, rng: random.Random) -> _Filled:
    text = template
    while "{" in text:  # innermost alternatives first
        text = re.sub(r"\{([^{}]*)\}", lambda m: rng.choice(m[1].split("|")), text, count=1)
    text = re.sub(r"\s{2,}", " ", text).strip()
    return [(cast.fill(p[1:-1]), p[1:-1]) if _is_slot(p) else (p, None) for p in re.split(r"(<\w+>)", text) if p]


def _is_slot(piece: str) -> bool:
    return re.fullmatch(r"<\w+>", piece) is not None


def _recast(problem: str, cast: Cast, rng: random.Random) -> _Filled:
    """A found story problem with the names in it exchanged: a capitalised word that a name pool knows is a name."""
    known = {n for given, _ in name_pools().values() for n in given} - set(words("word_names"))
    found = [w for w in dict.fromkeys(re.findall(r"\b[A-Z][a-z]+\b", problem)) if w in known][:3]
    slots = dict(zip(found, ("char", "char2", "char3")))
    parts = re.split(r"\b(" + "|".join(found) + r")\b", problem) if found else [problem]
    return [(cast.fill(slots[p]), slots[p]) if p in slots else (p, None) for p in parts if p]


def _style(rng: random.Random) -> Callable[[_Filled], _Filled]:
    """How this dialogue is written: mostly as it stands; else lower case, speech, upper case, chat, or typos."""
    kind = rng.choices(("plain", "lower", "speech", "upper", "typos", "chat"), (56, 13, 9, 3, 13, 6))[0]

    def apply(pieces: _Filled) -> _Filled:
        if kind == "lower":
            return [(t.lower(), s) for t, s in pieces]
        if kind == "upper":
            return [(t.upper(), s) for t, s in pieces]
        if kind == "speech":
            return [(t.lower() if s else _spoken(t.lower(), rng), s) for t, s in pieces]
        if kind == "typos":
            return [(_typo(t, rng, 0.06) if s else _misspelt(t, rng, 0.12), s) for t, s in pieces]
        if kind == "chat":
            return [*((t if s else t.lower(), s) for t, s in pieces), (rng.choice(_CHAT_ENDS), None)]
        return pieces

    return apply


def _spoken(text: str, rng: random.Random) -> str:
    """Without punctuation, and with a filler where a comma was now and then."""
    text = re.sub(r",", lambda _: rng.choice(("", "", f" {rng.choice(('um', 'uh', 'like', 'you know'))}")), text)
    return re.sub(r"[.!?;]", "", text)


def _misspelt(text: str, rng: random.Random, rate: float) -> str:
    return "".join(_typo(word, rng, rate) for word in re.split(r"(\s+)", text))


def _typo(text: str, rng: random.Random, rate: float) -> str:
    """Exchange, drop or double one character inside one word now and then."""
    places = [i for i in range(1, len(text) - 1) if all(c.isalpha() or c in "'’" for c in text[i - 1 : i + 2])]
    if not places or rng.random() > rate:
        return text
    i = rng.choice(places)
    return rng.choice(
        (text[:i] + text[i + 1] + text[i] + text[i + 2 :], text[:i] + text[i + 1 :], text[:i] + text[i] + text[i:])
    )
