"""Claims: commitments to options in words, boxes and tags; and weaker ones as a fallback.

A claim without labels offers several, lists all, or is called wrong at once. Weak claims: a concluding sentence, a
judgement of every option, a line of labels or of one quoted option.

`cleaned` text has answer tags as 〖…〗 and boxes as 〘…〙.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from livek12.core.patterns import late
from livek12.core.question_types import type_of
from livek12.core.records import Question
from livek12.judges.parts import per_question
from livek12.judges.rules.labels import read_labels
from livek12.tasks.extraction import choice_forms, remarks
from livek12.tasks.extraction.clauses import FAILS_EN, FALSE_EN, FALSE_ZH, MANNER, UNFIT_EN, UNFIT_ZH
from livek12.tasks.extraction.regions import (
    TextRegion,
    answer_tags,
    boxes,
    lists_options,
    outside_of,
    tail,
    without_stars,
)
from livek12.tasks.extraction.remarks import quoted
from livek12.tasks.extraction.values import final_run

_TAIL_CHARS = 30_000
_BOX_CHARS = 400
_LIST_GAP = late(r"[$\s*.。,，、;；]*(?:[-•]|[(（]?\d{1,2}[.．、)）])?[$\s*]*")
_MARKUP = late(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|boldsymbol|bm|rm|bf|displaystyle|quad|qquad|left|right)(?![a-zA-Z])"
    r"|\\[,;:! ()\[\]]|[{}$*`~\"“”「」]"
)
_JOINED = late(r"\b((?i:options?|choices?|answers?))(?:\\?_){1,3}([A-J](?![A-Za-z0-9]))_{0,3}")
_BULLET = late(r"(?:\n[^\S\n]{0,8}[-•+]\s|(?:\n|\A)[^\S\n]{0,8}[➡👉✅✔→⇒]\ufe0f?\s?)(?=[(（]?[A-J](?![A-Za-z]))")
_QUOTED_OPTION = late(r"['‘’]([A-J①-⑩](?:번)?|[1-9]번?)['‘’]")
_NARROW = str.maketrans({chr(ord("Ａ") + index): chr(ord("A") + index) for index in range(26)})

Labels = frozenset[str]
_RUN = (
    r"(?P<run>[A-J](?:(?:(?>[^\S\n]?(?:[、/和与及]|and\b)?[^\S\n]?)[A-J](?![a-z])){0,9}"
    r"|(?:(?>[^\S\n]?[,，][^\S\n]?(?:and\s)?)[A-J](?![a-z])){1,9})(?![A-Za-z0-9'′])"
    r"|[①-⑩](?:(?>[^\S\n]?[,，、와과]?[^\S\n]?)[①-⑩]){0,9}|[1-9](?=\s?번))"
)
_NAMED = rf"(?<![A-Za-z0-9\\、]){_RUN}"
_OTHER_LABEL = r"[A-J①-⑩]\s?(?:[.．、:：)）]|is\b|are\b|选项|项|不|错|是)"
_QUOTED = rf"(?:\s?[)）】\]〙〗]{{1,2}})?(?:\s?[.．、:：)）]\s?(?:(?!{_OTHER_LABEL})[^\n。;；]){{1,160}}?)?"
"""The printed text of an option, up to the words on it, without another label."""
_OPTION_ZH = (
    r"\s?(?:[)）】\]〙〗.．、:：]\s?){0,2}(?:这[个一])?(?:选项|答案|项)?的?(?:说法|叙述|描述|表述|结论|判断)?\s?"
    r"(?>[,，]\s?(?=显然|明显|其实|实际|是))?"
    r"(?>是|为|均|都|全|也|却|并|显然|明显|其实|实际上?|实则|可能|似乎|就|才|仍|还|应该?|肯定|完全|同样|根本|看来|本身|[^\S\n]){0,5}"
)
_IS_EN = (
    r"[)\]]?\s(?i:(?:option|choice|answer|statement)s?\s)?"
    r"(?:is|are|was|were|seems?(?:\sto\sbe)?|looks?|must\sbe|has\sto\sbe|turns?\sout\sto\sbe|would\sbe|should\sbe)\s"
    r"(?>(?:actually|clearly|also|therefore|indeed|obviously|definitely|certainly|in\sfact|then|just|simply|really|still"
    r"|thus|probably|completely|both|all|,)\s){0,3}"
)
_PARTICLE_KO = r"\s?번?(?:\s?선택지)?\s?(?:은|는|이|가|도|만)?\s?(?:(?:사실|실제로|분명히|또한|모두)\s?)?"
_CLAUSE_END = r"(?=\s?(?:[。.．,，;；!！?？)）\n]|\Z))"
_MARKED_WRONG = r"错误?|误|不对|不正确|wrong|incorrect|false|틀림|오답|x(?=[)）\]])|[×✗✘❌]"
_NO_NOUN = r"(?!\s(?:answer|choice|option))"
_REFUSED_ZH = (
    rf"{UNFIT_ZH}|不能(?:选|成立|作为|是)|不(?:应该?|可以?|该|再)?选|不(?:是|为)(?:最|所|本题|正确|我|应|想|答案|要)"
)
_REFUSED_EN = (
    rf"{UNFIT_EN}|out\b|(?:an?\s)?(?:wrong|incorrect)\s(?:answer|choice|option)"
    rf"|not\s(?:(?:the|an?|our|my)\s)?{MANNER}(?:answer|option|choice|it\b|possible|acceptable|consistent|what)"
)
_FAILS = (
    rf"[)\]]?\s(?:{FAILS_EN}|(?:is|are|was|were)n['’]t\s(?:(?:the|an?)\s)?{MANNER}(?:answer|option|choice|it\b)"
    r"|(?:can(?:not|['’]t|\snot)|could(?:n['’]t|\snot)|must\snot|should(?:n['’]t|\snot))\sbe\b)"
)
_FALSE_KO = r"틀|잘못|옳지\s?않|맞지\s?않|거짓"
_REFUSED_KO = (
    r"(?:정?답|해답)?\s?(?:이|은|으로)?\s?(?:아니|아닙|아님|아닌|오답|될\s?수\s?없|적절하지\s?않|제외|부적절|모순"
    r"|\S{1,6}에\s?(?:맞지|어긋|위배|부합하지))"
)
_LEFT_OUT = (
    r"(?:排除(?:了|掉)?|不(?:能|可以?|应该?|该|再|要)?选(?:择)?|(?:答案|选项?)(?:绝|肯定|应该?)?不(?:应该?|可能|会|能)?(?:是|为|选)"
    r"|不是|并非|否定了?|\b(?i:not|never|can(?:not|['’]t)\sbe|isn['’]t|rul(?:e|es|ed|ing)\sout|eliminat(?:e|es|ed|ing)"
    r"|exclud(?:e|es|ed|ing)|reject(?:s|ed|ing)?|discard(?:s|ed|ing)?))\s?(?:选项|答案|(?i:options?|choices?|answers?)\s)?[(（]?"
)
_RIGHT_ZH = r"正确|成立|对(?![应称比于照数角边立象面地每任所])|[√✓✔✅]"
_VERDICTS = late(
    rf"{_NAMED}(?:{_OPTION_ZH}(?:(?P<right_option>符合(?:题意|要求|条件))|(?P<wrong_option>{_REFUSED_ZH})"
    rf"|(?P<wrong_zh>(?:{FALSE_ZH}|[×✗✘❌])(?!率))|(?P<right_zh>{_RIGHT_ZH}))"
    rf"|{_IS_EN}(?:(?P<right_en>(?:correct|right|true|valid)\b{_NO_NOUN})|(?P<wrong_en>{FALSE_EN}{_NO_NOUN})|(?P<wrong_option_en>{_REFUSED_EN}))"
    rf"|(?P<wrong>[)\]]?\s(?:is|are|was|were)(?=n['’]t){FALSE_EN}{_NO_NOUN}|\s?[)）]?\s?[:：(（【\[]\s?(?i:{_MARKED_WRONG})(?![a-z])"
    rf"|{_QUOTED}(?:\s?(?:是|为)(?:错误|不正确|不对|错)的?|\s(?:is|was)\s{FALSE_EN}{_NO_NOUN}){_CLAUSE_END})"
    rf"|(?P<wrong_option_fails>{_FAILS}|\s?번?\s?[을를]\s?(?:제외|배제))"
    rf"|{_PARTICLE_KO}(?:(?P<right_ko>옳(?!지\s?않)|맞(?!지\s?않)|참이(?!\s?아니))|(?P<wrong_ko>{_FALSE_KO})|(?P<wrong_option_ko>{_REFUSED_KO})))"
)
_EXCLUDED = late(rf"{_LEFT_OUT}(?P<wrong_option>{_NAMED}(?!\s?[点线面角边]))")
NO_LABELS: Labels = frozenset()
_BEFORE_TEXT = late(r"[\s.．、:：)）〗〙]*")
_WRONG_WORDS = (
    r"错误|不正确|不符|不属于|不可能|不能|不合理|不合适|不恰当|不是|不包括|不认同|为假|不宜|不成立|不一定|不需要|不会|有误|不当|incorrect"
    r"|\bnot\b|n['’]t\b|false|except|wrong|least|untrue|않|틀린|없는|아닌|잘못"
)
_MAY_ASK_WRONG = late(_WRONG_WORDS, re.IGNORECASE)
_ASKS_WRONG = late(
    r"(?i)(?:错误|不正确|不符合?|不属于|不可能|不能|不合理|不合适|不恰当|不是|不包括|不认同|为假|不宜|不成立|不一定|有误|不当)"
    r"[^。？?，,；;\n]{0,16}(?:的(?:一项|一组|选项|说法|叙述)?\s?(?:是|有|为)|[(（]\s*[)）])"
    r"|\b(?:which|what)\b[^.?\n]{0,120}\b(?:not|false|incorrect|wrong|except|least|untrue)\b|\b(?-i:EXCEPT|NOT|INCORRECT|FALSE)\b"
    r"|(?:않|틀린|없는|아닌|잘못)[^.?\n]{0,12}것"
)
QUOTED_BEHIND = 20
_LABEL_BEFORE = late(
    r"(?:选项|答案|选|\b(?i:option|choice|answer))\s?(?:是|为|is)?\s?[:：]?\s?[(（]?([A-J])\s?[.．、:：)）]\s?\Z"
)
_WRONG_ONE = late(
    r"(?i)\b(?:incorrect|wrong|false|untrue)\s(?:option|statement|choice|answer|one)s?\s(?:is|are)\s[^.\n]{0,5}$|(?:错误|不正确|不符|不成立|不可能|不一定|不属于|不恰当|不合理"
    r"|incorrect|wrong|false|not (?:right|correct|true)|틀린|않은|잘못된)[^。.．\n；;，,]{0,5}$"
)
_AMONG = late(
    r"\s?(?:选项|项)?(?:以外|之外|除外)|\s?번?\s?(?:이외|외에)|\s?(?:번\s?)?(?:중|가운데)|\s?(?:选项|项)?(?:之间|之中|中(?![点线位心]))"
)
_ASKED = late(r"[^。.！!？?\n]{0,6}[？?]|\s*(?:呢|吗)")
_OR_ANOTHER = late(
    r"[\s,，;；(（*]{0,4}(?:(?i:or|alternatively|else|otherwise|possibly|maybe|perhaps)\b|或者?|也可能是?|또는|혹은)[:：]?\s?"
    r"(?:选项|(?i:option)\s)?[(（]?[A-J](?![A-Za-z])"
    r"|\s?(?:[(]for|when|unless|if|only\sif|with\sprobability|in\sthe\s(?:first|second|other|latter|former))\s"
)
"""Another option offered right behind one, or a condition on it."""
_ARTICLE = late(r"\s+(?!(?:and|or|because|since|as|is|for|with|which|due|so|given|from|by)\b)[a-z]{2,}")
_OF_TRUTH = late(r"(?i)正确|错误|成立|说法|叙述|[^应]对$|\b(?:correct|right|true|statement)s?\b|옳|맞")
_COMMITS = late(r"(?i)答案|答[:：]|正确|选(?!项)|\banswer|correct|정답|답")
_REFUSAL_CHARS = 28
_OPTIONS = late(
    r"(?i)[(（]?A[)）.．:：、]\s?(?![A-J](?:[,，、.。\s]|\Z))[^\n]{1,200}?[ ,，;；]"
    r"(?:and\s|(?:option|choice)\s)?[(（]?B[)）.．:：、]\s?\S"
    r"|[(（]?A[)）.．:：、]\s?[^\n]{1,300}\n(?:option\s|choice\s|选项\s?)?[(（]?B[)）.．:：、]\s?[^\n]{1,300}\n(?:option\s|choice\s|选项\s?)?[(（]?C[)）.．:：、]"
)
"""The options listed from here on, each with its text ("A) 3, B) 5"): they are listed, not chosen."""
OPTION_LINE = late(r"\s*[(（]?([A-J])(?:[)）]\s|[)）]?\s*(?:[.．:：]|、(?!\s*[A-J])))\s*\S[^\n]*(?:\n|$)")
_MAX_OPTIONS = 11
_NOT_THOUGHT = late(
    r"(?i)(?:(?:\bnot|n['’]t)\s(?:really\s)?(?:think|believe|say|agree)|\bdoubt\b|\bno\sway\b|不(?:认为|觉得|相信|同意))[^.,，。；;\n]{0,20}\Z"
)
_JUDGED_CHARS = 4_000
_TEN = frozenset("ABCDEFGHIJ")
_CIRCLED_OPTION = late(r"[①-⑩]\s*[^\s①-⑩][^①-⑩]{0,200}")
_QUOTED_LABEL = late(r"\s*[(（]?[A-J1-9①-⑩](?:\s?번)?[)）]?")
_NUMBERED_OPTION = late(r"([1-9])(?:\s?번\s?(?:[.．:：,，)）]|[-–—])|[.．)）])\s?\S[^\n]*")


def cleaned_text(text: str, several: bool) -> str:
    """The end of the text without mark-up, boxes and answer tags marked."""
    tags = answer_tags(text)
    outside = outside_of(tags, boxes(text))
    listed = _listed(text, outside) if several else []
    run = listed or final_run(text, outside)
    if len(run) > 1 and all(read_labels(box.content) for box in run):
        together = "".join((", " if listed else text[a.end : b.start]) + b.content for a, b in pairwise(run))
        outside[-len(run) :] = [TextRegion(run[0].start, run[-1].end, run[0].content + " " + together)]
    pieces: list[str] = []
    tagged = {tag.start for tag in tags}
    position = 0
    for region in sorted([*tags, *outside], key=lambda region: region.start):
        inner = boxes(region.content)
        content = (inner[-1].content if inner else region.content)[:_BOX_CHARS].replace("\n", " ")
        pieces += [text[position : region.start], f"〖{content}〗" if region.start in tagged else f"〘{content}〙"]
        position = max(position, region.end)
    pieces.append(text[position:])
    joined = "".join(pieces)[-_TAIL_CHARS:]
    if "_" in joined:
        joined = _JOINED.sub(lambda match: f"{match[1]} {match[2]}", joined)
    plain = _BULLET.sub("\n", without_markup(without_stars(joined)).translate(_NARROW))
    return _squeezed(tail(_QUOTED_OPTION.sub(lambda match: match[1], plain)))


def without_markup(text: str) -> str:
    """Removes font and space commands, braces, dollars, stars, quotes."""
    return _MARKUP.sub("", text)


def _squeezed(text: str) -> str:
    """Single spaces and no empty lines (wide gaps are slow to match)."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if not line.isspace() and line)


def _listed(text: str, regions: Sequence[TextRegion]) -> list[TextRegion]:
    run = list(regions[-1:])
    for after, before in pairwise(reversed(regions)):
        if not _LIST_GAP.fullmatch(text[before.end : after.start]):
            break
        run.insert(0, before)
    labels = [read_labels(box.content) for box in run]
    singles = [next(iter(label)) for label in labels if label is not None and len(label) == 1]
    return run if len(run) > 1 and len(set(singles)) == len(run) else []


@dataclass(frozen=True)
class LabelVerdict:
    """A judgement of options: right or wrong; `as_answer`: not only as a statement."""

    start: int
    end: int
    labels: Labels
    right: bool
    as_answer: bool


def label_verdicts(text: str, start: int = 0) -> list[LabelVerdict]:
    """Judgements of options from `start`, in order."""
    verdicts = []
    for pattern in (_VERDICTS, _EXCLUDED):
        for match in pattern.finditer(text, start):
            labels, kind = read_labels(match["run"]), match.lastgroup or ""
            if labels:
                right, as_answer = kind.startswith("right"), "option" in kind
                verdicts.append(LabelVerdict(match.start(), match.end(), labels, right, as_answer))
    return sorted(verdicts, key=lambda verdict: verdict.start)


@dataclass(frozen=True)
class Asked:
    """The options of a question.

    Attributes:
        known: valid labels; empty for all (Korean options in the question's text).
        several: several labels are allowed.
        wrong: the wrong option is asked for; None if unclear.
        texts: option texts by label, without mark-up.
    """

    known: Labels
    several: bool
    wrong: bool | None
    texts: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    @per_question
    def of(question: Question) -> Asked:
        """Reads a question, not its key."""
        offered = frozenset(label for option in question.options for label in read_labels(option.label) or ())
        offered = offered or (frozenset() if question.language == "ko" else frozenset("ABCDEFGHIJ"))
        texts = {option.label: " ".join(without_markup(option.text).split()) for option in question.options}
        return Asked(offered, type_of(question.question_type).several, _asks_for_wrong(question.question), texts)

    @property
    def digits(self) -> bool:
        """Checks for numeric labels."""
        return not self.known or any(label.isdigit() for label in self.known)

    def printed_until(self, cleaned: str, claim: Claim) -> int:
        """The end of a claim and its option's text."""
        text = self.texts.get(next(iter(claim.labels)), "") if len(claim.labels) == 1 else ""
        begin = _BEFORE_TEXT.match(cleaned, claim.end)
        return begin.end() + len(text) if text and begin and cleaned.startswith(text, begin.end()) else claim.end


@dataclass(frozen=True)
class Claim:
    """A commitment to labels, its strength and words; no labels for no option."""

    start: int
    end: int
    strength: int
    said: str
    method: str
    labels: Labels


def _asks_for_wrong(question: str) -> bool | None:
    if _ASKS_WRONG.search(question):
        return True
    return None if not question.strip() or _MAY_ASK_WRONG.search(question) else False


def marked_claims(cleaned: str, offer: Asked) -> list[Claim]:
    """Claims in words, boxes and tags."""
    small = cleaned.lower()
    words = frozenset(word for word in choice_forms.WORDS if word in small)
    forms = (*choice_forms.FORMS, *(choice_forms.DIGIT_FORMS if offer.digits else ()))
    candidates = (
        _claim(cleaned, match, form.strength, offer) for form in forms for match in form.matches(cleaned, words)
    )
    return [claim for claim in candidates if claim is not None and (not offer.known or claim.labels <= offer.known)]


def _claim(cleaned: str, match: re.Match[str], strength: int, offer: Asked) -> Claim | None:
    if "content" in match.groupdict():
        return _region(cleaned, match, strength)
    wording = choice_forms.written_plainly(match["run"]) + (match["or"] or "")
    labels = _labels_in_prose(cleaned, match, offer)
    if labels is None:
        return None
    if labels and offer.several:
        wording = _with_following_lines(cleaned, match.start("run"), wording)
    elif (len(labels) > 1 and not wording[1::2].strip(" ")) or (labels and _begins_options(cleaned, match, wording)):
        labels = NO_LABELS
    if not labels:
        wording = quoted(cleaned[match.start() : match.end() + QUOTED_BEHIND])
    return Claim(match.start(), match.end(), strength, wording.strip(), "phrase", labels)


def _region(cleaned: str, match: re.Match[str], strength: int) -> Claim | None:
    """A box or tag, alone or behind its label ("选项 D. 〘-7/2〙")."""
    wording, method = choice_forms.as_list(match["content"]), "answer_tag" if match["open"] == "〖" else "boxed"
    labels = NO_LABELS if _offers_several(wording) else read_labels(wording)
    if labels is None and (before := _LABEL_BEFORE.search(cleaned[max(0, match.start() - 20) : match.start()])):
        labels, wording = frozenset(before[1]), f"{before[1]}. {wording}"
    if labels is None or remarks.supposed(cleaned, match.start(), match.end()):
        return None
    return Claim(match.start(), match.end(), strength, wording.strip(), method, labels)


def _labels_in_prose(cleaned: str, match: re.Match[str], offer: Asked) -> Labels | None:
    start = match.start("run")
    before = cleaned[max(0, start - _REFUSAL_CHARS) : start]
    filled = match.re.pattern in [form.pattern for form in choice_forms.FILLED]
    wrong_one = not filled and _WRONG_ONE.search(before) is not None
    if wrong_one and not offer.wrong:
        return None
    if match["run"].strip() == "A" and _ARTICLE.match(cleaned, start + len(match["run"].rstrip())):
        return None
    if _AMONG.match(cleaned, match.end()) or _ASKED.match(cleaned, match.end()):
        return None
    supposition = remarks.supposed(cleaned, start, match.end()) or remarks.supposed(cleaned, match.start(), match.end())
    if not wrong_one and (supposition or remarks.refused(cleaned, start)):
        return None
    if not wrong_one and (remarks.called_wrong(cleaned, match.end()) or remarks.false_lead(cleaned, start)):
        return NO_LABELS
    if _OR_ANOTHER.match(cleaned, match.end()) or remarks.counterfactual(cleaned, match.start()):
        return NO_LABELS
    labels = read_labels(choice_forms.written_plainly(match["run"]))
    if len(labels or ()) < 2 and _OPTIONS.match(cleaned, start):
        return NO_LABELS if _COMMITS.search(cleaned[match.start() : start]) else None
    if offer.wrong and not wrong_one and _of_truth(cleaned, match):
        return NO_LABELS
    if match["or"] or (not filled and choice_forms.goes_on(cleaned, start, match.end("run"))):
        return NO_LABELS
    return labels


def _of_truth(cleaned: str, match: re.Match[str]) -> bool:
    words = cleaned[match.start() : match.start("run")] + " " + cleaned[match.end("run") : match.end()]
    return _OF_TRUTH.search(words) is not None


def _offers_several(wording: str) -> bool:
    pieces = re.split(r"或者?|\bor\b|또는", wording)
    return len(pieces) > 1 and all(read_labels(piece) for piece in pieces)


def _with_following_lines(cleaned: str, position: int, wording: str) -> str:
    labels = [line[1] for line in _option_lines(cleaned, position)]
    return ", ".join(labels) if len(labels) > 1 and len(set(labels)) == len(labels) else wording


def _option_lines(cleaned: str, position: int) -> Iterator[re.Match[str]]:
    for _ in range(_MAX_OPTIONS):
        line = OPTION_LINE.match(cleaned, position)
        if line is None:
            break
        yield line
        position = line.end()


def _begins_options(cleaned: str, match: re.Match[str], wording: str) -> bool:
    start = match.start("run")
    if len(wording.strip()) > 1 or cleaned[max(0, start - 3) : start].rstrip(" ")[-1:] not in tuple(":：\n"):
        return False
    letters = [line[1] for line in _option_lines(cleaned, start)]
    return len(letters) > 1 and letters == sorted(set(letters))


def plain_claims(cleaned: str, offer: Asked) -> list[Claim]:
    """Claims of conclusions, judgements and label lines."""
    lines = [line.strip() for line in cleaned.splitlines() if line.strip()]
    return [*_concluded(cleaned, lines, offer), *_judged(cleaned, offer), *_alone(cleaned, lines, offer)]


def _concluded(cleaned: str, lines: list[str], offer: Asked) -> list[Claim]:
    for text in dict.fromkeys("\n".join(ending) for ending in (lines[-1:], lines[-2:], lines[:1])):
        at = max(0, cleaned.find(text))
        candidates = [
            _conclusion(text, match, at, offer) for pattern in choice_forms.WEAK for match in pattern.finditer(text)
        ]
        fitting = [
            claim for claim in candidates if claim is not None and (not offer.known or claim.labels <= offer.known)
        ]
        if fitting:
            return fitting
    return []


def _conclusion(text: str, match: re.Match[str], at: int, offer: Asked) -> Claim | None:
    may_be_wrong = offer.wrong is not False and not offer.several
    plain = may_be_wrong and not match["or"] and not (offer.wrong and _of_truth(text, match))
    labels = read_labels(choice_forms.written_plainly(match["run"])) if plain else _labels_in_prose(text, match, offer)
    if labels is None or _NOT_THOUGHT.search(text[: match.start("run")]):
        return None
    wording = (
        choice_forms.written_plainly(match["run"]).strip()
        if labels
        else quoted(text[match.start() : match.end() + QUOTED_BEHIND])
    )
    return Claim(at + match.start(), at + match.end(), choice_forms.CONCLUDED, wording, "conclusion", labels)


def _judged(cleaned: str, offer: Asked) -> list[Claim]:
    verdicts = label_verdicts(cleaned[-_JUDGED_CHARS:])
    judged: dict[str, set[bool]] = {}
    for verdict in verdicts:
        for label in verdict.labels:
            judged.setdefault(label, set()).add(verdict.right)
    if set(judged) != (offer.known if offer.known and offer.known < _TEN else set("ABCD")):
        return []
    if any(len(values) > 1 for values in judged.values()):
        return []
    chosen = _odd_ones(judged, offer)
    text = "；".join(cleaned[-_JUDGED_CHARS:][verdict.start : verdict.end] for verdict in verdicts)
    strength, wording = (
        (choice_forms.JUDGED, ", ".join(sorted(chosen))) if chosen else (choice_forms.UNSURE, quoted(text))
    )
    end = max(0, len(cleaned) - _JUDGED_CHARS) + verdicts[-1].end
    return [Claim(0, end, strength, wording, "conclusion", chosen)]


def _odd_ones(judged: dict[str, set[bool]], offer: Asked) -> Labels:
    right = frozenset(label for label, values in judged.items() if values == {True})
    wrong = frozenset(judged) - right
    if offer.several:
        return wrong if offer.wrong else right
    if offer.wrong is None and len(judged) > 2:
        return right if len(right) == 1 else wrong if len(wrong) == 1 else NO_LABELS
    chosen = wrong if offer.wrong else right
    return chosen if len(chosen) == 1 else NO_LABELS


def _is_label(line: str, offer: Asked) -> bool:
    """Checks for a line of labels (numbers only without option letters)."""
    labels = read_labels(line)
    return labels is not None and (offer.digits or not any(label.isdigit() for label in labels))


def _alone(cleaned: str, lines: list[str], offer: Asked) -> list[Claim]:
    method = "whole" if len(lines) == 1 else "line"

    def claim(wording: str, labels: Labels, line: str = "") -> list[Claim]:
        start = max(0, cleaned.find(line or wording))
        quoted_to = _QUOTED_LABEL.match(cleaned, start)
        end = quoted_to.end() if quoted_to and len(labels) == 1 else start + len(wording)
        return [Claim(start, end, choice_forms.ONLY_LABELS, wording, method, labels)]

    alone: dict[Labels, str] = {}
    for line in lines:
        labels = read_labels(choice_forms.as_list(line))
        if labels and (not offer.known or labels <= offer.known):
            alone.setdefault(labels, line)
    if len(alone) == 1:
        labels, line = next(iter(alone.items()))
        return claim(choice_forms.as_list(line), labels, line)
    if alone:
        return []
    if len(lines) == 1 and (_is_label(lines[0], offer) or (_CIRCLED_OPTION.fullmatch(lines[0]) and offer.digits)):
        return claim(lines[0], NO_LABELS)
    form = OPTION_LINE if offer.known else _NUMBERED_OPTION
    quoted = {option[1]: line for line in lines if (option := form.fullmatch(line)) and not lists_options(line)}
    if offer.several and 1 < len(quoted) == len(lines) < len(offer.known) and offer.known >= set(quoted):
        return claim(", ".join(quoted), frozenset(quoted))
    if len(quoted) == 1 and (not offer.known or offer.known >= set(quoted)):
        label, line = quoted.popitem()
        return claim(line if len(lines) == 1 and label.isalpha() else label, frozenset(label), line)
    return []
