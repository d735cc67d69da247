"""Data sets as they are built: configs, splits, files, `datasets`, replacement, failure."""

from __future__ import annotations

import hashlib
import json
import re
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from livek12.core.errors import UserError
from livek12.core.questions import load_pages, load_questions, read_card
from livek12.core.records import Page, Question
from livek12.dataset_builders import build, building, sample, validate
from livek12.dataset_builders.base import Records
from livek12.dataset_builders.registry import builder_of, builders
from livek12.dataset_builders.writing import croissant
from livek12.dataset_builders.writing.parquet import GROUP_ROWS
from tests.dataset_builders.pictures import picture


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("something reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def tree(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def source(folder: Path, rows: int = 3, text: str = "Find x.") -> Path:
    folder.mkdir(exist_ok=True)
    listed = [{"id": f"en_2603_math_{n:04d}", "question": f"{text} {n}", "answer": ["1"]} for n in range(rows)]
    (folder / "rows.json").write_text(json.dumps(listed))
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("no_network")
def test_every_config_loads_with_datasets(built: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    configs = read_card(built)
    assert next(iter(configs)) == "default"
    for config, splits in configs.items():
        loaded = load_dataset(str(built), config, cache_dir=str(tmp_path))
        streamed = load_dataset(str(built), config, streaming=True, cache_dir=str(tmp_path))
        assert list(loaded) == list(streamed) == list(splits)
        for split in splits:
            rows, stream = list(loaded[split]), list(streamed[split])
            assert [row.get("id") for row in rows] == [row.get("id") for row in stream]
            assert rows
            for row in (*rows, *stream):
                for image in [*row.get("images", []), *([row["image"]] if config == "pages" else [])]:
                    image.load()
    alone = load_dataset(str(built), cache_dir=str(tmp_path))
    assert {split: rows.num_rows for split, rows in alone.items()} == {"zh_sample": 21, "en_sample": 21}


def test_what_each_config_holds(built: Path) -> None:
    everything = {question.id: question for group in sample.PAPERS for question in sample.load(group)}
    for benchmark in builders():
        mine = [question for question in everything.values() if question.benchmark == benchmark]
        first = next(iter(builder_of(benchmark).layout.configs))
        prefix = "" if benchmark == "livek12" else f"{benchmark}_"
        if benchmark != "cfe":
            assert as_set(load_questions(built, [prefix + first], benchmark)) == as_set(mine)
    both = [*load_questions(built, ["cfe_text"], "cfe"), *load_questions(built, ["cfe_multimodal"], "cfe")]
    assert as_set(both) == as_set([q for q in everything.values() if q.benchmark == "cfe"])
    assert not any(q.images for q in load_questions(built, ["text_only"], "livek12"))
    assert all(q.images for q in load_questions(built, ["text_image"], "livek12"))
    assert all("complex_layout" in q.subsets for q in load_questions(built, ["complex_layout"], "livek12"))
    assert all(q.flags.is_korean_specific for q in load_questions(built, ["kmmmu_korean_specific"], "kmmmu"))
    assert {q.difficulty for q in load_questions(built, ["mdk12_easy"], "mdk12")} == {"easy"}


def as_set(questions: list[Question]) -> set[str]:
    return {question.model_dump_json() for question in questions}


def test_image_only_rows_join_pages_and_carry_no_figures(built: Path) -> None:
    pages = load_pages(built)
    questions = load_questions(built, ["image_only"], "livek12")
    originals = {q.id: q for group in ("livek12_zh", "livek12_en") for q in sample.load(group)}
    assert {question.id for question in questions} == set(originals)
    for question in questions:
        assert question == originals[question.id].model_copy(update={"images": []})
        assert question.page_numbers
        assert all((question.paper_id, number) in pages for number in question.page_numbers)
    assert {page.image.sha256 for page in sample.pages()} == {image.sha256 for image in pages.values()}
    stored = [file for file in built.rglob("*.parquet") if _bytes_of(file, "images")]
    assert not [file for file in stored if file.parent.name in ("image_only", "text_only")]


def _bytes_of(file: Path, column: str) -> int:
    parquet = pq.ParquetFile(file)
    if column not in parquet.schema_arrow.names:
        return 0
    rows = parquet.read([column]).to_pylist()
    return sum(len(image["bytes"]) for row in rows for image in row[column])


def test_same_source_same_bytes(built: Path, tmp_path: Path) -> None:
    build("sample", "", tmp_path / "again")
    assert tree(tmp_path / "again") == tree(built)


def test_order_of_the_source_is_kept_in_every_table(built: Path) -> None:
    asked = sample.load("livek12_zh")
    for config, wanted in {
        "text_only": [q.id for q in asked if not q.images],
        "text_image": [q.id for q in asked if q.images],
        "image_only": [q.id for q in asked],
        "default": [q.id for q in sorted(asked, key=lambda q: bool(q.images))],
    }.items():
        assert [q.id for q in load_questions(built, [config], "livek12", "zh")] == wanted


def test_no_question_is_stored_twice_but_for_subsets_and_pages(built: Path) -> None:
    stored = Counter(
        (file.parent.name, id)
        for file in built.rglob("*.parquet")
        if file.parent.name in ("text_only", "text_image")
        for id in pq.read_table(file, columns=["id"], partitioning=None)["id"].to_pylist()
    )
    assert sum(stored.values()) == 42
    assert len({id for _, id in stored}) == 42
    assert not (built / "default").exists()


def test_release_of_cfe_end_to_end(shared_data: Path, tmp_path: Path) -> None:
    report = build("cfe", str(shared_data / "cfe_bench"), tmp_path / "cfe")
    assert report.configs == {"text": {"test": 305}, "multimodal": {"test": 144}}
    assert (report.rows_read, report.written, report.skipped) == (449, 449, [])
    assert validate(tmp_path / "cfe") == []
    questions = load_questions(tmp_path / "cfe", ["cfe_multimodal", "multimodal"], "cfe")
    assert sum(len(question.images) for question in questions) == 178
    front = yaml.safe_load((tmp_path / "cfe" / "README.md").read_text().split("---")[1])
    assert (front["license"], front["license_name"]) == ("other", "cc-by-nc-sa-4.0-and-not-stated")
    assert any(note.startswith("221 of 449 questions state no licence: ") for note in report.notes)
    assert [c["config_name"] for c in front["configs"] if c.get("default")] == ["text"]


@pytest.mark.slow
@pytest.mark.usefixtures("no_network")
def test_real_exams_of_three_benchmarks_in_one(shared_data: Path, tmp_path: Path) -> None:
    from datasets import load_dataset

    folders = {"livek12": "gaokao_mm", "kmmmu": "click_korean", "cfe": "cfe_bench"}
    given = [f"{benchmark}={shared_data / folder}" for benchmark, folder in folders.items()]
    report = build("all", given, tmp_path / "all")
    assert (report.written, report.skipped) == (342 + 1_995 + 449, [])
    assert "mdk12: left out, no --source has it" in report.notes
    assert sum(report.configs["default"].values()) == 342
    assert report.configs["kmmmu_default"] == {"test": 1_995}
    configs = read_card(tmp_path / "all")
    assert {config: sorted(splits) for config, splits in configs.items()} == {
        config: sorted(splits) for config, splits in report.configs.items()
    }
    for config, splits in report.configs.items():
        loaded = load_dataset(str(tmp_path / "all"), config, cache_dir=str(tmp_path / "cache"))
        assert {split: rows.num_rows for split, rows in loaded.items()} == splits
        for rows in load_dataset(str(tmp_path / "all"), config, streaming=True).values():
            first = next(iter(rows))
            assert first["id"]
            assert all(image.load() for image in first["images"])


def test_size_of_pages_stored_once_is_stated(tmp_path: Path) -> None:
    report = build("sample", "", tmp_path / "out")
    stored = sum(len(page.image.bytes or b"") for page in sample.pages())
    each = {(page.paper_id, page.page_number): len(page.image.bytes or b"") for page in sample.pages()}
    asked = [q for group in ("livek12_zh", "livek12_en") for q in sample.load(group)]
    unshared = sum(each[str(q.paper_id), number] for q in asked for number in q.page_numbers)
    (line,) = [line for line in report.lines() if line.startswith("pages: ")]
    assert line.startswith(
        f"pages: stored once {stored / 2**20:.1f} MiB, with each of their questions {unshared / 2**20:.1f} MiB"
        f" ({unshared / stored:.1f} times); the data set has {report.bytes / 2**20:.1f} MiB"
    )


def test_pages_of_one_language_only(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "zh_1_1.png").write_bytes(picture())
    rows = [
        {"id": "zh_2603_math_1", "question": "求", "paper_id": "zh_1", "page_numbers": [1], "number": 1},
        {"id": "zh_2603_math_2", "question": "求", "paper_id": "zh_1", "page_numbers": [1, 2], "number": 2},
        {"id": "en_2603_math_1", "question": "Find"},
    ]
    (folder / "rows.json").write_text(json.dumps(rows))
    report = build("livek12", str(folder), tmp_path / "out")
    assert report.configs["image_only"] == {"zh_2603": 1}
    assert report.configs["pages"] == {"zh_2603": 1}
    notes = "\n".join(report.notes)
    assert "zh_2603 (zh_2603_math_2): no image of page zh_1 2: not in image_only" in notes
    assert "image_only en_2603: 1 questions cannot be asked from page images" in notes
    assert "config complex_layout: left out, no question belongs to it" in report.notes
    assert validate(tmp_path / "out") == []


@pytest.mark.parametrize("number", ["ABSENT", None, "", " "])
def test_a_question_without_a_number_is_not_asked_from_its_page(tmp_path: Path, number: str | None) -> None:
    folder = tmp_path / "source"
    (folder / "pages").mkdir(parents=True)
    (folder / "pages" / "zh_1_1.png").write_bytes(picture())
    place = {"question": "求", "question_type": "解答题", "paper_id": "zh_1", "page_numbers": [1]}
    numberless = {} if number == "ABSENT" else {"number": number}
    rows = [{"id": "zh_2603_1", **place, "number": 1}, {"id": "zh_2603_2", **place, **numberless}]
    (folder / "rows.json").write_text(json.dumps(rows))
    report = build("livek12", str(folder), tmp_path / "out")
    assert [q.id for q in load_questions(tmp_path / "out", ["image_only"], "livek12")] == ["zh_2603_1"]
    assert report.configs["default"] == {"zh_2603": 2}
    said = [note for note in report.notes if "zh_2603_2" in note]
    assert said == ["zh_2603 (zh_2603_2): no number to find it by on its page: not in image_only"]
    assert validate(tmp_path / "out") == []

    (folder / "rows.json").write_text(json.dumps(rows[1:]))
    report = build("livek12", str(folder), tmp_path / "out")
    assert "image_only" not in report.configs
    assert "config image_only: left out, no question belongs to it" in report.notes


def test_no_pages_at_all_leaves_the_config_out(tmp_path: Path) -> None:
    report = build("livek12", str(source(tmp_path / "source")), tmp_path / "out")
    assert "image_only" not in report.configs
    assert "config image_only: left out, the source has no page images" in report.notes
    with pytest.raises(UserError, match=r"no livek12 config image_only; it has: default, text_only"):
        load_questions(tmp_path / "out", ["image_only"], "livek12")


def test_report_counts_every_row(tmp_path: Path) -> None:
    folder = source(tmp_path / "source")
    (folder / "more.jsonl").write_text('{"id": "x", "question": null}\n{bad\n{"id": "y", "question": "ok"}\n')
    report = build("livek12", str(folder), tmp_path / "out")
    assert (report.rows_read, report.written, len(report.skipped)) == (6, 4, 2)
    assert report.lines()[-1].startswith("livek12: 6 rows read, 4 questions with 0 images written, 2 left out")
    assert report.lines()[:2] == report.skipped


def test_row_groups_and_shards_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livek12.dataset_builders.writing.parquet.SHARD_BYTES", 200_000)
    rows = 2 * GROUP_ROWS + 10
    build("livek12", str(source(tmp_path / "source", rows)), tmp_path / "out")
    files = sorted((tmp_path / "out" / "text_only").iterdir())
    assert [file.name for file in files] == [f"en_2603-{n:05d}-of-{len(files):05d}.parquet" for n in range(len(files))]
    assert len(files) == 3
    groups = [
        pq.ParquetFile(file).metadata.row_group(n).num_rows
        for file in files
        for n in range(pq.ParquetFile(file).metadata.num_row_groups)
    ]
    assert groups == [GROUP_ROWS, GROUP_ROWS, 10]
    ids = [question.id for question in load_questions(tmp_path / "out", ["default"], "livek12")]
    assert ids == [f"en_2603_math_{n:04d}" for n in range(rows)]


def test_a_build_replaces_an_earlier_one(tmp_path: Path) -> None:
    folder, out = source(tmp_path / "source"), tmp_path / "out"
    build("livek12", str(folder), out)
    assert not any("replaces" in note for note in build("livek12", str(source(folder, 4, "Find y.")), out).notes)
    assert [question.question for question in load_questions(out, ["default"], "livek12")][3] == "Find y. 3"
    notes = build("livek12", str(source(folder, 2)), out / ".." / "out").notes
    assert f"replaces 2 questions that are not in {folder}, such as en_2603_math_0002" in notes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source"]


@pytest.mark.parametrize("benchmark", ["sample", "livek12"])
def test_a_set_of_another_source_is_safe(tmp_path: Path, benchmark: str) -> None:
    folder, out = source(tmp_path / "source"), tmp_path / "out"
    build("livek12", str(folder), out)
    before = tree(out)
    (folder / "rows.json").write_text(json.dumps([{"id": "en_2605_other", "question": "Why?", "answer": ["1"]}]))
    said = {"sample": "a data set of livek12, not of sample", "livek12": "a set made of another source"}[benchmark]
    with pytest.raises(UserError, match=rf"out holds {said}.*: give another --out, or remove it$"):
        build(benchmark, "" if benchmark == "sample" else str(folder), out)
    assert tree(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source"]


def test_a_damaged_set_is_built_again(tmp_path: Path) -> None:
    folder, out = source(tmp_path / "source"), tmp_path / "out"
    build("livek12", str(folder), out)
    before = tree(out)
    (out / "text_only" / "en_2603-00000-of-00001.parquet").write_bytes(b"cut")
    (out / "statistics.json").write_text("{")
    build("livek12", str(folder), out)
    assert tree(out) == before


@pytest.mark.parametrize("during", [False, True])
def test_data_sets_inside_a_data_set_are_safe(tmp_path: Path, during: bool) -> None:
    folder, out = source(tmp_path / "source"), tmp_path / "data"
    build("livek12", str(folder), out)

    def nest() -> None:
        build("sample", "", out / "own")
        build("livek12", str(folder), out / "mine")

    if not during:
        nest()
    before = tree(out)
    with pytest.raises(UserError, match=r"holds another data set \(mine\): move it, or give another --out$"):
        build("livek12", str(folder), out, step=nest if during else lambda: None)
    assert tree(out).items() >= before.items()
    assert sorted(path.name for path in out.iterdir() if path.is_dir()) == ["mine", "own", "text_only"]


@pytest.mark.parametrize("name", ["text_only/mine.parquet", "mine/README.txt", "tables/test-00000-of-00001.parquet"])
def test_tables_that_the_set_did_not_write_are_safe(tmp_path: Path, name: str) -> None:
    folder, out = source(tmp_path / "source"), tmp_path / "out"
    build("livek12", str(folder), out)
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("mine")
    with pytest.raises(UserError, match=rf"holds other files \({name}\)"):
        build("livek12", str(folder), out)
    assert (out / name).read_text() == "mine"


@pytest.mark.parametrize("name", ["notes.txt", "README.md", "x.parquet"])
def test_a_build_replaces_nothing_else(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine")
    with pytest.raises(UserError, match="give --out another folder"):
        build("sample", "", out)
    assert (out / name).read_text() == "mine"


def test_a_file_added_to_a_data_set_is_safe(tmp_path: Path) -> None:
    build("sample", "", tmp_path / "out")
    (tmp_path / "out" / "text_only" / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"holds other files \(text_only/notes\.txt\)"):
        build("sample", "", tmp_path / "out")


def test_a_build_that_fails_leaves_the_earlier_one(tmp_path: Path) -> None:
    out = tmp_path / "out"
    build("livek12", str(source(tmp_path / "source")), out)
    before = tree(out)
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "question": null}\n')
    with pytest.raises(UserError, match=r"no question could be read \(1 rows left out; the first: bad\.jsonl:1 \(a\)"):
        build("livek12", str(tmp_path / "bad.jsonl"), out)
    assert tree(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "out", "source"]


def test_full_disk(small_disk: Path, tmp_path: Path) -> None:
    folder = source(tmp_path / "source", 400)
    rows = json.loads((folder / "rows.json").read_text())
    for n, row in enumerate(rows):
        row["solution"] = hashlib.sha512(str(n).encode()).hexdigest() * 20 + str(n)
        (folder / f"{n}.png").write_bytes(picture(n, size=(60, 60)))
        row["images"] = [f"{n}.png"]
    (folder / "rows.json").write_text(json.dumps(rows))
    with pytest.raises(UserError, match=r"cannot write .*No space left on device.*nothing was changed") as caught:
        build("livek12", str(folder), small_disk / "out")
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in small_disk.iterdir()) == ["ballast"]
    (small_disk / "ballast").unlink()


@pytest.mark.parametrize(
    ("benchmark", "where", "said"),
    [
        (
            "livek13",
            "x",
            r"unknown benchmark .livek13.: there is a builder for livek12, .*mdk12, sample, all",
        ),
        ("livek12", "", "needs --source"),
        ("livek12", "nowhere", "no such file or folder"),
        ("cfe", "hub", "cannot fetch analogyai/CFE_Benchmark from the Hub"),
    ],
)
def test_wrong_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str, where: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(UserError, match=said) as caught:
        build(benchmark, where, tmp_path / "out")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")
    with pytest.raises(UserError, match="is a file"):
        build("sample", "", tmp_path / "out")


def test_a_hostile_text_cannot_break_the_card(tmp_path: Path) -> None:
    folder = source(tmp_path / "source")
    rows = json.loads((folder / "rows.json").read_text())
    rows[0] |= {"subject": "a | b\n---\nconfigs: [x]\n<script>alert(1)</script>", "set": "../../x"}
    (folder / "rows.json").write_text(json.dumps(rows))
    build("livek12", str(folder), tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert list(read_card(tmp_path / "out")) == ["default", "text_only"]
    assert "<script>" not in card
    assert validate(tmp_path / "out") == []


def test_snippets_of_the_card_run(built: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path)
    card = (built / "README.md").read_text()
    snippets = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    assert '"ORG/NAME"' in snippets[0]
    names: dict[str, Any] = {}
    for snippet in snippets:
        exec(compile(snippet.replace('"ORG/NAME"', repr(str(built))), "card", "exec"), names)


@pytest.mark.parametrize("benchmark", list(builders()))
def test_every_benchmark_has_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str) -> None:
    def read(*_: object) -> Records:
        yield from sample.pages()
        yield from (q for group in sample.PAPERS for q in sample.load(group) if q.benchmark == benchmark)

    monkeypatch.setattr(building, "read_source", read)
    report = build(benchmark, "here", tmp_path / "out")
    assert validate(tmp_path / "out") == []
    card = (tmp_path / "out" / "README.md").read_text()
    assert yaml.safe_load(card.split("---")[1])["size_categories"] == ["n<1K"]
    for config, splits in report.configs.items():
        assert f"`{config}`" in card
        assert set(read_card(tmp_path / "out")[config]) == set(splits)


@pytest.mark.parametrize("record", [Question, Page])
def test_the_card_explains_every_column(record: type[Question | Page]) -> None:
    assert list(croissant.meanings(record)) == list(record.model_fields)
