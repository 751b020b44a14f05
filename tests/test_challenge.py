"""The hard cases: what stays the same when names change, names of each origin, and the dialogues that are hard."""

import numpy as np
import pandas as pd
import pytest
from conftest import spans_of, turns_of

from redactkit import Cascade, calibration, challenge
from redactkit.casting import name_pools
from redactkit.corpora import Corpus
from redactkit.tables import KEEP, REDACT, InputError, make_spans

TURNS = turns_of("tutor: Hi Maria!", "student: Tom has 3 plums")
DATA = Corpus(
    TURNS,
    spans_of(TURNS, (0, "Maria")),
    spans_of(TURNS, (1, "Tom", "problem_character")),
    make_spans([]),
)


class Finds:
    """A proposer that finds every word with a capital, and a reviewer that answers by a rule of its own."""

    threshold, weight, calibration = 0.5, 1.0, calibration.NONE

    def __init__(self, answer):
        self.answer = answer

    def propose(self, turns, progress=None):
        rows = [
            dict(dialogue_id=d, turn_id=t, start=text.index(w), end=text.index(w) + len(w), surface=w, label="Name")
            for d, t, text in zip(turns["dialogue_id"], turns["turn_id"], turns["text"])
            for w in text.replace("!", "").split()
            if w[0].isupper() and w != "Hi"
        ]
        return make_spans(rows, source="proposer:a", score=0.4)

    def review(self, turns, candidates, progress=None):
        texts = dict(zip(turns["turn_id"], turns["text"]))
        return np.array([self.answer(s, texts[t]) for s, t in zip(candidates["surface"], candidates["turn_id"])])


def cascades(answer):
    stage = Finds(answer)
    return {seed: Cascade([stage], stage) for seed in (42, 13)}


BY_CONTEXT = cascades(lambda surface, text: 0.99 if text.startswith("Hi") else 0.01)
BY_NAME = cascades(lambda surface, text: 0.99 if surface == "Maria" else 0.01)
NEVER = cascades(lambda surface, text: 0.01)


def test_each_corpus_and_reviewer_gets_its_figures_and_all_candidates_one_calibration_error():
    rows = challenge.measure({"small": DATA}, BY_CONTEXT)
    assert rows["corpus"].tolist() == ["small", "small", "all", "all"]
    assert rows[["precision", "recall", "f1", "keep_share"]].iloc[0].tolist() == [1, 1, 1, 1]
    assert rows["calibration_error"].tolist() == pytest.approx([0.01] * 4)


def test_mean_and_spread_over_the_reviewers():
    rows = pd.DataFrame({"corpus": ["x", "x"], "seed": [1, 2], "f1": [0.9, 1.0], "keep_share": [None, None]})
    assert challenge.summary(rows).to_numpy().tolist() == [["x", "0.950 ± 0.050", "–"]]


def test_a_reviewer_of_contexts_is_invariant_and_one_of_names_is_not():
    assert challenge.invariance(DATA, BY_CONTEXT)["unchanged"].tolist() == [1.0, 1.0]
    assert challenge.invariance(DATA, BY_NAME)["unchanged"].tolist() == [0.5, 0.5]


def test_recall_is_told_for_each_origin():
    table = challenge.by_origin(DATA, BY_CONTEXT)
    assert set(table["origin"]) == set(challenge.ORIGINS)
    assert table["recall"].eq(1).all()
    assert table["names"].eq(1).all()
    assert challenge.by_origin(DATA, NEVER)["recall"].eq(0).all()


def test_there_are_at_least_ten_origins_and_each_pool_is_in_one():
    pools = [pool for origin in challenge.ORIGINS.values() for pool in origin]
    assert len(challenge.ORIGINS) >= 10
    assert sorted(pools) == sorted(set(name_pools()) - {"words", "eponyms", "made up"})


def screened(*lines, **decided):
    turns = turns_of(*lines)
    marks = [
        (n, name, "Name", decision)
        for n, text in enumerate(turns["text"])
        for name, decision in decided.items()
        if name in text
    ]
    return challenge.screen(turns, spans_of(turns, *marks))


def test_screening_finds_dialogues_where_a_participant_meets_a_name_of_the_mathematics():
    found = screened("tutor: Hi Bo", "student: Riemann sums", Bo=REDACT, Riemann=KEEP)
    assert found.to_numpy().tolist() == [["d", 1, 1, 0]]
    assert screened("tutor: Hi Bo", "student: 3 + 4", Bo=REDACT).empty
    assert screened("tutor: hello", "student: Riemann sums", Riemann=KEEP).empty


def test_screening_knows_participants_from_the_speaker_column_and_tells_names_in_both_roles():
    found = screened("tutor/Teacher: read it", "student/Isaac: Isaac has 15 apples", Isaac=KEEP)
    assert found.to_numpy().tolist() == [["d", 1, 1, 1]]


def test_screening_reads_a_corpus_own_labels():
    spans = pd.concat([DATA.gold.assign(decision=REDACT), DATA.keep.assign(decision=KEEP)], ignore_index=True)
    assert challenge.screen(TURNS, spans).to_numpy().tolist() == [["d", 1, 1, 0]]


def test_screening_without_decisions_says_what_to_give():
    with pytest.raises(InputError, match="the column decision is missing"):
        challenge.screen(TURNS, DATA.gold.drop(columns="decision"))


def test_the_challenge_holds_the_public_corpora_lessons_without_names_and_synthetic_sets(corpora):
    parts = challenge.parts_of(corpora, "dev")
    assert {"mathdial", "talkmoves", "talkmoves, roles only", "synthetic challenge A", "synthetic challenge B"} <= set(
        parts
    )
    assert set(parts["talkmoves, roles only"].turns["speaker"]) <= {"tutor", "student", "other"}
