"""Synthetic tutoring dialogues with exact gold and keep spans, and name swaps on labelled ones (PAPER.md R1, N2).

Real transcripts may not be shared, so the weights that ship are trained on dialogues made here: scenes written by
hand (`data/scenes`), cast anew each time with names of some thirty origins, so that a name's form says nothing about
its role: the same name greets the tutor in one dialogue and owns fifteen apples in the next, or does both in one.
Platform A is short and question-focused, platform B a long lesson or a classroom. Everything follows from the seed.
"""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import pandas as pd

from redactkit.roles import infer_role
from redactkit.tables import InputError, make_spans

DATA = Path(__file__).resolve().parents[1] / "data"
LOCALES = (
    "en_US en_GB en_IN en_NG en_KE en_PK es_ES es_MX es_CO de_DE fr_FR it_IT pt_BR pl_PL tr_TR nl_NL sv_SE fi_FI cs_CZ "
    "hu_HU ro_RO hr_HR lt_LT id_ID yo_NG ig_NG ha_NG zu_ZA tw_GH sw az_AZ ga_IE is_IS zh_CN ja_JP vi_VN en_TH"
).split()
SCENES = {  # what a dialogue of each platform is put together from, with the weight of each file
    "A": {"chats": 6, "identifiers": 1, "lessons": 0.5},
    "B": {"lessons": 3, "classroom": 4, "identifiers": 1.5, "chats": 1},
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
_FILLERS = "n big d frac expr eq unit item var shape topic".split()
_MONTHS = "January February March April May June July August September October November December".split()
_ROADS = "Street St Avenue Ave Road Rd Lane Court Drive Blvd Way Place".split()
_PEERS = ("peer", "peer2", "peer3")
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
Piece = tuple[str, str | None]  # a stretch of text and the slot it came from


def synthesize(
    platform: str, n: int, seed: int, problems: list[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Make `n` labelled dialogues of platform "A" (short, one question) or "B" (a lesson).

    `problems` are further story problems (plain texts) to mix in; the names found in them are exchanged.
    Returns turns, gold spans (what must be redacted) and keep spans (characters, eponyms, places of problems).

    Raises
    ------
    InputError : an unknown platform, or the scene files are not there.
    """
    if platform not in SCENES:
        raise InputError(f"platform {platform!r} is unknown; choose one of {', '.join(SCENES)}.")
    rng = random.Random(f"{platform}-{seed}")
    turns: list[dict] = []
    gold: list[dict] = []
    keep: list[dict] = []
    for i in range(n):
        dialogue = f"synth-{platform}-{seed}-{i}"
        for turn, (speaker, role, pieces) in enumerate(_dialogue(platform, rng, problems)):
            turns.append(dict(dialogue_id=dialogue, turn_id=turn, speaker=speaker, role=role, text=_join(pieces)))
            _collect(pieces, dialogue, turn, gold, keep)
    return pd.DataFrame(turns), make_spans(gold, source="gold"), make_spans(keep, source="gold")


def swap_names(
    turns: pd.DataFrame, gold: pd.DataFrame, keep: pd.DataFrame, seed: int, collide: float = 1 / 3
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Exchange every labelled name of each dialogue for one from the pools, one new name for each old name and role.

    With probability `collide` a participant takes the name of a character of the same dialogue, so that one string
    stands in both roles. Case is kept (jordy → maribel). Labels other than names pass unchanged. Speaker labels that
    are a participant's name follow.
    """
    rng = random.Random(f"swap-{seed}")
    new_turns: list[dict] = []
    new_gold: list[dict] = []
    new_keep: list[dict] = []
    names = {kind: _by_dialogue(table) for kind, table in (("gold", gold), ("keep", keep))}
    fresh = {
        dialogue: _fresh_names(names["gold"].get(dialogue, []), names["keep"].get(dialogue, []), rng, collide)
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
        pieces = _exchange(row["text"], marks, fresh[dialogue])
        speaker = fresh[dialogue].get(("Name", row["speaker"].casefold()), row["speaker"])
        new_turns.append({**row, "speaker": speaker, "text": _join(pieces)})
        _collect(pieces, dialogue, turn, new_gold, new_keep, slots=False)
    return pd.DataFrame(new_turns), make_spans(new_gold, source="gold"), make_spans(new_keep, source="gold")


@lru_cache
def words(name: str) -> tuple[str, ...]:
    """The terms of `data/words/<name>.txt`."""
    return tuple(line for line in _read(DATA / "words" / f"{name}.txt").splitlines() if line.strip())


@lru_cache
def name_pools() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Given names and surnames in Latin letters by origin (a Faker locale, or "words"/"eponyms")."""
    pools = {}
    for locale in LOCALES:
        provider = importlib.import_module(f"faker.providers.person.{locale}").Provider
        given = getattr(provider, "first_romanized_names", None)
        if given is None:
            given = [
                n for a in ("first_names", "first_names_female", "first_names_male") for n in getattr(provider, a, ())
            ]
        family = getattr(provider, "last_romanized_names", None) or provider.last_names
        pools[locale] = _latin(given), _latin(family)
    surnames = pools["en_US"][1]
    pools["words"] = words("word_names"), surnames
    pools["eponyms"] = words("eponym_names"), surnames
    return pools


def given_name(rng: random.Random) -> str:
    """One given name; origins are equally likely, names that are words or eponyms three times as likely."""
    pools = name_pools()
    origin = rng.choice([*pools, "words", "words", "eponyms", "en_US", "en_US", "en_US"])
    return rng.choice(pools[origin][0])


def _latin(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        sorted({n for n in names if re.fullmatch(r"[A-ZÀ-ÖØ-Þ\u0100-\u024f][\w'’-]{1,14}", n) and n[0].isupper()})
    )


def _read(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"{path}: not found. Synthesis reads the repository's data/ folder; run from a clone of it.")
    return path.read_text(encoding="utf-8")


@lru_cache
def scenes(name: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The scenes of `data/scenes/<name>.txt`: each a tuple of (speaker letter, template)."""
    out, scene = [], []
    for number, line in enumerate([*_read(DATA / "scenes" / f"{name}.txt").splitlines(), ""], 1):
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
    known = {*GOLD, *KEPT, *_FILLERS}
    unknown = [slot for slot in re.findall(r"<(\w+)>", text) if slot not in known]
    if letter not in _SPEAKERS or unknown or text.count("{") != text.count("}"):
        fault = f"unknown slot <{unknown[0]}>" if unknown else "not 'T: text' (or S:, P:, Q:) with braces in pairs"
        raise InputError(f"{where}: {fault}. Slots are {', '.join(sorted(known))}.")


# --- casting -----------------------------------------------------------------------------------------------------


class _Cast:
    """Who and what fills the slots of one dialogue: people stay, the problem's characters change with each scene."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        names: list[str] = []
        while len(names) < 12:
            names += {given_name(rng)} - set(names)
        self.people = dict(zip(("student", "tutor", *_PEERS), names))
        self.room = names[2:]
        self.surnames = {p: self._surname() for p in ("student", "tutor", "char")}
        self.home, self.school_name = self._town(), self._school()
        self.title = rng.choice(("Ms.", "Mr.", "Mrs.", "Miss", "Ms", "Mr", "Mrs", "Dr."))
        self.collide = rng.random() < 0.4
        self.values: dict[str, str] = {}

    def new_scene(self, classroom: bool) -> None:
        """Forget what belongs to one scene; in a classroom other children come to the front."""
        self.values = {}
        if classroom or self.rng.random() < 0.3:
            front = self.rng.sample([n for n in self.room if n != self.people["student"]], 4)
            self.people.update(zip(_PEERS, front))
            if classroom and self.rng.random() < 0.5:
                self.people["student"] = front[3]

    def fill(self, slot: str) -> str:
        """The text of a slot: numbers, places and dates are drawn anew each time, everything else once a scene."""
        fresh = getattr(self, f"_n_{slot}", None)
        if fresh:
            return fresh()
        if slot not in self.values or slot in ("pplace", "pdate", "unit"):
            self.values[slot] = self.people.get(slot) or getattr(self, f"_{slot}")()
        return self.values[slot]

    def _pick(self, name: str) -> str:
        return self.rng.choice(words(name))

    def _surname(self) -> str:
        return self.rng.choice(self.rng.choice(list(name_pools().values()))[1])

    def _town(self) -> str:
        surname = self.rng.choice(name_pools()["en_GB"][1])
        made = surname + self.rng.choice(("ville", "ton", " Park", " Heights", " Creek", " Springs", "burg", " Hills"))
        return self.rng.choice((self._pick("places"), made))

    def _school(self) -> str:
        head = self.rng.choice(
            (self._surname(), self._town(), f"{given_name(self.rng)} {self._surname()}", "St. " + given_name(self.rng))
        )
        return f"{head} {self._pick('schools')}"

    def _ms(self) -> str:
        surname = self.surnames["tutor"]
        return f"{self.title} {self.rng.choice((surname, surname, surname, surname[0], self.people['tutor']))}"

    def _full(self) -> str:
        return f"{self.people['student']} {self.surnames['student']}"

    def _initial(self) -> str:
        first, last = self.people["student"], self.surnames["student"]
        return self.rng.choice(
            (f"{first} {last[0]}.", f"{first} {last[0]}", f"{first[0]}.{last[0]}.", f"{first[0]}. {last}")
        )

    def _nick(self) -> str:
        name = self.people["student"]
        return (
            name
            if len(name) < 5
            else self.rng.choice((name[:3], name[:4], name[:3] + "y", name[:2].title() + name[:2].lower()))
        )

    def _spelled(self) -> str:
        return self.rng.choice(("-", " ", ". ", "-")).join(self.people["student"].upper())

    def _family(self) -> str:
        return given_name(self.rng)

    def _place(self) -> str:
        return self.home

    def _pplace(self) -> str:
        return self.rng.choice((self._pick("places"), self._town()))

    def _address(self) -> str:
        street = self.rng.choice(name_pools()["en_US"][1])
        road = f"{street} {self.rng.choice(_ROADS)}"
        flat = self.rng.choice(
            ("", "", f" Apt {self.rng.randint(1, 40)}", f", Unit {self.rng.randint(1, 9)}B", f", {self.home}")
        )
        return f"{self.rng.randint(2, 9999)} {road}{flat}"

    def _username(self) -> str:
        name, word = self.people["student"].lower(), self.rng.choice(words("items") + words("shapes")).split()[0]
        number = self.rng.randint(1, 2015)
        forms = (
            f"{name}{number}",
            f"xX_{name}_Xx",
            f"{name}_{word}",
            f"@{name}.{number}",
            f"{word}{name[:4]}{number}",
            f"the_real_{name}",
            f"{word.title()}King{number}",
            f"{name[:3]}{word}_{number}",
        )
        return self.rng.choice(forms)

    def _date(self, years: tuple[int, int]) -> str:
        month, day, year = self.rng.randint(1, 12), self.rng.randint(1, 28), self.rng.randint(*years)
        name = _MONTHS[month - 1]
        forms = (
            f"{name} {day}",
            f"{name} {day}, {year}",
            f"{month}/{day}/{year}",
            f"{month}/{day}/{year % 100:02d}",
            f"{day} {name} {year}",
            f"{year}-{month:02d}-{day:02d}",
            f"{name[:3]} {day}",
            f"the {day}th of {name}",
        )
        return self.rng.choice(forms)

    def _dob(self) -> str:
        return self._date((2004, 2018))

    def _pdate(self) -> str:
        return self.rng.choice(
            (
                self._date((1950, 2030)),
                self.rng.choice("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()),
                self.rng.choice(_MONTHS),
            )
        )

    def _char(self) -> str:
        if self.collide and self.rng.random() < 0.7:
            return self.people[self.rng.choice(("student", "student", "peer", "tutor"))]
        return given_name(self.rng)

    _char2 = _char3 = _family

    def _charfull(self) -> str:
        return f"{self.fill('char')} {self._surname()}"

    def _eponym(self) -> str:
        return self._pick("eponyms")

    def _public(self) -> str:
        return self._pick("public")

    def _brand(self) -> str:
        return self._pick("brands")

    def _item(self) -> str:
        return self._pick("items")

    def _unit(self) -> str:
        return self._pick("units")

    def _shape(self) -> str:
        return self._pick("shapes")

    def _topic(self) -> str:
        return self._pick("topics")

    def _var(self) -> str:
        return self.rng.choice("xynabtk")

    def _n_n(self) -> str:
        return str(self.rng.randint(2, 99))

    def _n_big(self) -> str:
        number = self.rng.randint(100, 99999)
        return self.rng.choice((str(number), f"{number:,}"))

    def _n_d(self) -> str:
        return f"{self.rng.uniform(0.1, 60):.{self.rng.randint(1, 3)}f}"

    def _n_frac(self) -> str:
        bottom = self.rng.randint(2, 16)
        return f"{self.rng.randint(1, bottom + 4)}/{bottom}"

    def _n_expr(self) -> str:
        return f"{self._n_n()} {self.rng.choice('+-*x/÷')} {self._n_n()}"

    def _n_eq(self) -> str:
        a, b = self.rng.randint(2, 99), self.rng.randint(2, 99)
        return self.rng.choice(
            (
                f"{a} + {b} = {a + b}",
                f"{a} x {b} = {a * b}",
                f"{a * b} / {b} = {a}",
                f"{a}+{b}={a + b}",
                f"{a + b} - {b} = {a}",
            )
        )


# --- writing a dialogue ------------------------------------------------------------------------------------------


def _dialogue(platform: str, rng: random.Random, problems: list[str] | None) -> list[tuple[str, str, list[Piece]]]:
    cast, labels, style = _Cast(rng), rng.choice(_LABEL_STYLES), _style(rng)
    known = rng.random() < 0.5  # whether the transcript tells the role of a speaker whose label is a name

    def role(letter: str, speaker: str) -> str:
        return _SPEAKERS[letter] if known or infer_role(speaker) != "other" else "other"

    length = rng.choice((1, 1, 2, 2, 3)) if platform == "A" else rng.randint(4, 14)
    out = []
    for _ in range(length):
        file = rng.choices(list(SCENES[platform]), list(SCENES[platform].values()))[0]
        cast.new_scene(classroom=file == "classroom")
        story = rng.random() < (0.6 if platform == "A" else 0.25)
        for letter, template in (*rng.choice(scenes(file)), *(_problem(rng) if story and not problems else ())):
            speaker = _speaker(letter, labels, cast)
            out.append((speaker, role(letter, speaker), style(_pieces(template, cast, rng))))
        if story and problems:
            speaker = _speaker("T", labels, cast)
            out.append((speaker, role("T", speaker), style(_recast(rng.choice(problems), cast, rng))))
    return out


def _problem(rng: random.Random) -> list[tuple[str, str]]:
    lines = [line for _ in range(rng.choice((1, 1, 2))) for line in rng.choice(scenes("problems"))]
    return [(rng.choice("TS"), " ".join(text for _, text in lines))]


def _speaker(letter: str, labels: tuple, cast: _Cast) -> str:
    label = labels["TSPQ".index(letter) if letter in "TS" else 2]
    if label is not None:
        return label
    return cast.people[{"T": "tutor", "S": "student", "P": "peer", "Q": "peer2"}[letter]]


def _pieces(template: str, cast: _Cast, rng: random.Random) -> list[Piece]:
    text = template
    while "{" in text:  # innermost alternatives first
        text = re.sub(r"\{([^{}]*)\}", lambda m: rng.choice(m[1].split("|")), text, count=1)
    text = re.sub(r"\s{2,}", " ", text).strip()
    return [(cast.fill(p[1:-1]), p[1:-1]) if _is_slot(p) else (p, None) for p in re.split(r"(<\w+>)", text) if p]


def _is_slot(piece: str) -> bool:
    return re.fullmatch(r"<\w+>", piece) is not None


def _recast(problem: str, cast: _Cast, rng: random.Random) -> list[Piece]:
    """A found story problem with the names in it exchanged: a capitalised word that a name pool knows is a name."""
    known = {n for given, _ in name_pools().values() for n in given} - set(words("word_names"))
    found = [w for w in dict.fromkeys(re.findall(r"\b[A-Z][a-z]+\b", problem)) if w in known][:3]
    slots = dict(zip(found, ("char", "char2", "char3")))
    parts = re.split(r"\b(" + "|".join(found) + r")\b", problem) if found else [problem]
    return [(cast.fill(slots[p]), slots[p]) if p in slots else (p, None) for p in parts if p]


def _style(rng: random.Random) -> Callable[[list[Piece]], list[Piece]]:
    """How this dialogue is written: mostly as it stands; else lower case, unpunctuated, upper case, or with typos."""
    kind = rng.choices(("plain", "lower", "speech", "upper", "typos"), (62, 15, 8, 3, 12))[0]

    def apply(pieces: list[Piece]) -> list[Piece]:
        if kind == "lower":
            return [(t.lower(), s) for t, s in pieces]
        if kind == "upper":
            return [(t.upper(), s) for t, s in pieces]
        if kind == "speech":
            return [(re.sub(r"[.,!?;]", "", t).lower() if s is None else t.lower(), s) for t, s in pieces]
        if kind == "typos":
            return [(_typo(t, rng, 0.25 if s is None else 0.06), s) for t, s in pieces]
        return pieces

    return apply


def _typo(text: str, rng: random.Random, rate: float) -> str:
    """Exchange, drop or double one letter inside one word now and then."""
    places = [i for i in range(1, len(text) - 1) if text[i - 1 : i + 2].isalpha()]
    if not places or rng.random() > rate:
        return text
    i = rng.choice(places)
    return rng.choice(
        (text[:i] + text[i + 1] + text[i] + text[i + 2 :], text[:i] + text[i + 1 :], text[:i] + text[i] + text[i:])
    )


def _join(pieces: list[Piece]) -> str:
    return "".join(text for text, _ in pieces)


def _collect(pieces: list[Piece], dialogue: str, turn: int, gold: list, keep: list, slots: bool = True) -> None:
    """Add the labelled pieces of a turn to the gold and keep rows; `slots`: labels are slot names still."""
    at = 0
    for text, tag in pieces:
        row = dict(dialogue_id=dialogue, turn_id=turn, start=at, end=at + len(text), surface=text)
        at += len(text)
        if tag is None or not text:
            continue
        if slots:
            target, label = (gold, GOLD.get(tag)) if tag in GOLD else (keep, KEPT.get(tag))
        else:
            target, label = (gold, tag[1]) if tag[0] == "gold" else (keep, tag[1])
        if label:
            target.append({**row, "label": label})


# --- name swaps --------------------------------------------------------------------------------------------------


def _by_dialogue(spans: pd.DataFrame) -> dict[str, list[dict]]:
    out: dict[str, list[dict]] = {}
    for row in spans[["dialogue_id", "turn_id", "start", "end", "surface", "label"]].to_dict("records"):
        out.setdefault(row["dialogue_id"], []).append(row)
    return out


def _fresh_names(gold: list[dict], keep: list[dict], rng: random.Random, collide: float) -> dict:
    """A new name for each (label, old name); participants and characters are drawn apart, then collide by chance."""
    fresh = {("keep", old): given_name(rng) for old in dict.fromkeys(s["surface"].casefold() for s in keep)}
    characters = list(fresh.values())
    for old in dict.fromkeys(s["surface"].casefold() for s in gold if s["label"] == "Name"):
        clash = characters and rng.random() < collide
        fresh["Name", old] = rng.choice(characters) if clash else given_name(rng)
    return fresh


def _exchange(text: str, spans: list, fresh: dict) -> list:
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
