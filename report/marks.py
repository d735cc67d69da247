"""Scores in words, for terminal and pages: undecided numbers as intervals, missing ones as a dash with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal

from livek12.core.engine_kinds import kind_of as engine_kind_of
from livek12.core.records import NO_KEY, PartVerdict, lacks_key
from livek12.core.run.markings import PERSON, in_words
from livek12.core.scoring import Row
from livek12.core.scoring.formulas import ADAPTIVE
from livek12.core.scoring.metrics import Scale, metric_of

Kind = Literal["full", "part", "wrong", "open"]
UNDECIDED = ("ungraded", "failed", "unsupported")
STATE_WORDS = {
    "graded": "graded",
    "no_answer": "no answer",
    "ungraded": "ungraded",
    "failed": "no response",
    "unsupported": "not asked",
}
DECISIONS: dict[Kind, str] = {"full": "Right", "part": "Partly right", "wrong": "Wrong", "open": "Not decided"}
DECIDERS = {
    "chemistry": "the rule for chemistry",
    "choice": "the rule for choices",
    "extraction": "no answer found",
    "llm": "a judge model",
    NO_KEY: "no key yet",
    "number": "the rule for numbers",
    "panel": "a panel of judge models",
    "refusal": "the rule for answers that are none",
    "restated": "the rule for keys in two forms",
    "rules": "the rules",
    "symbolic": "the rule for formulas",
    "text": "the rule for equal texts",
    "true_false": "the rule for true or false",
    "undecided": "undecided",
    "words": "the rule for words",
}
INTERVAL = "95 % interval"
_SCALES: dict[Scale, tuple[float, int]] = {"share": (100.0, 1), "out_of_100": (1.0, 1), "number": (1.0, 3)}
"""Factor and decimals of displayed values."""


def rounded(value: float, digits: int = 1) -> str:
    """The only rule of rounding: halves away from zero.

    Sums in any order (a mark out of 100, a share times 100) agree.
    """
    exact = Decimal(f"{value:.9f}").quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"{exact + 0:,f}"  # no minus before a zero


def number(value: float, digits: int = 1) -> str:
    """A number with at most so many decimals, without trailing zeros."""
    text = rounded(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def signed(value: float) -> str:
    """A signed difference, at most one decimal."""
    text = number(value)
    return f"−{text[1:]}" if text.startswith("-") else f"+{text}" if text != "0" else "0"


def points(value: float) -> str:
    """Points as on paper: up to two decimals."""
    return number(value, 2)


@dataclass(frozen=True)
class ShownValue:
    """An estimate in words. `low` and `high` are 0 to 100 for drawing; None without a value."""

    text: str
    ci: str
    std: str
    note: str
    low: float | None
    high: float | None
    ci_low: float | None
    ci_high: float | None
    decided: bool


def shown(name: str, estimate: Mapping[str, Any]) -> ShownValue:
    """Estimate of a metric in words."""
    scale, digits = _SCALES[metric_of(name).scale]
    low, high = (None if estimate[end] is None else estimate[end] * scale for end in ("low", "high"))
    note = estimate.get("note") or ""
    if low is None or high is None:
        return ShownValue("–", "", "", note or "not available", None, None, None, None, decided=False)
    decided = estimate["value"] is not None
    ends = [end * scale for end in estimate["ci"]] if estimate["ci"] else [None, None]
    return ShownValue(
        text=number(low, digits) if decided else span(low, high, digits),
        ci="" if ends[0] is None or ends[1] is None else span(ends[0], ends[1], digits),
        std="" if estimate["std"] is None else number(estimate["std"] * scale, digits),
        note=note,
        low=_place(low, name),
        high=_place(high, name),
        ci_low=_place(ends[0], name),
        ci_high=_place(ends[1], name),
        decided=decided,
    )


def group_marks(groups: Iterable[Mapping[str, Any]]) -> list[ShownValue]:
    """Marks of tasks or groups."""
    return [shown("mark", group["metrics"]["mark"]) for group in groups]


def span(low: float, high: float, digits: int = 1) -> str:
    """An interval with visibly distinct ends."""
    return f"{number(low, digits)}{'–' if low >= 0 else ' to '}{number(high, digits)}"


def _place(value: float | None, name: str) -> float | None:
    return None if value is None else min(100.0, max(0.0, value * (100 if metric_of(name).scale == "number" else 1)))


@dataclass(frozen=True)
class ShownMark:
    """Mark beside one answer: "4 / 5", or "0–5 / 5" while undecided."""

    kind: Kind
    text: str
    word: str
    low: float
    high: float
    of: float


def mark_of(row: Row) -> ShownMark:
    """Mark of a row's verdict; without one, from nothing to full marks."""
    verdict = row.verdict
    of = verdict.max_points if verdict else row.question.points or 1.0
    low, high = (verdict.low, verdict.high) if verdict else (0.0, of)
    if row.state in UNDECIDED or low != high:
        word = STATE_WORDS[row.state] if row.state in UNDECIDED else "ungraded in part"
        word = NO_KEY if verdict and lacks_key(verdict) else word
        return ShownMark("open", f"{points(low)}–{points(high)} / {points(of)}", word, low, high, of)
    kind: Kind = "full" if low >= of else "wrong" if low <= 0 else "part"
    word = STATE_WORDS["no_answer"] if row.state == "no_answer" else ""
    return ShownMark(kind, f"{points(low)} / {points(of)}", word, low, high, of)


def undecided(counts: Mapping[str, int]) -> str:
    """Counts like "3 ungraded, 1 failed"; empty if all are decided."""
    return ", ".join(f"{counts[state]} {STATE_WORDS[state]}" for state in UNDECIDED if counts[state])


def basis(counts: Mapping[str, int], engine: str = "") -> str:
    """Basis of a mark: "11 of 21 questions were asked: this model reads no pictures; 9 are marked, 2 open"."""
    answers, marked = counts["answers"], counts["graded"] + counts["no_answer"]
    questions = answers - counts["unsupported"]
    trials = f", in {counts['trials']} trials of {counts['questions']:,}" if counts["trials"] > 1 else ""
    number = f"{answers:,}" if questions == answers else f"{questions:,} of {answers:,}"
    ends = [f"{marked:,} {'is' if marked == 1 else 'are'} marked" if marked else "none is marked"]
    words = {"ungraded": "open", "failed": "not recorded" if engine_kind_of(engine).is_recorded else "failed"}
    ends += [f"{counts[state]:,} {word}" for state, word in words.items() if counts[state]]
    why = ": this model reads no pictures" if questions < answers else ""
    ended = "all are marked" if marked == questions > 1 else ", ".join(ends)
    return f"{number} {'question was' if answers == 1 else 'questions were'} asked{trials}{why}; {ended}"


def counts_notes(task: Mapping[str, Any], run: str = "RUN", engine: str = "") -> list[tuple[str, str]]:
    """Explanations of `basis`, each with the command that settles it ("" without one).

    Tasks of older report.json files lack the judge of open answers. `run` names the run folder in commands.
    """
    counts, judge = task["counts"], f"livek12 judge {run}"
    left = task.get("ungraded", {"nobody": 0, "rules": 0, "models": 0})
    failed = "failed: no response came; the command that made the run asks again"
    if engine_kind_of(engine).is_recorded:
        failed = "not recorded: what was imported has no answer there; counted as anything from 0 to full marks"
    notes = [
        (counts["no_answer"], "marked as 0: the response contains no answer", ""),
        (left["nobody"], "open: not judged yet. Judge them:", judge),
        (left["rules"], "open: the rules could not decide. Ask a model:", f"{judge} --judge MODEL"),
        (left["models"], "open: the judge models could not decide. Review them:", f"livek12 review {run}"),
        (left.get("keyless", 0), f"{NO_KEY}. Add it:", f"livek12 keys add DATA {run} --from KEY"),
        (counts["failed"], failed, ""),
        (counts["unsupported"], "not asked: the question has pictures, and the model reads none", ""),
    ]
    return [(f"{number:,} {meaning}", command) for number, meaning, command in notes if number]


def _answers(number: int) -> str:
    return "1 answer" if number == 1 else f"{number:,} answers"


def decider(by: str) -> str:
    """Decider of a part; of several blanks, each in turn."""
    if by.startswith(PERSON):
        return in_words(by)
    return " and ".join(DECIDERS.get(name, f"“{name}”") for name in by.split("+"))


def regraded_sentence(row: Row) -> str:
    """Author and reason of a person's mark, and the judges' mark, or ""."""
    if row.judged is None or row.verdict is None:
        return ""
    before = mark_of(replace(row, verdict=row.judged, judged=None, state=row.judged.state))
    theirs = f"{before.text} {before.word}".strip()
    return f"Set by {in_words(row.verdict.judge)}: {sentence(row.verdict.reason)} The judges had: {theirs}."


def kind_of(part: PartVerdict) -> Kind:
    """The way a part is marked."""
    if part.score is None:
        return "open"
    return "full" if part.score >= 1 else "wrong" if part.score <= 0 else "part"


def decision_sentence(part: PartVerdict, by_models: bool) -> str:
    """Decision on a part with reason and decider."""
    kind = kind_of(part)
    why = f": {part.reason.strip().rstrip('.。')}" if part.reason else ""
    if kind == "open":
        who = (
            "The judge models could not decide."
            if by_models
            else "The rules could not decide; no judge model was asked."
        )
    else:
        who = "" if part.decided_by == "extraction" else f"Decided by {decider(part.decided_by)}."
    return f"{DECISIONS[kind]}{why}. {who}".strip()


def sentence(text: str) -> str:
    """A phrase as a sentence."""
    text = text.strip()
    return text and f"{text[0].upper()}{text[1:]}{'' if text[-1] in '.。!?…' else '.'}"


def not_available(metrics: Mapping[str, Any]) -> list[str]:
    """A sentence for each reason of missing metrics, with their names."""
    reasons: dict[str, list[str]] = {}
    for name, estimate in metrics.items():
        if estimate["low"] is None:
            reason = (estimate["note"] or "").removeprefix("not available").strip(" :()")
            reasons.setdefault(reason, []).append(name)
    return [
        f"Not available: {_together(names)}{f' ({reason})' if reason else ''}." for reason, names in reasons.items()
    ]


def _together(names: list[str]) -> str:
    """The names; of Acc≤0.1, Acc≤0.2, … the first and the last."""
    budgets = [name for name in names if name.startswith("Acc≤")]
    if len(budgets) > 2:
        first = names.index(budgets[0])
        others = [name for name in names if name not in budgets]
        names = [*others[:first], f"{budgets[0]} to {budgets[-1]}", *others[first:]]
    return ", ".join(names)


def mark_sentence(task: Mapping[str, Any]) -> str:
    """Uncertainty of a task's mark, and why it is an interval if so."""
    mark = task["metrics"]["mark"]
    written = shown("mark", mark)
    if written.low is None:
        return written.note
    sampling = ""
    if written.note.startswith(ADAPTIVE):
        return f"95 % interval: {written.ci}; {written.note}."
    if written.ci:
        unit = "papers" if mark["unit"] == "paper" else "questions"
        over = mark.get("clusters") or mark["n"]
        sampling = f"{INTERVAL} over {over:,} {unit}: {written.ci}."
    if written.decided:
        return sampling
    return f"The lower end counts what is open as 0, the upper end as full marks. {sampling}".strip()


def method_sentence(score: Mapping[str, Any]) -> str:
    """Formulas and method of a report's numbers."""
    by = score.get("intervals", "percentile bootstrap")
    formulas = f"profile {score['profile']}, version {score.get('formulas', 1)}"
    return f"scored with the formulas of {formulas}; 95 % intervals by {by}"


def endings_sentence(counts: Mapping[str, Any], context_cut: Mapping[str, Any] | None = None) -> str:
    """Answers cut off, and unknown ends; empty if all ended by themselves."""
    answers = f"of {counts['answers']:,} answers"
    cut = f"cut off at the token limit: {counts['truncated']:,} {answers}" if counts["truncated"] else ""
    if cut and context_cut:
        fewest, budget = context_cut["fewest"], context_cut["budget"]
        cut += f", {context_cut['answers']:,} of them where the model's context ended"
        cut += f" (after {fewest:,} tokens or more, of the {budget:,} that were asked for)"
    unknown = (
        f"truncated: unknown for {counts['truncated_unknown']:,} {answers}, whose record does not tell how they ended"
        if counts["truncated_unknown"]
        else ""
    )
    return "; ".join(filter(None, (cut, unknown)))


def token_sentences(task: Mapping[str, Any]) -> list[str]:
    """Tokens read and written, prefix cache, thinking budget."""
    prompt, written = task["tokens"]["prompt"], task["tokens"]["completion"]
    sentences = []
    if served := cache_sentence(task):
        sentences.append(served)
    elif prompt["mean"] is not None:
        sentences.append(f"tokens read: {prompt['sum']:,}{_untold(prompt['missing'])}")
    if written["mean"] is not None:
        mean = number(written["mean"], 0)
        sentences.append(f"tokens written: {written['sum']:,}, {mean} an answer{_untold(written['missing'])}")
    thinking = thinking_sentence(task)
    return [*(sentences or ["tokens: no answer states them"]), *([thinking] if thinking else [])]


def cache_sentence(task: Mapping[str, Any]) -> str:
    """Share of prompts served by prefix caches; empty if unknown."""
    use = task.get("prompt_cache")
    if not use or use["share"] is None:
        return ""
    others = sum(task["counts"][state] for state in ("graded", "no_answer", "ungraded")) - use["answers"]
    share = number(100 * use["share"])
    return f"tokens read: {use['prompt']:,}, {share} % of them from the engine's prefix cache{_untold(others)}"


def _untold(answers: int) -> str:
    return f" ({_answers(answers)} not counted: not stated)" if answers else ""


def thinking_sentence(task: Mapping[str, Any]) -> str:
    """Compliance with the thinking budget; empty without one."""
    use = task.get("thinking")
    if not use:
        return ""
    if use["most"] is None:
        return f"thinking budget of {use['budget']:,} tokens: no answer records its thinking tokens"
    over = f"{_answers(use['over'])} thought longer" if use["over"] else "no answer thought longer"
    unknown = f"; of {_answers(use['unknown'])} it is not known" if use["unknown"] else ""
    return f"thinking budget of {use['budget']:,} tokens: {over} (at most {use['most']:,}){unknown}"


def group_name(axis: str, value: str) -> str:
    """A group's value for display: canonical question types lose their underscores."""
    return value.replace("_", " ") if axis in ("question_type", "modality") else value


def axes(task: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Axes worth a table: subject, type, and others that split the questions."""
    groups = task["groups"]
    for axis in ("subject", "question_type"):
        if groups.get(axis):
            yield axis, groups[axis]
    for axis, values in groups.items():
        if axis not in ("subject", "question_type") and len(values) > 1:
            yield axis, values
