"""How well predictions find gold: matching, precision, recall, F1, coverage and intervals (paper: section 5, App. G).

One rule for all systems. In each turn a gold span and a prediction can match when they share a code point; each is
used once, and the matching is a largest possible one, so neither order nor luck decides. Types are not compared: what
counts is whether the text was redacted. Left out on purpose: macro averages and the spread over seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from redactkit.tables import REDACT, InputError, check_spans, check_turns, overlaps, spans_by_turn

LEVEL = 95  # per cent, of the bootstrap interval
METRICS = ["precision", "recall", "f1", "keep_share", "tp", "fp", "fn", "partial", "keep_hit", "keep_total"]
_COUNTS = ["tp", "n_gold", "n_pred", "partial", "keep_hit", "keep_total"]
_KEY = ["dialogue_id", "turn_id"]
Span = tuple[int, int]


def score(
    gold: pd.DataFrame, pred: pd.DataFrame, keep: pd.DataFrame | None = None, ignore: pd.DataFrame | None = None
) -> dict[str, float | int | None]:
    """Compare two spans tables.

    Parameters
    ----------
    gold : what has to be redacted.
    pred : what a system decided; rows count where `decision` is REDACT or missing, and everywhere without the column.
    keep : spans that have to stay (story characters, curricular names); only looked at for keep_*.
    ignore : spans nobody labelled; a prediction that touches one, and no gold span, is left out of the count.

    Returns
    -------
    tp, fp, fn, precision, recall, f1 (fractions; 0.0 where nothing was predicted or nothing is gold), partial (matched
    gold spans of which a code point stays uncovered by all of the turn's predictions together), keep_hit, keep_total
    (keep spans that a prediction overlaps, and all of them), keep_share (fraction left alone; None without keep spans).
    A span that a table names twice counts once.

    Raises
    ------
    InputError : a table is not a spans table.
    """
    counts = _count(*_checked(gold, pred, keep, ignore))
    found = {name: column[0] for name, column in _metrics(counts.to_numpy().sum(axis=0, keepdims=True)).items()}
    whole = {name: int(found[name]) for name in ("tp", "fp", "fn", "partial", "keep_hit", "keep_total")}
    share = float(found["keep_share"]) if whole["keep_total"] else None
    return {**{name: float(found[name]) for name in ("precision", "recall", "f1")}, **whole, "keep_share": share}


def evaluate(
    gold: pd.DataFrame,
    pred: pd.DataFrame,
    turns: pd.DataFrame | None = None,
    keep: pd.DataFrame | None = None,
    ignore: pd.DataFrame | None = None,
    n_boot: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """`score` as a tidy table, with 95 % bootstrap percentile intervals.

    Whole dialogues are resampled, because the spans of one dialogue hang together. With `turns` every table is checked
    against the text, and dialogues without any span take part in the resampling.

    Returns
    -------
    metric, value, low, high; a row for each of precision, recall, f1, keep_share (fractions), tp, fp, fn, partial,
    keep_hit, keep_total and n_dialogues (counts). No interval (missing) for n_dialogues or with ``n_boot=0``;
    keep_share is missing without keep spans.

    Raises
    ------
    InputError : a table is not a spans table, does not fit `turns`, or `n_boot` is negative.
    """
    if n_boot < 0:
        raise InputError(f"n_boot: {n_boot} resamples asked for; give 0 (no intervals) or more.")
    if turns is not None:
        turns = check_turns(turns)
    counts = _count(*_checked(gold, pred, keep, ignore, turns))
    if turns is not None:
        counts = counts.reindex(turns["dialogue_id"].unique(), fill_value=0)
    table = pd.DataFrame({"metric": METRICS, **_intervals(counts.to_numpy(), n_boot, seed)})
    last = pd.DataFrame({"metric": ["n_dialogues"], "value": [float(len(counts))], "low": [np.nan], "high": [np.nan]})
    return pd.concat([table, last], ignore_index=True)


def _checked(
    gold: pd.DataFrame,
    pred: pd.DataFrame,
    keep: pd.DataFrame | None,
    ignore: pd.DataFrame | None,
    turns: pd.DataFrame | None = None,
) -> list[pd.DataFrame]:
    """All four tables with the contract's types; of the predictions only those that redact."""
    nothing = gold.iloc[:0]
    tables = {"gold": gold, "pred": pred, "keep": keep, "ignore": ignore}
    checked = {n: check_spans(nothing if t is None else t, turns, n) for n, t in tables.items()}
    if "decision" in pred:
        decision = checked["pred"]["decision"]
        checked["pred"] = checked["pred"][decision.isna() | decision.eq(REDACT)]
    return list(checked.values())


def _count(gold: pd.DataFrame, pred: pd.DataFrame, keep: pd.DataFrame, ignore: pd.DataFrame) -> pd.DataFrame:
    """The additive counts of each dialogue (rows, by id); every metric is a function of their sums."""
    golds, preds, keeps, ignored = (spans_by_turn(table) for table in (gold, pred, keep, ignore))
    rows = []
    for turn in sorted(golds.keys() | preds.keys() | keeps.keys()):
        g, p, k = golds.get(turn, []), preds.get(turn, []), keeps.get(turn, [])
        if p and turn in ignored:
            p = _without_ignored(g, p, ignored[turn])
        tp, partial = _match(g, p) if g and p else (0, 0)
        rows.append((*turn, tp, len(g), len(p), partial, int(_touched(k, p).sum()), len(k)))
    return pd.DataFrame(rows, columns=_KEY + _COUNTS).groupby("dialogue_id", sort=False)[_COUNTS].sum()


def _metrics(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Each metric of each row of summed counts."""
    tp, n_gold, n_pred, partial, hit, total = counts.T.astype(float)
    precision, recall = _ratio(tp, n_pred), _ratio(tp, n_gold)
    return {
        "precision": precision,
        "recall": recall,
        "f1": _ratio(2 * precision * recall, precision + recall),
        "keep_share": _ratio(total - hit, total, empty=np.nan),
        "tp": tp,
        "fp": n_pred - tp,
        "fn": n_gold - tp,
        "partial": partial,
        "keep_hit": hit,
        "keep_total": total,
    }


def _ratio(part: np.ndarray, whole: np.ndarray, empty: float = 0.0) -> np.ndarray:
    return np.divide(part, whole, out=np.full(part.shape, empty), where=whole > 0)


def _intervals(counts: np.ndarray, n_boot: int, seed: int) -> dict[str, np.ndarray]:
    """Value, low and high of every metric, from per-dialogue counts."""
    found = _metrics(counts.sum(axis=0, keepdims=True))
    value = np.concatenate([found[name] for name in METRICS])
    low, high = np.full((2, len(METRICS)), np.nan)
    if n_boot and len(counts):
        draw, n = np.random.default_rng(seed), len(counts)
        sums = np.stack([counts[draw.integers(n, size=n)].sum(axis=0) for _ in range(n_boot)])
        drawn = _metrics(sums)
        for i, name in enumerate(METRICS):
            if not np.isnan(drawn[name]).all():  # a resample may hold no keep span: its share is left out, not called 0
                low[i], high[i] = np.nanpercentile(drawn[name], [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return {"value": value, "low": low, "high": high}


def _without_ignored(gold: list[Span], pred: list[Span], ignore: list[Span]) -> list[Span]:
    counted = _touched(pred, gold) | ~_touched(pred, ignore)
    return [span for span, yes in zip(pred, counted) if yes]


def _touched(spans: Sequence[Span], others: Sequence[Span]) -> np.ndarray:
    """For each span whether any of the others, sorted by start, shares a code point with it."""
    a, b = (np.array(side, dtype=np.int64).reshape(-1, 2) for side in (spans, others))
    reach = np.maximum.accumulate(np.concatenate([[0], b[:, 1]]))  # furthest end among the first i others
    return reach[np.searchsorted(b[:, 0], a[:, 1])] > a[:, 0]


def _match(gold: list[Span], pred: list[Span]) -> tuple[int, int]:
    """Matched gold spans of a turn, and how many of them are not wholly covered."""
    tp = partial = 0
    for golds, preds in _clusters(gold, pred):
        for span in _matched(golds, preds):
            tp += 1
            partial += not _covered(span, preds)
    return tp, partial


def _clusters(gold: list[Span], pred: list[Span]) -> list[tuple[list[Span], list[Span]]]:
    """Cut a turn where no span crosses: no match does either, and a long turn falls into small problems."""
    out: list[tuple[list[Span], list[Span]]] = []
    reach = 0
    for start, end, side in sorted([(*span, 0) for span in gold] + [(*span, 1) for span in pred]):
        if start >= reach:
            out.append(([], []))
        out[-1][side].append((start, end))
        reach = max(reach, end)
    return [cluster for cluster in out if cluster[0] and cluster[1]]


def _matched(gold: list[Span], pred: list[Span]) -> list[Span]:
    """The gold spans of a largest one-to-one matching (shortest augmenting paths, as in SciPy).

    Several matchings can be equally large, and `partial` may differ between them. Weights that fall with the gold
    span's place settle it: the matching stays a largest one, and of gold spans that compete the earlier are matched.
    """
    if len(gold) == len(pred) == 1:
        return gold
    edges = np.array([[overlaps(g, p) for p in pred] for g in gold])
    rows, columns = linear_sum_assignment(edges * np.arange(len(gold), 0, -1)[:, None], maximize=True)
    return [gold[i] for i in rows[edges[rows, columns]]]


def _covered(span: Span, pred: list[Span]) -> bool:
    """Whether the predictions, sorted by start, together cover every code point of the span."""
    reach = span[0]
    for start, end in pred:
        if start <= reach < end:
            reach = end
    return reach >= span[1]
