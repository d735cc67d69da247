"""Trains a vision-language model to tag questions with knowledge points: `livek12 tag --engine OUT` then uses it.

    accelerate launch -m livek12.scripts.bench.train_tagger --model Qwen/Qwen3-VL-4B-Instruct --labels DATA --out OUT

One fifth (or --held) of the labelled questions is held out, near-duplicates together. A killed run resumes from its
last checkpoint; the same seed, data and machines give the same model. Tested only on a CPU with tiny random models.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from livek12.core.errors import UserError
from livek12.core.lazy import np, torch
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.proposals.tagging import trained
from livek12.dataset_builders.proposals.tagging.classifier import calibrate, figures, truths
from livek12.dataset_builders.proposals.tagging.labelled import Item, folds, need_labels, read_items
from livek12.dataset_builders.proposals.tagging.tree import Tree, load_tree, tree_of

CHECKPOINTS, LOG, CARD = "checkpoints", "log.jsonl", "README.md"
KEPT_CHECKPOINTS = 2


@dataclass(frozen=True)
class TrainOptions:
    """Options of the training.

    Attributes:
        rate: learning rate of the head; the backbone's is a tenth.
        held: one of so many folds is held out; 0 for none.
        save_every: steps between checkpoints; 0 for one an epoch.
    """

    model: str
    out: Path
    epochs: int = 3
    batch: int = 4
    accumulate: int = 1
    rate: float = 1e-4
    head_only: bool = False
    held: int = 5
    save_every: int = 0
    seed: int = 0
    bf16: bool = False


def train(items: Sequence[Item], tree: Tree, options: TrainOptions, stop_after: int | None = None) -> dict[str, Any]:
    """Trains and saves a model, at most `stop_after` steps in this call; returns the last line of the log.

    Raises:
        UserError: the model cannot be loaded, or no question has a label of the tree.
    """
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration, set_seed

    truth, _ = truths(tree, items)
    if not truth.any():
        raise UserError(f"no question has a label of the tree {tree.name}")
    options.out.mkdir(parents=True, exist_ok=True)
    accelerator = Accelerator(
        gradient_accumulation_steps=options.accumulate,
        mixed_precision="bf16" if options.bf16 else "no",
        dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True, data_seed=options.seed),
    )
    set_seed(options.seed)
    processor, model = trained.build(options.model, len(tree.points))
    used, validation = _split(items, truth, options.held)
    loader = _loader(processor, items, truth, used, options.batch, shuffle=True)
    held_loader = _loader(processor, items, truth, validation, options.batch, shuffle=False)
    optimizer = torch.optim.AdamW(_groups(model, truth[used], options))
    updates = max(1, options.epochs * len(loader) // options.accumulate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: max(0.05, 1 - done / updates))
    model, optimizer, loader, held_loader, schedule = accelerator.prepare(
        model, optimizer, loader, held_loader, schedule
    )
    done = _resume(accelerator, options.out)
    started, line = done, dict[str, Any]()
    for epoch in range(done // len(loader), options.epochs):
        loader.set_epoch(epoch)
        skipped = done - epoch * len(loader)
        batches = accelerator.skip_first_batches(loader, skipped) if skipped else loader
        losses = []
        model.train()
        for batch in batches:
            losses.append(_step(accelerator, model, optimizer, schedule, batch))
            done += 1
            ends = done % len(loader) == 0
            if ends or (options.save_every and done % options.save_every == 0):
                _checkpoint(accelerator, options.out, done)
            if stop_after is not None and done - started >= stop_after:
                _checkpoint(accelerator, options.out, done)
                return {"step": done, "loss": _mean(losses), "stopped": True}
        scores, gold = _predict(accelerator, model, held_loader)
        metrics = figures(scores, gold, tree) if len(scores) else {}
        line = {"epoch": epoch + 1, "step": done, "loss": _mean(losses), "held_out": len(scores), **metrics}
        _log(accelerator, options.out, line)
    scores, gold = _predict(accelerator, model, held_loader)
    if accelerator.is_main_process:
        _save(options, processor, accelerator.unwrap_model(model), tree, scores, gold, len(used))
    accelerator.wait_for_everyone()
    return line


def _split(items: Sequence[Item], truth: Any, count: int) -> tuple[list[int], list[int]]:
    labelled = [place for place, row in enumerate(truth) if row.any()]
    if not count:
        return labelled, []
    fold = folds([items[place] for place in labelled], count)
    used = [place for place, number in zip(labelled, fold, strict=True) if number]
    if not used:
        raise UserError("every labelled question would be held out: give more, or --held 0")
    return used, [place for place, number in zip(labelled, fold, strict=True) if not number]


def _loader(processor: Any, items: Sequence[Item], truth: Any, places: list[int], batch: int, shuffle: bool) -> Any:
    def collate(rows: list[int]) -> tuple[dict[str, Any], Any]:
        return trained.inputs_of(processor, [items[row] for row in rows]), torch.tensor(truth[rows])

    # An empty data set cannot be shuffled, nor does it need to be.
    return torch.utils.data.DataLoader(places, batch_size=batch, shuffle=shuffle, collate_fn=collate)


def _groups(model: Any, truth: Any, options: TrainOptions) -> list[dict[str, Any]]:
    share = torch.tensor(truth.mean(axis=0)).clamp(1e-4, 1 - 1e-4)
    with torch.no_grad():
        model.head.bias.copy_(torch.log(share / (1 - share)))
    groups = [{"params": list(model.head.parameters()), "lr": options.rate}]
    if options.head_only:
        model.backbone.requires_grad_(False)
    else:
        groups.append({"params": list(model.backbone.parameters()), "lr": options.rate / 10})
    return groups


def _step(accelerator: Any, model: Any, optimizer: Any, schedule: Any, batch: Any) -> float:
    inputs, gold = batch
    with accelerator.accumulate(model):
        logits = model(**inputs)
        # Summed over labels: the mean over mostly negative labels would teach next to nothing.
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, gold, reduction="sum") / len(gold)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return float(loss.detach())


def _predict(accelerator: Any, model: Any, loader: Any) -> tuple[Any, Any]:
    model.eval()
    scores, gold = [], []
    with torch.inference_mode():
        for inputs, truth in loader:
            predicted, right = accelerator.gather_for_metrics((torch.sigmoid(model(**inputs)), truth))
            scores.append(predicted.float().cpu().numpy())
            gold.append(right.cpu().numpy())
    return (np.concatenate(scores), np.concatenate(gold)) if scores else (np.zeros((0, 1)), np.zeros((0, 1)))


def _checkpoint(accelerator: Any, out: Path, step: int) -> None:
    folder = out / CHECKPOINTS
    part = folder / f".step-{step}"
    accelerator.save_state(str(part))
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        shutil.rmtree(folder / f"step-{step}", ignore_errors=True)
        part.rename(folder / f"step-{step}")
        for old in _steps(out)[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(folder / f"step-{old}", ignore_errors=True)
    accelerator.wait_for_everyone()


def _resume(accelerator: Any, out: Path) -> int:
    steps = _steps(out)
    if steps:
        accelerator.load_state(str(out / CHECKPOINTS / f"step-{steps[-1]}"))
    return steps[-1] if steps else 0


def _steps(out: Path) -> list[int]:
    return sorted(int(folder.name[5:]) for folder in (out / CHECKPOINTS).glob("step-*") if folder.name[5:].isdigit())


def _save(options: TrainOptions, processor: Any, model: Any, tree: Tree, scores: Any, gold: Any, used: int) -> None:
    metrics: dict[str, Any] = {"trained_on": used, "held_out": len(scores)}
    curve: dict[str, Any] = {}
    if len(scores):
        metrics |= figures(scores, gold, tree)
        best = np.argsort(-scores, axis=1)[:, :3]
        right = np.take_along_axis(gold, best, axis=1).ravel() > 0
        made = calibrate(np.take_along_axis(scores, best, axis=1).ravel(), right)
        curve = {"scores": list(made.scores), "shares": list(made.shares), "measured_on": made.measured_on}
    points = [
        trained.SavedPoint(names=dict(point.names), path=[dict(names) for names in point.path]) for point in tree.points
    ]
    saved = trained.SavedTagger(base=options.model, tree=tree.name, points=points, metrics=metrics, **curve)
    trained.save(options.out, processor, model, saved)
    (options.out / CARD).write_text(_card(options, tree, metrics), "utf-8")


def _card(options: TrainOptions, tree: Tree, metrics: dict[str, Any]) -> str:
    how = {name: value for name, value in asdict(options).items() if name not in ("model", "out")}
    rows = "\n".join(f"| {name} | {value} |" for name, value in metrics.items())
    return f"""---
library_name: transformers
pipeline_tag: image-text-to-text
tags: [livek12, knowledge-points]
---
# Knowledge points of exam questions

Trained from `{one_line(options.model, 120)}` by `livek12.scripts.bench.train_tagger`: a linear head of
{len(tree.points)} outputs (tree `{one_line(tree.name, 80)}`) on the last token.
Labels, in the order of the head, are in `{trained.SAVED}`.
Its licence is that of the model it was trained from and of its data.

    livek12 tag QUESTIONS --engine FOLDER

| on held-out questions | |
|---|---|
{rows}

Made with {", ".join(f"{name} {value}" for name, value in how.items())}. What it proposes is for a person to review.
"""


def _log(accelerator: Any, out: Path, line: dict[str, Any]) -> None:
    if accelerator.is_main_process:
        with (out / LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        typer.echo(", ".join(f"{name} {value}" for name, value in line.items()), err=True)


def _mean(losses: list[float]) -> float:
    return round(sum(losses) / max(1, len(losses)), 4)


def main(
    model: Annotated[str, typer.Option("--model", help="A vision-language model: a folder or a name on the Hub.")],
    labels: Annotated[list[Path], typer.Option("--labels", help="Built data sets, or files of rows, with labels.")],
    out: Annotated[Path, typer.Option("--out", help="The folder to write; an unfinished run in it goes on.")],
    tree: Annotated[Path | None, typer.Option("--tree", help="YAML; default: that of the labels.")] = None,
    epochs: Annotated[int, typer.Option("--epochs", min=1)] = 3,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Questions a device.")] = 4,
    accumulate: Annotated[int, typer.Option("--accumulate", min=1, help="Batches an update.")] = 1,
    rate: Annotated[float, typer.Option("--rate", help="Of the head; the backbone's is a tenth.")] = 1e-4,
    head_only: Annotated[bool, typer.Option("--head-only", help="Leave the backbone as it is.")] = False,
    held: Annotated[int, typer.Option("--held", min=0, help="One of so many folds is held out; 0: none.")] = 5,
    save_every: Annotated[int, typer.Option("--save-every", min=0, help="Batches; 0: once an epoch.")] = 0,
    seed: Annotated[int, typer.Option("--seed")] = 0,
    bf16: Annotated[bool, typer.Option("--bf16")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N labelled questions.")] = None,
) -> None:
    """Train a model that tags questions with knowledge points."""
    problems: list[str] = []
    labelled = need_labels(
        [item for place in labels for item in read_items(place, problems)], ", ".join(map(str, labels))
    )
    labelled = labelled[:limit]
    for line in problems:
        typer.echo(f"warning: {line}", err=True)
    points = load_tree(tree) if tree else tree_of((label for item in labelled for label in item.labels), "labels")
    options = TrainOptions(model, out, epochs, batch, accumulate, rate, head_only, held, save_every, seed, bf16)
    typer.echo(json.dumps(train(labelled, points, options)))


if __name__ == "__main__":
    try:
        typer.run(main)
    except UserError as error:
        raise SystemExit(f"error: {one_line(error, 500)}") from None
