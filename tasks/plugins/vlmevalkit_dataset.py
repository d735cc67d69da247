"""VLMEvalKit dataset class.

Pictures are files that any decoder shows as our engines do. Failed requests are ungraded, not wrong.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vlmeval.dataset.image_base import ImageBaseDataset

from livek12.core.files import write_atomically
from livek12.core.lazy import PIL
from livek12.tasks.plugins.harness_task import METRICS, Document, HarnessTask, harness_name, open_task
from livek12.tasks.plugins.vlmevalkit import FAILED, ID, picture_bytes, predictions
from livek12.tasks.registry import all_tasks

if TYPE_CHECKING:
    import pandas


class Livek12Dataset(ImageBaseDataset):  # type: ignore[misc]
    """A task over LIVEK12_DATA."""

    TYPE = "VQA"
    DATASET_URL = {harness_name(name): "" for name in all_tasks()}
    force_use_dataset_prompt = True

    def load_data(self, dataset: str) -> pandas.DataFrame:
        """One row a question, in order, without pictures."""
        import pandas

        self.exam: HarnessTask = open_task(dataset)
        return pandas.DataFrame(
            {
                "index": document.id,
                ID: document.id,
                "question": document.text,
                "answer": document.target,
                "category": document.question.subject,
            }
            for document in self.exam.documents
        )

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        """Message of a row or row number."""
        document = self.exam.document(self._row(line)[ID])
        files = iter(self._files(document))
        parts = [part for message in document.request.messages for part in message.content]
        return [
            {"type": "image", "value": next(files)} if part.image else {"type": "text", "value": part.text or ""}
            for part in parts
        ]

    def dump_image(self, line: Any) -> list[str]:
        """A row's picture files in order."""
        return self._files(self.exam.document(self._row(line)[ID]))

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> dict[str, float]:
        """Metrics of a result file, also written as `…_score.json`."""
        rows = predictions(Path(eval_file))
        verdicts = [self.exam.mark_unless(FAILED, row[ID], row["prediction"]) for row in rows]
        totals = {name: metric.total([metric.of(verdict) for verdict in verdicts]) for name, metric in METRICS.items()}
        marks = {"questions": float(len(verdicts)), **totals}
        file = Path(eval_file)
        write_atomically(file.with_name(f"{file.stem}_score.json"), json.dumps(marks, indent=1) + "\n")
        return marks

    def _row(self, line: Any) -> Any:
        return self.data.iloc[line] if isinstance(line, int) else line

    def _files(self, document: Document) -> list[str]:
        return [self._file(document, place) for place in range(len(document.images))]

    def _file(self, document: Document, place: int) -> str:
        encoded = picture_bytes(document, place)
        suffix = str(PIL.Image.open(io.BytesIO(encoded)).format or "png").lower()
        file = Path(self.img_root) / f"{document.images[place].sha256}.{suffix}"
        if not (file.is_file() and file.stat().st_size == len(encoded)):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, encoded, sync=False)
        return str(file)
