"""Trained tagger: a vision-language model with one output a knowledge point.

`scripts/bench/train_tagger.py` trains it, `livek12 tag --engine FOLDER` uses it. The processor's marks in questions are
broken. (LiveK12Bench, section 2.2: a knowledge classifier on Qwen3-VL-4B.)
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from livek12.core.errors import UserError, install
from livek12.core.files import write_atomically
from livek12.core.lazy import PIL, torch
from livek12.core.records import Image, Record
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.proposals.tagging.classifier import Calibration, Proposed, Step, proposed
from livek12.dataset_builders.proposals.tagging.labelled import Item
from livek12.dataset_builders.proposals.tagging.tree import Point, Tree
from livek12.dataset_builders.reading.images import MAX_PIXELS
from livek12.engines.torch_builds import mend_torch_builds

SAVED, HEAD = "tagger.json", "head.safetensors"
MOST_IMAGES = 8
LONGEST_SIDE = 768
"""Pixels of a shrunk picture: enough to recognise a figure."""
MAX_CHARACTERS = 3000
BATCH = 4
_PROMPT = "Which knowledge points does this question need?\n\n"
_MARKS = re.compile(r"<(?=\|)|(?<=\|)>")


class SavedPoint(Record):
    """A label of a trained model."""

    names: dict[str, str]
    path: list[dict[str, str]] = []


class SavedTagger(Record):
    """Content of `tagger.json` in a trained model's folder.

    Attributes:
        points: labels, in the order of the head's outputs.
        scores, shares: calibration corners; empty without held-out questions.
        measured_on: held-out proposals of the calibration.
    """

    base: str
    tree: str
    points: list[SavedPoint]
    scores: list[float] = []
    shares: list[float] = []
    measured_on: int = 0
    metrics: dict[str, Any] = {}


def build(base: str | Path, labels: int) -> tuple[Any, Any]:
    """Builds processor and model: a backbone (folder or Hub name) with a linear head on the last token.

    Raises UserError if transformers or the model is missing.
    """
    try:
        mend_torch_builds()
        from transformers import AutoModel, AutoProcessor
    except ImportError as error:
        raise UserError(f"a trained model needs transformers ({error}): {install('transformers')}") from None
    try:
        processor = AutoProcessor.from_pretrained(base)
        backbone = AutoModel.from_pretrained(base, dtype=torch.float32)
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{base}: cannot be loaded as a vision-language model ({one_line(error, 160)})") from None
    processor.tokenizer.padding_side = "left"  # aligns the last token of every row

    class Tagger(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.backbone = backbone
            self.head = torch.nn.Linear(backbone.config.get_text_config().hidden_size, labels)

        def forward(self, **inputs: Any) -> Any:
            """Logits, shape (rows, labels)."""
            hidden = self.backbone(**inputs, use_cache=False).last_hidden_state
            return self.head(hidden[:, -1].float())

    return processor, Tagger()


def inputs_of(processor: Any, items: Sequence[Item]) -> dict[str, Any]:
    """Batch tensors of questions: pictures, then text."""
    texts, pictures = [], []
    for item in items:
        own = [picture for image in item.images[:MOST_IMAGES] if (picture := _picture(image)) is not None]
        content = [*({"type": "image"} for _ in own), {"type": "text", "text": _PROMPT + safe_text(item.text)}]
        message = [{"role": "user", "content": content}]
        texts.append(processor.apply_chat_template(message, tokenize=False, add_generation_prompt=True))
        pictures += own
    made = processor(text=texts, images=pictures or None, padding=True, return_tensors="pt")
    return {name: value for name, value in made.items() if hasattr(value, "shape")}


def safe_text(text: str) -> str:
    """Breaks tokenizer marks (<|image_pad|>, …) in a text."""
    return _MARKS.sub(" ", text[:MAX_CHARACTERS])


def save(folder: Path, processor: Any, model: Any, saved: SavedTagger) -> None:
    """Writes model, processor and description."""
    from safetensors.torch import save_file

    model.backbone.save_pretrained(folder)
    processor.save_pretrained(folder)
    head = {name: value.detach().cpu().contiguous() for name, value in model.head.state_dict().items()}
    save_file(head, folder / HEAD)
    write_atomically(folder / SAVED, saved.model_dump_json(indent=1) + "\n")


class TrainedTagger:
    """Proposer from a folder that `save` wrote; raises UserError if it is damaged."""

    def __init__(self, folder: Path) -> None:
        try:
            self._saved = SavedTagger.model_validate_json((folder / SAVED).read_bytes())
        except (OSError, ValidationError):
            raise UserError(
                f"{folder}: holds no readable {SAVED}; make one with scripts/bench/train_tagger.py"
            ) from None
        points = [Point(point.names, point.path) for point in self._saved.points]
        self.tree = Tree(self._saved.tree, points)
        self._processor, self._model = build(folder, len(points))
        self._load_head(folder / HEAD)
        self._model.eval()
        curve = (self._saved.scores, self._saved.shares, self._saved.measured_on)
        self._calibration = Calibration(*curve) if self._saved.measured_on else None
        self.made_by = f"trained from {one_line(self._saved.base, 80)}"

    def scores(self, items: Sequence[Item], step: Step = lambda: None) -> Any:
        """Probabilities, shape (items, points)."""
        rows = []
        with torch.inference_mode():
            for start in range(0, len(items), BATCH):
                batch = items[start : start + BATCH]
                rows.append(torch.sigmoid(self._model(**inputs_of(self._processor, batch))).numpy())
                for _ in batch:
                    step()
        return np.concatenate(rows) if rows else np.zeros((0, len(self.tree.points)), dtype=np.float32)

    def propose(self, items: Sequence[Item], most: int = 3, step: Step = lambda: None) -> list[list[Proposed]]:
        """Best points of each question, best first."""
        return [
            [
                proposed(self.tree.points[place], item.language, float(row[place]), self._calibration)
                for place in (-row).argsort(kind="stable")[:most]
            ]
            for item, row in zip(items, self.scores(items, step), strict=True)
        ]

    def _load_head(self, file: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            self._model.head.load_state_dict(load_file(file))
        except (OSError, SafetensorError, RuntimeError, KeyError) as error:
            raise UserError(f"{file}: does not fit its {SAVED} ({one_line(error, 120)}); train it again") from None


def _picture(image: Image) -> Any:
    import warnings

    try:
        with warnings.catch_warnings(action="ignore"), PIL.Image.open(io.BytesIO(image.bytes or b"")) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                return None
            picture = opened.convert("RGB")
    except Exception:  # Pillow may raise anything on a hostile file
        return None
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    # Qwen-VL processors reject extreme aspect ratios.
    width, height = picture.size
    short = max(width, height) // 100 + 1
    least = max(short, 32)
    return picture if min(width, height) >= least else picture.resize((max(width, least), max(height, least)))
