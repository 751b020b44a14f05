"""How the committed weights are made: which dialogues train what, and the figures that go on each card.

Nothing is trained on what it is judged by. Each proposer has its own synthetic dialogues; the reviewer learns from
what both propose on dialogues that neither was trained on, since on its own training dialogues a proposer makes
too few mistakes to learn from. With `corpora`, StepVerify's training dialogues (CC BY-SA 4.0) are used in the same way,
one half for the proposers and the other for the reviewer, each with names exchanged, and GSM8K and SVAMP problems (MIT)
are mixed into the synthetic dialogues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from redactkit import (
    agreement,
    alignment,
    calibration,
    context,
    corpora,
    models,
    proposer,
    reviewer,
    rules,
    swaps,
    synthesis,
)  # fmt: skip
from redactkit.cascade import Cascade, candidates_of, read_profile, reviewer_folder, weighed
from redactkit.corpora import Corpus
from redactkit.scoring import score
from redactkit.tables import REDACT, check_turns

VALIDATION_SEED, CALIBRATION_SEED = 99, 5
REVIEWER_SEED = 7
REVIEWER_SHARE = 0.45  # of the proposers' number of dialogues, and half their name swaps: lessons teach it more
NOISE = 0.1  # share of the names that are mistyped or lose their capital in the reviewer's swaps
CANDIDATE_THRESHOLD = 0.005  # lower than in use, so that the reviewer meets more of what must be kept
SHARES = {  # which of StepVerify's dialogues, by their place, teach or check what
    "proposers": lambda place: place % 2 == 0,
    "reviewer": lambda place: place % 2 == 1 and place % 20 != 1,
    "calibration": lambda place: place % 20 == 1,
}


def train_proposer(
    which: str,
    profile: str | Path,
    out: str | Path,
    corpora_dir: str | Path | None = None,
    allow_download: bool = False,
    progress: Callable | None = None,
) -> Path:
    """Train proposer "a" or "b" of a profile into ``out/<its weights folder>`` and return that folder."""
    settings = read_profile(profile)
    plan, part = settings["train"], settings["proposers"][which]
    options = plan["proposer"]
    seed = options["seeds"][which]
    data = _dialogues(plan["dialogues"], plan["swaps"], seed, corpora_dir, "proposers")
    folder = Path(out) / part["weights"]
    command = _command(f"proposer --which {which}", profile, corpora_dir)
    proposer.train(
        data.turns, data.gold, folder, part["base"], options["lora_r"], options["lr"], options["epochs"], seed,
        card(f"Proposer {which} (stage 1A)", command, data), allow_download, progress,
    )  # fmt: skip
    return folder


def train_reviewer(
    profile: str | Path,
    out: str | Path,
    corpora_dir: str | Path | None = None,
    seed: int | None = None,
    allow_download: bool = False,
    progress: Callable | None = None,
) -> Path:
    """Train and calibrate the reviewer of a profile on what its proposers in `out` propose; returns its folder.

    `seed` (default: the profile's) fixes the fresh weights and the order of rows; the rows are the same for all seeds.
    """
    settings = read_profile(profile)
    seed = settings["reviewer"]["seed"] if seed is None else seed
    folder = reviewer_folder(settings, Path(out), seed)
    contexts, answers, data = reviewer_rows(profile, out, corpora_dir, allow_download, progress)
    command = _command(f"reviewer --seed {seed}", profile, corpora_dir)
    rows = f"{len(answers):,} candidates, {answers.count('REDACT'):,} REDACT"
    write_card = card(f"Reviewer (stage 2), trained on {rows}", command, data)
    fit_reviewer(settings, contexts, answers, folder, seed, write_card, allow_download, progress)
    calibrate(profile, out, corpora_dir, [seed], allow_download)
    return folder


def fit_reviewer(
    settings: dict[str, Any],
    contexts: pd.DataFrame,
    answers: list[str],
    folder: Path,
    seed: int,
    card: Callable[[dict[str, Any]], str],
    allow_download: bool = False,
    progress: Callable | None = None,
    evidence: Sequence[str] = context.EVIDENCE,
) -> None:
    """Train a reviewer with a profile's settings on rendered contexts, without calibrating it."""
    part, options = settings["reviewer"], settings["train"]["reviewer"]
    reviewer.train(
        contexts, answers, folder, part["base"], options["lora_r"], options["lr"], options["epochs"], seed, card,
        allow_download, progress, evidence,
    )  # fmt: skip


def reviewer_rows(
    profile: str | Path,
    weights: str | Path,
    corpora_dir: str | Path | None = None,
    allow_download: bool = False,
    progress: Callable | None = None,
    evidence: Sequence[str] = context.EVIDENCE,
    swapped: bool = True,
    share: float = REVIEWER_SHARE,
) -> tuple[pd.DataFrame, list[str], Corpus]:
    """Contexts and cascade-aligned answers of the union's candidates on dialogues that no proposer has seen.

    `swapped`: off in the ablation, where the public dialogues stand once, with their own names. `share`: synthetic
    dialogues, of the number that a proposer is trained on.
    """
    settings = read_profile(profile)
    plan = settings["train"]
    numbers = {platform: int(n * share) for platform, n in plan["dialogues"].items()}
    n_swaps = (plan["swaps"] + 1) // 2 if swapped else 0
    data = _dialogues(numbers, n_swaps, REVIEWER_SEED, corpora_dir, "reviewer")
    proposed = []
    for name, part in settings["proposers"].items():
        one = proposer.Proposer(Path(weights) / part["weights"], name, CANDIDATE_THRESHOLD, allow_download)
        proposed.append(one.propose(data.turns, progress))
    candidates = proposer.union(proposed)
    candidates = pd.concat([candidates, agreement.echo(data.turns, candidates)], ignore_index=True)
    labelled = alignment.label(candidates, data.gold)
    return context.render(data.turns, labelled, evidence), labelled["decision"].tolist(), data


def calibrate(
    profile: str | Path,
    weights: str | Path,
    corpora_dir: str | Path | None = None,
    seeds: Sequence[int] = (),
    allow_download: bool = False,
) -> None:
    """Fit the calibration of trained reviewers on dialogues that trained nothing, and store it with their weights.

    The dialogues: synthetic ones of the held-out scenes and, with `corpora_dir`, StepVerify's calibration share, as
    it is and with its names exchanged.
    """
    settings, found = read_profile(profile), None
    data = calibration_dialogues(settings, corpora_dir)
    for seed in seeds or [settings["reviewer"]["seed"]]:
        cascade = Cascade.load(profile, weights, allow_download, seed)
        found = cascade.find(data.turns)[1] if found is None else found
        fit_calibration(cascade, data, found, reviewer_folder(settings, Path(weights), seed))


def fit_calibration(cascade: Cascade, data: Corpus, candidates: pd.DataFrame, folder: Path) -> None:
    """Fit the calibration of a loaded cascade's reviewer to labelled dialogues and write it to its config."""
    reviewed = cascade.reviewer.review(data.turns, candidates)
    logits = agreement.agree(candidates, weighed(candidates, reviewed, cascade.reviewer.weight))
    right = alignment.label(candidates, data.gold)["decision"] == REDACT
    cascade.reviewer.calibration = calibration.fit(logits, right.to_numpy())
    models.add_to_config(folder, calibration=cascade.reviewer.calibration)


def calibration_dialogues(settings: dict[str, Any], corpora_dir: str | Path | None) -> Corpus:
    """Labelled dialogues that trained nothing and test nothing, for `calibrate`."""
    numbers = settings["train"]["calibration"]
    parts = [synthesis.synthesize(platform, n, CALIBRATION_SEED, held_out=True) for platform, n in numbers.items()]
    if corpora_dir:
        own = stepverify(corpora_dir, "calibration")
        parts += [own[:3], _named(swaps.swap_names(*own[:3], CALIBRATION_SEED), "#swap")]
    turns, gold, keep = (pd.concat(tables, ignore_index=True) for tables in zip(*parts))
    return Corpus(check_turns(turns), gold, keep, gold.iloc[:0])


def validate(
    profile: str | Path, weights: str | Path, corpora_dir: str | Path | None = None, seeds: Sequence[int] = ()
) -> pd.DataFrame:
    """Figures of a profile on dialogues that trained nothing: synthetic ones, and the public development parts.

    One row a corpus and system ("union", and "cascade, reviewer 42" for each of `seeds`, by default the profile's):
    the columns of `scoring.score`.
    """
    seeds = seeds or [read_profile(profile)["reviewer"]["seed"]]
    cascades = {f"cascade, reviewer {seed}": Cascade.load(profile, weights, seed=seed) for seed in seeds}
    finder = next(iter(cascades.values()))
    rows = []
    for name, data in _validation(corpora_dir).items():
        proposed, direct = finder.propose(data.turns), rules.find(data.turns, None)
        candidates = candidates_of(data.turns, direct, proposed)
        found = {"union": proposed}
        for system, cascade in cascades.items():
            found[system] = pd.concat([direct, cascade.judge(data.turns, candidates)], ignore_index=True)
        for system, spans in found.items():
            rows.append(dict(corpus=name, system=system, **score(data.gold, spans, data.keep, data.ignore)))
    return pd.DataFrame(rows)


def add_figures(profile: str | Path, out: str | Path, figures: pd.DataFrame, seeds: Sequence[int] = ()) -> None:
    """Put the figures of `validate` at the end of each trained component's card."""
    settings = read_profile(profile)
    lines = [
        "",
        "## Measured",
        "On dialogues that trained nothing (overlap match); the union is what the proposers hand on.",
        "",
    ]
    lines += ["| dialogues | system | P | R | F1 | keep share |", "|---|---|---|---|---|---|"]
    for r in figures.to_dict("records"):
        share = "–" if r["keep_share"] is None else f"{r['keep_share']:.3f}"
        lines.append(
            f"| {r['corpus']} | {r['system']} | {r['precision']:.3f} | {r['recall']:.3f} | {r['f1']:.3f} | {share} |"
        )
    folders = [Path(out) / part["weights"] for part in settings["proposers"].values()]
    for folder in (
        *folders,
        *(reviewer_folder(settings, Path(out), seed) for seed in seeds or [settings["reviewer"]["seed"]]),
    ):
        path = folder / "card.md"
        text = path.read_text(encoding="utf-8").split("\n## Measured")[0].rstrip("\n")
        path.write_text("\n".join([text, *lines, ""]), encoding="utf-8")


def _validation(corpora_dir: str | Path | None) -> dict[str, Corpus]:
    out = {}
    for platform in ("A", "B"):
        turns, gold, keep = synthesis.synthesize(platform, 60, VALIDATION_SEED, held_out=True)
        out[f"synthetic {platform}, held-out scenes"] = Corpus(turns, gold, keep, gold.iloc[:0])
    if corpora_dir:
        for name in ("mathdial", "mathdial_collide", "talkmoves", "bridge"):
            if (Path(corpora_dir) / name).is_dir():
                out[f"{name} dev"] = corpora.load(corpora_dir, name, "dev")
    return out


def _dialogues(numbers: dict[str, int], n_swaps: int, seed: int, corpora_dir: str | Path | None, share: str) -> Corpus:
    """Synthetic dialogues of both platforms and, where there are corpora, a share of StepVerify with names swapped."""
    problems = corpora.story_problems(corpora_dir)[share == "reviewer" :: 2] if corpora_dir else None
    parts = [synthesis.synthesize(platform, n, seed, problems) for platform, n in numbers.items()]
    if corpora_dir:
        old = stepverify(corpora_dir, share)
        noise = NOISE if share == "reviewer" else 0.0
        parts += [_named(swaps.swap_names(*old[:3], 1000 * seed + n, noise=noise), f"#{n}") for n in range(n_swaps)]
    turns, gold, keep = (pd.concat(tables, ignore_index=True) for tables in zip(*parts))
    return Corpus(turns, gold, keep, gold.iloc[:0])


def stepverify(corpora_dir: str | Path, share: str) -> Corpus:
    """The training dialogues of StepVerify that are for one of SHARES."""
    source = corpora.load(corpora_dir, "stepverify", "train")
    ids = source.turns["dialogue_id"].drop_duplicates()
    mine = {d for place, d in enumerate(ids) if SHARES[share](place)}
    return Corpus(*(table[table["dialogue_id"].isin(mine)].reset_index(drop=True) for table in source))


def _named(
    tables: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame], suffix: str
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    turns, gold, keep = (t.assign(dialogue_id=t["dialogue_id"] + suffix) for t in tables)
    return turns, gold, keep


def _command(what: str, profile: str | Path, corpora_dir: str | Path | None) -> str:
    return f"redactkit train {what} --profile {profile}" + (" --corpora CORPORA" if corpora_dir else "")


def card(title: str, command: str, data: Corpus) -> Callable[[dict[str, Any]], str]:
    """A function that writes a component's card from its settings: title, base, data and the command that made it."""
    sources = data.turns["dialogue_id"].str.extract(r"^(synth-[AB]|stepverify)")[0]
    per_source = data.turns["dialogue_id"].groupby(sources).nunique()
    licence = {"synth-A": "made here", "synth-B": "made here", "stepverify": "CC BY-SA 4.0, names exchanged"}

    def write(config: dict[str, Any]) -> str:
        settings = ", ".join(f"{k} {v}" for k, v in config.items() if k not in ("labels", "base"))
        used = [f"- {name}: {n:,} dialogues ({licence[str(name)]})" for name, n in per_source.items()]
        return "\n".join(
            [
                f"# {title}",
                f"Base: {config['base']} ({settings}).",
                "",
                "## Trained on",
                *used,
                "",
                f"Command: `{command}`",
                "",
            ]
        )

    return write
