"""Kinds of errors of wrong answers, by judges or people: sample, question put, rates, agreement, regression.

The sample is of decided wrong answers, stratified by task, subject and kind of pictures. Kinds are those of the
benchmark's article (`core.error_types`). Judges and raters decide by majority; a tie is no kind. `share` is of the
wrong answers with a kind (Wilson's interval); `rate` is `share` times the wrong part of the decided answers. The
regression is KMMMU's (appendix H): accuracy on rates of unit variance, one observation a run. With one kind an answer,
rates add up to 1 - accuracy: the fit is an identity and tests nothing (`identity`).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, Final, TypeAlias

from livek12.core.error_types import KindOfError, error_types, one_each
from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.groups import grouped
from livek12.core.records import ERROR_TYPES
from livek12.core.replies import Json, Unreadable, a_list, a_text, object_schema
from livek12.core.run.folder import LABEL_PLAN, RunFolder
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import outcome_bounds
from livek12.core.statistics import cohen_kappa, least_squares, unit_variance
from livek12.evaluation.choosing import ANY, AnswerChoice, RunRows, one_way
from livek12.evaluation.studies import (
    AskedOf,
    JsonForm,
    Opinions,
    Study,
    all_numbers,
    authors_of,
    consult,
    listed,
    number,
    percent,
    share_cell,
    share_of,
)
from livek12.evaluation.studies.labels import Label
from livek12.evaluation.task_data import illustrated, reload_task_data
from livek12.judges.jury import Jury
from livek12.judges.llm.prompts import Case, Values
from livek12.report.charts import Chart, PlotPoint, Series
from livek12.report.ranking import p_value
from livek12.report.tables import TableShown
from livek12.tasks.registry import find_task

PROMPT = "error_type"
BY_ITSELF = "incomplete"
"""Prefix of the kind of responses without text."""
Kinds: TypeAlias = frozenset[str]
Stratum: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Wrong:
    """A wrong answer of the sample.

    Attributes:
        kinds: None without statements, or without a majority.
    """

    row: Row
    kinds: Kinds | None = None
    said: tuple[tuple[str, Kinds], ...] = ()
    problem: str = ""


def stratum_of(row: Row) -> Stratum:
    """Task, subject and kind of pictures."""
    return row.task, row.question.subject, row.question.attributes.visual_modality or ""


def sampled(rows: Iterable[Row], size: int, seed: int = 0) -> list[Row]:
    """A stratified sample of answers, by stratum; all where there are no more."""

    def order(row: Row) -> tuple[Stratum, bytes]:
        name = f"{seed}/{row.task}/{row.question.id}/{row.trial}"
        return stratum_of(row), hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()

    ordered = sorted(rows, key=order)
    step = len(ordered) / size
    return ordered if step <= 1 else [ordered[int((n + 0.5) * step)] for n in range(size)]


def is_wrong(row: Row) -> bool:
    """The answer came and is decided as not fully right."""
    return row.response is not None and outcome_bounds(row)[1] == (0.0, 0.0)


def _kinds_of(benchmark: str) -> tuple[KindOfError, ...]:
    return error_types(benchmark) or ()


# --- judges ---------------------------------------------------------------------------------------------------------


def _read_kinds(names: Sequence[str], fields: Json) -> Kinds:
    a_text(fields["reason"], "reason")
    kinds = [fields["kind"]] if "kind" in fields else a_list(fields["kinds"], "kinds")
    if strange := [kind for kind in kinds if kind not in names]:
        raise Unreadable(f"names the kind {str(strange[0])[:40]!r} instead of {', '.join(names)}")
    return frozenset(map(str, kinds))


def _form(row: Row) -> JsonForm[Kinds]:
    names = [kind.name for kind in _kinds_of(row.question.benchmark)]
    kind: Json = {"type": "string", "enum": names}
    kinds: Json = {"type": "array", "items": kind, "maxItems": len(names)}
    asked = {"kind": kind} if one_each(row.question.benchmark) else {"kinds": kinds}
    return JsonForm(object_schema(reason={"type": "string", "maxLength": 2000}, **asked), partial(_read_kinds, names))


def _values(row: Row, case: Case) -> Values:
    listed = "\n".join(f"- {kind.name}: {kind.meaning}" for kind in _kinds_of(row.question.benchmark))
    ask = (
        'The answer is of one kind. Reply with one JSON object and nothing else: {"reason": "one short sentence",'
        ' "kind": "one of these names"}'
        if one_each(row.question.benchmark)
        else "Any of these may be in the response, or none. Reply with one JSON object and nothing else:"
        ' {"reason": "one short sentence", "kinds": ["each name that applies"]}'
    )
    return {
        "question": case.question_block(),
        "reference": case.reference_block([gold for gold in case.question.answer if gold.strip()]),
        "solution": case.solution_block(),
        "response": case.response_block(),
        "kinds": f"Kinds of errors:\n{listed}\n{ask}",
    }


REQUEST: Final = AskedOf(PROMPT, _values, _form)


def _by_judges(rows: Sequence[Row], opinions: Sequence[Opinions[Kinds]]) -> list[Wrong]:
    typed = []
    for row, opinion in zip(rows, opinions, strict=True):
        statements = tuple((judge, kinds) for judge, kinds, _ in opinion.given if kinds is not None)
        typed.append(Wrong(row, most(row, [kinds for _, kinds in statements]), statements, opinion.problem))
    return typed


def by_itself(row: Row) -> Wrong | None:
    """Kind of an answer without text; None where judges have to be asked."""
    if row.response is None or row.response.text.strip():
        return None
    kind = next((k.name for k in _kinds_of(row.question.benchmark) if k.name.startswith(BY_ITSELF)), None)
    return Wrong(row, frozenset([kind])) if kind else Wrong(row, problem="the response has no text")


# --- people ---------------------------------------------------------------------------------------------------------


def _label_kinds(label: Label, row: Row) -> Kinds | None:
    if one_each(row.question.benchmark):
        return frozenset([label.error_type]) if label.error_type else None
    if set(label.errors) != set(ERROR_TYPES):
        return None
    return frozenset(name for name, there in label.errors.items() if there)


def _by_people(rows: Iterable[Row], pairs: Iterable[tuple[Label, Row]]) -> list[Wrong]:
    def key(row: Row) -> tuple[str, str, int]:
        return row.task, row.question.id, row.trial

    statements = sorted(
        ((key(row), label.rater, kinds) for label, row in pairs if (kinds := _label_kinds(label, row)) is not None),
        key=lambda each: each[:2],
    )
    by_answer = {
        of: [(rater, kinds) for _, rater, kinds in each] for of, each in groupby(statements, key=lambda e: e[0])
    }
    return [
        Wrong(row, most(row, [kinds for _, kinds in own]), tuple(own))
        for row in rows
        if (own := by_answer.get(key(row)))
    ]


def most(row: Row, votes: Sequence[Kinds]) -> Kinds | None:
    """The majority: the one kind, or for each kind its presence (a tie: None)."""
    if not votes:
        return None
    counts = Counter(kind for kinds in votes for kind in kinds)
    if one_each(row.question.benchmark):
        top = [kind for kind, count in counts.items() if 2 * count > len(votes)]
        return frozenset(top) if top else None
    if any(2 * count == len(votes) for count in counts.values()):
        return None
    return frozenset(kind for kind, count in counts.items() if 2 * count > len(votes))


LEAST = 10
"""Answers behind the rates of a group (KMMMU, appendix I)."""
IDENTITY = 1 - 1e-9
"""R² from which the fit is an identity."""
AXES: Mapping[str, tuple[str, Callable[[Row], str | None]]] = {
    "visual_modality": ("kind of pictures", lambda row: row.question.attributes.visual_modality),
    "visual_subcategory": ("sub-category of pictures", lambda row: row.question.attributes.visual_subcategory),
    "subject": ("subject", lambda row: row.question.subject),
}
"""The name of each axis, and an answer's value."""
PANEL = "(the judges)"


@dataclass
class TypedRun:
    """Wrong answers of a run to one benchmark: `sample` those looked at, `people` those that people labelled.

    `places` counts the decided answers by axis, value and being wrong.
    """

    right: int = 0
    wrong: int = 0
    undecided: int = 0
    places: Counter[tuple[str, str, bool]] = field(default_factory=Counter)
    sample: list[Wrong] = field(default_factory=list)
    people: list[Wrong] = field(default_factory=list)

    @property
    def accuracy(self) -> float | None:
        """Right share of the decided answers."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None


def error_types_study(
    benchmarks: Mapping[str, Mapping[str, TypedRun]], groups: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Rates by benchmark; `groups` names runs that are fitted together."""
    return {name: _of_benchmark(name, runs, groups) for name, runs in benchmarks.items()}


def _of_benchmark(name: str, runs: Mapping[str, TypedRun], groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    kinds = [kind.name for kind in _kinds_of(name)]
    typed = {run: [wrong for wrong in typed_run.sample if wrong.kinds is not None] for run, typed_run in runs.items()}
    pooled = [wrong for ones in typed.values() for wrong in ones]
    return {
        "kinds": kinds,
        "one_each": bool(one_each(name)),
        "runs": {run: _of_run(typed_run, typed[run], kinds) for run, typed_run in runs.items()},
        **{f"by_{axis}": _by_axis(pooled, axis, list(runs.values()), kinds) for axis in AXES},
        "agreement": {
            run: agreement
            for run, typed_run in runs.items()
            if (agreement := _agreement(typed_run, kinds, bool(one_each(name))))
        },
        "regressions": {
            group: _regression({run: runs[run] for run in names if run in runs}, typed, kinds)
            for group, names in groups.items()
        },
    }


def _of_run(run: TypedRun, typed: Sequence[Wrong], kinds: Sequence[str]) -> dict[str, Any]:
    problems = Counter(wrong.problem for wrong in run.sample if wrong.problem)
    return {
        "answers": run.right + run.wrong + run.undecided,
        "accuracy": run.accuracy,
        "wrong": run.wrong,
        "undecided": run.undecided,
        "looked_at": len(run.sample),
        "without_kind": len(run.sample) - len(typed),
        "problems": dict(problems.most_common(3)),
        "kinds": {kind: {**share, "rate": _rate(run, share["share"])} for kind, share in _shares(typed, kinds).items()},
    }


def _shares(typed: Sequence[Wrong], kinds: Sequence[str]) -> dict[str, dict[str, Any]]:
    shares = {}
    for kind in kinds:
        count = sum(kind in (wrong.kinds or ()) for wrong in typed)
        shares[kind] = {"answers": count, **share_of(count, len(typed))}
    return shares


def _rate(run: TypedRun, share: float | None) -> float | None:
    return None if share is None or run.accuracy is None else share * (1 - run.accuracy)


def _by_axis(
    pooled: Sequence[Wrong], axis: str, runs: Sequence[TypedRun], kinds: Sequence[str]
) -> dict[str, dict[str, Any]]:
    values = grouped((value, wrong) for wrong in pooled if (value := AXES[axis][1](wrong.row)))
    groups = {}
    for value, ones in sorted(values.items()):
        if len(ones) >= LEAST:
            right, amiss = (sum(run.places[axis, value, wrong] for run in runs) for wrong in (False, True))
            whole = TypedRun(right, amiss)
            shares = _shares(ones, kinds)
            groups[value] = {
                "answers": len(ones),
                "decided": whole.right + whole.wrong,
                "wrong": whole.wrong,
                "kinds": {kind: {**own, "rate": _rate(whole, own["share"])} for kind, own in shares.items()},
            }
    return groups


# --- beside people --------------------------------------------------------------------------------------------------


def _agreement(run: TypedRun, kinds: Sequence[str], single: bool) -> dict[str, Any]:
    statements: defaultdict[str, dict[tuple[str, str, int], Kinds]] = defaultdict(dict)
    for wrong in [*run.sample, *run.people]:
        key = wrong.row.task, wrong.row.question.id, wrong.row.trial
        for who, what in wrong.said:
            statements[who][key] = what
        if len(wrong.said) > 1 and wrong.kinds is not None and wrong in run.sample:
            statements[PANEL][key] = wrong.kinds
    raters = {who for wrong in run.people for who, _ in wrong.said}
    return {
        f"{a} / {b}": _beside(statements[a], statements[b], kinds, single)
        for a, b in combinations(statements, 2)
        if PANEL not in (a, b) or not raters.isdisjoint((a, b))
        if statements[a].keys() & statements[b].keys()
    }


def _beside(
    a: Mapping[tuple[str, str, int], Kinds], b: Mapping[tuple[str, str, int], Kinds], kinds: Sequence[str], single: bool
) -> dict[str, Any]:
    both = [(a[key], b[key]) for key in a if key in b]
    result: dict[str, Any] = {"answers": len(both), "agreed": sum(x == y for x, y in both) / len(both)}
    if single:
        result["kappa"] = cohen_kappa([min(x) for x, _ in both], [min(y) for _, y in both])
    by_kind = {kind: cohen_kappa([kind in x for x, _ in both], [kind in y for _, y in both]) for kind in kinds}
    return {**result, **{f"kappa {kind}": value for kind, value in by_kind.items()}}


# --- what rates say of accuracy -------------------------------------------------------------------------------------


def _regression(
    runs: Mapping[str, TypedRun], typed: Mapping[str, Sequence[Wrong]], kinds: Sequence[str]
) -> dict[str, Any]:
    usable = {run: result for run, result in runs.items() if result.accuracy is not None and typed[run]}
    accuracy = [result.accuracy or 0.0 for result in usable.values()]
    rates = {
        kind: [_rate(result, _shares(typed[run], [kind])[kind]["share"]) or 0.0 for run, result in usable.items()]
        for kind in kinds
    }
    scaled = {kind: column for kind, values in rates.items() if values and (column := unit_variance(values))}
    result: dict[str, Any] = {"runs": len(usable), "left_out": [kind for kind in kinds if kind not in scaled]}
    if len(usable) < len(scaled) + 2 or not scaled:
        return {**result, "why_not": f"{len(scaled)} kinds need {len(scaled) + 2} runs or more, not {len(usable)}"}
    fit = least_squares(accuracy, list(scaled.values()))
    if fit is None:
        return {**result, "why_not": "the rates of the kinds depend on each other"}
    return {
        **result,
        "r2": fit.r2,
        "identity": fit.r2 >= IDENTITY,
        "freedom": fit.freedom,
        "coefficients": {
            name: {"beta": beta, "error": error, "p": p}
            for name, beta, error, p in zip(("(constant)", *scaled), fit.coefficients, fit.errors, fit.p, strict=True)
        },
    }


# --- words ----------------------------------------------------------------------------------------------------------


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    for benchmark, study in result.items():
        for run, each in study["runs"].items():
            yield from _run_sentences(f"{run}, {benchmark}", each)
        for run, pairs in study["agreement"].items():
            for pair, seen in pairs.items():
                kappa = f", Cohen's κ {number(seen['kappa'])}" if "kappa" in seen else ""
                yield f"{run}, {pair}: the same kinds on {percent(seen['agreed'])} of {seen['answers']} answers{kappa}."
        for group, fit in study["regressions"].items():
            yield f"{benchmark}, {group}: {_fit_said(fit)}"


def _run_sentences(name: str, each: Mapping[str, Any]) -> Iterator[str]:
    undecided = f", {each['undecided']} are undecided and in nothing here" if each["undecided"] else ""
    yield (
        f"{name}: {each['wrong']} of {each['answers']} answers are wrong{undecided}; {each['looked_at']} of them were"
        f" looked at, {each['without_kind']} have no kind that more than half agree on."
    )
    shares = [f"{kind} {percent(share['share'])}" for kind, share in each["kinds"].items() if share["answers"]]
    if shares:
        yield f"{name}: of the wrong answers {listed(shares)}."
    for problem, count in each["problems"].items():
        yield f"{name}: no kind, {count}: {problem}"


def _fit_said(fit: Mapping[str, Any]) -> str:
    if "why_not" in fit:
        return f"no regression of accuracy on the rates: {fit['why_not']}."
    betas = [f"{kind} {cell['beta']:+.4f}" for kind, cell in fit["coefficients"].items() if kind != "(constant)"]
    if fit["identity"]:
        return (
            f"over {fit['runs']} runs the rates add up to 1 - accuracy, so that the coefficients are their standard"
            f" deviations and p says nothing: {listed(betas)}."
        )
    return f"accuracy on the rates of unit variance over {fit['runs']} runs (R² {fit['r2']:.3f}): {listed(betas)}."


Found = dict[str, dict[str, TypedRun]]
"""By benchmark and run."""


def gathered(
    folders: Mapping[str, RunFolder],
    size: int,
    seed: int,
    labels: Mapping[str, Sequence[tuple[Label, Row]]],
    choice: AnswerChoice = ANY,
) -> Found:
    """Wrong answers of each run asked in one way, a sample, and people's labels.

    Raises:
        UserError: the runs have no common way of asking, no answer is wrong, or all wrong ones are of benchmarks whose
            article tells no kinds apart.
    """
    typed: defaultdict[str, dict[str, TypedRun]] = defaultdict(dict)
    without = set[str]()
    taken = one_way({name: RunRows(folder) for name, folder in folders.items()}, choice)
    for name, answers in taken.items():
        wrong: defaultdict[str, list[Row]] = defaultdict(list)
        for row in answers:
            benchmark = row.question.benchmark
            if not _kinds_of(benchmark):
                without.add(benchmark)
                continue
            own = typed[benchmark].setdefault(name, TypedRun())
            if is_wrong(row):
                own.wrong += 1
                wrong[benchmark].append(row)
            elif outcome_bounds(row)[1] == (1.0, 1.0):
                own.right += 1
            else:
                own.undecided += 1
                continue
            own.places.update((axis, value, is_wrong(row)) for axis, (_, of) in AXES.items() if (value := of(row)))
        for benchmark, rows in wrong.items():
            own = typed[benchmark][name]
            own.sample = [Wrong(row) for row in sampled(rows, size, seed)]
            own.people = _by_people(rows, labels.get(name, ()))
    if not any(own.wrong for runs in typed.values() for own in runs.values()):
        note = f"; the articles of {', '.join(sorted(without))} tell no kinds of errors apart" if without else ""
        raise UserError(f"no answer of these runs is decided and wrong: there is nothing to look at{note}")
    return dict(typed)


def to_ask(typed: Found) -> int:
    """Number of answers that judges are asked about."""
    return sum(by_itself(wrong.row) is None for runs in typed.values() for own in runs.values() for wrong in own.sample)


def typed_by_judges(typed: Found, folders: Mapping[str, RunFolder], jury: Jury, step: Callable[[], None]) -> None:
    """Asks judges for the kinds of the sample."""
    for name, folder in folders.items():
        pictures = None
        for runs in typed.values():
            if name not in runs:
                continue
            pictures = pictures or reload_task_data(folder, jury.options.data)
            own = runs[name]
            settled = [by_itself(wrong.row) for wrong in own.sample]
            open_rows = [wrong.row for wrong, answer in zip(own.sample, settled, strict=True) if answer is None]
            rows = list(illustrated(open_rows, pictures))
            opinions = consult(jury, rows, REQUEST, authors_of(folder), _sees, step)
            judged = iter(_by_judges(rows, opinions))
            own.sample = [answer or next(judged) for answer in settled]


def _sees(row: Row) -> bool:
    task = find_task(row.task)
    return task is None or not task.without_pictures


def typed_by_people(typed: Found) -> None:
    """Takes people's labels as the kinds, without judges."""
    for runs in typed.values():
        for own in runs.values():
            own.sample = own.people
    if not any(own.sample for runs in typed.values() for own in runs.values()):
        raise UserError(
            "no label says of a wrong answer of what kind it is: labels name error_type, or CIE, LAE and DRE"
        )


def write_plans(typed: Found, folders: Mapping[str, RunFolder]) -> list[Path]:
    """Writes the sample of each run as its label plan."""
    written = []
    for name, folder in folders.items():
        rows = [wrong.row for runs in typed.values() if name in runs for wrong in runs[name].sample]
        text = "".join(_line(row) for row in rows)
        path = folder.path / LABEL_PLAN
        if path.exists() and path.read_text("utf-8") != text:
            raise UserError(f"{path}: is another plan; label it, or move it away, before this one is written")
        if rows:
            write_atomically(path, text)
            written.append(path)
    return written


def _line(row: Row) -> str:
    stratum = " / ".join(filter(None, stratum_of(row)[1:]))
    planned = {"task": row.task, "question_id": row.question.id, "trial": row.trial, "stratum": f"wrong, {stratum}"}
    return json.dumps(planned, ensure_ascii=False) + "\n"


MOST_SERIES = 6
_SHORT = 13


def _charts(result: Mapping[str, Any]) -> Iterator[Chart]:
    for benchmark, study in result.items():
        kinds = study["kinds"]
        runs = {
            run: each["kinds"]
            for run, each in study["runs"].items()
            if any(k["answers"] for k in each["kinds"].values())
        }
        for part in range(0, len(runs), MOST_SERIES):
            shown = dict(list(runs.items())[part : part + MOST_SERIES])
            yield Chart(
                f"{benchmark}: kinds of errors by run (KMMMU, figure 2)",
                "Share of the wrong answers; thin strokes are 95 % intervals.",
                "",
                [Series(run, _bars(shares[kind] for kind in kinds)) for run, shares in shown.items()],
                bars=True,
                names=[_short(kind) for kind in kinds],
            )
        for axis, (name, _) in AXES.items():
            if values := study[f"by_{axis}"]:
                yield Chart(
                    f"{benchmark}: kinds of errors by {name}",
                    "Share of the wrong answers of all runs; groups of 10 answers or more.",
                    "",
                    [
                        Series(kind.replace("_", " "), _bars(each["kinds"][kind] for each in values.values()))
                        for kind in kinds[:MOST_SERIES]
                    ],
                    bars=True,
                    names=[_short(value) for value in values],
                )


def _bars(shares: Iterable[Mapping[str, Any]]) -> list[PlotPoint]:
    return [PlotPoint(n, own["share"] or 0.0, own["share"] or 0.0, own["interval"]) for n, own in enumerate(shares, 1)]


def _short(name: str) -> str:
    text = name.replace("_", " ")
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def _tables(result: Mapping[str, Any]) -> Iterator[TableShown]:
    for benchmark, study in result.items():
        kinds = study["kinds"]
        heads = [kind.replace("_", " ") for kind in kinds]
        yield TableShown(
            f"{benchmark}: number, share of the wrong answers, and rate of all answers, by run"
            " (KMMMU, figure 2; MDK12-Bench, figure 6)",
            ["", "accuracy", "wrong", "looked at", *heads],
            [
                [run, percent(each["accuracy"]), str(each["wrong"]), str(each["looked_at"])]
                + [f"{each['kinds'][kind]['answers']}; {_cell(each['kinds'][kind])}" for kind in kinds]
                for run, each in study["runs"].items()
            ],
        )
        for axis, (name, _) in AXES.items():
            if values := study[f"by_{axis}"]:
                yield TableShown(
                    f"{benchmark}: share of the wrong answers, and rate of all answers, by {name} (KMMMU, table 6)",
                    ["", "decided", "wrong", "with a kind", *heads],
                    [
                        [value, *(str(each[count]) for count in ("decided", "wrong", "answers"))]
                        + [_cell(each["kinds"][kind]) for kind in kinds]
                        for value, each in values.items()
                    ],
                )
        yield from all_numbers(f"{benchmark}: agreement", study["agreement"])
        for group, fit in study["regressions"].items():
            if "coefficients" in fit:
                yield TableShown(
                    f"{benchmark}, {group}: accuracy on the rates of unit variance (KMMMU, table 24)",
                    ["", "β", "standard error", "p"],
                    [
                        [kind, f"{cell['beta']:+.4f}", f"{cell['error']:.4f}", p_value(cell["p"])]
                        for kind, cell in fit["coefficients"].items()
                    ],
                )


def _cell(share: Mapping[str, Any]) -> str:
    return f"{share_cell(share)}; {percent(share['rate'])}"


STUDY = Study("error types", _sentences, "What goes wrong?", _charts, _tables)
