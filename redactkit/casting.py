"""Who fills the slots of a synthetic dialogue: names of some thirty origins, words that are names, and numbers.

A name's form must say nothing about its role, so participants and characters are drawn from the same pools, with
names that are words or eponyms ("Will", "Euler") more often than life has them, and made-up ones that no list knows.
"""

from __future__ import annotations

import importlib
import random
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from redactkit.tables import InputError

DATA = Path(__file__).resolve().parents[1] / "data"
LOCALES = (
    "en_US en_GB en_IN en_NG en_KE en_PK es_ES es_MX es_CO de_DE fr_FR it_IT pt_BR pl_PL tr_TR nl_NL sv_SE fi_FI cs_CZ "
    "hu_HU ro_RO hr_HR lt_LT id_ID yo_NG ig_NG ha_NG zu_ZA tw_GH sw az_AZ ga_IE is_IS zh_CN ja_JP vi_VN en_TH"
).split()
FILLERS = "n big d frac expr eq unit item var shape topic".split()
_MONTHS = "January February March April May June July August September October November December".split()
_ROADS = "Street St Avenue Ave Road Rd Lane Court Drive Blvd Way Place".split()
_PEERS = ("peer", "peer2", "peer3")


@lru_cache
def words(name: str) -> tuple[str, ...]:
    """The terms of `data/words/<name>.txt`."""
    return tuple(line for line in read_data(DATA / "words" / f"{name}.txt").splitlines() if line.strip())


@lru_cache
def name_pools() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Given names and surnames in Latin letters by origin (a Faker locale, or "words", "eponyms", "made up")."""
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
    pools["made up"] = _made_up([name for given, _ in pools.values() for name in given]), surnames
    return pools


def given_name(rng: random.Random, origins: Sequence[str] = ()) -> str:
    """One given name of `origins`; of all, each is equally likely, but words, made-up and American names more so."""
    pools = name_pools()
    origin = rng.choice(list(origins) or [*pools, *["words"] * 4, "eponyms", *["made up"] * 3, *["en_US"] * 3])
    return rng.choice(pools[origin][0])


def _made_up(names: list[str]) -> tuple[str, ...]:
    """The head of one name with the tail of another: rare, misspelt or new forms, for there is no list of all names."""
    rng = random.Random("made up")
    pairs = ((rng.choice(names), rng.choice(names)) for _ in range(2000))
    return tuple(sorted({a[: (len(a) + 1) // 2] + b[len(b) // 2 :].lower() for a, b in pairs if len(a) + len(b) < 20}))


def _latin(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        sorted({n for n in names if re.fullmatch(r"[A-ZÀ-ÖØ-Þ\u0100-\u024f][\w'’-]{1,14}", n) and n[0].isupper()})
    )


def read_data(path: Path) -> str:
    if not path.is_file():
        raise InputError(f"{path}: not found. Synthesis reads the repository's data/ folder; run from a clone of it.")
    return path.read_text(encoding="utf-8")


class Cast:
    """Who and what fills the slots of one dialogue: people stay, the problem's characters change with each scene."""

    def __init__(self, rng: random.Random, collide: bool) -> None:
        """`collide`: characters of the problems mostly bear the name of somebody present."""
        self.rng = rng
        names: list[str] = []
        while len(names) < 12:
            names += {given_name(rng)} - set(names)
        self.people = dict(zip(("student", "tutor", *_PEERS), names))
        self.room = names[2:]
        self.surnames = {p: self._surname() for p in ("student", "tutor", "char")}
        self.home, self.school_name = self._town(), self._school()
        self.title = rng.choice(("Ms.", "Mr.", "Mrs.", "Miss", "Ms", "Mr", "Mrs", "Dr."))
        self.collide = collide
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
