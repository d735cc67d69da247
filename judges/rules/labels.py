"""Option labels in any script: A, Ａ, ④, (4), 4번, ㄱ, 가; alone or several ("A, C and D", "ACD", "A와 C").

Canonical labels are "A", "4", "ㄱ", "가". Only texts of nothing but labels are read; "A or C" is none.
"""

from __future__ import annotations

import re

from livek12.core.patterns import late
from livek12.core.text import CIRCLED, narrow, of_short
from livek12.judges.rules.notation import bare

_CIRCLED = {
    **{char: str(index) for index, char in enumerate(CIRCLED[:10], 1)},
    **dict(zip("ⒶⒷⒸⒹⒺⒻⒼⒽ", "ABCDEFGH", strict=True)),
    **dict(zip("㉠㉡㉢㉣㉤㉥㉦㉧", "ㄱㄴㄷㄹㅁㅂㅅㅇ", strict=True)),
}
_JOINER = late(r"\s*(?:[,，、;；/&+·]\s*(?:and\b)?|and\b|和|与|及|以及|와|과|및|그리고)\s*|\s+", re.IGNORECASE)
_LABEL = late(
    r"(?:[(\[【]\s*)?(?:option\s*|选项\s*)?"
    r"(?:(?<![A-Za-z])(?P<letters>[A-J]{1,10}|[a-j])(?![A-Za-z])"
    rf"|(?P<circled>[{''.join(_CIRCLED)}]+)|(?P<jamo>[ㄱ-ㅎ]+)"
    r"|(?P<syllable>[가나다라마바사아])(?![가-힣])|(?<!\d)(?P<digits>[1-9]\d?)(?![\d.]))"
    r"(?:\s*[)\]】])?(?:\s*번)?(?:\s*(?:选项|项))?"
)
_MARKUP = late(r"\\(?:text|textbf|textrm|mathrm|mathbf|boldsymbol|bm|rm|bf|boxed|fbox|quad|[,;:! ])|[{}$*`\\~]")
_AFFIXES = late(
    r"^(?:(?:the\s+)?(?:correct\s+)?(?:answers?|options?|choices?)(?:\s+(?:is|are))?|答案|选项|正确选项|选|정답|답)"
    r"\s*:?\s*(?=\S)|(?:입니다|이다)$",
    re.IGNORECASE,
)
_SAYS_MORE = late(
    r"\(?\s*[①-⑩](?:\s*번)?(?=[가-힣])(?!인)|\(?\s*[①-⑩].*[①-⑩]|.*\?\s*$|\(?\s*[A-J]\s*[).、:]\s*[A-J](?![A-Za-z0-9.=])"
    r"|\(?\s*[A-J]\s*[).、:].*[\s,，;；]\(?[A-J]\s?[).、:]\s?\S"
    r"|\(?\s*[①-⑩]\s*(?:또는|혹은|아니|이나|나|或|还是|or\b|not\b)",
    re.DOTALL,
)
"""A label with a particle, another label or a question mark is no option quoted ("③이 아니다", "③?④?"), nor are all."""
_LABELLED = late(r"\(?\s*(?:(?P<letter>[A-J])\s*[).、:]|(?P<circled>[①-⑩]))\s*(?P<text>\S.*)", re.DOTALL)
_LABEL_BEHIND = late(r"(?P<text>[^\s()（）][^()（）]*?)\s*[(（]\s*(?i:option|choice|选项)\s*(?P<letter>[A-J])\s*[)）]")
_NUMBERED = late(r"[1-9][).]\s?[1-9]\d*")
"""A numbered option that is a number ("3) 5")."""
MAX_CHARS = 120


def read_labels(text: str) -> frozenset[str] | None:
    """The set of labels of a text.

    Small letters and numbers need separators ("b", "1, 3"); repeated labels are none.
    """
    labels = label_sequence(text)
    return frozenset(labels) if labels and len(set(labels)) == len(labels) else None


def label_sequence(text: str) -> list[str]:
    """The labels of a text in its order; empty for anything else."""
    is_number = len(text) > 2 and text.isdecimal()
    return [] if is_number or len(text) > MAX_CHARS else list(_labels(text))


@of_short
def _labels(text: str) -> tuple[str, ...]:
    plain = " ".join(_MARKUP.sub(" ", narrow(bare(text))).split()).strip(" .。,，;；:：")
    plain = _AFFIXES.sub("", plain).strip()
    if _NUMBERED.fullmatch(plain):
        return ()
    labels: list[str] = []
    kinds: set[str | None] = set()
    position = 0
    while position < len(plain):
        match = _LABEL.match(plain, position)
        if match is None:
            return ()
        labels += _labels_of(match)
        kinds.add(match.lastgroup)
        joiner = _JOINER.match(plain, match.end())
        position = joiner.end() if joiner else match.end()
    return () if kinds >= {"circled", "digits"} or kinds >= {"letters", "digits"} else tuple(labels)


def _labels_of(match: re.Match[str]) -> list[str]:
    if match["circled"]:
        return [_CIRCLED[char] for char in match["circled"]]
    if match["digits"]:
        return [match["digits"]]
    return list((match["letters"] or match["jamo"] or match["syllable"]).upper())


def labelled_option(text: str) -> tuple[str, str] | None:
    """Label and text of "B. 12 cm" or "④ 12"; None if the text comments on the label."""
    plain = narrow(bare(text))
    match = _LABELLED.fullmatch(plain)
    if behind := None if match else _LABEL_BEHIND.fullmatch(plain):
        return behind["letter"], behind["text"]
    if match is None or label_sequence(text) or _SAYS_MORE.match(match[0]):
        return None
    return match["letter"] or _CIRCLED[match["circled"]], match["text"].strip()
