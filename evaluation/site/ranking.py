"""Rankings of a site: ranks and their stability, item statistics, and the scores that the page computes from.

It works on the records of runs (`reading`). Results of pairs of runs are kept from build to build under a hash of their
inputs. `scores` and `method` give the page's script all bounds in the order of the questions' ids, and the constants
of intervals and tests: it computes the same as `livek12 compare` for any choice of questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import NormalDist
from typing import Any

from livek12.core.groups import grouped
from livek12.core.lazy import np
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Question
from livek12.core.scoring.comparison import PERMUTATIONS, compare_tables
from livek12.core.scoring.estimates import NORMAL
from livek12.core.scoring.formulas import PredictedTerm, Term
from livek12.core.scoring.metrics import task_terms
from livek12.core.scoring.outcomes import AXES, UNTOLD, AnswerFinding, Findings, Outcomes, SlimQuestion, Table, tabulate
from livek12.core.scoring.ranks import ALPHA, ranges, rank_stability, side, tied
from livek12.core.scoring.schema import STATES, parameters_of
from livek12.core.statistics import (
    FEW_FLIPS,
    FLIPS_AT_ONCE,
    LEAST_FREEDOM,
    PRIOR,
    UNSEEN_PAIRS,
    WITHIN_PAPERS,
    Codes,
    holm,
)
from livek12.evaluation.choosing import task_way
from livek12.evaluation.studies.items import FEWEST_RUNS, SUSPECT, Answered, ExamItem, SameAnswer, items_study
from livek12.report.site.files import SiteStore, digest_of

MOST_RANKED = 100
"""Runs of a task, the best ones, that are tested against each other."""
RANKED = ("mark", "accuracy")
Records = Mapping[str, Mapping[str, Any]]
"""The records of runs by slug."""
Placed = dict[str, dict[str, Mapping[str, Any]]]
"""By metric and run: "ranks", best and worst; "tied", the place shared by a group; "stability", lower end, median and
upper end of resampled ranks."""


def place(
    task: str, stem: str, questions: Mapping[str, Question], records: Records, store: SiteStore, code: str
) -> Placed:
    """Ranks of the best runs of a task; of one run, none. Results of other `code` are discarded."""
    slim = [_slim(question) for question in questions.values()]
    numbers = {anchor: number for number, anchor in enumerate(questions)}
    runs = {slug: record["cells"][task] for slug, record in records.items() if task in record["cells"]}
    best = sorted(runs, key=lambda slug: -_middle(records[slug], task))[:MOST_RANKED]
    if len(best) < 2:
        return {"ranks": {}, "tied": {}, "stability": {}}
    chosen = [slug for slug in runs if slug in set(best)]
    tables = {slug: _table(task, records[slug], slim, numbers) for slug in chosen}
    terms = {slug: task_terms(table, "article", parameters_of("article")) for slug, table in tables.items()}
    pairs = _pairs(tables, f"pairs/{stem}", store, code)
    placed: Placed = {"ranks": {}, "tied": {}, "stability": {}}
    for number, metric in enumerate(RANKED):
        having = {slug: term for slug in chosen if not isinstance(term := terms[slug].get(metric, ""), str)}
        tested = [(a, b, *result[number]) for (a, b), result in pairs.items() if result[number] is not None]
        adjusted = holm([p for *_, p in tested])
        signs = [
            (a, b, sign if p is not None and p < ALPHA else 0)
            for (a, b, sign, _), p in zip(tested, adjusted, strict=True)
        ]
        if having:
            placed["ranks"][metric] = ranges(list(having), signs)
            placed["tied"][metric] = tied(sorted(having, key=lambda slug: -_half_way(having[slug])), signs)
            same = number and _are_equal(terms, RANKED[:2])
            drawn = {slug: term for slug, term in having.items() if isinstance(term, Term)}
            placed["stability"][metric] = (
                placed["stability"][RANKED[0]] if same else rank_stability(tables, drawn, parameters_of("article"))
            )
    return placed


def _are_equal(terms: Mapping[str, Mapping[str, Any]], metrics: Sequence[str]) -> bool:
    pairs = [[own.get(metric) for metric in metrics] for own in terms.values()]
    return all(
        isinstance(a, Term)
        and isinstance(b, Term)
        and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("low", "high", "weight"))
        for a, b in pairs
    )


def _middle(record: Mapping[str, Any], task: str) -> float:
    mark = record["tasks"][task]["profiles"]["article"]["metrics"].get("mark")
    return -1.0 if mark is None else float(mark[0] + mark[1]) / 2


def _half_way(term: Term | PredictedTerm) -> float:
    if isinstance(term, PredictedTerm):
        return 2 * term.value
    return float((term.low + term.high).sum() / term.weight.sum())


def _pairs(tables: Mapping[str, Table], name: str, store: SiteStore, code: str) -> dict[tuple[str, str], list[Any]]:
    """Result of each pair, metric by metric: [side of the interval of b - a, p], or None."""
    marks = {slug: digest_of(code, _basis(table))[:12] for slug, table in tables.items()}
    results: dict[str, list[Any]] = {}
    number = 0
    while isinstance(part := store.read(f"{name}-{number}"), dict):
        results |= part
        number += 1
    couples = list(combinations(tables, 2))
    keys = {(a, b): marks[a] + marks[b] for a, b in couples}
    missing = [couple for couple in couples if keys[couple] not in results]
    if missing:
        compared = compare_tables(tables, "article", parameters_of("article"), missing)
        for pair in compared["pairs"]:
            by_metric = [pair["metrics"].get(metric) for metric in RANKED]
            results[keys[pair["a"], pair["b"]]] = [
                tested and [side(tested), tested["test"]["p"]] for tested in by_metric
            ]
    kept = {keys[couple]: results[keys[couple]] for couple in couples}
    store.pieces(name, kept.items())
    return {couple: results[keys[couple]] for couple in couples}


def _basis(table: Table) -> list[Any]:
    questions = [(q.id, q.source, q.paper_id, q.points) for q in table.questions]
    predicted = {name: (term.value, term.error) for name, term in (table.rows.predicted or {}).items()}
    findings = [(finding.share, finding.correct) for finding in table.rows.findings.distinct]
    columns = (table.question, table.trial, table.rows.finding)
    return [questions, predicted, findings, *(column.tolist() for column in columns)]


def _slim(question: Question) -> SlimQuestion:
    return replace(SlimQuestion.of(question, tuple(() for _ in AXES)), has_variables=False)


def _table(task: str, record: Mapping[str, Any], slim: Sequence[SlimQuestion], numbers: Mapping[str, int]) -> Table:
    outcomes = _outcomes(task, record["cells"][task], slim, numbers)
    if (exam := record["facts"].get("adaptive")) is None:
        return tabulate(outcomes)
    predicted = {}
    bank = frozenset(question.id for question in slim)
    for name in RANKED if len(bank) == exam["of"] else ():
        if values := record["tasks"][task]["profiles"]["article"]["metrics"].get(name):
            scale = 100.0 if name == "mark" else 1.0
            value, end = values[0] / scale, values[3] / scale
            predicted[name] = PredictedTerm(value, (end - value) / NORMAL, exam["asked"], bank, scale)
    return tabulate(replace(outcomes, predicted=predicted))


def _outcomes(
    task: str, cells: Mapping[str, Sequence[Any]], slim: Sequence[SlimQuestion], numbers: Mapping[str, int]
) -> Outcomes:
    """Outcomes without tokens, which no test needs."""
    codes: dict[tuple[Any, ...], int] = {}
    rows = [
        (numbers[anchor], trial, codes.setdefault(tuple(cell[:5]), len(codes)))
        for anchor, (_, *trials) in cells.items()
        for trial, cell in enumerate(trials)
    ]
    question, trials, finding = np.array(rows, dtype=np.int64).T
    none: Codes = np.zeros(len(rows), dtype=np.int64)
    return Outcomes(
        tasks=[task],
        questions=slim,
        findings=Findings(
            [
                AnswerFinding(STATES[state], (low, high), (least, most), (least, most))
                for low, high, least, most, state in codes
            ]
        ),
        task=none,
        question=question,
        trial=trials,
        finding=finding,
        ending=none,
        came=none.astype(np.bool_),
        used=np.full((len(rows), 4), UNTOLD),
    )


MOST_COMPARED = 2_000
"""Answers up to which all are compared by rules in the search for suspect keys."""


def items(
    exams: Mapping[str, Mapping[str, Question]], hidden: frozenset[str], records: Records, same: SameAnswer
) -> dict[str, dict[str, Any]]:
    """By anchor: answers, right share, discrimination, and the doubt of the key unless hidden."""
    by_key = {
        (task, question.id): (anchor, ExamItem(task, question))
        for task, questions in exams.items()
        for anchor, question in questions.items()
    }
    by_anchor = dict(by_key.values())
    for slug, record in records.items():
        for cells in record["cells"].values():
            for anchor, (_, *trials) in cells.items():
                by_anchor[anchor].answers[slug] += [_answered(trial) for trial in trials]
    answered = [item for item in by_anchor.values() if item.answers]
    if len(records) < FEWEST_RUNS:
        return {by_key[item.key][0]: _counted(item) for item in answered}
    compare = same if _few(answered) else _where_it_matters(answered, same)
    studies = [items_study(together, compare) for together in _by_way(answered) if _runs(together) >= FEWEST_RUNS]
    rows = {(row["task"], row["question_id"]): row for study in studies for row in study["items"]}
    suspects = [trial for study in studies for trial in study["suspects"]]
    doubted = {(trial["task"], trial["question_id"]): trial for trial in suspects if trial["chance"] >= SUSPECT}
    statistics: dict[str, dict[str, Any]] = {}
    for item in answered:
        key = item.key
        anchor, _ = by_key[key]
        statistics[anchor] = _counted(item)
        if key in rows:
            statistics[anchor]["discrimination"] = _short(rows[key]["discrimination"])
        if anchor not in hidden and (doubt := doubted.get(key)):
            names = ("key", "agreed", "agreed_runs", "of_runs")
            statistics[anchor]["suspect"] = {"chance": _short(doubt["chance"]), **{name: doubt[name] for name in names}}
    return statistics


def _by_way(exam_items: Sequence[ExamItem]) -> list[list[ExamItem]]:
    """Items by way of asking: an ability on pages says nothing of one on texts."""
    ways = grouped((task_way(item.task), item) for item in exam_items)
    return list(ways.values())


def _runs(exam_items: Sequence[ExamItem]) -> int:
    return len({run for item in exam_items for run in item.answers})


def _few(exam_items: Sequence[ExamItem]) -> bool:
    """Few answers but letters, whose comparison costs nothing."""
    written = (item for item in exam_items if item.question.question_type not in CHOICE_TYPES)
    return sum(len(answers) for item in written for answers in item.answers.values()) <= MOST_COMPARED


def _where_it_matters(exam_items: Sequence[ExamItem], same: SameAnswer) -> SameAnswer:
    """Comparison by rules only of candidates for a suspect key, else by spelling (instant).

    A candidate is suspect at a tenth of the reported chance.
    """
    near: set[tuple[str, str]] = set()
    for together in _by_way(exam_items):
        for alike in (False, True) if _runs(together) >= FEWEST_RUNS else ():
            suspects = items_study(together, lambda *_, alike=alike: alike)["suspects"]
            near |= {(first["task"], first["question_id"]) for first in suspects if first["chance"] >= SUSPECT / 10}
    ids = {question_id for _, question_id in near}
    return lambda question, first, other: question.id in ids and same(question, first, other)


def _answered(trial: Sequence[Any]) -> Answered:
    _, _, least, most, _, _, tokens, texts = trial
    return Answered(bool(least) if least == most else None, least, most, tuple(texts or ()), None, tokens)


def _counted(item: ExamItem) -> dict[str, Any]:
    given = [answer for answers in item.answers.values() for answer in answers]
    right = [answer.right for answer in given]
    return {"runs": len(item.answers), "answers": len(given), "right": right.count(True), "open": right.count(None)}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


OPEN_STATES = ("ungraded", "failed", "unsupported")
NO_VALUE = "(none)"
FILTER_AXES = {
    "release": "release",
    "language": "language",
    "modality": "modality",
    "subset": "subsets",
    "subject": "subject",
    "macro_subject": "field",
    "question_type": "type",
    "difficulty": "difficulty",
    "year": "year",
}
"""Axes of the filters, with their names in index entries."""
MOST_VALUES = 300
"""Most values of a filter."""


def method() -> dict[str, Any]:
    """Constants of intervals and tests, and the state of the random numbers after seeding."""
    parameters = parameters_of("article")
    drawn: Any = np.random.PCG64(parameters.seed).state
    return {
        "level": parameters.level,
        "normal": NormalDist().inv_cdf((1 - parameters.level) / 2),
        "minQuestions": parameters.min_questions,
        "minPapers": parameters.min_papers,
        "fewPapers": parameters.few_papers,
        "prior": PRIOR,
        "withinPapers": WITHIN_PAPERS,
        "leastFreedom": LEAST_FREEDOM,
        "unseenPairs": UNSEEN_PAIRS,
        "fewFlips": FEW_FLIPS,
        "permutations": PERMUTATIONS,
        "block": FLIPS_AT_ONCE,
        "alpha": ALPHA,
        "most": MOST_RANKED,
        "state": str(drawn["state"]["state"]),  # of 128 bits: more than a number of JavaScript holds
        "increment": str(drawn["state"]["inc"]),
    }


def places(questions: Mapping[str, Question]) -> dict[str, tuple[int, int]]:
    """By anchor the question's place by id and the number of its source: scoring's own order."""
    order = sorted(questions, key=lambda anchor: questions[anchor].id)
    sources: dict[str, int] = {}
    by_anchor = {}
    for place, anchor in enumerate(order):
        question = questions[anchor]
        source = question.variant.of if question.variant else question.id
        by_anchor[anchor] = place, sources.setdefault(source, len(sources))
    return by_anchor


def scores(task: str, order: Mapping[str, tuple[int, int]], records: Records) -> Iterable[tuple[str, dict[str, Any]]]:
    """Answers of each run with the task, by the places of questions (`_scores`)."""
    for slug, record in records.items():
        if (cells := record["cells"].get(task)) and "adaptive" not in record["facts"]:
            yield slug, _scores(cells, order)


def _scores(cells: Mapping[str, Sequence[Any]], order: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Kinds of answers, and by question those and the tokens; None: not asked.

    A kind is [least and most share of points, fully right at worst and best, undecided].
    """
    kinds: dict[tuple[float, ...], int] = {}
    answers: list[Any] = [None] * len(order)
    tokens: list[Any] = [None] * len(order)
    for anchor, (_, *trials) in cells.items():
        place = order[anchor][0]
        those = [(*cell[:4], int(STATES[cell[4]] in OPEN_STATES)) for cell in trials]
        answers[place] = _plain([kinds.setdefault(kind, len(kinds)) for kind in those])
        tokens[place] = _plain([cell[6] for cell in trials])
    return {"kinds": list(kinds), "answers": answers, "tokens": tokens}


def _plain(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def axes(entries: Iterable[Mapping[str, Any]]) -> list[list[Any]]:
    """Axes that split these questions, with values: [[axis, [value, …]], …]."""
    rows = list(entries)
    filters = []
    for axis, name in FILTER_AXES.items():
        seen = {str(value) for row in rows for value in _values_of(row[name])}
        if 1 < len(seen) <= MOST_VALUES:
            filters.append([axis, sorted(seen, key=lambda value: (value == NO_VALUE, value))])
    return filters


def _values_of(value: Any) -> Sequence[Any]:
    several = value if isinstance(value, list) else [value]
    return [each for each in several if each not in (None, "")] or [NO_VALUE]
