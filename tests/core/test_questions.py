"""Reading a data set back: which config, which rows, which pages, and what they hash to."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.questions import fingerprint, iter_questions, load_pages, load_questions
from livek12.core.records import Image
from livek12.dataset_builders import build, sample


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample exam as a data set."""
    folder = tmp_path_factory.mktemp("sample") / "data"
    build("sample", "", folder)
    return folder


def test_rows_come_back_as_they_were(built: Path) -> None:
    expected = [*sample.load("livek12_en"), *sample.load("livek12_zh")]
    found = load_questions(str(built), ("default",), "livek12")
    assert sorted(found, key=lambda q: q.id) == sorted(expected, key=lambda q: q.id)
    assert [q.id for q in iter_questions(built, ("default",), "livek12")] == [q.id for q in found]


def test_language(built: Path) -> None:
    assert load_questions(built, ("default",), "livek12", "zh") == sample.load("livek12_zh")
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
    with pytest.raises(UserError, match="org/none: no such folder, and not to be had from the Hub") as caught:
        load_questions("org/none", ("default",), "livek12")
    assert "\n" not in str(caught.value)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    build("sample", "", tmp_path / "data")
    (file,) = (tmp_path / "data" / "cfe_text").iterdir()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(UserError, match=rf"{file.name}: damaged or not Parquet"):
        load_questions(tmp_path / "data", ("cfe_text",), "cfe")
    file.unlink()
    with pytest.raises(UserError, match="no file of config cfe_text, split test"):
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
