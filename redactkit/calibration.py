"""Whether p_redact means what it says: of the candidates given .8, eight in ten should have to be redacted.

A reviewer's probability orders candidates well and is too cautious at both ends, as focal loss makes it (Mukhoti et al.
2020). Two numbers mend that, a temperature and an offset of its log-odds (Platt 1999; Guo et al. 2017), fitted on
dialogues that trained nothing and stored with the reviewer's weights. The order of candidates stays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit

NONE = {"temperature": 1.0, "offset": 0.0}
BINS = 10
_LIMITS = [(-1.5, 1.5), (-4.0, 4.0)]  # of the temperature's logarithm and the offset, where few or clear rows run off


def fit(logits: np.ndarray, redact: np.ndarray) -> dict[str, float]:
    """The temperature and offset under which p = σ(logit / temperature + offset) is likeliest.

    Parameters
    ----------
    logits : log-odds of REDACT, one a candidate.
    redact : whether each has to be redacted.
    """
    sign = np.where(redact, 1.0, -1.0)

    def loss(x: np.ndarray) -> float:
        return float(np.logaddexp(0, -sign * (logits / np.exp(x[0]) + x[1])).mean())

    best = minimize(loss, np.zeros(2), bounds=_LIMITS).x
    return {"temperature": round(float(np.exp(best[0])), 4), "offset": round(float(best[1]), 4)}


def apply(logits: np.ndarray, calibration: dict[str, Any]) -> np.ndarray:
    """The calibrated probability of REDACT of each log-odds."""
    return expit(logits / calibration["temperature"] + calibration["offset"])


def reliability(p: np.ndarray, redact: np.ndarray) -> pd.DataFrame:
    """Bins of equal width: columns low, high, n, p (mean prediction), share (that has to be redacted)."""
    place = np.minimum((np.asarray(p) * BINS).astype(int), BINS - 1)
    table = pd.DataFrame({"bin": place, "p": p, "share": np.asarray(redact, dtype=float)}).groupby("bin")
    out = table.agg(n=("p", "size"), p=("p", "mean"), share=("share", "mean")).reset_index()
    return out.assign(low=out["bin"] / BINS, high=(out["bin"] + 1) / BINS)[["low", "high", "n", "p", "share"]]


def expected_error(p: np.ndarray, redact: np.ndarray) -> float:
    """Expected calibration error: mean distance of a bin's prediction from its share, weighted by rows; NaN of none."""
    bins = reliability(p, redact)
    return float(np.average((bins["p"] - bins["share"]).abs(), weights=bins["n"])) if len(bins) else float("nan")
