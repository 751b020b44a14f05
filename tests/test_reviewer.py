"""Stage 2: focal loss, the marked input, and a reviewer that learns to answer from the context."""

import math

import numpy as np
import pandas as pd
import pytest

from redactkit import models, reviewer


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


def test_it_learns_to_tell_a_greeting_from_a_story(tmp_path):
    names = "Isaac Maria Tom Ada Bo Kim Lena Otto Ravi Zoe".split()
    rows = [
        r for n in names for r in (("tutor: hi ", n, ", how are you?"), ("tutor: ", n, " has 15 apples and eats 3."))
    ]
    answers = ["REDACT", "KEEP"] * len(names)
    reviewer.train(
        contexts(*rows), answers, tmp_path, "minilm-l6", 4, 5e-3, 8, seed=13, card=lambda c: f"{c['rows']} rows"
    )
    p = reviewer.Reviewer(tmp_path, 0.5).review(
        contexts(("tutor: hi ", "Pascal", ", ready?"), ("tutor: ", "Pascal", " has 7 plums."))
    )
    assert (tmp_path / "card.md").read_text() == "20 rows"
    assert p[0] > 0.5 > p[1]


def test_answers_come_in_the_order_asked_and_none_for_nothing(tiny_weights):
    one = reviewer.Reviewer(tiny_weights / "reviewer", 0.5)
    rows = [("a " * n, "Bo", " b") for n in (50, 1, 200, 3)]
    together, alone = one.review(contexts(*rows)), [one.review(contexts(r))[0] for r in rows]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    assert one.review(contexts()).tolist() == []


def test_evidence_stands_first_and_is_cut_at_its_end():
    tokenizer, _ = models.load_base("tiny-bert", reviewer.ANSWERS, None, 0)
    long = contexts(("hi", "Bo", "")).assign(evidence="math " * 300)
    ((ids, mark, _),) = reviewer._encode(long, [1], tokenizer)
    evidence = [tokenizer.cls_token_id, *ids[1 : 1 + reviewer.EVIDENCE_TOKENS], tokenizer.sep_token_id]
    assert ids[: len(evidence)] == evidence
    assert tokenizer.convert_ids_to_tokens(ids[len(evidence) : mark + 1]) == ["hi", "«"]
