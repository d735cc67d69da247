"""VLMEvalKit: a launcher that runs the kit with our datasets, and TSV tables of our tasks.

The kit has no plug-ins: `python -m livek12.tasks.plugins.vlmevalkit RUN_PY_ARGUMENTS` registers our class and runs its
`run.py`. Tables use the kit's prompts and marks. Imports without the kit.
"""

from __future__ import annotations

import base64
import csv
import importlib
import importlib.util
import io
import json
import logging
import os
import runpy
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from livek12.core.errors import UserError, install
from livek12.core.lazy import PIL
from livek12.core.questions import open_card
from livek12.core.records import Image
from livek12.engines.images import FORMATS
from livek12.tasks.plugins.harness_task import (
    DATA_VARIABLE,
    PREFIX,
    WHOLE,
    Document,
    Guide,
    HarnessTask,
    harness_name,
    open_task,
)
from livek12.tasks.plugins.yaml_tasks import example, tasks_in
from livek12.tasks.registry import all_tasks

INSTALL = install("vlmevalkit")
DATASET = "livek12.tasks.plugins.vlmevalkit_dataset"
FAILED = "Failed to obtain answer"
"""Beginning of the kit's text for failed requests."""
ID = "question_id"
"""Our column in the kit's result files."""
MAX_PICTURE = 4 * 2**20
"""Bytes of an encoded picture in a table; the kit holds whole tables in memory."""
PLAIN = ("1", "L", "P", "RGB")
"""Pixel modes that every decoder shows alike, without transparency or rotation."""
_log = logging.getLogger(__name__)


def guide(data: str, folder: Path) -> Guide:
    """Writes tables of the tasks with questions in a dataset."""
    if data:
        place, _ = open_card(data)
        for task in [task for task, _ in tasks_in(place) if task.name in all_tasks()]:
            write_table(HarnessTask(task, place), folder / f"{harness_name(task.name)}.tsv")
    return Guide(
        path=str(folder) if data else __name__,
        install=INSTALL,
        call=(
            f"{DATA_VARIABLE}={quote(data or 'DATA')} python -m {__name__}"
            f" --data {harness_name(example(data).name)} --model MODEL --work-dir out"
        ),
        notes=(
            "the launcher takes the arguments of the kit's run.py; it needs no tables, only LIVEK12_DATA",
            "--model is a model of the kit, or with --base-url URL what an OpenAI-compatible endpoint calls its own",
            "decoding is the kit's (an endpoint: greedy, 32768 tokens): --temperature, --max-tokens; a task cannot",
            "the kit's API models send pictures as JPEG and scale small ones up, whatever the data set says",
            "predictions are written as TSV unless PRED_FORMAT says otherwise: cells of xlsx end at 32767 characters",
            WHOLE,
            "for the full exam marks: livek12 import-responses out --from vlmevalkit --task TASK --data DATA --out RUN",
            f"without our package the kit reads the tables {f'in {folder}' if data else 'that --data writes'} (LMUData)"
            " under its own prompts and marks; it leaves out questions without a picture where others have one",
        ),
    )


# The tables ----------------------------------------------------------------------------------------------------------


def write_table(exam: HarnessTask, file: Path) -> None:
    """Writes a task as one of the kit's TSV files, whole or not at all.

    Columns: index (from 0), question, A, B, … (options), answer, category, image, and our `question_id`,
    `question_type`, `language` and `prompt` (with image marks). `image` is Base64, the text of a Python list of it, or
    the index of an earlier row with the same pictures; those over `MAX_PICTURE` are scaled down.
    """
    labels = sorted({option.label for document in exam.documents for option in document.question.options})
    images = ["image"] if any(document.images for document in exam.documents) else []
    columns = ["index", "question", *labels, "answer", "category", *images, ID, "question_type", "language", "prompt"]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="", dir=file.parent, prefix=f".{file.stem}-", delete=False
        ) as part:
            writer = csv.DictWriter(part, columns, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
            try:
                writer.writeheader()
                writer.writerows(_table_rows(exam.documents))
            except BaseException:
                Path(part.name).unlink()
                raise
        Path(part.name).replace(file)
    except OSError as error:
        raise UserError(f"{file}: cannot be written ({error.strerror}); choose another --out") from None


def _table_rows(documents: Sequence[Document]) -> Iterator[dict[str, Any]]:
    seen: dict[tuple[str, ...], int] = {}
    for index, document in enumerate(documents):
        question = document.question
        row = {
            "index": index,
            "question": question.question,
            **{option.label: option.text for option in question.options},
            "answer": document.target,
            "category": question.subject,
            ID: question.id,
            "question_type": question.question_type,
            "language": question.language,
            "prompt": document.text,
        }
        if document.images:
            first = seen.setdefault(tuple(image.sha256 for image in document.images), index)
            row["image"] = _image_cell(document) if first == index else first
        yield row


def _image_cell(document: Document) -> str:
    encoded = [base64.b64encode(_bounded(document, place)).decode() for place in range(len(document.images))]
    return encoded[0] if len(encoded) == 1 else repr(encoded)


def _bounded(document: Document, place: int) -> bytes:
    pictures = picture_bytes(document, place)
    if len(pictures) <= MAX_PICTURE:
        return pictures
    picture = document.picture(place)
    before = picture.size
    while len(pictures) > MAX_PICTURE:
        picture = picture.resize((max(1, picture.width * 3 // 4), max(1, picture.height * 3 // 4)))
        pictures = _png(picture)
    _log.warning("question %s: a picture of %d×%d is scaled to %d×%d", document.id, *before, *picture.size)
    return pictures


def picture_bytes(document: Document, place: int) -> bytes:
    """Encoded picture at a mark.

    PNG if decoders differ: the kit makes transparent pixels black and ignores rotation.
    """
    image = document.images[place]
    return image.bytes or b"" if _is_plain(image) else _png(document.picture(place))


def _is_plain(image: Image) -> bool:
    from PIL.ExifTags import Base

    try:
        picture = PIL.Image.open(io.BytesIO(image.bytes or b""), formats=FORMATS)
        upright = picture.getexif().get(Base.Orientation, 1) == 1
    except Exception:  # Pillow's decoders raise anything; decoding for our engines reports it
        return False
    return upright and picture.mode in PLAIN and "transparency" not in picture.info


def _png(picture: PIL.Image.Image) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


# What the kit writes -------------------------------------------------------------------------------------------------


def predictions(file: Path) -> Iterator[dict[str, str]]:
    """Rows of a result file (tsv, json or xlsx), cells as texts."""
    for number, row in enumerate(result_rows(file), start=1):
        if not isinstance(row, dict) or row.get(ID) is None or row.get("prediction") is None:
            raise UserError(f"{file}: row {number} has no {ID} and prediction; was it asked through our launcher?")
        yield {str(name): str(value) for name, value in row.items() if value is not None}


def result_rows(file: Path) -> list[Any]:
    """Rows of a result file of any dataset."""
    readers = {".tsv": _tsv_rows, ".json": _json_rows, ".xlsx": _xlsx_rows}
    if file.suffix not in readers:
        raise UserError(f"{file}: not a result file of VLMEvalKit; give one of {', '.join(readers)}")
    try:
        return readers[file.suffix](file)
    except (OSError, ValueError, csv.Error, KeyError, ImportError) as error:
        raise UserError(f"{file}: not readable ({' '.join(str(error).split())[:200]})") from None


def _tsv_rows(file: Path) -> list[dict[str, str]]:
    csv.field_size_limit(2**31 - 1)
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text, delimiter="\t"))


def _json_rows(file: Path) -> list[Any]:
    rows = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(rows, list):
        raise ValueError("not a list of rows")
    return rows


def _xlsx_rows(file: Path) -> list[Any]:
    import pandas

    rows: list[Any] = pandas.read_excel(file, dtype=str, keep_default_na=False).to_dict("records")
    return rows


# The launcher --------------------------------------------------------------------------------------------------------


def launch(arguments: Sequence[str]) -> None:
    """Runs the kit's `run.py` with our datasets."""
    from livek12.engines.torch_builds import mend_torch_builds

    if importlib.util.find_spec("vlmeval") is None:
        raise UserError(f"VLMEvalKit (vlmeval) is not installed in this environment; {INSTALL}")
    named = _named(arguments)
    for name in named:
        open_task(name)
    mend_torch_builds()
    os.environ.setdefault("PRED_FORMAT", "tsv")
    register(named)
    script = _script()
    sys.argv = [str(script), *arguments]
    runpy.run_path(str(script), run_name="__main__")


def register(names: Sequence[str] = ()) -> None:
    """Adds our class to the kit's datasets, once."""
    try:
        kit = importlib.import_module("vlmeval.dataset")
        ours = importlib.import_module(DATASET).Livek12Dataset
        classes, supported = kit.DATASET_CLASSES, kit.SUPPORTED_DATASETS
    except (ImportError, AttributeError) as error:
        raise UserError(f"this VLMEvalKit lacks what the data sets need ({error}); {INSTALL}") from error
    ours.DATASET_URL.update(dict.fromkeys(names, ""))
    if ours not in classes:
        classes.append(ours)
        supported.extend(ours.DATASET_URL)


def _named(arguments: Sequence[str]) -> list[str]:
    """Our datasets among the arguments; opened first, as the kit skips failing ones."""
    start = arguments.index("--data") + 1 if "--data" in arguments else len(arguments)
    rest = list(arguments[start:])
    end = next((place for place, word in enumerate(rest) if word.startswith("--")), len(rest))
    return [name for name in rest[:end] if name.startswith(PREFIX)]


def _script() -> Path:
    spec = importlib.util.find_spec("vlmeval")
    package = Path((spec and spec.origin) or "").parent
    for script in (package.parent / "run.py", package / "run.py"):
        if script.is_file():
            return script
    raise UserError(f"VLMEvalKit in {package} has no run.py; {INSTALL}")


if __name__ == "__main__":
    try:
        launch(sys.argv[1:])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
