"""Scoring as a specification: the matching rule, what is counted, and agreement with two independent scorers."""

import importlib.util
import time
from pathlib import Path

import nervaluate
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redactkit.scoring import METRICS, evaluate, score
from redactkit.tables import KEEP, REDACT, InputError, make_spans

OTHER_SCORER = Path(__file__).parents[2] / "shared" / "tools" / "score.py"
TURNS = pd.DataFrame(
    [
        ("d1", 0, "Ms. Ruiz", "tutor", "Hi Maria Lopez, what is 3 x 4?"),
        ("d1", 1, "S1", "student", "Ana has 12 apples"),
        ("d2", 0, "S2", "student", "it is 12"),
    ],
    columns=["dialogue_id", "turn_id", "speaker", "role", "text"],
)


def table(*pairs, dialogue="d1", turn=0, **more):
    """A spans table of (start, end) pairs in one turn."""
    if not pairs:
        return make_spans([])
    columns = {"dialogue_id": dialogue, "turn_id": turn, **more}
    return pd.DataFrame([{**columns, "start": s, "end": e} for s, e in pairs])


def counts(result):
    return result["tp"], result["fp"], result["fn"]


spans = st.lists(st.tuples(st.integers(0, 14), st.integers(1, 6)).map(lambda p: (p[0], p[0] + p[1])), max_size=6)


class TestMatching:
    def test_one_code_point_in_common_is_a_match_and_touching_ends_are_not(self):
        assert counts(score(table((3, 8)), table((7, 12)))) == (1, 0, 0)
        assert counts(score(table((3, 8)), table((8, 12)))) == (0, 1, 1)

    def test_a_prediction_over_two_gold_spans_finds_one_of_them(self):
        assert counts(score(table((3, 8), (9, 14)), table((3, 14)))) == (1, 0, 1)

    def test_two_predictions_in_one_gold_span_are_one_hit_and_one_false_one(self):
        assert counts(score(table((3, 14)), table((3, 8), (9, 14)))) == (1, 1, 0)

    def test_a_taken_prediction_is_freed_where_its_gold_span_has_another(self):
        """First come, first served gives (0, 20) the prediction (0, 6) and leaves (2, 5) with none."""
        assert counts(score(table((0, 20), (2, 5)), table((0, 6), (10, 12)))) == (2, 0, 0)

    def test_a_chain_of_gold_spans_moves_up_one_by_one(self):
        gold, pred = table((0, 10), (8, 20), (18, 30), (28, 31)), table((0, 2), (9, 10), (19, 20), (29, 30))
        assert counts(score(gold, pred)) == (4, 0, 0)

    def test_the_same_offsets_in_another_turn_or_dialogue_are_no_match(self):
        assert counts(score(table((3, 8)), table((3, 8), turn=1))) == (0, 1, 1)
        assert counts(score(table((3, 8)), table((3, 8), dialogue="d2"))) == (0, 1, 1)

    def test_types_are_not_compared(self):
        assert counts(score(table((3, 8), label="Name"), table((3, 8), label="School"))) == (1, 0, 0)

    @settings(max_examples=60, deadline=None)
    @given(spans, spans)
    def test_it_is_a_largest_matching(self, gold, pred):
        gold, pred = sorted(set(gold)), sorted(set(pred))
        result = score(table(*gold), table(*pred))
        assert result["tp"] == largest(gold, pred)
        assert counts(result) == (result["tp"], len(pred) - result["tp"], len(gold) - result["tp"])

    @settings(max_examples=40, deadline=None)
    @given(spans, spans)
    def test_exchanging_gold_and_predictions_exchanges_precision_and_recall(self, gold, pred):
        there, back = score(table(*gold), table(*pred)), score(table(*pred), table(*gold))
        assert (there["precision"], there["recall"]) == (back["recall"], back["precision"])
        assert there["f1"] == pytest.approx(back["f1"])


class TestCounting:
    def test_precision_recall_and_f1(self):
        result = score(table((0, 5), (10, 15), (20, 25), (30, 35)), table((0, 5), (10, 15), (40, 45)))
        assert counts(result) == (2, 1, 2)
        assert (result["precision"], result["recall"]) == (pytest.approx(2 / 3), 0.5)
        assert result["f1"] == pytest.approx(4 / 7)

    @pytest.mark.parametrize(("gold", "pred"), [((), ()), (((0, 5),), ()), ((), ((0, 5),))])
    def test_nothing_predicted_or_nothing_gold_scores_zero(self, gold, pred):
        result = score(table(*gold), table(*pred))
        assert counts(result) == (0, len(pred), len(gold))
        assert (result["precision"], result["recall"], result["f1"]) == (0.0, 0.0, 0.0)

    def test_only_redact_decisions_count_and_a_missing_one_is_redact(self):
        gold = table((0, 5), (10, 15), (20, 25))
        decided = table((0, 5), (10, 15), (20, 25)).assign(decision=[REDACT, KEEP, None])
        assert counts(score(gold, decided)) == (2, 0, 1)
        assert counts(score(gold, decided.drop(columns="decision"))) == (3, 0, 0)

    def test_a_span_named_twice_counts_once(self):
        twice = table((0, 5), (0, 5))
        assert counts(score(twice, pd.concat([twice, twice]))) == (1, 0, 0)

    def test_the_tables_are_left_as_they_were(self):
        gold, pred = table((0, 5)), table((0, 5)).assign(decision=[REDACT])
        before = gold.copy(), pred.copy()
        score(gold, pred, keep=gold, ignore=gold)
        pd.testing.assert_frame_equal(gold, before[0])
        pd.testing.assert_frame_equal(pred, before[1])


class TestCoverage:
    def test_a_found_name_with_a_letter_left_visible_is_partial(self):
        assert score(table((3, 14)), table((3, 13)))["partial"] == 1
        assert score(table((3, 14)), table((2, 15)))["partial"] == 0

    def test_predictions_cover_together(self):
        assert score(table((3, 14)), table((3, 8), (8, 14)))["partial"] == 0
        assert score(table((3, 14)), table((3, 8), (9, 14)))["partial"] == 1

    def test_a_missed_span_is_not_partial(self):
        assert score(table((3, 14)), table((20, 24)))["partial"] == 0

    def test_of_two_names_that_compete_for_a_prediction_the_earlier_is_the_matched_one(self):
        assert score(table((0, 5), (6, 11)), table((3, 11)))["partial"] == 1
        assert score(table((0, 5), (6, 11)), table((0, 8)))["partial"] == 0
        # (2, 6), wholly covered, comes before (2, 10), of which the end stays visible; so does that of (0, 9).
        assert score(table((0, 9), (2, 6), (2, 10)), table((0, 8), (7, 8)))["partial"] == 1


class TestKeep:
    def test_a_keep_span_is_hit_by_any_overlap(self):
        result = score(table(), table((4, 6)), keep=table((5, 9), (20, 24), (30, 31), (40, 44)))
        assert (result["keep_hit"], result["keep_total"], result["keep_share"]) == (1, 4, 0.75)

    def test_a_keep_decision_hits_nothing(self):
        assert score(table(), table((5, 9), decision=KEEP), keep=table((5, 9)))["keep_share"] == 1.0

    def test_without_keep_spans_there_is_no_share(self):
        assert score(table((0, 5)), table((0, 5)))["keep_share"] is None
        assert score(table((0, 5)), table((0, 5)), keep=table())["keep_share"] is None


class TestIgnore:
    def test_a_prediction_on_an_unlabelled_span_is_not_counted(self):
        assert counts(score(table((0, 5)), table((0, 5), (10, 15)), ignore=table((12, 20)))) == (1, 0, 0)

    def test_it_is_counted_where_it_also_touches_gold(self):
        assert counts(score(table((0, 5)), table((3, 15)), ignore=table((10, 15)))) == (1, 0, 0)
        assert counts(score(table((0, 5)), table((0, 5), (4, 15)), ignore=table((10, 15)))) == (1, 1, 0)

    def test_a_left_out_prediction_hits_no_keep_span(self):
        assert score(table(), table((0, 9)), keep=table((5, 9)), ignore=table((0, 4)))["keep_hit"] == 0


class TestEvaluate:
    def test_one_row_a_metric(self):
        report = evaluate(table((3, 14)), table((3, 8)), TURNS, keep=table((0, 3), turn=1), n_boot=50)
        assert list(report.columns) == ["metric", "value", "low", "high"]
        assert list(report["metric"]) == [*METRICS, "n_dialogues"]
        assert list(report["value"]) == [1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 2]

    def test_whole_dialogues_are_resampled(self):
        """One dialogue found whole, one missed whole: a resample of two holds 0, 1 or 2 found ones."""
        gold = pd.concat([table((0, 2), (3, 5), (6, 8)), table((0, 2), (3, 5), (6, 8), dialogue="d2")])
        report = evaluate(gold, table((0, 2), (3, 5), (6, 8))).set_index("metric")
        assert list(report.loc["recall", ["value", "low", "high"]]) == [0.5, 0.0, 1.0]
        assert list(report.loc["tp", ["value", "low", "high"]]) == [3, 0, 6]

    def test_a_single_dialogue_has_no_spread(self):
        report = evaluate(table((0, 5), (10, 15)), table((0, 5)), keep=table((20, 22)))
        with_interval = report[report["metric"] != "n_dialogues"]
        assert (with_interval["low"] == with_interval["value"]).all()
        assert (with_interval["high"] == with_interval["value"]).all()

    def test_dialogues_without_spans_count_when_the_turns_are_given(self):
        gold = table((3, 14))
        assert evaluate(gold, gold, n_boot=0)["value"].iloc[-1] == 1
        widened = evaluate(gold, gold, TURNS).set_index("metric")
        assert widened.loc["n_dialogues", "value"] == 2
        assert list(widened.loc["tp", ["low", "high"]]) == [0, 2]

    def test_the_seed_decides_the_interval_and_nothing_else(self):
        many = [table((0, 5), (10, 15), dialogue=f"d{i}") for i in range(12)]
        gold, pred = pd.concat(many), pd.concat([m.iloc[: 1 + i % 2] for i, m in enumerate(many)])
        one, again, other = (evaluate(gold, pred, n_boot=200, seed=s) for s in (1, 1, 2))
        pd.testing.assert_frame_equal(one, again)
        assert not one["low"].equals(other["low"])
        assert one["value"].equals(other["value"])
        low, value, high = (one[c].iloc[1] for c in ("low", "value", "high"))
        assert low < value < high

    def test_no_resamples_no_intervals_and_no_keep_spans_no_share(self):
        report = evaluate(table((0, 5)), table((0, 5)), n_boot=0).set_index("metric")
        assert report[["low", "high"]].isna().all(axis=None)
        assert np.isnan(report.loc["keep_share", "value"])

    def test_nothing_at_all_scores_zero(self):
        report = evaluate(table(), table()).set_index("metric")
        assert report.loc[["precision", "recall", "f1", "tp", "n_dialogues"], "value"].eq(0).all()

    def test_a_thousand_dialogues_take_seconds(self):
        draw = np.random.default_rng(0)
        starts = draw.integers(0, 2000, 20_000)
        gold = pd.DataFrame(
            {
                "dialogue_id": [f"d{i}" for i in draw.integers(0, 1000, 20_000)],
                "turn_id": draw.integers(0, 10, 20_000),
                "start": starts,
                "end": starts + 8,
            }
        )
        began = time.perf_counter()
        report = evaluate(gold, gold.assign(start=starts + 2, end=starts + 9)).set_index("metric")
        assert time.perf_counter() - began < 5
        assert report.loc["recall", "value"] > 0.99


class TestErrors:
    def test_a_missing_column_is_named(self):
        with pytest.raises(InputError, match="pred: column 'end' is missing"):
            score(table((0, 5)), table((0, 5)).drop(columns="end"))

    def test_a_surface_that_is_not_the_text_is_named(self):
        with pytest.raises(InputError, match=r"gold, row 1, column surface: it is not text\[3:8\] of turn 0"):
            evaluate(table((3, 8), surface="Mario"), table(), TURNS)

    def test_a_table_of_other_turns_is_named(self):
        with pytest.raises(InputError, match="keep, row 1: turn 7 of dialogue 'd1' is not among the turns"):
            evaluate(table(), table(), TURNS, keep=table((0, 3), turn=7))

    def test_fewer_than_no_resamples(self):
        with pytest.raises(InputError, match="n_boot: -1 resamples asked for; give 0"):
            evaluate(table(), table(), n_boot=-1)


class TestAgreement:
    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(
            st.tuples(st.booleans(), st.booleans(), st.integers(1, 20), st.integers(-8, 20), st.integers(1, 20)),
            min_size=1,
            max_size=8,
        )
    )
    def test_with_nervaluate_where_spans_stand_alone(self, places):
        """At most one gold span and one prediction at each place: there the two definitions are the same."""
        gold, pred = [], []
        for i, (has_gold, has_pred, length, shift, pred_length) in enumerate(places):
            gold += [(100 * i + 10, 100 * i + 10 + length)] * has_gold
            pred += [(100 * i + 10 + shift, 100 * i + 10 + shift + pred_length)] * has_pred
        ours = score(table(*gold), table(*pred))
        theirs = nervaluate.Evaluator([inclusive(gold)], [inclusive(pred)], tags=["PII"], loader="dict").evaluate()
        by_type, by_part = theirs["overall"]["ent_type"], theirs["overall"]["partial"]
        assert counts(ours) == (by_type.correct, by_type.spurious, by_type.missed)
        assert ours["tp"] == by_part.correct + by_part.partial
        assert (ours["precision"], ours["recall"]) == (pytest.approx(by_type.precision), pytest.approx(by_type.recall))
        assert ours["f1"] == pytest.approx(by_type.f1)

    @pytest.mark.skipif(not OTHER_SCORER.is_file(), reason="the independent scorer ../shared/tools/score.py is absent")
    def test_with_the_independent_scorer(self):
        other = load(OTHER_SCORER)
        draw = np.random.default_rng(7)
        for _ in range(60):
            gold, pred, keep, ignore = (random_spans(draw, n) for n in (25, 25, 8, 4))
            pred = pred.assign(decision=draw.choice([REDACT, KEEP], len(pred), p=[0.8, 0.2]))
            expected = other.score(*(t.to_dict("records") for t in (gold, pred, keep, ignore)))
            ours = score(gold, pred, keep, ignore)
            expected["keep_share"] = expected.pop("keep_rate")
            assert {k: None if v is None else round(v, 4) for k, v in ours.items()} == expected


def largest(gold, pred):
    """The size of a largest matching, by trying every one."""
    if not gold:
        return 0
    first, rest = gold[0], gold[1:]
    touching = [p for p in pred if p[0] < first[1] and first[0] < p[1]]
    return max([largest(rest, pred)] + [1 + largest(rest, [q for q in pred if q != p]) for p in touching])


def inclusive(pairs):
    """Spans as nervaluate reads them: the end is the last code point."""
    return [{"label": "PII", "start": s, "end": e - 1} for s, e in pairs]


def random_spans(draw, most):
    """Spans that overlap each other and repeat, in two dialogues of two turns."""
    n = int(draw.integers(0, most))
    start = draw.integers(0, 30, n)
    columns = {"dialogue_id": draw.choice(["d1", "d2"], n).astype(object), "turn_id": draw.integers(0, 2, n)}
    frame = pd.DataFrame({**columns, "start": start, "end": start + draw.integers(1, 9, n)})
    return frame.astype({"dialogue_id": "str"})


def load(path):
    spec = importlib.util.spec_from_file_location("independent_scorer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
