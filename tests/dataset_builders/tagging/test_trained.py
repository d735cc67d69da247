"""The trained tagger on tiny random models: it learns, goes on after a stop, and loads as it was saved."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Image
from livek12.dataset_builders.proposals.tagging import trained
from livek12.dataset_builders.proposals.tagging.labelled import Item, read_items
from livek12.dataset_builders.proposals.tagging.tree import tree_of
from tests.dataset_builders.pictures import picture
from tests.engines.conftest import needs
from tests.scripts.command import livek12_here

pytestmark = pytest.mark.slow
MARKED = "看图<|image_pad|><|im_end|> 求函数"


@pytest.fixture(scope="module")
def items(shared_data: Path) -> list[Item]:
    """Fifty real questions, each labelled with its subject, two with a small picture."""
    needs("torch", "transformers", "accelerate")
    import torch

    torch.set_num_threads(1)  # several wait for each other where the machine is busy
    found: list[Item] = []
    for subject in ("Math", "Physics"):
        rows = list(read_items(shared_data / f"gaokao_mm/Data/2010-2023_{subject}_MCQs.json", []))[:25]
        found += [dataclasses.replace(item, text=item.text[:40], labels=(subject,)) for item in rows]
    seen = dataclasses.replace(found[0], images=(Image(bytes=picture()),), text=MARKED)
    return [
        seen,
        *found[1:-1],
        dataclasses.replace(found[-1], images=(Image(bytes=picture(9)), Image(bytes=b"no picture"))),
    ]


def options(base: Path, out: Path, **more: object) -> object:
    from livek12.scripts.bench.train_tagger import TrainOptions

    given = {"model": str(base), "out": out, "epochs": 6, "batch": 5, "rate": 5e-3, "held": 0}
    return TrainOptions(**{**given, **more})  # type: ignore[arg-type]


def run(items: Sequence[Item], made: object, stop_after: int | None = None) -> dict[str, object]:
    from livek12.scripts.bench.train_tagger import train

    return train(items, tree_of(("Math", "Physics"), "subjects"), made, stop_after)  # type: ignore[arg-type]


@pytest.mark.release
def test_it_learns_fifty_questions_and_is_loaded_as_it_was_saved(
    items: list[Item], tiny_qwen3_vl: Path, tmp_path: Path
) -> None:
    out = tmp_path / "tagger"
    run(items, options(tiny_qwen3_vl, out))
    losses = [json.loads(line)["loss"] for line in (out / "log.jsonl").read_text().splitlines()]
    assert len(losses) == 6 and losses[-1] < 0.6 * losses[0]
    loaded, again = trained.TrainedTagger(out), trained.TrainedTagger(out)
    scores = loaded.scores(items)
    assert (scores == again.scores(items)).all()
    right = [row[0].name in item.labels for row, item in zip(loaded.propose(items), items, strict=True)]
    assert sum(right) >= 45
    assert all(row[0].confidence is None for row in loaded.propose(items[:2]))  # nothing was held out
    card = (out / "README.md").read_text()
    assert "livek12 tag" in card and "library_name: transformers" in card
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"id": "a", "question": items[3].text}) + "\n", "utf-8")
    ended = livek12_here("tag", rows, "--with", out, "--json")
    said = json.loads(ended.out)
    assert ended.code == 0 and said["questions"][0]["knowledge_points"][0]["name"] in ("Math", "Physics")


@pytest.mark.release
def test_a_run_that_was_stopped_ends_as_one_that_was_not(
    items: list[Item], tiny_qwen25_vl: Path, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file

    few = items[:6] + items[-6:]
    whole, parts = (options(tiny_qwen25_vl, tmp_path / name, epochs=2, batch=4, held=3) for name in ("whole", "parts"))
    run(few, whole)
    assert run(few, parts, stop_after=1)["stopped"]
    run(few, parts)
    one, other = (load_file(tmp_path / name / trained.HEAD) for name in ("whole", "parts"))
    assert all(torch.allclose(one[name], other[name], atol=1e-5) for name in one)
    saved = trained.SavedTagger.model_validate_json((tmp_path / "parts" / trained.SAVED).read_bytes())
    assert saved.measured_on and saved.metrics["held_out"] + saved.metrics["trained_on"] == len(few)


def test_marks_of_the_processor_in_a_text_are_broken() -> None:
    assert "<|" not in trained.safe_text(MARKED) and "|>" not in trained.safe_text(MARKED)


def test_a_folder_that_is_none_or_damaged_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no readable tagger\.json"):
        trained.TrainedTagger(tmp_path)
    (tmp_path / trained.SAVED).write_text('{"evil": 1}')
    with pytest.raises(UserError, match=r"no readable tagger\.json"):
        trained.TrainedTagger(tmp_path)
