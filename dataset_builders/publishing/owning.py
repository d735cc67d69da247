"""Ownership of a repository's files: only those that an earlier publish made are ours.

Contract: files listed in the repository's `published.json` are ours; without that file, tables and metadata are, by
their names.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace

from livek12.core.errors import UserError
from livek12.core.questions import CARD
from livek12.dataset_builders.publishing.plan import HUBS_OWN, LocalFile
from livek12.dataset_builders.publishing.remote import Repository, State
from livek12.dataset_builders.writing.card import MARK, METADATA
from livek12.dataset_builders.writing.listings import PUBLISHED as FILE
from livek12.dataset_builders.writing.listings import SHARED, Publication, parse_published

_TABLE = re.compile(r"\w+/[\w.]+-\d{5}-of-\d{5}\.parquet")
_BESIDE = re.compile(r"(?:[^/]+/)*(?:[^/.]+|\.[^/]+|[^/]+\.(?:md|cff|bib)|licen[cs]e\.txt)", re.IGNORECASE)
"""Files that may accompany any data: a licence, a discussion, a citation."""


def with_owner(repository: Repository, state: State) -> State:
    """The state with our files in `files` and all others in `theirs`."""
    published = parse_published(repository.read(FILE, state.head)) if FILE in state.files else None
    card = repository.read(CARD, state.head).decode("utf-8", errors="replace") if CARD in state.files else ""
    if published is None and MARK not in card:
        _check_free(repository.name, state.files)
    mine = {path for path in state.files if _is_ours(path, published)} - HUBS_OWN
    mine -= {path for path in mine & SHARED if published and _edited(repository, state, path, published)}
    return replace(
        state,
        files={path: file for path, file in state.files.items() if path in mine},
        theirs={path: file for path, file in state.files.items() if path not in mine | HUBS_OWN},
        published=published,
    )


def check_free_places(name: str, files: dict[str, LocalFile], state: State) -> None:
    """Refuses to overwrite a file of others."""
    for path, file in files.items():
        if path in state.theirs and not file.is_same(state.theirs[path]):
            raise UserError(
                f"{name} has a file {path} that livek12 did not publish: it stays as it is; move it on the Hub, or take"
                " that of the folder away"
            )


def _check_free(name: str, paths: Iterable[str]) -> None:
    foreign = sorted(path for path in paths if path not in {CARD, *SHARED} and not _BESIDE.fullmatch(path))
    if foreign:
        raise UserError(
            f"{name} holds other data ({foreign[0]}) and no card of livek12: publishing would replace its card; give"
            " another repository, or empty it first"
        )


def _is_ours(path: str, published: Publication | None) -> bool:
    if path in (CARD, FILE):
        return True
    if published is not None:
        return path in published.files
    return path in METADATA or bool(_TABLE.fullmatch(path))


def _edited(repository: Repository, state: State, path: str, published: Publication) -> bool:
    return hashlib.sha256(repository.read(path, state.head)).hexdigest() != published.files[path]
