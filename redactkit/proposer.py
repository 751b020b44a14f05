"""Stage 1A: candidates from fine-tuned token classifiers, recall first (PAPER.md R3, paper section 3.2).

Two encoders are trained on typed BIO tags; whatever either proposes goes on to the reviewer. A dialogue is read in
overlapping windows with role tags ("tutor: …"), each token scored once, in the window where it has context on both
sides. The threshold is low on purpose: precision is the reviewer's work.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import regex

from redactkit import models, training
from redactkit.tables import LEARNED_LABELS, make_spans, whole_characters

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TAGS = ["O", *(f"{bio}-{label}" for label in LEARNED_LABELS for bio in "BI")]
WINDOW, MARGIN = 256, 32  # tokens; a token is scored where it has at least MARGIN neighbours, if the dialogue has them
TRAIN_TOKENS, SCORE_TOKENS = 2048, 8192  # a batch, after padding
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}_]+")
_TIED_BEFORE, _TIED_AFTER = regex.compile(r"(?r)([\p{L}\p{M}]+)-\Z"), regex.compile(r"-([\p{L}\p{M}]+)")
_IGNORED = -100  # the label that cross-entropy leaves out


@dataclass(frozen=True)
class _Stream:
    """One dialogue as one row of tokens; `turn` is the row in the turns table, or -1 for a role tag."""

    ids: np.ndarray
    turn: np.ndarray
    start: np.ndarray
    end: np.ndarray


class Proposer:
    """One trained token classifier. `name` ("a", "b") becomes the source of what it proposes."""

    def __init__(self, folder: str | Path, name: str, threshold: float, allow_download: bool = False) -> None:
        """Load the component in `folder`; words whose probability of any tag reaches `threshold` are proposed."""
        self.name, self.threshold = name, threshold
        self.tokenizer, self.model, self.config = models.load_component(folder, allow_download)

    def propose(self, turns: pd.DataFrame, progress: Callable | None = None) -> pd.DataFrame:
        """Candidate spans (label, source "proposer:<name>", score = highest tag probability) in checked `turns`."""
        streams = _streams(turns, self.tokenizer)
        probabilities = _score(streams, self.tokenizer, self.model, progress)
        texts = turns["text"].tolist()
        keys = list(zip(turns["dialogue_id"], turns["turn_id"]))
        rows = []
        for stream, p in zip(streams, probabilities):
            for first, last in _runs(stream.turn):
                turn = int(stream.turn[first])
                if turn >= 0:
                    part = slice(first, last)
                    found = _decode(texts[turn], stream.start[part], stream.end[part], p[part], self.threshold)
                    rows += [dict(zip(("dialogue_id", "turn_id"), keys[turn]), **span) for span in found]
        return make_spans(rows, source=f"proposer:{self.name}")


def train(
    turns: pd.DataFrame,
    gold: pd.DataFrame,
    folder: str | Path,
    base: str,
    lora_r: int | None,
    lr: float,
    epochs: int,
    seed: int,
    card: Callable[[dict[str, Any]], str],
    allow_download: bool = False,
    progress: Callable | None = None,
) -> list[float]:
    """Train a proposer on labelled dialogues and write it to `folder`; returns the loss of each step.

    `card` writes the component's card from its settings. `lora_r` None trains all weights (as the paper does).
    """
    tokenizer, model = models.load_base(base, TAGS, lora_r, seed, allow_download)
    examples = [e for s, tags in _tagged(turns, gold, tokenizer) for e in _pieces(s.ids, tags)]
    rng = random.Random(seed)
    batches = [b for _ in range(epochs) for b in training.bucketed(examples, lambda e: len(e[0]), TRAIN_TOKENS, rng)]
    folder = Path(folder)
    losses = training.fit(
        model, batches, lambda b: _collate(list(b), tokenizer), _loss, lr, seed, folder, progress=progress
    )
    config = dict(
        base=base,
        labels=TAGS,
        lora_r=lora_r,
        lr=lr,
        epochs=epochs,
        seed=seed,
        steps=len(losses),
        final_loss=round(float(np.mean(losses[-20:])), 4),
    )
    models.save_component(folder, model, config, card(config))
    return losses


def union(proposed: list[pd.DataFrame]) -> pd.DataFrame:
    """All proposers' spans, overlapping ones of a turn merged into one that covers them all.

    The merged span has the label of its highest-scoring part, the highest score, and source "proposer:a+b".
    """
    spans = pd.concat(proposed, ignore_index=True).sort_values(
        ["dialogue_id", "turn_id", "start", "end"], kind="stable"
    )
    merged: list[dict] = []
    for row in spans.to_dict("records"):
        last = merged[-1] if merged else {"dialogue_id": None, "turn_id": -1, "end": 0}
        same = (last["dialogue_id"], last["turn_id"]) == (row["dialogue_id"], row["turn_id"])
        if same and row["start"] < last["end"]:
            merged[-1] = _joined(last, row)
        else:
            merged.append(row)
    return make_spans(merged)


def _joined(a: dict, b: dict) -> dict:
    best = max(a, b, key=lambda s: s["score"])
    end = max(a["end"], b["end"])
    surface = a["surface"] + b["surface"][a["end"] - b["start"] :]
    names = sorted({n for s in (a, b) for n in s["source"].removeprefix("proposer:").split("+")})
    return {**best, "start": a["start"], "end": end, "surface": surface, "source": f"proposer:{'+'.join(names)}"}


# --- reading a dialogue ------------------------------------------------------------------------------------------


def _streams(turns: pd.DataFrame, tokenizer: PreTrainedTokenizerFast) -> list[_Stream]:
    tags = {
        role: ids
        for role, (ids, _) in zip(
            ("tutor", "student", "other"), models.encode(tokenizer, ["tutor:", "student:", "other:"])
        )
    }
    encoded = models.encode(tokenizer, turns["text"].tolist())
    out = []
    place, roles = pd.Series(range(len(turns))), turns["role"].tolist()
    for _, rows in place.groupby(turns["dialogue_id"].to_numpy(), sort=False):
        ids, turn, start, end = [], [], [], []
        for row in rows:
            tag = tags[roles[row]]
            tokens, offsets = encoded[row]
            ids += [*tag, *tokens]
            turn += [-1] * len(tag) + [row] * len(tokens)
            start += [0] * len(tag) + [s for s, _ in offsets]
            end += [0] * len(tag) + [e for _, e in offsets]
        out.append(_Stream(*(np.array(column, dtype=np.int64) for column in (ids, turn, start, end))))
    return out


def _tagged(
    turns: pd.DataFrame, gold: pd.DataFrame, tokenizer: PreTrainedTokenizerFast
) -> list[tuple[_Stream, np.ndarray]]:
    """Each dialogue's stream with the tag index of each token; role tags are left out of the loss."""
    known = gold[gold["label"].isin(LEARNED_LABELS)]
    spans: dict[tuple, list] = {}
    for d, t, s, e, label in zip(known["dialogue_id"], known["turn_id"], known["start"], known["end"], known["label"]):
        spans.setdefault((d, t), []).append((s, e, label))
    by_row = [spans.get(key, ()) for key in zip(turns["dialogue_id"], turns["turn_id"])]
    out = []
    for stream in _streams(turns, tokenizer):
        tags = np.where(stream.turn < 0, _IGNORED, 0)
        for row in np.unique(stream.turn[stream.turn >= 0]):
            for s, e, label in by_row[row]:
                hit = np.flatnonzero((stream.turn == row) & (stream.start < e) & (stream.end > s))
                tags[hit[:1]], tags[hit[1:]] = TAGS.index(f"B-{label}"), TAGS.index(f"I-{label}")
        out.append((stream, tags))
    return out


def _pieces(ids: np.ndarray, tags: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    size = WINDOW - 2
    return [(ids[a : a + size], tags[a : a + size]) for a in range(0, len(ids), size)]


def _windows(length: int) -> list[tuple[int, int, int, int]]:
    """(start, end, owned start, owned end) of each window over `length` tokens; owned parts tile the dialogue."""
    size = WINDOW - 2
    starts = [*range(0, max(length - size, 0), size - 2 * MARGIN), max(length - size, 0)]
    owned = [0, *(b + MARGIN for b in starts[1:]), length]
    return [(a, min(a + size, length), low, high) for a, (low, high) in zip(starts, pairwise(owned))]


def _score(
    streams: list[_Stream], tokenizer: PreTrainedTokenizerFast, model: PreTrainedModel, progress: Callable | None
) -> list[np.ndarray]:
    """The probability of each tag for each token of each dialogue: arrays of shape (tokens, tags)."""
    import torch

    out = [np.zeros((len(s.ids), len(TAGS)), dtype=np.float32) for s in streams]
    jobs = [(i, *w) for i, s in enumerate(streams) if len(s.ids) for w in _windows(len(s.ids))]
    batches = training.bucketed(jobs, lambda j: j[2] - j[1], SCORE_TOKENS, random.Random(0))
    with torch.inference_mode():
        for batch in (progress or iter)(batches):
            inputs = _collate(
                [(streams[i].ids[a:b], np.zeros(b - a, dtype=np.int64)) for i, a, b, _, _ in batch], tokenizer
            )
            inputs.pop("labels")
            p = model(**inputs).logits.float().softmax(-1).numpy()
            for row, (i, a, _, low, high) in enumerate(batch):
                out[i][low:high] = p[row, 1 + low - a : 1 + high - a]
    return out


def _collate(batch: list[tuple[np.ndarray, np.ndarray]], tokenizer: PreTrainedTokenizerFast) -> dict:
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id
    ids = models.pad([[first, *i, last] for i, _ in batch], tokenizer.pad_token_id)
    labels = models.pad([[_IGNORED, *t, _IGNORED] for _, t in batch], _IGNORED)
    mask = models.pad([[1] * (len(i) + 2) for i, _ in batch], 0)
    return dict(input_ids=ids, attention_mask=mask, labels=labels)


def _loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    import torch

    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=_IGNORED)


# --- from tags to spans ------------------------------------------------------------------------------------------


def _runs(turn: np.ndarray) -> list[tuple[int, int]]:
    """Where the stream stays in one turn: (first, last) token positions, half-open."""
    cuts = np.flatnonzero(np.diff(turn)) + 1
    return list(pairwise([0, *cuts.tolist(), len(turn)])) if len(turn) else []


def _decode(text: str, start: np.ndarray, end: np.ndarray, p: np.ndarray, threshold: float) -> list[dict]:
    """Whole words over the threshold, joined where the tags say that the second continues the first."""
    entity = 1 - p[:, 0]
    if entity.max(initial=0) < threshold:
        return []
    found: list[dict] = []
    for word in _WORD.finditer(text):
        low, high = np.searchsorted(end, word.start(), "right"), np.searchsorted(start, word.end(), "left")
        if high <= low or entity[low:high].max() < threshold:
            continue
        by_label = p[low:high, 1::2].sum(0) + p[low:high, 2::2].sum(0)
        label = int(by_label.argmax())
        begins = p[low, 1 + 2 * label] >= p[low, 2 + 2 * label]
        score = float(entity[low:high].max())
        last = found[-1] if found else None
        if (
            last
            and not begins
            and last["label"] == LEARNED_LABELS[label]
            and _adjacent(text[last["end"] : word.start()])
        ):
            last.update(end=word.end(), score=max(score, last["score"]))
        else:
            found.append(dict(start=word.start(), end=word.end(), label=LEARNED_LABELS[label], score=score))
    for span in found:
        span["start"], span["end"] = whole_characters(text, *_with_hyphenated(text, span["start"], span["end"]))
        span["surface"] = text[span["start"] : span["end"]]
    return found


def _with_hyphenated(text: str, start: int, end: int) -> tuple[int, int]:
    """Take in what a hyphen ties to the span, when it begins in the same case: half of "Berg-Hågen" would leak."""
    before, after = _TIED_BEFORE.search(text, 0, start), _TIED_AFTER.match(text, end)
    same = text[start].isupper()
    if before and before[1][0].isupper() == same:
        start = before.start()
    if after and after[1][0].isupper() == same:
        end = after.end()
    return start, end


def _adjacent(gap: str) -> bool:
    return len(gap) <= 3 and "\n" not in gap
