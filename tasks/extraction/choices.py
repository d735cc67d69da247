"""Option labels that a response commits to.

All commitments of a text are found on one cleaned copy of it, in which an answer tag is 〖…〗 and a box 〘…〙, so that
the last one can win whatever its form. Strong ones say that they are the answer; weak ones (a concluding sentence, a
line that is only labels) count when there is no strong one and they agree. A bare letter in prose is nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from livek12.core.records import Question
from livek12.judges.labels import read_labels
from livek12.tasks.extraction.regions import Region, answer_tags, boxes, tail
from livek12.tasks.extraction.values import final_run, find_values

Found = tuple[list[str], str]
Labels = frozenset[str]
_TAIL_CHARS = 30_000

# A run of labels in running text: "A", "(C)", "A、C 和 D", "①③", "ㄱ, ㄴ"; behind it perhaps "or B".
_LATIN = (
    r"[A-J](?:\s?(?:[,，、;；/&+和与及]|以及)?\s?(?:and\s)?(?:选项\s?)?[A-J](?![a-z])){0,9}"
    r"(?![A-Za-z0-9'′])(?!\s?[=＝∥⊥<>^_])"
)
_CIRCLED = r"[①-⑩](?:\s?[,，、;；和与及]?\s?[①-⑩]){0,9}"
_JAMO = r"[ㄱ-ㅎ](?:\s?[,，、·]?\s?(?:와|과)?\s?[ㄱ-ㅎ]){0,9}(?![ㄱ-ㅎ가-힣])"
_RUN = (
    rf"(?P<run>[(（【\[]?\s*(?:{_LATIN}|{_CIRCLED}|{_JAMO}|(?<=[(（])[a-j](?=[)）]))\s*[)）】\]]?)"
    r"(?P<or>\s*(?:或者?|or\b|또는)\s*(?:选项|option\s*)?\s*[(（]?\s*[A-J①-⑩])?"
)
_DIGIT = r"(?P<run>[(（]\s*[1-9]\s*[)）]|[1-9]\s*번|[1-9](?![\d.,/^:]\d|\d|\s*[-+*=^_/\\a-zA-Z%°]))(?P<or>(?!))?"

_SELECT_ZH = (
    r"(?<![不别勿误未错若单多排])(?<!不能)(?<!不可)(?<!不应)(?<!如果)选(?:择|出|取)?\s*(?:的是|项为|项是|项应为)?"
)
_ANSWER_ZH = r"(?:答案|答)\s*(?:应该|应当|应|只能|显然|就|即)*\s*(?:是|为|选)?"
_IS_ZH = (
    r"(?:选项|结论|说法|判断|叙述|正确的|符合题意的|合适的|恰当的|成立的)\s*"
    r"(?:应该|应当|应|只能|只有|分别|就|即)*\s*(?:是|为|有)"
)
_RIGHT_ZH = r"(?:正确|最终|最佳|合适|恰当|符合题意|所选)的?(?:选项|项|说法|结论|判断|叙述|选择)\s*(?=[:：])"
_ZH = rf"(?:{_SELECT_ZH}|{_ANSWER_ZH}|{_IS_ZH}|{_RIGHT_ZH})\s*[:：]?\s*(?:选项|第)?\s*"
_EN = (
    r"\b(?:answers?|choices?|options?|statements?|ones?)\s*(?:is|are|would be|should be|must be|will be|:|：|=)+\s*"
    r"(?:therefore|thus|clearly|simply|indeed)?\s*[:：]?\s*(?:(?:the\s+)?(?:options?|choices?|letters?))?\s*[:：]?\s*"
)
_PICK_EN = r"\b(?:choose|pick|select|answer)\s+(?:(?:the\s+)?(?:option|choice|answer)\s+)?"
_KO = r"(?<!오)(?:정답|최종\s*답|답안|답)\s*(?:은|는|이|:|：|=)*\s*(?:선택지|보기)?\s*"
_RIGHT_KO = r"\s*(?:번)?\s*(?:이|가)\s*(?:정답|답|옳|맞|적절)"
_RIGHT_EN = r"\s+(?:is|are)\s+(?:the\s+)?(?:correct|right|best)\s+(?:answer|choice|option)s?"

_REGION = re.compile(r"(?P<open>[〖〘])(?P<content>[^〖〗〘〙]*)[〗〙]")
_STRONG = [re.compile(before + _RUN) for before in (_ZH, f"(?i:{_EN})", _PICK_EN, _KO)] + [
    re.compile(_RUN + _RIGHT_KO),
    re.compile(_RUN + _RIGHT_EN),
]
_STRONG_DIGITS = [re.compile(before + _DIGIT, re.IGNORECASE) for before in (_ZH, _EN, _KO)] + [
    re.compile(_DIGIT + _RIGHT_KO)
]

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
        rf"\b(?i:options?|choices?|statements?)\s+{_RUN}\s+(?:is|are)\s+(?:the\s+)?(?:correct|right|true)",
        rf"\b(?:match(?:es)?|corresponds? to)\s+(?:the\s+)?(?i:option|choice)\s+{_RUN}",
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
_ARTICLE = re.compile(r"\s+(?!(?:and|or|because|since|as|is|for|with|which|due|so|given|from|by)\b)[a-z]{2,}")
_MARKUP = re.compile(
    r"\\(?:text|textbf|textrm|mathrm|mathbf|mathit|boldsymbol|bm|rm|bf|displaystyle|quad|qquad|left|right)(?![a-zA-Z])"
    r"|\\[,;:! ()\[\]]|[{}$*`~]"
)
_NARROW = str.maketrans({chr(ord("Ａ") + index): chr(ord("A") + index) for index in range(26)})
_OPTION_LINE = re.compile(r"\s*[(（]?([A-J])[)）]?\s*(?:[.．:：]|、(?!\s*[A-J]))\s*\S[^\n]*(?:\n|$)")


def find_choice(text: str, question: Question, truncated: bool) -> Found:
    """The labels of the last commitment; else a committed value, which the judges may match to an option."""
    known = _known(question)
    several = question.question_type == "multiple_choice"
    cleaned = _cleaned(text)
    found = _strong(cleaned, known, several)
    if found is None and not truncated:
        asked_for_wrong = not several and (not question.question or bool(_ASKS_WRONG.search(question.question)))
        found = _weak(cleaned, known, asked_for_wrong)
    if found is not None:
        return [found[0]], found[1]
    return find_values(text, question, truncated, committed_only=True)


def _known(question: Question) -> Labels:
    """The labels that count; empty where all do (a Korean question whose options stand in its text)."""
    known = frozenset(label for option in question.options for label in read_labels(option.label) or ())
    return known or (frozenset() if question.language == "ko" else frozenset("ABCDEFGHIJ"))


def _cleaned(text: str) -> str:
    """The end of the text without mark-up, with its boxes and answer tags marked."""
    tags = answer_tags(text)
    outside = [box for box in boxes(text) if not any(tag.start <= box.start < tag.end for tag in tags)]
    run = final_run(text, outside)
    if len(run) > 1 and all(read_labels(box.content) for box in run):
        together = "".join(text[a.end : b.start] + b.content for a, b in pairwise(run))
        outside[-len(run) :] = [Region(run[0].start, run[-1].end, run[0].content + " " + together)]
    pieces: list[str] = []
    position = 0
    for region in sorted([*tags, *outside], key=lambda region: region.start):
        inner = boxes(region.content)
        content = (inner[-1].content if inner else region.content)[:400].replace("\n", " ")
        pieces += [text[position : region.start], f"〖{content}〗" if region in tags else f"〘{content}〙"]
        position = max(position, region.end)
    pieces.append(text[position:])
    return tail(_MARKUP.sub("", "".join(pieces)[-_TAIL_CHARS:]).translate(_NARROW))


def _strong(cleaned: str, known: Labels, several: bool) -> tuple[str, str] | None:
    """Text and method of the last explicit commitment."""
    digits = not known or any(label.isdigit() for label in known)
    best: tuple[int, str, str] | None = None
    for match in _commitments(cleaned, digits):
        groups = match.groupdict()
        if "content" in groups:
            said, method = match["content"], "answer_tag" if match["open"] == "〖" else "boxed"
            labels = frozenset() if _offers_several(said) else read_labels(said)
        else:
            said, method = match["run"] + (match["or"] or ""), "phrase"
            labels = _labels_in_prose(cleaned, match)
            said = _with_following_lines(cleaned, match.start("run"), said) if several and labels else said
        acceptable = labels is not None and (not known or labels <= known)
        if acceptable and (best is None or match.end() > best[0]):
            best = (match.end(), said.strip(), method)
    return (best[1], best[2]) if best else None


def _commitments(cleaned: str, digits: bool) -> Iterator[re.Match[str]]:
    for pattern in [_REGION, *_STRONG, *(_STRONG_DIGITS if digits else [])]:
        yield from pattern.finditer(cleaned)


def _labels_in_prose(cleaned: str, match: re.Match[str]) -> Labels | None:
    """The labels of a match in running text; None when they are refused there or an article, none after "or"."""
    if _REFUSAL.search(cleaned[max(0, match.start() - 12) : match.start("run")]):
        return None
    if match["run"].strip() == "A" and _ARTICLE.match(cleaned, match.end("run")):
        return None
    return frozenset() if match["or"] else read_labels(match["run"])


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


def _weak(cleaned: str, known: Labels, asked_for_wrong: bool) -> tuple[str, str] | None:
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
    quoted = {option[1]: line for line in lines if (option := _OPTION_LINE.fullmatch(line))}
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
