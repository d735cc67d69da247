"""Reliability of the process audit: critics and panel against people, each other and themselves; rankings.

LiveK12Bench, appendix C, tables 8 and 9. Missing decisions are in no coefficient, but in `accuracy_low` and
`accuracy_high`. Missing sections have a `note`. The positive class is "the error is there"; of `ANSWER`, "the answer is
right".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.records import ERROR_TYPES, Process
from livek12.core.scoring import Profile, Row
from livek12.core.scoring.outcomes import Outcomes, Slim
from livek12.evaluation.studies import Study, all_numbers, number, percent
from livek12.evaluation.studies.agreement import (
    KINDS,
    OVERALL,
    PANEL,
    between_critics,
    bounded_agreement,
    critics_said,
    decisions,
    over_repeats,
    refuse_remembered,
    with_any,
)
from livek12.evaluation.studies.labels import Label
from livek12.evaluation.studies.stability import compared, stability
from livek12.evaluation.studies.stability import sentences as ranking_sentences
from livek12.report.tables import TableShown

ANSWER = "answer"
MEAN = "mean of the types"
CONSENSUS = "consensus"
Pairs = Sequence[tuple[Label, Row]]
_Key = tuple[str, str, str, int]
"""Run, task, question, trial."""


def reliability(
    runs: Mapping[str, Sequence[Sequence[Row]]],
    labels: Mapping[str, Pairs],
    metric: str = "PES",
    profile: Profile = "article",
    halves: int = 100,
    seed: int = 0,
) -> dict[str, Any]:
    """The study: `runs` has by model the rows of each repeat of judging, the run itself first."""
    first, slim = {name: repeats[0] for name, repeats in runs.items()}, Slim()
    outcomes = {name: Outcomes.of(map(slim, rows)) for name, rows in first.items()}
    audits = [row.verdict.process for rows in first.values() for row in rows if row.verdict and row.verdict.process]
    pairs = [(name, label, row) for name, labelled in labels.items() for label, row in labelled]
    return {
        "answers": sum(map(len, first.values())),
        "audited": len(audits),
        "labels": len(pairs),
        **against_people(pairs),
        "inter_judge": between_critics(audits) or _note("no audit has two critics: judge with a panel of critics"),
        "intra_judge": _intra(runs),
        "rankings": _or_note(lambda: stability(outcomes, metric, profile, halves, seed)),
    }


def _note(reason: str) -> dict[str, Any]:
    return {"note": reason}


def _or_note(make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return make()
    except UserError as error:
        return _note(str(error))


# --- beside people --------------------------------------------------------------------------------------------------


def against_people(pairs: Sequence[tuple[str, Label, Row]]) -> dict[str, Any]:
    """Critics, judges and panel against each person and their consensus; and the persons against each other.

    The consensus of two people or more is what they agree on. Pairs are (run, label, answer).
    """
    people: defaultdict[str, dict[_Key, dict[str, bool]]] = defaultdict(dict)
    rows: dict[_Key, Row] = {}
    for run, label, row in pairs:
        key = run, row.task, row.question.id, row.trial
        rows[key] = row
        right = {} if label.correct is None else {ANSWER: label.correct}
        people[label.rater][key] = {
            **with_any({str(kind): statements for kind, statements in label.errors.items()}),
            **right,
        }
    if not people:
        return {name: _note("no labels: give --labels FILE") for name in ("people", "against_people")}
    statements = {key: evaluators(row) for key, row in rows.items()}
    names = [*sorted({name for by_name in statements.values() for name in by_name} - {PANEL}), PANEL]
    references: dict[str, Mapping[_Key, Mapping[str, bool]]] = dict(sorted(people.items()))
    if len(people) > 1:
        references[CONSENSUS] = _consensus(list(people.values()))
    return {
        "people": _between_people(people),
        "against_people": {
            reference: _with_means(
                {
                    kind: {
                        name: _beside(labels, {key: statements[key].get(name, {}) for key in labels}, kind)
                        for name in names
                    }
                    for kind in (*KINDS, ANSWER)
                    if any(decisions(labelled, kind) for labelled in labels.values())
                }
            )
            for reference, labels in references.items()
        },
    }


def evaluators(row: Row) -> dict[str, dict[str, bool]]:
    """Statements of critics, judges and panel on an answer: errors by type, and right or wrong."""
    if row.verdict is None:
        return {}
    by_evaluator: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for critic, statements in critics_said(row.verdict.process).items():
        by_evaluator[critic].update(statements)
    votes = grouped((vote.judge, vote.decision) for part in row.verdict.parts for vote in part.votes)
    for judge, decided in votes.items():
        if len(decided) == len(row.verdict.parts) and "undecided" not in decided:
            by_evaluator[judge][ANSWER] = all(decision == "accept" for decision in decided)
    if row.verdict.correct is not None:
        by_evaluator[PANEL][ANSWER] = row.verdict.correct
    return dict(by_evaluator)


def _consensus(people: Sequence[Mapping[_Key, Mapping[str, bool]]]) -> dict[_Key, dict[str, bool]]:
    consensus: dict[_Key, dict[str, bool]] = {}
    for key in {key for person in people for key in person}:
        given = [person[key] for person in people if key in person]
        kinds = {kind for person_view in given for kind in person_view}
        statements = {kind: [person_view[kind] for person_view in given if kind in person_view] for kind in kinds}
        alike = {kind: values[0] for kind, values in statements.items() if len(values) > 1 and len(set(values)) == 1}
        if alike:
            consensus[key] = alike
    return consensus


def _between_people(people: Mapping[str, Mapping[_Key, Mapping[str, bool]]]) -> dict[str, Any]:
    if len(people) < 2:
        return _note("the labels are of one person: the ceiling, two people beside each other, needs two")
    pairs: dict[str, dict[str, Any]] = {}
    for kind in (*KINDS, ANSWER):
        for a, b in combinations(sorted(people), 2):
            shared = {key: people[a][key] for key in people[a].keys() & people[b].keys()}
            beside = _beside(shared, people[b], kind)
            if beside["labelled"]:
                pairs.setdefault(kind, {})[f"{a} / {b}"] = beside
    return _with_means(pairs) or _note("no answer was labelled by two people")


def _with_means(kinds: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    if all(kind in kinds for kind in ERROR_TYPES):
        kinds[MEAN] = {name: _mean([kinds[kind][name] for kind in ERROR_TYPES]) for name in kinds[ERROR_TYPES[0]]}
    return kinds


def _mean(types: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = {name: [own[name] for own in types] for name in _FIGURES.values()}
    sums = {name: sum(values.pop(name)) for name in ("labelled", "undecided")}
    return {**sums, **{name: None if None in own else sum(own) / len(own) for name, own in values.items()}}


def _beside(
    labels: Mapping[_Key, Mapping[str, bool]], statements: Mapping[_Key, Mapping[str, bool]], kind: str
) -> dict[str, Any]:
    pairs = [
        (person, statements[key].get(error_type))
        for key, label in labels.items()
        for error_type, person in decisions(label, kind).items()
    ]
    figures = bounded_agreement(pairs)
    names = ("labelled", "undecided", "accuracy", "precision", "recall", "f1", "kappa", "accuracy_ci")
    return {
        **{name: figures[name] for name in (*names, "accuracy_low", "accuracy_high")},
        "both": figures["true_accepts"],
        "only_evaluator": figures["false_accepts"],
        "only_person": figures["false_rejects"],
        "neither": figures["true_rejects"],
    }


# --- asked again ----------------------------------------------------------------------------------------------------


def _intra(runs: Mapping[str, Sequence[Sequence[Row]]]) -> dict[str, Any]:
    most = max(len(repeats) for repeats in runs.values())
    if most < 2:
        return _note("the answers were judged once: the agreement of a judge with itself needs repeats")
    repeats: list[dict[str, Process]] = [{} for _ in range(most)]
    for name, copies in runs.items():
        if len(copies) == most:
            _check_repeats(name, copies)
            for place, rows in enumerate(copies):
                for row in rows:
                    if row.verdict and row.verdict.process:
                        repeats[place][f"{name}/{row.verdict.key}"] = row.verdict.process
    return over_repeats(repeats) or _note("no audit of the reasoning: judge with critics")


def _check_repeats(name: str, copies: Sequence[Sequence[Row]]) -> None:
    judges = {row.verdict.judge for rows in copies for row in rows if row.verdict and row.verdict.process}
    if len(judges) > 1:
        raise UserError(
            f"{name}: its copies were marked by {len(judges)} judges; to compare judges use `livek12 study sensitivity`"
        )
    refuse_remembered(name, copies)


_FIGURES = {"n": "labelled", "open": "undecided", "acc": "accuracy", "prec": "precision", "recall": "recall"}
_FIGURES |= {"F1": "f1", "κ": "kappa"}


def tables(result: Mapping[str, Any]) -> Iterator[TableShown]:
    """A row an evaluator against people (table 8), and agreement (table 9).

    Undecided decisions are counted; bounds and further counts are in the result itself.
    """
    against, people = result["against_people"], result["people"]
    beside: dict[str, Any] = {}
    for reference, kinds in against.items() if "note" not in against else ():
        for kind, evaluators in kinds.items():
            pairs = people.get(kind, {}) if "note" not in people and reference == CONSENSUS else {}
            rows = {**evaluators, **{f"{pair} (people)": figures for pair, figures in pairs.items()}}
            beside[f"{reference}, {kind}"] = {
                name: {short: figures[full] for short, full in _FIGURES.items()} for name, figures in rows.items()
            }
    alike = {f"critics {name}": figures for name, figures in _agreed(result["inter_judge"]).items()}
    alike |= {f"{name}, again": figures for name, figures in _agreed(result["intra_judge"]).items()}
    shown = {**beside, **({"agreement": alike} if alike else {}), **_rankings(result["rankings"])}
    return all_numbers("reliability", shown)


def _agreed(section: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
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
            **{f"{name}, by {axis}": figures for name, axis, figures in compared(rankings[bound])},
            "half against half, at random": rankings[bound]["halves"],
        }
        for bound in bounds
    }


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result in sentences."""
    yield (
        f"{result['answers']} answers, {result['audited']} of them with an audit; {result['labels']} labels of people."
    )
    against, people = result["against_people"], result["people"]
    if "note" not in against:
        reference = CONSENSUS if CONSENSUS in against else next(iter(against))
        for name, figures in against[reference].get(OVERALL, {}).items():
            yield f"{name} beside {_who(reference)}, over the three types of errors: {_figures(figures)}."
        for name, figures in against[reference].get(MEAN, {}).items():
            yield f"{name} beside {_who(reference)}, mean of the three types: {_figures(figures)}."
        for name, figures in against[reference].get(ANSWER, {}).items():
            yield f"{name} beside {_who(reference)}, on right or wrong: {_figures(figures)}."
    for name, figures in people.get(OVERALL, {}).items():
        yield f"{name}, two people, over the three types of errors: {_figures(figures)}."
    for title, section in (("Between critics", result["inter_judge"]), ("Over repeats", result["intra_judge"])):
        for name, figures in section.get(OVERALL, {}).items():
            if name in ("all pairs", PANEL):
                yield f"{title}, {name}: {percent(figures['agreed'])} of {figures['n']} decisions alike."
    for section in ("people", "against_people", "inter_judge", "intra_judge", "rankings"):
        if "note" in result[section]:
            yield f"{section.replace('_', ' ')}: not available: {result[section]['note']}."
    if "note" not in result["rankings"]:
        yield from ranking_sentences(result["rankings"])


def _who(reference: str) -> str:
    return "what the people agree on" if reference == CONSENSUS else reference


def _figures(own: Mapping[str, Any]) -> str:
    figures = ((name, own[name]) for name in ("accuracy", "precision", "recall"))
    text = ", ".join(f"{name} {percent(value)}" for name, value in figures)
    left = f", {own['undecided']} of {own['labelled']} undecided" if own["undecided"] else ""
    return f"{text}, F1 {percent(own['f1'])}, κ {number(own['kappa'])} ({own['labelled']} decisions{left})"


STUDY = Study("reliability", sentences, tables=tables)
