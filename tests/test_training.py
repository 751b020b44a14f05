"""The training loop: batches of like length, and a run that resumes where it was stopped."""

import random

import pytest
from conftest import spans_of, turns_of

from redactkit import proposer, training

TURNS = turns_of("tutor: Hi Maria, ready?", "student: yes", "tutor: Well done Bo")
GOLD = spans_of(TURNS, (0, "Maria"), (2, "Bo"))


def test_batches_hold_every_item_once_within_the_budget():
    items = [random.Random(i).randint(1, 200) for i in range(300)]
    batches = training.bucketed(items, lambda n: n, 400, random.Random(0))
    assert sorted(n for b in batches for n in b) == sorted(items)
    assert all(len(b) == 1 or len(b) * max(b) <= 400 + 16 * len(b) for b in batches)


def test_a_stopped_run_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1)  # a checkpoint at each step
    monkeypatch.setattr(proposer, "TRAIN_TOKENS", 8)

    def run(folder, progress=iter):
        return proposer.train(TURNS, GOLD, folder, "tiny-bert", None, 1e-3, 6, 5, lambda _: "", progress=progress)

    def stop_after_three(batches):
        yield from list(batches)[:3]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "stopped", stop_after_three)
    assert (tmp_path / "stopped" / "checkpoint.pt").is_file()
    assert run(tmp_path / "stopped") == pytest.approx(run(tmp_path / "whole"), rel=1e-3)
    assert not (tmp_path / "stopped" / "checkpoint.pt").exists()


def test_a_checkpoint_of_other_settings_is_not_taken_up(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_SECONDS", -1)

    def stop(batches):
        yield next(iter(batches))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        proposer.train(TURNS, GOLD, tmp_path, "tiny-bert", None, 1e-3, 6, 5, lambda _: "", progress=stop)
    losses = proposer.train(TURNS, GOLD, tmp_path, "tiny-bert", None, 1e-3, 2, 6, lambda _: "")
    assert len(losses) == 2
