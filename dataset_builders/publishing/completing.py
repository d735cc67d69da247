"""Additions to a published dataset: flat configs, `eval.yaml`, and `published.json`.

Contract: everything is made from the published rows, after withholding. Files of other people on the Hub are not
overwritten, nor is the maintainer's `eval.yaml`.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from livek12.core.features import SPLIT, Flatten
from livek12.core.questions import CARD, read_card
from livek12.dataset_builders.publishing.environment_yaml import render_environment_yaml
from livek12.dataset_builders.publishing.eval_yaml import check_eval_yaml, render_eval_yaml
from livek12.dataset_builders.publishing.plan import content_hash, local_files
from livek12.dataset_builders.publishing.remote import Repository, State
from livek12.dataset_builders.publishing.shipping import Files
from livek12.dataset_builders.writing.card import CARD_FILES, describe_again
from livek12.dataset_builders.writing.listings import (
    ENVIRONMENT,
    EVAL,
    SHARED,
    Gate,
    Publication,
    parse_published,
)
from livek12.dataset_builders.writing.listings import (
    PUBLISHED as FILE,
)
from livek12.dataset_builders.writing.parquet import FlatConfig, flat_rows, write_flat


@dataclass(frozen=True)
class Extras:
    """Additions to the questions; `gated` None leaves the access unchanged."""

    flatten: Flatten | None = None
    environment: bool = False
    gated: Gate | None = None


def data_hash(folder: Path) -> str:
    """A hash of the questions and lists of a dataset, without its metadata."""
    files = local_files(folder)
    return content_hash({path: file for path, file in files.items() if path not in {*CARD_FILES, FILE, *SHARED}})


def complete(
    folder: Path,
    built: Path,
    repository: Repository,
    before: State | None,
    tag: str,
    extras: Extras,
    notes: list[str],
) -> Files:
    """Writes the additions into the folder to publish; returns all files of that folder.

    `built` is the maintainer's dataset, which may hold an `eval.yaml`.
    """
    published = _published(repository, before, tag, data_hash(folder), extras)
    published.write(folder)
    flat = write_flat(folder, extras.flatten(folder)) if extras.flatten else []
    _add_eval_yaml(folder, built, before, flat, notes)
    if extras.environment and flat and not (before and ENVIRONMENT in before.theirs):
        (folder / ENVIRONMENT).write_text(render_environment_yaml(flat), encoding="utf-8")
    describe_again(folder)
    files = local_files(folder)
    listed = {path: file.sha256 for path, file in files.items() if path != FILE}
    replace(published, files=listed).write(folder)
    return files | local_files(folder, only=FILE)


def _published(repository: Repository, before: State | None, tag: str, content: str, extras: Extras) -> Publication:
    was = before.published if before else None
    if before and tag in before.tags and FILE in repository.files(before.tags[tag]):
        was = parse_published(repository.read(FILE, before.tags[tag])) or was
    same = was is not None and (was.tag, was.content) == (tag, content)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return Publication(
        repo=repository.name,
        url=repository.url,
        tag=tag,
        date=was.date if was and same else today,
        content=content,
        gated=extras.gated if extras.gated is not None else was.gated if was else "",
    )


def _add_eval_yaml(
    folder: Path, built: Path, before: State | None, flat: Sequence[FlatConfig], notes: list[str]
) -> None:
    if (built / EVAL).is_file():
        splits = {config: tuple(splits) for config, splits in read_card(folder).items()}
        check_eval_yaml(built / EVAL, splits | dict.fromkeys(flat_rows(folder), (SPLIT,)))
        shutil.copyfile(built / EVAL, folder / EVAL)
    elif before and EVAL in before.theirs:
        notes.append(f"{before.name} has an {EVAL} of its own, which stays; the flat configs are there for it")
    elif flat:
        rows = sum(config.rows for config in flat)
        described = f"{rows} exam questions that one letter, number or expression decides, of {len(flat)} tasks."
        (folder / EVAL).write_text(render_eval_yaml(_pretty_name(folder), described, flat), encoding="utf-8")
        check_eval_yaml(folder / EVAL, {config.name: (SPLIT,) for config in flat})


def _pretty_name(folder: Path) -> str:
    import yaml

    front = (folder / CARD).read_text(encoding="utf-8").split("---\n")[1]
    return str(yaml.safe_load(front)["pretty_name"])
