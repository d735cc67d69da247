"""VLMEvalKit's launcher, data set class and tables.

Where the kit is installed (an environment of its own: `pip install "livek12[vlmevalkit]" pytest`), the class stands on
the kit's own base class and the launcher runs its `run.py`. Elsewhere the class is tested on `KIT`: our own few lines
with what the kit's documentation says of a data set class, and no claim beyond that.
"""

from __future__ import annotations

import base64
import csv
import importlib.util
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from livek12.core.errors import UserError
from livek12.evaluation import logs
from livek12.tasks.plugins import vlmevalkit
from livek12.tasks.plugins.harness_task import DATA_VARIABLE, HarnessTask, harness_name, open_task
from livek12.tasks.registry import get_task
from tests.endpoint import oracle_at
from tests.plugins.conftest import Row, parity_rows, planted_answers, rgb_sha256, write_rows
from tests.scripts.command import livek12_here

rows = partial(logs.joined, "vlmevalkit")
FIRST = 25
TASK = "livek12_text_only"
LAUNCHER = vlmevalkit.__name__
INSTALLED = importlib.util.find_spec("vlmeval") is not None
STATED = {"accuracy": ("accuracy", "low"), "accuracy_high": ("accuracy", "high")}
STATED |= {"score": ("mark", "low"), "score_high": ("mark", "high")}
KIT = {
    "__init__.py": "",
    "dataset/__init__.py": "from .image_base import ImageBaseDataset\nDATASET_CLASSES = []\nSUPPORTED_DATASETS = []\n",
    "dataset/image_base.py": """
import os


class ImageBaseDataset:
    MODALITY = "IMAGE"
    DATASET_URL = {}

    @classmethod
    def supported_datasets(cls):
        return list(cls.DATASET_URL)

    def __init__(self, dataset="MMBench", skip_noimg=True):
        self.dataset_name = dataset
        self.img_root = os.path.join(os.environ["LMUData"], "images", dataset)
        self.data = self.load_data(dataset)
        self.data["index"] = [str(x) for x in self.data["index"]]
        self.post_build(dataset)

    def __len__(self):
        return len(self.data)

    def post_build(self, dataset):
        pass
""",
}


@pytest.fixture(scope="module", autouse=True)
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The kit's folder of data; where it is not installed, `KIT` in its place."""
    folder = tmp_path_factory.mktemp("kit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMUData", str(folder))
        if not INSTALLED:
            write_kit(folder, KIT)
            patch.syspath_prepend(str(folder))
        yield
    for name in [name for name in sys.modules if not INSTALLED and name.partition(".")[0] == "vlmeval"]:
        del sys.modules[name]
    sys.modules.pop(vlmevalkit.DATASET, None)


def write_kit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / "vlmeval" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def needs_kit() -> None:
    if not INSTALLED:
        pytest.skip("not installed: vlmeval")


def built(task: str, data: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The data set of a task, as the kit builds it from its list of classes."""
    monkeypatch.setenv(DATA_VARIABLE, data)
    if INSTALLED:
        from livek12.engines.torch_builds import mend_torch_builds

        mend_torch_builds()
    vlmevalkit.register()
    import vlmeval.dataset

    (ours,) = (found for found in vlmeval.dataset.DATASET_CLASSES if found.__module__ == vlmevalkit.DATASET)
    assert harness_name(task) in ours.supported_datasets()
    if INSTALLED:
        return vlmeval.dataset.build_dataset(harness_name(task), data=[task], model=["any"])
    return ours(dataset=harness_name(task))


# What reaches the model, and the marks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "task"),
    [
        ("cfe_data", "cfe_text"),
        ("cfe_data", "cfe_multimodal"),
        ("gaokao_mm_data", "livek12_text_image"),
        ("sample_data", "livek12_image_only"),
        ("sample_data", "kmmmu"),
        ("odd_data", "livek12_text_image"),
    ],
)
def test_messages_are_ours(
    data: str, task: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(data)
    dataset = built(task, folder, monkeypatch)
    documents = open_task(task, folder).documents
    assert list(dataset.data["question_id"]) == [document.id for document in documents]
    for number, document in enumerate(documents[:FIRST]):
        message = dataset.build_prompt(dataset.data.iloc[number])
        assert message == dataset.build_prompt(number)
        assert [seen(part) for part in message] == parity_rows(document.request)
        assert dataset.dump_image(dataset.data.iloc[number]) == [
            part["value"] for part in message if part["type"] == "image"
        ]


def seen(part: dict[str, str]) -> Row:
    """A part of the kit's message as a row of ours."""
    if part["type"] == "text":
        return ("user", "text", part["value"])
    return ("user", "image", rgb_sha256(PIL.Image.open(part["value"])))


def result_file(dataset: Any, answers: dict[str, str], file: Path) -> Path:
    """A result file as the kit writes it: its own columns and ours, every cell in quotes."""
    table = dataset.data.assign(prediction=[answers[id] for id in dataset.data["question_id"]])
    table.to_csv(file, sep="\t", index=False, encoding="utf-8", quoting=csv.QUOTE_ALL)
    return file


def report(source: str, file: Path, data: str, out: Path) -> dict[str, Any]:
    """The task's part of report.json after an import."""
    ended = livek12_here("import-responses", file, "--from", source, "--task", TASK, "--data", data, "--out", out)
    assert ended.code in (0, 1), ended.err
    found: dict[str, Any] = json.loads((out / "report.json").read_text())["tasks"][TASK]
    return found


def test_scores_of_recorded_answers_are_ours(sample_data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = built(TASK, sample_data, monkeypatch)
    planted = planted_answers(open_task(TASK, sample_data).documents)
    said = {row["question_id"]: row["response"] for row in planted}
    file = result_file(dataset, said, tmp_path / f"model_{TASK}.tsv")
    theirs = dataset.evaluate(str(file))

    own = report("jsonl", write_rows(tmp_path / "planted.jsonl", planted), sample_data, tmp_path / "own")
    for metric, (stated, end) in STATED.items():
        assert theirs[metric] == pytest.approx(own["metrics"][stated][end]), metric
    for state in ("ungraded", "no_answer"):
        assert theirs[state] == pytest.approx(own["counts"][state] / own["counts"]["answers"]), state
        assert own["counts"][state] > 0, "the planted answers no longer have all ends"
    assert 0 < theirs["accuracy"] < theirs["accuracy_high"] < 1
    assert json.loads((tmp_path / f"model_{TASK}_score.json").read_text()) == theirs

    back = list(rows(file, {TASK}))
    assert {row["question_id"]: row["response"] for row in back} == said
    assert {row["model"] for row in back} == {"model"}
    assert report("vlmevalkit", file, sample_data, tmp_path / "back")["metrics"] == own["metrics"]


def test_what_the_kit_gave_up_is_ungraded_and_no_answer(
    sample_data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warnings: Callable[[], list[str]]
) -> None:
    dataset = built("kmmmu", sample_data, monkeypatch)
    said = dict.fromkeys(dataset.data["question_id"], "Failed to obtain answer via API.")
    file = result_file(dataset, said, tmp_path / "m_livek12_kmmmu.tsv")
    marks = dataset.evaluate(str(file))
    assert (marks["accuracy"], marks["accuracy_high"], marks["ungraded"], marks["no_answer"]) == (0, 1, 1, 0)
    assert list(rows(file, {"kmmmu"})) == []
    assert warnings() == [f"{file}: {len(said)} answers are missing in the log"]


# The launcher --------------------------------------------------------------------------------------------------------


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[str]:
    """An OpenAI-compatible endpoint that takes pictures too."""
    with oracle_at(tmp_path / "oracle") as address:
        yield address


def launched(data: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The launcher in a process of its own."""
    (folder / "lmu").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", LAUNCHER, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
        cwd=folder,
        env={**os.environ, DATA_VARIABLE: data, "LMUData": str(folder / "lmu"), **environment},
    )


@pytest.mark.slow
@pytest.mark.parametrize("mode", [(), ("--api-mode",)], ids=["local", "api"])
def test_run_py_ends_in_its_own_files(sample_data: str, tmp_path: Path, oracle: str, mode: tuple[str, ...]) -> None:
    needs_kit()
    task = "livek12_text_image_en"
    call = ("--data", task, "--model", "oracle", "--base-url", oracle, "--work-dir", "out", "--retry", "1")
    ended = launched(sample_data, tmp_path, *call, *mode)
    assert ended.returncode == 0, ended.stderr[-3000:]
    (score,) = {file.resolve() for file in (tmp_path / "out").rglob(f"oracle_{task}_score.json")}
    questions = open_task(task, sample_data).documents
    assert json.loads(score.read_text())["questions"] == len(questions)
    back = list(rows(tmp_path / "out", {task}))
    assert [row["question_id"] for row in back] == [document.id for document in questions]
    assert len({row["response"] for row in back}) > 1
    assert len((tmp_path / "oracle").read_text().splitlines()) == len(questions)


def test_a_data_set_that_was_moved_is_one_line(tmp_path: Path) -> None:
    write_kit(tmp_path, KIT)
    ended = launched(str(tmp_path / "gone"), tmp_path, "--data", "livek12_kmmmu", PYTHONPATH=str(tmp_path))
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert ended.stderr.startswith("error: ")
    assert "gone" in ended.stderr


@pytest.mark.skipif(INSTALLED, reason="the kit is installed here")
@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "is not installed"),
        pytest.param({**KIT, "dataset/__init__.py": ""}, "DATASET_CLASSES", marks=pytest.mark.release),
        ({**KIT, "dataset/image_base.py": ""}, "ImageBaseDataset"),
        pytest.param(KIT, "has no run.py", marks=pytest.mark.release),
    ],
)
def test_a_kit_that_lacks_something_is_one_line(
    files: dict[str, str], said: str, sample_data: str, tmp_path: Path
) -> None:
    write_kit(tmp_path, files)
    ended = launched(sample_data, tmp_path, "--data", "livek12_kmmmu", PYTHONPATH=str(tmp_path))
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1), ended.stderr
    assert said in ended.stderr
    assert "pip install" in ended.stderr


# The tables ----------------------------------------------------------------------------------------------------------


def table_of(task: str, data: str, folder: Path) -> tuple[HarnessTask, list[dict[str, str]], Path]:
    exam = HarnessTask(get_task(task), data)
    file = folder / f"{harness_name(task)}.tsv"
    vlmevalkit.write_table(exam, file)
    csv.field_size_limit(2**31 - 1)
    with file.open(encoding="utf-8", newline="") as text:
        return exam, list(csv.DictReader(text, delimiter="\t")), file


def pictures(cell: str, table: list[dict[str, str]]) -> list[bytes]:
    """The pictures of an `image` cell: Base64, a list of it, or the index of another row."""
    cell = table[int(cell)]["image"] if cell and len(cell) <= 64 else cell
    listed = json.loads(cell.replace("'", '"')) if cell.startswith("[") else [cell] if cell else []
    return [base64.b64decode(one) for one in listed]


@pytest.mark.parametrize("task", ["livek12", "livek12_image_only", "livek12_text_only", "kmmmu", "cfe_multimodal"])
def test_tables_hold_every_question_with_its_pictures(task: str, sample_data: str, tmp_path: Path) -> None:
    exam, table, _ = table_of(task, sample_data, tmp_path)
    assert [row["index"] for row in table] == [str(number) for number in range(len(exam.documents))]
    assert ("image" in table[0]) == any(document.images for document in exam.documents)
    for row, document in zip(table, exam.documents, strict=True):
        question = document.question
        assert (row["question_id"], row["question"], row["prompt"]) == (question.id, question.question, document.text)
        assert {option.label: row[option.label] for option in question.options} == {
            option.label: option.text for option in question.options
        }
        assert (row["answer"], row["category"]) == (document.target, question.subject)
        assert pictures(row.get("image", ""), table) == [image.bytes for image in document.images]


def test_tables_show_odd_pictures_as_our_engines_do(odd_data: str, tmp_path: Path) -> None:
    exam, table, _ = table_of("livek12_text_image", odd_data, tmp_path)
    named = {row["question_id"]: pictures(row["image"], table) for row in table if row["image"]}
    for document in exam.documents:
        found = [rgb_sha256(PIL.Image.open(io.BytesIO(one))) for one in named.get(document.id, [])]
        assert found == [rgb_sha256(picture) for picture in document.pictures()], document.id
    kept = {id for id, found in named.items() if found == [image.bytes for image in exam.document(id).images]}
    assert kept == {"odd picture frames.webp"}, "own bytes where any decoder sees in them what ours do, else PNG"


def test_the_same_pages_stand_in_a_table_once(sample_data: str, tmp_path: Path) -> None:
    exam, table, _ = table_of("livek12_image_only", sample_data, tmp_path)
    different = {tuple(image.sha256 for image in document.images) for document in exam.documents}
    assert sum(len(row["image"]) > 64 for row in table) == len(different) < len(table)


def test_large_pictures_are_scaled_down_and_named(
    sample_data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vlmevalkit, "MAX_PICTURE", 2_000)
    exam, table, _ = table_of("livek12_text_image", sample_data, tmp_path)
    whole = {document.id: [image.bytes for image in document.images] for document in exam.documents}
    named = {id for id in whole if f"question {id}: " in caplog.text}
    assert named
    for row in table:
        kept = pictures(row["image"], table)
        assert all(len(picture) <= 2_000 and PIL.Image.open(io.BytesIO(picture)).size for picture in kept)
        if row["question_id"] in named:
            assert kept != whole[row["question_id"]]
        elif len(row["image"]) > 64:
            assert kept == whole[row["question_id"]]


def test_plugins_writes_the_tables_of_what_a_data_set_has(sample_data: str, tmp_path: Path) -> None:
    ended = livek12_here("plugins", "vlmevalkit", "--data", sample_data, "--out", tmp_path)
    assert (ended.code, ended.out.strip()) == (0, str(tmp_path))
    written = {file.stem for file in tmp_path.iterdir()}
    assert {"livek12_image_only", "livek12_kmmmu", "livek12_cfe_text"} <= written
    assert {file.suffix for file in tmp_path.iterdir()} == {".tsv"}


def test_the_kit_reads_the_tables(sample_data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_kit()
    exam, *_ = table_of("livek12_image_only", sample_data, Path(os.environ["LMUData"]))  # noqa: SIM112
    built("livek12_image_only", sample_data, monkeypatch)  # readies its imports
    from vlmeval.dataset.image_base import ImageBaseDataset

    class Plain(ImageBaseDataset):  # type: ignore[misc]
        def evaluate(self, eval_file: str, **judge_kwargs: Any) -> None:
            """Not called."""

    read = Plain(dataset="livek12_image_only")
    assert list(read.data["question_id"]) == [document.id for document in exam.documents]
    for number, document in enumerate(exam.documents):
        *files, text = read.build_prompt(number)
        assert text["value"] == document.question.question
        assert [seen(file)[2] for file in files] == [rgb_sha256(picture) for picture in document.pictures()]


# Result files --------------------------------------------------------------------------------------------------------


def test_result_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    said = ["NA", "", "007", 'a "b"\tc\r\nd', "null", "长" * 40_000]
    answers = [{"question_id": f"q{number}", "prediction": text} for number, text in enumerate(said)]
    with (tmp_path / "m_livek12_kmmmu.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["question_id", "prediction"], delimiter="\t", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(answers)
    assert [row["response"] for row in rows(tmp_path, {"kmmmu", "cfe_text"})] == said
    (tmp_path / "m_livek12_kmmmu.tsv").unlink()
    (tmp_path / "m_livek12_kmmmu.json").write_text(json.dumps(answers, ensure_ascii=False), encoding="utf-8")
    assert [row["response"] for row in rows(tmp_path, {"kmmmu"})] == said


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no result file"),
        ({"a/m_livek12_kmmmu.tsv": "question_id\tprediction\n", "b/m_livek12_kmmmu.tsv": ""}, "two results"),
        ({"m_livek12_kmmmu.tsv": "index\tprediction\n1\tA\n"}, "question_id"),
        ({"m_livek12_kmmmu.json": '{"a": 1}'}, "not readable"),
        ({"m_livek12_kmmmu.json": "[1]"}, "row 1"),
        ({"m_livek12_kmmmu.xlsx": "no"}, "not readable"),
    ],
)
def test_bad_result_files_are_one_line(files: dict[str, str], said: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=said) as caught:
        list(rows(tmp_path, {"kmmmu"}))
    assert "\n" not in str(caught.value)
