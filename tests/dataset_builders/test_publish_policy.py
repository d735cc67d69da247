"""What may be published: reviewed rows with a licence or a permission, and the copies that go out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from livek12.core import rights
from livek12.core.errors import UserError
from livek12.core.questions import load_pages, load_questions
from livek12.core.records import FlowStep, SchemeCriterion, Variable
from livek12.dataset_builders import validate
from livek12.dataset_builders.publishing.keeping import answered, newest_release
from livek12.dataset_builders.publishing.policy import judge_rows, read_rights, refusal
from livek12.dataset_builders.publishing.publisher import copy_held, copy_public
from livek12.dataset_builders.writing.card import kept_back
from livek12.dataset_builders.writing.statistics import read_statistics
from livek12.dataset_builders.writing.withheld import Withheld, read_withheld, without_answers
from tests.dataset_builders.publishing_sets import image, make_set, page, question

NOBODY, REJECTED = "nobody reviewed it", "rejected in review"
UNLICENSED = "no licence stated, and no permission named"


@pytest.mark.parametrize(
    ("state", "licence", "reason"),
    [
        ("accepted", "MIT", None),
        ("upstream", "CC BY-NC 4.0", None),
        ("unreviewed", "MIT", NOBODY),
        ("rejected", "MIT", REJECTED),
        ("accepted", None, UNLICENSED),
        ("upstream", "", UNLICENSED),
        ("accepted", "  ", UNLICENSED),
        ("accepted", "No licence stated", UNLICENSED),
        ("accepted", "unknown", UNLICENSED),
        ("unreviewed", None, NOBODY),
    ],
)
def test_a_row_needs_a_review_and_a_licence(
    state: str, licence: str | None, reason: str | None, tmp_path: Path
) -> None:
    folder = make_set(tmp_path / "set", [question("a", state=state, licence=licence), question("b")])
    ruling = judge_rows(folder, [])
    assert ruling.withheld == ({("livek12", "a"): reason} if reason else {})
    assert ruling.questions == 2
    assert ruling.releases == {"livek12": {"2605": {("livek12", "b")} | (set() if reason else {("livek12", "a")})}}


@pytest.mark.parametrize(
    ("rows", "covered"),
    [
        ("{id: [a, b]}", {"a", "b"}),
        ("{release: '2603'}", {"c"}),
        ("{paper: paper_2605}", {"a", "b"}),
        ("{benchmark: livek12}", {"a", "b", "c"}),
        ("{benchmark: cfe}", set()),
        ("{source: 'https://exams.example/'}", {"a", "b", "c"}),
        ("{source: 'https://other.example/'}", set()),
        ("{release: '2605', id: [a, c]}", {"a"}),
    ],
)
def test_a_permission_covers_the_rows_it_names(rows: str, covered: set[str], tmp_path: Path) -> None:
    unlicensed = [question("a", licence=None), question("b", licence=None), question("c", "2603", licence=None)]
    folder = make_set(tmp_path / "set", [*unlicensed, question("d", state="unreviewed")])
    (tmp_path / "rights.yaml").write_text(f"- permission: by letter\n  by: Board\n  rows: {rows}\n")
    ruling = judge_rows(folder, read_rights(tmp_path / "rights.yaml"))
    assert {id for _, id in ruling.permitted} == covered
    assert {id for _, id in ruling.withheld} == {"a", "b", "c", "d"} - covered
    assert len(ruling.unused) == (0 if covered else 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing", "valid list"),
        ("- [", "YAML"),
        ("- {by: A, rows: {id: a}}", "entry 1: permission: Field required"),
        ("- {permission: p, by: A, rows: {id: a}}\n- {permission: p, by: A, rows: {ids: a}}", "entry 2: rows.ids"),
        ("- {permission: p, by: A, rows: {release: 2605}}", "entry 1: rows.release: .*quotes"),
        ("- {permission: p, by: A, rows: {release: [2605]}}", "entry 1: rows.release: .*quotes"),
        ("- {permission: p, by: A, rows: {}}", "entry 1: rows names no row"),
        ("- {permission: p, by: A, rows: {id: []}}", "entry 1: rows.id"),
        ("- {permission: '', by: A, rows: {id: a}}", "entry 1: permission"),
        ("- {permission: p, by: A, rows: {id: a}, rowz: 1}", "entry 1: rowz"),
        ("- !!python/object/apply:os.system [ls]", "YAML"),
    ],
)
def test_a_wrong_rights_file_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "rights.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=said) as error:
        read_rights(file)
    assert str(file) in str(error.value) and "\n" not in str(error.value)


def test_pages_that_show_something_withheld_stay_back(tmp_path: Path) -> None:
    rows = [
        question("a", page_numbers=[1]),
        question("b", page_numbers=[1, 2], state="unreviewed"),
        question("c", page_numbers=[3]),
        question("d", "2603", page_numbers=[1]),
        question("e", "2512", page_numbers=[]),
        question("f", "2512", page_numbers=[], state="unreviewed"),
    ]
    pages = [*(page(n) for n in (1, 2, 3, 4)), page(1, "2603"), page(2, "2603"), page(1, "2512"), page(1, "2401")]
    ruling = judge_rows(make_set(tmp_path / "set", rows, pages), [])
    new = {("paper_2605", number) for number in (1, 2, 4)}  # 4 shows no known question of a paper that is not all free
    assert ruling.pages == new | {("paper_2512", 1), ("paper_2401", 1)}
    copy_public(tmp_path / "set", tmp_path / "out", ruling, set(), None)
    assert validate(tmp_path / "out") == []
    assert {q.id for q in load_questions(tmp_path / "out", ["default"], "livek12")} == {"a", "c", "d", "e"}
    assert {q.id for q in load_questions(tmp_path / "out", ["image_only"], "livek12")} == {"c", "d"}
    assert set(load_pages(tmp_path / "out")) == {("paper_2605", 3), ("paper_2603", 1), ("paper_2603", 2)}


def test_a_copy_is_sound_and_the_same_each_time(tmp_path: Path) -> None:
    rows = [question("a", licence=None), question("b", state="rejected"), question("c"), question("d", "2603")]
    folder = make_set(tmp_path / "set", rows, [page(1, "2603")])
    (tmp_path / "rights.yaml").write_text("- {permission: by letter, by: Board, rows: {id: a}}\n")
    ruling = judge_rows(folder, read_rights(tmp_path / "rights.yaml"))
    for name in ("one", "two"):
        copy_public(folder, tmp_path / name, ruling, set(), None)
    assert validate(tmp_path / "one") == []
    one, two = ({f.relative_to(tmp_path / n): f.read_bytes() for f in _files(tmp_path / n)} for n in ("one", "two"))
    assert one == two
    found = {q.id: q for q in load_questions(tmp_path / "one", ["default"], "livek12")}
    assert set(found) == {"a", "c", "d"}
    assert found["a"].source.licence == "by permission of Board: by letter"
    assert found["c"] == rows[2]
    untouched = "text_only/en_2603-00000-of-00001.parquet"
    assert (tmp_path / "one" / untouched).read_bytes() == (folder / untouched).read_bytes()


def test_held_answers_are_nowhere_in_the_public_copy(tmp_path: Path) -> None:
    rows = [question("a"), question("b", images=[]), question("old", "2603")]
    folder = make_set(tmp_path / "set", rows, [page(1), page(1, "2603")])
    ruling = judge_rows(folder, [])
    keys = ruling.releases["livek12"]["2605"]
    copy_public(folder, tmp_path / "public", ruling, keys, Withheld("2605", "org/keys"))
    copy_held(folder, tmp_path / "answers", ruling, keys)
    assert validate(tmp_path / "public") == validate(tmp_path / "answers") == []
    assert read_withheld(tmp_path / "public") == Withheld("2605", "org/keys")
    assert "livek12 judge RUN --answers org/keys" in (tmp_path / "public" / "README.md").read_text()
    for config in ("default", "text_only", "image_only"):
        public = {q.id: q for q in load_questions(tmp_path / "public", [config], "livek12")}
        answers = {q.id: q for q in load_questions(tmp_path / "answers", [config], "livek12")}
        whole = {q.id: q for q in load_questions(folder, [config], "livek12")}
        assert public == {"a": without_answers(whole["a"]), "b": without_answers(whole["b"]), "old": whole["old"]}
        assert answers == {"a": whole["a"], "b": whole["b"]}
    bare = without_answers(rows[0])
    assert "secret" not in bare.model_dump_json(exclude={"answer_images", "solution_images"})
    assert (bare.answer_images, bare.solution_images, bare.answer) == ([], [], [])
    assert (bare.part_points, bare.points, bare.question) == ([2.0, 3.0], 5.0, rows[0].question)
    assert [(v.name, v.description, v.type, v.value) for v in bare.variables] == [("x", "the number", "numeric", "")]
    for file in _files(tmp_path / "public"):
        if file.suffix == ".parquet" and "2605" in file.name:
            import pyarrow.parquet as pq

            assert "secret" not in str(pq.read_table(file).to_pylist())
    assert set(load_pages(tmp_path / "answers")) == {("paper_2605", 1)}


@pytest.mark.parametrize(
    "told",
    [
        {"answer": ["2"]},
        {"solution": "count"},
        {"answer_images": [image()]},
        {"solution_images": [image()]},
        {"variables": [Variable(name="x", value="2")]},
        {"reasoning_flow": [FlowStep(step="count", answer="")]},
        {"scheme": [[SchemeCriterion(id="1", points=5, text="counts")]]},
    ],
)
def test_every_way_to_tell_an_answer_is_seen(told: dict[str, Any], tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    bare, other = without_answers(question("a")), without_answers(question("b"))
    folder = make_set(tmp_path / "set", [bare, other.model_copy(update=told)])
    (file,) = folder.glob("text_only/*.parquet")
    assert answered(file) == {("livek12", "b")}
    pq.write_table(pq.read_table(file, partitioning=None), tmp_path / "old.parquet", use_compliant_nested_type=False)
    assert answered(tmp_path / "old.parquet") == {("livek12", "b")}


@pytest.mark.parametrize(
    ("releases", "newest"),
    [
        ({"livek12": ["2603", "2605", "2506"]}, "2605"),
        ({"livek12": ["sample"]}, "sample"),
        ({"livek12": ["2605"], "kmmmu": ["2024"]}, "2605"),
        ({"kmmmu": ["2023", "2024"]}, "2024"),
        ({"livek12": ["2605", "2605b"]}, None),
        ({"livek12": ["spring", "autumn"]}, None),
        ({}, None),
    ],
)
def test_the_newest_release(releases: dict[str, list[str]], newest: str | None) -> None:
    named = {benchmark: dict.fromkeys(names) for benchmark, names in releases.items()}
    if newest is None:
        with pytest.raises(UserError, match=r"newest"):
            newest_release(named)
    else:
        assert newest_release(named) == newest


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


LICENCES = [
    *("MIT", "CC BY-NC 4.0", "public domain", "공공누리 제1유형", "unknown", "", "?", "All rights reserved"),
    *("© 2026 Board. All rights reserved.", "research only, do not redistribute", "版权所有，禁止转载", "proprietary"),
    *("무단 전재 및 재배포 금지", "may not be shared", "for internal use"),
]


def test_what_is_published_is_what_a_site_and_an_export_may_show(tmp_path: Path) -> None:
    """One rule for licences, and one way round it."""
    questions = [question(f"q{number}", licence=licence) for number, licence in enumerate(LICENCES)]
    folder = make_set(tmp_path / "set", questions)
    withheld = {id: reason for (_, id), reason in judge_rows(folder, []).withheld.items()}
    for one in questions:
        assert withheld.get(one.id, "") == ", and no permission named".join((refusal(one), "")) * bool(refusal(one))
        assert rights.refusal(one) == refusal(one)
    assert [LICENCES[int(id[1:])] for id in withheld] == LICENCES[4:]
    (tmp_path / "rights.yaml").write_text("- permission: by letter\n  by: Board\n  rows: {release: '2605'}\n")
    permissions = read_rights(tmp_path / "rights.yaml")
    assert judge_rows(folder, permissions).withheld == {}
    assert {id for _, id in judge_rows(folder, permissions).permitted} == set(withheld)
    assert not any(refusal(one, permissions) for one in questions)
    (note,) = [line for line in kept_back(read_statistics(folder)["all"]) if "forbids" in line]
    assert note.startswith("8 of 15 questions state a licence that forbids")
