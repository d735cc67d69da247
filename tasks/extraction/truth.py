"""Truth values that a response commits to."""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.judges.rules.true_false import read_truth
from livek12.tasks.extraction.regions import answer_tags, boxes, tail, without_stars
from livek12.tasks.extraction.remarks import ANSWER_KO, ANSWER_ZH, RETRACTION, Named, quoted, refused, taken_back

Found = tuple[list[str], str]
SENTENCE_CHARS = 100
"""A response of one line that is no longer is an answer, readable or not."""
_WORD = (
    r"(?P<word>不正确|不成立|不对|不是|正确|错误|成立|真|假|对|错|是(?!另|[^\W\d_]{2})|否|√|×|✓|✗|맞다|맞음|맞습니다|틀리다|틀림|틀렸다|틀립니다"
    r"|참|거짓|옳지\s?않|맞지\s?않|옳다|옳습니다"
    r"|(?:not\s+|n't\s+)?(?:true|false|correct|incorrect|wrong|valid|invalid)\b|yes\b|no\b|(?<=[:：]\s)(?-i:[TFOX]\b)|(?<=[:：])(?-i:[TFOX]\b)|(?<=[은는]\s)(?-i:[OX](?![A-Za-z0-9]))"
    r"|(?<=is\s)(?-i:[TF]\b))(?![题品如期设象])(?!的?[吗呢么]|的?[？?]|\s+(?:only\s+)?(?:if|when)\b)"
)
_STATEMENT = (
    r"(?:判断|结论|结果|说法|命题|这句话|该句|陈述|叙述|表述|观点|진술|명제|statement|(?:verdict|judge?ment)(?!\s*[:：=]?\s*(?:yes|(?:in)?correct|right|wrong)\b)|claim|conclusion|assertion|proposition)"
    r"\s*(?:应为|应该是|并|是|为|은|는|이|가|is|:|：|=)*"
)
_ANSWER = (
    rf"(?:{ANSWER_ZH}|{ANSWER_KO}|answer)\s*(?:[】\]]\s*[:：]?|(?:应为|应该是|是|为|은|는|이|가|is|=)*\s*[:：]"
    r"|(?:应为|应该是|是|为)(?!\s*(?:正确|对|错误|错)的)|(?:은|는)|(?:is|=)(?!\s*(?:not\s+)?(?:in)?(?:correct|right|wrong)))"
)
"""An answer that "is correct" tells nothing of the statement: that is how a mark is forged."""
_COMMITMENT = late(rf"(?i)(?:{_STATEMENT}|{_ANSWER})\s*[:：]?\s*[(（“\"'*$]*\s*{_WORD}")
_CORRECTED = late(rf"(?i)(?:{RETRACTION})[,，\s]*(?:it'?s|it is|应该是|应为)?\s*{_WORD}")
_ALTERNATIVE = late(
    rf"(?i)\s*(?:或者?|还是|是(?=不|错)|or\b|and\b|和|또는|[/、,，])?\s*"
    rf"(?:[TFOX]\b|{_WORD.replace('?P<word>', '?:', 1)})"
)
_ABOUT_CHARS = 24
_SENTENCE = late(r"[^。.!！？?\n]+[。.!！？?\n]?|[。.!！？?\n]")
_ABOUT_ANOTHER = late(
    r"(?i)(?:否命题|逆命题|逆否|的(?:否定|逆)|另[一外]|其[他它余]|\b(?:negation|converse|inverse|contrapositive|opposite|other|another)\b"
    r"|역은|부정은|대우)[^,，。.;；\n]{0,24}\Z"
)
"""Judgements of the converse, the negation or another statement are not of this one."""
_NEGATED_KO = late(r"\s?(?:이|가|은|는|인\s?것은|지)?\s?(?:아니|아닌|아닙|않)")
_NOTHING_ELSE = Named(None, late(""))
"""Only a reason follows the truth value; it may mention errors."""


def find_truth(text: str, truncated: bool) -> Found:
    """The last truth value in a box, tag or "the statement is"; else a bare one."""
    marked = [(region, "boxed") for region in boxes(text)] + [(region, "answer_tag") for region in answer_tags(text)]
    marked.sort(key=lambda pair: pair[0].end)
    for region, method in reversed(marked):
        if read_truth(region.content, signs=True, reasoned=True) is not None:
            denial = taken_back(text, region.end, _NOTHING_ELSE)
            return [region.content if denial is None else quoted(text[region.start : denial])], method
    ending = "".join(sentence for sentence in _SENTENCE.findall(without_stars(tail(text))) if sentence[-1] not in "?？")
    corrected = list(_CORRECTED.finditer(ending))
    if corrected:
        return [corrected[-1]["word"]], "phrase"
    commitments = list(_COMMITMENT.finditer(ending))
    for match in reversed(commitments):
        if not _ABOUT_ANOTHER.search(ending[max(0, match.start() - _ABOUT_CHARS) : match.start("word")]):
            return [_said(ending, match)], "phrase"
    if commitments:
        first = _SENTENCE.findall(ending)[0].strip()
        plain = read_truth(first, signs=True) is not None
        return [first if plain else quoted(ending.strip())], "phrase"
    if marked:
        return [marked[-1][0].content], marked[-1][1]
    lines = [line.strip() for line in ending.splitlines() if line.strip()]
    for line in [lines[-1], lines[0]] if lines and not truncated else []:
        if read_truth(line, signs=True, reasoned=True) is not None:
            return [line], "whole" if len(lines) == 1 else "line"
    short = len(lines) == 1 and len(lines[0]) <= SENTENCE_CHARS and not truncated
    return ([lines[0]], "whole") if short else ([], "none")


def _said(text: str, match: re.Match[str]) -> str:
    """The word of a commitment; all words if not clear."""
    if _NEGATED_KO.match(text, match.end()):
        sentence = text[match.start() :].split("\n", maxsplit=1)[0].split(".", maxsplit=1)[0].strip()
        return sentence if read_truth(sentence, signs=True) is not None else quoted(sentence)
    unclear = _ALTERNATIVE.match(text, match.end()) or refused(text, match.start())
    denied = unclear or taken_back(text, match.end(), _NOTHING_ELSE) is not None
    return quoted(text[match.start() :]) if denied else match["word"]
