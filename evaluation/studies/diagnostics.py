"""CFE-Bench's diagnostics: curves of its derived tasks, paired by question (sections 5.2 to 5.4, figures 3 to 5).

Shares of right samples by question and unit are averaged over questions: by unit index where at least `fewest[0]`
questions have it, by exact length of the flow where at least `fewest[1]` have it. Undecided and missing answers enter
at worst and best. Contrasts compare the same units of the same questions, each question counting once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.progress import warn
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import outcome_bounds
from livek12.evaluation.studies import (
    Found,
    Share,
    Study,
    add_holm,
    difference,
    difference_said,
    mean_of,
    mean_said,
    mean_share,
    span,
)
from livek12.report.charts import Chart, PlotPoint, Series
from livek12.report.marks import rounded
from livek12.report.ranking import p_value
from livek12.report.tables import TableShown
from livek12.tasks.registry import is_derived


def whole_rows(folder: RunFolder, base: Path | None = None) -> Iterator[Row]:
    """Answers of another run to the whole questions.

    `base` None is the run whose failures were asked about, if it still exists.
    """
    spec = folder.spec()
    if base is None:
        if spec.chosen is None:
            return
        try:
            other = RunFolder.open(Path(spec.chosen.run), warn)
        except UserError as error:
            warn(f"nothing is said of the whole questions: {error}; --base RUN says where they were asked")
            return
    else:
        other = RunFolder.open(base, warn)
        if other.spec().model != spec.model:
            raise UserError(f"--base {base}: is a run of {other.spec().model}, and {folder.path} of {spec.model}")
    yield from other.rows()


FEWEST = (6, 5)
"""Least questions of an index, and of a bucket."""
EXECUTION, EXECUTION_TEXT = "unit_execution", "unit_execution_text"
CONDITIONS = ("reasoning_prefix", "prefix_questions", "injection", "injection_question")
WHOLE = "whole question"
CONTRASTS = (
    ("reasoning_prefix", "prefix_questions", "the units' answers, beside their questions alone"),
    ("injection", "injection_question", "the answer of one unit, beside its question alone"),
    ("injection", "prefix_questions", "one unit with its answer, beside the questions of all units before"),
    (EXECUTION_TEXT, EXECUTION, "the units without pictures, beside those with pictures"),
    *((condition, WHOLE, "beside the whole question alone") for condition in CONDITIONS),
)
Units = dict[int, Share]


@dataclass
class Diagnosed:
    """Answers to the derived tasks of one task.

    `conditions`: condition → question → unit → share of right samples; `lengths`: units of each flow; `whole`: share
    of right answers to the whole question; `samples` by condition; of them `silent` without text, `missing` never
    came.
    """

    conditions: dict[str, dict[str, Units]] = field(default_factory=dict)
    lengths: dict[str, int] = field(default_factory=dict)
    whole: dict[str, Share] = field(default_factory=dict)
    samples: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    silent: int = 0
    missing: int = 0


def read_diagnosed(rows: Iterable[Row], whole: Iterable[Row] = ()) -> dict[str, Diagnosed]:
    """Answers by the source of derived tasks; `whole` gives way to the run's own whole answers."""
    by_task: defaultdict[str, Diagnosed] = defaultdict(Diagnosed)
    units: defaultdict[tuple[str, str, str, int], list[Share]] = defaultdict(list)
    ends: defaultdict[tuple[str, str], list[Share]] = defaultdict(list)
    elsewhere: defaultdict[tuple[str, str], list[Share]] = defaultdict(list)
    for row in rows:
        base, _, condition = row.task.partition(":")
        variant, share = row.question.variant, outcome_bounds(row)[1]
        if variant and variant.unit and is_derived(row.task):
            own = by_task[base]
            own.lengths[variant.of] = variant.units or 0
            own.samples[condition] += 1
            own.missing += row.response is None
            own.silent += row.response is not None and not row.response.text.strip()
            units[base, condition, variant.of, variant.unit].append(share)
        else:
            ends[row.task, row.question.id].append(share)
    if not by_task:
        raise UserError(
            "this run asks no questions unit by unit: `livek12 run --task cfe_text:all --questions failed-in RUN …`"
        )
    for row in whole:
        elsewhere[row.task, row.question.id].append(outcome_bounds(row)[1])
    for (base, condition, id, unit), shares in sorted(units.items()):
        by_task[base].conditions.setdefault(condition, {}).setdefault(id, {})[unit] = mean_share(shares)
    for (task, id), shares in {**elsewhere, **ends}.items():
        if id in by_task.get(task, Diagnosed()).lengths:
            by_task[task].whole[id] = mean_share(shares)
    return dict(by_task)


def diagnostics(
    by_task: Mapping[str, Diagnosed], fewest: tuple[int, int] = FEWEST, chosen: bool = False
) -> dict[str, Any]:
    """Curves, buckets and contrasts by task; `chosen`: of questions that the model failed."""
    return {base: {**_of_task(each, fewest), "chosen": chosen} for base, each in by_task.items()}


def _of_task(diagnosed: Diagnosed, fewest: tuple[int, int]) -> dict[str, Any]:
    result = {
        "questions": len(diagnosed.lengths),
        "fewest": list(fewest),
        "answers": sum(diagnosed.samples.values()),
        "silent": diagnosed.silent,
        "missing": diagnosed.missing,
        "whole": mean_of(list(diagnosed.whole.values())) if diagnosed.whole else None,
        "conditions": {
            name: _of_condition(questions, diagnosed, name, fewest)
            for name, questions in _ordered(diagnosed.conditions)
        },
        "contrasts": list(_contrasts(diagnosed, fewest[0])),
    }
    if EXECUTION_TEXT in diagnosed.conditions:
        result["pictures"] = _pictures(diagnosed.conditions[EXECUTION_TEXT])
    return result


def _ordered(conditions: Mapping[str, dict[str, Units]]) -> list[tuple[str, dict[str, Units]]]:
    order = (EXECUTION, EXECUTION_TEXT, *CONDITIONS)
    return sorted(conditions.items(), key=lambda each: (order.index(each[0]) if each[0] in order else 99, each[0]))


def _of_condition(
    questions: Mapping[str, Units], diagnosed: Diagnosed, name: str, fewest: tuple[int, int]
) -> dict[str, Any]:
    buckets: defaultdict[int, dict[str, Units]] = defaultdict(dict)
    for id, units in questions.items():
        buckets[diagnosed.lengths[id]][id] = units
    kept = {length: bucket for length, bucket in sorted(buckets.items()) if len(bucket) >= fewest[1]}
    return {
        "answers": diagnosed.samples[name],
        "questions": len(questions),
        "mean": mean_of([mean_share(list(units.values())) for units in questions.values()]),
        "by_unit": _by_unit(questions, fewest[0]),
        "too_few": len({unit for units in questions.values() for unit in units}) - len(_by_unit(questions, fewest[0])),
        "by_length": [
            {
                "units": length,
                **mean_of([mean_share(list(units.values())) for units in bucket.values()]),
                "by_unit": _by_unit(bucket, fewest[1]),
            }
            for length, bucket in kept.items()
        ],
    }


def _by_unit(questions: Mapping[str, Units], fewest: int) -> list[dict[str, Any]]:
    shares = grouped((unit, share) for units in questions.values() for unit, share in units.items())
    return [{"unit": unit, **mean_of(own)} for unit, own in sorted(shares.items()) if len(own) >= fewest]


def _contrasts(diagnosed: Diagnosed, fewest: int) -> Iterator[dict[str, Any]]:
    cells = []
    for condition, other, what in CONTRASTS:
        a, b = diagnosed.conditions.get(condition), _other(diagnosed, other)
        if not a or not b:
            continue
        both = {id: [unit for unit in a[id] if unit in b[id]] for id in a if id in b}
        sides = [
            {id: mean_share([side[id][unit] for unit in units]) for id, units in both.items() if units}
            for side in (a, b)
        ]
        if (whole := difference(sides[0], sides[1])) is None:
            continue
        indices = sorted({unit for units in both.values() for unit in units})
        by_unit = [
            {"unit": unit, **cell}
            for unit in indices
            if (cell := difference(*({i: side[i][unit] for i in both if unit in both[i]} for side in (a, b))))
            and cell["questions"] >= fewest
        ]
        add_holm(by_unit)
        cells.append({"condition": condition, "beside": other, "says": what, **whole, "by_unit": by_unit})
    add_holm(cells)
    yield from cells


def _other(diagnosed: Diagnosed, name: str) -> dict[str, Units]:
    if name != WHOLE:
        return diagnosed.conditions.get(name, {})
    return {id: dict.fromkeys(range(1, diagnosed.lengths[id] + 1), share) for id, share in diagnosed.whole.items()}


def _pictures(questions: Mapping[str, Units]) -> dict[str, Any]:
    """Questions that need pictures: not all units are answered without them (by half of the samples)."""
    sure = {id for id, units in questions.items() if any(high < 0.5 for _, high in units.values())}
    without = sorted(id for id, units in questions.items() if all(low >= 0.5 for low, _ in units.values()))
    return {
        "questions": len(questions),
        "needed": len(sure),
        "undecided": len(questions) - len(sure) - len(without),
        "answered_without": without,
    }


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result in sentences."""
    for run, tasks in result.items():
        for base, study in tasks.items():
            yield from _sentences(f"{run}, {base}", study)


def _sentences(name: str, study: Mapping[str, Any]) -> Iterator[str]:
    whole = f"; the whole of them is answered in {mean_said(study['whole'])}" if study["whole"] else ""
    yield f"{name}: {study['questions']} questions, {study['answers']} answers{whole}. Shares are of right samples."
    if study["missing"] or study["silent"]:
        yield (
            f"{name}: {study['missing']} answers never came (they count at their worst and at their best) and"
            f" {study['silent']} have no text (they count as wrong)."
        )
    for condition, each in study["conditions"].items():
        yield f"{name}: {condition} {mean_said(each['mean'])} over {each['questions']} questions."
    for cell in study["contrasts"]:
        yield f"{name}: {cell['condition']} minus {cell['beside']} {difference_said(cell)}: {cell['says']}."
    if few := max((each["too_few"] for each in study["conditions"].values()), default=0):
        yield f"{name}: unit indices with fewer than {study['fewest'][0]} questions, which are in no curve: {few}."
    if study["chosen"]:
        yield f"{name}: they were chosen because the model failed them: their whole is low by choice."
    if not study["whole"]:
        yield f"{name}: nothing is known of the whole questions; --base RUN says where they were asked."
    if "pictures" in study:
        seen = study["pictures"]
        yield (
            f"{name}: {seen['needed']} of {seen['questions']} questions need their pictures, since not all of their"
            f" units are answered without; {len(seen['answered_without'])} do not, {seen['undecided']} are undecided."
        )


NAMES = {
    "unit_execution": "unit execution",
    "unit_execution_text": "unit execution without pictures",
    "reasoning_prefix": "reasoning prefix",
    "prefix_questions": "prefix, questions only",
    "injection": "single-unit injection",
    "injection_question": "injection, question only",
}


def charts(result: Found) -> Iterator[Chart]:
    """Figures by run and task, if points have enough questions."""
    for run, tasks in result.items():
        for base, study in tasks.items():
            yield from (chart for chart in _charts(f"{run}, {base}", study) if any(s.points for s in chart.series))


def _charts(name: str, study: Mapping[str, Any]) -> Iterator[Chart]:
    units, bucket = study["fewest"]
    conditions = study["conditions"]
    others = [each for each in conditions if each not in (EXECUTION, EXECUTION_TEXT)]
    behind = f"mean over the questions that have the unit, {units} or more; thin strokes are 95 % intervals"
    yield Chart(
        f"{name}: unit execution (CFE-Bench, figure 3)",
        f"Share of samples that answer unit i by itself, given the units before: {behind}.",
        "unit",
        [
            Series(_named(each), _unit_points(conditions[each]["by_unit"]))
            for each in (EXECUTION, EXECUTION_TEXT)
            if each in conditions
        ],
    )
    yield Chart(
        f"{name}: with a part of the solution, by unit (figures 4 and 5)",
        f"Share of samples with the right final answer: {behind}.",
        "unit",
        [Series(_named(each), _unit_points(conditions[each]["by_unit"])) for each in others],
    )
    yield Chart(
        f"{name}: with a part of the solution, by the length of the flow (figures 4 and 5)",
        f"Mean over the units of a question, then over the questions whose flow is so long, {bucket} or more.",
        "units of the flow",
        [
            Series(_named(each), [_point(cell["units"], cell) for cell in conditions[each]["by_length"]])
            for each in others
        ],
    )


def _unit_points(cells: Sequence[Mapping[str, Any]]) -> list[PlotPoint]:
    return [_point(cell["unit"], cell) for cell in cells]


def _point(x: float, cell: Mapping[str, Any]) -> PlotPoint:
    return PlotPoint(x, cell["low"], cell["high"], cell["interval"])


def _named(condition: str) -> str:
    word, at, budget = condition.partition("@")
    return NAMES.get(word, word) + at + budget


def _tables(result: Found) -> Iterator[TableShown]:
    for run, tasks in result.items():
        for base, study in tasks.items():
            name = f"{run}, {base}"
            for axis, key, what in (("by_unit", "unit", "unit"), ("by_length", "units", "length of the flow")):
                if rows := list(_rows(study["conditions"], axis, key)):
                    yield TableShown(f"{name}: by {what}", [key, *map(_named, study["conditions"])], rows)
            yield TableShown(
                f"{name}: conditions beside each other",
                ["", "questions", "difference in points", "95 %", "p", "p (Holm)"],
                [_contrast(cell) for cell in study["contrasts"]],
            )


def _rows(conditions: Mapping[str, Any], axis: str, key: str) -> Iterator[list[str]]:
    places = sorted({cell[key] for each in conditions.values() for cell in each[axis]})
    for place in places:
        cells = [{cell[key]: cell for cell in each[axis]}.get(place) for each in conditions.values()]
        yield [str(place), *map(_cell, cells)]


def _cell(cell: Mapping[str, Any] | None) -> str:
    if cell is None:
        return "–"
    text = span([cell["low"], cell["high"]], "–")
    ends = f" [{rounded(100 * cell['interval'][0])}–{rounded(100 * cell['interval'][1])}]" if cell["interval"] else ""
    return f"{text}{ends} n={cell['questions']}"


def _contrast(cell: Mapping[str, Any]) -> list[str]:
    text = span([cell["low"], cell["high"]])
    ends = " to ".join(rounded(100 * end) for end in cell["interval"]) if cell["interval"] else ""
    return [
        f"{_named(cell['condition'])} − {_named(cell['beside'])}",
        str(cell["questions"]),
        text,
        ends,
        p_value(cell["p"]),
        p_value(cell["p_holm"]),
    ]


STUDY = Study("diagnostics", sentences, "Why does the model fail?", charts, _tables)
