"""The training loop that the proposer and the encoder reviewer share (PAPER.md Table 5: AdamW, warm-up, clipping).

Resumable: every few minutes the state goes to `checkpoint.pt` beside the component and is taken up again by a second
call with the same settings; a finished run removes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

Batch = dict[str, "torch.Tensor"]
CHECKPOINT_SECONDS = 120


def fit(
    model: PreTrainedModel,
    batches: Sequence[Sequence[Any]],
    collate: Callable[[Sequence[Any]], Batch],
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    lr: float,
    seed: int,
    folder: Path,
    warmup: float = 0.1,
    progress: Callable | None = None,
) -> list[float]:
    """Train `model` in place over `batches` (already in order, all epochs), and return the loss of each step.

    `collate` makes a batch's tensors, among them `labels`; `loss` takes logits and labels. Learning rate: linear
    warm-up over the share `warmup` of the steps, then linear decay to 0. bfloat16 where the processor has it.
    """
    import torch
    import transformers

    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=lr, weight_decay=0.01)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, int(warmup * len(batches)), len(batches))
    state, losses = folder / "checkpoint.pt", []
    identity = f"{len(batches)} {lr} {seed} {sum(p.numel() for p in weights)}"
    if state.is_file():
        losses = _resume(state, identity, weights, optimizer, schedule)
    model.train()
    saved = time.monotonic()
    for number, batch in enumerate((progress or iter)(batches)):
        if number < len(losses):
            continue
        torch.manual_seed(seed + number)  # each step draws its own dropout, so a resumed run equals a whole one
        losses.append(_step(model, collate(batch), loss, optimizer, weights))
        schedule.step()
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            _checkpoint(state, identity, losses, weights, optimizer, schedule)
            saved = time.monotonic()
    state.unlink(missing_ok=True)
    model.eval()
    return losses


def bucketed(items: Sequence[Any], size: Callable[[Any], int], budget: int, rng: Random) -> list[list[Any]]:
    """Items in batches of like length, about `budget` tokens each after padding; the batches in random order."""
    order = sorted(items, key=lambda item: (size(item) // 16, rng.random()))
    batches: list[list[Any]] = []
    batch: list[Any] = []
    for item in order:
        if batch and (len(batch) + 1) * max(size(item), size(batch[-1])) > budget:
            batches.append(batch)
            batch = []
        batch.append(item)
    batches += [batch] if batch else []
    rng.shuffle(batches)
    return batches


def fast_precision() -> bool:
    """Whether this processor multiplies bfloat16 matrices in hardware (elsewhere it would be slower, not faster)."""
    import torch

    return bool(
        torch.backends.cpu.get_cpu_capability() in ("AVX512", "AMX") and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def _step(
    model: PreTrainedModel, batch: Batch, loss: Callable, optimizer: torch.optim.Optimizer, weights: list
) -> float:
    import torch

    labels = batch.pop("labels")
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=fast_precision()):
        logits = model(**batch).logits
    value = loss(logits.float(), labels)
    value.backward()
    norm = torch.nn.utils.clip_grad_norm_(weights, 1.0)
    if torch.isfinite(norm):  # one bad batch must not end a run of hours
        optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return value.item()


def _checkpoint(state: Path, identity: str, losses: list, weights: list, optimizer: Any, schedule: Any) -> None:
    import torch

    state.parent.mkdir(parents=True, exist_ok=True)
    aside = state.with_suffix(".part")
    content = dict(
        identity=identity,
        losses=losses,
        weights=weights,
        optimizer=optimizer.state_dict(),
        schedule=schedule.state_dict(),
    )
    torch.save(content, aside)
    aside.replace(state)


def _resume(state: Path, identity: str, weights: list, optimizer: Any, schedule: Any) -> list[float]:
    import torch

    content = torch.load(state, weights_only=True)
    if content["identity"] != identity:
        return []
    with torch.no_grad():
        for mine, saved in zip(weights, content["weights"]):
            mine.copy_(saved)
    optimizer.load_state_dict(content["optimizer"])
    schedule.load_state_dict(content["schedule"])
    return content["losses"]
