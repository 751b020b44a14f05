"""Stage 2: the encoder reviewer answers REDACT or KEEP for each candidate in its context (PAPER.md R6).

The dialogue's evidence comes first, then the context with the span between « »; the answer is read at the opening
mark. Trained with focal loss (γ = 2) on cascade-aligned labels, AdamW with warm-up 0.1, at most 384 tokens (paper,
Table 5).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from redactkit import calibration, context, models, training
from redactkit.context import EVIDENCE
from redactkit.tables import KEEP, REDACT

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast

ANSWERS = [KEEP, REDACT]
MAX_TOKENS, SPAN_TOKENS, EVIDENCE_TOKENS = 384, 64, 96
TRAIN_TOKENS, SCORE_TOKENS = 2048, 8192  # a batch, after padding
GAMMA = 2.0
_IGNORED = -100
_MARKS = str.maketrans("«»", '""')  # in the text itself, where they would be taken for ours
Example = tuple[list[int], int, int]  # token ids, position of the opening mark, answer


class Reviewer:
    """A trained reviewer, with the weight of its probability beside the proposers' score and the threshold of both."""

    def __init__(self, folder: str | Path, threshold: float, weight: float = 1.0, allow_download: bool = False) -> None:
        """Load the component in `folder`; a candidate is redacted from p_redact = `threshold` on."""
        self.threshold, self.weight = threshold, weight
        self.tokenizer, self.model, self.config = models.load_component(folder, allow_download)
        self.evidence = self.config.get("evidence", EVIDENCE)
        self.calibration = self.config.get("calibration", calibration.NONE)

    def review(self, turns: pd.DataFrame, candidates: pd.DataFrame, progress: Callable | None = None) -> np.ndarray:
        """The probability of REDACT for each row of `candidates`, read in its context; not yet calibrated."""
        import torch

        contexts = context.render(turns, candidates, self.evidence)
        examples = list(enumerate(_encode(contexts, [0] * len(contexts), self.tokenizer)))
        out = np.zeros(len(examples))
        batches = training.bucketed(examples, lambda e: len(e[1][0]), SCORE_TOKENS, random.Random(0))
        with torch.inference_mode():
            for batch in (progress or iter)(batches):
                inputs = _collate([e for _, e in batch], self.tokenizer)
                marks = inputs.pop("labels") != _IGNORED
                p = self.model(**inputs).logits.float()[marks].softmax(-1)[:, 1]
                out[[i for i, _ in batch]] = p.numpy()
        return out


def train(
    contexts: pd.DataFrame,
    answers: list[str],
    folder: str | Path,
    base: str,
    lora_r: int | None,
    lr: float,
    epochs: int,
    seed: int,
    card: Callable[[dict[str, Any]], str],
    allow_download: bool = False,
    progress: Callable | None = None,
    evidence: Sequence[str] = EVIDENCE,
) -> list[float]:
    """Train a reviewer on contexts and their right answers and write it to `folder`; returns the loss of each step.

    `evidence`: the kinds that the contexts were rendered with, to be shown the same ones later.
    """
    tokenizer, model = models.load_base(base, ANSWERS, lora_r, seed, allow_download)
    examples = _encode(contexts, [ANSWERS.index(a) for a in answers], tokenizer)
    rng = random.Random(seed)
    batches = [b for _ in range(epochs) for b in training.bucketed(examples, lambda e: len(e[0]), TRAIN_TOKENS, rng)]
    losses = training.fit(
        model, batches, lambda b: _collate(list(b), tokenizer), focal_loss, lr, seed, Path(folder), progress=progress
    )
    config = dict(base=base, labels=ANSWERS, lora_r=lora_r, lr=lr, epochs=epochs, seed=seed, rows=len(examples))
    config["evidence"] = list(evidence)
    config |= dict(steps=len(losses), final_loss=round(float(np.mean(losses[-20:])), 4))
    models.save_component(folder, model, config, card(config))
    return losses


def focal_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Focal loss, mean of −(1 − p)^γ · log p over the marked positions (Lin et al. 2017); easy rows weigh little."""
    marks = labels != _IGNORED
    log_p = logits[marks].log_softmax(-1).gather(1, labels[marks].unsqueeze(1)).squeeze(1)
    return (-((1 - log_p.exp()) ** GAMMA) * log_p).mean()


def _encode(contexts: pd.DataFrame, answers: list[int], tokenizer: PreTrainedTokenizerFast) -> list[Example]:
    """Token ids with the span marked; a context that is too long loses its far ends."""
    evidence, before, span, after = (
        [ids for ids, _ in models.encode(tokenizer, [t.translate(_MARKS) for t in contexts[c]])]
        for c in ("evidence", "before", "surface", "after")
    )
    (opening, closing) = (ids for ids, _ in models.encode(tokenizer, ["«", "»"]))
    out = []
    for known, b, s, a, answer in zip(evidence, before, span, after, answers):
        s = s[:SPAN_TOKENS]
        known = [tokenizer.cls_token_id, *known[:EVIDENCE_TOKENS], tokenizer.sep_token_id]
        room = MAX_TOKENS - len(known) - len(s) - len(opening) - len(closing) - 1
        left = min(len(b), max(room - len(a), room * 2 // 3))
        b, a = b[len(b) - left :], a[: room - left]
        ids = [*known, *b, *opening, *s, *closing, *a, tokenizer.sep_token_id]
        out.append((ids, len(known) + len(b), answer))
    return out


def _collate(batch: list[Example], tokenizer: PreTrainedTokenizerFast) -> dict[str, torch.Tensor]:
    ids = models.pad([i for i, _, _ in batch], tokenizer.pad_token_id)
    mask = models.pad([[1] * len(i) for i, _, _ in batch], 0)
    labels = models.pad([[_IGNORED] * at + [answer] for _, at, answer in batch], _IGNORED)
    full = ids.new_full(ids.shape, _IGNORED)
    full[:, : labels.shape[1]] = labels
    return dict(input_ids=ids, attention_mask=mask, labels=full)
