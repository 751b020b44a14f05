"""The contract: what passes the door, what is refused and with which words, and the offset algebra."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redactkit.tables import (
    InputError,
    check_spans,
    check_turns,
    in_order,
    make_spans,
    overlaps,
    read_rows,
    read_spans,
    whole_characters,
    whole_file,
    write_rows,
)

TURN = dict(dialogue_id="d", turn_id=0, speaker="T", role="tutor", text="Hi Maria")
SPAN = dict(dialogue_id="d", turn_id=0, start=3, end=8, surface="Maria", label="Name")


def turns(**changed):
    return pd.DataFrame([{**TURN, **changed}])


def test_further_columns_are_carried_through():
    assert check_turns(turns(timestamp="00:01"))["timestamp"].tolist() == ["00:01"]


def test_a_whole_number_that_became_a_float_is_a_turn_id_again():
    assert check_turns(turns(turn_id=1.0))["turn_id"].tolist() == [1]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (dict(text=None), "lesson.csv, row 1, column text: fill the empty cell or drop the row."),
        (dict(text=3), "lesson.csv, row 1, column text: expected text, found int64."),
        (dict(role="boss"), "lesson.csv, row 1, column role: use one of the allowed values (tutor, student, other)."),
        (dict(turn_id=-1), "lesson.csv, row 1, column turn_id: use whole numbers counted from 0."),
        (dict(turn_id=0.5), "lesson.csv, row 1, column turn_id: expected a whole number, found float64."),
    ],
)
def test_a_bad_cell_is_named_by_file_row_and_column_with_the_cure(changed, words):
    with pytest.raises(InputError) as problem:
        check_turns(turns(**changed), "lesson.csv")
    assert str(problem.value) == words


def test_a_missing_column_is_named_with_those_found():
    with pytest.raises(InputError, match=r"f: column 'text' is missing \(found: dialogue_id, turn_id, speaker, role\)"):
        check_turns(turns().drop(columns="text"), "f")


def test_a_turn_may_stand_there_once():
    with pytest.raises(InputError, match="row 2, column turn_id: turn 0 of dialogue 'd' stands there twice"):
        check_turns(pd.DataFrame([TURN, TURN]))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (dict(end=3), "the span is empty; end must exceed start"),
        (dict(end=80), "80 lies beyond the turn's 8 characters"),
        (dict(surface="Mario"), r"it is not text\[3:8\]"),
        (dict(turn_id=7), "turn 7 of dialogue 'd' is not among the turns"),
        (dict(decision="MAYBE"), r"column decision: use one of the allowed values \(REDACT, KEEP\)"),
    ],
)
def test_a_span_that_does_not_fit_its_turn_is_refused(changed, words):
    with pytest.raises(InputError, match=words):
        check_spans(pd.DataFrame([{**SPAN, **changed}]), turns())


def test_spans_have_every_contract_column_even_when_empty():
    assert make_spans([]).columns.tolist() == make_spans([SPAN]).columns.tolist()
    assert make_spans([]).dtypes.to_dict() == make_spans([SPAN]).dtypes.to_dict()


def test_reading_order_is_the_order_of_the_turns_not_of_their_ids():
    two = pd.DataFrame([{**TURN, "turn_id": 5}, {**TURN, "turn_id": 2}])
    spans = make_spans([{**SPAN, "turn_id": 2}, {**SPAN, "turn_id": 5}])
    assert in_order(spans, two)["turn_id"].tolist() == [5, 2]


def test_spans_that_only_touch_do_not_overlap():
    assert overlaps((0, 3), (2, 4))
    assert not overlaps((0, 3), (3, 4))


@pytest.mark.parametrize(
    ("text", "span", "whole"),
    [
        ("Jose\u0301!", (0, 4), (0, 5)),  # e + combining acute: the accent goes with its letter
        ("hi 👩‍👧 yes", (3, 4), (3, 6)),  # a family emoji is one character to a reader
        ("Maria", (0, 5), (0, 5)),
    ],
)
def test_a_span_never_cuts_a_character(text, span, whole):
    assert whole_characters(text, *span) == whole


@given(st.text(max_size=30), st.data())
def test_widening_never_shrinks_and_is_stable(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    low, high = whole_characters(text, start, end)
    assert 0 <= low <= start <= end <= high <= len(text)
    assert whole_characters(text, low, high) == (low, high)


def test_rows_come_back_as_written(tmp_path):
    path = tmp_path / "spans.jsonl"
    write_rows(make_spans([{**SPAN, "p_redact": 0.25}]), path)
    assert json.loads(path.read_text())["score"] is None
    assert read_spans(path, turns())["p_redact"].tolist() == [0.25]


def test_an_empty_file_is_a_table_without_spans(tmp_path):
    (tmp_path / "gold.jsonl").write_text("")
    assert read_spans(tmp_path / "gold.jsonl").empty


@pytest.mark.parametrize("line", ["{", "[1]"])
def test_a_bad_line_is_named(tmp_path, line):
    (tmp_path / "x.jsonl").write_text("{}\n" + line)
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: not"):
        read_rows(tmp_path / "x.jsonl")


def test_half_a_character_is_refused_by_name(tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "\\ud83d hi"}')
    with pytest.raises(InputError, match=r"x\.jsonl: a text holds half a surrogate pair"):
        read_rows(tmp_path / "x.jsonl")
    with pytest.raises(InputError, match="f: a text holds half a surrogate pair"):
        check_turns(pd.DataFrame([{**TURN, "text": "\ud83d hi"}], dtype=object), "f")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "out.txt"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), whole_file(path) as out:
        out.write(b"half")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"]
