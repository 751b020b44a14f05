"""What several test files need: the sample lesson, the public corpora where they are, and tiny trained models."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
CORPORA = ROOT.parent / "shared" / "corpora"

settings.register_profile("redactkit", deadline=None, max_examples=60)
settings.load_profile("redactkit")


def turns_of(*lines: str, dialogue: str = "d") -> pd.DataFrame:
    """Turns from lines such as "tutor: Hi Maria" or "student/Maria: hello" (role/speaker: text)."""
    rows = []
    for n, line in enumerate(lines):
        who, _, text = line.partition(": ")
        role, _, speaker = who.partition("/")
        rows.append(dict(dialogue_id=dialogue, turn_id=n, speaker=speaker or role, role=role, text=text))
    return pd.DataFrame(rows)


def spans_of(turns: pd.DataFrame, *marks: tuple, **values: object) -> pd.DataFrame:
    """Spans from (turn, surface[, label[, decision]]): the first occurrence of the surface in the turn's text."""
    from redactkit.tables import make_spans

    rows = []
    for turn, surface, *rest in marks:
        start = turns["text"].iat[turn].index(surface)
        row = dict(zip(("label", "decision"), rest))
        rows.append(
            dict(
                dialogue_id=turns["dialogue_id"].iat[turn],
                turn_id=turn,
                start=start,
                end=start + len(surface),
                surface=surface,
                **{"label": "Name", **row},
            )
        )
    return make_spans(rows, **values)


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The folder of public labelled corpora."""
    if not CORPORA.is_dir():
        pytest.skip("needs the public corpora in ../shared/corpora, which are not part of the repository")
    return CORPORA


@pytest.fixture(scope="session")
def tiny_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Components of the ci profile, trained for a few steps: DeBERTa-v2, ModernBERT and RoBERTa in miniature."""
    from redactkit import recipe

    out = tmp_path_factory.mktemp("weights")
    for which in ("a", "b"):
        recipe.train_proposer(which, "ci", out)
    recipe.train_reviewer("ci", out)
    return out


@pytest.fixture
def small_corpora(tmp_path: Path) -> Path:
    """A folder of corpora that holds one, of one dialogue."""
    from redactkit.tables import write_rows

    turns = turns_of("tutor: Hi Maria!", "student: Tom has 3 plums")
    (tmp_path / "corpora" / "mathdial").mkdir(parents=True)
    for kind, table in (
        ("turns", turns),
        ("gold", spans_of(turns, (0, "Maria"))),
        ("keep", spans_of(turns, (1, "Tom", "problem_character"))),
    ):
        write_rows(table, tmp_path / "corpora" / "mathdial" / f"dev.{kind}.jsonl")
    return tmp_path / "corpora"
