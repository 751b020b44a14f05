"""Stage 2: focal loss, the marked input, and a reviewer that learns to answer from the context."""

import math

import numpy as np
import pandas as pd
import pytest
from conftest import spans_of, turns_of

from redactkit import context, models, reviewer


def contexts(*rows: tuple[str, str, str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["before", "surface", "after"]).assign(evidence="turn 1 of 2.")


def test_focal_loss_is_cross_entropy_that_forgets_easy_rows():
    import torch

    logits = torch.tensor([[[0.0, math.log(9)], [5.0, 5.0]]])  # the marked position is 90 % sure of REDACT
    right = reviewer.focal_loss(logits, torch.tensor([[1, -100]])).item()
    wrong = reviewer.focal_loss(logits, torch.tensor([[0, -100]])).item()
    assert right == pytest.approx(-(0.1**2) * math.log(0.9), rel=1e-4)
    assert wrong == pytest.approx(-(0.9**2) * math.log(0.1), rel=1e-4)


def test_the_span_is_marked_and_a_long_context_loses_its_far_ends():
    tokenizer, _ = models.load_base("tiny-bert", reviewer.ANSWERS, None, 0)
    ((ids, mark, answer),) = reviewer._encode(
        contexts(("far " * 500 + "near", "Isaac", "near " + "far " * 500)), [1], tokenizer
    )
    words = tokenizer.convert_ids_to_tokens(ids)
    assert len(ids) <= reviewer.MAX_TOKENS
    assert words[mark - 1 : mark + 5] == ["near", "«", "isaac", "»", "near", "far"]
    assert answer == 1


def test_marks_in_the_text_are_not_taken_for_ours():
    tokenizer, _ = models.load_base("tiny-bert", reviewer.ANSWERS, None, 0)
    ((ids, _, _),) = reviewer._encode(contexts(("«Ann» said", "Bo", "»")), [0], tokenizer)
    assert tokenizer.convert_ids_to_tokens(ids).count("«") == 1


def told(name: str, *lines: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A dialogue for each line, in which the name is the candidate."""
    parts = [turns_of(f"tutor: {line}", dialogue=f"{name}-{n}") for n, line in enumerate(lines)]
    turns = pd.concat(parts, ignore_index=True)
    return turns, pd.concat([spans_of(part, (0, name)) for part in parts], ignore_index=True)


def test_it_learns_to_tell_a_greeting_from_a_story(tmp_path):
    names = "Isaac Maria Tom Ada Bo Kim Lena Otto Ravi Zoe".split()
    known = [told(n, f"hi {n}, how are you?", f"{n} has 15 apples and eats 3.") for n in names]
    rows = pd.concat([context.render(*one) for one in known], ignore_index=True)
    answers = ["REDACT", "KEEP"] * len(names)
    reviewer.train(rows, answers, tmp_path, "minilm-l6", 4, 5e-3, 8, seed=13, card=lambda c: f"{c['rows']} rows")
    p = reviewer.Reviewer(tmp_path, 0.5).review(*told("Pascal", "hi Pascal, ready?", "Pascal has 7 plums."))
    assert (tmp_path / "card.md").read_text() == "20 rows"
    assert p[0] > 0.5 > p[1]


def test_answers_come_in_the_order_asked_and_none_for_nothing(tiny_weights):
    one = reviewer.Reviewer(tiny_weights / "reviewer-42", 0.5)
    turns, spans = told("Bo", *("a " * n + "Bo b" for n in (50, 1, 200, 3)))
    together = one.review(turns, spans)
    alone = [one.review(turns, spans.iloc[[n]])[0] for n in range(4)]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert one.review(turns, spans.iloc[:0]).tolist() == []


def test_it_is_shown_the_evidence_it_was_trained_with(tmp_path):
    turns, spans = told("Bo", "hi Bo", "Bo has 3")
    rows = context.render(turns, spans, ())
    reviewer.train(rows, ["REDACT", "KEEP"], tmp_path, "tiny-bert", None, 1e-3, 1, 13, lambda c: "", evidence=())
    assert reviewer.Reviewer(tmp_path, 0.5).evidence == []


def test_evidence_stands_first_and_is_cut_at_its_end():
    tokenizer, _ = models.load_base("tiny-bert", reviewer.ANSWERS, None, 0)
    long = contexts(("hi", "Bo", "")).assign(evidence="math " * 300)
    ((ids, mark, _),) = reviewer._encode(long, [1], tokenizer)
    evidence = [tokenizer.cls_token_id, *ids[1 : 1 + reviewer.EVIDENCE_TOKENS], tokenizer.sep_token_id]
    assert ids[: len(evidence)] == evidence
    assert tokenizer.convert_ids_to_tokens(ids[len(evidence) : mark + 1]) == ["hi", "«"]
