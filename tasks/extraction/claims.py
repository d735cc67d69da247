"""Claims: where a text commits to options in words that say so, in boxes and in tags, all listed in one pass.

A claim without labels commits to none: it offers several, lists them all, or is called wrong at once. What is only
supposed, asked or refused is no claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from livek12.core.patterns import late
from livek12.core.records import Question
from livek12.judges.parts import per_question
from livek12.judges.rules.labels import read_labels
from livek12.tasks.extraction.choice_forms import (
    DIGIT_FORMS,
    EXPLICIT,
    FILLED,
    FINAL,
    FINALLY,
    FORMS,
)
from livek12.tasks.extraction.cleaned import without_markup
from livek12.tasks.extraction.denials import quoted
from livek12.tasks.extraction.label_lists import as_list, goes_on, written_plainly
from livek12.tasks.extraction.remarks import called_wrong, counterfactual, false_lead, refused, supposed

Labels = frozenset[str]
NO_LABELS: Labels = frozenset()


@dataclass(frozen=True)
class Asked:
    """What a question offers and asks for.

    Attributes:
        known: the labels that count; empty where all do (a Korean question whose options stand in its text).
        several: whether several labels may be chosen.
        wrong: whether the wrong option is asked for; None where that is not known.
        texts: the printed texts of the options by their labels, without mark-up.
    """

    known: Labels
    several: bool
    wrong: bool | None
    texts: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    @per_question
    def of(question: Question) -> Asked:
        """What a question asks; its key is not read."""
        known = frozenset(label for option in question.options for label in read_labels(option.label) or ())
        known = known or (frozenset() if question.language == "ko" else frozenset("ABCDEFGHIJ"))
        texts = {option.label: " ".join(without_markup(option.text).split()) for option in question.options}
        return Asked(known, question.question_type == "multiple_choice", _asks_for_wrong(question.question), texts)

    @property
    def digits(self) -> bool:
        """Whether labels may be numbers."""
        return not self.known or any(label.isdigit() for label in self.known)

    def printed_until(self, cleaned: str, claim: Claim) -> int:
        """Where a claim ends with the printed text of its option, which may hold words like "wrong" itself."""
        text = self.texts.get(next(iter(claim.labels)), "") if len(claim.labels) == 1 else ""
        begin = _BEFORE_TEXT.match(cleaned, claim.end)
        return begin.end() + len(text) if text and begin and cleaned.startswith(text, begin.end()) else claim.end


_BEFORE_TEXT = late(r"[\s.．、:：)）〗〙]*")


@dataclass(frozen=True)
class Claim:
    """A place where a text commits to labels, how strongly, in which words; without labels where to no one of them."""

    start: int
    end: int
    strength: int
    said: str
    method: str
    labels: Labels


_WRONG_WORDS = (
    r"错误|不正确|不符|不属于|不可能|不能|不合理|不合适|不恰当|不是|不包括|不认同|为假|不宜|不成立|不一定|不需要|不会|有误|不当|incorrect"
    r"|\bnot\b|n['’]t\b|false|except|wrong|least|untrue|않|틀린|없는|아닌|잘못"
)
_MAY_ASK_WRONG = late(_WRONG_WORDS, re.IGNORECASE)
_ASKS_WRONG = late(
    r"(?:错误|不正确|不符合?|不属于|不可能|不能|不合理|不合适|不恰当|不是|不包括|不认同|为假|不宜|不成立|不一定|有误|不当)"
    r"[^。？?，,；;\n]{0,16}(?:的(?:一项|一组|选项|说法|叙述)?\s?(?:是|有|为)|[(（]\s*[)）])"
    r"|\b(?:which|what)\b[^.?\n]{0,120}\b(?:not|false|incorrect|wrong|except|least|untrue)\b|\b(?-i:EXCEPT|NOT|INCORRECT|FALSE)\b"
    r"|(?:않|틀린|없는|아닌|잘못)[^.?\n]{0,12}것",
    re.IGNORECASE,
)


def _asks_for_wrong(question: str) -> bool | None:
    """Whether a question asks for the wrong option; None where it is not known, or a negation in it may be another."""
    if _ASKS_WRONG.search(question):
        return True
    return None if not question.strip() or _MAY_ASK_WRONG.search(question) else False


# --- listing --------------------------------------------------------------------------------------------------------


def marked_claims(cleaned: str, asked: Asked) -> list[Claim]:
    """Those in words that commit, in boxes and in tags."""
    small = cleaned.lower()
    forms = (*FORMS, *(DIGIT_FORMS if asked.digits else ()))
    found = (_claim(cleaned, match, form.strength, asked) for form in forms for match in form.matches(cleaned, small))
    return [claim for claim in found if claim is not None and (not asked.known or claim.labels <= asked.known)]


def _claim(cleaned: str, match: re.Match[str], strength: int, asked: Asked) -> Claim | None:
    """What one match of a form claims; None where it is supposed, refused, asked, or an article."""
    if "content" in match.groupdict():
        return _region(cleaned, match, strength)
    said = written_plainly(match["run"]) + (match["or"] or "")
    labels = labels_in_prose(cleaned, match, asked)
    if labels is None:
        return None
    if labels and asked.several:
        said = with_following_lines(cleaned, match.start("run"), said)
    elif (len(labels) > 1 and _ONLY_BLANKS.fullmatch(said)) or (labels and _begins_options(cleaned, match, said)):
        labels = NO_LABELS
    if not labels:
        said = quoted(cleaned[match.start() : match.end() + QUOTED_BEHIND])
    if strength == EXPLICIT and FINALLY.search(cleaned[max(0, match.start() - 10) : match.start("run")][:10]):
        strength = FINAL
    return Claim(match.start(), match.end(), strength, said.strip(), "phrase", labels)


def _region(cleaned: str, match: re.Match[str], strength: int) -> Claim | None:
    """What a box or a tag claims, alone or with the label before it ("选项 D. 〘-7/2〙")."""
    said, method = as_list(match["content"]), "answer_tag" if match["open"] == "〖" else "boxed"
    labels = NO_LABELS if _offers_several(said) else read_labels(said)
    start = match.start()
    if labels is None and (before := _LABEL_BEFORE.search(cleaned[max(0, start - _BEFORE_CHARS) : start])):
        labels, said = frozenset(before[1]), f"{before[1]}. {said}"
    if labels is None or supposed(cleaned, start, match.end()):
        return None
    return Claim(start, match.end(), strength, said.strip(), method, labels)


QUOTED_BEHIND = 20
_BEFORE_CHARS = 20
_LABEL_BEFORE = late(
    r"(?:选项|答案|选|\b(?i:option|choice|answer))\s?(?:是|为|is)?\s?[:：]?\s?[(（]?([A-J])\s?[.．、:：)）]\s?\Z"
)
_ONLY_BLANKS = late(r"[A-J](?:[^\S\n][A-J])+")
_REFUSAL = late(
    r"(?:排除|不是|不对|不能|并非|\bnot|n['’]t|오답)[^。.．\n；;，,]{0,5}$",
    re.IGNORECASE,
)
_WRONG_ONE = late(
    r"\b(?:incorrect|wrong|false|untrue)\s(?:option|statement|choice|answer|one)s?\s(?:is|are)\s[^.\n]{0,5}$|(?:错误|不正确|不符|不成立|不可能|不一定|不属于|不恰当|不合理"
    r"|incorrect|wrong|false|not (?:right|correct|true)|틀린|않은|잘못된)[^。.．\n；;，,]{0,5}$",
    re.IGNORECASE,
)
_AMONG = late(
    r"\s?(?:选项|项)?(?:以外|之外|除外)|\s?번?\s?(?:이외|외에)|\s?(?:번\s?)?(?:중|가운데)|\s?(?:选项|项)?(?:之间|之中|中(?![点线位心]))"
)
_ASKED = late(r"[^。.！!？?\n]{0,6}[？?]|\s*(?:呢|吗)")
_UNDER_CONDITION = late(r"(?:若|如果|假如|要是|倘若)[^。；;\n]{1,24}[,，]\s?(?:则|那么?|就)\s?(?:应该?)?.?\Z")
_OR_ANOTHER = late(
    r"[\s,，;；(（*]{0,4}(?:(?i:or|alternatively|else|otherwise|possibly|maybe|perhaps)\b|或者?|也可能是?|또는|혹은)[:：]?\s?"
    r"(?:选项|(?i:option)\s)?[(（]?[A-J](?![A-Za-z])"
    r"|\s?(?:[(]for|when|unless|if|only\sif|with\sprobability|in\sthe\s(?:first|second|other|latter|former))\s"
)
"""Another option offered right behind one, or a condition on it."""
_ARTICLE = late(r"\s+(?!(?:and|or|because|since|as|is|for|with|which|due|so|given|from|by)\b)[a-z]{2,}")
_OF_TRUTH = late(r"正确|错误|成立|说法|叙述|[^应]对$|\b(?:correct|right|true|statement)s?\b|옳|맞", re.IGNORECASE)
_OF_ANSWER = late(
    r"答案|答|故选|所选|选(?!项)|(?:选项|选择|项)\s*(?:应该?|只能|就|即)*\s*(?:[是为]\s*(?!正确)|[:：])|题意|合适|恰当|适当|\banswers?|\bchoices?\s*(?:is|are|:)"
    r"|(?:correct|right|best|final)\s+(?:choice|option|letter)|\bone\b|정답|답|적절",
    re.IGNORECASE,
)
_COMMITS = late(r"答案|答[:：]|正确|选(?!项)|\banswer|correct|정답|답", re.IGNORECASE)
_REFUSAL_CHARS = 28


def labels_in_prose(cleaned: str, match: re.Match[str], asked: Asked) -> Labels | None:
    """The labels of a match in running text; None where it is no claim, none of them where it commits to no one."""
    start = match.start("run")
    before = cleaned[max(0, start - _REFUSAL_CHARS) : start]
    filled = match.re.pattern in [form.pattern for form in FILLED]
    wrong_one = not filled and _WRONG_ONE.search(before) is not None
    if (wrong_one and not asked.wrong) or (not filled and not wrong_one and _REFUSAL.search(before)):
        return None
    if match["run"].strip() == "A" and _ARTICLE.match(cleaned, start + len(match["run"].rstrip())):
        return None
    if _AMONG.match(cleaned, match.end()) or _ASKED.match(cleaned, match.end()):
        return None
    supposition = supposed(cleaned, start, match.end()) or supposed(cleaned, match.start(), match.end())
    if not wrong_one and (supposition or refused(cleaned, start)):
        return None
    if not wrong_one and (called_wrong(cleaned, match.end()) or false_lead(cleaned, start)):
        return NO_LABELS
    if _qualified(cleaned, match) or counterfactual(cleaned, match.start(), start):
        return NO_LABELS
    labels = read_labels(written_plainly(match["run"]))
    if len(labels or ()) < 2 and _OPTIONS.match(cleaned, start):
        return NO_LABELS if _COMMITS.search(cleaned[match.start() : start]) else None
    if asked.wrong and not wrong_one and of_truth(cleaned, match):
        return NO_LABELS
    if match["or"] or (not filled and goes_on(cleaned, start, match.end("run"))):
        return NO_LABELS
    return labels


def _qualified(cleaned: str, match: re.Match[str]) -> bool:
    """Whether another option is offered right behind what a form claims, or a condition stands beside it."""
    before = cleaned[max(0, match.start() - _REFUSAL_CHARS) : match.start() + 1]
    return _OR_ANOTHER.match(cleaned, match.end()) is not None or _UNDER_CONDITION.search(before) is not None


def of_truth(cleaned: str, match: re.Match[str]) -> bool:
    """Whether a form calls a statement right, rather than the option the answer."""
    said = cleaned[match.start() : match.start("run")] + " " + cleaned[match.end("run") : match.end()]
    return _OF_TRUTH.search(said) is not None and not _OF_ANSWER.search(said)


_OPTIONS = late(
    r"[(（]?A[)）.．:：、]\s?(?![A-J](?:[,，、.。\s]|\Z))[^\n]{1,200}?[ ,，;；]"
    r"(?:and\s|(?:option|choice)\s)?[(（]?B[)）.．:：、]\s?\S"
    r"|[(（]?A[)）.．:：、]\s?[^\n]{1,300}\n(?:option\s|choice\s|选项\s?)?[(（]?B[)）.．:：、]\s?[^\n]{1,300}\n(?:option\s|choice\s|选项\s?)?[(（]?C[)）.．:：、]",
    re.IGNORECASE,
)
"""The options listed from here on, each with its text ("A) 3, B) 5"): they are told, not chosen."""


def _offers_several(said: str) -> bool:
    """Whether a committed text offers labels to choose from ("A or B")."""
    pieces = re.split(r"或者?|\bor\b|또는", said)
    return len(pieces) > 1 and all(read_labels(piece) for piece in pieces)


OPTION_LINE = late(r"\s*[(（]?([A-J])[)）]?\s*(?:[.．:：]|、(?!\s*[A-J]))\s*\S[^\n]*(?:\n|$)")


def with_following_lines(cleaned: str, position: int, said: str) -> str:
    """With the labels of directly following lines "C. …", "D. …" where the commitment began such a list."""
    labels = [line[1] for line in _option_lines(cleaned, position)]
    return ", ".join(labels) if len(labels) > 1 and len(set(labels)) == len(labels) else said


def _option_lines(cleaned: str, position: int) -> Iterator[re.Match[str]]:
    for _ in range(_MAX_OPTIONS):
        line = OPTION_LINE.match(cleaned, position)
        if line is None:
            break
        yield line
        position = line.end()


_MAX_OPTIONS = 11


_JUDGED_LINE = late(
    r"错|不|对|正确|符合|因为|由于|故|解析|wrong|right|correct|false|true|because|since|\bnot\b", re.IGNORECASE
)
_BEGINS_LIST = late(r"[:：\n]\s*\Z")


def _begins_options(cleaned: str, match: re.Match[str], said: str) -> bool:
    """Whether a claim to one option is the first line of a list of options, each quoted without a word on it."""
    start = match.start("run")
    if len(said.strip()) > 1 or not _BEGINS_LIST.search(cleaned[max(0, start - 3) : start]):
        return False
    lines = list(_option_lines(cleaned, start))
    letters = [line[1] for line in lines]
    plain = not any(_JUDGED_LINE.search(line[0]) for line in lines[1:])
    return len(letters) > 1 and letters == sorted(set(letters)) and plain
