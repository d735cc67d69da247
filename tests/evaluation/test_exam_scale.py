"""An exam from its `exam.yaml` to the report, the comparison and the site."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.exams import EXAMS, read_built
from livek12.core.run.remote import is_run_file
from livek12.dataset_builders import build
from livek12.dataset_builders.publishing.policy import PolicyRuling
from livek12.dataset_builders.publishing.publisher import copy_public
from livek12.report.site.files import SiteStore
from tests.scripts.command import Ended, livek12_here

NAME = "Exam <script>alert(1)</script> | 수학"
EXAM = f"""
name: "{NAME}"
paper: p
points: 24
sections:
  - name: choices
    questions: 1-6
    points: 24
    items:
      1: {{rate: 0.9, options: {{A: 0.9, B: 0.1}}}}
      2: {{rate: 0.5, options: {{A: 0.1, B: 0.5, C: 0.3, D: 0.1}}}}
      3: {{rate: 0.2, options: {{A: 0.2, B: 0.1, C: 0.4, D: 0.3}}}}
      4: {{rate: 0.6}}
      5: {{rate: 0.3, options: {{A: 0.3, B: 0.2, C: 0.1, D: 0.4}}}}
scale: {{cutoffs: {{gold: 16, silver: 8}}, distribution: {{0: 1, 8: 2, 16: 4, 24: 3}}, source: invented}}
"""


def rows(paper: str) -> str:
    options = [f"a {colour} kite" for colour in ("red", "green", "blue", "black")]
    lines = (
        {
            **{"id": f"{paper}-{number}", "paper_id": paper, "number": str(number), "language": "en", "set": "2605"},
            **{"question": f"Which kite flies in picture {number} of {paper}?", "options": options, "points": 4},
            **{"answer": "B" if number == 2 else "A", "question_type": "single_choice", "subject": "math"},
        }
        for number in range(1, 7)
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exam") / "source"
    folder.mkdir()
    (folder / "p.jsonl").write_text(rows("p"))
    (folder / "p.exam.yaml").write_text(EXAM)
    return folder


@pytest.fixture(scope="module")
def sat(source: Path) -> Path:
    """A data set, and two runs on it."""
    folder = source.parent
    report = build("livek12", str(source), folder / "data")
    assert not [note for note in report.notes if "not read" in note]
    # The first has questions 1, 2 and 4 right and errs as people do in 3 (C) but not in 5 (B, theirs is D) and 6.
    for model, letters in {"first": "ABCABD", "second": "AAAAAA"}.items():
        answers = ({"id": f"p-{n}", "response": f"The answer is {letter}."} for n, letter in enumerate(letters, 1))
        (folder / f"{model}.jsonl").write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        ended(folder, "import-responses", folder / f"{model}.jsonl", "--from", "jsonl", "--out", folder / model)
    return folder


def ended(folder: Path, *args: object) -> Ended:
    data = ("--task", "livek12", "--data", folder / "data") if args[0] == "import-responses" else ()
    done = livek12_here(*args, *data)
    assert done.code == 0, done.err
    return done


def exam_of(run: Path) -> dict[str, Any]:
    (exam,) = json.loads((run / "report.json").read_text())["exams"]
    return dict(exam)


def test_a_run_is_marked_on_the_scale_of_its_exam(sat: Path) -> None:
    card = (sat / "data" / "README.md").read_text()
    assert "| Exam \\<script\\>alert(1)\\</script\\> \\| 수학 | 24 |" in card and "silver from 8" in card
    exam = exam_of(sat / "first")
    whole = exam["rows"][0]
    assert (whole["low"], whole["high"], whole["points"]) == (12, 12, 24)
    assert whole["percentile"][0] == 30 and whole["grades"] == ["silver", "silver"]  # 3 of 10 people have less than 12
    assert whole["percentile"][2] < 30 < whole["percentile"][3]
    assert (exam["errors"]["wrong"], exam["errors"]["same"]) == (2, 1)
    assert exam["errors"]["chance"] == pytest.approx(1 / 3)
    assert exam["items"]["questions"] == 5 and exam["items"]["correlation"] == pytest.approx(0.5 / 0.36**0.5)
    page = (sat / "first" / "report.html").read_text()
    assert "<script>alert(1)" not in page and "on the exam's own scale" in page
    assert "1 of 2 wrong answers (50 %" in page
    assert is_run_file(EXAMS) and ended(sat, "check", sat / "first").out


def test_runs_are_compared_on_it(sat: Path) -> None:
    runs = [sat / "first", sat / "second"]
    exams = json.loads(ended(sat, "compare", *runs, "--json").out)["exams"]
    assert {name: exam[0]["rows"][0]["low"] for name, exam in exams.items()} == {"first": 12, "second": 20}
    table = ended(sat, "compare", *runs, "--md").out
    assert "| second | 20 | 24 |" in table and "| 70 (" in table
    assert "own scale" not in table and "exams" not in ended(sat, "compare", *runs, "--where", "number=1", "--json").out
    assert "chance of" in ended(sat, "compare", *runs).out


def test_the_site_has_it_in_three_languages(sat: Path) -> None:
    ended(sat, "site", sat / "first", sat / "second", "--out", sat / "site")
    record = SiteStore(sat / "site", {}).read("runs/first")
    assert record is not None
    (exam,) = record["exams"]
    assert exam["rows"][0][:4] == [NAME, 0, "12", "24"] and exam["rows"][0][5].startswith("30 (")
    script = (sat / "site" / "assets" / "words.js").read_text()
    assert all(word in script for word in ("percentile", "百分位", "백분위"))


def test_people_s_results_may_come_later_and_a_paper_without_any_shows_none(
    sat: Path, source: Path, tmp_path: Path
) -> None:
    for name in ("data", "first"):
        shutil.copytree(sat / name, tmp_path / name)
    (source / "p.exam.yaml").write_text(EXAM.replace("gold: 16", "gold: 12"))
    before = (tmp_path / "first" / "responses-0.jsonl").read_bytes()
    build("livek12", str(source), tmp_path / "data")
    ended(tmp_path, "report", tmp_path / "first", "--data", tmp_path / "data")
    assert exam_of(tmp_path / "first")["rows"][0]["grades"] == ["gold", "gold"]
    assert (tmp_path / "first" / "responses-0.jsonl").read_bytes() == before
    (source / "p.exam.yaml").write_text(EXAM)
    (tmp_path / "first" / EXAMS).unlink()
    (tmp_path / "data" / EXAMS).unlink()
    ended(tmp_path, "report", tmp_path / "first", "--data", tmp_path / "data")
    assert "exams" not in json.loads((tmp_path / "first" / "report.json").read_text())
    assert "own scale" not in (tmp_path / "first" / "report.html").read_text()


def test_a_new_release_keeps_the_exams_of_the_older_one(sat: Path, tmp_path: Path) -> None:
    newer = tmp_path / "q.jsonl"
    newer.write_text(rows("q").replace("2605", "2607").replace("kite", "boat"))
    (tmp_path / "exam.yaml").write_text("name: another\npaper: q\nquestions: '*'\n")
    build("livek12", str(newer), tmp_path / "data", base=str(sat / "data"))
    assert [exam.name for exam in read_built(tmp_path / "data" / EXAMS)] == [NAME, "another"]


def test_a_damaged_exam_of_a_run_is_told_and_written_again(sat: Path, tmp_path: Path) -> None:
    shutil.copytree(sat / "second", tmp_path / "run")
    (tmp_path / "run" / EXAMS).write_text("[{]")
    done = livek12_here("score", tmp_path / "run")
    assert done.code == 2 and len(done.errors) == 1 and f"{EXAMS}: cannot be read" in done.err
    ended(tmp_path, "report", tmp_path / "run", "--data", sat / "data")
    assert exam_of(tmp_path / "run")["rows"][0]["low"] == 20


@pytest.mark.parametrize(
    ("exams", "message"),
    [
        ({"exam.yaml": EXAM.replace("1-6", "1-7")}, "number 7 is no question of paper p (1 rows left out; the first: "),
        ({"exam.yaml": EXAM, "deeper/b.exam.yaml": EXAM}, "another exam of the data set has this name"),
    ],
)
def test_an_exam_that_does_not_fit_its_source_stops_the_build(
    exams: dict[str, str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "source" / "deeper").mkdir(parents=True)
    (tmp_path / "source" / "p.jsonl").write_text(rows("p") + "[1]\n")
    for name, text in exams.items():
        (tmp_path / "source" / name).write_text(text)
    with pytest.raises(UserError) as error:
        build("livek12", str(tmp_path / "source"), tmp_path / "data")
    assert message in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "data").exists()


def test_people_s_choices_are_withheld_with_the_keys(sat: Path, tmp_path: Path) -> None:
    copy_public(sat / "data", tmp_path / "public", PolicyRuling(), {("livek12", "p-1"), ("livek12", "p-3")}, None)
    (exam,) = read_built(tmp_path / "public" / EXAMS)
    assert sorted(next(exam.leaves()).items) == ["p-2", "p-4", "p-5"]
