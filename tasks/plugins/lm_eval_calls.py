"""Functions for the YAML of lm-evaluation-harness: documents, pictures, repeats, marks.

Pictures are decoded on access, so memory and logs do not hold them. Each metric is the mean over all repeats, the
weighted score 100 · ΣO / ΣV over all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from livek12.core.errors import UserError
from livek12.core.lazy import PIL
from livek12.core.questions import fingerprint
from livek12.tasks.plugins.harness_task import METRICS, Document, HarnessTask, joined, one_line_errors, open_task

Part = Literal["", "with_pictures", "without_pictures"]
_exams: dict[tuple[str, str], HarnessTask] = {}
_shown: set[tuple[str, str, int]] = set()
"""Task, question and index of each decoded picture."""


def dataset(livek12_task: str, livek12_data: str = "", livek12_part: Part = "", **_: Any) -> dict[str, Any]:
    """Documents of a task (`custom_dataset`)."""
    import datasets

    with one_line_errors():
        exam = open_task(livek12_task, livek12_data, sheets=True)
        documents = [document for document in exam.documents if _in(document, livek12_part)]
        if not documents:
            raise UserError(f"{exam.data}: task {livek12_task} has no question {livek12_part.replace('_', ' ')}")
    pictures = {image.sha256: image for document in exam.documents for image in document.images}
    content = fingerprint(exam.questions, pictures.values())[:16]
    _exams[exam.task.name, content] = exam
    rows = [
        {
            "id": document.id,
            "task": exam.task.name,
            "data_sha256": content,
            "question": document.text,
            "target": document.target,
            "pictures": [image.sha256 for image in document.images],
        }
        for document in documents
    ]
    text = datasets.Value("string")
    columns = {name: [text] if name == "pictures" else text for name in rows[0]}
    return {"test": datasets.Dataset.from_list(rows, features=datasets.Features(columns))}


def _in(document: Document, part: Part) -> bool:
    return not part or bool(document.images) == (part == "with_pictures")


class CallPictures(Sequence["PIL.Image.Image"]):
    """A document's pictures (RGB), decoded on access and not cached."""

    def __init__(self, document: Document, places: range) -> None:
        self._document, self._places = document, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> PIL.Image.Image: ...

    @overload
    def __getitem__(self, index: slice) -> CallPictures: ...

    def __getitem__(self, index: int | slice) -> PIL.Image.Image | CallPictures:
        if isinstance(index, slice):
            return CallPictures(self._document, self._places[index])
        with one_line_errors():
            picture = self._document.picture(self._places[index])
        _shown.add(_place(self._document, self._places[index]))
        return picture

    def __repr__(self) -> str:
        """Their description in the log of samples."""
        return f"pictures: {' '.join(self._document.images[place].sha256 for place in self._places) or 'none'}"


def pictures(doc: Mapping[str, Any]) -> CallPictures:
    """Pictures of a document (`doc_to_image`)."""
    document = _exam(doc).document(doc["id"])
    return CallPictures(document, range(len(document.images)))


def keep_all(resps: Sequence[Sequence[str]], docs: Sequence[Mapping[str, Any]]) -> Sequence[Sequence[str]]:
    """Filter that keeps every repeat."""
    return resps


def results(doc: Mapping[str, Any], answers: Sequence[Sequence[str] | str]) -> dict[str, Any]:
    """Each metric of a document over its repeats (`process_results`); of a sheet the sum and number of its answers."""
    exam, answer = _exam(doc), answers[0]
    document = exam.document(doc["id"])
    taken = sum(_place(document, place) in _shown for place in range(len(document.images)))
    if taken < len(document.images):
        with one_line_errors():
            raise UserError(
                f"task {exam.task.name}: {taken} of {len(document.images)} pictures of question {document.id} were"
                " taken by the model: ask questions with and without pictures in calls of their own, those with"
                " pictures of hf-multimodal or vllm-vlm (for endpoints take Inspect)"
            )
    trials = [answer] if isinstance(answer, str) else answer
    verdicts = [verdict for trial, text in enumerate(trials) for verdict in exam.marks(doc["id"], text, trial=trial)]
    return joined(verdicts, counted=document.sheet is not None)


def by_answer(values: Sequence[Any]) -> float:
    """Mean over the answers of all sheets (`aggregation`)."""
    return float(sum(total for total, _ in values) / sum(number for _, number in values))


def score(values: Sequence[Any]) -> float:
    """Weighted score, undecided answers as 0 (`aggregation`)."""
    return METRICS["score"].total(values)


def score_high(values: Sequence[Any]) -> float:
    """Weighted score, undecided answers as full marks (`aggregation`)."""
    return METRICS["score_high"].total(values)


def _place(document: Document, place: int) -> tuple[str, str, int]:
    return document.request.key.task, document.id, place


def _exam(doc: Mapping[str, Any]) -> HarnessTask:
    return _exams.get((doc["task"], doc["data_sha256"])) or open_task(doc["task"], sheets=True)
