"""Synthetic dialogues: every span exact, every learned type present, both roles for one name, the splits apart."""

import pandas as pd
import pytest

from redactkit import casting, synthesis
from redactkit.synthesis import SPLITS, synthesize
from redactkit.tables import LEARNED_LABELS, InputError, check_spans, check_turns


@pytest.fixture(scope="module", params=["A", "B"])
def made(request):
    return synthesize(request.param, 60, seed=3)


def test_every_span_is_its_text(made):
    turns, gold, keep = made
    turns = check_turns(turns)
    check_spans(gold, turns)
    check_spans(keep, turns)


def test_gold_and_keep_never_overlap(made):
    _, gold, keep = made
    both = gold.merge(keep, on=["dialogue_id", "turn_id"])
    assert not ((both["start_x"] < both["end_y"]) & (both["start_y"] < both["end_x"])).any()


def test_every_learned_type_occurs_and_no_other():
    golds = pd.concat([synthesize(p, 80, seed=1)[1] for p in "AB"])
    assert set(golds["label"]) == set(LEARNED_LABELS)


def test_the_same_name_stands_in_both_roles_in_some_dialogues():
    _, gold, keep = synthesize("A", 200, seed=2)
    people = gold.groupby("dialogue_id")["surface"].agg(lambda s: {x.casefold() for x in s})
    characters = keep.groupby("dialogue_id")["surface"].agg(lambda s: {x.casefold() for x in s})
    both = [d for d in people.index.intersection(characters.index) if people[d] & characters[d]]
    assert len(both) >= 20


def test_a_lesson_is_longer_than_a_chat():
    lengths = {p: synthesize(p, 60, seed=4)[0].groupby("dialogue_id").size().median() for p in "AB"}
    assert lengths["B"] > 3 * lengths["A"]


def test_the_seed_fixes_everything():
    for first, second in zip(synthesize("B", 5, seed=9), synthesize("B", 5, seed=9)):
        pd.testing.assert_frame_equal(first, second)
    assert not synthesize("B", 5, seed=9)[0].equals(synthesize("B", 5, seed=10)[0])


def test_story_problems_are_mixed_in_with_their_names_exchanged():
    problem = "Natalia sold 48 clips in April. How many clips did Natalia sell?"
    turns, _, keep = synthesize("A", 60, seed=5, problems=[problem])
    told = turns[turns["text"].str.contains("48 clips", case=False)]
    assert len(told) > 10
    assert not told["text"].str.contains("Natalia").all()
    assert keep.merge(told, on=["dialogue_id", "turn_id"])["label"].eq("problem_character").sum() >= len(told)


def test_an_unknown_platform_is_refused():
    with pytest.raises(InputError, match="platform 'C' is unknown; choose one of A, B"):
        synthesize("C", 1, seed=1)


def test_a_scene_with_a_fault_is_named_by_file_and_line(tmp_path, monkeypatch):
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes" / "mine.txt").write_text("T: Hi <student>\n\nT: Bye <studnet>\n")
    monkeypatch.setattr(synthesis, "DATA", tmp_path)
    with pytest.raises(InputError, match=r"data/scenes/mine\.txt, line 3: unknown slot <studnet>"):
        synthesis.scenes("mine")


def test_name_pools_come_from_many_origins():
    pools = casting.name_pools()
    assert len(pools) >= 30
    assert all(len(given) >= 15 for given, _ in pools.values())


def test_the_splits_have_the_papers_sizes_and_share_no_scene_with_training():
    sizes = {part: synthesis.split(part, "A")[0]["dialogue_id"].nunique() for part in SPLITS}
    assert sizes == {"train": 800, "val": 100, "test": 100, "challenge": 50}
    for name in ("chats", "lessons"):
        train, held_out = (set(synthesis._scenes(name, h)) for h in (False, True))
        assert len(held_out) > 20
        assert train.isdisjoint(held_out)
        assert len(train) + len(held_out) >= len(set(synthesis.scenes(name)))


def test_every_challenge_dialogue_names_a_participant_and_a_character():
    _, gold, keep = synthesis.split("challenge", "A")
    people = set(gold.loc[gold["label"] == "Name", "dialogue_id"])
    assert len(people) == SPLITS["challenge"]["A"]
    assert people == set(keep.loc[keep["label"] == "problem_character", "dialogue_id"])


def test_an_unknown_part_is_refused():
    with pytest.raises(InputError, match="part 'dev' is unknown; choose one of train, val, test, challenge"):
        synthesis.split("dev", "A")
