"""The command line, as users run it: real files, real processes, exit status and words."""

import io
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest
from conftest import ROOT

from redactkit import challenge, cli
from redactkit.tables import SPAN_COLUMNS

LESSON = ROOT / "data" / "samples" / "lesson.csv"


class Done(NamedTuple):
    stdout: bytes
    stderr: bytes


@pytest.fixture
def run(monkeypatch, capfdbinary):
    """Run the command line in this process (a fresh one spends seconds on imports); `ok` is the status to expect."""

    def call(*arguments: object, data: bytes = b"", ok: int = 0) -> Done:
        monkeypatch.setattr(sys, "argv", ["redactkit", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        with pytest.raises(SystemExit) as end:
            cli.main()
        sys.stdout.flush()
        done = Done(*capfdbinary.readouterr())
        assert (end.value.code or 0) == ok, done.stderr.decode()
        return done

    return call


@pytest.fixture
def redact(run, tiny_weights):
    """Run `redact` with the tiny models."""

    def call(*arguments: object, **options: object) -> Done:
        return run("redact", *arguments, "--profile", "ci", "--weights", tiny_weights, **options)

    return call


def audit(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "spans.jsonl").read_text().splitlines()]


def test_a_file_goes_through_with_the_shipped_weights(tmp_path, run):
    done = run("redact", LESSON, "--out", tmp_path / "clean")
    before, after = pd.read_csv(LESSON, dtype=str), pd.read_csv(tmp_path / "clean" / "lesson.csv", dtype=str)
    assert after.columns.tolist() == before.columns.tolist()
    assert after["timestamp"].tolist() == before["timestamp"].tolist()
    assert set(after["speaker"]) == {"[NAME_1]", "[NAME_2]"}
    assert after["text"][0] == "Good afternoon, [NAME_2]! How was your weekend?"
    assert after["text"][9] == "9 + 4 = 13, so Isaac has 13 apples"
    assert list(audit(tmp_path / "clean")[0]) == SPAN_COLUMNS
    assert {"REDACT", "KEEP"} == {span["decision"] for span in audit(tmp_path / "clean")}
    words = done.stderr.decode()
    assert "1 file:" in words
    assert "spans redacted" in words
    assert "Isaac" not in words  # a summary in counts, not names


def test_a_folder_keeps_its_layout_and_has_one_audit(tmp_path, redact):
    source = tmp_path / "in"
    (source / "deep").mkdir(parents=True)
    (source / "one.csv").write_text("speaker,text\nT,Mail a@example.com\n")
    (source / "deep" / "two.jsonl").write_text('{"user": "S1", "message": "ok b@example.com"}\n')
    (source / "notes.txt").write_text("no transcript")
    redact(source, "--out", tmp_path / "clean")
    assert "[EMAIL_1]" in (tmp_path / "clean" / "one.csv").read_text()
    assert "[EMAIL_1]" in (tmp_path / "clean" / "deep" / "two.jsonl").read_text()
    assert {"one", "two"} <= {span["dialogue_id"] for span in audit(tmp_path / "clean")}
    assert sorted(p.name for p in (tmp_path / "clean").iterdir()) == ["deep", "one.csv", "spans.jsonl"]


def test_dialogues_of_two_files_with_one_id_are_told_apart(tmp_path, redact):
    for name in ("a", "b"):
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{name}.csv").write_text(f"session_id,text\n1,{name}@example.com\n")
    redact(tmp_path / "in", "--out", tmp_path / "clean")
    assert {"a.csv:1", "b.csv:1"} <= {span["dialogue_id"] for span in audit(tmp_path / "clean")}


def test_stdin_goes_to_stdout_in_its_format(redact):
    done = redact("-", data=b"speaker,text\r\nT,Mail a@example.com\r\n")
    assert done.stdout.startswith(b"speaker,text\r\nT,")
    assert b"[EMAIL_1]\r\n" in done.stdout


def test_stdin_with_out_is_written_with_its_audit(tmp_path, redact):
    redact("-", "--out", tmp_path, data=b'{"text": "Mail a@example.com"}\n')
    assert "[EMAIL_1]" in (tmp_path / "stdin.jsonl").read_text()


def test_no_surface_leaves_the_text_out_of_the_audit(tmp_path, redact):
    redact("-", "--out", tmp_path, "--no-surface", data=b"text\nMail a@example.com\n")
    assert list(audit(tmp_path)[0]) == [c for c in SPAN_COLUMNS if c != "surface"]
    assert "example" not in (tmp_path / "spans.jsonl").read_text()


def test_columns_roles_lexicon_and_mask_are_settable(tmp_path, redact):
    (tmp_path / "terms.tsv").write_text("Tutor_Provider\tMathBuddy\n")
    data = b"who,words,note\nMaria R.,welcome to MathBuddy,x\n"
    options = [
        "--text-column",
        "words",
        "--speaker-column",
        "who",
        "--roles",
        "Maria R.=tutor",
        "--lexicon",
        tmp_path / "terms.tsv",
    ]
    done = redact("-", "--how", "mask", *options, data=data)
    assert done.stdout.startswith(b"who,words,note\n[REDACTED],")
    assert done.stdout.endswith(b"[REDACTED],x\n")


def test_a_second_run_gives_the_same_bytes(tmp_path, redact):
    for _ in range(2):
        redact(LESSON, "--out", tmp_path / "clean")
        files = {p.name: p.read_bytes() for p in (tmp_path / "clean").iterdir()}
    redact(LESSON, "--out", tmp_path / "other")
    assert files == {p.name: p.read_bytes() for p in (tmp_path / "other").iterdir()}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "in.csv: the file is empty"),
        (b"speaker,note\nT,hi\n", "no column looks like the turns' text"),
        (b"turn_id,text\n1,a\n1,b\n", "turn 1 of dialogue 'in' stands there twice"),
        (b'text\n"open\n', "the quote that opens a cell here is not closed"),
    ],
)
def test_bad_input_is_one_line_with_the_cure_and_nothing_is_written(tmp_path, redact, content, words):
    (tmp_path / "in.csv").write_bytes(content)
    done = redact(tmp_path / "in.csv", "--out", tmp_path / "clean", ok=2)
    assert words in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    assert not (tmp_path / "clean").exists()


def test_one_bad_file_in_a_folder_is_named_and_nothing_is_written(tmp_path, redact):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "good.csv").write_text("text\nhi\n")
    (tmp_path / "in" / "bad.csv").write_text("")
    done = redact(tmp_path / "in", "--out", tmp_path / "clean", ok=2)
    assert "bad.csv: the file is empty" in done.stderr.decode()
    assert not (tmp_path / "clean").exists()


def test_an_input_is_never_overwritten(tmp_path, redact):
    (tmp_path / "in.csv").write_text("text\nhi\n")
    done = redact(tmp_path / "in.csv", "--out", tmp_path, ok=2)
    assert "would overwrite the input" in done.stderr.decode()
    assert (tmp_path / "in.csv").read_text() == "text\nhi\n"


def test_other_peoples_files_are_not_overwritten(tmp_path, redact):
    (tmp_path / "in.csv").write_text("text\nhi\n")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "in.csv").write_text("precious")
    done = redact(tmp_path / "in.csv", "--out", tmp_path / "mine", ok=2)
    assert "is no earlier output of redactkit" in done.stderr.decode()
    assert (tmp_path / "mine" / "in.csv").read_text() == "precious"


def test_a_folder_that_cannot_be_written_is_named(tmp_path, redact):
    (tmp_path / "in.csv").write_text("text\nhi\n")
    (tmp_path / "file").write_text("")
    done = redact(tmp_path / "in.csv", "--out", tmp_path / "file" / "deeper", ok=2)
    assert "deeper: Not a directory" in done.stderr.decode().replace("/.redactkit-unfinished", "")


def test_a_turn_of_a_megabyte_goes_through(tmp_path, run, tiny_weights):
    settings = (ROOT / "redactkit" / "profiles" / "ci.yaml").read_text()
    # random models would propose every word of it
    (tmp_path / "profile.yaml").write_text(settings.replace("threshold: 0.05", "threshold: 1.1"))
    text = "José 😂 3×4 " * 90_000 + "a@example.com"
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    options = ["--profile", tmp_path / "profile.yaml", "--weights", tiny_weights]
    run("redact", tmp_path / "in.jsonl", "--out", tmp_path / "clean", *options)
    assert json.loads((tmp_path / "clean" / "in.jsonl").read_text())["text"] == text[:-13] + "[EMAIL_1]"


def test_an_interrupted_run_leaves_no_half_file_and_can_be_run_again(tmp_path, tiny_weights, redact):
    (tmp_path / "in.csv").write_text("text\n" + "Hi Maria what is 3 + 4?\n" * 60_000)
    command = ["redact", tmp_path / "in.csv", "--out", tmp_path / "clean", "--profile", "ci", "--weights", tiny_weights]
    process = subprocess.Popen([sys.executable, "-m", "redactkit", *map(str, command)], stderr=subprocess.DEVNULL)
    time.sleep(5)
    assert process.poll() is None  # still at work
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "clean" / "in.csv").exists()
    (tmp_path / "in.csv").write_text("text\nHi Maria\n")
    redact(tmp_path / "in.csv", "--out", tmp_path / "clean")
    assert sorted(p.name for p in (tmp_path / "clean").iterdir()) == ["in.csv", "spans.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["redact", "nowhere.csv", "--out", "x"], "nowhere.csv: no such file or folder"),
        (["redact", str(LESSON)], "Give --out DIR"),
        (["redact", str(LESSON), "--out", "x", "--how", "rot13"], "choose one of tag, mask"),
        (["redact", str(LESSON), "--out", "x", "--profile", "gpu"], "choose one of ci, offline, paper"),
        (["redact", str(LESSON), "--out", "x", "--roles", "Maria"], "write LABEL=tutor"),
        (["evaluate"], "Give --gold with --pred"),
        (["evaluate", "--system", "magic"], "--system 'magic' is unknown"),
        (["train", "proposer", "--which", "c", "--out", "x"], "choose a or b"),
        (["redact"], "Missing argument"),
    ],
)
def test_wrong_usage_is_status_2_and_says_what_to_give(run, arguments, words):
    assert words in run(*arguments, ok=2).stderr.decode()


def test_help_has_an_example(run):
    assert "Example: redactkit redact lesson.csv --out clean/" in run("redact", "--help").stdout.decode()


def spans_file(path: Path, *rows: tuple) -> Path:
    keys = ("turn_id", "start", "end", "decision")
    path.write_text(
        "".join(json.dumps({"dialogue_id": "d", "label": "Name", **dict(zip(keys, r))}) + "\n" for r in rows)
    )
    return path


def test_evaluate_prints_figures_as_json_or_as_a_table(tmp_path, run):
    gold = spans_file(tmp_path / "gold.jsonl", (0, 3, 8), (1, 0, 5))
    keep = spans_file(tmp_path / "keep.jsonl", (0, 20, 25), (0, 30, 35))
    pred = spans_file(tmp_path / "pred.jsonl", (0, 3, 8, "REDACT"), (0, 20, 25, "REDACT"), (1, 0, 5, "KEEP"))
    done = run("evaluate", "--gold", gold, "--pred", pred, "--keep", keep, "--json")
    (row,) = json.loads(done.stdout)
    assert {k: row[k] for k in ("precision", "recall", "f1", "keep_share", "tp", "fp", "fn")} == dict(
        precision=0.5, recall=0.5, f1=0.5, keep_share=0.5, tp=1, fp=1, fn=1
    )
    assert "0.500" in run("evaluate", "--gold", gold, "--pred", pred).stdout.decode()


def test_evaluate_runs_systems_on_the_same_turns(tmp_path, run):
    turns, gold = tmp_path / "turns.csv", tmp_path / "gold.jsonl"
    turns.write_text("dialogue_id,turn_id,speaker,text\nd,0,T,My name is Maria Lopez.\n")
    spans_file(gold, (0, 11, 22))
    done = run("evaluate", "--turns", turns, "--gold", gold, "--system", "spacy", "--system", "offline", "--json")
    assert [(r["system"], r["recall"]) for r in json.loads(done.stdout)] == [("spacy", 1.0), ("offline", 1.0)]


def test_the_demo_shows_before_and_after(run):
    done = run("demo")
    shown = done.stdout.decode()
    assert "Isaac" in shown
    assert "[NAME_2]" in shown
    assert "Nothing left this machine" in shown


def test_it_is_a_program_of_its_own():
    done = subprocess.run(
        [sys.executable, "-m", "redactkit", "redact", "nowhere.csv", "--out", "x"], capture_output=True
    )
    assert done.returncode == 2
    assert done.stderr.decode() == "redactkit: nowhere.csv: no such file or folder.\n"


def test_training_writes_components_and_their_figures(tmp_path, run):
    run("train", "all", "--profile", "ci", "--out", tmp_path)
    for name in ("proposer-a", "proposer-b", "reviewer-42"):
        assert {"weights.safetensors", "config.json", "card.md"} == {p.name for p in (tmp_path / name).iterdir()}
        assert "| synthetic A, held-out scenes | union |" in (tmp_path / name / "card.md").read_text()


def test_the_challenge_prints_all_its_tables(run, small_corpora, tiny_weights, monkeypatch):
    monkeypatch.setattr(challenge, "PLATFORMS", ())
    told = ("challenge", "--corpora", small_corpora, "--part", "dev", "--profile", "ci", "--weights", tiny_weights)
    tables = json.loads(run(*told, "--seed", 42, "--json").stdout)
    assert [row["corpus"] for row in tables["figures"]] == ["mathdial", "all"]
    assert [row["seed"] for row in tables["swaps"]] == [42]
    assert {row["origin"] for row in tables["origins"]} == set(challenge.ORIGINS)
    shown = run(*told, "--seed", 42).stdout.decode()
    assert "calibration_error" in shown
    assert "unchanged" in shown
    assert "Turkic" in shown


def test_several_reviewers_are_trained_by_one_command(run, tiny_weights, tmp_path):
    shutil.copytree(tiny_weights, tmp_path / "weights")
    run("train", "reviewer", "--profile", "ci", "--out", tmp_path / "weights", "--seed", 13, "--seed", 101)
    assert {"reviewer-13", "reviewer-42", "reviewer-101"} <= {p.name for p in (tmp_path / "weights").iterdir()}
