"""Readings of papers by tools; a failing tool gives a `Prediction` with an `error`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from livek12.scripts.bench.exams.gold import LabelledOption, PredictedQuestion, Prediction
from livek12.scripts.bench.exams.plain import prediction_of

Reader = Callable[[Path, Path | None], Prediction]
_FIELDS: Final = {"figure": "figures", "parse": "text", "type": "options"}
"""Kinds of our doubts that are called otherwise here."""
_MISSING: Final = re.compile(r"questions? (?:\D.* )?(\d{1,3})(?: to (\d{1,3}))?\b.* not found$")
_SECONDS: Final = 600
_MARKITDOWN: Final = (
    "import sys; from markitdown import MarkItDown; sys.stdout.write(MarkItDown().convert(sys.argv[1]).text_content)"
)


def livek12(pdf: Path, key: Path | None) -> Prediction:
    """Reading of `livek12 ingest`."""
    from livek12.dataset_builders.ingest.paper import Options, ingest

    with tempfile.TemporaryDirectory(prefix="exam-") as folder:
        outcome = ingest([pdf], Path(folder), Options(answers=(key,) if key else ()))
    if outcome.failed:
        return Prediction(error=outcome.failed[0])
    (paper,) = outcome.papers
    runs = [run for line in paper.errors if (run := _MISSING.match(line))]
    missing = [str(number) for run in runs for number in range(int(run[1]), int(run[2] or run[1]) + 1)]
    return Prediction(
        questions=[
            PredictedQuestion(
                number=draft.number,
                section=draft.section,
                text=draft.question,
                options=[LabelledOption(label=option.label, text=option.text) for option in draft.options],
                answer=draft.answer,
                points=draft.points,
                boxes=draft.boxes,
                figures=[figure.box for figure in draft.figures if figure.box],
                doubts=sorted({_FIELDS.get(doubt.kind, doubt.kind) for doubt in draft.doubts}),
            )
            for draft in paper.drafts
        ],
        missing=missing,
    )


def text_layer(pdf: Path, key: Path | None) -> Prediction:
    """Text layer of pypdfium2."""
    return prediction_of(_layer(pdf), _layer(key) if key else "")


def _layer(pdf: Path) -> str:
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf)
    try:
        return "\n".join(page.get_textpage().get_text_range().replace("\r\n", "\n") for page in document)
    finally:
        document.close()


def markitdown(python: Path) -> Reader:
    """Markitdown, from its own environment."""
    return _by_program([str(python), "-c", _MARKITDOWN])


def pymupdf4llm(python: Path) -> Reader:
    """Pymupdf4llm, from its own environment."""
    code = "import sys, pymupdf4llm; sys.stdout.write(pymupdf4llm.to_markdown(sys.argv[1]))"
    return _by_program([str(python), "-c", code])


def mineru(program: Path) -> Reader:
    """MinerU's text in reading order, from the tier without weights."""

    def text(pdf: Path) -> str:
        with tempfile.TemporaryDirectory(prefix="mineru-") as folder:
            command = [str(program), "parse", str(pdf), "-o", folder, "--tier", "flash", "-f", "markdown"]
            _run(command)
            return "\n".join(file.read_text("utf-8") for file in sorted(Path(folder).rglob("*.md")))

    return _guarded(text)


def _by_program(command: list[str]) -> Reader:
    return _guarded(lambda pdf: _run([*command, str(pdf)]))


def _guarded(text: Callable[[Path], str]) -> Reader:
    def read(pdf: Path, key: Path | None) -> Prediction:
        try:
            return prediction_of(text(pdf), text(key) if key else "")
        except (OSError, subprocess.SubprocessError) as error:
            return Prediction(error=f"{type(error).__name__}: {error}"[:200])

    return read


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
    return done.stdout.decode("utf-8", "replace")


def readers(places: Mapping[str, Path]) -> dict[str, Reader]:
    """Readers by name; `places` maps tools to their Python or program."""
    makers: dict[str, Callable[[Path], Reader]] = {
        "markitdown": markitdown, "pymupdf4llm": pymupdf4llm, "mineru": mineru
    }  # fmt: skip
    return {"livek12": livek12, "text layer": text_layer} | {name: makers[name](at) for name, at in places.items()}


def read_to(folder: Path, papers: Path, names: list[str], reader: Reader) -> None:
    """Reads papers without a stored prediction."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        file = folder / f"{name}.json"
        if not file.is_file():
            key = papers / f"{name}.key.pdf"
            prediction = reader(papers / f"{name}.pdf", key if key.is_file() else None)
            file.write_text(
                json.dumps(prediction.model_dump(exclude_defaults=True), ensure_ascii=False) + "\n", "utf-8"
            )
            read = f"{len(prediction.questions)} questions {prediction.error}"
            print(f"{folder.parent.name}, {folder.name}: {name}: {read}", file=sys.stderr, flush=True)
