"""Truth values that a response commits to."""

from __future__ import annotations

import re

from livek12.judges.true_false import read_truth
from livek12.tasks.extraction.regions import answer_tags, boxes, tail
from livek12.tasks.extraction.remarks import RETRACTION, retraction

Found = tuple[list[str], str]
_WORD = (
    r"(?P<word>不正确|不对|不是|正确|错误|对|错|是|否|√|×|✓|✗|맞다|맞음|맞습니다|틀리다|틀림|틀렸다|틀립니다|참|거짓|옳다"
    r"|true\b|false\b|yes\b|no\b|correct\b|incorrect\b|wrong\b)"
)
_COMMITMENT = re.compile(
    r"(?:答案|判断|结论|结果|说法|命题|这句话|该句|陈述|진술|정답|답|answer|statement|claim|conclusion)"
    rf"\s*(?:应为|应该是|是|为|은|는|이|가|is|:|：|=)*\s*[:：]?\s*[(（“\"'*$]*\s*{_WORD}",
    re.IGNORECASE,
)
_CORRECTED = re.compile(rf"(?:{RETRACTION})[,，\s]*(?:it'?s|it is|应该是|应为)?\s*{_WORD}", re.IGNORECASE)


def find_truth(text: str, truncated: bool) -> Found:
    """The last truth value in a box, a tag or behind "the statement is"; else a text or line that is one."""
    marked = [(region, "boxed") for region in boxes(text)] + [(region, "answer_tag") for region in answer_tags(text)]
    marked.sort(key=lambda pair: pair[0].end)
    for region, method in reversed(marked):
        if read_truth(region.content, signs=True, reasoned=True) is not None:
            return [region.content], method
    ending = tail(text)
    corrected = list(_CORRECTED.finditer(ending))
    if corrected:
        return [corrected[-1]["word"]], "phrase"
    said = list(_COMMITMENT.finditer(ending))
    if said:
        if retraction(ending, said[-1].end()) is not None:
            return [ending[said[-1].start() :][:200].strip()], "phrase"
        return [said[-1]["word"]], "phrase"
    if marked:
        return [marked[-1][0].content], marked[-1][1]
    lines = [line.strip() for line in ending.splitlines() if line.strip()]
    for line in [lines[-1], lines[0]] if lines and not truncated else []:
        if read_truth(line, signs=True, reasoned=True) is not None:
            return [line], "whole" if len(lines) == 1 else "line"
    return [], "none"
