"""Items of an exam over the runs of several models: difficulty, discrimination, suspect keys, a two-parameter fit.

Difficulty is the share of fully right answers, as bounds. Discrimination is the item-rest correlation; ability is the
mean of right-or-wrong less the question's mean, so that runs need not share all questions. Undecided answers are in
neither. The fit is girth's (expected a posteriori, which shrinks slopes of few runs), each trial a sitting:
P(right) = 1 / (1 + e^(-a(θ - b))).

`suspicion` compares the chance of all answers if the key is right with that if another answer is. Under each, a run is
right with 1/(1 + e^-(s(θ - b))), θ the logit of its right share on the other questions, s a common slope, b an unknown
difficulty (normal prior, summed over a grid); other runs agree as an attractive distractor makes them (a Pólya urn).
Before any answer, each other option is as likely the right one, whether a run gave it or not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import exp, lgamma, log
from pathlib import Path
from statistics import StatisticsError
from statistics import correlation as pearson
from typing import Any, NamedTuple

from livek12.core.errors import UserError, install
from livek12.core.lazy import np
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Key, Question
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import outcome_bounds
from livek12.core.statistics import Floats, Indices, kendall_tau, mean_std
from livek12.core.text import folded, one_line
from livek12.evaluation.choosing import ANY, AnswerChoice, QuestionKey, exam_of, one_way
from livek12.evaluation.studies import Study, all_numbers, number, percent
from livek12.judges.grade import GradingConfig, grade
from livek12.judges.jury import JudgeOptions, Jury
from livek12.report.charts import Chart, PlotPoint, Series
from livek12.report.marks import rounded
from livek12.report.paper import anchor_of
from livek12.report.tables import TableShown

SLOPE = 1.2
"""s; the mean of two-parameter fits is near it."""
SPREAD = 1.5
"""Standard deviation of b."""
STICKY, KINDS = 0.5, 6
"""The urn of wrong answers: initial weight of each kind, and number of kinds."""
SameAnswer = Callable[[Question, tuple[str, ...], tuple[str, ...]], bool]


@contextmanager
def same_by_rules() -> Iterator[SameAnswer]:
    """Compares two answers by the rules, one as the key."""
    config = GradingConfig()
    with Jury(JudgeOptions()) as jury:

        def same(question: Question, first: tuple[str, ...], other: tuple[str, ...]) -> bool:
            if len(first) != len(other):
                return False
            if question.question_type in CHOICE_TYPES and max(map(len, (*first, *other)), default=0) == 1:
                return first == other
            named = [v.model_copy(update={"value": text}) for v, text in zip(question.variables, first, strict=False)]
            keyed = question.model_copy(update={"answer": list(first), "variables": named})
            key = Key(task="same", question_id=question.id)
            return grade(keyed, key, list(other), config=config, cascade=jury.cascade).correct is True

        yield same


class AnswerSaid(NamedTuple):
    """Decided answer of a run; trials of a run share its weight of 1."""

    run: str
    right: bool
    parts: tuple[str, ...]
    weight: float


class Suspicion(NamedTuple):
    """Chance that the key is wrong, the likeliest other answer, and its number of runs."""

    chance: float
    agreed: tuple[str, ...]
    runs: int


_KEY = -1


def suspicion(
    question: Question, answers: Sequence[AnswerSaid], abilities: Mapping[str, float], same: SameAnswer, prior: float
) -> Suspicion:
    """Chance that the key is wrong, from the decided answers and the runs' abilities (logits)."""
    kinds, groups = _grouped(question, answers, same)
    if not kinds:
        return Suspicion(0.0, (), 0)
    logs = _fits(len(kinds), answers, groups, abilities)
    possible = max(len(kinds), len(question.options) - 1 if question.options else KINDS)
    others = {kind: logs[kind] + log(prior / possible) for kind in range(len(kinds))}
    best = max(others, key=lambda kind: others[kind])
    key = logs[_KEY] + log(1 - prior)
    chance = 1 - exp(key - _log_sum([key, *others.values()]))
    runs = {answer.run for answer, group in zip(answers, groups, strict=True) if group == best}
    return Suspicion(chance, kinds[best], len(runs))


def _grouped(
    question: Question, answers: Sequence[AnswerSaid], same: SameAnswer
) -> tuple[list[tuple[str, ...]], list[int]]:
    """Different wrong answers, and the group of each answer (_KEY: right)."""
    kinds: list[tuple[str, ...]] = []
    spellings: dict[tuple[str, ...], int] = {}
    groups = []
    for answer in answers:
        if answer.right:
            groups.append(_KEY)
            continue
        spelt = tuple(folded(part) for part in answer.parts)
        if spelt not in spellings:
            alike = (place for place, kind in enumerate(kinds) if same(question, kind, answer.parts))
            if (place := next(alike, None)) is None:
                place = len(kinds)
                kinds.append(answer.parts)
            spellings[spelt] = place
        groups.append(spellings[spelt])
    return kinds, groups


def _fits(
    kinds: int, answers: Sequence[AnswerSaid], groups: Sequence[int], abilities: Mapping[str, float]
) -> list[float]:
    """Log-chance of all answers under each kind of wrong answer and, last, the key; difficulty summed out.

    A right answer has a wrong one's log-chance plus its logit.
    """
    places, prior = _grid()
    weights, of = np.array([answer.weight for answer in answers]), np.array(groups)
    logits = SLOPE * (np.array([abilities[answer.run] for answer in answers])[:, None] - places)
    wrong = prior - weights @ np.logaddexp(0.0, logits)
    own = weights[:, None] * logits
    given = np.eye(kinds + 1)[of]  # the key is the last one
    total = wrong + given.T @ own
    most = total.max(axis=1)
    logs = most + np.log(np.exp(total - most[:, None]).sum(axis=1))
    counts = (weights @ given).tolist()
    drawn = [_drawn(n) for n in counts]
    return [float(logs[kind]) + _urn(sum(counts) - counts[kind], sum(drawn) - drawn[kind]) for kind in range(kinds + 1)]


@cache
def _grid() -> tuple[Floats, Floats]:
    places = np.linspace(-4.0, 4.0, 33)
    weights = np.exp(-((places / SPREAD) ** 2) / 2)
    return places, np.log(weights / weights.sum())


def _urn(count: float, drawn: float) -> float:
    """Log of the chance of a sequence of kinds (Pólya urn) of so many, perhaps fractions, whose `_drawn` are added."""
    whole = KINDS * STICKY
    return lgamma(whole) - lgamma(whole + count) + drawn


@cache
def _drawn(count: float) -> float:
    return lgamma(STICKY + count) - lgamma(STICKY)


def _log_sum(logs: Sequence[float]) -> float:
    most = max(logs)
    return most + log(sum(exp(value - most) for value in logs))


FEWEST_RUNS = 3
"""Fewer runs give no useful correlation."""
SUSPECT, FIRST = 0.3, 20
"""Chance from which a key is listed, and the number of likeliest keys that are listed if their chance has doubled."""


class Answered(NamedTuple):
    """An answer in an item study; `right` None: undecided or missing; `said` the parts' answers."""

    right: bool | None
    low: float
    high: float
    said: tuple[str, ...]
    seconds: float | None
    tokens: int | None


@dataclass
class ExamItem:
    """One question with its answers by run; `task` of the first run, `tasks` by run."""

    task: str
    question: Question
    answers: dict[str, list[Answered]] = field(default_factory=lambda: defaultdict(list))
    tasks: dict[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str]:
        """Its name in results."""
        return self.task, self.question.id

    def scores(self) -> dict[str, float]:
        """Right share of the decided answers, of each run with some."""
        decided = {run: [a.right for a in given if a.right is not None] for run, given in self.answers.items()}
        return {run: sum(marks) / len(marks) for run, marks in decided.items() if marks}

    def said(self) -> list[AnswerSaid]:
        """Decided answers with text; the trials of a run together weigh one."""
        answers = []
        for run, given in self.answers.items():
            usable = [answer for answer in given if answer.right is not None and any(answer.said)]
            answers += [AnswerSaid(run, bool(a.right), a.said, 1 / len(usable)) for a in usable]
        return answers


def read_items(runs: Mapping[str, Iterable[Row]], choice: AnswerChoice = ANY) -> list[ExamItem]:
    """Items of several runs, by exam and question."""
    items: dict[QuestionKey, ExamItem] = {}
    exam = cache(exam_of)
    for run, rows in one_way(runs, choice).items():
        for row in rows:
            key = exam(row.task), row.question.id
            item = items.get(key) or items.setdefault(key, ExamItem(row.task, row.question))
            item.answers[run].append(_answered(row))
            item.tasks[run] = row.task
    if not items:
        raise UserError("there are no answers: give run folders with answers to the same questions")
    return [items[key] for key in sorted(items)]


def _answered(row: Row) -> Answered:
    _, (low, high) = outcome_bounds(row)
    parts, response = row.verdict.parts if row.verdict else [], row.response
    return Answered(
        right=bool(low) if low == high else None,
        low=low,
        high=high,
        said=tuple(part.answer or "" for part in parts),
        seconds=response.seconds if response else None,
        tokens=response.completion_tokens if response else None,
    )


def items_study(
    items: Sequence[ExamItem], same: SameAnswer, step: Callable[[], None] = lambda: None, prior: float = 0.03
) -> dict[str, Any]:
    """Difficulty, discrimination, open share and time of each question, and suspect keys.

    `prior` is the assumed share of wrong keys; `step` is called after each item.
    """
    runs = sorted({run for item in items for run in item.answers})
    if len(runs) < FEWEST_RUNS:
        raise UserError(f"items needs the runs of {FEWEST_RUNS} models or more on the same questions, not {len(runs)}")
    scores = [item.scores() for item in items]
    rest = _Rest(scores)
    rows, suspects = [], []
    for item, own in zip(items, scores, strict=True):
        seen = _row(item, rest.discrimination(own))
        doubt = suspicion(item.question, item.said(), rest.abilities(own), same, prior)
        step()
        rows.append(seen)
        if doubt.chance >= min(SUSPECT, 2 * prior) or (seen["discrimination"] or 0.0) < 0:
            suspects.append(_suspect(item, seen, doubt, len(runs)))
    suspects.sort(key=lambda suspect: (-suspect["chance"], suspect["discrimination"] or 0.0))
    suspects[FIRST:] = [s for s in suspects[FIRST:] if s["chance"] >= SUSPECT or (s["discrimination"] or 0.0) < 0]
    values = [row["discrimination"] for row in rows if row["discrimination"] is not None]
    return {
        "runs": runs,
        "questions": len(rows),
        "negative": sum(value < 0 for value in values),
        "without_discrimination": len(rows) - len(values),
        "prior": prior,
        "suspects": suspects,
        "items": rows,
    }


class _Rest:
    """Abilities of the runs on all items but one."""

    def __init__(self, scores: Sequence[Mapping[str, float]]) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._rights: defaultdict[str, float] = defaultdict(float)
        self._counts: defaultdict[str, int] = defaultdict(int)
        for own in scores:
            mean = _mean(own)
            for run, score in own.items():
                self._sums[run] += score - mean
                self._rights[run] += score
                self._counts[run] += 1

    def centred(self, own: Mapping[str, float]) -> dict[str, float]:
        """By run, the mean of right less the items' means over the other items."""
        mean = _mean(own)
        others = {run: self._counts[run] - 1 for run in own}
        return {run: (self._sums[run] - own[run] + mean) / n for run, n in others.items() if n}

    def abilities(self, own: Mapping[str, float]) -> dict[str, float]:
        """By run, the logit of its right share on the other items (one right and one wrong added)."""
        logits = {}
        for run, count in self._counts.items():
            n, right = count - (run in own), self._rights[run] - own.get(run, 0.0)
            logits[run] = log((right + 1) / (n - right + 1))
        return logits

    def discrimination(self, own: Mapping[str, float]) -> float | None:
        """Item-rest correlation; None without spread or with fewer than three runs."""
        rest = self.centred(own)
        return correlation([own[run] for run in rest], list(rest.values())) if len(rest) >= FEWEST_RUNS else None


def correlation(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's r; None without spread."""
    try:
        return pearson(x, y)
    except StatisticsError:
        return None


def _mean(own: Mapping[str, float]) -> float:
    return sum(own.values()) / len(own) if own else 0.0


def _row(item: ExamItem, discrimination: float | None) -> dict[str, Any]:
    given = [answer for answers in item.answers.values() for answer in answers]
    seconds, _ = mean_std([answer.seconds for answer in given if answer.seconds is not None])
    tokens, _ = mean_std([float(answer.tokens) for answer in given if answer.tokens is not None])
    return {
        "task": item.task,
        "question_id": item.question.id,
        "runs": len(item.answers),
        "answers": len(given),
        "difficulty_low": sum(answer.low for answer in given) / len(given),
        "difficulty_high": sum(answer.high for answer in given) / len(given),
        "undecided": sum(answer.right is None for answer in given) / len(given),
        "discrimination": discrimination,
        "seconds": seconds,
        "tokens": tokens,
    }


def _suspect(item: ExamItem, seen: Mapping[str, Any], doubt: Suspicion, runs: int) -> dict[str, Any]:
    others = {run: task for run, task in item.tasks.items() if task != item.task}
    return {
        "task": item.task,
        "question_id": item.question.id,
        "chance": doubt.chance,
        "discrimination": seen["discrimination"],
        "right_low": seen["difficulty_low"],
        "right_high": seen["difficulty_high"],
        "key": one_line("; ".join(item.question.answer)),
        "agreed": one_line("; ".join(filter(None, doubt.agreed))),
        "agreed_runs": doubt.runs,
        "of_runs": runs,
        **({"asked_as": others} if others else {}),
    }


def linked(suspects: Sequence[dict[str, Any]], folders: Mapping[str, Path]) -> None:
    """Adds links to graded papers to each suspect."""
    papers = {run: path / "report.html" for run, path in folders.items()}
    papers = {run: paper for run, paper in papers.items() if paper.is_file()}
    for suspect in suspects:
        suspect["papers"] = [
            f"{paper}#{anchor_of(suspect.get('asked_as', {}).get(run, suspect['task']), suspect['question_id'])}"
            for run, paper in papers.items()
        ]


def plan(suspects: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A label plan with the first answer of each run to each suspect question."""
    names = ("task", "question_id")
    return [{**{name: suspect[name] for name in names}, "trial": 0, "stratum": "suspect key"} for suspect in suspects]


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result in sentences."""
    yield (
        f"{result['questions']} questions over {len(result['runs'])} runs: {result['negative']} have a negative"
        f" discrimination; {result['without_discrimination']} have none, since all or no decided answers are right or"
        " too few are decided."
    )
    sure = [suspect for suspect in result["suspects"] if suspect["chance"] >= SUSPECT]
    if sure:
        yield (
            f"{len(sure)} keys look wrong from what the models answered (chance {percent(SUSPECT)} or more, with"
            f" {percent(result['prior'])} before any answer was seen). A person should look at each."
        )
    for key in sure[:FIRST]:
        yield (
            f"{key['task']}/{key['question_id']}: the key is {key['key'] or '(empty)'}; {key['agreed_runs']}"
            f" of {key['of_runs']} runs say {key['agreed']}. Chance {percent(key['chance'])}, discrimination"
            f" {number(key['discrimination'])}."
        )
    if len(sure) > FIRST:
        yield f"{len(sure) - FIRST:,} more are in the table."


ABILITIES = (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
ITERATIONS = 25
SEED = 0
SPLITS = 50
"""Random halves of the runs, to validate a choice."""
FEWEST_CHOOSING = 6


def fit(items: Sequence[ExamItem]) -> dict[str, Any]:
    """Difficulty b and discrimination a of each item, and the test information {ability: sum of a²P(1-P)}.

    Items that all sittings, or none, have right carry no information and have neither.
    """
    try:
        from girth import tag_missing_data, twopl_mml_eap
    except ImportError:
        raise UserError(f"the two-parameter fit needs girth: {install('stats')}") from None
    sittings, marks = _matrix(items)
    telling = [place for place, row in enumerate(marks) if len({*row.tolist()} & {0, 1}) == 2]
    if len(sittings) < 3 or len(telling) < 3:
        raise UserError(
            f"a two-parameter fit needs 3 sittings and 3 questions that some have right and some wrong, not"
            f" {len(sittings)} and {len(telling)}"
        )
    fitted = twopl_mml_eap(tag_missing_data(marks[telling], [0, 1]), options={"max_iteration": ITERATIONS})
    slopes, places = np.asarray(fitted["Discrimination"]), np.asarray(fitted["Difficulty"])
    chances = 1 / (1 + np.exp(-slopes[:, None] * (np.array(ABILITIES)[None] - places[:, None])))
    information = (slopes[:, None] ** 2 * chances * (1 - chances)).sum(axis=0)
    return {
        "items": [
            {"task": items[place].task, "question_id": items[place].question.id, "a": float(a), "b": float(b)}
            for place, a, b in zip(telling, slopes, places, strict=True)
        ],
        "untold": len(items) - len(telling),
        "sittings": {name: float(ability) for name, ability in zip(sittings, fitted["Ability"], strict=True)},
        "information": {str(ability): float(value) for ability, value in zip(ABILITIES, information, strict=True)},
    }


def _matrix(items: Sequence[ExamItem]) -> tuple[list[str], Indices]:
    """Sittings, and right (1), wrong (0) or missing (-1), shape (items, sittings)."""
    sat = ((run, len(given)) for item in items for run, given in item.answers.items())
    names = sorted({(run, trial) for run, trials in sat for trial in range(trials)})
    marks: Indices = np.full((len(items), len(names)), -1, dtype=np.intp)
    for row, item in zip(marks, items, strict=True):
        for place, (run, trial) in enumerate(names):
            given = item.answers.get(run, [])
            if trial < len(given) and (right := given[trial].right) is not None:
                row[place] = int(right)
    return [f"{run}/{trial}" for run, trial in names], marks


def choose(items: Sequence[ExamItem], size: int, seed: int = SEED) -> dict[str, Any]:
    """Of each of `size` layers of like difficulty the question that discriminates best.

    Cross-validated over `SPLITS` random halves of the runs: one half chooses, the other gives the mean absolute error
    of the accuracy and Kendall's τ against all questions.
    """
    runs, shares = _shares(items)
    if len(runs) < FEWEST_CHOOSING:
        raise UserError(
            f"--choose tries its choice on half of the runs and needs {FEWEST_RUNS} or more, not {len(runs)}"
        )
    if not 1 <= size < len(items):
        raise UserError(f"--choose {size}: there are {len(items)} questions; choose fewer")
    rng, chosen, drawn = np.random.default_rng(seed), [], []
    for _ in range(SPLITS):
        order = rng.permutation(len(runs))
        by, on = order[: len(runs) // 2], order[len(runs) // 2 :]
        chosen.append(_cost(shares[:, on], _telling(shares[:, by], size)))
        drawn.append(_cost(shares[:, on], rng.choice(len(items), size, replace=False).tolist()))
    return {
        "questions": [
            {"task": items[place].task, "question_id": items[place].question.id}
            for place in sorted(_telling(shares, size))
        ],
        "halves": SPLITS,
        "chosen": _means(chosen),
        "by_chance": _means(drawn),
    }


def _cost(shares: Floats, places: Sequence[int]) -> tuple[float, float | None]:
    """Mean absolute error of the accuracies, and τ of the rankings (None: no ranking)."""
    whole, part = shares.mean(axis=0), shares[places].mean(axis=0)
    return float(np.abs(part - whole).mean()), kendall_tau(whole.tolist(), part.tolist())


def _means(costs: Sequence[tuple[float, float | None]]) -> dict[str, Any]:
    taus = [tau for _, tau in costs if tau is not None]
    error, _ = mean_std([error for error, _ in costs])
    return {"error": error, "tau": mean_std(taus)[0], "rankings": len(taus)}


def _shares(items: Sequence[ExamItem]) -> tuple[list[str], Floats]:
    """Right shares, shape (items, runs); an item's mean where a run has no decided answer."""
    runs = sorted({run for item in items for run in item.answers})
    shares = np.empty((len(items), len(runs)))
    for row, item in zip(shares, items, strict=True):
        own: Mapping[str, float] = item.scores()
        mean = sum(own.values()) / len(own) if own else 0.0
        row[:] = [own.get(run, mean) for run in runs]
    return runs, shares


def _telling(shares: Floats, size: int) -> list[int]:
    """Of each layer of like difficulty the question that discriminates best."""
    centred = shares - shares.mean(axis=1, keepdims=True)
    rest = centred.sum(axis=0) - centred
    rest -= rest.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).sum(axis=1) * (rest**2).sum(axis=1))
    correlations = np.divide((centred * rest).sum(axis=1), spread, out=np.full(len(shares), -1.0), where=spread > 1e-12)
    layers = np.array_split(np.argsort(shares.mean(axis=1), kind="stable"), size)
    return [int(layer[correlations[layer].argmax()]) for layer in layers]


def charts(result: Mapping[str, Any]) -> Iterator[Chart]:
    """Difficulty against discrimination; test information where it was fitted."""
    suspect = {(item["task"], item["question_id"]) for item in result["suspects"]}
    located = [item for item in result["items"] if item["discrimination"] is not None]
    places: dict[bool, list[PlotPoint]] = {True: [], False: []}
    for item in sorted(located, key=_right):
        places[(item["task"], item["question_id"]) in suspect].append(
            PlotPoint(100 * _right(item), item["discrimination"], item["discrimination"])
        )
    yield Chart(
        "How easy questions are, and how well they tell models apart",
        "Each mark is a question; of half-decided ones the middle. Below 0 stronger models do worse than weaker ones.",
        "right answers, %",
        [Series("question", places[False]), Series("suspect key", places[True])],
        percent=False,
        joined=False,
        bottom=-1.0,
        top=1.0,
        across=(0.0, 100.0),
    )
    if "irt" in result:
        information = result["irt"]["information"].items()
        yield Chart(
            "Where the exam tells models apart",
            "Test information of the two-parameter fit, by ability in standard deviations of the models.",
            "ability",
            [Series("information", [PlotPoint(float(ability), value, value) for ability, value in information])],
            percent=False,
        )


def _right(item: Mapping[str, Any]) -> float:
    return float(item["difficulty_low"] + item["difficulty_high"]) / 2


def tables(result: Mapping[str, Any]) -> Iterator[TableShown]:
    """Suspect keys, the representative choice, and all questions."""
    yield TableShown(
        "Keys to check",
        ["question", "key", "models say", "how many", "chance", "discrimination"],
        [
            [
                f"{suspect['task']}/{suspect['question_id']}",
                suspect["key"],
                suspect["agreed"],
                f"{suspect['agreed_runs']} of {suspect['of_runs']}",
                f"{rounded(100 * suspect['chance'])} %",
                number(suspect["discrimination"]),
            ]
            for suspect in result["suspects"]
        ],
    )
    if "chosen" in result:
        chosen = result["chosen"]
        yield TableShown(
            f"What {len(chosen['questions'])} questions cost, over {chosen['halves']} halves of the models",
            ["", "error of the accuracy, points", "τ of the ranking"],
            [
                [name, rounded(100 * chosen[key]["error"], 2), number(chosen[key]["tau"])]
                for name, key in (("chosen by the other half", "chosen"), ("drawn by chance", "by_chance"))
            ],
        )
    yield from all_numbers("items", {name: result[name] for name in ("items", "irt") if name in result})


STUDY = Study("items", sentences, "Which keys are wrong?", charts, tables)
