"""Replacement: one number a person, the speaker column too, and not a character changed outside the spans."""

import pytest
from conftest import spans_of, turns_of
from hypothesis import given
from hypothesis import strategies as st

from redactkit.replace import replace
from redactkit.tables import InputError, make_spans, whole_characters


def test_a_person_has_one_number_in_text_and_speaker_column():
    turns = turns_of("tutor/Ms. Alvarez: Hi Maria!", "student/Maria R.: hi ms alvarez, im with MARÍA's sister Zoe")
    spans = spans_of(turns, (0, "Maria"), (1, "ms alvarez"), (1, "MARÍA"), (1, "Zoe"))
    clean = replace(turns, spans)
    assert clean["speaker"].tolist() == ["[NAME_1]", "[NAME_2]"]
    assert clean["text"].tolist() == ["Hi [NAME_2]!", "hi [NAME_1], im with [NAME_2]'s sister [NAME_3]"]


def test_numbers_start_anew_in_each_dialogue():
    import pandas as pd

    turns = pd.concat(
        [turns_of("tutor: Hi Ann", dialogue="1"), turns_of("tutor: Hi Bo", dialogue="2")], ignore_index=True
    )
    spans = make_spans(
        [
            dict(dialogue_id="1", turn_id=0, start=3, end=6, surface="Ann", label="Name"),
            dict(dialogue_id="2", turn_id=0, start=3, end=5, surface="Bo", label="Name"),
        ]
    )
    assert replace(turns, spans)["text"].tolist() == ["Hi [NAME_1]", "Hi [NAME_1]"]


def test_two_people_who_share_a_first_name_are_told_apart_by_the_initial():
    turns = turns_of("tutor: Aiden K, go first. Then Aiden P.")
    spans = spans_of(turns, (0, "Aiden K"), (0, "Aiden P"))
    assert replace(turns, spans)["text"].tolist() == ["[NAME_1], go first. Then [NAME_2]."]


def test_kept_candidates_stay_and_other_labels_count_for_themselves():
    turns = turns_of("tutor: Isaac has 15 apples. Isaac, write to a@b.org from Oak School.")
    spans = spans_of(
        turns, (0, "Isaac", "Name", "KEEP"), (0, "a@b.org", "Email", "REDACT"), (0, "Oak School", "School", "REDACT")
    )
    assert replace(turns, spans)["text"].tolist() == ["Isaac has 15 apples. Isaac, write to [EMAIL_1] from [SCHOOL_1]."]


def test_a_mask_tells_nothing():
    turns = turns_of("tutor/Ann: Hi Bo")
    clean = replace(turns, spans_of(turns, (0, "Bo")), how="mask")
    assert clean[["speaker", "text"]].to_numpy().tolist() == [["[REDACTED]", "Hi [REDACTED]"]]


def test_role_labels_are_nobodys_name():
    turns = turns_of("tutor/T: hi", "student/S1: hi", "other/SPEAKER_00: hi")
    assert replace(turns, make_spans([]))["speaker"].tolist() == ["T", "S1", "SPEAKER_00"]


def test_overlapping_spans_are_replaced_as_one():
    turns = turns_of("tutor: I am Maria Lopez Diaz.")
    clean = replace(turns, spans_of(turns, (0, "Maria Lopez"), (0, "Lopez Diaz")))
    assert clean["text"].tolist() == ["I am [NAME_1]."]


def test_the_given_tables_are_not_changed():
    turns = turns_of("tutor/Ann: Hi Bo")
    before = turns.copy()
    replace(turns, spans_of(turns, (0, "Bo")))
    assert turns.equals(before)


def test_an_unknown_way_is_refused():
    with pytest.raises(InputError, match="how='rot13' is unknown; choose one of tag, mask"):
        replace(turns_of("tutor: hi"), make_spans([]), how="rot13")


@given(
    st.text(st.characters(exclude_characters="[", exclude_categories=["Cs"]), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 39), st.integers(1, 8)), max_size=4),
)
def test_nothing_outside_the_spans_changes(text, marks):
    turns = turns_of("tutor: x").assign(text=text)
    rows, redacted = [], set()
    for start, length in marks:
        if start < len(text):
            low, high = whole_characters(text, start, min(start + length, len(text)))
            rows.append(
                dict(
                    dialogue_id="d",
                    turn_id=0,
                    start=low,
                    end=high,
                    surface=text[low:high],
                    label="School",
                    decision="REDACT",
                )
            )
            redacted |= set(range(low, high))
    clean = replace(turns, make_spans(rows), how="mask")["text"].iat[0]
    kept = "".join(c for i, c in enumerate(text) if i not in redacted)
    assert clean.replace("[REDACTED]", "") == kept
    assert ("[REDACTED]" in clean) == bool(rows)
