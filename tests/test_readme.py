"""The README's promises: its Python runs, its commands exist, its table has the systems and corpora it speaks of."""

import re
import shutil

import pandas as pd
import pytest
from click.exceptions import NoSuchOption
from conftest import ROOT
from typer.main import get_command

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def test_the_python_runs_as_written(tmp_path, monkeypatch, capsys):
    shutil.copy(ROOT / "data" / "samples" / "lesson.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    first, *further = blocks("python")
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
    names = {}
    for code in (first, *further):
        exec(code, names)
    assert set(pd.read_csv(tmp_path / "clean.csv")["speaker"]) == {"[NAME_1]", "[NAME_2]"}
    assert "f1" in capsys.readouterr().out


@pytest.mark.parametrize("command", re.findall(r"^\.venv/bin/redactkit (.+)$", "\n".join(blocks("sh")), re.M))
def test_every_command_is_understood(command):
    from redactkit.cli import app

    name, *arguments = command.split()
    found = get_command(app).commands[name]
    try:
        found.make_context(name, arguments)
    except NoSuchOption as problem:
        pytest.fail(str(problem))


def test_the_make_targets_it_names_exist():
    targets = set(re.findall(r"^([a-z]+):.*##", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`?make ([a-z]+)", README)) - {"lists"} <= targets


def test_the_measured_table_has_every_system_on_every_corpus():
    rows = re.findall(r"^\| (\w+) \| ([\w-]+) \| [\d.]+ \[", README, re.M)
    corpora = ("mathdial", "mathdial_collide", "talkmoves", "bridge")
    assert {(c, s) for c in corpora for s in ("offline", "proposer-a", "union", "presidio", "spacy")} <= set(rows)


def test_the_before_and_after_is_what_the_shipped_weights_do():
    from redactkit import Cascade, read, replace

    turns = read(ROOT / "data" / "samples" / "lesson.csv")
    clean = replace(turns, Cascade.load("offline").decide(turns))
    shown = re.findall(r"^\| (.*?) → (.*?) \| (.*?) \| (.*?) \|$", README, re.M)
    assert len(shown) >= 4
    pairs = list(zip(turns["speaker"], clean["speaker"], turns["text"], clean["text"]))
    assert all(row in pairs for row in shown)
