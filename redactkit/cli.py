"""The command line: thin commands over the library's own functions."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redactkit import formats
from redactkit.tables import KEEP, REDACT, SPAN_COLUMNS, InputError, RedactKitError, read_spans, write_rows

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False, help=__doc__)
train_app = typer.Typer(no_args_is_help=True, help="Train the proposers and the reviewer.")
app.add_typer(train_app, name="train")

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "samples" / "lesson.csv"
SYSTEMS = ("offline", "union", "proposer-a", "proposer-b", "presidio", "spacy")
CORPORA = ("mathdial", "mathdial_collide", "talkmoves", "bridge")
BAD_INPUT = 2
_err = Console(stderr=True)

Profile = Annotated[str, typer.Option(help="offline, ci, paper, or the path of a YAML profile.")]
Download = Annotated[bool, typer.Option("--allow-download", help="Let missing base models be fetched from the hub.")]
Corpora = Annotated[Path | None, typer.Option(help="Folder of labelled corpora in the contract.", file_okay=False)]
Out = Annotated[Path, typer.Option("--out", help="Folder the trained components go to.", file_okay=False)]


def main() -> None:
    """Run the command line; what the user can mend ends with one line and exit status 2, without a traceback."""
    try:
        app()
    except RedactKitError as problem:
        _err.print(f"redactkit: {escape(str(problem))}", style="red", highlight=False, soft_wrap=True)
        sys.exit(BAD_INPUT)


@app.command(epilog="Example: redactkit redact lesson.csv --out clean/")
def redact(
    path: Annotated[
        str, typer.Argument(help="A transcript (.csv .tsv .jsonl .parquet), a folder of them, or - for stdin.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write to; optional for stdin, which then goes to stdout.")
    ] = None,
    how: Annotated[str, typer.Option(help="tag ([NAME_1], one number a person) or mask ([REDACTED]).")] = "tag",
    profile: Profile = "offline",
    weights: Annotated[
        Path | None, typer.Option(help="Folder of trained components, if not the profile's own.")
    ] = None,
    lexicon: Annotated[Path | None, typer.Option(help="Terms always redacted: a file of label<TAB>term lines.")] = None,
    no_surface: Annotated[bool, typer.Option("--no-surface", help="Leave the spans' text out of spans.jsonl.")] = False,
    text_column: Annotated[str | None, typer.Option(help="Column of the text, if not guessed rightly.")] = None,
    speaker_column: Annotated[str | None, typer.Option(help="Column of the speaker.")] = None,
    role_column: Annotated[str | None, typer.Option(help="Column of the role.")] = None,
    dialogue_column: Annotated[str | None, typer.Option(help="Column of the dialogue's id.")] = None,
    turn_column: Annotated[str | None, typer.Option(help="Column of the turn's number.")] = None,
    roles: Annotated[
        list[str] | None, typer.Option(help="A speaker's role, LABEL=tutor|student|other; repeatable.")
    ] = None,
    allow_download: Download = False,
) -> None:
    """Redact transcripts: DIR/<same name> in the same format, and DIR/spans.jsonl with every decision."""
    from redactkit.replace import HOW

    if how not in HOW:
        raise InputError(f"--how {how!r} is unknown; choose one of {', '.join(HOW)}.")
    columns = formats.Columns(text_column, speaker_column, role_column, dialogue_column, turn_column)
    sources = _sources(path, out)
    transcripts = {
        name: formats.Transcript.open(source, columns=columns, roles=_roles(roles), name=name)
        for name, source in sources.items()
    }
    outputs, spans = _redacted(transcripts, how, profile, weights, lexicon, allow_download)
    if no_surface:
        spans = spans.drop(columns="surface")
    if out is None:
        sys.stdout.buffer.write(next(iter(outputs.values())))
    else:
        _write(outputs, spans, out)
    _summary(spans, len(transcripts), out)


@app.command(epilog="Example: redactkit evaluate --gold gold.jsonl --pred clean/spans.jsonl --json")
def evaluate(
    gold: Annotated[Path | None, typer.Option(help="Gold spans (JSONL or Parquet).")] = None,
    pred: Annotated[Path | None, typer.Option(help="Predicted spans, as `redact` writes them.")] = None,
    keep: Annotated[Path | None, typer.Option(help="Spans that must stay.")] = None,
    ignore: Annotated[Path | None, typer.Option(help="Spans left unlabelled: predictions there do not count.")] = None,
    turns: Annotated[Path | None, typer.Option(help="The turns; spans are checked against them.")] = None,
    system: Annotated[
        list[str] | None, typer.Option(help=f"Run a system on the turns: {', '.join(SYSTEMS)}; repeatable.")
    ] = None,
    corpora: Corpora = None,
    part: Annotated[str, typer.Option(help="With --corpora: dev or test.")] = "test",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON rows in place of a table.")] = False,
) -> None:
    """Precision, recall, F1 (overlap match, 95 % intervals over dialogues) and the share of keep spans left alone."""
    from redactkit.corpora import Corpus

    names = _known_systems(system or [])
    if corpora is not None:
        rows = _compare(_parts(corpora, part), names or list(SYSTEMS))
    elif gold is None or (pred is None) == (not names) or (names and turns is None):
        raise InputError("Give --gold with --pred, or --gold and --turns with --system, or --corpora DIR; see --help.")
    else:
        read_turns = formats.read(turns) if turns else None
        tables = [read_spans(p, read_turns) if p else None for p in (gold, keep, ignore)]
        if pred is not None:
            rows = [_figures("pred", tables[0], read_spans(pred, read_turns), read_turns, *tables[1:])]
        else:
            rows = _compare({"turns": Corpus(read_turns, *tables)}, names)
    _show(rows, as_json)


@app.command()
def demo(profile: Profile = "offline") -> None:
    """Redact the sample lesson and show it before and after, in the terminal only."""
    from redactkit.cascade import Cascade
    from redactkit.replace import replace

    if not SAMPLE.is_file():
        raise InputError(f"{SAMPLE}: not found. The demo reads the repository's data/ folder; run it from a clone.")
    turns = formats.read(SAMPLE)
    with _err.status("Loading the models and reading the lesson …"):
        spans = Cascade.load(profile).decide(turns)
    clean = replace(turns, spans)
    table = Table("", "before", "after", title="A sample lesson (invented), before and after", show_lines=False)
    for before, after, cut in zip(turns.itertuples(), clean.itertuples(), _marked(turns, spans)):
        table.add_row(escape(after.speaker), cut, escape(after.text))
    console = Console()
    console.print(table)
    console.print(
        f"{_counts(spans)}\nRed: redacted. Green: proposed, looked at in its context, and kept. Nothing left this machine."
    )


@train_app.command("proposer", epilog="Example: redactkit train proposer --which a --out my-weights")
def train_proposer(
    which: Annotated[str, typer.Option(help="a or b.")],
    out: Out,
    profile: Profile = "offline",
    corpora: Corpora = None,
    allow_download: Download = False,
) -> None:
    """Train one proposer (stage 1A) on synthetic dialogues, and on public ones with --corpora. Resumes when stopped."""
    from redactkit import recipe

    if which not in ("a", "b"):
        raise InputError(f"--which {which!r} is unknown; choose a or b.")
    folder = recipe.train_proposer(which, profile, out, corpora, allow_download, _bar(f"proposer {which}"))
    _err.print(f"Wrote {folder}", highlight=False)


@train_app.command("reviewer", epilog="Example: redactkit train reviewer --out my-weights --seed 101")
def train_reviewer(
    out: Out,
    profile: Profile = "offline",
    seed: Annotated[int | None, typer.Option(help="The paper's are 13, 42, 101; default: the profile's.")] = None,
    corpora: Corpora = None,
    allow_download: Download = False,
) -> None:
    """Train the reviewer (stage 2) on what the proposers in --out propose on dialogues they have not seen."""
    from redactkit import recipe

    folder = recipe.train_reviewer(profile, out, corpora, seed, allow_download, _bar("reviewer"))
    _err.print(f"Wrote {folder}", highlight=False)


@train_app.command("all", epilog="Example: redactkit train all --out my-weights --corpora ../shared/corpora")
def train_all(
    out: Out, profile: Profile = "offline", corpora: Corpora = None, allow_download: Download = False
) -> None:
    """Train both proposers, then the reviewer, and measure them on dialogues that trained nothing."""
    from redactkit import recipe

    for which in ("a", "b"):
        train_proposer(which, out, profile, corpora, allow_download)
    train_reviewer(out, profile, None, corpora, allow_download)
    figures = recipe.validate(profile, out, corpora)
    recipe.add_figures(profile, out, figures)
    _show(figures[["corpus", "system", "precision", "recall", "f1", "keep_share"]].to_dict("records"), as_json=False)


# --- redact ------------------------------------------------------------------------------------------------------


def _sources(path: str, out: Path | None) -> dict[str, Path | bytes]:
    """What to read, by the name under DIR that it will have."""
    if path == "-":
        return {"stdin": sys.stdin.buffer.read()}
    source = Path(path)
    if out is None:
        raise InputError("Give --out DIR, the folder for the redacted files.")
    if not source.exists():
        raise InputError(f"{path}: no such file or folder.")
    if source.is_file():
        found = {source.name: source}
    else:
        files = sorted(f for f in source.rglob("*") if f.is_file() and f.suffix.lower() in formats.SUFFIXES)
        found = {str(f.relative_to(source)): f for f in files if out.resolve() not in f.resolve().parents}
    if not found:
        raise InputError(f"{path}: no transcripts there; supported are {', '.join(formats.SUFFIXES)}.")
    for name, file in found.items():
        if (out / name).resolve() == file.resolve():
            raise InputError(f"--out {out} would overwrite the input {file}. Choose another folder.")
        if name == "spans.jsonl":
            raise InputError(
                f"{file}: its redacted copy would be called spans.jsonl, like the audit. Rename the input."
            )
    _refuse_strangers(out, found)
    return found


def _refuse_strangers(out: Path, names: Iterable[str]) -> None:
    """A folder with an audit is an earlier run's and may be written again; other people's files are not overwritten."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out} is a file. Give a folder.")
    there = [n for n in names if (out / n).exists()]
    if there and not (out / "spans.jsonl").exists():
        raise InputError(f"{out / there[0]} exists and is no earlier output of redactkit. Choose another --out.")


def _roles(pairs: list[str] | None) -> dict[str, str]:
    out = {}
    for pair in pairs or []:
        label, equals, role = pair.rpartition("=")
        if not equals or not label:
            raise InputError(f"--roles {pair!r}: write LABEL=tutor, LABEL=student or LABEL=other.")
        out[label] = role
    return out


def _redacted(
    transcripts: dict[str, formats.Transcript],
    how: str,
    profile: str,
    weights: Path | None,
    lexicon: Path | None,
    allow_download: bool,
) -> tuple[dict[str, bytes], pd.DataFrame]:
    """The redacted files' bytes by name, and all decisions; dialogue ids that two files share get the file's name."""
    from redactkit import rules
    from redactkit.cascade import Cascade
    from redactkit.replace import replace

    terms = rules.read_lexicon(lexicon) if lexicon else None
    cascade = Cascade.load(profile, weights, allow_download)
    ids = [d for t in transcripts.values() for d in t.turns["dialogue_id"].unique()]
    clash = len(ids) != len(set(ids))
    outputs, tables = {}, []
    for name, transcript in transcripts.items():
        spans = cascade.decide(transcript.turns, terms, _bar(name))
        outputs[_file_name(name, transcript)] = transcript.to_bytes(replace(transcript.turns, spans, how))
        tables.append(spans.assign(dialogue_id=f"{name}:" + spans["dialogue_id"]) if clash else spans)
    return outputs, pd.concat(tables, ignore_index=True)[SPAN_COLUMNS]


def _write(outputs: dict[str, bytes], spans: pd.DataFrame, out: Path) -> None:
    """All files first into a folder aside, then renamed, so that a run that breaks off leaves nothing by halves."""
    aside = out / ".redactkit-unfinished"
    shutil.rmtree(aside, ignore_errors=True)
    write_rows(spans, aside / "spans.jsonl")
    for name, content in outputs.items():
        (aside / name).parent.mkdir(parents=True, exist_ok=True)
        (aside / name).write_bytes(content)
    for name in ("spans.jsonl", *outputs):  # the audit first: it marks the folder as ours
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (aside / name).replace(out / name)
    shutil.rmtree(aside)


def _file_name(name: str, transcript: formats.Transcript) -> str:
    return f"stdin{transcript.suffix}" if name == "stdin" else name


def _summary(spans: pd.DataFrame, files: int, out: Path | None) -> None:
    where = f" → {out}" if out else ""
    _err.print(f"{files} file{'s' * (files != 1)}: {_counts(spans)}{where}", highlight=False, soft_wrap=True)


def _counts(spans: pd.DataFrame) -> str:
    redacted = spans[spans["decision"] == REDACT]
    by_label = ", ".join(f"{n} {label}" for label, n in redacted["label"].value_counts().items())
    return f"{len(redacted)} spans redacted{f' ({by_label})' if by_label else ''}, {(spans['decision'] == KEEP).sum()} candidates kept"


def _marked(turns: pd.DataFrame, spans: pd.DataFrame) -> Iterator[str]:
    """Each turn's text as rich markup: redacted spans red, kept candidates green."""
    for turn in turns.itertuples():
        mine = spans[(spans["dialogue_id"] == turn.dialogue_id) & (spans["turn_id"] == turn.turn_id)]
        pieces, at = [], 0
        for span in mine.itertuples():
            if span.start >= at:
                colour = "red" if span.decision == REDACT else "green"
                pieces += [
                    escape(turn.text[at : span.start]),
                    f"[{colour}]{escape(turn.text[span.start : span.end])}[/{colour}]",
                ]
                at = span.end
        yield "".join([*pieces, escape(turn.text[at:])])


def _bar(what: str) -> Callable[[Iterable], Iterable]:
    from tqdm.auto import tqdm

    return lambda items: tqdm(items, desc=what, file=sys.stderr, leave=False, delay=1, mininterval=1)


# --- evaluate ----------------------------------------------------------------------------------------------------


def _known_systems(names: list[str]) -> list[str]:
    for name in names:
        if name not in SYSTEMS:
            raise InputError(f"--system {name!r} is unknown; choose from {', '.join(SYSTEMS)}.")
    return names


def _parts(folder: Path, part: str) -> dict[str, Any]:
    from redactkit import corpora

    return {name: corpora.load(folder, name, part) for name in CORPORA if (folder / name).is_dir()}


def _compare(parts: dict[str, Any], systems: list[str]) -> list[dict]:
    """One row a system and corpus; models are loaded once."""
    run = _runners(systems)
    rows = []
    for corpus, data in parts.items():
        for system in systems:
            spans = run[system](data.turns, _bar(f"{system} on {corpus}"))
            row = _figures(system, data.gold, spans, data.turns, data.keep, data.ignore)
            rows.append({"corpus": corpus, **row})
    return rows


def _runners(systems: list[str]) -> dict[str, Callable]:
    from redactkit import baselines
    from redactkit.cascade import Cascade

    run: dict[str, Callable] = {"presidio": baselines.presidio, "spacy": baselines.spacy}
    if set(systems) - set(run):
        cascade = Cascade.load("offline")
        a, b = cascade.proposers
        run |= {"union": cascade.propose, "proposer-a": a.propose, "proposer-b": b.propose}
        run["offline"] = lambda turns, progress: cascade.decide(turns, progress=progress)
    return run


def _figures(
    system: str,
    gold: pd.DataFrame,
    pred: pd.DataFrame,
    turns: pd.DataFrame | None,
    keep: pd.DataFrame | None,
    ignore: pd.DataFrame | None,
) -> dict:
    from redactkit.scoring import evaluate as measure

    table = measure(gold, pred, turns, keep, ignore).set_index("metric")
    row: dict[str, Any] = {"system": system}
    for metric in ("precision", "recall", "f1", "keep_share"):
        row[metric] = _number(table, metric, "value")
        row[f"{metric}_low"], row[f"{metric}_high"] = (_number(table, metric, side) for side in ("low", "high"))
    return row | {metric: int(table.at[metric, "value"]) for metric in ("tp", "fp", "fn", "partial")}


def _number(table: pd.DataFrame, metric: str, column: str) -> float | None:
    value = table.at[metric, column]
    return None if pd.isna(value) else round(float(value), 4)


def _show(rows: list[dict], as_json: bool) -> None:
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    shown = [c for c in rows[0] if not c.endswith(("_low", "_high"))]
    table = Table(*shown)
    for row in rows:
        table.add_row(*(_cell(row, c) for c in shown))
    Console().print(table)


def _cell(row: dict, column: str) -> str:
    value = row[column]
    if value is None or value != value:
        return "–"
    interval = row.get(f"{column}_low") is not None
    return (
        f"{value:.3f}" + (f" [{row[f'{column}_low']:.2f}, {row[f'{column}_high']:.2f}]" if interval else "")
        if isinstance(value, float)
        else str(value)
    )
