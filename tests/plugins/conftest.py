"""What the tests of all plug-ins share: built data sets, what our request says, and answers with planted errors."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import PIL.Image
import pytest

from livek12.core import progress
from livek12.core.records import Request
from livek12.dataset_builders import build
from livek12.engines.images import check_image
from livek12.tasks.plugins.harness_task import Document
from tests.engines.conftest import (  # noqa: F401  (fixtures: the small models that engines are tested with)
    cache,
    served,
    small_gguf,
    tiny_qwen25_vl,
)
from tests.plugins.odd_exam import write_odd_exam
from tests.scripts.command import livek12_here

# Inspect asks for it at each eval, and reads what is said of three hundred packages.
vars(importlib.metadata)["packages_distributions"] = functools.cache(importlib.metadata.packages_distributions)

Row = tuple[str, str, str]
"""(role, "text" or "image", the text or `rgb_sha256` of the picture)."""


@pytest.fixture(scope="session")
def sample_data(built_sample: Path) -> str:
    """The sample exam (zh, en, ko; text, figures and pages) as a data set, which no test changes."""
    return str(built_sample)


@pytest.fixture(scope="session")
def odd_data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Texts and pictures that a harness could spoil, as a livek12 data set."""
    folder = tmp_path_factory.mktemp("odd")
    build("livek12", str(write_odd_exam(folder / "exam")), folder / "data")
    return str(folder / "data")


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    """Reads the warnings that were printed."""
    monkeypatch.setattr(progress, "_warned", {})
    monkeypatch.setattr(progress, "_said", set())
    return lambda: [line.removeprefix("warning: ") for line in capsys.readouterr().err.splitlines()]


def needs(*modules: str) -> None:
    """Skips the test, or the whole file that says so at its head, naming what is missing."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}", allow_module_level=True)


def rgb_sha256(picture: PIL.Image.Image) -> str:
    """A hash of what is seen: size and RGB pixels, whatever the file format."""
    rgb = picture.convert("RGB")
    return hashlib.sha256(f"{rgb.width}x{rgb.height}:".encode() + rgb.tobytes()).hexdigest()


def parity_rows(request: Request) -> list[Row]:
    """What our request puts to a model, part by part."""
    rows: list[Row] = []
    for message in request.messages:
        for part in message.content:
            if part.type == "text":
                rows.append((message.role, "text", part.text or ""))
            else:
                shown = check_image(request.images[part.image or ""])  # as our own engines decode it
                rows.append((message.role, "image", rgb_sha256(shown)))
    return rows


def planted_answers(documents: list[Document], trials: int = 1) -> list[dict[str, Any]]:
    """An answer to each question and trial: in turn the key, the key of another, an undecidable one, none, thinking.

    Rows as `livek12 import-responses --from jsonl` takes them, without `task`.
    """
    said: list[Callable[[Document, Document], str]] = [
        lambda own, other: f"\\boxed{{{own.target}}}",
        lambda own, other: f"\\boxed{{{other.target}}}",
        lambda own, other: f"<think>{own.target}?</think>{own.target}",
        lambda own, other: f"{own.target}, or perhaps {other.target}; one of these.",
        lambda own, other: "",
    ]
    return [
        {
            "question_id": document.id,
            "trial": trial,
            "response": said[(index + trial) % len(said)](document, documents[index - 1]),
        }
        for index, document in enumerate(documents)
        for trial in range(trials)
    ]


def write_rows(file: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows as JSONL."""
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return file


def planted_sheets(documents: list[Document]) -> list[dict[str, Any]]:
    """A reply to each sheet: right, wrong and skipped answers in turn, as recorded rows."""
    rows = []
    for document in documents:
        assert document.sheet is not None
        labels = list(document.sheet.questions.items())
        lines = [
            f"Question {label}\n\\boxed{{{'; '.join(question.answer) if place % 3 else 'Z9'}}}\n"
            for place, (label, question) in enumerate(labels)
            if place % 4 < 3
        ]
        rows.append({"question_id": document.id, "trial": 0, "response": "".join(lines)})
    return rows


def native_sheets(task: str, data: str, rows: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    """The report of `livek12 run` on these replies."""
    answers, out = write_rows(folder / "sheets.jsonl", rows), folder / "native"
    ended = livek12_here("run", "--task", task, "--data", data, "--model", answers, "--out", out, "-q")
    assert ended.code in (0, 1), ended.err
    report: dict[str, Any] = json.loads((out / "report.json").read_text())["tasks"][task]
    return report
