"""What the study of reliability found, in words and in the tables of LiveK12Bench's appendix C."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from livek12.evaluation.studies.audits import KINDS, OVERALL, PANEL
from livek12.evaluation.studies.reliability import ANSWER, CONSENSUS
from livek12.evaluation.studies.words import number, percent

_FIGURES = {"n": "labelled", "open": "undecided", "acc": "accuracy", "prec": "precision", "recall": "recall"}
_FIGURES |= {"F1": "f1", "κ": "kappa"}


def tables(found: Mapping[str, Any]) -> dict[str, Any]:
    """The result as tables of a terminal's width: a row an evaluator beside people (table 8), and agreement (table 9).

    Of undecided decisions it has the number; their bounds, and the counts, are in the result itself.
    """
    against, people = found["against_people"], found["people"]
    beside: dict[str, Any] = {}
    for reference, kinds in against.items() if "note" not in against else ():
        for kind, evaluators in kinds.items():
            pairs = people.get(kind, {}) if "note" not in people and reference == CONSENSUS else {}
            rows = {**evaluators, **{f"{pair} (people)": one for pair, one in pairs.items()}}
            beside[f"{reference}, {kind}"] = {name: _row(one) for name, one in rows.items()}
    alike = {f"critics {name}": one for name, one in _agreed(found["inter_judge"]).items()}
    alike |= {f"{name}, again": one for name, one in _agreed(found["intra_judge"]).items()}
    return {**beside, **({"agreement": alike} if alike else {}), **_rankings(found["rankings"])}


def _row(one: Mapping[str, Any]) -> dict[str, Any]:
    return {short: one[name] for short, name in _FIGURES.items()}


def _agreed(section: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By pair or critic, the share of equal decisions on each kind."""
    if "note" in section:
        return {}
    names = list(dict.fromkeys(name for kind in KINDS for name in section[kind]))
    return {name: {kind: section[kind][name]["agreed"] for kind in KINDS} for name in names}


def _rankings(rankings: Mapping[str, Any]) -> dict[str, Any]:
    if "note" in rankings:
        return {}
    bounds = ("low",) if rankings["low"] == rankings["high"] else ("low", "high")
    of = f"τ of rankings by {rankings['metric']}"
    return {
        of if len(bounds) == 1 else f"{of}, undecided at its {'worst' if bound == 'low' else 'best'}": {
            **{f"by {axis.replace('_', ' ')}": one for axis, one in rankings[bound]["partitions"].items()},
            "random halves": rankings[bound]["halves"],
        }
        for bound in bounds
    }


def sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """What the study found, in words."""
    yield f"{found['answers']} answers, {found['audited']} of them with an audit; {found['labels']} labels of people."
    against, people = found["against_people"], found["people"]
    if "note" not in against:
        reference = CONSENSUS if CONSENSUS in against else next(iter(against))
        for name, one in against[reference].get(OVERALL, {}).items():
            yield f"{name} beside {_who(reference)}, over the three types of errors: {_figures(one)}."
        for name, one in against[reference].get(ANSWER, {}).items():
            yield f"{name} beside {_who(reference)}, on right or wrong: {_figures(one)}."
    for name, one in people.get(OVERALL, {}).items():
        yield f"{name}, two people, over the three types of errors: {_figures(one)}."
    for title, section in (("Between critics", found["inter_judge"]), ("Over repeats", found["intra_judge"])):
        for name, one in section.get(OVERALL, {}).items():
            if name in ("all pairs", PANEL):
                yield f"{title}, {name}: {percent(one['agreed'])} of {one['n']} decisions alike."
    for section in ("people", "against_people", "inter_judge", "intra_judge", "rankings"):
        if "note" in found[section]:
            yield f"{section.replace('_', ' ')}: not available: {found[section]['note']}."
    yield from _ranking_sentences(found["rankings"])


def _who(reference: str) -> str:
    return "what the people agree on" if reference == CONSENSUS else reference


def _figures(one: Mapping[str, Any]) -> str:
    figures = ((name, one[name]) for name in ("accuracy", "precision", "recall"))
    said = ", ".join(f"{name} {percent(value)}" for name, value in figures)
    left = f", {one['undecided']} of {one['labelled']} undecided" if one["undecided"] else ""
    return f"{said}, F1 {percent(one['f1'])}, κ {number(one['kappa'])} ({one['labelled']} decisions{left})"


def _ranking_sentences(rankings: Mapping[str, Any]) -> Iterator[str]:
    if "note" in rankings:
        return
    low = rankings["low"]
    for axis, found in low["partitions"].items():
        if found["mean"] is not None:
            yield (
                f"Rankings by {rankings['metric']} on each {axis.replace('_', ' ')} ({found['n']}) beside the whole:"
                f" Kendall's τ {number(found['mean'])} ± {number(found['std'])}."
            )
    halves = low["halves"]
    if halves["mean"] is not None:
        yield f"Between {halves['n']} random halves: τ {number(halves['mean'])} ± {number(halves['std'])}."
