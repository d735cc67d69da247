"""Checks the sums, lines and numbers of a run folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isclose
from pathlib import Path
from typing import Any

from livek12.core.compaction import check_packed
from livek12.core.errors import UserError
from livek12.core.packed import STEMS, packed_files, packed_path
from livek12.core.progress import watched
from livek12.core.records import Question, Response, Verdict, fits
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import Index, read_journal
from livek12.core.run.markings import REGRADES
from livek12.core.run.remote import RUN_FILE
from livek12.core.run.sessions import read_sessions
from livek12.core.run.signing import SIGNATURE, check_signature, read_public_key, read_signature
from livek12.core.run.sums import read_sums, sum_of, summed_name, sums_path
from livek12.evaluation.reporting import score
from livek12.judges.grade import GradingConfig, total

_JOURNAL = re.compile(rf"(?:{'|'.join(STEMS)}|labels)-[\w.-]+\.jsonl|{re.escape(REGRADES)}", re.ASCII)
_KEY = re.compile(rb'"key": ?\{"task": ?"([^"\\]+)", ?"question_id": ?"([^"\\]+)", ?"trial": ?(\d+)')
_MOST_NAMED = 3


@dataclass
class RunCheck:
    """Faults, with what they touch, and notes on what could not be checked."""

    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def check_run(folder: Path, signer: str = "") -> RunCheck:
    """Checks a local run folder; `signer`: the public key that must have signed it, or its file."""
    checked = RunCheck()
    signer = read_public_key(signer) if signer else ""
    if not any((folder / name).exists() for name in ("run.json", sums_path(Path("run.json")).name)):
        RunFolder.open(folder)  # says what it is instead

    def check_signed(folder: Path, checked: RunCheck) -> None:
        checked.faults += check_signature(RunFolder.open(folder), signer)
        if (signature := read_signature(folder)) is not None and not signer:
            checked.notes.append(f"signed at {signature.signed.signed_at:.40} by {signature.signer:.100}")

    for step in (check_signed, _check_sums, _check_packed, _check_lines, _check_report):
        try:
            step(folder, checked)
        except UserError as error:
            checked.faults.append(str(error))
    checked.faults = list(dict.fromkeys(checked.faults))
    return checked


def _check_sums(folder: Path, checked: RunCheck) -> None:
    RunFolder.open(folder)  # refuses links
    files = {file.name for file in folder.iterdir() if file.is_file()}
    packed = {name for stem in STEMS for name in packed_files(folder, stem)}
    summed = {name for file in files if (name := summed_name(file))}
    without = [name for name in files - summed - {"questions.jsonl", SIGNATURE} if RUN_FILE.fullmatch(name)]
    if without := [name for name in without if (folder / name).stat().st_size and name not in packed]:
        checked.notes.append(f"written by an earlier version, or elsewhere, without sums: {_listed(without)}")
    for name in sorted(summed - packed):
        path = folder / name
        try:
            check = _check_journal if _JOURNAL.fullmatch(name) else _check_whole
            check(path, checked)
        except FileNotFoundError as error:
            checked.faults.append(f"{error.filename}: is gone, and with it what was written to it")
        except (OSError, ValueError):
            checked.faults.append(f"{sums_path(path)}: cannot be read, so nothing vouches for {name}")


def _check_whole(path: Path, checked: RunCheck) -> None:
    sums = read_sums(path)
    if len({row.file for row in sums if row.file}) < sum(bool(row.file) for row in sums):
        raise ValueError("a page is named twice")
    if sum_of(path) not in sums:
        checked.faults.append(f"{path}: is not what was written; {_remedy(path)}")
    for page in (row for row in sums if row.file):
        if not re.fullmatch(r"report/[\w.-]+\.html", page.file) or (path.parent / page.file).is_symlink():
            raise ValueError(page.file)
        if sum_of(path.parent / page.file).sha256 != page.sha256:
            checked.faults.append(f"{path.parent / page.file}: is not what was written; {_remedy(path)}")


def _remedy(path: Path) -> str:
    if path.name.startswith("report."):
        return f"`livek12 report {path.parent}` writes it again"
    return "take it from a copy" + (": it says what all answers are to" if path.name == "run.json" else "")


def _check_journal(path: Path, checked: RunCheck) -> None:
    size, end = path.stat().st_size, 0
    for row in sorted(read_sums(path), key=lambda row: row.start):
        if row.start < end or row.file:
            raise ValueError("stretches overlap")  # each byte is read once, whatever a stranger wrote
        if row.end > size:
            checked.faults.append(f"{path}: ends at byte {size:,} of {row.end:,}; what was written behind it is lost")
        elif sum_of(path, row.start, row.end) != row:
            what = f"bytes {row.start:,} to {row.end:,} are not what was written"
            checked.faults.append(f"{path}: {what}; take it from a copy. {_touched(path, row.start, row.end)}")
        if row.start > end:
            checked.notes.append(f"{path}: no sum covers bytes {end:,} to {row.start:,}")
        end = max(end, row.end)
    if size > end:
        checked.notes.append(
            f"{path}: no sum covers its last {size - end:,} bytes (a command is at work or was killed)"
        )


def _touched(path: Path, start: int, end: int) -> str:
    keys = set[str]()
    with path.open("rb") as file:
        file.seek(start)
        while (place := file.tell()) < end and (line := file.readline(end - place)):
            keys |= {"/".join(part.decode("utf-8", "replace") for part in key) for key in _KEY.findall(line)}
    return f"It touches one of {len(keys):,} answers ({_listed(keys)})" if keys else "It touches no answer"


def _listed(names: Any) -> str:
    first = sorted(names)
    return ", ".join(first[:_MOST_NAMED]) + (", …" if len(first) > _MOST_NAMED else "")


def _check_packed(folder: Path, checked: RunCheck) -> None:
    for stem in STEMS:
        if packed_path(folder, stem).exists():
            check_packed(folder, stem)


def _check_lines(folder: Path, checked: RunCheck) -> None:
    run = RunFolder.open(folder, checked.faults.append)
    spec = run.spec()
    questions = {(task, question.id): question for task, question in run.each_question()}
    counts = {task.name: sum(name == task.name for name, _ in questions) for task in spec.tasks}
    if wrong := [task.name for task in spec.tasks if task.questions != counts[task.name]]:
        checked.faults.append(
            f"{folder}/run.json: states {_listed(wrong)} with another number of questions than it has"
        )
    expected = run.expected()
    responses = Index(folder, "responses", Response, spec.trials, expected, wins=lambda new, old: False)
    expected.tell()
    orphans: dict[str, list[str]] = {}
    verdicts = (
        verdict for stem in ("verdicts", "repeats") for verdict in read_journal(folder, stem, Verdict, run.on_problem)
    )
    for verdict in watched(verdicts, "checking verdicts"):
        question = questions.get((verdict.key.task, verdict.key.question_id))
        if problem := _problem(verdict, question, responses.find(verdict.key)):
            orphans.setdefault(problem, []).append(str(verdict.key))
    checked.faults += [f"{folder}: {len(keys):,} verdicts {what}: {_listed(keys)}" for what, keys in orphans.items()]
    for _ in run.rows():
        pass
    for records in (run.earlier(), iter(run.failures()), iter(read_sessions(folder))):
        for _ in records:
            pass


def _problem(verdict: Verdict, question: Question | None, response: Response | None) -> str:
    if question is None or response is None:
        return "are on answers that are not there"
    if not fits(verdict, response):
        return "are on other texts than the responses"
    again = total(
        question, verdict.key, verdict.parts, GradingConfig(), "" if verdict.state == "graded" else verdict.state
    )
    same = all(_equal(getattr(verdict, name), getattr(again, name)) for name in ("points", "low", "high", "max_points"))
    return "" if same else "have other points than their parts"


def _equal(number: float | None, other: float | None) -> bool:
    return number is other or (number is not None and other is not None and isclose(number, other, abs_tol=1e-9))


def _check_report(folder: Path, checked: RunCheck) -> None:
    file = folder / "report.json"
    try:
        stored = json.loads(file.read_bytes())
        made = json.loads(json.dumps(score(RunFolder(folder, lambda line: None), stored["profile"])))
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise UserError(f"{file}: is no report ({error}); {_remedy(file)}") from error
    differences = list(_differences(stored, {**made, "run": None}))  # a sum vouches for run.json
    if differences:
        count = f" ({len(differences):,} numbers differ)" if len(differences) > 1 else ""
        checked.faults.append(f"{file}: {differences[0]}{count}; {_remedy(file)}")


def _differences(stored: Any, made: Any, place: str = "") -> Iterator[str]:
    if isinstance(stored, dict) and isinstance(made, dict):
        for name in stored.keys() & made.keys():
            yield from _differences(stored[name], made[name], f"{place}/{name}" if place else name)
    elif isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        for number, (one_stored, one_made) in enumerate(zip(stored, made, strict=True)):
            yield from _differences(one_stored, one_made, f"{place}/{number}")
    elif (
        made is not None
        and stored != made
        and not (isinstance(stored, float) and isinstance(made, float) and isclose(stored, made))
    ):
        yield f"{place} is {stored!r:.40}, and the lines make it {made!r:.40}"
