"""Stage 1A: windows, decoding of tags into spans, and the union."""

import numpy as np
import pytest
from conftest import spans_of, turns_of
from hypothesis import given
from hypothesis import strategies as st

from redactkit import models, proposer
from redactkit.proposer import TAGS, union
from redactkit.tables import check_spans


@given(st.integers(1, 3000))
def test_windows_score_each_token_once_with_context_on_both_sides(length):
    windows = proposer._windows(length)
    owned = [i for _, _, low, high in windows for i in range(low, high)]
    assert owned == list(range(length))
    for start, end, low, high in windows:
        assert end - start <= proposer.WINDOW - 2
        assert low == 0 or low - start >= proposer.MARGIN
        assert high == length or end - high >= proposer.MARGIN


def probabilities(*tags: str, p: float = 0.9) -> np.ndarray:
    """One row a token: probability `p` for its tag, the rest on O."""
    out = np.zeros((len(tags), len(TAGS)))
    for row, tag in enumerate(tags):
        out[row, 0] = 1 - p
        out[row, TAGS.index(tag)] = 1 if tag == "O" else p
    return out


def decoded(
    text: str, words: list[str], tags: list[str], p: float = 0.9, threshold: float = 0.5
) -> list[tuple[str, str]]:
    starts, at = [], 0
    for word in words:
        starts.append(text.index(word, at))
        at = starts[-1] + len(word)
    ends = [s + len(w) for s, w in zip(starts, words)]
    found = proposer._decode(text, np.array(starts), np.array(ends), probabilities(*tags, p=p), threshold)
    return [(f["surface"], f["label"]) for f in found]


def test_words_that_continue_a_span_are_joined_with_what_stands_between():
    found = decoded(
        "hi Anne-Sofie Berg!", ["hi", "Anne", "-", "Sofie", "Berg"], ["O", "B-Name", "I-Name", "I-Name", "I-Name"]
    )
    assert found == [("Anne-Sofie Berg", "Name")]


def test_names_in_a_list_stay_apart():
    assert decoded("Ann, Bo", ["Ann", ",", "Bo"], ["B-Name", "O", "B-Name"]) == [("Ann", "Name"), ("Bo", "Name")]


def test_a_word_is_proposed_whole_when_one_of_its_pieces_is():
    assert decoded("jordy's", ["jor", "dy", "'", "s"], ["O", "B-Name", "O", "O"]) == [("jordy", "Name")]


def test_the_threshold_is_on_the_probability_of_any_tag():
    assert decoded("Ann", ["Ann"], ["B-Name"], p=0.1, threshold=0.2) == []
    assert decoded("Ann", ["Ann"], ["B-Name"], p=0.1, threshold=0.05) == [("Ann", "Name")]


def test_an_accent_goes_with_its_letter():
    assert decoded("soy Jose\u0301", ["soy", "Jose"], ["O", "B-Name"]) == [("Jose\u0301", "Name")]


def test_the_union_covers_both_and_says_who_proposed():
    turns = turns_of("tutor: Hi Maria Lopez and Bo")
    a = spans_of(turns, (0, "Maria"), (0, "Bo"), source="proposer:a", score=0.6)
    b = spans_of(turns, (0, "Maria Lopez", "School"), source="proposer:b", score=0.9)
    merged = check_spans(union([a, b]), turns)
    assert merged[["surface", "label", "source", "score"]].to_numpy().tolist() == [
        ["Maria Lopez", "School", "proposer:a+b", 0.9],
        ["Bo", "Name", "proposer:a", 0.6],
    ]


def test_gold_becomes_bio_tags_on_every_token_and_role_tags_are_left_out():
    tokenizer, _ = models.load_base("tiny-bert", TAGS, None, 0)
    turns = turns_of("tutor: Hi Maria Lopez")
    ((stream, tags),) = proposer._tagged(turns, spans_of(turns, (0, "Maria Lopez")), tokenizer)
    words = tokenizer.convert_ids_to_tokens(stream.ids)
    assert list(zip(words, tags.tolist())) == [
        ("tutor", -100),
        (":", -100),
        ("hi", 0),
        ("maria", TAGS.index("B-Name")),
        ("lopez", TAGS.index("I-Name")),
    ]


@pytest.mark.parametrize("text", ["", "   ", "\u200b", "😂", "名前は太郎です", "a" * 3000, "x " * 3000])
def test_any_text_is_read_without_failing(tiny_weights, text):
    one = proposer.Proposer(tiny_weights / "proposer-a", "a", 0.0)
    turns = turns_of("tutor: Hi Ann").assign(text=text)
    check_spans(one.propose(turns), turns)


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_every_proposed_span_is_its_text(tiny_weights, text):
    turns = turns_of("tutor: x").assign(text=text)
    check_spans(proposer.Proposer(tiny_weights / "proposer-b", "b", 0.0).propose(turns), turns)


def test_the_same_seed_gives_the_same_weights(tmp_path):
    turns = turns_of("tutor: Hi Maria", "student: hello Bo")
    gold = spans_of(turns, (0, "Maria"), (1, "Bo"))
    for run in "12":
        proposer.train(turns, gold, tmp_path / run, "tiny-bert", 4, 1e-3, 2, seed=5, card=lambda _: "")
    first, second = ((tmp_path / run / "weights.safetensors").read_bytes() for run in "12")
    assert first == second
