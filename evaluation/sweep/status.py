"""Status, cost and report of a sweep: one cell a model and task, read from run folders, notes and the queue.

A cell is done when every request has a response (or a failure that would repeat) and every response its verdict. An
unreadable folder, or one of another run, fails its own cells alone.

Hours are measured (`core.run.sessions`: an engine from before its load to its end, times its GPUs; GPUs behind an
endpoint do not count). Where a session saw no GPU, those stated in the file count. A run's hours are shared out to its
tasks: asking by the seconds of responses, else by completion tokens, else by number; judging by the seconds of
replies, else by number. A cost is GPU-hours times the stated price.

The report, OUT/sweep.json and OUT/sweep.html, has the cells, the comparison, the sessions and the gaps.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError, explain_errors
from livek12.core.files import write_atomically
from livek12.core.records import UNMARKED, EarlierReply, Failure, Response, Verdict
from livek12.core.run.access import check_out, has_responses
from livek12.core.run.folder import RunFolder
from livek12.core.run.sessions import Session, Stage, read_sessions
from livek12.core.run.spec import RunSpec, differences
from livek12.core.scoring import Row, profile_named
from livek12.core.scoring.metrics import ranking_metrics
from livek12.core.scoring.outcomes import Slim
from livek12.core.scoring.schema import TaskComparison
from livek12.evaluation.sweep import HTML_REPORT, JSON_REPORT, PlannedRun, SweepPlan
from livek12.evaluation.sweep.processes import WorkPlace, here

BY_SECONDS, BY_TOKENS, BY_NUMBER = "seconds of the responses", "completion tokens", "number of responses"


@dataclass
class Work:
    """Finished work of one task."""

    responses: int = 0
    seconds: float = 0.0
    untimed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    judge_seconds: float = 0.0
    judge_cost: float | None = None

    def add(self, response: Response, verdict: Verdict | None) -> None:
        """Counts one response and its judging calls."""
        self.responses += 1
        replies: list[Response | EarlierReply] = [response, *([response.earlier] if response.earlier else [])]
        self.seconds += sum(reply.seconds or 0.0 for reply in replies)
        self.untimed += any(reply.seconds is None for reply in replies)
        self.prompt_tokens += sum(reply.prompt_tokens or 0 for reply in replies)
        self.completion_tokens += sum(reply.completion_tokens or 0 for reply in replies)
        self.uncounted += any(reply.completion_tokens is None for reply in replies)
        for call in verdict.calls if verdict else ():
            if not call.remembered:
                self.judge_seconds += call.seconds or 0.0
                if call.cost is not None:
                    self.judge_cost = (self.judge_cost or 0.0) + call.cost


@dataclass(frozen=True)
class Bill:
    """A cell's part of the engines' time, in hours (None: unknown); `cost` in the currency of the price.

    `elsewhere`: an endpoint served the model, so that only the judges' GPU-hours are known.
    """

    hours: float
    gpu_hours: float | None
    judging_gpu_hours: float | None
    elsewhere: bool
    cost: float | None
    shared_by: str

    @property
    def counted(self) -> float | None:
        """GPU-hours on our own GPUs."""
        return self.judging_gpu_hours if self.elsewhere else self.gpu_hours


def bills(
    sessions: Sequence[Session],
    work: Mapping[str, Work],
    price: float | None,
    gpus: float | None = None,
    judging_gpus: float | None = None,
) -> dict[str, Bill]:
    """Bill of each task; `gpus` of each replica and `judging_gpus` of each judge are stated in the file."""
    asking, shared_by = _asking_shares(work)
    judging = _judging_shares(work)
    hours, gpu_hours = _spent(sessions, "generate", gpus)
    judged_hours, judged_gpu_hours = _spent(sessions, "judge", judging_gpus)
    elsewhere = any(kind_of(session.engine).place == "endpoint" for session in sessions if session.stage == "generate")
    by_task = {}
    for task in work:
        of_judges = None if judged_gpu_hours is None else judged_gpu_hours * judging[task]
        unknown = elsewhere or gpu_hours is None or of_judges is None
        total = None if unknown else (gpu_hours or 0.0) * asking[task] + (of_judges or 0.0)
        by_task[task] = Bill(
            hours=hours * asking[task] + judged_hours * judging[task],
            gpu_hours=total,
            judging_gpu_hours=of_judges,
            elsewhere=elsewhere,
            cost=None if price is None or total is None else total * price,
            shared_by=shared_by,
        )
    return by_task


def _spent(sessions: Iterable[Session], stage: Stage, stated: float | None) -> tuple[float, float | None]:
    mine = [session for session in sessions if session.stage == stage]
    taken = [_gpu_seconds(session, stated) for session in mine]
    counted = [seconds for seconds in taken if seconds is not None]
    return sum(session.seconds for session in mine) / 3600, sum(counted) / 3600 if len(counted) == len(taken) else None


def _gpu_seconds(session: Session, stated: float | None) -> float | None:
    if session.gpus or kind_of(session.engine).is_elsewhere:
        return session.gpu_seconds
    return None if stated is None else session.seconds * stated * session.replicas


def _asking_shares(work: Mapping[str, Work]) -> tuple[dict[str, float], str]:
    done = work.values()
    if sum(task.seconds for task in done) and not any(task.untimed for task in done):
        return _shares({name: task.seconds for name, task in work.items()}), BY_SECONDS
    if sum(task.completion_tokens for task in done) and not any(task.uncounted for task in done):
        return _shares({name: float(task.completion_tokens) for name, task in work.items()}), BY_TOKENS
    return _shares({name: float(task.responses) for name, task in work.items()}), BY_NUMBER


def _judging_shares(work: Mapping[str, Work]) -> dict[str, float]:
    if sum(task.judge_seconds for task in work.values()):
        return _shares({name: task.judge_seconds for name, task in work.items()})
    return _shares({name: float(task.responses) for name, task in work.items()})


def _shares(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {name: weight / total if total else 1 / len(weights) for name, weight in weights.items()}


State = Literal["done", "running", "waiting", "failed"]


@dataclass
class CellCounts:
    """Requests of a cell.

    `failed` requests are retried, `final` ones are not. `unjudged` responses wait for a judge, `ungraded` ones were
    undecided by all judges.
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
        """No work is missing."""
        return self.asked > 0 and self.answered + self.final == self.asked and not self.unjudged


@dataclass(frozen=True)
class Cell:
    """One model on one task; `counts` and `bill` are None until its run folder exists."""

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
        """The cell as JSON."""
        counts = asdict(self.counts) if self.counts else dict.fromkeys(CellCounts.__dataclass_fields__)
        bill = asdict(self.bill) if self.bill else dict.fromkeys(Bill.__dataclass_fields__)
        return {
            **{name: getattr(self, name) for name in ("label", "model", "task", "state", "reason", "by")},
            **counts,
            "prompt_tokens": self.work.prompt_tokens,
            "completion_tokens": self.work.completion_tokens,
            "responses_without_tokens": self.work.uncounted,
            "judge_cost": self.work.judge_cost,
            **bill,
        }


@dataclass
class RunTally:
    """One task of a run folder: counts, work, and the first failure to retry."""

    counts: CellCounts = field(default_factory=CellCounts)
    work: Work = field(default_factory=Work)
    failure: str = ""

    def add(self, row: Row, failure: Failure | None) -> None:
        """Counts one row; `failure` is the end of its last request."""
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
    """A run folder: tasks and sessions; empty before it exists.

    `problem`: why it is not the sweep's run, or "".
    """

    tallies: Mapping[str, RunTally]
    sessions: list[Session]
    problem: str = ""

    @property
    def unanswered(self) -> bool:
        """Requests are missing."""
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
    from livek12.evaluation.task_data import load_task_data, make_spec, sampling_of
    from livek12.tasks.registry import get_task

    tasks = {name: get_task(name) for name in run.tasks}
    hashes: dict[str, str] = {}
    if run.data and any(task.data != run.data for task in spec.tasks):  # moved, or another: the questions tell
        exam = load_task_data(run.data, list(tasks.values()), run.limit)
        made = make_spec(exam, spec.model, spec.engine, {}, run.trials, run.limit, run.sampling)
        hashes = {task.name: task.data_sha256 for task in made.tasks}
    now = {
        task.name: task.model_copy(
            update={
                "sampling": sampling_of(tasks[task.name], run.sampling, run.engine or spec.engine),
                "data_sha256": hashes.get(task.name, task.data_sha256),
            }
        )
        for task in spec.tasks
        if task.name in tasks
    }
    wanted = {
        # Recorded files name their model.
        "model": spec.model if kind_of(spec.engine).is_recorded else run.entry.name,
        "engine": run.engine or spec.engine,
        "engine_args": run.engine_args,
        "tasks": [now.get(task.name, task) for task in spec.tasks],
        "trials": run.trials,
        "limit": run.limit,
    }
    changes = differences(spec, spec.model_copy(update=wanted))
    was, names = sorted(task.name for task in spec.tasks), sorted(tasks)
    return changes if was == names else [*changes, f"tasks was {was!r}, now {names!r}"]


def _counted(folder: RunFolder) -> CellState:
    failures = folder.failures()
    tallies: dict[str, RunTally] = {}
    for row in folder.rows():
        failure = failures.get(f"{row.task}/{row.question.id}/{row.trial}")
        tallies.setdefault(row.task, RunTally()).add(row, failure)
    return CellState(tallies, read_sessions(folder.path))


def look(plan: SweepPlan, states: Mapping[str, CellState] | None = None) -> list[Cell]:
    """Cells, model by model."""
    states = states or {run.label: find(run) for run in plan.runs}
    places, judging = _whereabouts(plan), _judges_gpus(plan)
    return [cell for run in plan.runs for cell in _cells(run, states[run.label], places[run.label], judging)]


def _judges_gpus(plan: SweepPlan) -> float | None:
    return plan.sweep.slurm.judging.gpus if plan.sweep.backend == "slurm" else None


def _whereabouts(plan: SweepPlan) -> dict[str, WorkPlace]:
    if plan.sweep.backend == "slurm":
        from livek12.evaluation.sweep.slurm import places

        return places(plan)
    return {run.label: here(plan.work, run.label) for run in plan.runs}


def _cells(run: PlannedRun, content: CellState, place: WorkPlace, judging: float | None) -> list[Cell]:
    if content.problem:
        place = WorkPlace(state="failed", reason=content.problem)
    tallies = {task: content.tallies.get(task, RunTally()) for task in run.tasks}
    work = {task: tally.work for task, tally in tallies.items()}
    billed = bills(content.sessions, work, run.price, run.entry.gpus, judging)
    cells = []
    for task, tally in tallies.items():
        begun = task in content.tallies
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


def write_report(plan: SweepPlan, cells: Sequence[Cell], states: Mapping[str, CellState]) -> dict[str, Any]:
    """Writes both reports; returns the content of sweep.json."""
    comparison, why = _comparison(plan, states)
    report = {
        "sweep": json.loads(plan.sweep.model_dump_json()),
        "cells": [cell.as_json() for cell in cells],
        "missing": [missing for cell in cells if (missing := _missing(cell))],
        "totals": _totals(cells),
        "comparison": comparison,
        "not_compared": why,
        "sessions": {
            label: [session.model_dump(mode="json") for session in run.sessions] for label, run in states.items()
        },
    }
    with explain_errors(f"{plan.out}: cannot be made", "; choose another `out`"):
        plan.out.mkdir(parents=True, exist_ok=True)
    write_atomically(plan.out / JSON_REPORT, json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    _write_page(plan.out / HTML_REPORT, report, cells)
    return report


def _comparison(plan: SweepPlan, states: Mapping[str, CellState]) -> tuple[Any, str]:
    from livek12.core.run_answers import read_answers
    from livek12.core.scoring.comparison import compare_outcomes
    from livek12.core.scoring.report import score_outcomes

    profile, slim = profile_named(plan.sweep.profile), Slim()
    begun = [run for run in plan.runs if states[run.label].tallies]
    if not begun:
        return None, "no run has begun"
    try:
        outcomes = {run.label: read_answers(RunFolder(run.folder), slim).outcomes for run in begun}
        if len(outcomes) > 1:
            return compare_outcomes(outcomes, profile), ""
        ((label, own),) = outcomes.items()
        scored = score_outcomes(own, profile)
    except UserError as error:
        return None, str(error)
    tasks = {
        task: {
            "counts": {label: report["counts"]},
            "metrics": {name: {label: estimate} for name, estimate in report["metrics"].items()},
            "pairs": [],
            "ranks": {},
        }
        for task, report in scored["tasks"].items()
    }
    head = {name: scored[name] for name in ("formulas", "profile", "intervals", "parameters")}
    return {**head, "runs": [label], "tasks": tasks}, ""


def _missing(cell: Cell) -> str:
    if cell.state == "done":
        return ""
    lacks = "nothing of it is there"
    if counts := cell.counts:
        lacks = f"{counts.asked - counts.answered} of {counts.asked} responses"
        lacks += f" and the verdicts of {counts.unjudged}" if counts.unjudged else ""
    return f"{cell.label}, {cell.task}: {lacks} ({cell.state}{': ' + cell.reason if cell.reason else ''})"


def _totals(cells: Sequence[Cell]) -> dict[str, Any]:
    billed = [cell.bill for cell in cells if cell.bill]
    taken = [bill.counted for bill in billed]
    costs = [bill.cost for bill in billed]
    stated = [cost for cost in costs if cost is not None]
    return {
        "cells": len(cells),
        "done": sum(cell.state == "done" for cell in cells),
        "gpu_hours": None if None in taken else sum(gpu_hours or 0.0 for gpu_hours in taken),
        "hours": sum(bill.hours for bill in billed),
        "cost": sum(stated) if stated and len(stated) == len(costs) else None,
    }


def _write_page(path: Path, report: Mapping[str, Any], cells: Sequence[Cell]) -> None:
    from livek12.report.html import styled_page
    from livek12.report.marks import method_sentence, sentence
    from livek12.report.ranking import p_value

    comparison = report["comparison"]
    page = styled_page(
        "sweep.html.j2",
        "ingest.css",
        cells=[_cell_view(cell, comparison) for cell in cells],
        tasks=[_task_view(task, compared) for task, compared in ((comparison or {}).get("tasks") or {}).items()],
        **{name: report[name] for name in ("missing", "not_compared", "totals")},
        method=sentence(method_sentence(comparison)) if comparison else "",
        p_value=p_value,
        shared=sorted({cell.bill.shared_by for cell in cells if cell.bill}),
        hours=hours,
        money=money,
    )
    write_atomically(path, page)


def _cell_view(cell: Cell, comparison: Any) -> dict[str, Any]:
    from livek12.report.marks import shown

    metrics = ((comparison or {}).get("tasks", {}).get(cell.task) or {}).get("metrics", {})
    mark = metrics.get("mark", {}).get(cell.label)
    return {"cell": cell, "mark": shown("mark", mark) if mark else None}


def _task_view(task: str, compared: TaskComparison) -> dict[str, Any]:
    from livek12.report.marks import shown
    from livek12.report.ranking import about, rank_range, ranking

    estimates = compared["metrics"]
    metrics = [
        name for name in ranking_metrics() if any(e["low"] is not None for e in estimates.get(name, {}).values())
    ]
    columns = [
        [shown(name, estimates[name][label]) if label in estimates[name] else None for label in compared["counts"]]
        for name in metrics
    ]
    ranked = ranking(compared)
    tested = next((name for name in ranking_metrics() for pair in compared["pairs"] if name in pair["metrics"]), None)
    pairs = [
        (
            pair["a"],
            pair["b"],
            shown(tested, pair_metric["difference"]),
            pair_metric["test"],
            about(pair_metric["needed"]),
            pair["shared"],
        )
        for pair in compared["pairs"]
        if tested and (pair_metric := pair["metrics"].get(tested))
    ]
    return {
        "name": task,
        "metrics": metrics,
        "rows": [
            (label, rank_range(ranked, label), [column[row] for column in columns])
            for row, label in enumerate(compared["counts"])
        ],
        "tested": tested,
        "pairs": pairs,
    }


def hours(value: float | None) -> str:
    """Hours with the decimals that seconds need."""
    return "–" if value is None else f"{value:.3f}"


def money(value: float | None) -> str:
    """An amount, or a dash."""
    return "–" if value is None else f"{value:.2f}" if value >= 1 or value == 0 else f"{value:.4f}"
