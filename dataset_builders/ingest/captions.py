"""Captions of figures: a line right below or above a figure that begins with its number.

Contract: a bare label ("图1", "第3题图", "<그림 1>", "Figure 1.") is the figure's caption and leaves the text; one that
says more is the caption too and stays in the text, once.
"""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = r"[(（]?\s*(?:\d{1,3}(?:\s*[-–—.]\s*\d{1,2})?|[一二三四五六七八九十甲乙丙丁]|[①-⑳])\s*[)）]?"
_NAME: Final = (
    rf"(?:第?\s*\d{{1,3}}\s*[题題]\s*[图圖](?:\s*{_NUMBER})?|(?:[题題]\s*\d{{1,3}}\s*)?[图圖]\s*{_NUMBER}"
    rf"|[题題]\s*\d{{1,3}}\s*[图圖]|그\s*림\s*{_NUMBER}|fig(?:ure|\.)?\s*\d{{1,3}}(?:\.\d{{1,2}})?)"
)
_LABEL: Final = re.compile(rf"[<＜〈\[［【(（]?\s*{_NAME}\s*[>＞〉\]］】)）]?\s*[.．:：。]?", re.IGNORECASE)
_MORE: Final = re.compile(rf"(?:[<＜〈\[［【]\s*{_NAME}\s*[>＞〉\]］】]|{_NAME}\s*[.．:：])\s*\S", re.IGNORECASE)


def is_label(text: str) -> bool:
    """Whether a line is nothing but a figure's number."""
    return bool(_LABEL.fullmatch(text.strip()))


def is_caption(text: str) -> bool:
    """Whether a line is a figure's number, or that and what the figure shows."""
    return is_label(text) or bool(_MORE.match(text.strip()))
