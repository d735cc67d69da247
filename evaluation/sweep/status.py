"""How far a sweep is: one cell a model and task, all of it read from the run folders, the notes and the queue.

Contract: looking changes nothing. A cell is done when every request has a response (or one that would end the same
way again, such as a picture for a model without eyes) and every response its verdict; else it is running, waits, or
failed with the reason. A folder that cannot be read, or that holds another run than the file describes now, is the
failure of its own cells alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.records import UNMARKED, Failure
from livek12.core.run.access import check_out, has_responses
from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import Session, read_sessions
from livek12.core.run.spec import RunSpec, differences
from livek12.core.scoring import Row
from livek12.evaluation.sweep.cost import Bill, Work, bills
from livek12.evaluation.sweep.notes import WorkPlace, here
from livek12.evaluation.sweep.plan import PlannedRun, SweepPlan

State = Literal["done", "running", "waiting", "failed"]


@dataclass
class CellCounts:
    """What became of the requests of a cell.

    `failed` requests are asked again, `final` ones are not: they would end the same way. `unjudged` responses wait for
    a judge, while `ungraded` ones were seen by all judges, and none could decide.
    """

    asked: int = 0
    answered: int = 0
    failed: int = 0
    final: int = 0
    judged: int = 0
    ungraded: int = 0
    unjudged: int = 0

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.asked > 0 and self.answered + self.final == self.asked and not self.unjudged


@dataclass(frozen=True)
class Cell:
    """One model on one task; `counts` and `bill` are None until its run folder is there."""

    label: str
    model: str
    task: str
    state: State
    reason: str
    by: str
    counts: CellCounts | None
    work: Work
    bill: Bill | None

    def as_json(self) -> dict[str, Any]:
        """The cell for a program."""
        counts = asdict(self.counts) if self.counts else dict.fromkeys(CellCounts.__dataclass_fields__)
        bill = asdict(self.bill) if self.bill else dict.fromkeys(Bill.__dataclass_fields__)
        return {
            "label": self.label,
            "model": self.model,
            "task": self.task,
            "state": self.state,
            "reason": self.reason,
            "by": self.by,
            **counts,
            "prompt_tokens": self.work.prompt_tokens,
            "completion_tokens": self.work.completion_tokens,
            "responses_without_tokens": self.work.uncounted,
            "judge_cost": self.work.judge_cost,
            **bill,
        }


@dataclass
class RunTally:
    """One task of a run folder: what became of its requests, what was done, and the first failure to try again."""

    counts: CellCounts = field(default_factory=CellCounts)
    work: Work = field(default_factory=Work)
    failure: str = ""

    def add(self, row: Row, failure: Failure | None) -> None:
        """Counts one row; `failure` is how its last request ended, if it ended so."""
        self.counts.asked += 1
        if row.response is None:
            if failure is not None and (failure.final or failure.state == "unsupported"):
                self.counts.final += 1
            elif failure is not None:
                self.counts.failed += 1
                self.failure = self.failure or failure.reason
            return
        self.counts.answered += 1
        self.work.add(row.response, row.verdict)
        if row.verdict is None or row.verdict.judge == UNMARKED or row.verdict.waits:
            self.counts.unjudged += 1
        else:
            self.counts.judged += 1
            self.counts.ungraded += row.verdict.state == "ungraded"


@dataclass(frozen=True)
class CellState:
    """What a run folder holds: its tasks and its sessions; nothing where it is not there yet.

    `problem` says why what is there is not the run of the sweep; "" where it is.
    """

    tallies: Mapping[str, RunTally]
    sessions: list[Session]
    problem: str = ""

    @property
    def unanswered(self) -> bool:
        """Whether something is left to ask."""
        counts = [tally.counts for tally in self.tallies.values()]
        return not self.problem and (not counts or any(count.answered + count.final < count.asked for count in counts))


def find(run: PlannedRun) -> CellState:
    """Reads a run folder."""
    try:
        check_out(run.folder)
        if not (run.folder / "run.json").exists():
            return CellState({}, [])
        folder = RunFolder.open(run.folder)
        if different := _unlike(run, folder.spec()):
            if not has_responses(run.folder):
                return CellState({}, [])  # it gives way
            raise UserError(f"holds another run: {'; '.join(different)}; choose a new out or label")
        return _counted(folder)
    except UserError as error:
        return CellState({}, [], str(error))
    except OSError as error:
        return CellState({}, [], f"{run.folder}: cannot be read ({error.strerror})")


def _unlike(run: PlannedRun, spec: RunSpec) -> list[str]:
    """How the run in the folder differs from the one that the file describes now, a phrase each."""
    from livek12.evaluation.task_data import load_task_data, make_spec, sampling_of
    from livek12.tasks.registry import get_task

    asked = {name: get_task(name) for name in run.tasks}
    hashes: dict[str, str] = {}
    if run.data and any(task.data != run.data for task in spec.tasks):  # moved, or another: the questions tell
        exam = load_task_data(run.data, list(asked.values()), run.limit)
        made = make_spec(exam, spec.model, spec.engine, {}, run.trials, run.limit, run.sampling)
        hashes = {task.name: task.data_sha256 for task in made.tasks}
    now = {
        task.name: task.model_copy(
            update={
                "sampling": sampling_of(asked[task.name], run.sampling, run.engine or spec.engine),
                "data_sha256": hashes.get(task.name, task.data_sha256),
            }
        )
        for task in spec.tasks
        if task.name in asked
    }
    wanted = {
        # A recorded file says whose answers it has.
        "model": spec.model if kind_of(spec.engine).is_recorded else run.entry.name,
        "engine": run.engine or spec.engine,
        "engine_args": run.engine_args,
        "tasks": [now.get(task.name, task) for task in spec.tasks],
        "trials": run.trials,
        "limit": run.limit,
    }
    found = differences(spec, spec.model_copy(update=wanted))
    was, names = sorted(task.name for task in spec.tasks), sorted(asked)
    return found if was == names else [*found, f"tasks was {was!r}, now {names!r}"]


def _counted(folder: RunFolder) -> CellState:
    failures = folder.failures()
    tallies: dict[str, RunTally] = {}
    for row in folder.rows():
        failure = failures.get(f"{row.task}/{row.question.id}/{row.trial}")
        tallies.setdefault(row.task, RunTally()).add(row, failure)
    return CellState(tallies, read_sessions(folder.path))


def look(plan: SweepPlan, found: Mapping[str, CellState] | None = None) -> list[Cell]:
    """The cells, model by model.

    Args:
        plan: the sweep.
        found: what the run folders hold, where it is read already.

    Raises:
        UserError: what was submitted cannot be read.
    """
    found = found or {run.label: find(run) for run in plan.runs}
    places, judging = whereabouts(plan), judges_gpus(plan)
    return [cell for run in plan.runs for cell in _cells(run, found[run.label], places[run.label], judging)]


def judges_gpus(plan: SweepPlan) -> float | None:
    """GPUs that the file gives to the job that judges; None where it says nothing of them."""
    return plan.sweep.slurm.judging.gpus if plan.sweep.backend == "slurm" else None


def whereabouts(plan: SweepPlan) -> dict[str, WorkPlace]:
    """Where each run is."""
    if plan.sweep.backend == "slurm":
        from livek12.evaluation.sweep.slurm import places

        return places(plan)
    return {run.label: here(plan.work, run.label) for run in plan.runs}


def _cells(run: PlannedRun, found: CellState, place: WorkPlace, judging: float | None) -> list[Cell]:
    if found.problem:
        place = WorkPlace(state="failed", reason=found.problem)
    tallies = {task: found.tallies.get(task, RunTally()) for task in run.tasks}
    work = {task: tally.work for task, tally in tallies.items()}
    billed = bills(found.sessions, work, run.price, run.entry.gpus, judging)
    cells = []
    for task, tally in tallies.items():
        begun = task in found.tallies
        state, reason = _state(tally, place)
        cells.append(
            Cell(
                label=run.label,
                model=run.entry.name,
                task=task,
                state=state,
                reason=reason,
                by=place.by if state != "done" else "",
                counts=tally.counts if begun else None,
                work=tally.work,
                bill=billed[task] if begun else None,
            )
        )
    return cells


def _state(tally: RunTally, place: WorkPlace) -> tuple[State, str]:
    counts = tally.counts
    if counts.complete:
        return "done", f"{counts.final} cannot be asked" if counts.final else ""
    if place.state in ("running", "waiting"):
        return ("running" if place.state == "running" else "waiting"), place.reason
    if counts.failed:
        return "failed", f"{counts.failed} failed, the first: {tally.failure}"
    if place.state == "failed":
        return "failed", place.reason
    if counts.unjudged:
        return "waiting", f"{counts.unjudged} responses wait for a judge"
    return "waiting", "the same command goes on"
