"""Cascade-aligned labels: any overlap with gold is REDACT, none is KEEP."""

from conftest import spans_of, turns_of

from redactkit import alignment

TURNS = turns_of("tutor: Hi Maria Lopez, so Isaac has 15 apples, says Bob.")


def test_any_overlap_with_gold_is_redact_and_none_is_keep():
    gold = spans_of(TURNS, (0, "Maria Lopez"))
    candidates = spans_of(TURNS, (0, "Maria"), (0, "Isaac"))
    assert alignment.label(candidates, gold)["decision"].tolist() == ["REDACT", "KEEP"]


def test_a_candidate_on_unlabelled_text_teaches_nothing():
    gold, ignore = spans_of(TURNS, (0, "Maria Lopez")), spans_of(TURNS, (0, "Bob"))
    candidates = spans_of(TURNS, (0, "Lopez"), (0, "Bob"))
    assert alignment.label(candidates, gold, ignore)["surface"].tolist() == ["Lopez"]


def test_gold_that_nobody_proposed_is_counted():
    gold = spans_of(TURNS, (0, "Maria Lopez"), (0, "Bob"))
    labelled = alignment.label(spans_of(TURNS, (0, "Maria"), (0, "Isaac")), gold)
    row = dict(candidates=2, redact=1, keep=1, gold=2, gold_missed=1)
    assert alignment.counts(labelled, gold).to_dict("records") == [row]
