"""Name swaps: names change, their places and everything else stay."""

from conftest import spans_of, turns_of
from hypothesis import given
from hypothesis import strategies as st

from redactkit.casting import name_pools
from redactkit.swaps import swap_names
from redactkit.tables import check_spans, make_spans

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


def test_noise_mistypes_some_names_and_nothing_else():
    names, others = set(), set()
    for seed in range(60):
        turns, gold, keep = swap_names(TURNS, GOLD, KEEP, seed, collide=0, noise=0.5)
        plain, _, _ = swap_names(TURNS, GOLD, KEEP, seed, collide=0)
        check_spans(gold, turns)
        check_spans(keep, turns)
        names.add(turns["text"].iat[0] == plain["text"].iat[0])
        others.add(turns["text"].iat[0][:3] + turns["text"].iat[0][-1])
    assert names == {True, False}
    assert others == {"Hi !"}


def test_names_can_be_of_some_origins_alone():
    turkish = set(name_pools()["tr_TR"][0])
    for seed in range(20):
        _, gold, keep = swap_names(TURNS, GOLD, KEEP, seed, origins=["tr_TR"])
        assert {gold["surface"].iat[0], keep["surface"].iat[0]} <= turkish
