"""Steps of responses against those of the reference flow (CFE-Bench, section 5.5, figure 6 and table 4).

Judges split each response; several are averaged. Lengths are mean ± sample standard deviation over solved, unsolved and
all answers. Answers without text, or that no judge split, are counted and in no mean.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.replies import Json, Unreadable, a_list, a_text, object_schema
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import outcome_bounds
from livek12.core.statistics import mean_std
from livek12.evaluation.studies import AskedOf, JsonForm, Study, all_numbers, consult, number, spread
from livek12.judges.jury import Jury
from livek12.judges.llm.prompts import Case, Fenced, Values
from livek12.report.charts import Chart, PlotPoint, Series
from livek12.report.marks import rounded
from livek12.report.tables import TableShown

PROMPT = "cfe_steps"
MOST = 300
"""Most steps of a response."""
SOLVED, UNSOLVED, ALL = "solved", "unsolved", "all"


def _counted(fields: Json) -> int:
    steps = a_list(fields["steps"], "steps")
    if not 1 <= len(steps) <= MOST:
        raise Unreadable(f"has {len(steps)} steps")
    if not all(a_text(step, "a step").strip() for step in steps):
        raise Unreadable("has an empty step")
    return len(steps)


_STEP: Json = {"type": "string", "minLength": 1, "maxLength": 2000}
REPLY: Final = JsonForm(
    object_schema(steps={"type": "array", "items": _STEP, "minItems": 1, "maxItems": MOST}), _counted
)


def _values(row: Row, case: Case) -> Values:
    flow = "\n".join(f"{n}. {unit.step} → {unit.answer}" for n, unit in enumerate(row.question.reasoning_flow, 1))
    return {
        "question": case.question_block(),
        "solution": Fenced("SOLUTION IN STEPS", flow),
        "response": case.response_block(),
    }


@dataclass(frozen=True)
class Splittable:
    """Answers that can be split, and the number of others of these tasks."""

    rows: list[Row]
    silent: int
    without_flow: int


def splittable(rows: Iterable[Row], limit: int | None = None) -> Splittable:
    """Answers to whole questions with a reasoning flow; the first `limit`."""
    usable, silent, without = list[Row](), 0, 0
    for row in rows:
        if row.question.variant is not None or row.response is None:
            continue
        if not row.question.reasoning_flow:
            without += 1
        elif not row.response.text.strip():
            silent += 1
        else:
            usable.append(row)
    if not usable:
        raise UserError(
            f"no answer to split into steps: {silent} answers have no text, {without} are to questions without a"
            " reasoning flow (cfe_text and cfe_multimodal have one)"
        )
    return Splittable(usable[:limit], silent, without)


def step_density(jury: Jury, answers: Splittable, authors: Iterable[str], step: Callable[[], None]) -> dict[str, Any]:
    """Lengths of responses and references, by outcome."""
    request = AskedOf(PROMPT, _values, lambda row: REPLY)
    opinions = consult(jury, answers.rows, request, authors, lambda row: False, step)
    counts = [sum(each.values) / len(each.values) if each.values else None for each in opinions]
    counted = [(row, count) for row, count in zip(answers.rows, counts, strict=True) if count is not None]
    problems = Counter(each.problem for each in opinions if each.problem)
    return {
        "answers": len(answers.rows),
        "silent": answers.silent,
        "without_flow": answers.without_flow,
        "not_split": sum(problems.values()),
        "why_not": [{"why": why, "answers": count} for why, count in problems.most_common(5)],
        "outcomes": _outcomes(counted),
        "subsets": {
            name: _outcomes(rows)
            for name, pictures in (("text", False), ("multimodal", True))
            if (rows := [each for each in counted if bool(each[0].question.images) == pictures])
        },
        "distribution": {
            "response": _histogram(count for _, count in counted),
            "reference": _histogram(len(row.question.reasoning_flow) for row, _ in counted),
        },
    }


def _outcomes(counted: Sequence[tuple[Row, float]]) -> dict[str, dict[str, Any]]:
    return {name: _lengths(rows) for name, rows in _parted(counted).items()}


def _parted(counted: Sequence[tuple[Row, float]]) -> dict[str, list[tuple[Row, float]]]:
    bounds = [(row, count, outcome_bounds(row)[1]) for row, count in counted]
    return {
        SOLVED: [(row, count) for row, count, (low, _) in bounds if low == 1],
        UNSOLVED: [(row, count) for row, count, (_, high) in bounds if high == 0],
        ALL: list(counted),
    }


def _lengths(rows: Sequence[tuple[Row, float]]) -> dict[str, Any]:
    response, response_std = mean_std([count for _, count in rows])
    reference, reference_std = mean_std([float(len(row.question.reasoning_flow)) for row, _ in rows])
    longer = None if response is None or reference is None else response - reference
    return {
        "answers": len(rows),
        "reference": reference,
        "reference_std": reference_std,
        "response": response,
        "response_std": response_std,
        "longer": longer,
    }


def _histogram(counts: Iterable[float]) -> dict[str, int]:
    histogram = Counter(round(count) for count in counts)
    return {str(length): histogram[length] for length in sorted(histogram)}


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    for run, study in result.items():
        for name, each in study["outcomes"].items():
            if each["answers"]:
                yield (
                    f"{run}, {name}: {each['answers']} answers, responses {_spread(each, 'response')} steps, references"
                    f" {_spread(each, 'reference')}; {'+' if each['longer'] > 0 else ''}{rounded(each['longer'], 2)}."
                )
        left_out = [
            f"{count} {what}"
            for count, what in (
                (study["not_split"], "that no judge split"),
                (study["silent"], "without text"),
                (study["without_flow"], "to questions without a reasoning flow"),
            )
            if count
        ]
        if left_out:
            yield f"{run}: left out are answers: {', '.join(left_out)}."
        for why in study["why_not"]:
            yield f"{run}: not split, {why['answers']}: {why['why']}"


def _spread(each: Mapping[str, Any], what: str) -> str:
    return f"{number(each[what])} ± {number(each[f'{what}_std'])}"


def _charts(result: Mapping[str, Any]) -> Iterator[Chart]:
    for run, study in result.items():
        counts = study["distribution"]
        yield Chart(
            f"{run}: steps of responses and references (CFE-Bench, figure 6)",
            "How many answers have so many steps; dashed lines are the means.",
            "steps",
            [
                Series(
                    name,
                    [PlotPoint(int(n), count, count) for n, count in counts[name].items()],
                    study["outcomes"]["all"][name],
                )
                for name in ("reference", "response")
            ],
            bars=True,
            percent=False,
        )


def _tables(result: Mapping[str, Any]) -> Iterator[TableShown]:
    for run, study in result.items():
        parts = (
            {"": study["outcomes"]} if len(study["subsets"]) < 2 else {**study["subsets"], "both": study["outcomes"]}
        )
        cells = {f"{part} {name}".strip(): own for part, outcomes in parts.items() for name, own in outcomes.items()}
        rows = [["answers", *(str(own["answers"]) for own in cells.values())]]
        rows += [
            [what, *(spread(own[what], own[f"{what}_std"], 2) for own in cells.values())]
            for what in ("reference", "response")
        ]
        yield TableShown(f"{run}: lengths in steps (CFE-Bench, table 4)", ["", *cells], rows)
        yield from all_numbers(f"{run}: answers by steps", study["distribution"])


STUDY = Study("steps", _sentences, "How many steps does the model take?", _charts, _tables)
