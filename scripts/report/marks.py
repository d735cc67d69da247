"""Scores as people read them: the one place where numbers of a report become words.

Contract: a number that is not decided is shown as its interval, one that does not exist as a dash with the
reason; nothing is rounded into certainty. Used by the terminal summary and by report.html alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from livek12.core.scoring import OUT_OF_100, Row

Kind = Literal["full", "part", "wrong", "open"]
UNDECIDED = ("ungraded", "failed", "unsupported")
STATE_WORDS = {
    "graded": "graded",
    "no_answer": "no answer",
    "ungraded": "ungraded",
    "failed": "failed",
    "unsupported": "unsupported",
}
STATE_MEANINGS = {
    "no_answer": "the response holds no answer; worth 0",
    "ungraded": "no judge could decide",
    "failed": "no response came",
    "unsupported": "the model cannot take this kind of question",
}
METRIC_MEANINGS = {
    "mark": "points earned out of 100",
    "accuracy": "answers that are fully correct",
    "OCS": "outcome score: points earned out of 100",
    "PES": "process score: points for correct outcomes, less those for process errors",
    "OES": "exam score: outcome and process together",
    "ARL": "accuracy weighted by brevity; may exceed 1",
    "variable_accuracy": "answer variables that are right",
    "question_accuracy": "questions with every variable right",
}
UNSCALED = ("ARL",)


def number(value: float, digits: int = 1) -> str:
    """A number with so many decimals, fewer where they are zero."""
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def points(value: float) -> str:
    """Points as on paper: up to two decimals."""
    return number(value, 2)


@dataclass(frozen=True)
class Shown:
    """An estimate in words. `low` and `high` lie between 0 and 100 for drawing; None where there is nothing."""

    text: str
    ci: str
    std: str
    note: str
    low: float | None
    high: float | None
    ci_low: float | None
    ci_high: float | None
    decided: bool


def shown(name: str, estimate: Mapping[str, Any]) -> Shown:
    """How the estimate of the metric `name` is written."""
    scale, digits = (1.0, 3) if name in UNSCALED else (1.0 if name in OUT_OF_100 else 100.0, 1)
    low, high = (None if estimate[end] is None else estimate[end] * scale for end in ("low", "high"))
    note = estimate.get("note") or ""
    if low is None or high is None:
        return Shown("–", "", "", note or "not available", None, None, None, None, decided=False)
    decided = estimate["value"] is not None
    ends = [end * scale for end in estimate["ci"]] if estimate["ci"] else [None, None]
    return Shown(
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


def span(low: float, high: float, digits: int = 1) -> str:
    """An interval, its ends apart even where they are rounded to the same number."""
    return f"{number(low, digits)}{'–' if low >= 0 else ' to '}{number(high, digits)}"


def _place(value: float | None, name: str) -> float | None:
    """Where a value lies on a bar from 0 to 100."""
    return None if value is None else min(100.0, max(0.0, value * (100 if name in UNSCALED else 1)))


@dataclass(frozen=True)
class Mark:
    """The mark beside one answer. `text` is like "4 / 5", or "0–5 / 5" while undecided."""

    kind: Kind
    text: str
    word: str
    low: float
    high: float
    of: float


def mark_of(row: Row) -> Mark:
    """What a row was awarded, from its verdict; without one, anything from nothing to full marks."""
    verdict = row.verdict
    of = verdict.max_points if verdict else row.question.points or 1.0
    low, high = (verdict.low, verdict.high) if verdict else (0.0, of)
    if row.state in UNDECIDED or low != high:
        word = STATE_WORDS[row.state] if row.state in UNDECIDED else "ungraded in part"
        return Mark("open", f"{points(low)}–{points(high)} / {points(of)}", word, low, high, of)
    kind: Kind = "full" if low >= of else "wrong" if low <= 0 else "part"
    word = STATE_WORDS["no_answer"] if row.state == "no_answer" else ""
    return Mark(kind, f"{points(low)} / {points(of)}", word, low, high, of)


def undecided(counts: Mapping[str, int]) -> str:
    """Like "3 ungraded, 1 failed"; empty where every answer is decided."""
    return ", ".join(f"{counts[state]} {STATE_WORDS[state]}" for state in UNDECIDED if counts[state])


def mark_sentence(task: Mapping[str, Any]) -> str:
    """What stands under the mark of a task: its uncertainty, and why it is an interval if it is one."""
    mark, counts = task["metrics"]["mark"], task["counts"]
    written = shown("mark", mark)
    if written.low is None:
        return written.note
    sampling = ""
    if written.ci:
        unit = "papers" if mark["unit"] == "paper" else "questions"
        over = mark.get("clusters") or mark["n"]
        sampling = f"95 % interval {written.ci}, from resampling {over} {unit}."
    if written.decided:
        return sampling
    why = f" ({undecided(counts)} of {counts['answers']} answers)" if undecided(counts) else ""
    return (
        f"No single mark yet, as not everything is decided{why}: the lower end counts what is open as 0, "
        f"the upper end as full marks. {sampling}"
    ).strip()


def prompt_cache_sentence(task: Mapping[str, Any]) -> str:
    """What share of the prompts prefix caches served."""
    use = task.get("prompt_cache")
    if not use or use["share"] is None:
        return "prompt tokens from the engine's prefix cache: not available, no response states them"
    others = sum(task["counts"][state] for state in ("graded", "no_answer", "ungraded")) - use["answers"]
    untold = f"; {others:,} responses do not state them" if others else ""
    return (
        f"prompt tokens: {use['prompt']:,} in all, {use['share']:.1%} from the engine's prefix cache, "
        f"{use['prompt'] - use['cached']:,} computed{untold}"
    )


def thinking_sentence(task: Mapping[str, Any]) -> str:
    """How the thinking budget was kept; empty where there was none."""
    use = task.get("thinking")
    if not use:
        return ""
    if use["most"] is None:
        return f"thinking budget of {use['budget']:,} tokens: no answer says how long it thought, so nobody knows"
    over = f"{use['over']:,} answers thought longer" if use["over"] else "no answer thought longer"
    unknown = f"; {use['unknown']:,} answers do not say how long they thought" if use["unknown"] else ""
    return f"thinking budget of {use['budget']:,} tokens: {over} (at most {use['most']:,}){unknown}"


def group_name(axis: str, value: str) -> str:
    """A group's value as it is read: canonical question types lose their underscores."""
    return value.replace("_", " ") if axis in ("question_type", "modality") else value


def axes(task: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The axes worth a table: subject and type always, others where they part the questions."""
    groups = task["groups"]
    for axis in ("subject", "question_type"):
        if groups.get(axis):
            yield axis, groups[axis]
    for axis, values in groups.items():
        if axis not in ("subject", "question_type") and len(values) > 1:
            yield axis, values
