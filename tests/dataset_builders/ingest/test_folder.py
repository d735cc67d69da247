from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.dataset_builders import sample
from livek12.dataset_builders.base import Log
from livek12.dataset_builders.benchmarks import livek12 as reader
from livek12.dataset_builders.builder import read as read_source
from livek12.dataset_builders.ingest.folder import Folder, rows
from livek12.dataset_builders.ingest.paper import IngestOutcome, Options, ingest
from tests.dataset_builders.ingest.papers import bare, distance, page, read

PAPERS = Path(sample.__file__).parent / "papers"


def key_of(group: str, folder: Path) -> Path:
    """The sample's own answers, as a teacher's table."""
    file = folder / "key.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["number", "answer", "solution"])
        for question in sample.load(group):
            table.writerow([question.number, "\n".join(question.answer), question.solution or ""])
    return file


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Any:
    @cache
    def made(group: str) -> tuple[Path, IngestOutcome]:
        folder = tmp_path_factory.mktemp(group)
        pdf = PAPERS / f"{sample.PAPERS[group]}.pdf"
        return folder / "out", ingest(
            [pdf], folder / "out", Options(answers=(key_of(group, folder),), release="sample")
        )

    return made


@pytest.mark.parametrize("group", list(sample.PAPERS))
def test_the_sample_papers_give_the_sample_data_set(ingested: Any, group: str) -> None:
    """Through PDF, folder and the reader of `build`; formulas are compared without spaces and upright letters."""
    out, outcome = ingested(group)
    assert not outcome.failed and not outcome.papers[0].unmatched
    log = Log()
    questions = {q.number: q for q in read_source(reader.BUILDER, out, log) if isinstance(q, Question)}
    gold = {q.number: q for q in sample.load(group)}
    assert list(questions) == list(gold) and not log.skipped
    for number, want in gold.items():
        got = questions[number]
        assert [option.label for option in got.options] == [option.label for option in want.options], number
        assert len(got.images) == len(want.images), number
        assert got.page_numbers == want.page_numbers, number
        assert got.question.count("<image>") == want.question.count("<image>"), number
        if group.startswith("livek12"):  # the other papers print no points
            assert got.points == want.points, number
            assert got.subject == want.subject, number
        assert got.review.state == "unreviewed"
    far = [distance(bare(questions[number].question), bare(want.question)) for number, want in gold.items()]
    assert sum(far) / len(far) < 0.05, far
    kinds = [questions[number].question_type == want.question_type for number, want in gold.items()]
    assert sum(kinds) / len(kinds) >= 0.8, [number for number, same in zip(gold, kinds, strict=True) if not same]


def test_choices_keep_their_keys(ingested: Any) -> None:
    for group in ("livek12_zh", "livek12_en", "kmmmu"):
        out, _ = ingested(group)
        questions = {q.number: q for q in read_source(reader.BUILDER, out, Log()) if isinstance(q, Question)}
        for want in sample.load(group):
            if want.options:
                got = questions[want.number]
                assert (got.answer, got.question_type) == (want.answer, want.question_type), (group, want.number)


def test_the_folder_holds_what_it_promises(ingested: Any) -> None:
    out, outcome = ingested("livek12_zh")
    (paper,) = outcome.papers
    assert {path.name for path in out.iterdir()} == {".ingest", "images", "pages", "questions.jsonl"}
    assert sorted(path.name for path in (out / "pages").iterdir()) == [f"sample_zh_{n}.png" for n in range(1, 6)]
    named = {figure.name for draft in paper.drafts for figure in draft.figures}
    assert named == {path.name for path in (out / "images").iterdir()}
    written = [json.loads(line) for line in (out / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert written == list(rows(paper))
    assert {row["review"]["state"] for row in written} == {"unreviewed"}
    assert all(row["set"] == "sample" for row in written)


@pytest.mark.parametrize("leases", ["0", "1"])
def test_an_unchanged_paper_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leases: str) -> None:
    monkeypatch.setenv("LIVEK12_LEASES", leases)
    pdf = tmp_path / "exam.pdf"
    pdf.write_bytes((PAPERS / "mdk12.pdf").read_bytes())
    steps: list[int] = []
    step = lambda: steps.append(1)  # noqa: E731
    first = ingest([pdf], tmp_path / "out", Options(), step)
    assert (first.unchanged, len(steps)) == ([], 1)
    before = (tmp_path / "out/questions.jsonl").read_bytes()
    again = ingest([pdf], tmp_path / "out", Options(), step)
    assert (again.unchanged, len(steps)) == (["exam"], 1)
    assert (tmp_path / "out/questions.jsonl").read_bytes() == before
    other = ingest([pdf], tmp_path / "out", Options(subject="physics"), step)
    assert (other.unchanged, len(steps)) == ([], 2)
    assert [paper.subject for paper in Folder(tmp_path / "out").papers()] == ["physics"]


def test_a_licence_that_is_said_stands_on_each_row(tmp_path: Path) -> None:
    pdf = PAPERS / "mdk12.pdf"
    ingest([pdf], tmp_path / "out", Options())
    found = ingest([pdf], tmp_path / "out", Options(licence="CC-BY-4.0"))
    assert not found.unchanged
    written = (tmp_path / "out/questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert written and {json.loads(line)["licence"] for line in written} == {"CC-BY-4.0"}


def test_two_papers_of_one_name_are_two(tmp_path: Path) -> None:
    for name in ("mdk12", "cfe"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "exam.pdf").write_bytes((PAPERS / f"{name}.pdf").read_bytes())
    both = [tmp_path / name / "exam.pdf" for name in ("mdk12", "cfe")]
    found = ingest(both, tmp_path / "out", Options())
    assert [paper.paper_id for paper in found.papers] == ["exam", "exam-2"]
    again = ingest(both[::-1], tmp_path / "out", Options())
    assert [paper.paper_id for paper in again.papers] == ["exam-2", "exam"]
    ids = [json.loads(line)["id"] for line in (tmp_path / "out/questions.jsonl").read_text().splitlines()]
    assert len(ids) == len(set(ids)) == 12


@pytest.mark.parametrize("name", ["../../evil.pdf", "a b;rm -rf.pdf", "..pdf.pdf", "％／.pdf", "x" * 120 + ".pdf"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    id = Folder(tmp_path / "out").id_for(Path(name), "0", [])
    assert id and id == Path(id).name and ".." not in id and len(id) <= 80


def test_a_paper_that_fails_leaves_no_pages_and_the_others_go_on(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"\xff\xd8\xff\xe0 no pdf")
    found = ingest([bad, tmp_path / "none.pdf", PAPERS / "mdk12.pdf"], tmp_path / "out", Options())
    assert [paper.paper_id for paper in found.papers] == ["mdk12"]
    assert len(found.failed) == 2 and all("\n" not in line for line in found.failed)
    assert [path.name for path in (tmp_path / "out/pages").iterdir()] == ["mdk12_1.png"]


def test_a_damaged_record_is_one_line(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "out")
    (tmp_path / "out/.ingest/x.json").write_text("{")
    with pytest.raises(UserError, match=r"x\.json: is damaged"):
        folder.papers()


def test_hostile_text_is_text(tmp_path: Path) -> None:
    lines = ["1. <script>x</script> ![a](/etc/passwd) <img src='http://x/y.png'> <image>", "A. \\input{/etc/passwd}"]
    paper = read(page(*lines, "B. 2", "C. 3", "D. 4"))
    (row,) = rows(paper)
    assert row["options"][0]["text"] == "\\input{/etc/passwd}"
    (tmp_path / "q.jsonl").write_text(json.dumps(row) + "\n")
    log = Log()
    (question,) = read_source(reader.BUILDER, tmp_path, log)
    assert isinstance(question, Question) and not question.images and not log.skipped and not log.notes
    assert "<image>" not in question.question and "![" not in question.question


def test_a_paper_whose_rows_were_not_written_is_not_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from livek12.dataset_builders.ingest.drafts import IngestedPaper

    paper = IngestedPaper(paper_id="a", source="a.pdf", sha256="0", pages=1, language="en", template="t", made_by="x")

    def fails(*_: Any) -> None:
        raise UserError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_rows", fails)
        with pytest.raises(UserError, match="no room"):
            Folder(tmp_path).save(paper, {})
    assert Folder(tmp_path).paper("a") is None
