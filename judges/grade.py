"""Marks the answers of one response part by part, with partial credit and bounds.

An undecided part leaves the verdict ungraded: 0 in `low`, full in `high`. Nothing extracted is `no_answer`, worth 0.
Questions without a key, and open or proof questions, are ungraded.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache

from livek12.core.patterns import late
from livek12.core.question_types import CHOICE_TYPES, READER_TYPES, type_of
from livek12.core.records import (
    IMAGE_MARK,
    NO_KEY,
    Key,
    PartVerdict,
    Question,
    Verdict,
    canonical_json,
)
from livek12.core.schemes import is_by_scheme
from livek12.core.text import compatible
from livek12.judges.base import AnswerComparison, Decision, PartialCredit, undecided
from livek12.judges.cascade import Cascade
from livek12.judges.code_version import DECIDING, code_version
from livek12.judges.parts import (
    GradedPart,
    alternatives,
    answer_name,
    blank_count,
    blank_names,
    blank_values,
    parts_of,
)
from livek12.judges.rules.demands import (
    Demand,
    asked_unit,
    asks_for_all,
    asks_for_solutions,
    demand,
    leaves_ends_open,
    shows_unit,
)
from livek12.judges.rules.labels import label_sequence
from livek12.judges.rules.names import place_of, place_of_phrase, placed, unnamed
from livek12.judges.rules.notation import split_values
from livek12.judges.rules.numeric import read_number
from livek12.judges.rules.pool import one_response
from livek12.judges.scheme import bounds, hold_needs

RULES = "rules"


@dataclass(frozen=True)
class GradingConfig:
    """Settings of a verdict."""

    partial_credit: PartialCredit = "proportional"


@cache
def _settings(config: GradingConfig) -> str:
    return hashlib.sha256(canonical_json(asdict(config)).encode()).hexdigest()[:8]


def judge_version(config: GradingConfig) -> str:
    """Equal strings mark equally."""
    return f"{RULES}-{code_version(DECIDING)}+{_settings(config)}"


def grade(question: Question, key: Key, answers: Sequence[str], *, config: GradingConfig, cascade: Cascade) -> Verdict:
    """Marks one response by its `answers`, one a part."""
    parts = parts_of(question)
    given = [answer if answer.strip() else None for answer in answers]
    if not question.has_key:
        waiting = _verdict(GradedPart(gold=""), "\n".join(filter(None, given)) or None, undecided(NO_KEY, "no key"))
        return total(question, key, [waiting], config)
    if not any(given):
        nothing = [_verdict(part, None, Decision("reject", 0.0, "extraction", "no answer")) for part in parts]
        return total(question, key, nothing, config, state="no_answer", reason="no answer was found")
    if question.question_type in READER_TYPES:
        part = parts[0] if parts else GradedPart(gold="")
        verdict = _verdict(part, "\n".join(filter(None, given)), undecided(RULES, "needs a reader"))
        return total(question, key, [verdict], config)
    if not parts:
        return total(question, key, [], config, state="ungraded", reason="no key")
    aligned = align(question, parts, given)
    if aligned is None:
        doubt = undecided(RULES, _counted("answer", len(given), len(parts)))
        shown = [*given[: len(parts) - 1], "; ".join(filter(None, given[len(parts) - 1 :])) or None]
        shown += [None] * (len(parts) - len(shown))
        return total(question, key, [_verdict(*pair, doubt) for pair in zip(parts, shown, strict=True)], config)
    entries = _entries(question, parts)
    with one_response():
        decided = _decide_entries(
            entries, aligned, lambda place, answer: decide_part(question, parts[place], answer, config, cascade)
        )
    return total(question, key, [_verdict(part, *pair) for part, pair in zip(parts, decided, strict=True)], config)


_NUMBERS = "no one two three four five six seven eight nine ten".split()


def _counted(noun: str, given: int, expected: int) -> str:
    words = [_NUMBERS[count] if count < len(_NUMBERS) else str(count) for count in (given, expected)]
    return (
        f"{words[0]} {noun}{'' if given == 1 else 's'} where {words[1]} {'was' if expected == 1 else 'were'} asked for"
    )


_OTHER_BLANK = "the answers name other blanks than theirs"
_OTHER_PART = "right for another entry of the key"


def _entries(question: Question, parts: Sequence[GradedPart]) -> list[GradedPart]:
    """Parts with the names by which answers may be placed; `listed` ones may be answered in other places."""
    printed = blank_names(question) or [answer_name(part.gold) for part in parts] if len(parts) > 1 else []
    names = [part.name or "" for part in parts] if question.variables else printed
    names = names if len(names) == len(parts) else [""] * len(parts)
    return [
        replace(part, name=name if names.count(name) == 1 else "", listed=part.listed or part.name is not None)
        for part, name in zip(parts, names, strict=True)
    ]


def _decide_entries(
    entries: Sequence[GradedPart], answers: Sequence[str | None], decide: Callable[[int, str | None], Decision]
) -> list[tuple[str | None, Decision]]:
    """Each entry's answer and decision, by the names that the answers give, else in order.

    Answers with names of other entries are open, as is one that is right for another entry and has not its own name.
    """
    if len(entries) == 1:
        return [(answers[0], decide(0, answers[0]))]
    own, names = list(range(len(entries))), [entry.name or "" for entry in entries]
    given = [answer_name(answer or "") for answer in answers]
    named = any(names)
    places = [_place(*pair, names) if named else None for pair in zip(answers, given, strict=True)]
    if set(places) == set(own):
        answers, places = [answers[places.index(place)] for place in own], [*own]
    strange = all(given) and all(names) and set(places) == {None} and not any(entry.listed for entry in entries)
    if strange or any(place not in {None, number} for number, place in enumerate(places)):
        return [(answer, undecided(RULES, _OTHER_BLANK)) for answer in answers]
    results = []
    for number, (entry, place, answer) in enumerate(zip(entries, places, answers, strict=True)):
        decision = decide(number, answer)
        if decision.decision == "reject" and answer is not None and place is None and (entry.listed or given[number]):
            others = (other for other in own if entries[other].gold != entry.gold)
            if any(decide(other, answer).decision == "accept" for other in others):
                decision = undecided(RULES, _OTHER_PART)
        results.append((answer, decision))
    return results


def _place(answer: str | None, name: str, names: Sequence[str]) -> int | None:
    place = place_of(answer, names)
    return place_of_phrase(name, names) if place is None and name else place


def align(question: Question, parts: Sequence[GradedPart], given: Sequence[str | None]) -> list[str | None] | None:
    """One answer a part, variables by name; None if the numbers differ."""
    if question.variables and len(parts) > 1 and len(given) > 1:
        return placed(given, [part.name or "" for part in parts])
    if len(given) == len(parts):
        return list(given)
    if len(parts) == 1:
        separator = ", " if question.question_type in CHOICE_TYPES else "; "
        return [separator.join(filter(None, given))]
    if len(given) == 1 and given[0]:
        in_choices = question.question_type in CHOICE_TYPES  # prose about options has semicolons of its own
        values = label_sequence(given[0]) if in_choices else blank_values(given[0], len(parts))
        if len(values) == len(parts):
            return list(values)
    return None


def decide_part(
    question: Question, part: GradedPart, answer: str | None, config: GradingConfig, cascade: Cascade
) -> Decision:
    """Decides one part, whatever the source of its answer.

    Several blanks in one key keep their order; if no blank is marked, another order is undecided.
    """
    if answer is None:
        return Decision("reject", 0.0, "extraction", "no answer to this part")
    if not part.gold.strip():
        return undecided(RULES, "no key to this part")
    if part.name is not None:
        answer, gold = unnamed(answer, part.gold, part.name)
        part = replace(part, gold=gold)
    if len(alternatives := [gold for gold in _ALTERNATIVES.split(part.gold) if gold.strip()]) > 1:
        each = (decide_part(question, replace(part, gold=gold), answer, config, cascade) for gold in alternatives)
        return min(each, key=lambda decision: ("accept", "undecided", "reject").index(decision.decision))
    whole = cascade.decide(_comparison(question, part, part.gold, answer, config))
    if whole.decision == "undecided" and _is_no_option(question, answer, cascade):
        return Decision("reject", 0.0, "choice", "the value of none of the options")
    blanks = blank_count(question)
    if not type_of(question.question_type).blanks or len(parts_of(question)) > 1 or blanks == 1:
        return whole
    golds = split_values(part.gold, blanks)
    if len(golds) == 1 or (blanks and len(golds) != blanks):
        return whole
    values = blank_values(answer, len(golds))
    if len(values) != len(golds):
        return undecided(RULES, _counted("value", len(values), blanks)) if blanks else whole

    def decide(place: int, value: str | None) -> Decision:
        return cascade.decide(_comparison(question, part, golds[place], value or "", config))

    decided = _decide_entries(_entries(question, [GradedPart(gold) for gold in golds]), values, decide)
    single = [decision for _, decision in decided]
    if doubt := next((decision for decision in single if decision.reason in {_OTHER_BLANK, _OTHER_PART}), None):
        return doubt
    if all(decision.decision == "accept" for decision in single):
        return _blanks(single)
    if whole.decision == "accept" and [value for value, _ in decided] == values:
        if _in_any_order(part.gold, golds, values):
            return whole
        return undecided(RULES, "the right values in another order")
    return _blanks(single) if blanks else whole


def _is_no_option(question: Question, answer: str, cascade: Cascade) -> bool:
    """Tests for a number that is in no option and the place of none.

    Options in words are other answers; a picture may be this one.
    """
    value = read_number(answer) if question.question_type in CHOICE_TYPES else None
    options = [option.text for option in question.options]
    if value is None or len(options) < 2 or not all(text.strip() and IMAGE_MARK not in text for text in options):
        return False
    if value.value == 0 or (value.value.denominator == 1 and 0 < value.value <= len(options)):
        return False
    digits = _digits(answer)
    words = [text for text in options if read_number(text) is None]
    if any(digits in _digits(text) for text in words) or any(map(_NUMBER_WORD.search, options)):
        return False
    for text in options:
        decision = cascade.decide(AnswerComparison(gold=text, answer=answer, question_type="short_answer")).decision
        if decision != "reject" and not (decision == "undecided" and _PROSE.search(text)):
            return False
    return True


def _digits(text: str) -> str:
    return "".join(filter(str.isdecimal, compatible(text)))


_NUMBER_WORD = late(
    r"[三四五六七八九十百千万亿半倍]|[세네]\s|다섯|여섯|일곱|여덟|아홉|열|절반"
    r"|\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w{3,5}teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty"
    r"|hundred|thousand|million|dozen|half|quarter|thirds?|twice|double)\b",
    re.IGNORECASE,
)
_PROSE = late(r"(?<![\\A-Za-z{])(?:[A-Za-z]{4,}|[A-Za-z]{2,}\s[A-Za-z]{2,})|[\u4e00-\u9fff]{2}|[\uac00-\ud7a3]{2}")


def _in_any_order(key: str, golds: Sequence[str], values: Sequence[str]) -> bool:
    names = list(map(answer_name, golds))
    places = [place_of_phrase(answer_name(value), names) for value in values]
    named = set(places) == set(range(len(golds)))
    remarked = any(_REMARK.match(gold) for gold in golds)
    return named or remarked or alternatives(key) == len(golds) - 1


_REMARK = late(r"[(（]?\s*[klmnN]\s*(?:\\in|∈)")
_ALTERNATIVES = late(r"\\?#\s?\\?#")
"""Separates alternative keys in some question banks."""


def _comparison(
    question: Question, part: GradedPart, gold: str, answer: str, config: GradingConfig
) -> AnswerComparison:
    alone = len(parts_of(question)) == 1
    wanted = demand(question.question) if alone else Demand()
    return AnswerComparison(
        gold=gold,
        answer=answer,
        question_type=question.question_type,
        options=tuple(question.options),
        language=question.language,
        unit=part.unit or (asked_unit(question.question) if alone else None),
        unit_shown=shows_unit(question.question, gold),
        open_ends=(free := leaves_ends_open(question.question)),
        ends_count=not free and question.question.strip() != "",
        all_asked=asks_for_all(question.question),
        solutions=asks_for_solutions(question.question),
        asked_form=wanted.form,
        asked_expression=wanted.expression,
        variable_type=part.type,
        partial_credit=config.partial_credit,
        question_id=question.id,
    )


def _blanks(decisions: Sequence[Decision]) -> Decision:
    by = "+".join(dict.fromkeys(decision.by for decision in decisions))
    reasons = "; ".join(f"blank {number}: {decision.reason}" for number, decision in enumerate(decisions, 1))
    if any(decision.decision == "undecided" for decision in decisions):
        return undecided(RULES, reasons)
    if all(decision.decision == "accept" for decision in decisions):
        return Decision("accept", 1.0, by, reasons)
    return Decision("reject", sum(decision.score or 0.0 for decision in decisions) / len(decisions), by, reasons)


def _verdict(part: GradedPart, answer: str | None, decision: Decision) -> PartVerdict:
    return decision.verdict(part.name, part.gold, answer)


def total(
    question: Question,
    key: Key,
    parts: list[PartVerdict],
    config: GradingConfig,
    state: str = "",
    reason: str = "",
) -> Verdict:
    """Sums up the parts, criteria as their scheme says; `state` overrides "graded"."""
    if is_by_scheme(question, parts):
        return _by_scheme(question, key, hold_needs(question, parts), config)
    full = _full_points(question)
    worth = _worth(question, len(parts))
    low = sum(points * part.score for points, part in zip(worth, parts, strict=True) if part.score is not None)
    open_points = sum(points for points, part in zip(worth, parts, strict=True) if part.score is None)
    ungraded = state == "ungraded" or open_points > 0 or any(part.score is None for part in parts)
    doubts = [part.reason for part in parts if part.score is None]
    version = judge_version(config)
    return Verdict(
        key=key,
        state="no_answer" if state == "no_answer" else "ungraded" if ungraded else "graded",
        parts=parts,
        points=None if ungraded else low,
        low=low,
        high=(low + open_points if parts else full) if ungraded else low,
        max_points=full,
        correct=_correct(parts, state),
        reason=reason or "; ".join(dict.fromkeys(doubts)),
        judge=version,
        versions={"judge": version},
    )


def _correct(parts: Sequence[PartVerdict], state: str) -> bool | None:
    if state == "no_answer" or any(part.decision == "reject" for part in parts):
        return False
    return True if parts and all(part.decision == "accept" for part in parts) else None


def _by_scheme(question: Question, key: Key, parts: list[PartVerdict], config: GradingConfig) -> Verdict:
    full, version = _full_points(question), judge_version(config)
    low, high = (full if points > full - 1e-6 else points for points in bounds(question, parts))
    doubts = [f"criterion {part.name}: {part.reason}" for part in parts if part.score is None]
    return Verdict(
        key=key,
        state="graded" if low == high else "ungraded",
        parts=parts,
        points=low if low == high else None,
        low=low,
        high=high,
        max_points=full,
        correct=False if high < full else True if low >= full else None,
        reason="" if low == high else "; ".join(doubts),
        judge=version,
        versions={"judge": version},
    )


def _full_points(question: Question) -> float:
    in_scheme = sum(criterion.points for criterion in question.scheme[0]) if question.scheme else 0.0
    return question.points or sum(question.part_points) or in_scheme or 1.0


def _worth(question: Question, count: int) -> list[float]:
    full = _full_points(question)
    stated = question.part_points
    if len(stated) == count and sum(stated) > 0:
        return [points * full / sum(stated) for points in stated]
    return [full / count] * count if count else []
