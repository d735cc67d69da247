"""Packed questions: written and counted as the questions are, wherever they were packed."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import Image, Question
from livek12.dataset_builders import sample
from livek12.dataset_builders.base import PageKey, UniqueIds
from livek12.dataset_builders.reading.images import ImageLoader, PictureFile
from livek12.dataset_builders.registry import builder_of, split_of, tables
from livek12.dataset_builders.writing import parquet
from livek12.dataset_builders.writing.parquet import Packed, Packer, TableWriters
from livek12.dataset_builders.writing.statistics import Statistics
from tests.dataset_builders.pictures import picture
from tests.dataset_builders.publishing_sets import as_stored

PAGES: set[PageKey] = {(page.paper_id, page.page_number) for page in sample.pages()}


def everything() -> list[Question]:
    """The sample, some of it withdrawn, some as rows whose pictures are files."""
    found = [question for group in sample.PAPERS for question in sample.load(group)]
    return [q.model_copy(update={"removed_in": "2609"}) if n % 9 == 4 else q for n, q in enumerate(found)]


def from_files(questions: Iterable[Question], folder: Path) -> list[Question]:
    """The same questions, with pictures that stand for files."""
    loader = ImageLoader(folder)
    loader.by_name = True

    def stands_for(image: Image) -> Image:
        (folder / f"{image.sha256}.png").write_bytes(image.bytes or b"")
        return loader.load(f"{image.sha256}.png", folder).model_copy(update={"path": image.path})

    return [
        question.model_copy(update={name: list(map(stands_for, getattr(question, name)))})
        for question in questions
        for name in ("images",)
    ]


def packed(questions: list[Question], size: int) -> Iterable[list[Packed]]:
    """Packs as other processes send them."""
    packer = Packer(tables, PAGES)
    for first in range(0, len(questions), size):
        yield pickle.loads(pickle.dumps(packer(questions[first : first + size])))


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*.parquet")}


@pytest.mark.parametrize(("size", "group"), [(1, 7), (10, 1_000), (100, 5)])
def test_packed_questions_are_the_same_files_and_figures(
    size: int, group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "GROUP_ROWS", group)
    monkeypatch.setattr(parquet, "BUFFER_BYTES", 300_000)
    questions, counted = everything(), Statistics()
    (tmp_path / "one").mkdir()
    with TableWriters(tmp_path / "one") as writers:
        for question in questions:
            held = list(builder_of(question.benchmark).layout.tables(question, PAGES))
            counted.add(question, held, split_of(question))
            for table in held:
                writers.write(table, split_of(question), as_stored(table, question))
    for name, asked in (("bytes", questions), ("files", from_files(questions, tmp_path))):
        statistics, out = Statistics(), tmp_path / name
        out.mkdir()
        with TableWriters(out) as writers:
            for packs in packed(asked, size):
                writers.take(packs)
                for one in packs:
                    statistics.take(one.counted, one.tables, one.split)
        assert files(out) == files(tmp_path / "one")
        assert len(files(out)) > 5
        configs = {table: (table,) for table in writers.counts}
        assert statistics.summary("x", configs) == counted.summary("x", configs)


def test_another_id_is_the_one_that_is_written_and_counted(tmp_path: Path) -> None:
    questions = [q.model_copy(update={"removed_in": "2609"}) for q in everything()[:3]]
    (packs,) = packed(questions, 3)
    for one in packs:
        one.rename(0, f"renamed-{one.places[0]}")
    statistics = Statistics()
    with TableWriters(tmp_path) as writers:
        writers.take(packs)
        for one in packs:
            statistics.take(one.counted, one.tables, one.split)
    expected = {id for one in packs for id in one.ids}
    found = {
        id
        for file in tmp_path.rglob("*.parquet")
        for id in pq.read_table(file, columns=["id"], partitioning=None)["id"].to_pylist()
    }
    assert found == expected
    assert {id for entry in statistics.summary("x", {})["releases"] for id in entry["withdrawn"]} == expected
    assert any(id.startswith("renamed-") for id in expected)


def test_a_picture_that_changes_before_it_is_written_ends_the_build(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(picture())
    place = memoryview(bytearray(len(picture())))
    held = PictureFile(str(file), len(picture()))
    held.read_into(place)
    assert bytes(place) == picture()
    for content in (b"", picture() + b"x", picture()[:-1]):
        file.write_bytes(content)
        with pytest.raises(UserError, match=r"a\.png: changed while it was read; start again"):
            held.read_into(place)
    file.unlink()
    with pytest.raises(UserError, match=r"a\.png: cannot be read: No such file"):
        held.read_into(place)


@given(st.lists(st.sampled_from(["a", "b", "a-2", "a-3", "b-2", "a-2-2", "", "\udc80"]), max_size=60))
@settings(max_examples=60)
def test_ids_are_made_unique_as_by_remembering_all(asked: list[str]) -> None:
    ids, taken = UniqueIds(), set[str]()
    for id in asked:
        name, copy = id, 1
        while name in taken:
            copy += 1
            name = f"{id}-{copy}"
        taken.add(name)
        assert ids.claim(id) == name


def test_many_ids_take_few_bytes_each() -> None:
    ids = UniqueIds()
    assert all(ids.claim(f"zh_2603_{number:06d}") == f"zh_2603_{number:06d}" for number in range(20_000))
    assert ids.claim("zh_2603_019999") == "zh_2603_019999-2"
    assert ids._table.itemsize * len(ids._table) <= 24 * 20_000
