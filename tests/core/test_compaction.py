"""Compacting a run folder loses no byte, whatever stands in it and whenever it is killed."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livek12.core import compaction, packed
from livek12.core.compaction import compact, restore
from livek12.core.errors import UserError
from livek12.core.packed import META, PackedLines, packed_files, packed_path, writing_options
from livek12.core.records import Failure, Key, Response
from livek12.core.run.access import take_part
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import JournalWriter, Tail, journal_files
from livek12.evaluation import reporting
from livek12.scripts.bench.common import begun_run
from tests.core.test_scoring import TASK, graded, question
from tests.scored import score

QUESTIONS, TRIALS = 12, 3


def run_folder(path: Path, questions: int = QUESTIONS, letters: int = 300) -> Path:
    """A run with answers in two journals, in no order, some of them failed once, some said twice, and damaged lines."""
    asked = [question(f"q{number}") for number in range(questions)]
    run = begun_run(path, {TASK: asked}, trials=TRIALS, judges={TASK: "rules"})
    run.leave()
    keys = [Key(task=TASK, question_id=each.id, trial=trial) for trial in range(TRIALS) for each in asked]
    with run.writer("responses") as first, run.writer("responses") as second, run.writer("verdicts") as verdicts:
        for number, key in enumerate(reversed(keys)):
            row = graded(question(key.question_id), float(number % 3 > 0))
            assert row.response is not None
            assert row.verdict is not None
            text = f"{number} " + "答案 x" * (letters // 4)
            said = row.response.model_copy(update={"key": key, "text": text, "model": "m", "completion_tokens": number})
            (first, second)[number % 2].append(said)
            if number % 5 == 0:
                first.append(said.model_copy(update={"text": "said again"}))  # the first counts
            verdicts.append(row.verdict.model_copy(update={"key": key, "response_sha256": said.sha256}))
    with run.writer("failures") as failures:
        for key in keys[:4] * 2:
            failures.append(Failure(key=key, state="failed", reason="away"))
    with (path / "responses-1.jsonl").open("ab") as file:
        file.write(b'{"no": "response"}\n\n\xff\xfe not even text\n')
        file.write(b'{"key": {"task": "x", "question_id": "y", "trial": 99999999999999999999}}\n')
        file.write(b'{"torn')
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder."""
    return run_folder(tmp_path / "run")


def journals(folder: Path) -> dict[str, bytes]:
    """All bytes of all journals."""
    return {file.name: file.read_bytes() for file in sorted(folder.glob("*-*.jsonl"))}


def read(folder: Path) -> tuple[object, ...]:
    """All that readers see of a run."""
    told: list[str] = []
    run = RunFolder(folder, told.append)
    rows = [(row.task, row.question.id, row.trial, row.state, row.response, row.verdict, row.why) for row in run.rows()]
    scores = score(run.rows())
    by_key = {str(response.key): response for response in run.responses()}
    return rows, scores, by_key, run.verdicts(), run.failures(), run.tries(), {*run.answered()}, len(told)


def test_a_compacted_run_reads_the_same_and_comes_back_byte_for_byte(run: Path) -> None:
    before, seen = journals(run), read(run)
    sizes = compact(run)
    assert not journals(run)
    assert sizes.before == sum(map(len, before.values()))
    assert sizes.after == sum(file.stat().st_size for file in run.glob("*.parquet")) < sizes.before
    assert read(run) == seen
    assert {str(each.key) for each in Tail(run, "responses", Response).fresh()} >= {*seen[6]}  # type: ignore[misc]
    restore(run)
    assert journals(run) == before
    assert not list(run.glob("*.parquet"))
    assert read(run) == seen


def test_columns_without_the_texts_say_what_the_lines_say(run: Path) -> None:
    import pyarrow.parquet as pq

    verdicts = RunFolder(run).verdicts()
    compact(run)
    table = pq.read_table(packed_path(run, "verdicts"), columns=["task", "question_id", "trial", "points", "correct"])
    rows = {f"{row['task']}/{row['question_id']}/{row['trial']}": row for row in table.to_pylist()}
    assert {key: (row["points"], row["correct"]) for key, row in rows.items()} == {
        key: (verdict.points, verdict.correct) for key, verdict in verdicts.items()
    }
    tokens = pq.read_table(packed_path(run, "responses"), columns=["completion_tokens"])["completion_tokens"]
    assert tokens.null_count == 5  # what is no response, and half a line


def test_a_run_goes_on_after_it_was_compacted_and_is_compacted_again(run: Path) -> None:
    compact(run)
    more = [Key(task=TASK, question_id="q0", trial=0), Key(task=TASK, question_id="q1", trial=1)]
    with JournalWriter(run, "failures") as failures:
        for key in more:
            failures.append(Failure(key=key, state="failed", reason="later"))
    assert [file.name for file in journal_files(run, "failures")] == ["failures-1.jsonl"]
    assert RunFolder(run).failures()[str(more[0])].reason == "later"
    seen, added = read(run), journals(run)
    first = packed_files(run, "failures")
    compact(run)
    assert read(run) == seen
    assert packed_files(run, "failures").keys() == {*first, "failures-1.jsonl"}
    restore(run)
    assert journals(run).items() >= added.items()
    assert len(journals(run)) == 5


def test_earlier_versions_refuse_a_compacted_run(run: Path) -> None:
    compact(run)
    assert json.loads((run / "run.json").read_text())["record_version"] == 7  # they read up to 5
    restore(run)
    assert json.loads((run / "run.json").read_text())["record_version"] == 6


def test_nobody_may_be_at_work(run: Path) -> None:
    with RunFolder(run).writer("verdicts"), pytest.raises(UserError, match="another command writes it"):
        compact(run)
    fd = take_part(run)
    with pytest.raises(UserError, match="another command is at work here"):
        compact(run)
    os.close(fd)
    compact(run)
    with pytest.raises(UserError, match="not a run folder"):
        compact(run.parent)
    restore(run)
    with pytest.raises(UserError, match="is not compacted"):
        restore(run)


def test_a_damaged_packed_file_is_told_and_nothing_goes(run: Path) -> None:
    import pyarrow.parquet as pq

    compact(run)
    packed = packed_path(run, "responses")
    content = bytearray(packed.read_bytes())
    group = pq.read_metadata(packed).row_group(0)
    line = next(group.column(n) for n in range(group.num_columns) if group.column(n).path_in_schema == "line")
    content[line.data_page_offset + line.total_compressed_size // 2] ^= 255
    packed.write_bytes(content)
    with pytest.raises(UserError, match=r"responses\.parquet"):
        restore(run)
    packed.write_bytes(b"PAR1 is no table")
    with pytest.raises(UserError, match=r"responses\.parquet: cannot be read"):
        list(RunFolder(run).responses())
    assert packed.exists()


def test_a_footer_of_lies_costs_a_line_and_no_process(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", questions=2)
    compact(run)
    path = packed_path(run, "verdicts")
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    rows = sum(1 for _ in PackedLines(path))
    lies = {b"\x15\x0c": b"\x15\x08", bytes([0x16, 2 * rows]): b"\x16\x77"}  # texts are floats; values are -60
    for truth, lie in lies.items():
        places = [place for place in range(footer, len(whole)) if whole[place : place + 2] == truth]
        assert places
        for place in places[::3]:
            path.write_bytes(whole[:place] + lie + whole[place + 2 :])
            child = os.fork()
            if not child:
                ended = 1
                try:
                    with suppress(UserError):
                        list(PackedLines(path).keys())
                    ended = 0
                finally:
                    os._exit(ended)
            assert os.waitpid(child, 0)[1] == 0, (truth, place)


def forged(run: Path, stem: str, column: str, change: Callable[[Any], Any]) -> None:
    """Rewrites one column of a packed file, with checksums that fit."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = packed_path(run, stem)
    table = pq.read_table(path)
    place, field = table.schema.get_field_index(column), table.schema.field(column)
    values = [None if value is None else change(value) for value in table[column].to_pylist()]
    table = table.set_column(place, field, pa.array(values, field.type))
    pq.write_table(table, path, **writing_options(table.schema))


def by_columns(folder: Path) -> object:
    """The scores as commands make them that read no text."""
    return reporting.score(RunFolder(folder))["tasks"]


@pytest.mark.parametrize(
    ("stem", "column", "change"),
    [
        ("verdicts", "light", lambda light: light.replace(b'"points":0.0', b'"points":4.0')),
        ("verdicts", "trial", lambda trial: 0),
        ("responses", "light", lambda light: light.replace(b'"hash":"', b'"hash":"0')),
        ("responses", "model", lambda model: "n"),
        ("responses", "question_id", lambda name: "q0"),
    ],
)
def test_columns_that_say_other_than_their_lines_make_no_mark(
    run: Path, stem: str, column: str, change: Callable[[Any], Any]
) -> None:
    before = by_columns(run)
    compact(run)
    assert by_columns(run) == before
    forged(run, stem, column, change)
    with pytest.raises(UserError, match=rf"{stem}\.parquet: column {column} of row .*compact --undo"):
        by_columns(run)
    restore(run)
    assert by_columns(run) == before


@pytest.mark.parametrize("change", [lambda table: table.slice(1), lambda table: concat(table, table.slice(0, 1))])
def test_lines_that_are_missing_or_doubled_make_no_mark(run: Path, change: Callable[[Any], Any]) -> None:
    import pyarrow.parquet as pq

    compact(run)
    path = packed_path(run, "verdicts")
    table = change(pq.read_table(path))
    pq.write_table(table, path, **writing_options(table.schema))
    with pytest.raises(UserError, match=r"verdicts\.parquet: does not hold each line of verdicts-0\.jsonl once"):
        by_columns(run)


def concat(*tables: Any) -> Any:
    """Tables one behind the other."""
    import pyarrow as pa

    return pa.concat_tables(tables)


def test_columns_of_a_copy_are_compared_once(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = by_columns(run)
    compact(run)
    copy = shutil.copytree(run, run.with_name("copy"))
    compared: list[str] = []
    real = packed.contradiction
    monkeypatch.setattr(packed, "contradiction", lambda stem, *rest: (compared.append(stem), real(stem, *rest))[1])
    assert [by_columns(copy) for _ in range(2)] == [before, before]
    assert {*compared} >= {"responses", "verdicts"}
    assert len(compared) == len({*compared})
    assert by_columns(run) == before
    assert len(compared) == len({*compared})  # what was packed here needs none


def test_a_flipped_bit_changes_no_mark_in_silence(run: Path) -> None:
    """In a page, that is: what stands in the footer has no checksum."""
    compact(run)
    before, draw = by_columns(run), random.Random(7)
    for _ in range(40):
        path = packed_path(run, draw.choice(["responses", "verdicts"]))
        whole = path.read_bytes()
        content = bytearray(whole)
        footer = int.from_bytes(content[-8:-4], "little") + 8
        content[draw.randrange(len(content) - footer)] ^= 1 << draw.randrange(8)
        path.write_bytes(content)
        with suppress(UserError):
            assert by_columns(run) == before
        path.write_bytes(whole)


LINES = st.lists(
    st.one_of(
        st.binary(max_size=60).map(lambda line: line.replace(b"\n", b"")),
        st.tuples(st.sampled_from(["q0", "q1", "other"]), st.integers(-1, 3), st.text(max_size=20)).map(
            lambda said: json.dumps(
                {"key": {"task": TASK, "question_id": said[0], "trial": said[1]}, "text": said[2]}
            ).encode()
        ),
    ),
    max_size=30,
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(LINES, min_size=1, max_size=3), ending=st.booleans(), group=st.integers(1, 200))
def test_any_lines_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    parts: list[list[bytes]],
    ending: bool,
    group: int,
) -> None:
    monkeypatch.setattr(compaction, "GROUP_BYTES", group)
    folder = run_folder(tmp_path_factory.mktemp("lines") / "run", questions=2, letters=8)
    for number, lines in enumerate(parts, 5):
        (folder / f"verdicts-{number}.jsonl").write_bytes(b"\n".join(lines) + b"\n" * ending)
    before = journals(folder)
    compact(folder)
    restore(folder)
    assert journals(folder) == before
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("../victim.jsonl", {}),
        ("./../victim.jsonl", {}),
        ("run.json", {}),
        ("verdicts-0.jsonl", {}),
        ("responses-7.jsonl", {"file": "responses-8.jsonl"}),
        ("responses-7.jsonl", {"start": -5}),
        ("responses-7.jsonl", {"start": 1 << 60}),
        ("responses-7.jsonl", {"start": "0"}),
        ("responses-7.jsonl", {"line": None}),
        ("responses-7.jsonl", {"start": None}),
    ],
)
def test_a_packed_file_from_elsewhere_reaches_nothing_but_its_journals(
    run: Path, name: str, change: dict[str, object]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (victim := run.parent / "victim.jsonl").write_text("stays")
    before = journals(run)
    row = {"file": name, "start": 0, "line": b"{}\n", **change}
    kind = {"line": pa.large_binary()}
    table = pa.table({key: pa.array([value], kind.get(key)) for key, value in row.items()})
    account = json.dumps({"journals": {name: [3, "0" * 64]}})
    pq.write_table(table.replace_schema_metadata({META: account}), packed_path(run, "responses"), use_dictionary=False)
    for action in (compact, restore):
        with pytest.raises(UserError, match=r"responses\.parquet: "):
            action(run)
        assert victim.read_text() == "stays"
        assert journals(run) == before
