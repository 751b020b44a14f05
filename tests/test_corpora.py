"""Labelled corpora in the contract: the synthetic sample of the layout, and the public ones where they are."""

import json

import pytest

from redactkit.corpora import load, story_problems
from redactkit.tables import InputError


def test_a_part_is_its_turns_and_spans_and_absent_tables_are_empty(tmp_path):
    (tmp_path / "mine").mkdir()
    turn = dict(dialogue_id="d", turn_id=0, speaker="T", role="tutor", text="Hi Maria")
    span = dict(dialogue_id="d", turn_id=0, start=3, end=8, surface="Maria", label="Name")
    (tmp_path / "mine" / "dev.turns.jsonl").write_text(json.dumps(turn))
    (tmp_path / "mine" / "dev.gold.jsonl").write_text(json.dumps(span))
    data = load(tmp_path, "mine", "dev")
    assert (len(data.turns), len(data.gold), len(data.keep), len(data.ignore)) == (1, 1, 0, 0)


def test_a_missing_part_is_named(tmp_path):
    with pytest.raises(InputError, match=r"mine/test\.turns\.jsonl: no such file"):
        load(tmp_path, "mine", "test")
    with pytest.raises(InputError, match="word_problems: no JSONL files there"):
        story_problems(tmp_path)


@pytest.mark.parametrize("name", ["mathdial", "mathdial_collide", "talkmoves", "bridge"])
def test_the_public_corpora_keep_the_contract(corpora, name):
    data = load(corpora, name, "dev")
    assert len(data.gold) > 0


def test_story_problems_are_plain_texts(corpora):
    assert len(story_problems(corpora)) > 8000
