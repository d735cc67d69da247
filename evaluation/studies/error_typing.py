"""Rates of the kinds of errors: by model, subject and kind of pictures, beside people, and what they say of accuracy.

Contract: `share` is of the wrong answers that have a kind, with Wilson's interval; `rate` is of all decided answers of
the run: the share times the part that is wrong. Groups have at least `LEAST` answers with a kind. The regression is
that of KMMMU (appendix H): accuracy on rates of unit variance, one observation a run. Where every wrong answer has one
kind, rates add up to 1 - accuracy and the fit is an identity whose coefficients are the rates' own standard
deviations with a minus: it says how the models differ, and nothing is tested by it. Then that is said.

Source: KMMMU, section 6, table 6, figure 2 and appendix H; MDK12-Bench, error analysis; LiveK12Bench, section 2.3.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from livek12.core.agreement import cohen_kappa
from livek12.core.error_types import one_each
from livek12.core.scoring import Row
from livek12.core.statistics import least_squares, unit_variance, wilson_interval
from livek12.evaluation.studies.error_kinds import Kinds, Wrong, kinds_of
from livek12.evaluation.studies.words import listed, number, percent

LEAST = 10
"""Answers behind the rates of a group (KMMMU, appendix I)."""
IDENTITY = 1 - 1e-9
"""An R² from which on the fit is an identity."""
AXES: Mapping[str, Callable[[Row], str | None]] = {
    "visual_modality": lambda row: row.question.attributes.visual_modality,
    "visual_subcategory": lambda row: row.question.attributes.visual_subcategory,
    "subject": lambda row: row.question.subject,
}
PANEL = "(the judges)"


@dataclass
class TypedRun:
    """What is known of the wrong answers of a run to one benchmark.

    Attributes:
        right: answers that are decided and right.
        wrong: those that are decided and wrong.
        undecided: those that are not decided.
        sample: the wrong answers that were looked at.
        people: what people said, of any of the wrong answers.
    """

    right: int = 0
    wrong: int = 0
    undecided: int = 0
    sample: list[Wrong] = field(default_factory=list)
    people: list[Wrong] = field(default_factory=list)

    @property
    def accuracy(self) -> float | None:
        """The part of the decided answers that is right."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else None


def error_types_study(
    benchmarks: Mapping[str, Mapping[str, TypedRun]], groups: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """The rates of each benchmark.

    Args:
        benchmarks: by benchmark and run.
        groups: names of runs that are fitted together, by the name of the group.
    """
    return {name: _of_benchmark(name, runs, groups) for name, runs in benchmarks.items()}


def _of_benchmark(name: str, runs: Mapping[str, TypedRun], groups: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    kinds = [kind.name for kind in kinds_of(name)]
    known = {run: [one for one in told.sample if one.kinds is not None] for run, told in runs.items()}
    pooled = [one for ones in known.values() for one in ones]
    return {
        "kinds": kinds,
        "one_each": bool(one_each(name)),
        "runs": {run: _of_run(told, known[run], kinds) for run, told in runs.items()},
        **{f"by_{axis}": _by_axis(pooled, of, kinds) for axis, of in AXES.items()},
        "agreement": {
            run: found for run, told in runs.items() if (found := _agreement(told, kinds, bool(one_each(name))))
        },
        "regressions": {
            group: _regression({run: runs[run] for run in names if run in runs}, known, kinds)
            for group, names in groups.items()
        },
    }


def _of_run(told: TypedRun, known: Sequence[Wrong], kinds: Sequence[str]) -> dict[str, Any]:
    problems = Counter(one.problem for one in told.sample if one.problem)
    return {
        "answers": told.right + told.wrong + told.undecided,
        "accuracy": told.accuracy,
        "wrong": told.wrong,
        "undecided": told.undecided,
        "looked_at": len(told.sample),
        "without_kind": len(told.sample) - len(known),
        "problems": dict(problems.most_common(3)),
        "kinds": {
            kind: {**share, "rate": _rate(told, share["share"])} for kind, share in _shares(known, kinds).items()
        },
    }


def _shares(known: Sequence[Wrong], kinds: Sequence[str]) -> dict[str, dict[str, Any]]:
    found = {}
    for kind in kinds:
        count = sum(kind in (one.kinds or ()) for one in known)
        found[kind] = {
            "answers": count,
            "share": count / len(known) if known else None,
            "interval": list(wilson_interval(count, len(known))) if known else None,
        }
    return found


def _rate(told: TypedRun, share: float | None) -> float | None:
    return None if share is None or told.accuracy is None else share * (1 - told.accuracy)


def _by_axis(pooled: Sequence[Wrong], of: Callable[[Row], str | None], kinds: Sequence[str]) -> dict[str, Any]:
    values: defaultdict[str, list[Wrong]] = defaultdict(list)
    for one in pooled:
        if value := of(one.row):
            values[value].append(one)
    return {
        value: {"answers": len(ones), "kinds": _shares(ones, kinds)}
        for value, ones in sorted(values.items())
        if len(ones) >= LEAST
    }


# --- beside people --------------------------------------------------------------------------------------------------


def _agreement(told: TypedRun, kinds: Sequence[str], one: bool) -> dict[str, Any]:
    """Each judge and rater beside each other; empty where fewer than two said something."""
    said: defaultdict[str, dict[tuple[str, str, int], Kinds]] = defaultdict(dict)
    for wrong in [*told.sample, *told.people]:
        key = wrong.row.task, wrong.row.question.id, wrong.row.trial
        for who, what in wrong.said:
            said[who][key] = what
        if len(wrong.said) > 1 and wrong.kinds is not None and wrong in told.sample:
            said[PANEL][key] = wrong.kinds
    return {
        f"{a} / {b}": _beside(said[a], said[b], kinds, one)
        for a, b in combinations(said, 2)
        if PANEL not in (a, b) or a in _raters(told) or b in _raters(told)
        if said[a].keys() & said[b].keys()
    }


def _raters(told: TypedRun) -> set[str]:
    return {who for wrong in told.people for who, _ in wrong.said}


def _beside(
    a: Mapping[tuple[str, str, int], Kinds], b: Mapping[tuple[str, str, int], Kinds], kinds: Sequence[str], one: bool
) -> dict[str, Any]:
    both = [(a[key], b[key]) for key in a if key in b]
    found: dict[str, Any] = {"answers": len(both), "agreed": sum(x == y for x, y in both) / len(both)}
    if one:
        found["kappa"] = cohen_kappa([min(x) for x, _ in both], [min(y) for _, y in both])
    by_kind = {kind: cohen_kappa([kind in x for x, _ in both], [kind in y for _, y in both]) for kind in kinds}
    return {**found, **{f"kappa {kind}": value for kind, value in by_kind.items()}}


# --- what rates say of accuracy -------------------------------------------------------------------------------------


def _regression(
    runs: Mapping[str, TypedRun], known: Mapping[str, Sequence[Wrong]], kinds: Sequence[str]
) -> dict[str, Any]:
    """Accuracy on the rates of unit variance; `why_not` where there is no such fit."""
    usable = {run: told for run, told in runs.items() if told.accuracy is not None and known[run]}
    accuracy = [told.accuracy or 0.0 for told in usable.values()]
    rates = {
        kind: [_rate(told, _shares(known[run], [kind])[kind]["share"]) or 0.0 for run, told in usable.items()]
        for kind in kinds
    }
    scaled = {kind: column for kind, values in rates.items() if values and (column := unit_variance(values))}
    told: dict[str, Any] = {"runs": len(usable), "left_out": [kind for kind in kinds if kind not in scaled]}
    if len(usable) < len(scaled) + 2 or not scaled:
        return {**told, "why_not": f"{len(scaled)} kinds need {len(scaled) + 2} runs or more, not {len(usable)}"}
    fit = least_squares(accuracy, list(scaled.values()))
    if fit is None:
        return {**told, "why_not": "the rates of the kinds depend on each other"}
    return {
        **told,
        "r2": fit.r2,
        "identity": fit.r2 >= IDENTITY,
        "freedom": fit.freedom,
        "coefficients": {
            name: {"beta": beta, "error": error, "p": p}
            for name, beta, error, p in zip(("(constant)", *scaled), fit.coefficients, fit.errors, fit.p, strict=True)
        },
    }


# --- words ----------------------------------------------------------------------------------------------------------


def sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """What the study found, in words."""
    for benchmark, told in found.items():
        for run, each in told["runs"].items():
            yield from _run_sentences(f"{run}, {benchmark}", each)
        for run, pairs in told["agreement"].items():
            for pair, seen in pairs.items():
                kappa = f", Cohen's κ {number(seen['kappa'])}" if "kappa" in seen else ""
                yield f"{run}, {pair}: the same kinds on {percent(seen['agreed'])} of {seen['answers']} answers{kappa}."
        for group, fit in told["regressions"].items():
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
