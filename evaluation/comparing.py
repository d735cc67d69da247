"""Several run folders, read once and compared; sittings also by the place on the sheet, runs also by newer keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.key_versions import KeyBook
from livek12.core.progress import Progress, warn
from livek12.core.records import UNMARKED
from livek12.core.run.folder import RunFolder
from livek12.core.run.markings import RegradeCounts, in_words
from livek12.core.run.spec import RunSpec
from livek12.core.run_answers import read_answers
from livek12.core.schemes import is_by_scheme
from livek12.core.scoring import Comparison, Profile, Row
from livek12.core.scoring.comparison import Counterpart, Watch, compare_outcomes, delta
from livek12.core.scoring.outcomes import UNTOLD, Outcomes, Slim, SlimQuestion
from livek12.core.scoring.schema import Delta, KindMarks, SheetPosition, SittingCurve, parameters_of
from livek12.evaluation.choosing import Where
from livek12.evaluation.marking import judge
from livek12.evaluation.reporting import alike, beside, run_exams, run_usage, score_run, tasks_of
from livek12.evaluation.task_data import reload_task_data
from livek12.tasks.base import Task
from livek12.tasks.registry import get_task
from livek12.tasks.sheets import sheets_of

MOST_PAIRS = 15
"""Beyond these, pairs of runs are not compared by axis."""


def run_names(runs: Sequence[Path]) -> dict[str, Path]:
    """Folders by their shortest distinct names: of named models, or their own."""
    short = {RunFolder.open(path).spec().name or path.resolve().name: path for path in runs}
    return short if len(short) == len(runs) else {str(path): path for path in runs}


def named_groups(option: str, given: Iterable[str], runs: Collection[str]) -> dict[str, list[str]]:
    """Groups of runs by name, of texts NAME=RUN,RUN."""
    groups: dict[str, list[str]] = {}
    for text in given:
        name, sign, names = text.partition("=")
        members = [part.strip() for part in names.split(",") if part.strip()]
        if not sign or not name.strip() or not members:
            raise UserError(f"{option} {text!r}: write NAME=RUN,RUN,…")
        if strange := [run for run in members if run not in runs]:
            raise UserError(f"{option} {name}: {strange[0]!r} is none of the runs {', '.join(runs)}")
        if name.strip() in groups:
            raise UserError(f"{option} {name}: is named twice")
        groups[name.strip()] = members
    return groups


def compare_runs(runs: Sequence[Path], where: str = "", profile: Profile = "article") -> Comparison:
    """Two or more runs with intervals, and pair by pair with paired tests.

    `where` selects questions: "FIELD=VALUE[,VALUE]"; "" for all.
    """
    changes: dict[str, RegradeCounts] = {}
    outcomes = _read(run_names(runs), Where(where), changes)
    shared = Counter(task for run in outcomes.values() for task in run.by_task())
    steps = sum(tasks * (tasks + 1) // 2 for tasks in shared.values())
    watch = _Shown(steps)
    with watch.progress:
        comparison = compare_outcomes(outcomes, profile, watch=watch)
        specs = {name: RunFolder(path).spec() for name, path in run_names(runs).items()}
        comparison["variants"] = _variants(outcomes, specs, profile)
    by_task = {name: run.by_task() for name, run in outcomes.items()}
    for task, compared in comparison["tasks"].items():
        if tokens := _prompt_tokens({name: own[task] for name, own in by_task.items() if task in own}):
            compared["prompt_tokens"] = tokens
        if curves := _sittings(outcomes, specs, run_names(runs), profile):
            comparison["sittings"] = curves
    if not where:
        groups = {name: alike(tasks_of(specs[name])) for name in outcomes}
        exams = {
            name: run_exams(RunFolder(path), outcomes[name], groups[name], profile)
            for name, path in run_names(runs).items()
        }
        if sat := {name: each for name, each in exams.items() if each}:
            comparison["exams"] = sat
    if regraded := {name: summary for name, counts in changes.items() if (summary := counts.summary())}:
        comparison["regraded"] = regraded
    if kinds := _by_kind(run_names(runs), Where(where)):
        comparison["kinds"] = kinds
    if not where:  # the energy is that of all questions
        usage = {name: run_usage(path, outcomes[name]) for name, path in run_names(runs).items()}
        if measured := {name: each for name, each in usage.items() if each is not None}:
            comparison["usage"] = measured
    return comparison


def _by_kind(runs: Mapping[str, Path], where: Where) -> dict[str, dict[str, KindMarks]]:
    folders = {name: RunFolder(path) for name, path in runs.items()}
    with_scheme = (
        {(task, question.id) for task, question in run.each_question() if question.scheme and where.takes(question)}
        for run in folders.values()
    )
    shared = set.intersection(*with_scheme)
    return {name: _kinds(run.rows(questions=shared)) for name, run in folders.items()} if shared else {}


def _kinds(rows: Iterable[Row]) -> dict[str, KindMarks]:
    kinds: dict[str, KindMarks] = {}
    for row in rows:
        parts = row.verdict.parts if row.verdict else []
        if is_by_scheme(row.question, parts):
            scores = {part.name: part.score for part in parts}
            # The alternative that earns most is the one that counts.
            best = max(row.question.scheme, key=lambda own: sum(c.points * (scores[c.id] or 0.0) for c in own))
            for criterion in best:
                score, marks = (
                    scores[criterion.id],
                    kinds.setdefault(criterion.kind or "other", {"criteria": 0, "low": 0.0, "high": 0.0, "of": 0.0}),
                )
                marks["criteria"] += 1
                marks["of"] += criterion.points
                marks["low"] += criterion.points * (score or 0.0)
                marks["high"] += criterion.points * (1.0 if score is None else score)
    return dict(sorted(kinds.items()))


def _prompt_tokens(runs: Mapping[str, Outcomes]) -> dict[str, float]:
    """Mean prompt tokens of one input by run (LiveK12Bench, C.3); empty where the runs state none in common."""
    counts: dict[str, dict[str, int]] = {}
    for name, rows in runs.items():
        prompts = rows.used[:, 0]
        stated = rows.came & (prompts != UNTOLD)
        ids = (rows.questions[place].id for place in rows.question[stated])
        counts[name] = dict(zip(ids, prompts[stated].tolist(), strict=True))
    shared = set.intersection(*map(set, counts.values()))
    if len(runs) < 2 or not shared:
        return {}
    return {name: sum(own[id] for id in shared) / len(shared) for name, own in counts.items()}


class _Shown(Watch):
    def __init__(self, steps: int) -> None:
        self._signs = ""
        self.progress = Progress("comparing runs and pairs", steps, more=lambda: self._signs, patient=True)

    def step(self) -> None:
        self._signs = ""
        self.progress.step()

    def flipped(self, share: float) -> None:
        self._signs = f", random signs {share:.0%}"
        self.progress.beat()


def read_outcomes(runs: Sequence[Path]) -> dict[str, Outcomes]:
    """Outcomes of each run, by its name."""
    return _read(run_names(runs), Where(), {})


def _counterparts(specs: Mapping[str, RunSpec]) -> Iterator[tuple[str, str, str, Counterpart]]:
    pairs = list(combinations(specs, 2))
    for a, b in pairs if len(pairs) <= MOST_PAIRS else ():
        if specs[a].model == specs[b].model:
            for run, base_run in ((b, a), (a, b)):
                for task, bases in beside(tasks_of(specs[run]), tasks_of(specs[base_run])).items():
                    yield from ((run, task, base_run, base) for base in bases)


def _sittings(
    runs: Mapping[str, Outcomes], specs: Mapping[str, RunSpec], paths: Mapping[str, Path], profile: Profile
) -> list[SittingCurve]:
    curves = []
    for run, name, base_run, base in _counterparts(specs):
        task, sheet, others = get_task(name), runs[run].by_task().get(name), runs[base_run].by_task()
        alone = [others[each] for each in base.tasks if each in others]
        if task.sitting and sheet is not None and alone:
            names = f"{run}/{name}", f"{base_run}/{base.base}"
            folder = RunFolder.open(paths[run])
            curves.append(sitting_curve(names, task, folder, sheet, Outcomes.joined(alone), profile))
    return [each for each in curves if each is not None]


def _variants(runs: Mapping[str, Outcomes], specs: Mapping[str, RunSpec], profile: Profile) -> list[Delta]:
    """Only of one model, or the Δ would have two causes."""
    pairs = list(combinations(runs, 2))
    if len(pairs) > MOST_PAIRS:
        return []
    parameters = parameters_of(profile)
    by_task = {name: outcomes.by_task() for name, outcomes in runs.items()}
    deltas: list[Delta | None] = []

    def add(run: str, task: str, base_run: str, tasks: Sequence[str], base: str, differs: str) -> None:
        rows = by_task[run].get(task)
        other = [by_task[base_run][name] for name in tasks if name in by_task[base_run]]
        if rows is not None and other:
            names = f"{run}/{task}", f"{base_run}/{base}"
            deltas.append(delta(names[0], rows, names[1], Outcomes.joined(other), differs, profile, parameters))

    for a, b in pairs:
        if specs[a].adaptive or specs[b].adaptive:
            continue  # asked by choice, the shared questions are no fair sample
        for task in by_task[a]:
            add(b, task, a, [task], task, "the run")
        for run, task, base_run, base in _counterparts({a: specs[a], b: specs[b]}):
            add(run, task, base_run, base.tasks, base.base, base.differs)
    return [each for each in deltas if each is not None]


def _read(runs: Mapping[str, Path], where: Where, changes: dict[str, RegradeCounts]) -> dict[str, Outcomes]:
    for path in runs.values():  # all are there before the first is read
        RunFolder.open(path, warn)
    slim = Slim()
    by_run: dict[str, Outcomes] = {}
    judges: set[str] = set()
    with Progress("reading runs", len(runs), patient=True) as progress:
        for name, path in runs.items():
            read = read_answers(RunFolder(path, warn), slim, where.takes if where else None)
            by_run[name], changes[name] = read.outcomes, read.changes
            judges |= read.judges
            progress.step()
    rules = sorted({in_words(judge.partition(" ")[0]) for judge in judges - {UNMARKED}})
    if len(rules) > 1:
        warn(f"answers are marked by {' and '.join(rules)}: `livek12 judge RUN` marks anew what older rules marked")
    for name, outcomes in by_run.items():
        if not len(outcomes):
            raise where.nothing(name, RunFolder(runs[name]))
    return by_run


PIECES = 5


def pieces_of(task: Task, run: RunFolder) -> dict[str, int]:
    """Each question's fifth of its sheet, from 0."""
    return {
        question.id: PIECES * place // len(sheet.questions)
        for sheet in sheets_of(task, run.questions()[task.name])
        for place, question in enumerate(sheet.questions.values())
    }


def sitting_curve(
    names: tuple[str, str], task: Task, run: RunFolder, sheet: Outcomes, alone: Outcomes, profile: Profile
) -> SittingCurve | None:
    """Marks by position; `names` are those of task and base. None without pairs."""
    places, shared = pieces_of(task, run), {question.id for question in alone.asked()}
    positions = []
    for piece in range(PIECES):
        ids = {id for id, place in places.items() if place == piece} & shared
        takes = partial(_is_in, ids)
        own, other = sheet.where(takes), alone.where(takes)
        pair = delta(names[0], own, names[1], other, task.differs, profile, parameters_of(profile)) if ids else None
        if pair is None:
            continue
        metric = "mark" if "mark" in pair["metrics"] else "accuracy"
        positions.append(
            SheetPosition(
                position=f"{100 * piece // PIECES}–{100 * (piece + 1) // PIECES} %",
                questions=pair["shared"],
                alone=_mean_share(other),
                sheet=_mean_share(own),
                skipped=sum(n for finding, n in own.numbers() if finding.state == "no_answer") / len(own),
                metric=metric,
                difference=pair["metrics"][metric],
            )
        )
    return SittingCurve(task=names[0], base=names[1], positions=positions) if positions else None


def _is_in(ids: set[str], question: SlimQuestion) -> bool:
    return question.id in ids


def _mean_share(outcomes: Outcomes) -> list[float]:
    low, high = outcomes.findings.share[outcomes.finding].mean(axis=0).tolist()
    return [low, high]


Bounds = tuple[float, float]
_Answer = tuple[str, str, int]
"""Task, question and trial."""


@dataclass(frozen=True)
class MovedMark:
    """Points of a run in a task before and after, and its rank among the runs."""

    run: str
    task: str
    before: Bounds
    after: Bounds
    of: float
    rank_before: str
    rank_after: str
    moved: int

    @property
    def line(self) -> str:
        """In words."""
        moved = f"{self.moved} {'answer' if self.moved == 1 else 'answers'} moved"
        marks = f"{_points(self.before)} → {_points(self.after)} of {self.of:g}"
        return f"{self.run}, {self.task}: {marks}, rank {self.rank_before} → {self.rank_after}; {moved}"


def _points(bounds: Bounds) -> str:
    low, high = (f"{round(value, 4):g}" for value in bounds)
    return low if low == high else f"{low}–{high}"


@dataclass(frozen=True)
class Remarking:
    """Marks, moved answers by question, and open answers."""

    marks: list[MovedMark]
    questions: dict[str, int]
    open: int

    def lines(self) -> list[str]:
        """In words, the best run first."""
        moved = [f"{id}: {count} answers moved" for id, count in self.questions.items()]
        ranked = sorted(self.marks, key=lambda mark: (mark.task, mark.rank_after))
        still = [f"{self.open} answers are still open: livek12 judge RUN --judge MODEL"] if self.open else []
        return [*moved, *(mark.line for mark in ranked), *still]

    def as_json(self) -> dict[str, Any]:
        """For programs."""
        return asdict(self)


def check_runs(runs: Sequence[Path], data: Path, book: KeyBook, ids: Sequence[str]) -> None:
    """Refuses runs without these questions, or of other key versions."""
    for path in runs:
        folder = RunFolder.open(path, warn)
        if not {id for _, id in folder.asked()} & {*ids}:
            raise UserError(f"{path}: holds no question of {data}; name runs on this data set")
        own = folder.key_book()
        if not (own.extends(book) or book.extends(own)):
            raise UserError(f"{path}: holds other key versions than {data}; it is a run on another data set")


def mark_again(runs: Sequence[Path], book: KeyBook) -> Remarking:
    """Gives runs the newest keys, re-marks by the rules, and writes reports."""
    names = run_names(runs)
    before = {name: _marks(path) for name, path in names.items()}
    for path in names.values():
        folder = RunFolder.open(path, warn)
        folder.take_keys(book)
        judge(folder, unmarked=True)
        if problem := score_run(folder, "article", reload_task_data(folder)).write():
            warn(problem)
    after = {name: _marks(path) for name, path in names.items()}
    moved = {name: [key for key in after[name] if before[name].get(key) != after[name][key]] for name in names}
    marks = []
    for name in names:
        for task in dict.fromkeys(task for task, _, _ in after[name]):
            sums = [{run: _sum(all_[run], task) for run in names} for all_ in (before, after)]
            ranks = [_rank(of, name) for of in sums]
            of = sum(worth for (own, _, _), (_, _, worth) in after[name].items() if own == task)
            count = sum(own == task for own, _, _ in moved[name])
            marks.append(MovedMark(name, task, sums[0][name], sums[1][name], of, ranks[0], ranks[1], count))
    questions = Counter(question for keys in moved.values() for _, question, _ in keys)
    undecided = sum(low < high for of in after.values() for low, high, _ in of.values())
    return Remarking(marks, dict(sorted(questions.items())), undecided)


def _marks(run: Path) -> dict[_Answer, tuple[float, float, float]]:
    marks = {}
    for row in RunFolder.open(run).rows(texts=False):
        worth = row.verdict.max_points if row.verdict else row.question.points or 1.0
        low, high = (row.verdict.low, row.verdict.high) if row.verdict else (0.0, worth)
        marks[row.task, row.question.id, row.trial] = (low, high, worth)
    return marks


def _sum(marks: Mapping[_Answer, tuple[float, float, float]], task: str) -> Bounds:
    own = [(low, high) for (name, _, _), (low, high, _) in marks.items() if name == task]
    return sum(low for low, _ in own), sum(high for _, high in own)


def _rank(sums: Mapping[str, Bounds], run: str) -> str:
    low, high = sums[run]
    others = [bounds for name, bounds in sums.items() if name != run]
    best, worst = (1 + sum(least > high for least, _ in others), 1 + sum(most > low for _, most in others))
    return f"{best}" if best == worst else f"{best}–{worst}"
