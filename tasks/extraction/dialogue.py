"""Where a response ends and a base model runs on: into a next question that it invents, or the next speaker's turn.

Contract: `own_turn` gives what comes before that. A response that restates its own question, or takes it apart into
questions of its own before anything is answered, is left whole. Linear in the text.
"""

from __future__ import annotations

import re
from itertools import islice

from livek12.core.patterns import late

_NEXT = late(
    r"\n[^\S\n]{0,8}[*#]{0,4}[^\S\n]?(?:"
    r"(?P<question>Q|Question|Problem|问|问题|题目|질문|문제)"
    r"|(?:Human|User|Instruction|用户|사용자))"
    r"\*{0,2}\s?[:：]\*{0,2}"
)
"""A line that puts a question or names another speaker; a question with a number is one of several asked."""
_ANSWERED = late(
    r"\\boxed|<answer>|####|(?:^|\n)[*# ]{0,4}A\s?[:：]|\banswers?\s?(?:is\b|are\b|[:=-])|\bans\s?[:=]"
    r"|答案|答[:：]|[故应]选|정답|답[:：은]",
    re.IGNORECASE,
)
_ONE_LINE = 200
_SIGNS = late(r"[\W_]+")
_COPIED_CHARS = 12
_LOOKS = 20


def own_turn(text: str, asked: str) -> str:
    """The text before the first line that puts another question, where something was answered before it.

    Args:
        text: the response.
        asked: its question; one that is copied is none that was invented. May be empty.
    """
    known = _SIGNS.sub("", asked)
    for line in islice(_NEXT.finditer("\n" + text), _LOOKS):
        before = text[: max(0, line.start() - 1)]
        put = _SIGNS.sub("", text[line.end() - 1 :][:_ONE_LINE].strip().partition("\n")[0])
        copied = len(put) >= _COPIED_CHARS and put in known
        if not (copied or before.strip()):
            return text
        if not copied and _is_answered(before):
            return before.strip()
    return text


def _is_answered(before: str) -> bool:
    """Whether a text commits to something, or is one line that an empty line sets apart."""
    apart = before.endswith("\n") and "\n" not in before.strip()
    return _ANSWERED.search(before) is not None or (apart and len(before) <= _ONE_LINE)
