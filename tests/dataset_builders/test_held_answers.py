"""What is published of questions whose answers are held back: nothing that depends on these answers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from livek12.core.question_types import keyless
from livek12.core.questions import load_questions
from livek12.core.records import BenchmarkName, Variant
from livek12.dataset_builders import build
from livek12.dataset_builders.publishing.policy import judge_rows
from livek12.dataset_builders.publishing.publisher import copy_held, copy_public
from livek12.dataset_builders.writing.withheld import Withheld, WithheldAnswers
from livek12.evaluation.flat import flat_tasks
from tests.dataset_builders.pictures import picture
from tests.dataset_builders.publishing_sets import make_set, question

KNOWN = {"set": "2607", "subject": "math", "review": {"state": "accepted"}, "source": {"licence": "MIT"}}
CHOICES = "选择题", "Multiple Choice", "multiple_choice", "single_choice", "多选题", "객관식", "", "quiz"
OPENS = "解答题", "short_answer", "open_ended", "填空题", "证明题", "判断题", "주관식", "", "task"


def letters(draw: random.Random) -> list[str]:
    return ["".join(sorted(draw.sample("ABCD", draw.choice([1, 1, 2, 3, 4]))))]


def numbers(draw: random.Random) -> list[str]:
    return ["".join(sorted(draw.sample("12345", draw.choice([1, 2]))))]


def values(draw: random.Random) -> list[str]:
    words = ["7", "x = 3", "a long sentence that explains what is so", r"\frac{1}{2}", "true", "B", "(1) 4 (2) 5"]
    return draw.choice([[], *([word] for word in words), draw.sample(words, 2)])


def secrets(draw: random.Random) -> dict[str, Any]:
    """A solution, with or without a picture, or none."""
    return draw.choice([{}, {"solution": "so"}, {"solution": "see <image>", "solution_images": ["p.png"]}])


def planted(seed: int) -> list[dict[str, Any]]:
    """Rows of every form whose keys are drawn, and everything else is the same for every seed."""
    draw, rows = random.Random(seed), list[dict[str, Any]]()
    shapes: list[tuple[str, dict[str, Any], Any]] = []
    for name in CHOICES:
        inside = f"Take the best one ({name}).\nA. red\nB. blue\nC. green\nD. grey"
        shapes.append((name, {"question": inside}, letters))
        shapes.append((name, {"question": "Which of them?", "options": ["red", "blue", "green", "grey"]}, letters))
        circled = f"다음 중 옳은 것은? {name}\n① 가을\n② 나무\n③ 다리\n④ 라면\n⑤ 마음"
        shapes.append((name, {"question": circled, "language": "ko"}, numbers))
    shapes += [(name, {"question": f"How many are left of {name}?"}, values) for name in OPENS]
    shapes += [("填空题", {"question": "x = ____ and y = ____"}, lambda draw: [draw.choice("12"), "3"])]
    shapes += [("解答题", {"question": "(1) Find a. (2) Find b.", "part_points": [2, 3]}, lambda draw: ["(1) 1 (2) 2"])]
    for number, (kind, what, key) in enumerate(shapes):
        row = {**KNOWN, "id": f"zh_2607_math_{number:04d}", "question_type": kind, **what}
        rows.append({**row, "answer": key(draw), **secrets(draw)})
    return rows


def published(folder: Path, rows: list[dict[str, Any]], benchmark: str = "livek12") -> tuple[dict[str, bytes], Path]:
    """What everybody may read of a build of the rows, and the folder."""
    folder.mkdir()
    (folder / "p.png").write_bytes(picture(1))
    if benchmark != "livek12":  # the others have no pictures of solutions, and call a set a release
        rows = [{**row, "release": row["set"]} for row in rows]
        rows = [{key: value for key, value in row.items() if key not in ("set", "solution_images")} for row in rows]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    report = build(benchmark, str(folder / "rows.jsonl"), folder / "built")
    assert not report.skipped
    ruling = judge_rows(folder / "built", [])
    held = ruling.releases[benchmark]["2607"]
    copy_public(folder / "built", folder / "public", ruling, held, Withheld("2607", "org/keys"))
    files = (file for file in (folder / "public").rglob("*") if file.is_file())
    return {str(file.relative_to(folder / "public")): file.read_bytes() for file in files}, folder


@pytest.mark.parametrize(("benchmark", "config"), [("livek12", "default"), ("kmmmu", "default"), ("mdk12", "full")])
def test_two_builds_that_differ_in_hidden_keys_only_are_the_same_in_public(
    benchmark: BenchmarkName, config: str, tmp_path: Path
) -> None:
    one, folder = published(tmp_path / "one", planted(0), benchmark)
    for seed in (1, 2):
        assert one == published(tmp_path / f"other{seed}", planted(seed), benchmark)[0]
    kinds = {q.question_type for q in load_questions(folder / "built", [config], benchmark)}
    assert {"single_choice", "multiple_choice", "short_answer", "open_ended"} <= kinds


def test_the_types_come_back_with_the_answers(tmp_path: Path) -> None:
    _, folder = published(tmp_path / "one", planted(0))
    ruling = judge_rows(folder / "built", [])
    copy_held(folder / "built", folder / "keys", ruling, ruling.releases["livek12"]["2607"])
    answers = WithheldAnswers(Withheld("2607", "org/keys"), "org/keys", folder / "keys")
    whole = load_questions(folder / "built", ["default"], "livek12")
    assert [answers.filled(q) for q in load_questions(folder / "public", ["default"], "livek12")] == whole


@pytest.mark.parametrize(
    ("raw", "has_options", "expected"),
    [
        ("选择题", True, ("single_choice", "选择题")),
        ("多选题", True, ("multiple_choice", "多选题")),
        ("multiple_choice", True, ("single_choice", None)),
        (None, True, ("single_choice", None)),
        (None, False, ("open_ended", None)),
        ("short_answer", False, ("open_ended", None)),
        ("解答题", False, ("open_ended", "解答题")),
        ("填空题", False, ("fill_in_blank", "填空题")),
    ],
)
def test_a_type_without_its_key(raw: str | None, has_options: bool, expected: tuple[str, str | None]) -> None:
    assert keyless(raw, has_options=has_options) == expected


def test_what_is_made_of_a_held_question_stays_back(tmp_path: Path) -> None:
    made = question("a-v", variant=Variant(of="a", kind="dynamic"))
    old = question("b-v", "2603", variant=Variant(of="b", kind="dynamic"))
    folder = make_set(tmp_path / "set", [question("a"), made, question("b", "2603"), old])
    lines = [json.dumps({"of": name, "transforms": ["words"]}) + "\n" for name in ("a", "b")]
    (folder / "variants.jsonl").write_text("".join(lines))
    ruling = judge_rows(folder, [])
    copy_public(folder, tmp_path / "public", ruling, ruling.releases["livek12"]["2605"], None)
    assert {q.id for q in load_questions(tmp_path / "public", ["default"], "livek12")} == {"a", "b", "b-v"}
    assert (tmp_path / "public" / "variants.jsonl").read_text() == lines[1]


def test_another_release_does_not_tell_a_held_key(tmp_path: Path) -> None:
    """Translations and variants of a held question, whatever release they name, in tables and flat configs."""
    plain: dict[str, Any] = {"paper_id": None, "page_numbers": [], "part_points": [5.0], "variables": []}
    plain |= {"answer_images": [], "reasoning_flow": [], "answer": ["7700077"]}
    open_row = question("open", "2603", **{**plain, "answer": ["7"]})
    rows = [question("held", "2607", **plain), question("twin", "2603", translation_of="held", **plain), open_row]
    rows += [question("again", "2604", variant=Variant(of="twin", kind="dynamic"), **plain)]
    rows += [question("third", "extra", translation_of="again", **plain)]
    folder = make_set(tmp_path / "set", rows)
    ruling = judge_rows(folder, [])
    held = ruling.held("2607")
    copy_public(folder, tmp_path / "public", ruling, held, Withheld("2607", "org/keys"))
    public = load_questions(tmp_path / "public", ["default"], "livek12")
    assert {q.id: q.answer for q in public} == {"held": [], "twin": [], "third": [], "open": ["7"]}
    assert [row.id for task in flat_tasks(tmp_path / "public") for row in task.rows] == ["open"]
    copy_held(folder, tmp_path / "keys", ruling, held)
    answers = WithheldAnswers(Withheld("2607", "org/keys"), "org/keys", tmp_path / "keys")
    whole = {q.id: q for q in load_questions(folder, ["default"], "livek12")}
    assert [answers.filled(q) for q in public] == [whole[q.id] for q in public]
