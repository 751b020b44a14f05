"""The whole walk: what each stage hands on, with real small models, and what fails closed."""

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT, spans_of, turns_of

from redactkit import Cascade, calibration, formats, replace, scoring, synthesis
from redactkit.cascade import read_profile
from redactkit.tables import LEARNED_LABELS, SPAN_COLUMNS, InputError, ModelError, check_spans, make_spans, read_spans


class Says:
    """A stage that answers what it is told, to see what the walk does with it."""

    def __init__(self, answer, threshold=0.5, weight=1.0, calibration=calibration.NONE):
        self.answer, self.threshold, self.weight, self.calibration = answer, threshold, weight, calibration

    def propose(self, turns, progress=None):
        return self.answer

    def review(self, turns, candidates, progress=None):
        return np.array(self.answer)


TURNS = turns_of("tutor: Hi Isaac, write to isaac@example.com", "tutor: Isaac has 15 apples")


def decided(p, candidates, **options):
    return Cascade([Says(candidates)], Says(p)).decide(TURNS, **options)


def test_the_reviewer_decides_and_keeps_are_reported_too():
    candidates = spans_of(TURNS, (0, "Isaac"), (1, "Isaac"), source="proposer:a", score=0.9)
    spans = decided([0.8, 0.2], candidates)
    assert spans.columns.tolist() == SPAN_COLUMNS
    assert spans[["surface", "source", "decision", "p_redact", "route", "reason"]].to_numpy().tolist() == [
        ["Isaac", "proposer:a", "REDACT", pytest.approx(0.8), "auto", "reviewer"],
        ["isaac@example.com", "rule:Email", "REDACT", 1.0, "auto", "rule"],
        ["Isaac", "proposer:a", "KEEP", pytest.approx(0.2), "auto", "reviewer"],
    ]


def test_a_reviewer_of_half_weight_is_averaged_with_the_proposers_score():
    candidates = spans_of(TURNS, (1, "Isaac"), source="proposer:a", score=0.4)
    spans = Cascade([Says(candidates)], Says([0.7], weight=0.5)).decide(TURNS)
    assert spans["p_redact"].tolist() == [1.0, pytest.approx(0.55)]
    assert spans["decision"].iat[1] == "REDACT"


def test_other_mentions_of_a_sure_name_are_reviewed_and_the_reviewer_alone_answers_for_them():
    candidates = spans_of(TURNS, (1, "Isaac"), source="proposer:a", score=0.9)
    spans = Cascade([Says(candidates)], Says([0.1, 0.8], weight=0.5)).decide(TURNS)
    assert spans[["turn_id", "surface", "source"]].to_numpy().tolist() == [
        [0, "Isaac", "echo"],
        [0, "isaac@example.com", "rule:Email"],
        [1, "Isaac", "proposer:a"],
    ]
    assert spans["p_redact"].iat[0] > 0.5


def test_a_title_alone_names_nobody():
    turns = turns_of("student: hi miss", "tutor: what did you miss? ask Miss Ortega")
    candidates = spans_of(turns, (0, "miss"), (1, "Miss Ortega"), score=0.9)
    spans = Cascade([Says(candidates)], Says([0.9])).decide(turns)
    assert spans["surface"].tolist() == ["Miss Ortega"]


def test_the_mentions_of_one_child_get_one_answer():
    turns = turns_of("tutor: Hi Jon", "student: jonathan here", "tutor: thanks Jonathon")
    candidates = spans_of(turns, (0, "Jon"), (1, "jonathan"), (2, "Jonathon"), score=0.4)
    spans = Cascade([Says(candidates)], Says([0.9, 0.8, 0.45])).decide(turns)
    assert spans["decision"].tolist() == ["REDACT"] * 3
    assert spans["p_redact"].nunique() == 1


def test_p_redact_is_calibrated_before_the_threshold():
    candidates = spans_of(TURNS, (0, "Isaac"), (1, "Isaac"), score=0.4)
    told = Says([0.8, 0.2], threshold=0.95, calibration={"temperature": 0.5, "offset": 0.0})
    spans = Cascade([Says(candidates)], told).decide(TURNS)
    assert spans["p_redact"].tolist() == [pytest.approx(16 / 17), 1.0, pytest.approx(1 / 17)]
    assert spans["decision"].tolist() == ["KEEP", "REDACT", "KEEP"]


def test_what_a_rule_covers_is_not_reviewed():
    spans = decided([], spans_of(TURNS, (0, "isaac"), source="proposer:a"))
    assert spans["source"].tolist() == ["rule:Email"]


def test_no_answer_from_the_reviewer_is_redacted():
    spans = decided([float("nan")], spans_of(TURNS, (1, "Isaac")))
    assert spans[["decision", "p_redact", "reason"]].to_numpy().tolist()[1] == ["REDACT", 1.0, "reviewer failed"]


def test_lexicon_terms_are_always_redacted():
    spans = decided([], make_spans([]), lexicon=[("Tutor_Provider", "apples")])
    assert spans[["surface", "label"]].to_numpy().tolist()[1] == ["apples", "Tutor_Provider"]


def test_the_real_classes_walk_from_turns_to_clean_text(tiny_weights):
    cascade = Cascade.load("ci", tiny_weights)
    spans = check_spans(cascade.decide(TURNS), TURNS)
    assert spans["decision"].isin(["REDACT", "KEEP"]).all()
    assert "isaac@example.com" not in replace(TURNS, spans)["text"].iat[0]


def test_the_same_turns_get_the_same_decisions_whatever_stands_beside_them(tiny_weights):
    cascade = Cascade.load("ci", tiny_weights)
    other = turns_of("tutor: " + "word " * 600, "student: Hi Bo", dialogue="other")
    alone, beside = cascade.decide(TURNS), cascade.decide(pd.concat([other, TURNS], ignore_index=True))
    mine = beside[beside["dialogue_id"] == "d"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, mine, atol=1e-4)


@pytest.fixture(scope="module")
def offline():
    return Cascade.load("offline")


def test_the_sample_lesson_is_redacted_with_the_shipped_weights(offline):
    turns = formats.read(ROOT / "data" / "samples" / "lesson.csv")
    gold = read_spans(ROOT / "data" / "samples" / "lesson.gold.jsonl", turns)
    spans = offline.decide(turns)
    found = scoring.score(gold, spans)
    assert found["recall"] >= 0.9
    assert found["precision"] >= 0.9
    clean = replace(turns, spans)
    assert "Isaac" not in set(clean["speaker"])
    mathematics = " ".join(clean["text"])
    for kept in ("9351 / 7 = 1335 r 6", "Riemann sums", "Pascal's triangle", "15 - 6 = 9", "13 x 2 = 26 dollars"):
        assert kept in mathematics


def test_one_string_in_both_roles_is_told_apart(offline):
    turns = turns_of(
        "tutor: Hi Jordan, can you read the problem for me?",
        "student: Jordan has 15 apples and gives 6 to Riley. How many apples does Jordan have left?",
        "tutor: Well done Jordan!",
    )
    spans = offline.decide(turns)
    redacted = spans[spans["decision"] == "REDACT"]
    assert redacted[["turn_id", "surface"]].to_numpy().tolist() == [[0, "Jordan"], [2, "Jordan"]]


def test_isaac_one_child_in_56_mentions_and_a_character_of_that_name(offline):
    """The paper's Appendix G: within one dialogue, a student named 56 times and a story character of his name."""
    praise = (
        "tutor/Tutor: Great job, Isaac!",
        "tutor/Tutor: Isaac, what is the next step?",
        "tutor/Tutor: Thank you Isaac, please write it down",
        "tutor/Tutor: Can you hear me, isaac?",
    )
    problem = "student/Student: Isaac has 15 apples and gives 6 to his sister. How many apples does Isaac have left?"
    turns = turns_of(*praise * 7, problem, *praise * 7)
    spans = offline.decide(turns)
    spans = spans[spans["surface"].str.casefold() == "isaac"]
    child = spans[spans["turn_id"] != 28]
    assert len(child) == 56
    assert child["decision"].eq("REDACT").all()
    assert spans.loc[spans["turn_id"] == 28, "decision"].tolist() == ["KEEP", "KEEP"]


def test_every_learned_label_is_redacted_in_scenes_that_training_never_saw(offline):
    turns, gold, _ = synthesis.synthesize("B", 40, seed=11, held_out=True)
    rare = gold.loc[gold["label"] != "Name", "dialogue_id"].unique()
    turns, gold = (table[table["dialogue_id"].isin(rare)].reset_index(drop=True) for table in (turns, gold))
    spans = offline.decide(turns)
    found = {label: scoring.score(gold[gold["label"] == label], spans)["recall"] for label in LEARNED_LABELS}
    assert {label: recall >= 0.8 for label, recall in found.items()} == dict.fromkeys(LEARNED_LABELS, True)


def test_no_turns_no_spans(offline):
    turns = turns_of("tutor: x").iloc[:0]
    assert offline.decide(turns).empty


def test_an_unknown_profile_names_those_there_are():
    with pytest.raises(InputError, match="profile 'gpu' is unknown; choose one of ci, offline, paper"):
        Cascade.load("gpu")


def test_the_papers_models_are_named_and_not_fetched_unasked():
    profile = read_profile("paper")
    assert [p["base"] for p in profile["proposers"].values()] == [
        "microsoft/deberta-v3-base",
        "answerdotai/ModernBERT-base",
    ]
    assert profile["reviewer"]["base"] == "roberta-base"
    with pytest.raises(ModelError, match="Train it: redactkit train"):
        Cascade.load("paper", weights="nowhere")
