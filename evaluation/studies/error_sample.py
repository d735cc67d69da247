"""Gathers the wrong answers of runs, and has judges and people say of what kind they are."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Row
from livek12.evaluation.sieve import ANY, AnswerChoice, RunRows, one_way
from livek12.evaluation.studies.consulting import authors_of, consult
from livek12.evaluation.studies.error_kinds import (
    Wrong,
    by_itself,
    by_judges,
    by_people,
    is_right,
    is_wrong,
    kinds_of,
    put_to_judges,
    sampled,
    stratum_of,
)
from livek12.evaluation.studies.error_typing import TypedRun
from livek12.evaluation.studies.labels import Label
from livek12.evaluation.studies.planned import PLAN
from livek12.evaluation.task_data import illustrated, reload_task_data
from livek12.judges.jury import Jury
from livek12.tasks.registry import find_task

Found = dict[str, dict[str, TypedRun]]
"""By benchmark and run."""


def gathered(
    folders: Mapping[str, RunFolder],
    size: int,
    seed: int,
    labels: Mapping[str, Sequence[tuple[Label, Row]]],
    choice: AnswerChoice = ANY,
) -> Found:
    """The wrong answers of each run to questions asked in one way, the sample of them, and what people said.

    Args:
        folders: the runs.
        size: of the sample of each run and benchmark.
        seed: of the sample.
        labels: of each run, with their answers.
        choice: of the answers, where runs were asked in several ways.

    Raises:
        UserError: the runs have no way of asking in common, no answer is wrong, or all that are wrong are of benchmarks
            whose article tells no kinds apart.
    """
    found: defaultdict[str, dict[str, TypedRun]] = defaultdict(dict)
    without = set[str]()
    taken = one_way({name: RunRows(folder) for name, folder in folders.items()}, choice)
    for name, answers in taken.items():
        wrong: defaultdict[str, list[Row]] = defaultdict(list)
        for row in answers:
            benchmark = row.question.benchmark
            if not kinds_of(benchmark):
                without.add(benchmark)
                continue
            own = found[benchmark].setdefault(name, TypedRun())
            if is_wrong(row):
                own.wrong += 1
                wrong[benchmark].append(row)
            elif is_right(row):
                own.right += 1
            else:
                own.undecided += 1
        for benchmark, rows in wrong.items():
            own = found[benchmark][name]
            own.sample = [Wrong(row) for row in sampled(rows, size, seed)]
            own.people = by_people(rows, labels.get(name, ()))
    if not any(own.wrong for runs in found.values() for own in runs.values()):
        said = f"; the articles of {', '.join(sorted(without))} tell no kinds of errors apart" if without else ""
        raise UserError(f"no answer of these runs is decided and wrong: there is nothing to look at{said}")
    return dict(found)


def to_ask(found: Found) -> int:
    """How many answers judges are asked about."""
    return sum(by_itself(one.row) is None for runs in found.values() for own in runs.values() for one in own.sample)


def typed_by_judges(found: Found, folders: Mapping[str, RunFolder], jury: Jury, step: Callable[[], None]) -> None:
    """Has judges say of what kind the sampled answers are.

    Raises:
        UserError: nobody may judge one of the models.
    """
    for name, folder in folders.items():
        pictures = None
        for runs in found.values():
            if name not in runs:
                continue
            pictures = pictures or reload_task_data(folder, jury.options.data)
            own = runs[name]
            told = [by_itself(one.row) for one in own.sample]
            asked = [one.row for one, known in zip(own.sample, told, strict=True) if known is None]
            rows = list(illustrated(asked, pictures))
            opinions = consult(jury, rows, put_to_judges(), authors_of(folder), _sees, step)
            judged = iter(by_judges(rows, opinions))
            own.sample = [known or next(judged) for known in told]


def _sees(row: Row) -> bool:
    task = find_task(row.task)
    return task is None or not task.without_pictures


def typed_by_people(found: Found) -> None:
    """Takes what people said for the kinds, where no judge is asked.

    Raises:
        UserError: they said nothing of kinds.
    """
    for runs in found.values():
        for own in runs.values():
            own.sample = own.people
    if not any(own.sample for runs in found.values() for own in runs.values()):
        raise UserError(
            "no label says of a wrong answer of what kind it is: labels name error_type, or CIE, LAE and DRE"
        )


def write_plans(found: Found, folders: Mapping[str, RunFolder]) -> list[Path]:
    """Writes the sample of each run as its label plan.

    Raises:
        UserError: a run has another plan already, or its folder cannot be written.
    """
    written = []
    for name, folder in folders.items():
        rows = [one.row for runs in found.values() if name in runs for one in runs[name].sample]
        text = "".join(_line(row) for row in rows)
        path = folder.path / PLAN
        if path.exists() and path.read_text("utf-8") != text:
            raise UserError(f"{path}: is another plan; label it, or move it away, before this one is written")
        if rows:
            write_atomically(path, text)
            written.append(path)
    return written


def _line(row: Row) -> str:
    stratum = " / ".join(filter(None, stratum_of(row)[1:]))
    told = {"task": row.task, "question_id": row.question.id, "trial": row.trial, "stratum": f"wrong, {stratum}"}
    return json.dumps(told, ensure_ascii=False) + "\n"


def groups_of(given: Iterable[str], runs: Sequence[str]) -> dict[str, list[str]]:
    """The groups that `--group NAME=RUN,RUN…` names; all runs together without any.

    Raises:
        UserError: no such form, a run that is not there, or a group named twice.
    """
    found: dict[str, list[str]] = {}
    for text in given:
        name, sign, names = text.partition("=")
        members = [part.strip() for part in names.split(",") if part.strip()]
        if not sign or not name.strip() or not members:
            raise UserError(f"--group {text!r}: write NAME=RUN,RUN,…")
        if strange := [run for run in members if run not in runs]:
            raise UserError(f"--group {name}: {strange[0]!r} is none of the runs {', '.join(runs)}")
        if name.strip() in found:
            raise UserError(f"--group {name}: is named twice")
        found[name.strip()] = members
    return found or {"all runs": list(runs)}
