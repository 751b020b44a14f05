"""Synthetic dialogues: every span exact, every learned type present, both roles for one name; and name swaps."""

import pandas as pd
import pytest
from conftest import spans_of, turns_of
from hypothesis import given
from hypothesis import strategies as st

from redactkit import synthesis
from redactkit.synthesis import swap_names, synthesize
from redactkit.tables import LEARNED_LABELS, InputError, check_spans, check_turns, make_spans


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
    pools = synthesis.name_pools()
    assert len(pools) >= 30
    assert all(len(given) >= 15 for given, _ in pools.values())


TURNS = turns_of("tutor: Hi Maria!", "student/Maria: maria here. Tom has 3 plums, Tom eats 1.")
GOLD = spans_of(TURNS, (0, "Maria"), (1, "maria"))
KEEP = make_spans(
    dict(dialogue_id="d", turn_id=1, start=s, end=s + 3, surface="Tom", label="problem_character") for s in (12, 29)
)


@given(st.integers(0, 10_000))
def test_a_swap_changes_names_and_nothing_else(seed):
    turns, gold, keep = swap_names(TURNS, GOLD, KEEP, seed, collide=0)
    check_spans(gold, turns)
    check_spans(keep, turns)
    person, character = gold["surface"].iat[0], keep["surface"].iat[0]
    assert turns["text"].tolist() == [
        f"Hi {person}!",
        f"{person.lower()} here. {character} has 3 plums, {character} eats 1.",
    ]
    assert turns["speaker"].tolist() == ["tutor", person]


def test_with_full_collision_the_student_has_the_characters_name():
    _, gold, keep = swap_names(TURNS, GOLD, KEEP, seed=1, collide=1)
    assert gold["surface"].iat[0] == keep["surface"].iat[0]


def test_labels_other_than_names_pass_unchanged():
    turns = turns_of("student: I go to Oak School")
    swapped, gold, _ = swap_names(turns, spans_of(turns, (0, "Oak School", "School")), make_spans([]), seed=1)
    assert swapped["text"].tolist() == turns["text"].tolist()
    assert gold["label"].tolist() == ["School"]
