"""Sums that a question says in words: "What is the square root of 81?", "Find 25% of 80", "… 2 to the power of 6".

Contract: pure, and linear in the text. Read are only one operation on plain numbers and nothing behind it, so that what
is found is the whole of what the sentence asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from livek12.core.patterns import late

_NUMBER = r"\$?(?P<{}>-?\d{{1,12}}(?:\.\d{{1,12}}|/\d{{1,12}})?)\$?"
_A, _B = _NUMBER.format("a"), _NUMBER.format("b")
_SAID = (
    (rf"the (?:positive |principal )?square root of {_A}", r"\sqrt{{{a}}}"),
    (rf"the cube root of {_A}", r"\sqrt[3]{{{a}}}"),
    (rf"the square of {_A}|{_A.replace('<a>', '<c>')} squared", "({a})^2"),
    (rf"the cube of {_A}|{_A.replace('<a>', '<c>')} cubed", "({a})^3"),
    (rf"the factorial of {_A}|{_A.replace('<a>', '<c>')} factorial", "{a}!"),
    (rf"{_A} (?:raised )?to the power (?:of )?{_B}", "({a})^{{{b}}}"),
    (rf"(?:the sum of {_A} and|{_A.replace('<a>', '<c>')} plus) {_B}", "{a}+{b}"),
    (rf"(?:the difference (?:of|between) {_A} and|{_A.replace('<a>', '<c>')} minus) {_B}", "{a}-{b}"),
    (rf"(?:the product of {_A} and|{_A.replace('<a>', '<c>')} (?:times|multiplied by)) {_B}", r"{a}\times {b}"),
    (rf"(?:the quotient of {_A} and|{_A.replace('<a>', '<c>')} divided by) {_B}", "({a})/({b})"),
    (rf"{_A}\\?% of {_B}", r"{a}\%\times {b}"),
    (rf"{_A} of {_B}", r"{a}\times {b}"),
)
_ASKED = (
    r"\b(?:what is|what's|how much is|find|compute|calculate|evaluate|determine)(?: the value of)? (?:{})\s*(?:[.?!]|$)"
)
_SUMS = [(late(_ASKED.format(said), re.IGNORECASE), written) for said, written in _SAID]
_HINT = late(
    r"root of|square of|cube of|squared|cubed|factorial|power|sum of|plus|difference|minus|product of|times"
    r"|multiplied|quotient|divided|\d\\?\$?%? of"
)


def spoken_sums(text: str) -> Iterator[tuple[str, str]]:
    """The sums that a text asks for in words, as formulas."""
    if not _HINT.search(text.lower()):
        return
    for said, written in _SUMS:
        for match in said.finditer(text):
            groups = match.groupdict()
            yield "evaluate", written.format(a=groups["a"] or groups.get("c"), b=groups.get("b"))
