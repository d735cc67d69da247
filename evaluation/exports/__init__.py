"""Results of runs in other formats: one module a format.

Contract: single answers (question, key, solution, response, judges) are exported only where they may be shown: not
those of held-back releases or made of them, nor those without a review or a licence, unless all rows are asked for;
marks cover all questions. No absolute path, endpoint address or secret is exported.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, get_args

from livek12.core.errors import UserError, explain_errors
from livek12.core.hub import NotFetched
from livek12.core.progress import warn
from livek12.core.records import Question
from livek12.core.rights import Name, held_release, made_from, refusal, with_made
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.core.scoring import Row
from livek12.tasks.registry import is_logged

Which = Literal["public", "all", "none"]
FORMS: Final[dict[str, str]] = {
    "eee": "livek12.evaluation.exports.eee",
    "eval-results": "livek12.evaluation.exports.eval_results",
    "inspect": "livek12.evaluation.exports.inspect_log",
}
_HUB_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+")
_HUB_DATA: Final = re.compile(r"([\w.-]+/[\w.-]+)@([0-9a-f]{7,40})")


@dataclass(frozen=True)
class Export:
    """Run to export.

    Attributes:
        model: the name of the model, as the Hub has it where it does.
        data_repo: the dataset on the Hub, or "".
        source_url: a page about the run, or "".
    """

    run: RunFolder
    scores: dict[str, Any]
    model: str
    data_repo: str = ""
    organization: str = ""
    relationship: str = "other"
    source_url: str = ""
    which: Which = "public"
    hold: frozenset[str] = frozenset()
    withheld: Counter[str] = field(default_factory=Counter)

    @property
    def spec(self) -> RunSpec:
        """Run's spec."""
        return self.run.spec()

    def data_of(self, task: TaskSpec) -> tuple[str, str | None]:
        """Task's dataset on the Hub and its commit; ("", None) if not there."""
        if match := _HUB_DATA.fullmatch(task.data):
            return self.data_repo or match[1], match[2] if self.data_repo in ("", match[1]) else None
        return (self.data_repo or (task.data if _HUB_NAME.fullmatch(task.data) else "")), None

    @cached_property
    def _made_of_held(self) -> set[Name]:
        withheld, made = set[Name](), defaultdict[Name, set[Name]](set)
        for _, question in self.run.each_question() if self.hold else ():
            name = (question.benchmark, question.id)
            if question.release in self.hold:
                withheld.add(name)
            for other in made_from(question):
                made[other].add(name)
        return with_made(withheld, made)

    def rows(self, task: str) -> Iterator[Row]:
        """Task's rows that may be shown; the others are counted by reason."""
        for row in self.run.rows():
            if row.task == task and self._shows(row):
                yield row

    def _shows(self, row: Row) -> bool:
        why = "" if self.which == "all" else self._why_not(row)
        if why:
            self.withheld[why] += 1
        return not why

    def _why_not(self, row: Row) -> str:
        if self.which == "none":
            return "no rows are asked for"
        name = (row.question.benchmark, row.question.id)
        if name in self._made_of_held or is_held(row, self.hold):
            return "the answers of its release are held back"
        return refusal(row.question)


def is_held(row: Row, hold: Collection[str]) -> bool:
    """True if a key is held back, by its release or for judges alone."""
    keys = [part.gold for part in row.verdict.parts] if row.verdict else []
    lent = any(key.strip() for key in keys) and not _has_key(row.question)
    return row.question.release in hold or lent


def _has_key(question: Question) -> bool:
    return any(answer.strip() for answer in question.answer) or any(
        variable.value.strip() for variable in question.variables
    )


def held_releases(spec: RunSpec) -> frozenset[str]:
    """Held-back releases of a run's datasets."""
    releases = set()
    for place in {task.data for task in spec.tasks if not is_logged(task.name)}:
        try:
            releases.add(held_release(place))
        except NotFetched as error:
            raise UserError(
                f"{place}: cannot be asked which answers are held back ({error}); name them with --hold RELEASE,"
                " or --hold none"
            ) from None
    return frozenset(filter(None, releases))


def model_name(given: str, spec: RunSpec) -> str:
    """Exported name of the model: as given, else the run's, without local folders."""
    if given:
        if not _HUB_NAME.fullmatch(given):
            raise UserError(f"--model-id {given}: is no ORG/NAME of the Hub")
        return given
    if is_hub_name(spec.model) and not Path(spec.model).exists():
        return spec.model
    return Path(spec.model).name or "unknown"


def is_hub_name(model: str) -> bool:
    """Recognises the Hub's form ORG/NAME."""
    return bool(_HUB_NAME.fullmatch(model))


def which_named(name: str) -> Which:
    """Rows that `--rows` names."""
    for which in get_args(Which):
        if which == name:
            return which  # type: ignore[no-any-return]
    raise UserError(f"--rows {name}: choose one of {', '.join(get_args(Which))}")


def tell_withheld(export: Export) -> None:
    """Reports how many answers are withheld, and why."""
    for why, count in export.withheld.items():
        if export.which == "public":
            warn(f"{export.run.path}: {count:,} answers are not in the export: {why} (--rows all takes them)")


def ensure_folder(folder: Path) -> None:
    """Makes a folder; existing content is kept."""
    with explain_errors(f"{folder}: cannot be made", "; choose another --out"):
        folder.mkdir(parents=True, exist_ok=True)


def safe_name(name: str) -> str:
    """Name for a file or folder on any system."""
    plain = re.sub(r"[^\w.-]+", "_", name, flags=re.ASCII).strip("._") or "unknown"
    return plain if plain.partition(".")[0].upper() not in _RESERVED and plain != "data" else f"{plain}_"


_RESERVED: Final = frozenset(
    {"CON", "PRN", "AUX", "NUL", *(f"{port}{n}" for port in ("COM", "LPT") for n in range(10))}
)
