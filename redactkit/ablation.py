"""What each part of the cascade is worth: the same test with one part taken away, over three reviewers (PAPER.md N2).

Taking away swaps or evidence needs another reviewer, so these and the full one they are compared with are trained here
on equally few candidates (BUDGET); all else is switched off in the full one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from redactkit import challenge, context, models, recipe
from redactkit.cascade import Bar, Cascade, candidates_of, read_profile, reviewer_folder, settle
from redactkit.corpora import Corpus
from redactkit.reviewer import Reviewer
from redactkit.tables import REDACT

SHARE, BUDGET = 0.07, 2500  # synthetic dialogues, and candidates that each reviewer of the ablation is trained on
TRAINED: dict[str, dict[str, Any]] = {"full": {}, "no swaps": {"swapped": False}, "no evidence": {"evidence": ()}}
SWITCHED = ("no agreement", "no calibration", "proposer a only", "reviewer off")


def train(
    profile: str | Path,
    weights: str | Path,
    out: str | Path,
    corpora_dir: str | Path | None = None,
    seeds: Sequence[int] = challenge.SEEDS,
    bar: Bar | None = None,
) -> None:
    """Train and calibrate the reviewers of TRAINED into ``out/<variant>``, but for those that are there."""
    settings, base = read_profile(profile), Cascade.load(profile, weights)
    known: tuple[Corpus, pd.DataFrame] | None = None
    for variant, options in TRAINED.items():
        folders = {seed: reviewer_folder(settings, folder_of(out, variant), seed) for seed in seeds}
        missing = {seed: folder for seed, folder in folders.items() if not _finished(folder)}
        if not missing:
            continue
        contexts, answers, rows = recipe.reviewer_rows(
            profile, weights, corpora_dir, progress=bar and bar(f"{variant}: candidates"), share=SHARE, **options
        )
        some = np.sort(np.random.default_rng(0).permutation(len(answers))[:BUDGET])
        card = recipe.card(f"Reviewer of the ablation: {variant}", "redactkit ablate", rows)
        for seed, folder in missing.items():
            recipe.fit_reviewer(
                settings, contexts.iloc[some], [answers[i] for i in some], folder, seed, card,
                progress=bar and bar(f"{variant}: reviewer {seed}"), evidence=options.get("evidence", context.EVIDENCE),
            )  # fmt: skip
            cascade = _with_reviewer(base, folder)
            if known is None:
                data = recipe.calibration_dialogues(settings, corpora_dir)
                known = data, cascade.find(data.turns)[1]
            recipe.fit_calibration(cascade, *known, folder)


def measure(
    profile: str | Path,
    weights: str | Path,
    trained: str | Path,
    parts: dict[str, Corpus],
    seeds: Sequence[int] = challenge.SEEDS,
    bar: Bar | None = None,
) -> pd.DataFrame:
    """One row a variant, corpus and seed: variant, corpus, seed, and the shares of `challenge.measure`."""
    settings, base = read_profile(profile), Cascade.load(profile, weights)
    cascades = {
        (variant, seed): _with_reviewer(base, reviewer_folder(settings, folder_of(trained, variant), seed))
        for variant in TRAINED
        for seed in seeds
    }
    rows = []
    for name, data in parts.items():
        direct, candidates = base.find(data.turns, progress=bar and bar(f"proposers on {name}"))
        alone = candidates_of(data.turns, direct, base.proposers[0].propose(data.turns))
        for (variant, seed), cascade in cascades.items():
            reviewed = cascade.reviewer.review(data.turns, candidates, bar and bar(f"{variant} {seed} on {name}"))
            runs = {variant: settle(candidates, reviewed, cascade.reviewer)}
            if variant == "full":
                runs |= _switched_off(data, candidates, alone, reviewed, cascade)
            for run, decided in runs.items():
                row = {"variant": run, "corpus": name, "seed": seed}
                rows.append({**row, **challenge.figures(data, direct, decided)})
    table = pd.DataFrame(rows)
    order = {variant: n for n, variant in enumerate((*TRAINED, *SWITCHED))}
    return table.sort_values(["corpus", "variant"], key=lambda c: c.map(order).fillna(0), kind="stable")


def folder_of(out: str | Path, variant: str) -> Path:
    """Where the reviewers of a variant lie."""
    return Path(out) / variant.replace(" ", "-")


def _switched_off(
    data: Corpus, candidates: pd.DataFrame, alone: pd.DataFrame, reviewed: np.ndarray, cascade: Cascade
) -> dict[str, pd.DataFrame]:
    """The decisions of the full reviewer with each of SWITCHED."""
    full = cascade.reviewer
    proposed = (candidates["source"] != "echo").to_numpy()
    return {
        "no agreement": settle(candidates[proposed], reviewed[proposed], full, agree=False),
        "no calibration": settle(candidates, reviewed, full, calibrate=False),
        "proposer a only": cascade.judge(data.turns, alone),
        "reviewer off": candidates[proposed].assign(decision=REDACT, p_redact=1.0),
    }


def _with_reviewer(base: Cascade, folder: Path) -> Cascade:
    return Cascade(base.proposers, Reviewer(folder, base.reviewer.threshold, base.reviewer.weight))


def _finished(folder: Path) -> bool:
    return (folder / "config.json").is_file() and "calibration" in models.read_config(folder)
