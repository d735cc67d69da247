"""A position in a list of tokens, which the readers of expressions move on."""

from __future__ import annotations

from livek12.judges.rules.tokens import Token, Unparsable

OPENING = {"(": ")", "[": "]", "{": "}", "set{": "set}", "floor(": "floor)", "ceil(": "ceil)"}
CLOSING = frozenset(OPENING.values())
MAX_NAME = 40
"""Characters of a subscript."""


class Cursor:
    """A position in tokens, and how deep within brackets and bars it is."""

    def __init__(self, tokens: list[Token], source: str) -> None:
        self.tokens = tokens
        self.source = source
        self.at = 0
        self.end = len(tokens)
        self.depth = 0
        self.bars = 0
        self.inside = 0

    def peek(self) -> Token:
        """The token here, without taking it."""
        return self.tokens[self.at] if self.at < self.end else Token("end", "", len(self.source), len(self.source))

    def take(self) -> Token:
        """The token here; the position moves on."""
        token = self.peek()
        self.at += 1
        return token

    def is_op(self, *texts: str) -> bool:
        """Whether an operator with one of these texts is here."""
        if self.at >= self.end:
            return False
        kind, text, _, _ = self.tokens[self.at]
        return kind == "op" and text in texts

    def expect(self, *texts: str) -> str:
        """Takes an operator with one of these texts."""
        if not self.is_op(*texts):
            raise Unparsable(f"expected {' or '.join(texts)}")
        return self.take().text

    def boundary(self, kinds: frozenset[str], start: int) -> int:
        """Index of the first token of these kinds outside brackets, from `start`; the end when there is none."""
        depth = 0
        for index in range(start, self.end):
            kind, text = self.tokens[index][:2]
            if kind == "begin" or (kind == "op" and text in OPENING):
                depth += 1
            elif kind == "end" or (kind == "op" and text in CLOSING):
                depth -= 1
                if depth < 0:
                    return index
            elif depth == 0 and kind in kinds:
                return index
        return self.end

    def subscripted(self) -> bool:
        """Whether a subscript follows; takes its sign."""
        if self.is_op("_"):
            self.take()
            return True
        return False

    def raw_group(self) -> str:
        """The text of a subscript, as a part of a name."""
        if not self.is_op("{"):
            return self.take().text
        close = self.boundary(frozenset(), self.at + 1)
        name = "".join(token.text for token in self.tokens[self.at + 1 : close] if token.text not in {"{", "}"})
        if len(name) > MAX_NAME or close >= self.end:
            raise Unparsable("a long subscript")
        self.at = close + 1
        return name
