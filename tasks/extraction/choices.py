"""Option labels that a response commits to.

All commitments of a text are found on one cleaned copy of it, in which an answer tag is 〖…〗 and a box 〘…〙, so that
the last one can win whatever its form. Strong ones say that they are the answer; weak ones (a concluding sentence, a
line that is only labels) count when there is no strong one and they agree. A bare letter in prose is nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from livek12.core.records import Question
from livek12.judges.labels import read_labels
from livek12.judges.text import normal_form
from livek12.tasks.extraction.regions import Region, answer_tags, boxes, outside_of, tail
from livek12.tasks.extraction.remarks import (
    RETRACTION,
    denied,
    doubted,
    is_correction,
    is_remark,
    retraction,
    settled,
)
from livek12.tasks.extraction.values import NOTHING, final_run, find_values

Found = tuple[list[str], str]
Labels = frozenset[str]
_TAIL_CHARS = 30_000

# Joints between labels are atomic groups: with one way to read each, a text of many labels stays cheap.
# A run of labels in running text: "A", "(C)", "A、C 和 D", "①③", "1번, 4번", "ㄱ, ㄴ"; behind it perhaps "or B".
# A letter behind a weak joint (a comma, a space) that begins an option of its own ("A, B. 12 cm") is not of the run.
_NOUN_ZH = "点球车物地处组班国市图表线角楼厂校队段端极板管瓶杯盒箱区层轨级同"
_LATIN = (
    r"[A-J](?:(?:\s?(?:[、&+和与及]|以及)\s?(?:选项\s?)?)?[A-J](?![a-z])"
    r"|(?>\s?[,，;；/]\s?(?:and\s)?(?:选项\s?)?|\s(?:and\s)?(?:选项\s?)?|\.)[A-J](?![a-z])(?![.．]\s*[^\s.。])){0,9}"
    rf"(?![A-Za-z0-9'′])(?!\s?[=＝∥⊥<>^_])(?!\s?[{_NOUN_ZH}])"
)
_AND = r"(?>\s*(?:[,，、;；/·ㆍ・&+]|以及|그리고|[和与及과와및])?\s*)"
_CIRCLED = rf"[①-⑩](?:\s?번)?(?:[)）]?{_AND}[(（]?[①-⑩](?:\s?번)?){{0,9}}"
_JAMO = r"[ㄱ-ㅎ](?:(?>\s?[,，、·]?\s?(?:와|과)?\s?)[ㄱ-ㅎ]){0,9}(?![ㄱ-ㅎ가-힣])"
_RUN = (
    rf"(?P<run>[(（【\[]?\s*(?:{_LATIN}|{_CIRCLED}|{_JAMO}|(?<=[(（])[a-j](?=[)）]))\s*[)）】\]]?)"
    r"(?P<or>[,，]?\s*(?:或者?|还是|or\b|또는|혹은|아니면|이나(?=\s*[①-⑩]))\s*(?:选项|option\s*)?\s*[(（]?\s*[A-J①-⑩])?"
)
_ONE_DIGIT = r"(?:[(（]\s*[1-9]\s*[)）]|[1-9]\s*번|[1-9](?!\d|[./^:]\d|,\d{2}|\s*[-+*=^_/\\a-zA-Z%°]))"
_DIGIT = (
    rf"(?P<run>{_ONE_DIGIT}(?:\s*(?:[,，、;；·ㆍ・]|[과와및])\s*{_ONE_DIGIT}){{0,9}})"
    r"(?P<or>\s*(?:或者?|还是|or\b|또는)\s*[1-9①-⑩])?"
)

_SELECT_ZH = (
    r"(?<![不别勿误未错若单多排])(?<!不能)(?<!不可)(?<!不应)(?<!如果)(?<!假如)(?<!假设)(?<!要是)[选選]"
    r"(?:择|擇|出|取)?\s*(?:的是|项为|项是|项应为)?"
)
_ANSWER_ZH = r"(?:答案|答)\s*[】\]]?\s*(?:应该|应当|应|只能|显然|就|即)*\s*(?:是|为|选)?"
_IS_ZH = (
    r"(?:选项|结论|说法|判断|叙述|正确的|符合题意的|合适的|恰当的|成立的)\s*"
    r"(?:应该|应当|应|只能|只有|分别|就|即)*\s*(?:是|为|有)"
)
_RIGHT_ZH = r"(?:正确|最终|最佳|合适|恰当|符合题意|所选)的?(?:选项|项|说法|结论|判断|叙述|选择)\s*(?=[:：])"
_OPTION_ZH = r"\s*[:：]?\s*(?:选项|第)?\s*"
_EN = (
    r"\b{}\s*(?:is|are|(?:would|should|must|will|might|may|could) be|:|：|=)+\s*"
    r"(?:therefore|thus|clearly|simply|indeed)?\s*[:：]?\s*(?:(?:the\s+)?(?:options?|choices?|letters?))?\s*[:：]?\s*"
)
_ANSWER_EN = _EN.format("answers?")
_CHOICE_EN = _EN.format("(?:choices?|options?|statements?|ones?)")
_PICK_EN = r"\b(?:choose|pick|select|answer)\s+(?:(?:the\s+)?(?:option|choice|answer)\s+)?"
_KO = r"(?<!오)(?:정답|최종\s*답|답안|답)\s*(?:은|는|이|:|：|=)*\s*(?:선택지|보기)?\s*"
_RIGHT_KO = r"\s*(?:번)?\s*(?:이|가)\s*(?:정답|답|옳|맞|적절)"
_RIGHT_EN = r"\s+(?:is|are)\s+(?:the\s+)?(?:correct|right|best)\s+(?:answer|choice|option)s?"
_NOW = (
    r"[,，.:：\s]*(?:应该?)?(?:是|选|为)?\s*(?i:(?:the\s+answer|it|that)?(?:\s*is|'s|\s+should\s+be|\s+must\s+be)?)\s*"
)
_REASON = r"\s*(?:[。.．,，:：]\s*|\s)(?i:因为|由于|理由|原因|because|since|왜냐)"

# How strongly a form commits: a weaker one does not replace a stronger one, unless as a correction.
_MARKED, _FINAL, _EXPLICIT, _LOOSE = 4, 4, 3, 2
_CORRECTED = 5
_REGION = re.compile(r"(?P<open>[〖〘])(?P<content>[^〖〗〘〙]*)[〗〙]")
_FINALLY = re.compile(r"final\s*$|最终(?:的)?(?:正确)?\s*$|최종\s*$", re.IGNORECASE)
_CONCLUDING = r"(?:故|所以|因此|应|应该|本题|综上|因而|于是|从而|则)[,，]?\s*(?:本题)?\s*(?:应该?)?\s*"
_OPENING = r"\A(?=[^\n]{0,300}[a-z\u4e00-\u9fff\uac00-\ud7a3]{3})[^\n]{4,600}[(（]\s?"
_FILLED = (
    re.compile(_OPENING + r"(?P<run>[A-J]{1,8}|[①-⑤])(?P<or>(?!))?\s?[)）][。.．]?(?=\n|\Z)"),
    re.compile(
        rf"(?:\A|{_OPENING}[)）][。.．]?\n)[(（]?(?P<run>[A-J])(?P<or>(?!))?[)）]?\s?[.．、:：]\s?[^\n]{{1,300}}\n"
        r"[【\[#\s]*(?i:解析|解释|分析|理由|说明|详解|解答|explanation|reason|해설|풀이|설명)"
    ),
)
"""A stem repeated with its bracket filled in ("错误的是（ D ）"), and one option alone before its explanation."""
_FORMS = [
    (_MARKED, _REGION),
    (_EXPLICIT, re.compile(_CONCLUDING + _SELECT_ZH + _OPTION_ZH + _RUN)),
    (_EXPLICIT, re.compile(_ANSWER_ZH + _OPTION_ZH + _RUN)),
    (_EXPLICIT, re.compile(f"(?i:{_ANSWER_EN})" + _RUN)),
    (_EXPLICIT, re.compile(_KO + _RUN)),
    (_LOOSE, re.compile(rf"(?:{_SELECT_ZH}|{_IS_ZH}|{_RIGHT_ZH})" + _OPTION_ZH + _RUN)),
    (_LOOSE, re.compile(f"(?i:{_CHOICE_EN})" + _RUN)),
    (_LOOSE, re.compile(_PICK_EN + _RUN)),
    (_LOOSE, re.compile(_RUN + _RIGHT_KO)),
    (_LOOSE, re.compile(_RUN + _RIGHT_EN)),
    (_LOOSE, re.compile(r"\A\s*" + _RUN + _REASON)),
    *((_LOOSE, pattern) for pattern in _FILLED),
    (_CORRECTED, re.compile(f"(?i:{RETRACTION})" + _NOW + _RUN)),
]
_DIGIT_FORMS = [
    (_EXPLICIT, re.compile(_ANSWER_ZH + _OPTION_ZH + _DIGIT)),
    (_EXPLICIT, re.compile(_ANSWER_EN + _DIGIT, re.IGNORECASE)),
    (_EXPLICIT, re.compile(_KO + _DIGIT)),
    (_LOOSE, re.compile(_DIGIT + _RIGHT_KO)),
    (_LOOSE, re.compile(rf"(?:{_SELECT_ZH}|{_IS_ZH}|{_RIGHT_ZH})" + _OPTION_ZH + _DIGIT)),
    (_LOOSE, re.compile(_CHOICE_EN + _DIGIT, re.IGNORECASE)),
]
_RIGHT_ONES_KO = re.compile(r"(?<!않은 )(?:옳은|맞는|알맞은|적절한|바른)\s*것(?:은|만을?)\s*" + _RUN)

_SO_ZH = r"(?:综上|因此|所以|故|总之|可知|可见)[^。；;\n]{0,40}?"
_SUM_UP_ZH = r"(?:综上|因此|所以|总之|可知|可见)[^。；;\n故]{0,40}?"
_REMARK = r"(?:[(（][^()（）\n]{0,20}[)）])?"
_WEAK = [
    re.compile(pattern)
    for pattern in (
        rf"{_SUM_UP_ZH}(?:选项)?\s*{_RUN}\s*(?:选项|项)?\s*{_REMARK}\s*(?:都|均|才|是|为)*\s*最?"
        r"(?:正确|符合|合适|恰当|成立|满足|对)",
        rf"故\s*(?:选项)?\s*{_RUN}\s*(?:选项|项)?\s*最?符合题意",
        rf"{_SO_ZH}[是为]\s*(?:选项)?\s*[:：]?\s*{_RUN}\s*(?:选项|项)?\s*(?:$|[。.．:：,，(（])",
        rf"对应(?:的)?(?:是|着|于)?\s*(?:选项|答案)\s*{_RUN}",
        rf"(?:与|和)\s*(?:选项)?\s*{_RUN}\s*(?:选项|项)?\s*(?:完全)?(?:一致|相符|相同|吻合|匹配|符合)",
        rf"选项\s*{_RUN}\s*(?:选项|项)?\s*{_REMARK}\s*(?:是|为|都|均)*\s*(?:正确|符合题意|符合条件)",
        rf"选项\s*{_RUN}[^。；;\n]{{0,60}}?(?:是|为)最(?:有可能|可能|合理|合适|接近|恰当|符合)",
        rf"(?:更?倾向于|倾向)(?:选择?)?\s*(?:选项)?\s*{_RUN}",
        rf"\b(?i:options?|choices?|statements?)\s+{_RUN}\s+(?:is|are)\s+(?:the\s+)?(?:correct|right|true)",
        rf"\b(?:match(?:es)?|corresponds? to)\s+(?:the\s+)?(?i:option|choice)\s+{_RUN}",
        rf"(?:^|[.!?\n]\s?|\b(?i:so|thus|hence|therefore|option),?\s+){_RUN}\s+(?:is|are)\s+(?:correct|right)"
        r"\s*(?:[.!,]|$|because|since)",
        r"\b(?i:so|thus|hence|therefore|it'?s|it\s+is|it\s+must\s+be|go(?:ing)?\s+with)[,:]?\s+(?i:option|choice)?\s*"
        rf"{_RUN}\s*(?:[.!]\s|[.!]?$)",
        rf"따라서[^.\n]{{0,20}}?{_RUN}\s*(?:번)?\s*(?:이다|입니다|이므로)?\s*\.?\s*$",
    )
]
_REFUSAL = re.compile(
    r"(?:错误|不正确|不符|不成立|排除|不是|不对|不可能|不一定|不能|并非|incorrect|wrong|not|false|틀린|오답|않은)"
    r"[^。.．\n；;，,]{0,5}$",
    re.IGNORECASE,
)
_ASKS_WRONG = re.compile(
    r"错误|不正确|不符|不属于|不可能|不能|不合理|不是|不包括|不认同|为假|不宜|incorrect|not\b|false|except|wrong"
    r"|않|틀린|없는",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[^。.！!？?\n]{0,6}[？?]|\s*(?:呢|吗)")
_LIST_SIGN = re.compile(r"(?<=[A-J])\.(?=[A-J])|\s*[ㆍ・]\s*")
_LIST_GAP = re.compile(r"[$\s*.。,，、;；]*(?:[-•]|[(（]?\d{1,2}[.．、)）])?[$\s*]*")
_ABOUT_SOMETHING = re.compile(rf"\s*[A-J](?:\s+[a-z]{{2,}}|\s?[{_NOUN_ZH}])")
_JUDGED = re.compile(
    r"(?<![A-Za-z])(?P<label>[A-J](?:(?>\s?[,，、和与及]?\s?)[A-J]){0,9})\s?(?:选项|项)?\s?(?:的?说法|叙述)?\s?(?:是|为|均|都)?\s?"
    r"(?P<word>不正确|不符合题意|不对|错误|正确|符合题意|错|对)(?![应称])"
)
_WRONG_WORDS = frozenset(["不正确", "不符合题意", "不对", "错误", "错"])
_JUDGED_CHARS = 4_000
_ARTICLE = re.compile(r"\s+(?!(?:and|or|because|since|as|is|for|with|which|due|so|given|from|by)\b)[a-z]{2,}")
_MARKUP = re.compile(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|boldsymbol|bm|rm|bf|displaystyle|quad|qquad|left|right)(?![a-zA-Z])"
    r"|\\[,;:! ()\[\]]|[{}$*`~\"“”「」]"
)
_NARROW = str.maketrans({chr(ord("Ａ") + index): chr(ord("A") + index) for index in range(26)})
_CIRCLED_OPTION = re.compile(r"[①-⑩]\s*[^\s①-⑩][^①-⑩]{0,200}")
_OPTION_LINE = re.compile(r"\s*[(（]?([A-J])[)）]?\s*(?:[.．:：]|、(?!\s*[A-J]))\s*\S[^\n]*(?:\n|$)")


def find_choice(text: str, question: Question, truncated: bool) -> Found:
    """The labels of the last commitment; else a value that it states, which the judges may match to an option."""
    known = known_labels(question)
    several = question.question_type == "multiple_choice"
    cleaned = settled(cleaned_text(text, several))
    found = _strong(cleaned, known, several, _asks_for_wrong(question))
    if found is not None and (quoted := _with_other_text(text, found[0], question)):
        return [quoted], found[1]
    if found is None and not truncated:
        asked_for_wrong = not several and (not question.question or _asks_for_wrong(question))
        found = (_judged(cleaned, question) if several else None) or _weak(cleaned, known, asked_for_wrong, several)
        found = found or _judged(cleaned, question)
    if found is not None:
        return [found[0]], found[1]
    values, method = find_values(text, question, truncated, committed_only=not any(o.text for o in question.options))
    if values and _ABOUT_SOMETHING.match(values[0]) and values[0].strip() not in {o.text for o in question.options}:
        return NOTHING
    return values, method


def _with_other_text(text: str, label: str, question: Question) -> str | None:
    """Label and text where one of the last lines writes another option's text behind the label; else None."""
    texts = {normal_form(option.text): option.label for option in question.options if option.text.strip()}
    if len(texts) < 2 or len(label) != 1:
        return None
    for line in [line for line in tail(text).splitlines() if line.strip()][-_LAST_LINES:]:
        quoted = list(re.finditer(rf"(?<![A-Za-z]){re.escape(label)}\s*[.．、:：)）]\s*(?=\S)", line))
        behind = line[quoted[-1].end() :][:400] if quoted else ""
        if texts.get(normal_form(behind), label) != label:
            return f"{label}. {behind.strip()}"
    return None


_LAST_LINES = 3


def known_labels(question: Question) -> Labels:
    """The labels that count; empty where all do (a Korean question whose options stand in its text)."""
    known = frozenset(label for option in question.options for label in read_labels(option.label) or ())
    return known or (frozenset() if question.language == "ko" else frozenset("ABCDEFGHIJ"))


def _asks_for_wrong(question: Question) -> bool:
    return bool(_ASKS_WRONG.search(question.question))


def cleaned_text(text: str, several: bool) -> str:
    """The end of the text without mark-up, with its boxes and answer tags marked."""
    tags = answer_tags(text)
    outside = outside_of(tags, boxes(text))
    listed = _listed(text, outside) if several else []
    run = listed or final_run(text, outside)
    if len(run) > 1 and all(read_labels(box.content) for box in run):
        together = "".join((", " if listed else text[a.end : b.start]) + b.content for a, b in pairwise(run))
        outside[-len(run) :] = [Region(run[0].start, run[-1].end, run[0].content + " " + together)]
    pieces: list[str] = []
    tagged = {tag.start for tag in tags}
    position = 0
    for region in sorted([*tags, *outside], key=lambda region: region.start):
        inner = boxes(region.content)
        content = (inner[-1].content if inner else region.content)[:400].replace("\n", " ")
        pieces += [text[position : region.start], f"〖{content}〗" if region.start in tagged else f"〘{content}〙"]
        position = max(position, region.end)
    pieces.append(text[position:])
    return _squeezed(tail(_MARKUP.sub("", "".join(pieces)[-_TAIL_CHARS:]).translate(_NARROW)))


def _squeezed(text: str) -> str:
    """The text with single spaces and without empty lines: no pattern has to try the ways to split a wide gap."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if not line.isspace() and line)


def _listed(text: str, found: Sequence[Region]) -> list[Region]:
    """The last boxes where each holds one other letter and only numbers of a list stand between them."""
    run = list(found[-1:])
    for after, before in pairwise(reversed(found)):
        if not _LIST_GAP.fullmatch(text[before.end : after.start]):
            break
        run.insert(0, before)
    labels = [read_labels(box.content) for box in run]
    singles = [next(iter(label)) for label in labels if label is not None and len(label) == 1]
    return run if len(run) > 1 and len(set(singles)) == len(run) else []


@dataclass(frozen=True)
class Commitment:
    """Where a text commits to labels, how strongly, in which words; no labels where it offers several."""

    start: int
    end: int
    rank: int
    said: str
    method: str
    labels: Labels


def _strong(cleaned: str, known: Labels, several: bool, asked_for_wrong: bool) -> tuple[str, str] | None:
    """Text and method of the explicit commitment that holds: the last one that is no weaker and no remark."""
    digits = not known or any(label.isdigit() for label in known)
    best: Commitment | None = None
    for new in sorted(commitments(cleaned, known, several, digits, asked_for_wrong), key=lambda found: found.end):
        if best is None or (new.labels == best.labels and new.rank > best.rank):
            best = new
        elif new.rank < _MARKED and is_remark(cleaned, new.start, new.end):
            continue
        elif new.rank >= best.rank or is_correction(cleaned[best.end : new.start]):
            best = new
    if best is None:
        return None
    if best.rank < _CORRECTED and (taken_back := retraction(cleaned, best.end)) is not None:
        return cleaned[best.start : taken_back + 100].strip(), best.method
    if doubted(cleaned, best.end):
        return cleaned[best.start : best.end + 100].strip(), best.method
    return best.said, best.method


def commitments(
    cleaned: str, known: Labels, several: bool, digits: bool, asked_for_wrong: bool
) -> Iterator[Commitment]:
    """All explicit commitments to known labels, or to none of those offered ("A or B")."""
    right_ones = [(_LOOSE, _RIGHT_ONES_KO)] if digits and not asked_for_wrong else []
    for rank, pattern in [*_FORMS, *(_DIGIT_FORMS if digits else []), *right_ones]:
        for match in pattern.finditer(cleaned):
            groups = match.groupdict()
            if "content" in groups:
                said, method = match["content"], "answer_tag" if match["open"] == "〖" else "boxed"
                labels = frozenset() if _offers_several(said) else read_labels(said)
            else:
                said, method = _LIST_SIGN.sub(", ", match["run"]) + (match["or"] or ""), "phrase"
                labels = _labels_in_prose(cleaned, match)
                said = _with_following_lines(cleaned, match.start("run"), said) if several and labels else said
            if labels is None or (known and not labels <= known):
                continue
            final = rank == _EXPLICIT and _FINALLY.search(cleaned[max(0, match.start() - 10) : match.start("run")][:10])
            strength = _FINAL if final else rank
            yield Commitment(match.start(), match.end(), strength, said.strip(), method, labels)


def _labels_in_prose(cleaned: str, match: re.Match[str]) -> Labels | None:
    """The labels of a match in running text; None when refused, asked or an article, none after "or"."""
    if match.re not in _FILLED and _REFUSAL.search(cleaned[max(0, match.start() - 12) : match.start("run")]):
        return None
    if match["run"].strip() == "A" and _ARTICLE.match(cleaned, match.start("run") + len(match["run"].rstrip())):
        return None
    if _ASKED.match(cleaned, match.end()) or denied(cleaned, match.start("run"), match.end()):
        return None
    return frozenset() if match["or"] else read_labels(_LIST_SIGN.sub(", ", match["run"]))


def _offers_several(said: str) -> bool:
    """Whether a committed text offers labels to choose from ("A or B")."""
    pieces = re.split(r"或者?|\bor\b|또는", said)
    return len(pieces) > 1 and all(read_labels(piece) for piece in pieces)


def _with_following_lines(cleaned: str, position: int, said: str) -> str:
    """With the labels of directly following lines "C. …", "D. …" where the commitment began such a list."""
    labels: list[str] = []
    while line := _OPTION_LINE.match(cleaned, position):
        labels.append(line[1])
        position = line.end()
    return ", ".join(labels) if len(labels) > 1 and len(set(labels)) == len(labels) else said


def _judged(cleaned: str, question: Question) -> tuple[str, str] | None:
    """The right ones where every option is called right or wrong, once; all of it where that is not what is asked."""
    verdicts: dict[str, set[bool]] = {}
    said = list(_JUDGED.finditer(cleaned[-_JUDGED_CHARS:]))
    for match in said:
        for label in read_labels(match["label"]) or ():
            verdicts.setdefault(label, set()).add(match["word"] not in _WRONG_WORDS)
    known = {label for option in question.options for label in read_labels(option.label) or ()}
    if set(verdicts) != (known or set("ABCD")) or any(len(values) > 1 for values in verdicts.values()):
        return None
    right = sorted(label for label, values in verdicts.items() if values == {True})
    several = question.question_type == "multiple_choice"
    if _asks_for_wrong(question) or not right or (len(right) > 1 and not several):
        return "；".join(match[0] for match in said), "conclusion"
    return ", ".join(right), "conclusion"


def _weak(cleaned: str, known: Labels, asked_for_wrong: bool, several: bool) -> tuple[str, str] | None:
    """Labels of a concluding sentence, of label-only lines, or of the one option quoted on a line of its own.

    Only when all of a kind agree. Where the question asks for the wrong option, "the wrong one is C" concludes too.
    """
    lines = [line.strip() for line in cleaned.splitlines() if line.strip()]
    for ending in (lines[-1:], lines[-2:], lines[:1]):
        concluded = _agreed(_concluded("\n".join(ending), asked_for_wrong), known)
        if concluded:
            return (concluded[0][0], "conclusion") if len(concluded) == 1 else None
    method = "whole" if len(lines) == 1 else "line"
    alone = _agreed(((read_labels(line), line) for line in lines), known)
    if len(lines) == 1 and not alone and read_labels(lines[0]):
        return lines[0], method
    if len(lines) == 1 and _CIRCLED_OPTION.fullmatch(lines[0]) and (not known or known & set("12345")):
        return lines[0], method
    quoted = {option[1]: line for line in lines if (option := _OPTION_LINE.fullmatch(line))}
    if several and 1 < len(quoted) == len(lines) < len(known) and known >= set(quoted):
        return ", ".join(quoted), method
    if not alone and len(quoted) == 1 and known >= set(quoted):
        label, line = quoted.popitem()
        return (line if len(lines) == 1 else label), method
    return (alone[0][0], method) if len(alone) == 1 else None


def _concluded(ending: str, asked_for_wrong: bool) -> Iterator[tuple[Labels | None, str]]:
    for match in (match for pattern in _WEAK for match in pattern.finditer(ending)):
        plain = asked_for_wrong and not match["or"]
        yield read_labels(match["run"]) if plain else _labels_in_prose(ending, match), match["run"].strip()


def _agreed(said: Iterable[tuple[Labels | None, str]], known: Labels) -> list[tuple[str, Labels]]:
    """The different sets of known labels among what is said, each with its first text."""
    found: dict[Labels, str] = {}
    for labels, text in said:
        if labels and (not known or labels <= known):
            found.setdefault(labels, text)
    return [(text, labels) for labels, text in found.items()]
