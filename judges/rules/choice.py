"""Choice questions: compares sets of labels, in any order and script.

Partial credit (a non-empty proper subset of the key, no wrong label) is a named rule: `exact` gives 0, `half` half the
points, `proportional` the share of the key's labels (gaokao since 2024). Only equal sets are accepted.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.core.text import compatible, of_short
from livek12.judges.base import AnswerComparison, Decision, PartialCredit, accept, reject, undecided
from livek12.judges.rules.labels import MAX_CHARS, label_sequence, labelled_option, read_labels
from livek12.judges.rules.latex import parse
from livek12.judges.rules.notation import bare
from livek12.judges.rules.numeric import read_number
from livek12.judges.rules.text import normal_form
from livek12.judges.rules.tokens import Unparsable
from livek12.judges.rules.trees import Node, unnamed

NAME = "choice"


class ChoiceStage:
    """Decides choice questions whose key is labels."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accept or reject with partial credit; undecided for unreadable labels."""
        if not comparison.is_choice:
            return _statements(comparison)
        gold = _labels(comparison, comparison.gold)
        if gold is None:
            return undecided(NAME, "the key is not option labels")
        answer, doubt = _chosen(comparison)
        if answer is None and _says_none(comparison):
            return reject(NAME, "chose none of the options")
        if answer is None:
            return undecided(NAME, doubt)
        if len({_script(label) for label in gold | answer}) > 1:
            return undecided(NAME, "key and answer use different labels")
        return _judge(comparison, gold, answer)


_STATEMENTS = late(r"[①-⑩㉠-㉧](?:[\s,，、;；和与及→-]*[①-⑩㉠-㉧])*")
_JAMO = late(r"[ㄱ-ㅎ](?:[\s,，、;；·와과]*[ㄱ-ㅎ])*")
_DIGIT_LIST = late(r"[1-9](?:(?:\s*[,，、;；和与及]\s*|\s+)[1-9])*|(?:[(（][1-9][)）][\s,，、]*)+")
"""Numbers of statements in digits; a pair in brackets is a point."""
_RIGHT = late(r"(?<=[①-⑩㉠-㉧])\s?(?:(?:是|都|均)?(?:正确|对)的?)$")
_STEPS = late(r"[A-H](?:[\s,，、→-]*[A-H]){2,7}")
_ARROWS = late(r"(?<=[A-H①-⑩])\s?[-–]\s?(?=[A-H①-⑩])|\\(?:to|(?:long)?rightarrow)(?![a-zA-Z])|[-=]{0,3}>|→")


def _statements(comparison: AnswerComparison) -> Decision:
    """Keys of statement numbers ("②③") or ordered steps ("③①②", "CAB").

    A rising key may be a set: reordered labels are accepted only for two labels and for ㄱ, ㄴ, ㄷ, which never denote
    a sequence.
    """
    if max(len(comparison.gold), len(comparison.answer)) > MAX_CHARS:
        return undecided(NAME)
    gold = _with_commas(comparison.gold)
    if _names_the_letter(gold, comparison.answer):
        return accept(NAME, f"chose {gold}")
    if (own := _in_brackets(gold)) and (others := _in_brackets(bare(comparison.answer))):
        return accept(NAME, "the same labels") if own == others else reject(NAME, "other labels")
    signs = next((signs for signs in (_STATEMENTS, _JAMO, _STEPS) if signs.fullmatch(gold)), None)
    if signs is None:
        return undecided(NAME)
    answer = _with_commas(comparison.answer)
    if signs is _STATEMENTS and _DIGITS.fullmatch(answer) and len(answer) > 2:
        answer = ",".join(answer)
    wanted = label_sequence(gold)
    given = label_sequence(answer) if signs.fullmatch(answer) or _DIGIT_LIST.fullmatch(answer) else []
    if not given or len(set(given)) < len(given) or len(set(wanted)) < len(wanted):
        return undecided(NAME, "the answer is not statement numbers")
    if wanted == given:
        return accept(NAME, "the same labels")
    rising = wanted == sorted(wanted)
    if set(wanted) == set(given) and rising:
        if signs is _JAMO or (signs is _STATEMENTS and len(wanted) == 2):
            return accept(NAME, "the same statements")
        return undecided(NAME, "the same labels in another order")
    if signs is not _STEPS and set(wanted) != set(given) and len(given) > 1:
        return reject(NAME, "other statements")
    if signs.fullmatch(answer) and (signs is not _STEPS or (not rising and len(wanted) == len(given))):
        return reject(NAME, "other labels")
    return undecided(NAME, "perhaps not statement numbers")


_BRACKETED = late(r"[(（]([a-h]|i{1,3}|iv|vi{0,3})[)）]")
_LIST_OF_BRACKETED = late(
    rf"(?:\\text\s?\{{)?{_BRACKETED.pattern}(?:[\s,，、;；&\\和与及]*(?:and\s)?\s*{_BRACKETED.pattern})*\}}?"
)


def _in_brackets(text: str) -> set[str]:
    """The labels of a text of nothing but labels in brackets: "(a) and (c)"."""
    return set(_BRACKETED.findall(text)) if _LIST_OF_BRACKETED.fullmatch(text) else set()


def _with_commas(text: str) -> str:
    return _ARROWS.sub("、", _RIGHT.sub("", bare(text)))


_LETTER = late(r"[A-J]")
_WORDS = late(r"[A-Za-z]{2,}\s+\S*[A-Za-z]{2,}|[\u4e00-\u9fff]{3,}|[가-힣]{2,}")
_DENIED = late(
    r"^\W*or\b|\b(?:wrong|incorrect|false|not (?:right|correct|true|the answer))\b|错|不对|不正确|不是|틀|아니",
    re.IGNORECASE,
)


def _names_the_letter(gold: str, answer: str) -> bool:
    pair = labelled_option(answer) if _LETTER.fullmatch(gold) else None
    if pair is None or pair[0] != gold or not _WORDS.search(pair[1]):
        return False
    return _DENIED.search(pair[1]) is None


_NONE = late(
    r"(?:以上|上述|四个选项|选项)?(?:选项|答案|说法|各项)?(?:都|均|全)(?:不对|不正确|不是|错误|错|不符合(?:题意)?)|(?:没有|无)(?:一个)?正确(?:的)?(?:选项|答案)?"
    r"|none(?: of (?:the above|these|them|the (?:options|choices)))?(?: (?:is|are) (?:correct|right))?"
    r"|(?:정답|답|해당)\s?(?:이|사항)?\s?없(?:음|다|습니다)",
    re.IGNORECASE,
)


def _says_none(comparison: AnswerComparison) -> bool:
    """Checks for "none of the above" if no option says so or is a picture."""
    texts = [option.text.strip() for option in comparison.options]
    complete = len(texts) > 1 and all(texts) and not any(_NONE.search(text) for text in texts)
    return complete and _NONE.fullmatch(bare(comparison.answer)) is not None


def _judge(comparison: AnswerComparison, gold: frozenset[str], answer: frozenset[str]) -> Decision:
    chosen = "".join(sorted(answer))
    if answer == gold:
        return accept(NAME, f"chose {chosen}")
    score = _partial_score(comparison.partial_credit, gold, answer) if len(gold) > 1 else 0.0
    return reject(NAME, f"chose {chosen}", score)


def _partial_score(rule: PartialCredit, gold: frozenset[str], answer: frozenset[str]) -> float:
    if rule == "exact" or not answer or not answer < gold:
        return 0.0
    return 0.5 if rule == "half" else len(answer) / len(gold)


_DIGITS = late(r"[1-9]{2,9}")


def _known(comparison: AnswerComparison) -> set[str]:
    return {label for option in comparison.options for label in read_labels(option.label) or ()}


_SMALL_LETTERS = late(r"a?b?c?d?e?f?g?h?(?<=..)")
"""Several option letters in small print, in their order: "acd"."""


def _labels(comparison: AnswerComparison, text: str) -> frozenset[str] | None:
    """Named labels; digits ("135") are one each unless an option bears them all."""
    several = type_of(comparison.question_type).several
    if several and _SMALL_LETTERS.fullmatch(plain := bare(text)) and set(plain.upper()) <= _known(comparison):
        return frozenset(plain.upper())
    if several and _DIGITS.fullmatch(digits := bare(text)) and digits not in (offered := _known(comparison)):
        labels = frozenset(digits)
        if len(labels) == len(digits) and labels <= (offered or set("12345")):
            return labels
    return read_labels(text)


def _chosen(comparison: AnswerComparison) -> tuple[frozenset[str] | None, str]:
    offered = _known(comparison)
    answer = comparison.answer
    labels = _labels(comparison, answer)
    if labels is not None and (not offered or labels <= offered):
        by_text = _by_text(comparison, answer)
        if by_text and by_text != labels:
            return None, "the answer is both a label and another option's text"
        return labels, ""
    pair = labelled_option(answer)
    if pair is not None and (not offered or pair[0] in offered):
        by_text = _by_text(comparison, pair[1])
        if by_text and by_text != {pair[0]}:
            return None, "the label and the text are of different options"
        return frozenset({pair[0]}), ""
    by_text = _by_text(comparison, answer)
    if by_text is not None:
        return by_text, ""
    return None, "the answer is not option labels"


def _by_text(comparison: AnswerComparison, answer: str) -> frozenset[str] | None:
    matches = [option for option in comparison.options if _same_text(option.text, answer)]
    return read_labels(matches[0].label) if len(matches) == 1 else None


def _same_text(text: str, answer: str) -> bool:
    if not answer.strip() or not text.strip():
        return False
    if len(answer) == 1 and answer.isascii() and answer.isalpha() and answer not in compatible(text):
        return False
    if normal_form(text) == normal_form(answer):
        return True
    numbers = read_number(text), read_number(answer)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0].value == numbers[1].value and numbers[0].unit == numbers[1].unit
    tree = _tree(answer)
    return tree is not None and tree == _tree(text)


@of_short
def _tree(text: str) -> Node | None:
    try:
        return unnamed(parse(text))
    except Unparsable:
        return None


def _script(label: str) -> str:
    if label.isascii():
        return "digit" if label.isdigit() else "latin"
    return "jamo" if label in "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ" else "syllable"
