"""The ablation: each part is taken away by itself, and what was trained is not trained again."""

import json

import pytest
from conftest import spans_of, turns_of
from typer.testing import CliRunner

from redactkit import ablation, cli, models
from redactkit.corpora import Corpus
from redactkit.tables import make_spans

TURNS = turns_of("tutor: Hi Maria!", "student: Tom has 3 plums and 212-555-0147 is my number")
DATA = Corpus(TURNS, spans_of(TURNS, (0, "Maria")), spans_of(TURNS, (1, "Tom", "problem_character")), make_spans([]))


@pytest.fixture(scope="module")
def trained(tiny_weights, tmp_path_factory):
    out = tmp_path_factory.mktemp("ablation")
    ablation.train("ci", tiny_weights, out, seeds=[42])
    return out


def test_each_variant_and_each_switch_has_a_row(tiny_weights, trained):
    rows = ablation.measure("ci", tiny_weights, trained, {"small": DATA}, seeds=[42])
    assert rows["variant"].tolist() == [*ablation.TRAINED, *ablation.SWITCHED]
    assert rows["f1"].between(0, 1).all()


def test_the_reviewer_without_evidence_is_shown_none(trained):
    assert models.read_config(trained / "no-evidence" / "reviewer-42")["evidence"] == []
    assert models.read_config(trained / "full" / "reviewer-42")["evidence"]


def test_what_is_there_is_not_trained_again(tiny_weights, trained):
    weights = trained / "full" / "reviewer-42" / "weights.safetensors"
    before = weights.stat().st_mtime_ns
    ablation.train("ci", tiny_weights, trained, seeds=[42])
    assert weights.stat().st_mtime_ns == before


def test_the_command_prints_the_table_of_what_is_trained(tiny_weights, trained, small_corpora):
    where = [
        "--corpora",
        small_corpora,
        "--part",
        "dev",
        "--out",
        trained,
        "--profile",
        "ci",
        "--weights",
        tiny_weights,
    ]
    done = CliRunner().invoke(cli.app, ["ablate", *map(str, where), "--seed", "42", "--json"])
    assert [row["variant"] for row in json.loads(done.stdout)] == [*ablation.TRAINED, *ablation.SWITCHED]
