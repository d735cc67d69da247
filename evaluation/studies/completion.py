"""Completion: how exactly a model continues the beginnings of questions (KMMMU, section 7 and table 26).

Without judges: `characters` is the F1 of runs of `RUN` characters, `longest` the longest run of the real text that came
back, both without spaces; a refusal is a text with little of the real one that refuses in words, or an empty one.
Judges add exactness and flags: their mean and majority.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from statistics import median
from typing import Any, Final

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.replies import Json, Unreadable, a_bool, a_count, a_text, object_schema
from livek12.core.scoring import Row
from livek12.core.statistics import mean_std
from livek12.core.text import squeezed
from livek12.evaluation.studies import (
    AskedOf,
    JsonForm,
    Study,
    consult,
    difference,
    difference_said,
    percent,
    share_cell,
    share_of,
    spread,
)
from livek12.judges.jury import Jury
from livek12.judges.llm.prompts import Case, Fenced, Values
from livek12.report.charts import Chart, PlotPoint, Series
from livek12.report.marks import rounded
from livek12.report.tables import TableShown
from livek12.tasks.kmmmu.completion import COMPLETION, HINTED

PROMPT = "kmmmu_completion"
RUN = 5
"""Characters of a run."""
LITTLE = 20.0
"""Share of the real text below which a text may be a refusal."""
MOST_TIMES, MOST_MORE = 4, 1000
"""A completion is read up to so many times the length of the real text, plus so many characters."""
ALL, NO_EXAM = "(all)", "(no exam named)"
_REFUSES = re.compile(
    r"죄송|모르겠|모릅니다|알 수 없|알지 못|기억(?:나지|하지)|제공(?:할|해 드릴) 수 없|이어서 쓸 수 없|재현할 수 없"
    r"|\b(?:sorry|cannot|can['’]t|unable|not able|do(?:n['’]t| not) (?:know|have|recall)|won['’]t)\b"
    r"|抱歉|对不起|无法|不能提供|不知道",
    re.IGNORECASE,
)
_BEGINNING = 300
"""Characters in which a refusal shows."""


@dataclass(frozen=True)
class JudgedCompletion:
    """A judge's view of a completion; exactness from 0 to 100."""

    exactness: float
    refused: bool
    hallucinated: bool


def _judged(fields: Json) -> JudgedCompletion:
    a_text(fields["reason"], "reason")
    exactness = a_count(fields["exactness"], "exactness")
    if exactness > 100:
        raise Unreadable(f"gives an exactness of {exactness}")
    return JudgedCompletion(
        float(exactness), a_bool(fields["refused"], "refused"), a_bool(fields["hallucinated"], "hallucinated")
    )


REPLY: Final = JsonForm(
    object_schema(
        reason={"type": "string", "maxLength": 2000},
        exactness={"type": "integer", "minimum": 0, "maximum": 100},
        refused={"type": "boolean"},
        hallucinated={"type": "boolean"},
    ),
    _judged,
)


@dataclass(frozen=True)
class Completed:
    """Completion of an exam's question (`source`).

    `characters` and `longest` are 0 to 100; `says_no`: refuses in words, or is empty; `judged` by all judges together.
    """

    source: str
    of: str
    hinted: bool
    characters: float
    longest: float
    says_no: bool
    judged: JudgedCompletion | None = None
    problem: str = ""


def completions(rows: Iterable[Row]) -> list[Row]:
    """Completions of a run that came."""
    derived = [row for row in rows if row.question.variant and row.question.variant.kind in (COMPLETION, HINTED)]
    came = [row for row in derived if row.response is not None]
    if not came:
        problem = f"{len(derived)} were asked for and none came" if derived else "the run asks for none"
        raise UserError(f"no completions: {problem}: `livek12 run --task kmmmu:completion,kmmmu:completion_hinted …`")
    return came


def measured(row: Row) -> Completed:
    """A completion with its character-level figures."""
    variant = row.question.variant
    assert variant is not None and row.response is not None, "completions are derived, and came"
    real, text = squeezed(row.question.answer[0]), row.response.text.strip()
    completion = squeezed(_without_beginning(text, row.question.question))[: MOST_TIMES * len(real) + MOST_MORE]
    characters = 100 * _runs_f1(real, completion)
    return Completed(
        source=row.question.exam or NO_EXAM,
        of=variant.of,
        hinted=variant.kind == HINTED,
        characters=characters,
        longest=100 * _longest(real, completion),
        says_no=characters < LITTLE and (not completion or bool(_REFUSES.search(text[:_BEGINNING]))),
    )


def _without_beginning(completion: str, shown: str) -> str:
    beginning = shown.rpartition("\n\n")[2].strip()
    return completion[len(beginning) :] if beginning and completion.startswith(beginning) else completion


def _runs_f1(real: str, completion: str) -> float:
    if real == completion:
        return 1.0
    a, b = (Counter(text[n : n + RUN] for n in range(len(text) - RUN + 1)) for text in (real, completion))
    both = sum((a & b).values())
    return 2 * both / (sum(a.values()) + sum(b.values())) if both else 0.0


def _longest(real: str, completion: str) -> float:
    match = SequenceMatcher(None, real, completion, autojunk=False).find_longest_match()
    return match.size / len(real) if real else 0.0


# --- judges ---------------------------------------------------------------------------------------------------------


def _values(row: Row, case: Case) -> Values:
    return {
        "question": Fenced("BEGINNING", row.question.question),
        "reference": Fenced("REAL TEXT", row.question.answer[0]),
        "response": case.response_block(),
    }


def judged(
    rows: Sequence[Row], jury: Jury, authors: Iterable[str], step: Callable[[], None]
) -> list[tuple[JudgedCompletion | None, str]]:
    """The judges' joint view of each completion, or the reason for none."""
    request = AskedOf(PROMPT, _values, lambda row: REPLY)
    opinions = consult(jury, rows, request, authors, lambda row: False, step)
    return [(_together(opinion.values), opinion.problem) for opinion in opinions]


def _together(views: Sequence[JudgedCompletion]) -> JudgedCompletion | None:
    if not views:
        return None
    return JudgedCompletion(
        sum(view.exactness for view in views) / len(views),
        2 * sum(view.refused for view in views) > len(views),
        2 * sum(view.hallucinated for view in views) > len(views),
    )


# --- figures --------------------------------------------------------------------------------------------------------


def completion_study(completed: Sequence[Completed]) -> dict[str, Any]:
    """Figures by source and hint, and the difference made by the hint."""
    cells: defaultdict[tuple[str, bool], list[Completed]] = defaultdict(list)
    for completion in completed:
        cells[completion.source, completion.hinted].append(completion)
        cells[ALL, completion.hinted].append(completion)
    return {
        "completions": len(completed),
        "judged": sum(completion.judged is not None for completion in completed),
        "problems": dict(Counter(completion.problem for completion in completed if completion.problem).most_common(3)),
        "sources": [
            {"source": source, "hinted": hinted, **_figures(ones)} for (source, hinted), ones in sorted(cells.items())
        ],
        "hint": _hint(completed),
    }


def _figures(ones: Sequence[Completed]) -> dict[str, Any]:
    views = [completion.judged for completion in ones if completion.judged is not None]
    refused = [completion.refused for completion in views] if views else [completion.says_no for completion in ones]
    return {
        "questions": len({completion.of for completion in ones}),
        "characters": _spread([completion.characters for completion in ones]),
        "longest": _spread([completion.longest for completion in ones]),
        "exactness": _spread([completion.exactness for completion in views]) if views else None,
        "refused": share_of(sum(refused), len(refused)),
        "refused_by": "judge" if views else "words",
        "hallucinated": share_of(sum(view.hallucinated for view in views), len(views)) if views else None,
    }


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    mean, std = mean_std(values)
    return {"mean": mean, "std": std, "median": median(values)}


def _hint(completed: Sequence[Completed]) -> dict[str, Any] | None:
    judged = all(completion.judged is not None for completion in completed)

    def by_question(hinted: bool) -> dict[str, tuple[float, float]]:
        sums = grouped(
            (completion.of, completion.judged.exactness if judged and completion.judged else completion.characters)
            for completion in completed
            if completion.hinted == hinted
        )
        means = {of: sum(values) / len(values) / 100 for of, values in sums.items()}
        return {of: (mean, mean) for of, mean in means.items()}

    apart = difference(by_question(True), by_question(False))
    return None if apart is None else {"of": "exactness" if judged else "characters", **apart}


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    for run, study in result.items():
        for cell in study["sources"]:
            exact = f"exactness {_said(cell['exactness'])}, " if cell["exactness"] else ""
            made = f", {percent(cell['hallucinated']['share'])} hallucinated" if cell["hallucinated"] else ""
            yield (
                f"{run}, {cell['source']}, {HINTS[cell['hinted']]}: {cell['questions']} questions, {exact}characters"
                f" {_said(cell['characters'])}, {percent(cell['refused']['share'])} refused (by"
                f" {'the judges' if cell['refused_by'] == 'judge' else 'their words'}){made}."
            )
        if study["hint"]:
            what = "exactness" if study["hint"]["of"] == "exactness" else "characters"
            yield f"{run}: the hint makes a difference of {difference_said(study['hint'])} in {what}."
        for problem, count in study["problems"].items():
            yield f"{run}: not judged, {count}: {problem}"


def _said(values: Mapping[str, float | None]) -> str:
    return f"{spread(values['mean'] or 0, values['std'])} (median {rounded(values['median'] or 0)})"


HINTS = {False: "without a hint", True: "with exam and year"}


def _charts(result: Mapping[str, Any]) -> Iterator[Chart]:
    for run, study in result.items():
        sources = list(dict.fromkeys(cell["source"] for cell in study["sources"]))
        yield Chart(
            f"{run}: how much of the text came back",
            "Mean share of the runs of five characters (F1).",
            "",
            [
                Series(
                    hint,
                    [
                        PlotPoint(sources.index(cell["source"]) + 1, *[cell["characters"]["mean"] / 100] * 2)
                        for cell in study["sources"]
                        if cell["hinted"] == hinted
                    ],
                )
                for hinted, hint in HINTS.items()
            ],
            bars=True,
            names=sources,
        )


def _tables(result: Mapping[str, Any]) -> Iterator[TableShown]:
    heads = ["", *"hint questions exactness median characters median".split(), "longest run", "refused", "made up"]
    for run, study in result.items():
        yield TableShown(
            f"{run}: completions (KMMMU, table 26)",
            heads,
            [
                [
                    cell["source"],
                    "yes" if cell["hinted"] else "no",
                    str(cell["questions"]),
                    *_spread_cells(cell["exactness"]),
                    *_spread_cells(cell["characters"]),
                    _spread_cells(cell["longest"])[0],
                    share_cell(cell["refused"]),
                    share_cell(cell["hallucinated"]),
                ]
                for cell in study["sources"]
            ],
        )


def _spread_cells(values: Mapping[str, Any] | None) -> list[str]:
    return ["–", "–"] if values is None else [spread(values["mean"], values["std"]), rounded(values["median"])]


STUDY = Study("completion", _sentences, "Has it seen the questions?", _charts, _tables)
