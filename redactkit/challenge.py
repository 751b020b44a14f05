"""The hard cases: names that stand in both roles, names exchanged, names of every origin (PAPER.md R2, N2).

`measure` gives each corpus its figures for reviewers of several seeds, `invariance` the share of decisions that do not
change when names do, `by_origin` the recall for names of each origin, and `screen` finds the dialogues of a user's own
corpus in which a participant's name meets a name of the mathematics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pandas as pd

from redactkit import alignment, calibration, comparison, corpora, scoring, swaps, synthesis
from redactkit.cascade import Bar, Cascade
from redactkit.corpora import Corpus
from redactkit.replace import name_parts
from redactkit.roles import names_a_person
from redactkit.tables import KEEP, LABELS, REDACT, InputError, check_turns, touching

PLATFORMS = ("A", "B")
SEEDS = (42, 13, 101)  # the paper's
SHARES = ("precision", "recall", "f1", "keep_share", "calibration_error")  # in the tables, in this order
ORIGINS = {  # of casting.name_pools, those that are near each other together: enough names for a recall
    "English": ("en_US", "en_GB"),
    "Irish": ("ga_IE",),
    "South Asian": ("en_IN", "en_PK"),
    "West African": ("en_NG", "yo_NG", "ig_NG", "ha_NG", "tw_GH"),
    "East and South African": ("en_KE", "sw", "zu_ZA"),
    "Spanish and Portuguese": ("es_ES", "es_MX", "es_CO", "pt_BR"),
    "French and Italian": ("fr_FR", "it_IT"),
    "German and Dutch": ("de_DE", "nl_NL"),
    "Nordic": ("sv_SE", "fi_FI", "is_IS"),
    "Slavic": ("pl_PL", "cs_CZ", "hr_HR"),
    "Hungarian, Romanian, Lithuanian": ("hu_HU", "ro_RO", "lt_LT"),
    "Turkic": ("tr_TR", "az_AZ"),
    "Chinese and Japanese": ("zh_CN", "ja_JP"),
    "Southeast Asian": ("vi_VN", "id_ID", "en_TH"),
}


def parts_of(folder: str | Path, part: str, cases: str | Path | None = None) -> dict[str, Corpus]:
    """What the cascade is challenged with: the public corpora, lessons without names in the speaker column, the
    synthetic challenge sets, and hand-written cases (``CASES/PART.turns.jsonl``, "dev" alone)."""
    parts = comparison.parts_of(Path(folder), part)
    if "talkmoves" in parts:
        lessons = parts["talkmoves"]
        parts["talkmoves, roles only"] = lessons._replace(turns=lessons.turns.assign(speaker=lessons.turns["role"]))
    for platform in PLATFORMS:
        turns, gold, keep = synthesis.split("challenge", platform)
        parts[f"synthetic challenge {platform}"] = Corpus(check_turns(turns), gold, keep, gold.iloc[:0])
    if cases is not None:
        parts["cases"] = corpora.load(Path(cases).parent, Path(cases).name, "dev")
    return parts


def measure(parts: dict[str, Corpus], cascades: dict[int, Cascade], bar: Bar | None = None) -> pd.DataFrame:
    """One row a corpus and reviewer: corpus, seed, SHARES; a last block, "all", has the error over all candidates.

    `cascades`: one for each reviewer, by its seed, with the same proposers.
    """
    finder = next(iter(cascades.values()))
    rows, answers = [], []
    for name, data in parts.items():
        direct, candidates = finder.find(data.turns, progress=bar and bar(f"proposers on {name}"))
        for seed, cascade in cascades.items():
            decided = cascade.judge(data.turns, candidates, bar and bar(f"reviewer {seed} on {name}"))
            rows.append({"corpus": name, "seed": seed, **figures(data, direct, decided)})
            answers.append(answered(data, decided).assign(seed=seed))
    every = pd.concat(answers)
    for seed in cascades:
        all_of = every[every["seed"] == seed]
        error = calibration.expected_error(all_of["p"].to_numpy(), all_of["redact"].to_numpy())
        rows.append({"corpus": "all", "seed": seed, "calibration_error": error})
    return pd.DataFrame(rows)


def figures(data: Corpus, direct: pd.DataFrame, decided: pd.DataFrame) -> dict[str, float | None]:
    """SHARES of one run: the rules' spans and the reviewed candidates against a corpus's labels."""
    spans = pd.concat([direct, decided], ignore_index=True)
    found = scoring.score(data.gold, spans, data.keep, data.ignore)
    judged = answered(data, decided)
    error = calibration.expected_error(judged["p"].to_numpy(), judged["redact"].to_numpy())
    return {**{share: found[share] for share in SHARES[:-1]}, "calibration_error": error}


def answered(data: Corpus, decided: pd.DataFrame) -> pd.DataFrame:
    """Columns p (p_redact) and redact (the right answer) of the reviewed candidates, less the unlabelled ones."""
    right = alignment.label(decided, data.gold, data.ignore)
    return pd.DataFrame({"p": right["p_redact"], "redact": right["decision"] == REDACT})


def summary(rows: pd.DataFrame, by: Sequence[str] = ("corpus",)) -> pd.DataFrame:
    """Mean and standard deviation over the seeds, "0.975 ± 0.004", of each share that is there."""
    groups = rows.astype({s: float for s in SHARES if s in rows}).groupby(list(by), sort=False)
    shares = [share for share in (*SHARES, "unchanged") if share in rows]
    mean, spread = groups[shares].mean(), groups[shares].std(ddof=0)
    text = {s: [_plus_minus(m, d) for m, d in zip(mean[s], spread[s])] for s in shares}
    return pd.DataFrame(text, index=mean.index).reset_index()


def invariance(
    data: Corpus, cascades: dict[int, Cascade], seed: int = 0, progress: Callable | None = None
) -> pd.DataFrame:
    """Share of the labelled name mentions whose decision is the same when the dialogues' names are exchanged.

    Columns seed (the reviewer's) and unchanged. `seed` fixes the swap; participants take a character's name as often
    as in training.
    """
    before = _decisions(data, cascades, progress)
    turns, gold, keep = swaps.swap_names(*data[:3], seed=seed)
    after = _decisions(Corpus(check_turns(turns), gold, keep, gold.iloc[:0]), cascades, progress)
    both = before.merge(after, on=["seed", "kind", "dialogue_id", "turn_id", "place"], suffixes=("", "_after"))
    same = both["redacted"] == both["redacted_after"]
    return same.groupby(both["seed"], sort=False).mean().rename("unchanged").reset_index()


def by_origin(data: Corpus, cascades: dict[int, Cascade], seed: int = 0, bar: Bar | None = None) -> pd.DataFrame:
    """Recall of names when all names of a corpus are of one origin: columns origin, names, recall (of all reviewers).

    Best first. Dialogues without a name are left out. `seed` fixes the swap.
    """
    named = set(data.gold.loc[data.gold["label"] == "Name", "dialogue_id"])
    some = [t[t["dialogue_id"].isin(named)] for t in data[:3]]
    rows = []
    for origin, pools in ORIGINS.items():
        turns, gold, keep = swaps.swap_names(some[0], some[1], some[2], seed=seed, origins=pools)
        swapped = Corpus(check_turns(turns), gold, keep, gold.iloc[:0])
        hits = _decisions(swapped, cascades, bar and bar(origin)).query("kind == 'gold'")["redacted"]
        rows.append({"origin": origin, "names": len(hits) // len(cascades), "recall": float(hits.mean())})
    return pd.DataFrame(rows).sort_values("recall", ascending=False, ignore_index=True)


def screen(turns: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """The dialogues in which a participant's name meets a name of the mathematics, those with one name in both first.

    Parameters
    ----------
    turns : checked turns; names in the speaker column are participants' too.
    spans : decisions of `Cascade.decide`, or labels with `decision` set; name spans alone count.

    Returns
    -------
    dialogue_id, participants, curricular (numbers of different names, REDACT and KEEP), both (names that are both).
    """
    if "decision" not in spans:
        raise InputError("spans: the column decision is missing. Give the spans of Cascade.decide, or set it.")
    names = spans[(spans["label"] == "Name") | ~spans["label"].isin(LABELS)]  # keep spans have labels of their own
    rows = []
    for dialogue, own in turns.groupby("dialogue_id", sort=False):
        here = names[names["dialogue_id"] == dialogue]
        real = _words([*here.loc[here["decision"] == REDACT, "surface"], *filter(names_a_person, own["speaker"])])
        story = _words(here.loc[here["decision"] == KEEP, "surface"])
        if real and story:
            rows.append((dialogue, len(real), len(story), len(real & story)))
    table = pd.DataFrame(rows, columns=["dialogue_id", "participants", "curricular", "both"])
    return table.sort_values("both", ascending=False, kind="stable", ignore_index=True)


def _words(surfaces: Iterable[str]) -> set[str]:
    return {word for surface in surfaces for word in name_parts(surface)}


def _decisions(data: Corpus, cascades: dict[int, Cascade], progress: Callable | None) -> pd.DataFrame:
    """Whether each reviewer redacts each labelled name; `place` counts the names of a turn, whose order stays."""
    direct, candidates = next(iter(cascades.values())).find(data.turns, progress=progress)
    turn = ["kind", "dialogue_id", "turn_id"]
    span = [*turn, "start", "end"]
    names = pd.concat([data.gold[data.gold["label"] == "Name"].assign(kind="gold"), data.keep.assign(kind="keep")])
    names = names[span].drop_duplicates().sort_values(span, ignore_index=True)
    names = names.assign(place=names.groupby(turn).cumcount())
    tables = []
    for seed, cascade in cascades.items():
        decided = cascade.judge(data.turns, candidates, progress)
        redacted = pd.concat([direct, decided[decided["decision"] == REDACT]], ignore_index=True)
        tables.append(names.assign(seed=seed, redacted=touching(names, redacted)))
    return pd.concat(tables, ignore_index=True)


def _plus_minus(mean: float, spread: float) -> str:
    return "–" if mean != mean else f"{mean:.3f} ± {spread:.3f}"
