"""Mentions of one name: found wherever they stand, and answered together unless the text tells them apart."""

import numpy as np
import pytest
from conftest import spans_of, turns_of
from hypothesis import given
from hypothesis import strategies as st

from redactkit.agreement import agree, echo, people
from redactkit.tables import make_spans


def mentions(*surfaces, dialogue="d"):
    turns = turns_of(*(f"tutor: {s}" for s in surfaces), dialogue=dialogue)
    return spans_of(turns, *enumerate(surfaces))


def test_a_sure_name_is_looked_up_in_the_whole_dialogue_whatever_its_case():
    turns = turns_of("tutor: Hi Jordan", "student: jordan here", "tutor: JORDAN's turn, Jordana waits")
    found = echo(turns, spans_of(turns, (0, "Jordan"), source="proposer:a", score=0.9))
    assert found[["turn_id", "start", "surface", "label", "source"]].to_numpy().tolist() == [
        [1, 0, "jordan", "Name", "echo"],
        [2, 0, "JORDAN", "Name", "echo"],
    ]
    assert found["score"].isna().all()


def test_each_part_of_a_full_name_is_looked_up():
    turns = turns_of("tutor: Hi Mary Okafor", "student: Okafor is my last name, mary my first")
    found = echo(turns, spans_of(turns, (0, "Mary Okafor"), source="proposer:a", score=0.9))
    assert found["surface"].tolist() == ["Okafor", "mary"]


def test_names_in_the_speaker_column_are_looked_up_and_roles_are_not():
    turns = turns_of("tutor/Teacher: Thanks Odette", "student/Odette: the teacher said so")
    assert echo(turns, make_spans([]))["surface"].tolist() == ["Odette"]


@pytest.mark.parametrize("score", [0.3, float("nan")])
def test_a_name_nobody_is_sure_of_is_not_looked_up(score):
    turns = turns_of("tutor: Hi Will", "student: will do")
    assert echo(turns, spans_of(turns, (0, "Will"), score=score)).empty


def test_a_name_of_another_dialogue_is_not_looked_up():
    turns = turns_of("tutor: Hi Ines")
    sure = spans_of(turns, (0, "Ines"), score=0.9)
    assert echo(turns_of("tutor: Ines has 3 pens", dialogue="other"), sure).empty


@pytest.mark.parametrize(
    "forms",
    [
        ("Jon", "jonathan", "Jonathon"),
        ("Mary Okafor", "mary", "Okafor"),
        ("Núñez", "Ms. Nunez's"),
        ("Isabella", "Isabela", "ISABELLA"),
    ],
)
def test_partial_misspelt_and_nickname_forms_join_their_person(forms):
    assert len(set(people(mentions(*forms)))) == 1


@pytest.mark.parametrize("a, b", [("Maria", "Mark"), ("Ana", "Dana"), ("Al", "Alan"), ("Emma", "Emil")])
def test_different_names_stay_apart(a, b):
    one, other = people(mentions(a, b))
    assert one != other


def test_the_same_name_in_two_dialogues_is_two_persons():
    assert people(mentions("Ines", dialogue="x"))[0] == 0
    import pandas as pd

    both = pd.concat([mentions("Ines", dialogue="x"), mentions("Ines", dialogue="y")], ignore_index=True)
    assert len(set(people(both))) == 2


def test_what_is_not_a_name_has_no_person():
    turns = turns_of("tutor: I go to Jordan School")
    assert people(spans_of(turns, (0, "Jordan School", "School"))).tolist() == [-1]


def test_one_answer_for_all_mentions_of_a_person():
    out = agree(mentions("Jon", "jonathan", "Jonathon", "Bo"), np.array([2.0, 1.0, -0.3, -2.0]))
    assert out.tolist() == pytest.approx([0.9, 0.9, 0.9, -2.0])


def test_where_the_text_separates_child_and_character_each_keeps_its_answer():
    child_and_character = np.array([2.0, -1.5, -0.2])
    assert agree(mentions("Isaac", "Isaac", "Isaac"), child_and_character).tolist() == [2.0, -1.5, -0.2]


def test_a_mention_without_an_answer_stays_without_and_does_not_speak():
    out = agree(mentions("Jon", "Jon", "Jon"), np.array([2.0, float("nan"), 1.0]))
    assert out[[0, 2]].tolist() == [1.5, 1.5]
    assert np.isnan(out[1])


@given(st.lists(st.tuples(st.sampled_from(["Ines", "ines", "Bo", "Will"]), st.floats(-9, 9)), min_size=1, max_size=8))
def test_agreement_never_leaves_the_range_of_its_persons_mentions(rows):
    candidates, logits = mentions(*(s for s, _ in rows)), np.array([x for _, x in rows])
    who, out = people(candidates), agree(candidates, logits)
    for one in set(who) - {-1}:
        mine = logits[who == one]
        assert (out[who == one] >= mine.min() - 1e-9).all()
        assert (out[who == one] <= mine.max() + 1e-9).all()


def test_no_candidates_no_answers():
    assert agree(make_spans([]), np.array([])).tolist() == []
