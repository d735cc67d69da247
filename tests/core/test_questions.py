"""Reading a data set back: which config, which rows, which pages, and what they hash to."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.questions import (
    fingerprint,
    iter_facts,
    iter_questions,
    join_pages,
    load_pages,
    load_questions,
    paper_order,
    with_answers,
)
from livek12.core.records import Image, Question
from livek12.dataset_builders import build, sample


@pytest.fixture
def built(built_sample: Path) -> Path:
    """The sample exam as a data set."""
    return built_sample


def test_people_read_questions_by_paper_and_number() -> None:
    read = [
        ("p2", "1"), ("p2", "2"), ("p2", "10"), ("p2", "10(1)"), ("p2", "10(2)"), ("p2", "10(11)"), ("p2", "A1"),
        ("p2", None), ("p10", "3"), ("p10", "9" * 40), ("p10", "一"), (None, "1"), (None, "2"), (None, None),
    ]  # fmt: skip
    asked = [
        Question(
            id=f"{paper}-{number}",
            benchmark="livek12",
            language="en",
            subject="math",
            question_type="proof",
            question="?",
            paper_id=paper,
            number=number,
        )
        for paper, number in read
    ]
    for seed in range(20):
        mixed = random.Random(seed).sample(asked, len(asked))
        assert sorted(mixed, key=paper_order) == asked


def by_id(questions: list[Question]) -> list[Question]:
    return sorted(questions, key=lambda question: question.id)


def test_rows_come_back_as_they_were(built: Path) -> None:
    expected = [*sample.load("livek12_en"), *sample.load("livek12_zh")]
    found = load_questions(str(built), ("default",), "livek12")
    assert sorted(found, key=lambda q: q.id) == sorted(expected, key=lambda q: q.id)
    assert [q.id for q in iter_questions(built, ("default",), "livek12")] == [q.id for q in found]


def test_language(built: Path) -> None:
    assert by_id(load_questions(built, ("default",), "livek12", "zh")) == by_id(sample.load("livek12_zh"))
    assert load_questions(built, ("default",), "livek12", "ko") == []


def test_first_config_of_the_right_benchmark(built: Path) -> None:
    assert load_questions(built, ("nowhere", "kmmmu_default", "default"), "kmmmu") == sample.load("kmmmu")
    # `default` is there but holds another benchmark
    assert load_questions(built, ("default", "kmmmu_default"), "kmmmu") == sample.load("kmmmu")


@pytest.mark.parametrize(("configs", "benchmark"), [(("nowhere",), "cfe"), (("default", "text"), "cfe")])
def test_no_such_config(built: Path, configs: tuple[str, ...], benchmark: str) -> None:
    with pytest.raises(UserError) as caught:
        load_questions(built, configs, "cfe")
    message = str(caught.value)
    assert f"has no {benchmark} config {' or '.join(configs)}; it has: default, text_only" in message
    assert "\n" not in message


def test_pages(built: Path) -> None:
    expected = {(page.paper_id, page.page_number): page.image for page in sample.pages()}
    assert load_pages(built) == expected
    some = [("sample_zh", 2), ("sample_zh", 99)]
    assert load_pages(built, some) == {("sample_zh", 2): expected["sample_zh", 2]}


def test_a_data_set_without_pages(shared_data: Path, tmp_path: Path) -> None:
    build("cfe", str(shared_data / "cfe_bench"), tmp_path / "cfe")
    assert load_pages(tmp_path / "cfe") == {}


@pytest.mark.parametrize("name", ["missing", "a/b/c", "../x", "/missing/x"])
def test_no_such_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        load_questions(name, ("default",), "livek12")


def test_neither_a_folder_nor_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="org/none: no such folder, and it cannot be fetched from the Hub") as caught:
        load_questions("org/none", ("default",), "livek12")
    assert "\n" not in str(caught.value)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    build("sample", "", tmp_path / "data")
    (file,) = (tmp_path / "data" / "cfe_text").iterdir()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(UserError, match=rf"{file.name}: damaged or not Parquet"):
        load_questions(tmp_path / "data", ("cfe_text",), "cfe")
    file.unlink()
    with pytest.raises(UserError, match=r"no file matches cfe_text/test-.*, which its card names"):
        load_questions(tmp_path / "data", ("cfe_text",), "cfe")


def test_fingerprint_is_of_the_content() -> None:
    questions = sample.load("livek12_zh")
    same = fingerprint(questions)
    assert fingerprint(reversed(questions)) == same
    assert fingerprint(questions[1:]) != same
    pictured = next(n for n, question in enumerate(questions) if question.images)
    question = questions[pictured]

    def with_change(**changes: object) -> str:
        return fingerprint([*questions[:pictured], question.model_copy(update=changes), *questions[pictured + 1 :]])

    renamed = [image.model_copy(update={"path": "other.png"}) for image in question.images]
    assert with_change(images=renamed) == same
    assert with_change(images=[Image(bytes=b"other"), *question.images[1:]]) != same
    assert with_change(answer=["other"]) != same
    assert with_change(points=99.0) != same
    page = sample.pages()[0].image
    assert fingerprint(questions, [page]) not in (same, fingerprint(questions, [Image(bytes=b"x")]))


def test_releases(built: Path) -> None:
    assert load_questions(built, ("default",), "livek12", releases=["2603"]) == []
    assert len(load_questions(built, ("default",), "livek12", "en", ["2603", "sample"])) == 21


def test_pages_are_joined_in_page_order(built: Path, tmp_path: Path) -> None:
    from datasets import Image as Picture
    from datasets import load_dataset

    expected = {(page.paper_id, page.page_number): page.image.sha256 for page in sample.pages()}
    records = load_questions(built, ("image_only",), "livek12")
    turned = [question.model_copy(update={"page_numbers": question.page_numbers[::-1]}) for question in records]
    for given in (load_pages(built), sample.pages()):
        for question, images in join_pages(turned, given):
            numbers = sorted(question.page_numbers)
            assert [image.sha256 for image in images] == [expected[question.paper_id or "", n] for n in numbers]
    assert any(len(question.page_numbers) > 1 for question in records)

    rows = load_dataset(str(built), "image_only", split="zh_sample", cache_dir=str(tmp_path))
    pages = load_dataset(str(built), "pages", cache_dir=str(tmp_path))
    raw = {split: part.cast_column("image", Picture(decode=False)) for split, part in pages.items()}
    for given in (raw, raw["zh_sample"]):
        joined = list(join_pages(rows, given))
        assert [row["id"] for row, _ in joined] == rows["id"]
        for row, images in joined:
            found = [Image(bytes=image["bytes"]).sha256 for image in images]
            assert found == [expected[row["paper_id"], number] for number in row["page_numbers"]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"page_numbers": [1, 99]}, "page 99 of paper sample_zh is missing"),
        ({"page_numbers": []}, "names no paper or pages"),
        ({"paper_id": None}, "names no paper or pages"),
    ],
)
def test_pages_that_are_not_there(change: dict[str, object], said: str) -> None:
    (question, *_) = sample.load("livek12_zh")
    with pytest.raises(UserError, match=rf"question {question.id}.*{said}"):
        list(join_pages([question.model_copy(update=change)], sample.pages()))


def test_held_answers_are_filled_in() -> None:
    questions = [*sample.load("livek12_en"), *sample.load("cfe")]
    bare = {"answer": [], "solution": None, "reasoning_flow": [], "answer_images": [], "solution_images": []}
    asked = [
        question.model_copy(
            update={**bare, "variables": [v.model_copy(update={"value": ""}) for v in question.variables]}
        )
        for question in questions
    ]
    assert with_answers(asked, questions) == questions
    assert with_answers(asked, questions[:3]) == [*questions[:3], *asked[3:]]
    own = [questions[0].model_copy(update={"answer": ["mine"]}), *asked[1:]]
    assert with_answers(own, questions)[0].answer == ["mine"]
    other = [question.model_copy(update={"question": "Another question"}) for question in questions]
    with pytest.raises(UserError, match=f"{questions[0].id}: the held answer is of another text"):
        with_answers(asked, other)


def test_from_the_hub_by_revision_and_only_what_is_asked(tmp_path: Path) -> None:
    """The revision of a name is one commit, and only the files of the wanted configs are fetched."""
    from tests.hub import Hub
    from tests.hub_client import Client

    with Hub(tmp_path / "hub") as hub, Client(hub, tmp_path / "home") as client:
        build("sample", "", tmp_path / "old")
        upload = (
            "from huggingface_hub import HfApi\n"
            "api = HfApi()\n"
            "api.create_repo('org/exam', repo_type='dataset', exist_ok=True)\n"
            f"api.upload_folder(repo_id='org/exam', repo_type='dataset', folder_path={str(tmp_path / 'old')!r})\n"
            "api.create_tag('org/exam', tag='first', repo_type='dataset')\n"
            "result = None"
        )
        client.python(upload)
        read = "from livek12.core.questions import load_questions\n"
        ids = "result = sorted(q.id for q in load_questions('org/exam{}', ['{}'], '{}'))"
        expected = sorted(question.id for question in sample.load("kmmmu"))
        assert client.python(read + ids.format("", "kmmmu_default", "kmmmu")) == expected
        fetched = {path.name for path in (tmp_path / "home").rglob("snapshots/*/*")}
        assert fetched == {"README.md", "kmmmu_default"}
        emptied = (
            "from huggingface_hub import HfApi\n"
            "HfApi().delete_folder('cfe_text', 'org/exam', repo_type='dataset')\nresult = None"
        )
        client.python(emptied)
        assert len(client.python(read + ids.format("@first", "cfe_text", "cfe"))) == 4
        ended = client.livek12("build", "sample", "--base", "org/exam@first", "--out", tmp_path / "again")
        assert ended.code == 0, ended.err
        assert "livek12 zh sample: already in org/exam@first, the same 21 questions" in ended.out
    names = [file.relative_to(tmp_path / "old") for file in (tmp_path / "old").rglob("*.parquet")]
    assert all((tmp_path / "again" / name).read_bytes() == (tmp_path / "old" / name).read_bytes() for name in names)


def test_only_what_is_wanted_is_read(built: Path, tmp_path: Path) -> None:
    """By its facts, across row groups and batches; a row that is not wanted need not even be a question."""
    import pyarrow.parquet as pq

    table = pq.read_table(next(built.glob("text_only/en_sample-*.parquet")))
    rows = [{**row, "id": f"{row['id']}-{n}"} for n in range(12) for row in table.to_pylist()]
    rows[50]["question_type"] = "riddle"
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "README.md").write_text("---\nconfigs:\n- config_name: c\n  data_files: rows.parquet\n---\n")
    made = type(table).from_pylist(rows, schema=table.schema)
    pq.write_table(made, folder / "rows.parquet", row_group_size=45)  # a group and a half of batches

    def kept(*unwanted: str) -> list[str]:
        found = load_questions(folder, ["c"], "livek12", wanted=lambda facts: facts.question_type not in unwanted)
        return [question.id for question in found]

    assert kept("riddle") == [row["id"] for row in rows if row["question_type"] != "riddle"]
    assert kept("riddle", "single_choice") == [
        row["id"] for row in rows if row["question_type"] not in ("riddle", "single_choice")
    ]
    assert kept(*{row["question_type"] for row in rows}) == []
    with pytest.raises(UserError, match=r"rows.parquet: row 51 \(.*-\d+\): question_type"):
        kept("single_choice")


def test_facts_are_those_of_the_questions(built: Path) -> None:
    for config, benchmark in (("default", "livek12"), ("image_only", "livek12"), ("kmmmu_default", "kmmmu")):
        found = list(iter_facts(built, [config], benchmark))
        questions = load_questions(built, [config], benchmark)
        assert len(found) == len(questions) > 5
        for facts, question in zip(found, questions, strict=True):
            for name in ("benchmark", "language", "release", "subject", "question_type", "difficulty", "removed_in"):
                assert getattr(facts, name) == getattr(question, name)
            assert list(facts.subsets) == question.subsets
            assert len(facts.images) == len(question.images)
            assert len(facts.knowledge_points) == len(question.knowledge_points)
