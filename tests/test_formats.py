"""Transcripts in and out: every test writes a small file as a researcher might have it, and reads or rewrites it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redactkit.formats import Columns, Transcript, read, write
from redactkit.tables import TURN_COLUMNS, InputError

LESSON = (
    "session_id,Turn,Speaker,Utterance,seconds\n"
    '007,1,Tutor,"Hi Maria, ready?",1.50\n'
    "007,2,Maria R.,Yes!,2.0\n"
    '008,1,Tutor,"Say ""seven""",\n'
)


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def changed(turns: pd.DataFrame, row: int, **cells: str) -> pd.DataFrame:
    """The turns with some cells of one row replaced."""
    out = turns.copy()
    for column, value in cells.items():
        out.loc[row, column] = value
    return out


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


# --- what is read


def test_a_csv_becomes_turns_with_ids_as_text_and_further_columns_carried(tmp_path: Path) -> None:
    turns = read(put(tmp_path, "lesson.csv", LESSON))
    assert list(turns.columns) == [*TURN_COLUMNS, "seconds"]
    assert turns["dialogue_id"].tolist() == ["007", "007", "008"]
    assert turns["turn_id"].tolist() == [1, 2, 1]
    assert turns["speaker"].tolist() == ["Tutor", "Maria R.", "Tutor"]
    assert turns["role"].tolist() == ["tutor", "other", "tutor"]
    assert turns["text"].tolist() == ["Hi Maria, ready?", "Yes!", 'Say "seven"']
    assert turns["seconds"].tolist() == ["1.50", "2.0", ""]


@pytest.mark.parametrize(
    "header", ["speaker,text", "Speaker,TEXT", "user,Utterance", "name,message", "from,content", "role,Sentence"]
)
def test_common_column_names_are_guessed_whatever_their_case(header: str) -> None:
    turns = Transcript.open(f"{header}\nT,Hello\n".encode()).turns
    assert turns[["speaker", "role", "text"]].values.tolist() == [["T", "tutor", "Hello"]]


@pytest.mark.parametrize("name", ["dialogue_id", "Session ID", "c_id", "conversationId", "transcript-id", "session"])
def test_common_dialogue_columns_are_guessed(name: str) -> None:
    turns = Transcript.open(f"{name},text\n01,a\n02,b\n01,c\n".encode()).turns
    assert turns["dialogue_id"].tolist() == ["01", "02", "01"]
    assert turns["turn_id"].tolist() == [0, 0, 1]


def test_dialogue_is_the_text_when_nothing_else_is_and_the_dialogue_when_something_is() -> None:
    assert Transcript.open(b"speaker,dialogue\nT,Hello\n").turns["text"].tolist() == ["Hello"]
    both = Transcript.open(b"dialogue,text\nd1,Hello\n").turns
    assert both[["dialogue_id", "text"]].values.tolist() == [["d1", "Hello"]]


def test_without_a_dialogue_column_the_file_is_one_dialogue_named_after_it(tmp_path: Path) -> None:
    turns = read(put(tmp_path, "lesson 3.b.csv", "speaker,text\nT,a\nS,b\n"))
    assert turns["dialogue_id"].tolist() == ["lesson 3.b"] * 2
    assert turns["turn_id"].tolist() == [0, 1]
    assert Transcript.open(b"text\na\n").turns["dialogue_id"].tolist() == ["stdin"]


def test_a_turn_column_that_counts_something_else_is_carried_and_the_rows_are_counted() -> None:
    turns = Transcript.open(b"turn,text\n1,First sentence.\n1,Second sentence.\n2,Answer.\n").turns
    assert turns["turn_id"].tolist() == [0, 1, 2]
    assert turns["turn"].tolist() == ["1", "1", "2"]


def test_turn_ids_that_repeat_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    path = put(tmp_path, "twice.csv", "dialogue_id,turn_id,text\nd,0,a\nd,1,b\nd,1,c\n")
    with pytest.raises(
        InputError, match=r"twice\.csv, row 3, column turn_id: turn 1 of dialogue 'd' stands there twice"
    ):
        read(path)
    with pytest.raises(InputError, match="row 2, column turn_id: expected a whole number, found str"):
        Transcript.open(b"turn_id,text\n0,a\nx,b\n")
    with pytest.raises(InputError, match="stands there twice"):
        Transcript.open(b"no,text\n4,a\n4,b\n", columns=Columns(turn="no"))


def test_user_named_columns_win_and_errors_name_the_option() -> None:
    data = b"who,line,text\nT,Hello,raw\n"
    turns = Transcript.open(data, columns=Columns(text="line", speaker="who")).turns
    assert turns[["speaker", "text"]].values.tolist() == [["T", "Hello"]]
    with pytest.raises(
        InputError, match=r"no column 'words' \(columns found: who, line, text\)\. .*--text-column NAME"
    ):
        Transcript.open(data, columns=Columns(text="words"))
    with pytest.raises(InputError, match=r"no column 'speaker' .*--speaker-column NAME"):
        Transcript.open(data, columns=Columns(speaker="speaker"))


def test_a_missing_or_ambiguous_text_column_names_file_columns_and_option(tmp_path: Path) -> None:
    with pytest.raises(InputError) as missing:
        read(put(tmp_path, "notes.csv", "speaker,words\nT,Hello\n"))
    assert str(missing.value) == (
        f"{tmp_path}/notes.csv: no column looks like the turns' text (columns found: speaker, words). "
        "Name it with --text-column NAME."
    )
    two = put(tmp_path, "two.csv", "speaker,message,utterance\nT,Hello,Hi\n")
    with pytest.raises(
        InputError, match=r"two\.csv: message and utterance could each be the text .*--text-column NAME"
    ):
        read(two)
    assert read(two, text="message")["text"].tolist() == ["Hello"]
    with pytest.raises(InputError, match="text and text could each be the text"):
        Transcript.open(b"text,text\na,b\n")


def test_a_table_in_the_contract_is_taken_as_it_is() -> None:
    row = {"dialogue_id": "d", "turn_id": 0, "speaker": "Ann", "role": "student", "text": "Hi", "message": "x", "n": 1}
    turns = Transcript.open(lines(row)).turns
    assert turns.to_dict("records") == [row]


def test_role_column_beats_label_and_the_users_mapping_beats_both() -> None:
    data = b"speaker,role,text\nMaria R.,student,a\nMs. Lee,Lead,b\nTutor,,c\nSam,other,d\n"
    assert Transcript.open(data).turns["role"].tolist() == ["student", "other", "tutor", "other"]
    roles = {"maria r.": "other", "Ms. Lee": "tutor"}
    assert Transcript.open(data, roles=roles).turns["role"].tolist() == ["other", "tutor", "tutor", "other"]
    with pytest.raises(InputError, match=r"--roles, 'Sam': 'pupil' is no role\. Use one of tutor, student, other"):
        Transcript.open(data, roles={"Sam": "pupil"})


# --- the way back: only the changed cells change


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("last", [True, False])
def test_csv_comes_back_with_only_the_changed_cells_changed(newline: str, last: bool) -> None:
    source = LESSON.replace("\n", newline).removesuffix("" if last else newline).encode()
    transcript = Transcript.open(source)
    assert transcript.to_bytes(transcript.turns) == source
    turns = changed(transcript.turns, 0, text="Hi [NAME_1], ready?")
    turns = changed(turns, 1, speaker="[NAME_1]", text='"Yes", she said')
    expected = (
        source.replace(b"Maria,", b"[NAME_1],")
        .replace(b"Maria R.", b"[NAME_1]")
        .replace(b"Yes!", b'"""Yes"", she said"')
    )
    assert transcript.to_bytes(turns) == expected


def test_quoting_habits_stay_cell_by_cell() -> None:
    source = b'"speaker";"text";"n"\n"T";"Hi Ann";"1"\n\n"S";Hi;\n'
    transcript = Transcript.open(source)
    assert transcript.to_bytes(changed(transcript.turns, 0, text="Hi [NAME_1]")) == source.replace(b"Ann", b"[NAME_1]")


def test_tsv_quotes_only_what_its_tabs_would_break(tmp_path: Path) -> None:
    source = b'speaker\ttext\nT\tHi, "Ann"; ok\nS\t5" wide\n'
    transcript = Transcript.open(put(tmp_path, "lesson.tsv", source))
    assert transcript.turns["text"].tolist() == ['Hi, "Ann"; ok', '5" wide']
    out = transcript.to_bytes(changed(transcript.turns, 1, text="a\tb"))
    assert out == source.replace(b'5" wide', b'"a\tb"')


def test_jsonl_comes_back_with_every_other_character_as_it_was() -> None:
    source = (
        b'{"meta": {"b": [1, 2.50, null], "a": "Ann"},   "n":1e3, "speaker":"Ann", "text" : "Hi\\u0020Ann"}\r\n'
        b"\r\n"
        b'{"text": null, "speaker": "T"}\r\n'
        b'{"speaker": "S", "text": 42.0, "id": "007"}'
    )
    transcript = Transcript.open(source)
    assert transcript.turns["text"].tolist() == ["Hi Ann", "", "42.0"]
    assert transcript.turns.loc[0, "meta"] == {"b": [1, 2.5, None], "a": "Ann"}
    assert transcript.turns["id"].tolist() == [None, None, "007"]
    assert transcript.to_bytes(transcript.turns) == source
    turns = changed(changed(transcript.turns, 0, text="Hi [NAME_1]", speaker="[NAME_1]"), 2, speaker="S9")
    expected = source.replace(b'"Hi\\u0020Ann"', b'"Hi [NAME_1]"').replace(b'er":"Ann"', b'er":"[NAME_1]"')
    assert transcript.to_bytes(turns) == expected.replace(b'"S"', b'"S9"')
    assert b'"text": "[N]", "id"' in transcript.to_bytes(changed(turns, 2, text="[N]"))


def test_jsonl_writes_accents_as_the_file_does() -> None:
    plain, escaped = '{"text": "José and Ann"}\n'.encode(), b'{"text": "Jos\\u00e9 and Ann"}\n'
    for source in (plain, escaped):
        transcript = Transcript.open(source)
        out = transcript.to_bytes(changed(transcript.turns, 0, text="José and [NAME_1]"))
        assert out == source.replace(b"Ann", b"[NAME_1]")


def test_parquet_keeps_schema_metadata_and_other_columns(tmp_path: Path) -> None:
    schema = pa.schema(
        [
            pa.field("text", pa.large_string(), metadata={"unit": "words"}),
            pa.field("speaker", pa.dictionary(pa.int8(), pa.string())),
            pa.field("tags", pa.list_(pa.int16())),
            pa.field("grade", pa.int8()),
        ],
        metadata={"study": "S-1"},
    )
    table = pa.Table.from_pydict(
        {"text": ["Hi Ann", None], "speaker": ["T", "Ann"], "tags": [[1], None], "grade": [None, 4]}, schema=schema
    )
    pq.write_table(table, tmp_path / "in.parquet")
    transcript = Transcript.open(tmp_path / "in.parquet")
    assert transcript.turns["text"].tolist() == ["Hi Ann", ""]
    transcript.write(transcript.turns, tmp_path / "same.parquet")
    assert (tmp_path / "same.parquet").read_bytes() == (tmp_path / "in.parquet").read_bytes()
    turns = changed(changed(transcript.turns, 0, text="Hi [NAME_1]"), 1, speaker="[NAME_1]")
    transcript.write(turns, tmp_path / "out.parquet")
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.equals(pq.read_table(tmp_path / "in.parquet").schema, check_metadata=True)
    assert out.to_pydict() == table.to_pydict() | {"text": ["Hi [NAME_1]", None], "speaker": ["T", "[NAME_1]"]}
    assert b"Ann" not in (tmp_path / "out.parquet").read_bytes()


def test_numbers_in_a_parquet_text_column_stay_numbers_until_one_is_redacted(tmp_path: Path) -> None:
    pd.DataFrame({"text": [42, 43]}).to_parquet(tmp_path / "in.parquet")
    transcript = Transcript.open(tmp_path / "in.parquet")
    assert transcript.turns["text"].tolist() == ["42", "43"]
    transcript.write(transcript.turns, tmp_path / "same.parquet")
    assert pd.read_parquet(tmp_path / "same.parquet")["text"].tolist() == [42, 43]
    transcript.write(changed(transcript.turns, 0, text="[ID_1]"), tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet")["text"].tolist() == ["[ID_1]", "43"]


def test_interleaved_dialogues_and_shuffled_turns_find_their_rows_again() -> None:
    source = b"dialogue_id,turn_id,text\nb,1,p\na,0,q\nb,0,r\na,1,s\n"
    transcript = Transcript.open(source)
    turns = transcript.turns.assign(text=transcript.turns["text"].str.upper()).iloc[::-1]
    assert transcript.to_bytes(turns) == b"dialogue_id,turn_id,text\nb,1,P\na,0,Q\nb,0,R\na,1,S\n"


def test_turns_that_are_not_the_files_are_refused() -> None:
    transcript = Transcript.open(b"text\na\nb\n")
    with pytest.raises(InputError, match="turn 1 of dialogue 'stdin' is not among the turns to write"):
        transcript.to_bytes(transcript.turns.head(1))
    with pytest.raises(InputError, match="turn 7 of dialogue 'stdin' is not in the file"):
        transcript.to_bytes(pd.concat([transcript.turns, transcript.turns.head(1).assign(turn_id=7)]))


def test_a_line_without_a_text_is_an_empty_turn_and_has_no_place_for_a_new_one() -> None:
    transcript = Transcript.open(b'{"text": "a"}\n{"event": "joined"}\n')
    assert transcript.turns["text"].tolist() == ["a", ""]
    with pytest.raises(InputError, match="<stdin>, row 2: there is no cell to put the new value in"):
        transcript.to_bytes(changed(transcript.turns, 1, text="b"))


def test_turns_changed_in_place_are_written_too_and_printing_shows_no_text() -> None:
    transcript = Transcript.open(b"text\nHi Ann\n")
    transcript.turns.loc[0, "text"] = "Hi [NAME_1]"
    assert transcript.to_bytes(transcript.turns) == b"text\nHi [NAME_1]\n"
    assert "Ann" not in repr(transcript)


def test_the_input_is_never_overwritten_and_nothing_half_written(tmp_path: Path) -> None:
    path = put(tmp_path, "lesson.csv", LESSON)
    transcript = Transcript.open(path)
    with pytest.raises(InputError, match=r"lesson\.csv: this is the input itself"):
        transcript.write(transcript.turns, tmp_path / ".." / tmp_path.name / "lesson.csv")
    transcript.write(transcript.turns, tmp_path / "clean" / "lesson.csv")
    assert (tmp_path / "clean" / "lesson.csv").read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["clean", "lesson.csv", "lesson.csv"]


# --- encodings


@pytest.mark.parametrize(
    ("codec", "mark"),
    [("utf-8", ""), ("utf-8", "\ufeff"), ("utf-16-le", "\ufeff"), ("utf-16-be", "\ufeff"), ("utf-32-le", "\ufeff")],
)
@pytest.mark.parametrize(
    "body", ["speaker,text\r\nT,Olá José 👩‍👧 e\u0301\r\n", '{"speaker":"T","text":"Olá José 👩‍👧 e\u0301"}']
)
def test_unicode_encodings_and_their_marks_come_back(codec: str, mark: str, body: str) -> None:
    source = (mark + body).encode(codec)
    transcript = Transcript.open(source)
    assert transcript.turns["text"].tolist() == ["Olá José 👩‍👧 e\u0301"]
    assert transcript.to_bytes(transcript.turns) == source
    out = transcript.to_bytes(changed(transcript.turns, 0, text="Olá [NAME_1] 👩‍👧 e\u0301"))
    assert out == (mark + body.replace("José", "[NAME_1]")).encode(codec)


@pytest.mark.parametrize("text", ["Peña likes piñatas", "Señor José", "Zoë — “fine” …", "François, déjà créée", "é"])
def test_latin_1_and_its_windows_kin_are_read_right_however_short(text: str) -> None:
    source = f'speaker,text\r\nT,"{text}"\r\nS,Ann\r\n'.encode("cp1252")
    transcript = Transcript.open(source)
    assert transcript.turns["text"].tolist() == [text, "Ann"]
    assert transcript.to_bytes(transcript.turns) == source
    assert transcript.to_bytes(changed(transcript.turns, 1, text="[N]")) == source.replace(b"Ann", b"[N]")


def test_other_scripts_are_told_by_the_guesser() -> None:
    text = "Здравствуйте, сегодня мы решаем задачу про яблоки и груши"
    transcript = Transcript.open(f'speaker,text\nT,"{text}"\n'.encode("cp1251"))
    assert transcript.turns["text"].tolist() == [text]


def test_a_character_the_encoding_lacks_is_an_error_not_a_question_mark() -> None:
    transcript = Transcript.open("text\nJosé\n".encode("latin-1"), name="old.csv")
    with pytest.raises(InputError, match=r"old\.csv: cp1252 has no way to write U\+0141"):
        transcript.to_bytes(changed(transcript.turns, 0, text="Łucja"))
    in_json = Transcript.open('{"text": "José"}'.encode("latin-1"))
    assert in_json.to_bytes(changed(in_json.turns, 0, text="Łucja")) == b'{"text": "\\u0141ucja"}'


# --- bad input


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl"])
@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(InputError, match=f"{name}: the file is empty"):
        read(put(tmp_path, name, content))


def test_a_header_alone_is_a_transcript_without_turns() -> None:
    transcript = Transcript.open(b"speaker,text\n")
    assert (len(transcript.turns), list(transcript.turns.columns)) == (0, TURN_COLUMNS)
    assert transcript.to_bytes(transcript.turns) == b"speaker,text\n"


@pytest.mark.parametrize("source", [b"text\nHello", b'{"text": "Hello"}'])
def test_one_line_is_enough(source: bytes) -> None:
    assert Transcript.open(source).turns["text"].tolist() == ["Hello"]


def test_empty_cells_are_empty_turns() -> None:
    assert Transcript.open(b'speaker,text\nT,\n,""\n').turns[["speaker", "text"]].values.tolist() == [
        ["T", ""],
        ["", ""],
    ]


def test_a_one_megabyte_turn_is_a_turn() -> None:
    text = 'Hi "Ann", ' * 100_000
    csv_source = ('text\n"' + text.replace('"', '""') + '"\n').encode()
    for source in (csv_source, lines({"text": text})):
        transcript = Transcript.open(source)
        assert transcript.turns["text"].tolist() == [text]
        assert transcript.to_bytes(transcript.turns) == source


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "speaker,text\nT,Hi\nS,Yes, Ann\n", r"a\.csv, line 3: 3 cells where the header has 2\. Put quotes"),
        ("a.csv", 'speaker,text\n"T","a\nb"\nS\n', r"a\.csv, line 4: 1 cells where the header has 2"),
        ("a.csv", 'speaker,text\nT,"Hi\nS,ok\n', r"a\.csv, line 2: the quote that opens a cell here is not closed"),
        ("a.csv", 'speaker,text\nT,"Hi\nS,"ok"\n', r"a\.csv, line 2: the quote .* write a quote inside .* twice"),
        ("a.csv", "speaker,text\nT,H\0i\n", r"a\.csv, line 2: a NUL byte; the file is damaged, or UTF-16"),
        ("a.csv", b"speaker,text\nT,Jos\xc3\xa9 Pe\xc3\xb1a\nS,\xc3\n", r"a\.csv, line 3: damaged UTF-8"),
        ("a.csv", b"\xff\xfea\x00b", r"a\.csv: byte 4 is not utf-16-le\. Save the file as UTF-8"),
        ("a.jsonl", '{"text": "a"}\n\n["text", "b"]\n', r"a\.jsonl, line 3: not a JSON object but a list"),
        ("a.jsonl", '{"text": "a"}\n{"text": "b"\n', r"a\.jsonl, line 2: not JSON\. Give one JSON object a line"),
        ("a.jsonl", '{"text": "a", "text": "b"}\n', r"a\.jsonl, line 1: the key 'text' stands there twice"),
        ("a.jsonl", '{"text": "a"}\n{"text": ["b"]}\n', r"a\.jsonl, line 2, column text: expected text, found a list"),
        ("a.jsonl", '{"text": "\\ud83d"}\n', r"a\.jsonl, line 1, column text: .* half a surrogate pair"),
        ("a.parquet", "text\nHi\n", r"a\.parquet: not a Parquet file"),
        ("a.xlsx", "text\nHi\n", r"a\.xlsx: \.xlsx is not supported\. Use \.csv, \.tsv, \.jsonl, \.parquet"),
        ("a", "text\nHi\n", r"a file without a suffix is not supported"),
    ],
)
def test_bad_input_is_named_with_its_place_and_cure(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        read(put(tmp_path, name, content))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: no such file\. Give the path of a transcript"):
        read(tmp_path / "none.csv")


def test_the_format_of_bytes_is_told_from_their_beginning() -> None:
    out = io.BytesIO()
    pd.DataFrame({"text": ["Hi, Ann"]}).to_parquet(out)
    for source in (b'text\n"Hi, Ann"\n', b"n\ttext\n1\tHi, Ann\n", b'\n{"text":"Hi, Ann"}\n', out.getvalue()):
        assert Transcript.open(source).turns["text"].tolist() == ["Hi, Ann"]


# --- a turns table as a file of its own


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_a_turns_table_is_written_and_read_again_in_every_format(tmp_path: Path, suffix: str) -> None:
    turns = pd.DataFrame(
        {
            "dialogue_id": ["007", "007"],
            "turn_id": [0, 1],
            "speaker": ["Ann, B.", ""],
            "role": ["student", "tutor"],
            "text": ['"a"\tb\r\nc, d', "\re\u0301 👩‍👧"],
            "grade": ["03", "4"],
        }
    )
    write(turns, tmp_path / "out" / f"t{suffix}")
    again = read(tmp_path / "out" / f"t{suffix}")
    assert again.to_dict("records") == turns.to_dict("records")


def test_jsonl_written_from_a_table_keeps_nested_and_missing_values(tmp_path: Path) -> None:
    turns = Transcript.open(lines({"text": "a", "x": {"k": [1]}, "n": 3}, {"text": "b"})).turns
    write(turns, tmp_path / "t.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [(row["x"], row["n"]) for row in rows] == [({"k": [1]}, 3), (None, None)]
    with pytest.raises(InputError, match=r"t\.txt: \.txt is not supported"):
        write(turns, tmp_path / "t.txt")


# --- any text at all

_TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
_CELLS = st.lists(
    st.tuples(_TEXTS, _TEXTS | st.sampled_from(['"', ",", "\r\n", "a\n", "; \t"]), _TEXTS), min_size=1, max_size=5
)


def _as_csv(rows: list[tuple[str, str, str]], delimiter: str, quoting: int) -> bytes:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, quoting=quoting).writerows([("speaker", "text", "note"), *rows])
    return out.getvalue().encode()


def _csv_rows(text: str, delimiter: str = ",") -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]


@settings(deadline=None)  # a busy machine is no failure
@given(
    rows=_CELLS,
    delimiter=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
    row=st.integers(0, 4),
    new=_TEXTS,
)
def test_any_csv_changes_in_one_cell_only(
    rows: list[tuple[str, str, str]], delimiter: str, quoting: int, row: int, new: str
) -> None:
    source = _as_csv(rows, delimiter, quoting)
    transcript = Transcript.open(source)
    assert transcript.turns[["speaker", "text", "note"]].values.tolist() == [list(cells) for cells in rows]
    assert transcript.to_bytes(transcript.turns) == source
    row %= len(rows)
    out = transcript.to_bytes(changed(transcript.turns, row, text=new))
    rows[row] = (rows[row][0], new, rows[row][2])
    assert _csv_rows(out.decode(), delimiter) == [["speaker", "text", "note"], *map(list, rows)]
    if quoting == csv.QUOTE_ALL:
        assert out == _as_csv(rows, delimiter, quoting)


@settings(deadline=None)
@given(st.text('aé", \r\n', max_size=20))
def test_any_delimited_text_is_refused_or_read_as_the_csv_module_reads_it(body: str) -> None:
    source = "speaker,text\n" + body
    try:
        transcript = Transcript.open(source.encode())
    except InputError:
        return
    assert transcript.turns[["speaker", "text"]].values.tolist() == _csv_rows(source)[1:]
    assert transcript.to_bytes(transcript.turns) == source.encode()


@settings(deadline=None)
@given(rows=_CELLS, ascii_only=st.booleans(), row=st.integers(0, 4), new=_TEXTS)
def test_any_jsonl_changes_in_one_cell_only(
    rows: list[tuple[str, str, str]], ascii_only: bool, row: int, new: str
) -> None:
    def as_jsonl() -> bytes:
        records = [dict(zip(("speaker", "text", "note"), cells)) for cells in rows]
        return "".join(json.dumps(record, ensure_ascii=ascii_only) + "\n" for record in records).encode()

    transcript = Transcript.open(as_jsonl())
    assert transcript.turns[["speaker", "text", "note"]].values.tolist() == [list(cells) for cells in rows]
    assert transcript.to_bytes(transcript.turns) == as_jsonl()
    row %= len(rows)
    out = transcript.to_bytes(changed(transcript.turns, row, text=new))
    rows[row] = (rows[row][0], new, rows[row][2])
    assert [json.loads(line) for line in out.decode().split("\n")[:-1]] == [
        json.loads(line) for line in as_jsonl().decode().split("\n")[:-1]
    ]
