"""What the reviewer is shown of a candidate."""

from conftest import spans_of, turns_of

from redactkit.context import NEIGHBOUR_CHARS, render

TURNS = turns_of(
    "tutor: Hi Isaac!", "student/Isaac: hello", "tutor: Isaac has 15 apples, Isaac.", "student: ok", dialogue="x"
)


def test_the_span_stands_between_the_turns_before_and_after_with_roles_and_place():
    (seen,) = render(TURNS, spans_of(TURNS, (2, "Isaac"))).to_dict("records")
    assert seen == {
        "evidence": "turn 3 of 4. mention 2 of 3. a speaker. speakers: Isaac. [tutor: Hi Isaac!] "
        "[tutor: Isaac has 15 apples, Isaac.] math.",
        "before": "tutor: Hi Isaac! | student Isaac: hello | tutor: ",
        "surface": "Isaac",
        "after": " has 15 apples, Isaac. | student: ok",
    }


def test_a_context_never_reaches_into_another_dialogue():
    import pandas as pd

    other = turns_of("tutor: Bye Ann", dialogue="y")
    seen = render(pd.concat([TURNS, other], ignore_index=True), spans_of(other, (0, "Ann")))
    assert seen["before"].tolist() == ["tutor: Bye "]
    assert seen["after"].tolist() == [""]


def test_of_a_long_turn_before_the_end_is_shown():
    turns = turns_of("tutor: " + "start " * 100 + "the end", "student: I am Bo")
    before = render(turns, spans_of(turns, (1, "Bo")))["before"].iat[0]
    assert "the end | student: I am " in before
    assert len(before) < NEIGHBOUR_CHARS + 60


def test_evidence_can_be_switched_off_piece_by_piece():
    candidates = spans_of(TURNS, (2, "Isaac"))
    assert render(TURNS, candidates, evidence=())["evidence"].tolist() == [""]
    assert render(TURNS, candidates, evidence=("position",))["evidence"].tolist() == ["turn 3 of 4. mention 2 of 3."]
    assert render(TURNS, candidates, evidence=("roster",))["evidence"].tolist() == ["a speaker. speakers: Isaac."]


def test_a_turn_of_mathematics_is_marked():
    turns = turns_of("student: 13 x 2 = 26, Bo", "student: hi Bo, nice hat")
    seen = render(turns, spans_of(turns, (0, "Bo"), (1, "Bo")), evidence=("math",))
    assert seen["evidence"].tolist() == ["math.", ""]
