"""Withholding the answers of the newest release, and checking that they are not public already.

A translation of one of its questions is withheld with it, whatever its release; a variant remains private.

Contract: in the public rows of that release every field that tells the answer is empty, and fields derived from the key
(single or multiple choice, short answer, option or statement) have the value they have without it: two builds that
differ only in keys give the same public rows. The private dataset has the complete rows and pages of the release, and
those it kept before, in the same configs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from livek12.core.errors import UserError
from livek12.dataset_builders.publishing.plan import LocalFile
from livek12.dataset_builders.publishing.policy import QuestionId, read_columns
from livek12.dataset_builders.publishing.remote import Repository, State

_COLUMNS = ("id", "benchmark", "answer", "solution", "variables", "reasoning_flow")
_PICTURES = ("answer_images", "solution_images")
_DATED = re.compile(r"\d{4}(?:[-.]?\d{2})?")


def newest_release(releases: Mapping[str, Mapping[str, object]]) -> str:
    """The last release of livek12, or of the only other benchmark; releases are named by year and month (2605)."""
    names = set(releases.get("livek12", ())) or {name for named in releases.values() for name in named}
    if not names:
        raise UserError("no question names its release, so there is no newest one")
    if len(names) > 1 and (len({len(name) for name in names}) > 1 or not all(map(_DATED.fullmatch, names))):
        raise UserError(
            f"which release is the newest cannot be told from their names: {', '.join(sorted(names))}; name them by"
            " year and month, such as 2605"
        )
    return max(names)


def check_history(repository: Repository, state: State, local: Mapping[str, LocalFile], held: set[QuestionId]) -> None:
    """Refuses to withhold answers that an earlier commit of the repository shows.

    Only answer columns are fetched, and each content only once.
    """
    looked = {file.sha256 for file in local.values()}
    for commit in dict.fromkeys(commit for tip in sorted(state.tips) for commit in repository.history(tip)):
        for path, file in repository.files(commit).items():
            if not path.endswith(".parquet") or (file.sha256 or file.sha1) in looked:
                continue
            looked.add(file.sha256 or file.sha1)
            shown = _answered_there(repository, path, commit) & held
            if shown:
                raise UserError(
                    f"{repository.name}: commit {commit[:12]} already shows the answers of {len(shown)} questions that"
                    f" are to be held back ({min(shown)[1]}), and a commit stays readable: publish to a new --repo, or"
                    " remove its history and tags first"
                )


def answered(file: Any) -> set[QuestionId]:
    """The questions of a table (a path or an open file) whose row tells the answer in any way."""
    # Of pictures only the names are read.
    names = (f"{column}.list.{inner}.path" for column in _PICTURES for inner in ("element", "item"))
    return {
        (str(row["benchmark"]), str(row["id"]))
        for row in read_columns(file, (*_COLUMNS, *names))
        if any(variable["value"] for variable in row["variables"] or ())
        or row["solution"]
        or any(any(row[name] or ()) for name in ("answer", "reasoning_flow", *_PICTURES))
    }


def _answered_there(repository: Repository, path: str, commit: str) -> set[QuestionId]:
    import pyarrow as pa

    with repository.open(path, commit) as file:
        try:
            return answered(file)
        except pa.ArrowException:
            return set()  # no table at all, so nothing to read in it
