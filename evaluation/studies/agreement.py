"""Agreement of marks: of judges with people, and of judges and critics with each other, between runs, over repeats.

Undecided answers are counted and in no coefficient; accuracies are intervals over all answers. A critic states for each
error type whether it is there; without a usable critique nothing. The panel follows the majority; a tie states nothing.
`OVERALL` pools the three types, `ANY` is an error of any type.

Ways of judging are `s2s`, `l2s`, `l2l`, …, or `rules` (CFE-Bench, table 1: P, R and F1 weighted by class). Several runs
or repeats of one way give mean ± sample standard deviation. AUC is the chance that a right answer gets more points than
a wrong one (ties count half).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.records import ERROR_TYPES, UNMARKED, Process, Verdict
from livek12.core.scoring import Row
from livek12.core.scoring.schema import parameters_of
from livek12.core.statistics import (
    binary_agreement,
    cohen_kappa,
    krippendorff_alpha,
    mean_std,
    quadratic_kappa,
    weighted_agreement,
    wilson_interval,
)
from livek12.evaluation.studies import Study, all_numbers, interval, listed, number, percent, share, span, spread
from livek12.evaluation.studies.labels import Label, Stranger
from livek12.judges.llm.methods import METHODS as WAYS
from livek12.judges.llm.prompts import GIVEN, load_prompt
from livek12.judges.llm.spec import EVERY_ANSWER
from livek12.report.marks import rounded
from livek12.report.tables import TableShown

PANEL = "panel"
OVERALL, ANY = "overall", "any error"
KINDS = (*ERROR_TYPES, OVERALL, ANY)
Said = Mapping[str, bool]
"""Presence of an error by type and for `ANY`; a type without a statement is missing."""


def with_any(statements: Mapping[str, bool]) -> dict[str, bool]:
    """Statements on the types, and what follows for `ANY`."""
    types = [statements[kind] for kind in ERROR_TYPES if kind in statements]
    complete = any(types) or len(types) == len(ERROR_TYPES)
    return {
        **{kind: statements[kind] for kind in ERROR_TYPES if kind in statements},
        **({ANY: any(types)} if complete else {}),
    }


def critics_said(process: Process | None) -> dict[str, dict[str, bool]]:
    """Statements of each critic of an audit, and of the panel."""
    if process is None or not process.critics:
        return {}
    by_critic = {
        critic: with_any(
            {kind: any(e.type == kind and e.judge == critic for e in process.errors) for kind in ERROR_TYPES}
        )
        for critic in dict.fromkeys(process.critics)
    }
    half = parameters_of("article").error_threshold
    shares = {kind: sum(statements[kind] for statements in by_critic.values()) / len(by_critic) for kind in ERROR_TYPES}
    return {**by_critic, PANEL: with_any({kind: share > half for kind, share in shares.items() if share != half})}


def decisions(statements: Said, kind: str) -> dict[str, bool]:
    """Decisions of a kind: all types for `OVERALL`."""
    kinds = ERROR_TYPES if kind == OVERALL else (kind,)
    return {error_type: statements[error_type] for error_type in kinds if error_type in statements}


def _agreement_of(pairs: Sequence[tuple[Hashable, Hashable]]) -> dict[str, Any]:
    return {
        "n": len(pairs),
        "agreed": sum(a == b for a, b in pairs) / len(pairs) if pairs else None,
        "kappa": cohen_kappa([a for a, _ in pairs], [b for _, b in pairs]),
    }


def between_critics(audits: Iterable[Process]) -> dict[str, dict[str, Any]]:
    """Agreement of each pair of critics by error type, and over all pairs together (LiveK12Bench, table 9).

    Returns:
        By kind and pair, "all pairs" last; empty where no audit has two critics.
    """
    pairs: defaultdict[str, defaultdict[str, list[tuple[bool, bool]]]] = defaultdict(lambda: defaultdict(list))
    for audit in audits:
        statements = critics_said(audit)
        statements.pop(PANEL, None)
        for kind in KINDS:
            for a, b in combinations(sorted(statements), 2):
                left, right = decisions(statements[a], kind), decisions(statements[b], kind)
                pairs[kind][f"{a} / {b}"] += [(left[error_type], right[error_type]) for error_type in left]
    return {
        kind: {name: _agreement_of(decided) for name, decided in named.items()}
        | {"all pairs": _agreement_of([pair for decided in named.values() for pair in decided])}
        for kind, named in pairs.items()
    }


def over_repeats(repeats: Sequence[Mapping[str, Process]]) -> dict[str, dict[str, Any]]:
    """Agreement of critics with themselves over two or more repeats, by error type (LiveK12Bench, table 9).

    Returns:
        By kind and critic, the panel last: decisions made in every repeat, the share equal in all, the mean agreement
        of two repeats, and Krippendorff's α.
    """
    repeated = [{key: critics_said(process) for key, process in audits.items()} for audits in repeats]
    critics = sorted(
        {critic for audits_of in repeated for statements in audits_of.values() for critic in statements} - {PANEL}
    )
    shared = sorted(set.intersection(*(set(audits_of) for audits_of in repeated))) if repeated else []
    result: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        for critic in (*critics, PANEL) if critics else ():
            units = []
            for key in shared:
                given = [decisions(audits_of[key].get(critic, {}), kind) for audits_of in repeated]
                units += [
                    [audits_of[name] for audits_of in given]
                    for name in given[0]
                    if all(name in audits_of for audits_of in given)
                ]
            result.setdefault(kind, {})[critic] = _repeated(units)
    return result


def _repeated(units: Sequence[Sequence[bool]]) -> dict[str, Any]:
    pairs = [a == b for unit in units for a, b in combinations(unit, 2)]
    return {
        "n": len(units),
        "identical": sum(len(set(unit)) == 1 for unit in units) / len(units) if units else None,
        "agreed": sum(pairs) / len(pairs) if pairs else None,
        "alpha": krippendorff_alpha(units),
    }


EXAMPLES = 10


def between_judges(rows: Iterable[Row]) -> dict[str, Any]:
    """Agreement of a panel: Krippendorff's α over all judges, Cohen's κ of each pair."""
    decisions: list[dict[str, str]] = []
    scores: list[list[float]] = []
    audits: list[Process] = []
    for row in rows:
        if row.verdict and row.verdict.process and len(set(row.verdict.process.critics)) > 1:
            audits.append(row.verdict.process)
        for part in row.verdict.parts if row.verdict else []:
            votes = {vote.judge: vote for vote in part.votes if vote.decision != "undecided"}
            if len(votes) > 1:
                decisions.append({judge: vote.decision for judge, vote in votes.items()})
                scores.append([vote.score for vote in votes.values() if vote.score is not None])
    if not decisions and not audits:
        raise UserError(
            "no part of this run has the votes of two judges: judge it with a panel (`livek12 judge --judge`)"
        )
    judges = sorted({judge for votes in decisions for judge in votes})
    return {
        "parts": len(decisions),
        "judges": judges,
        "alpha_decision": krippendorff_alpha([list(votes.values()) for votes in decisions]),
        "alpha_score": krippendorff_alpha(scores, "interval"),
        "unanimous": sum(len(set(votes.values())) == 1 for votes in decisions) / len(decisions) if decisions else None,
        "pairs": {
            f"{a} / {b}": _agreement_of([(votes[a], votes[b]) for votes in decisions if a in votes and b in votes])
            for a, b in combinations(judges, 2)
        },
        "audits": len(audits),
        "process": {kind: _presence(audits, kind) for kind in ERROR_TYPES} if audits else {},
        "critics": between_critics(audits),
    }


def _presence(audits: Sequence[Process], kind: str) -> dict[str, Any]:
    units = [
        [
            any(error.type == kind and error.judge == critic for error in audit.errors)
            for critic in sorted(set(audit.critics))
        ]
        for audit in audits
    ]
    unanimous = sum(len(set(unit)) == 1 for unit in units) / len(units)
    return {"alpha": krippendorff_alpha(units), "unanimous": unanimous, "present": sum(map(any, units))}


def require_every_answer(runs: Mapping[str, Iterable[Row]]) -> None:
    """Refuses runs in which rules decided answers, or could have: the comparison would be of the rules.

    Where rules decided all, a verdict names the judges and has no vote.
    """
    for name, rows in runs.items():
        for row in rows:
            judge = row.verdict.judge if row.verdict else ""
            if judge.startswith("rules-") and EVERY_ANSWER not in judge:
                raise UserError(
                    f"{name}: judges saw at most what the rules left open, and the rules are the same in every run:"
                    " judge it with `--judge-scope all`"
                )


def refuse_remembered(name: str, copies: Sequence[Iterable[Row]]) -> None:
    """Refuses copies of a run marked by one cached reply, which must agree.

    Cached repeats of `judge --repeats` are independent draws.
    """
    verdicts = [[row.verdict for row in rows if row.verdict] for rows in copies]
    if any(verdict.repeat for copy in verdicts for verdict in copy):
        return
    remembered = [sum(any(call.remembered for call in verdict_of.calls) for verdict_of in copy) for copy in verdicts]
    if len(copies) > 1 and any(remembered):
        raise UserError(
            f"{name}: {max(remembered)} answers of a copy were marked from remembered replies, nobody was asked again:"
            " use `livek12 judge RUN --repeats K`, or judge the copies with --no-cache"
        )
    calls = [[call for verdict_of in copy for call in verdict_of.calls if call.raw] for copy in verdicts]
    if any(a and a == b for a, b in combinations(calls, 2)):
        raise UserError(f"{name}: two copies hold the very same verdicts: judge one anew with `livek12 judge --again`")


def between_repeats(name: str, repeats: Sequence[Sequence[Row]]) -> dict[str, Any]:
    """Self-agreement of judges over a run's repeats (`evaluation.marking.repeated_rows`)."""
    if len(repeats) < 2:
        raise UserError(
            f"{name}: its judges were asked once: ask them again with `livek12 judge RUN --judge … --repeats 3`, or"
            " give copies of the run, each judged anew"
        )
    seen = [place for place, row in enumerate(repeats[0]) if row.verdict and row.verdict.by_models]
    named = {f"{name} ({number})": [rows[place] for place in seen] for number, rows in enumerate(repeats, 1)}
    return between_runs(named, "same")


def between_runs(runs: Mapping[str, Sequence[Row]], judges: Literal["same", "different"]) -> dict[str, Any]:
    """Agreement of verdicts on the same responses.

    `judges` is "same" for one judge asked again, "different" for several prompts or judges (KMMMU table 5).
    """
    if len(runs) < 2:
        raise UserError("give two run folders or more that hold the same responses, each judged on its own")
    if judges == "same":
        refuse_remembered(", ".join(runs), list(runs.values()))
    verdicts = {name: _by_answer(rows) for name, rows in runs.items()}
    _check_responses(verdicts)
    named = {
        name: sorted({verdict.judge for verdict in by_answer.values()} - {UNMARKED})
        for name, by_answer in verdicts.items()
    }
    _check_judges(named, judges)
    keys = sorted(set.union(*({*by_answer} for by_answer in verdicts.values())))
    answers = {name: len({(row.task, row.question.id, row.trial) for row in rows}) for name, rows in runs.items()}
    accuracy = {name: _accuracy(by_answer, answers[name]) for name, by_answer in verdicts.items()}
    marked = [[by_answer[key] for by_answer in verdicts.values() if key in by_answer] for key in keys]
    decided = [[verdict.correct for verdict in unit if verdict.correct is not None] for unit in marked]
    compared = [unit for unit in decided if len(unit) == len(runs)]
    changed = [key for key, unit in zip(keys, decided, strict=True) if len(set(unit)) > 1]
    audits = [{key: v.process for key, v in each.items() if v.process is not None} for each in verdicts.values()]
    shares = [[v.points / v.max_points for v in unit if v.points is not None and v.max_points] for unit in marked]
    return {
        "judges": named,
        "marked_by": {name: _marked_by(by_answer.values()) for name, by_answer in verdicts.items()},
        "answers": len(keys),
        "decided_by_all": len(compared),
        "accuracy": accuracy,
        "range": {
            "low": max(a["low"] for a in accuracy.values()) - min(a["low"] for a in accuracy.values()),
            "high": max(a["high"] for a in accuracy.values()) - min(a["high"] for a in accuracy.values()),
        },
        "identical": sum(len(set(unit)) == 1 for unit in compared) / len(compared) if compared else None,
        "alpha_correct": krippendorff_alpha(decided),
        "alpha_mark": krippendorff_alpha(shares, "interval"),
        "changed": len(changed),
        "examples": changed[:EXAMPLES],
        "flips": [
            {"answer": key, **{name: _word(by_answer.get(key)) for name, by_answer in verdicts.items()}}
            for key in changed
        ],
        "process": over_repeats(audits) if judges == "same" else {},
    }


def _marked_by(verdicts: Collection[Verdict]) -> dict[str, str]:
    models = {vote.judge for verdict in verdicts for part in verdict.parts for vote in part.votes}
    methods = {method_of(verdict) for verdict in verdicts if verdict.judge != UNMARKED}
    return {"models": "+".join(sorted(models)) or "rules", "method": "+".join(sorted(methods))}


_METHOD = re.compile(r"^\S+ ([a-z][a-z0-9_]*)-")


def method_of(verdict: Verdict) -> str:
    """Way of judging named in the verdict's version; `rules` without models."""
    match = _METHOD.match(verdict.judge)
    return match[1] if match else "rules"


def _word(verdict: Verdict | None) -> str:
    return {True: "right", False: "wrong", None: "undecided"}[verdict.correct if verdict else None]


def _by_answer(rows: Sequence[Row]) -> dict[str, Verdict]:
    return {str(row.verdict.key): row.verdict for row in rows if row.verdict}


def _check_responses(verdicts: Mapping[str, Mapping[str, Verdict]]) -> None:
    hashes: defaultdict[str, set[str | None]] = defaultdict(set)
    for by_answer in verdicts.values():
        for key, verdict in by_answer.items():
            hashes[key].add(verdict.response_sha256)
    if other := next((key for key, seen in hashes.items() if len(seen - {None}) > 1), None):
        raise UserError(f"{other}: the runs hold other responses; copy one run folder and judge the copies")


def _check_judges(named: Mapping[str, Sequence[str]], judges: str) -> None:
    distinct = {tuple(names) for names in named.values()}
    if judges == "same" and len(distinct) > 1:
        raise UserError(
            f"the runs were marked by {len(distinct)} judges; to compare judges use `livek12 study sensitivity`"
        )
    if judges == "different" and len(distinct) < len(named):
        raise UserError(
            "two runs were marked by one judge; to compare a judge with itself use `livek12 study intra-judge`"
        )


def _accuracy(by_answer: Mapping[str, Verdict], answers: int) -> dict[str, float]:
    right = sum(verdict.correct is True for verdict in by_answer.values())
    wrong = sum(verdict.correct is False for verdict in by_answer.values())
    return {"low": right / answers, "high": 1 - wrong / answers}


def judges_sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result of `between_judges` in sentences."""
    for run, judges in result.items():
        if judges["parts"]:
            yield (
                f"{run}: {listed(judges['judges'])} voted on {judges['parts']} parts, all alike on"
                f" {percent(judges['unanimous'])} of them. Krippendorff's α {number(judges['alpha_decision'])}."
            )
        for error, seen in judges["process"].items():
            yield (
                f"{run}: the critics of {judges['audits']} audits agree on {percent(seen['unanimous'])} whether there"
                f" is a {error}; one or more saw it in {seen['present']}."
            )


def _sensitivity_tables(result: Mapping[str, Any]) -> Iterator[TableShown]:
    groups = result.get("outputs", {"": result})
    rows = {name: _by_prompt(group) for name, group in groups.items()}
    heads = list(dict.fromkeys(head for cells in rows.values() for head in cells))
    cells = [
        [name or next(iter(groups[name]["accuracy"])), *(own.get(h, "–") for h in heads)] for name, own in rows.items()
    ]
    yield TableShown("Accuracy by judge and prompt (KMMMU, table 5)", ["", *heads], cells)
    for name, group in groups.items():
        yield from all_numbers(": ".join(filter(None, ("sensitivity", name))), group)
    methods = sorted({by["method"] for group in groups.values() for by in group["marked_by"].values()} & WAYS.keys())
    prompts = [(name, prompt) for name in methods for prompt in WAYS[name].prompts if prompt != GIVEN]
    texts = [[name, prompt, "\n".join(load_prompt(prompt).sections)] for name, prompt in prompts]
    yield TableShown("The judges' prompts (KMMMU, table 23)", ["", "file", "text"], texts)


def _by_prompt(group: Mapping[str, Any]) -> dict[str, str]:
    judges: defaultdict[str, dict[str, Mapping[str, float]]] = defaultdict(dict)
    for run, by in sorted(group["marked_by"].items(), key=lambda each: (each[1]["models"], each[1]["method"])):
        own = judges[by["models"]]
        own[f"{by['method']} ({run})" if by["method"] in own else by["method"]] = group["accuracy"][run]
    cells: dict[str, str] = {}
    for judge, accuracies in judges.items():
        cells |= {f"{judge}: {method}": interval(each["low"], each["high"]) for method, each in accuracies.items()}
        ends = ([each[end] for each in accuracies.values()] for end in ("low", "high"))
        cells[f"{judge}: range"] = span([max(values) - min(values) for values in ends], "–")
    return cells


def _sensitivity_sentences(result: Mapping[str, Any]) -> Iterator[str]:
    for name, group in result.get("outputs", {"": result}).items():
        yield from (f"{name}: {line}" if name else line for line in runs_sentences(group))


def sensitivity(runs: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """`between_runs` of differently judged copies, of several runs by the first copy of each."""
    copies = as_repeats(runs)
    if len(copies) == 1 or min(map(len, copies.values())) < 2:
        return between_runs(runs, "different")
    groups = {first: between_runs({name: runs[name] for name in names}, "different") for first, names in copies.items()}
    return {"outputs": groups}


def as_repeats(runs: Mapping[str, Sequence[Row]]) -> dict[str, list[str]]:
    """Groups of runs with equal responses (repeats of judging), by the name of the first."""
    groups: dict[frozenset[tuple[str, str, int, str | None]], list[str]] = {}
    for name, rows in runs.items():
        responses = ((r.task, r.question.id, r.trial, r.response.sha256 if r.response else None) for r in rows)
        groups.setdefault(frozenset(responses), []).append(name)
    return {names[0]: names for names in groups.values()}


def runs_sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result of `between_runs` in sentences."""
    yield (
        f"The {len(result['judges'])} runs hold {result['answers']} answers with a verdict;"
        f" {result['decided_by_all']} are decided in all of them,"
        f" and {percent(result['identical'])} of these alike. {result['changed']} verdicts"
        f" differ. Krippendorff's α {number(result['alpha_correct'])}."
    )
    low, high = result["range"]["low"], result["range"]["high"]
    yield (
        f"Between the runs the accuracy moves by {rounded(100 * low)} points where what is undecided counts as wrong,"
        f" by {rounded(100 * high)} where it counts as right."
    )
    if result["process"]:
        panel = result["process"][OVERALL][PANEL]
        yield f"The audits say the same of {percent(panel['identical'])} of {panel['n']} decisions on error types."


INTER_JUDGE = Study("inter-judge", judges_sentences)
INTRA_JUDGE = Study("intra-judge", runs_sentences)
SENSITIVITY = Study(
    "sensitivity", _sensitivity_sentences, "What do marks owe to the judge?", tables=_sensitivity_tables
)


Marked = tuple[Label, Row, bool]
"""A label, its answer, and the person's right or wrong."""
Decided = tuple[Row, bool, bool]
"""An answer, and right or wrong by the person and by the run."""


def human_agreement(pairs: Sequence[tuple[Label, Row]], strangers: Sequence[Stranger] = ()) -> dict[str, Any]:
    """The run against each rater, and raters against each other, on right or wrong and on marks."""
    raters = grouped((label.rater, (label, row, label.correct)) for label, row in pairs if label.correct is not None)
    if not raters:
        raise UserError("no label is of a question of this run: labels name question_id (and trial, from 0)")
    return {
        "labels": len(pairs) + len(strangers),
        "not_in_this_run": len(strangers),
        "raters": {rater: _beside(marked) for rater, marked in sorted(raters.items())},
        "between_raters": _between(raters),
    }


def bounded_agreement(pairs: Sequence[tuple[bool, bool | None]]) -> dict[str, Any]:
    """Agreement over the decided marks, beside a person's; undecided ones are in the bounds of the accuracy."""
    decided = [(right, correct) for right, correct in pairs if correct is not None]
    agreement = binary_agreement([right for right, _ in decided], [correct for _, correct in decided])
    agreed, undecided = agreement["true_accepts"] + agreement["true_rejects"], len(pairs) - len(decided)
    return {
        "labelled": len(pairs),
        "decided": len(decided),
        "undecided": undecided,
        **agreement,
        "accuracy_low": agreed / len(pairs) if pairs else None,
        "accuracy_high": (agreed + undecided) / len(pairs) if pairs else None,
        "accuracy_ci": list(wilson_interval(agreed, len(decided))) if decided else None,
    }


def _beside(pairs: Sequence[Marked]) -> dict[str, Any]:
    decided = [
        (row, right, row.verdict.correct) for _, row, right in pairs if row.verdict and row.verdict.correct is not None
    ]
    return {
        **bounded_agreement([(right, row.verdict.correct if row.verdict else None) for _, row, right in pairs]),
        "marks": _marks(pairs),
        "by_stage": _stages(decided),
        "examples": {
            "false_accepts": _examples(decided, accepted=True),
            "false_rejects": _examples(decided, accepted=False),
        },
    }


def _marks(pairs: Sequence[Marked]) -> dict[str, Any]:
    shares = [
        (label.share, row.verdict.points / row.verdict.max_points)
        for label, row, _ in pairs
        if label.share is not None and row.verdict and row.verdict.points is not None and row.verdict.max_points
    ]
    human, judge = [a for a, _ in shares], [b for _, b in shares]
    return {
        "n": len(shares),
        "quadratic_kappa": quadratic_kappa(human, judge),
        "mean_difference": sum(b - a for a, b in shares) / len(shares) if shares else None,
        "mean_absolute_difference": sum(abs(b - a) for a, b in shares) / len(shares) if shares else None,
    }


def _stages(decided: Sequence[Decided]) -> dict[str, dict[str, Any]]:
    stages = grouped((decided_by(row), (right, correct)) for row, right, correct in decided)
    return {
        stage: {
            "decided": len(marks),
            "as_human": sum(a == b for a, b in marks),
            "precision_ci": list(wilson_interval(sum(a == b for a, b in marks), len(marks))),
            "false_accepts": sum(b and not a for a, b in marks),
            "false_rejects": sum(a and not b for a, b in marks),
        }
        for stage, marks in sorted(stages.items())
    }


def decided_by(row: Row) -> str:
    """Distinct deciders of an answer's parts, in order."""
    parts = row.verdict.parts if row.verdict else []
    return "+".join(dict.fromkeys(part.decided_by for part in parts)) or "nothing to decide"


def _examples(decided: Sequence[Decided], accepted: bool) -> list[dict[str, Any]]:
    wrong = [row for row, right, correct in decided if correct is accepted and right is not accepted]
    return [
        {
            "question_id": row.question.id,
            "trial": row.trial,
            "decided_by": decided_by(row),
            "parts": [{"gold": part.gold, "answer": part.answer} for part in row.verdict.parts] if row.verdict else [],
        }
        for row in wrong[:EXAMPLES]
    ]


def _between(raters: Mapping[str, Sequence[Marked]]) -> dict[str, dict[str, Any]]:
    marks = {
        rater: {(row.task, row.question.id, row.trial): right for _, row, right in pairs}
        for rater, pairs in raters.items()
    }
    pairs_of = {}
    for a, b in combinations(sorted(marks), 2):
        shared = sorted(marks[a].keys() & marks[b].keys())
        kappa = cohen_kappa([marks[a][key] for key in shared], [marks[b][key] for key in shared])
        pairs_of[f"{a} / {b}"] = {"n": len(shared), "kappa": kappa}
    return pairs_of


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    for run, beside in result.items():
        for rater, marks in beside["raters"].items():
            agreed = marks["true_accepts"] + marks["true_rejects"]
            yield (
                f"{run} beside {'the labels' if rater == '(unnamed)' else rater}: of {marks['labelled']} labelled"
                f" answers the run decided {marks['decided']}, {agreed} of them as the person did"
                f"{share(marks['accuracy'], marks['accuracy_ci'])}; it accepted {marks['false_accepts']} that the"
                f" person rejected, and rejected {marks['false_rejects']} that the person accepted. Cohen's κ"
                f" {number(marks['kappa'])}."
            )


AGREEMENT = Study("agreement", _sentences)


WEIGHTED = ("weighted_precision", "weighted_recall", "weighted_f1")
FIGURES = ("accuracy", "auc", *WEIGHTED, "precision", "recall", "f1", "false_rejects", "false_accepts")
Labelled = tuple[Sequence[tuple[Label, Row]], Sequence[Stranger]]


def judging_methods(runs: Mapping[str, Labelled]) -> dict[str, Any]:
    """Each way of judging against the labels of its runs."""
    require_every_answer({name: [row for _, row in pairs] for name, (pairs, _) in runs.items()})
    by_method: defaultdict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for name, (pairs, _) in runs.items():
        labelled = [(label.correct, row.verdict) for label, row in pairs if label.correct is not None and row.verdict]
        if not labelled:
            raise UserError(f"{name}: no label says of a judged answer whether it is right")
        ways = {method_of(verdict) for _, verdict in labelled}
        if len(ways) > 1:
            raise UserError(
                f"{name}: is judged in {len(ways)} ways ({', '.join(sorted(ways))}): judge it `--again` in one"
            )
        by_method[ways.pop()][name] = _beside_people(labelled)
    return {
        "methods": {method: _summary(list(by_run.values())) for method, by_run in sorted(by_method.items())},
        "runs": {
            f"{method}: {name}": figures
            for method, by_run in sorted(by_method.items())
            for name, figures in by_run.items()
        },
    }


def _beside_people(labelled: Sequence[tuple[bool, Verdict]]) -> dict[str, Any]:
    decided = [(right, verdict) for right, verdict in labelled if verdict.correct is not None]
    sides = [right for right, _ in decided], [bool(verdict.correct) for _, verdict in decided]
    figures: dict[str, Any] = {**binary_agreement(*sides), **weighted_agreement(*sides)}
    return {
        "labels": len(labelled),
        "undecided": len(labelled) - len(decided),
        **{name: figures[name] for name in FIGURES if name != "auc"},
        "auc": auc([(right, _share(verdict)) for right, verdict in decided]),
    }


def _share(verdict: Verdict) -> float:
    if verdict.points is None or verdict.max_points <= 0:
        return float(bool(verdict.correct))
    return verdict.points / verdict.max_points


def auc(scored: Sequence[tuple[bool, float]]) -> float | None:
    """Area under the ROC curve by ranks (Mann and Whitney 1947); None without both right and wrong."""
    rights = sum(right for right, _ in scored)
    wrongs = len(scored) - rights
    if not rights or not wrongs:
        return None
    at: defaultdict[float, list[int]] = defaultdict(lambda: [0, 0])
    for right, score in scored:
        at[score][right] += 1
    below, won = 0, 0.0
    for score in sorted(at):
        lost, gained = at[score]
        won += gained * (below + lost / 2)
        below += lost
    return won / (rights * wrongs)


def _summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    summary: dict[str, Any] = {"runs": len(runs)}
    for name in ("labels", "undecided", *FIGURES):
        summary[name], std = mean_std([float(run[name]) for run in runs if run[name] is not None])
        if len(runs) > 1 and name in FIGURES:
            summary[f"{name}_std"] = std
    return summary


def methods_sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result in sentences."""
    for method, own in result["methods"].items():
        over = f", mean of {own['runs']} runs" if own["runs"] > 1 else ""
        yield (
            f"{method}: {percent(own['accuracy'])} as people said{over}; {rounded(own['false_accepts'])} accepted"
            f" wrongly, {rounded(own['false_rejects'])} rejected wrongly, {rounded(own['undecided'])} undecided of"
            f" {rounded(own['labels'])} labelled answers."
        )


HEADS = ("Acc (%)", "AUC", "P", "R", "F1", "P of right", "R of right", "F1 of right", "FN", "FP")


def _methods_tables(result: Mapping[str, Any]) -> Iterator[TableShown]:
    for title, rows in (("Ways of judging (CFE-Bench, table 1)", result["methods"]), ("Their runs", result["runs"])):
        yield TableShown(
            title, ["", "labels", "undecided", *HEADS], [[name, *_cells(own)] for name, own in rows.items()]
        )


def _cells(own: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{own[name]:g}" for name in ("labels", "undecided"))
    for name in FIGURES:
        times, digits = (100, 2) if name == "accuracy" else (1, 2)
        mean, std = (None if value is None else times * value for value in (own[name], own.get(f"{name}_std")))
        yield spread(mean, std, digits) if f"{name}_std" in own else "–" if mean is None else rounded(mean, digits)


METHODS = Study("methods", methods_sentences, "How well do ways of judging agree with people?", tables=_methods_tables)
