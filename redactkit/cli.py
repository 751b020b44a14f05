"""The command line: thin commands over the library's own functions."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from redactkit.tables import KEEP, REDACT, InputError, RedactKitError, read_spans

# The library's modules are imported inside the commands, so that --help answers at once.
app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False)
train_app = typer.Typer(no_args_is_help=True, help="Train the proposers and the reviewer.")
app.add_typer(train_app, name="train")

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "samples" / "lesson.csv"
BAD_INPUT = 2
_err = Console(stderr=True)

Profile = Annotated[str, typer.Option(help="offline, ci, paper, or the path of a YAML profile.")]
Download = Annotated[bool, typer.Option("--allow-download", help="Let missing base models be fetched from the hub.")]
CorporaDir = Annotated[Path | None, typer.Option("--corpora", help="Folder of labelled corpora in the contract.")]
WeightsOut = Annotated[Path, typer.Option("--out", help="Folder the trained components go to.")]
Column = Annotated[str | None, typer.Option(help="Name of the column, if it is not guessed rightly.")]


def main() -> None:
    """Run the command line; what the user can mend ends with one line and exit status 2, without a traceback."""
    try:
        app()
    except RedactKitError as problem:
        _refuse(str(problem))
    except OSError as problem:  # no room, no right to write, a folder where a file should be
        _refuse(f"{problem.filename or 'input or output'}: {problem.strerror or problem}. Nothing was half-written.")


def _refuse(words: str) -> None:
    _err.print(f"redactkit: {escape(words)}", style="red", highlight=False, soft_wrap=True)
    sys.exit(BAD_INPUT)


@app.callback()
def _about() -> None:
    """Take the people out of tutoring transcripts and leave the mathematics in, on this machine alone."""


@app.command(epilog="Example: redactkit redact lesson.csv --out clean/")
def redact(
    path: Annotated[str, typer.Argument(help="A .csv, .tsv, .jsonl or .parquet file, a folder of them, or - (stdin).")],
    out: Annotated[Path | None, typer.Option(help="Folder to write to. Stdin without it goes to stdout.")] = None,
    how: Annotated[str, typer.Option(help="tag ([NAME_1], one number a person) or mask ([REDACTED]).")] = "tag",
    profile: Profile = "offline",
    weights: Annotated[Path | None, typer.Option(help="Folder of trained components, if not the shipped ones.")] = None,
    lexicon: Annotated[Path | None, typer.Option(help="Terms always redacted, a type<TAB>term line each.")] = None,
    no_surface: Annotated[bool, typer.Option("--no-surface", help="Leave the text out of spans.jsonl.")] = False,
    text_column: Column = None,
    speaker_column: Column = None,
    role_column: Column = None,
    dialogue_column: Column = None,
    turn_column: Column = None,
    roles: Annotated[
        list[str] | None, typer.Option(help="A speaker's role, LABEL=tutor|student|other; may be repeated.")
    ] = None,
    allow_download: Download = False,
) -> None:
    """Redact transcripts: DIR/<same name> in the same format, and DIR/spans.jsonl with every decision."""
    from redactkit import batch, rules
    from redactkit.cascade import Cascade
    from redactkit.formats import Columns
    from redactkit.replace import check_how

    check_how(how)
    columns = Columns(text_column, speaker_column, role_column, dialogue_column, turn_column)
    transcripts = batch.open_transcripts(path, out, columns, _roles(roles))
    terms = rules.read_lexicon(lexicon) if lexicon else None
    cascade = Cascade.load(profile, weights, allow_download)
    contents, spans = batch.redact_all(transcripts, cascade, how, terms, _bar)
    spans = spans.drop(columns="surface") if no_surface else spans
    if out is None:
        sys.stdout.buffer.write(next(iter(contents.values())))
    else:
        batch.write_all(contents, spans, out)
    files = f"{len(contents)} file{'s' * (len(contents) != 1)}"
    _err.print(f"{files}: {_counts(spans)}{f' → {out}' if out else ''}", highlight=False, soft_wrap=True)


@app.command(epilog="Example: redactkit evaluate --gold gold.jsonl --pred clean/spans.jsonl --json")
def evaluate(
    gold: Annotated[Path | None, typer.Option(help="Gold spans (JSONL or Parquet).")] = None,
    pred: Annotated[Path | None, typer.Option(help="Predicted spans, as `redact` writes them.")] = None,
    keep: Annotated[Path | None, typer.Option(help="Spans that must stay.")] = None,
    ignore: Annotated[Path | None, typer.Option(help="Unlabelled spans: predictions there do not count.")] = None,
    turns: Annotated[Path | None, typer.Option(help="The turns; spans are checked against them.")] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="Run a system on the turns: offline, proposer-a, proposer-b, union, presidio, spacy; may be repeated."
        ),
    ] = None,
    corpora: CorporaDir = None,
    part: Annotated[str, typer.Option(help="With --corpora: dev or test.")] = "test",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON rows in place of a table.")] = False,
) -> None:
    """Precision, recall, F1 (overlap match, 95 % intervals over dialogues) and the share of keep spans left alone."""
    from redactkit import comparison, formats
    from redactkit.corpora import Corpus
    from redactkit.tables import make_spans

    comparison.check_systems(system or [])
    if corpora is not None:
        parts = comparison.parts_of(corpora, part)
        return _show(comparison.compare(parts, system or list(comparison.SYSTEMS), _bar), as_json)
    if gold is None or (pred is None) == (not system) or (system and turns is None):
        raise InputError("Give --gold with --pred, or --gold and --turns with --system, or --corpora DIR; see --help.")
    read_turns = formats.read(turns) if turns else None
    tables = [read_spans(p, read_turns) if p else make_spans([]) for p in (gold, keep, ignore)]
    if pred is not None:
        found = comparison.figures(tables[0], read_spans(pred, read_turns), read_turns, *tables[1:])
        return _show(pd.DataFrame([{"system": pred.name, **found}]), as_json)
    parts = {turns.name: Corpus(read_turns, *tables)} if turns and read_turns is not None else {}
    return _show(comparison.compare(parts, system or [], _bar), as_json)


@app.command(epilog="Example: redactkit challenge --corpora ../shared/corpora --cases ../shared/cases --part dev")
def challenge(
    corpora: Annotated[Path, typer.Option("--corpora", help="Folder of labelled corpora in the contract.")],
    part: Annotated[str, typer.Option(help="dev or test.")] = "test",
    cases: Annotated[Path | None, typer.Option(help="Folder of hand-written cases, dev.turns.jsonl and so on.")] = None,
    profile: Profile = "offline",
    weights: Annotated[Path | None, typer.Option(help="Folder of trained components, if not the shipped ones.")] = None,
    seed: Annotated[list[int] | None, typer.Option(help="Reviewers to run; may be repeated. [42, 13, 101]")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON rows in place of tables.")] = False,
) -> None:
    """The hard cases: mean ± std over reviewers, the same dialogues with names exchanged, and names of each origin."""
    from redactkit import challenge as hard
    from redactkit.cascade import Cascade

    parts = hard.parts_of(corpora, part, cases)
    cascades = {one: Cascade.load(profile, weights, seed=one) for one in seed or hard.SEEDS}
    rows = hard.measure(parts, cascades, _bar)
    if not as_json:
        _show(hard.summary(rows), as_json)  # at once: what follows takes as long again
    some = {name: data for name, data in parts.items() if name.startswith(("mathdial", "synthetic"))}
    swapped = [
        hard.invariance(d, cascades, progress=_bar(f"{n}, names exchanged")).assign(corpus=n) for n, d in some.items()
    ]
    table = pd.concat(swapped, ignore_index=True)
    if not as_json:
        _show(hard.summary(table), as_json)
    named = next(iter(parts.values()))
    origins = hard.by_origin(named, cascades, bar=_bar)
    if as_json:
        print(json.dumps(dict(figures=_records(rows), swaps=_records(table), origins=_records(origins)), indent=1))
    else:
        _show(origins, as_json)


@app.command(epilog="Example: redactkit ablate --corpora ../shared/corpora --out runs/ablation")
def ablate(
    corpora: Annotated[Path, typer.Option("--corpora", help="Folder of labelled corpora in the contract.")],
    out: Annotated[Path, typer.Option(help="Folder for the reviewers trained here; found there, not trained again.")],
    part: Annotated[str, typer.Option(help="dev or test.")] = "test",
    profile: Profile = "offline",
    weights: Annotated[Path | None, typer.Option(help="Folder of trained components, if not the shipped ones.")] = None,
    seed: Annotated[list[int] | None, typer.Option(help="May be repeated. [42, 13, 101]")] = None,
    train_only: Annotated[bool, typer.Option("--train-only", help="Train, and leave the table for later.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON rows in place of a table.")] = False,
) -> None:
    """Take one part of the cascade away at a time: a table of what each is worth, mean ± std over reviewers."""
    from redactkit import ablation, comparison, models
    from redactkit import challenge as hard

    folder, seeds = weights or models.WEIGHTS, seed or list(hard.SEEDS)
    ablation.train(profile, folder, out, corpora, seeds, _bar)
    if train_only:
        return
    rows = ablation.measure(profile, folder, out, comparison.parts_of(corpora, part), seeds, _bar)
    _show(rows if as_json else hard.summary(rows, ["corpus", "variant"]), as_json)


@app.command(epilog="Example: redactkit demo")
def demo(profile: Profile = "offline") -> None:
    """Redact the sample lesson and show it before and after, in the terminal only."""
    from redactkit import formats
    from redactkit.cascade import Cascade
    from redactkit.replace import replace

    if not SAMPLE.is_file():
        raise InputError(f"{SAMPLE}: not found. The demo reads the repository's data/ folder; run it from a clone.")
    turns = formats.read(SAMPLE)
    with _err.status("Loading the models and reading the lesson …"):
        spans = Cascade.load(profile).decide(turns)
    clean = replace(turns, spans)
    table = Table("speaker", "before", "after", title="A sample lesson (invented)", title_justify="left")
    columns = (turns["speaker"], clean["speaker"], _marked(turns, spans), clean["text"])
    for speaker, tag, before, after in zip(*columns):
        table.add_row(escape(speaker if tag == speaker else f"{speaker} → {tag}"), before, escape(after))
    console = Console()
    console.print(table)
    console.print(f"{_counts(spans)}", highlight=False)
    console.print("[red]Red[/red]: redacted. [green]Green[/green]: proposed, read in its context, and kept.")
    console.print("Nothing left this machine. Your own file: redactkit redact FILE --out DIR", highlight=False)


@train_app.command("proposer", epilog="Example: redactkit train proposer --which a --out my-weights")
def train_proposer(
    which: Annotated[str, typer.Option(help="a or b.")],
    out: WeightsOut,
    profile: Profile = "offline",
    corpora: CorporaDir = None,
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
    out: WeightsOut,
    profile: Profile = "offline",
    seed: Annotated[
        list[int] | None, typer.Option(help="May be repeated; the paper's: 13, 42, 101. Default: the profile's.")
    ] = None,
    corpora: CorporaDir = None,
    allow_download: Download = False,
) -> None:
    """Train the reviewer (stage 2) on what the proposers in --out propose on dialogues they have not seen."""
    from redactkit import recipe

    seeds: list[int | None] = [*seed] if seed else [None]
    for one in seeds:
        folder = recipe.train_reviewer(profile, out, corpora, one, allow_download, _bar("reviewer"))
        _err.print(f"Wrote {folder}", highlight=False)


@train_app.command("all", epilog="Example: redactkit train all --out my-weights --corpora ../shared/corpora")
def train_all(
    out: WeightsOut, profile: Profile = "offline", corpora: CorporaDir = None, allow_download: Download = False
) -> None:
    """Train both proposers, then the reviewer, and measure them on dialogues that trained nothing."""
    from redactkit import recipe

    for which in ("a", "b"):
        train_proposer(which, out, profile, corpora, allow_download)
    train_reviewer(out, profile, None, corpora, allow_download)
    figures = recipe.validate(profile, out, corpora)
    recipe.add_figures(profile, out, figures)
    _show(figures[["corpus", "system", "precision", "recall", "f1", "keep_share"]], as_json=False)


def _roles(pairs: list[str] | None) -> dict[str, str]:
    out = {}
    for pair in pairs or []:
        label, equals, role = pair.rpartition("=")
        if not equals or not label:
            raise InputError(f"--roles {pair!r}: write LABEL=tutor, LABEL=student or LABEL=other.")
        out[label] = role
    return out


def _bar(what: str) -> Callable[[Iterable[Any]], Iterable[Any]]:
    from tqdm.auto import tqdm

    return lambda items: tqdm(items, desc=what, file=sys.stderr, leave=False, delay=1, mininterval=1)


def _counts(spans: pd.DataFrame) -> str:
    redacted = spans.loc[spans["decision"] == REDACT, "label"]
    by_label = ", ".join(f"{n} {label}" for label, n in redacted.value_counts().items())
    kept = int((spans["decision"] == KEEP).sum())
    return f"{len(redacted)} spans redacted{f' ({by_label})' if by_label else ''}, {kept} candidates kept"


def _marked(turns: pd.DataFrame, spans: pd.DataFrame) -> list[str]:
    """Each turn's text as rich markup: redacted spans red, kept candidates green."""
    marks: dict[tuple[str, int], list[tuple[int, int, str]]] = {}
    for d, t, *mark in zip(*(spans[c].tolist() for c in ("dialogue_id", "turn_id", "start", "end", "decision"))):
        marks.setdefault((d, t), []).append(tuple(mark))
    out = []
    for d, t, text in zip(turns["dialogue_id"].tolist(), turns["turn_id"].tolist(), turns["text"].tolist()):
        pieces, at = [], 0
        for start, end, decision in marks.get((d, t), []):
            if start >= at:
                colour = "red" if decision == REDACT else "green"
                pieces += [escape(text[at:start]), f"[{colour}]{escape(text[start:end])}[/{colour}]"]
                at = end
        out.append("".join([*pieces, escape(text[at:])]))
    return out


def _show(rows: pd.DataFrame, as_json: bool) -> None:
    """Print figures as JSON rows, or as a table in which an interval stands beside its share."""
    records = _records(rows)
    if as_json:
        print(json.dumps(records, indent=1))
        return
    shown = [str(c) for c in rows if not str(c).endswith(("_low", "_high"))]
    table = Table(*shown)
    for row in records:
        table.add_row(*(_cell({str(k): v for k, v in row.items()}, column) for column in shown))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _records(rows: pd.DataFrame) -> list[dict[Any, Any]]:
    return rows.astype(object).where(rows.notna(), None).to_dict("records")


def _cell(row: dict[str, Any], column: str) -> str:
    value = row[column]
    if value is None:
        return "–"
    low, high = row.get(f"{column}_low"), row.get(f"{column}_high")
    interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"{value:.3f}{interval}" if isinstance(value, float) else str(value)
