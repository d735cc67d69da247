"""The subject that a title, a heading or a file's name speaks of.

Contract: one of the names below, or "" where none or several are named: nothing is guessed.
"""

from __future__ import annotations

import re

_WORDS = {
    "math": "数学 수학 mathematics math maths",
    "physics": "物理 물리학 물리 physics",
    "chemistry": "化学 화학 chemistry",
    "biology": "生物 생명과학 생물 biology",
    "chinese": "语文",
    "korean": "국어",
    "english": "英语 영어 english",
    "history": "历史 한국사 세계사 동아시아사 역사 history",
    "geography": "地理 한국지리 세계지리 지리 geography",
    "politics": "政治 思想政治 道德与法治 정치와법 정치 politics",
    "earth science": "지구과학",
    "economics": "경제 economics",
    "ethics": "생활과윤리 윤리와사상 윤리",
}
_OF_ALL = re.compile("수학능력")
"""대학수학능력시험, the exam's own name, speaks of no 수학."""
_BY_WORD = {word: subject for subject, words in _WORDS.items() for word in words.split()}


def subject_of(text: str) -> str:
    """The only subject that a text names."""
    words = set(re.split(r"[\W\d_]+", text.lower()))
    bare = _OF_ALL.sub("", re.sub(r"\s+", "", text))
    found = {subject for word, subject in _BY_WORD.items() if (word in words if word.isascii() else word in bare)}
    return found.pop() if len(found) == 1 else ""
