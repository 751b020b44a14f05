"""The whole walk from a profile: proposers and rules, reviewer, decisions (PAPER.md R3–R6, Figure 1 of the paper)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy.special import logit

from redactkit import agreement, calibration, models, rules
from redactkit.proposer import Proposer, union
from redactkit.replace import only_title
from redactkit.reviewer import Reviewer
from redactkit.tables import KEEP, REDACT, InputError, check_turns, in_order, make_spans, spans_by_turn

NEAR = 1e-4  # how near to 0 and 1 a probability may come
PROFILES = Path(__file__).parent / "profiles"
Progress = Callable[[Iterable[Any]], Iterable[Any]]  # wraps what is iterated over and shows how far it is
Bar = Callable[[str], Progress]  # makes the progress bar of that title


class Cascade:
    """Two proposers, the direct rules and a reviewer, loaded once and used on many transcripts."""

    def __init__(self, proposers: list[Proposer], reviewer: Reviewer) -> None:
        self.proposers, self.reviewer = proposers, reviewer

    @classmethod
    def load(
        cls,
        profile: str | Path = "offline",
        weights: str | Path | None = None,
        allow_download: bool = False,
        seed: int | None = None,
    ) -> Cascade:
        """Load the models of a profile ("offline", "ci", "paper", or a YAML file's path).

        `weights` is the folder that holds the trained components (default: those that ship with the package); `seed`
        picks one of the reviewers trained with several (default: the profile's).

        Raises
        ------
        InputError : no such profile.
        ModelError : a base or a component is missing or altered.
        """
        settings, folder = read_profile(profile), Path(weights or models.WEIGHTS)
        proposers = [
            Proposer(folder / p["weights"], name, p["threshold"], allow_download)
            for name, p in settings["proposers"].items()
        ]
        part = settings["reviewer"]
        reviewer = Reviewer(reviewer_folder(settings, folder, seed), part["threshold"], part["weight"], allow_download)
        return cls(proposers, reviewer)

    def propose(self, turns: pd.DataFrame, progress: Callable | None = None) -> pd.DataFrame:
        """Candidates of stage 1A: the union of the proposers' spans over checked `turns`."""
        return union([p.propose(turns, progress) for p in self.proposers])

    def find(
        self, turns: pd.DataFrame, lexicon: list[tuple[str, str]] | None = None, progress: Callable | None = None
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """What the rules decide of checked `turns`, and the candidates to be reviewed: the union and its echoes."""
        direct = rules.find(turns, lexicon)
        return direct, candidates_of(turns, direct, self.propose(turns, progress))

    def judge(self, turns: pd.DataFrame, candidates: pd.DataFrame, progress: Callable | None = None) -> pd.DataFrame:
        """`candidates` with their decisions: what the reviewer answers in the context of `turns`, settled."""
        return settle(candidates, self.reviewer.review(turns, candidates, progress), self.reviewer)

    def decide(
        self,
        turns: pd.DataFrame,
        lexicon: list[tuple[str, str]] | None = None,
        progress: Callable | None = None,
    ) -> pd.DataFrame:
        """Every candidate of `turns` with its decision: a spans table in reading order, KEEPs included.

        `lexicon`: (label, term) pairs that are always redacted. `progress` wraps the iteration over batches.

        Raises
        ------
        InputError : `turns` breaks the contract.
        """
        turns = check_turns(turns)
        direct, candidates = self.find(turns, lexicon, progress)
        decided = self.judge(turns, candidates, progress)
        return in_order(pd.concat([direct, decided], ignore_index=True), turns)


def candidates_of(turns: pd.DataFrame, direct: pd.DataFrame, proposed: pd.DataFrame) -> pd.DataFrame:
    """What is reviewed: proposed spans that no rule has decided, and the other mentions of the names among them.

    A title alone names nobody and is left out, or every "miss" of the dialogue would be looked up.
    """
    proposed = _outside(proposed, direct)
    proposed = proposed[~(proposed["label"].eq("Name") & proposed["surface"].map(only_title).astype(bool))].reset_index(
        drop=True
    )
    found = agreement.echo(turns, pd.concat([proposed, direct], ignore_index=True))
    return pd.concat([proposed, found], ignore_index=True) if len(found) else proposed


def settle(
    candidates: pd.DataFrame, reviewed: np.ndarray, reviewer: Reviewer, agree: bool = True, calibrate: bool = True
) -> pd.DataFrame:
    """`candidates` with their decisions: reviewer and proposers weighed, mentions in agreement, calibrated, cut.

    `reviewed`: the reviewer's probability of each candidate. `agree` and `calibrate` are off in the ablation alone;
    without calibration the cut is at a half.
    """
    logits = weighed(candidates, reviewed, reviewer.weight)
    logits = agreement.agree(candidates, logits) if agree else logits
    if not calibrate:
        return _decided(candidates, calibration.apply(logits, calibration.NONE), 0.5)
    return _decided(candidates, calibration.apply(logits, reviewer.calibration), reviewer.threshold)


def weighed(candidates: pd.DataFrame, reviewed: np.ndarray, weight: float) -> np.ndarray:
    """Log-odds of the mean of the reviewer's probability and the proposers' score, which an echo does not have."""
    score = candidates["score"].to_numpy(dtype=float)
    p = np.where(np.isnan(score), reviewed, weight * reviewed + (1 - weight) * score) if weight < 1 else reviewed
    return logit(np.clip(p, NEAR, 1 - NEAR))


def reviewer_folder(settings: dict[str, Any], weights: Path, seed: int | None = None) -> Path:
    """Where the reviewer of a profile lies: "reviewer-{seed}" stands for one folder a seed."""
    part = settings["reviewer"]
    return weights / part["weights"].format(seed=part["seed"] if seed is None else seed)


def read_profile(profile: str | Path) -> dict[str, Any]:
    """The settings of a profile, by name or by the path of a YAML file. Raises InputError where there is none."""
    path = Path(profile) if str(profile).endswith((".yaml", ".yml")) else PROFILES / f"{profile}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in PROFILES.glob("*.yaml")))
        raise InputError(f"profile {str(profile)!r} is unknown; choose one of {known}, or give a YAML file's path.")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def _outside(candidates: pd.DataFrame, direct: pd.DataFrame) -> pd.DataFrame:
    """Candidates less those that a rule's span covers: rule matches bypass the reviewer (paper, Appendix A)."""
    by_turn = spans_by_turn(direct)
    keys = zip(candidates["dialogue_id"], candidates["turn_id"], candidates["start"], candidates["end"])
    covered = [any(a <= s and e <= b for a, b in by_turn.get((d, t), ())) for d, t, s, e in keys]
    return candidates[~np.array(covered, dtype=bool)].reset_index(drop=True)


def _decided(candidates: pd.DataFrame, p: np.ndarray, threshold: float) -> pd.DataFrame:
    sure = np.isfinite(p)
    redact = ~sure | (p >= threshold)  # no answer is no reason to let a name stand
    return candidates.assign(
        decision=np.where(redact, REDACT, KEEP),
        p_redact=np.where(sure, p, 1.0),
        route="auto",
        reason=np.where(sure, "reviewer", "reviewer failed"),
    ).astype(make_spans([]).dtypes.to_dict())
