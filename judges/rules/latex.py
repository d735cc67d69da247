"""Mathematical answers as trees: a recursive-descent reader over a bounded list of tokens.

Contract: `parse` returns plain lists (JSON) or raises Unparsable; it evaluates nothing and does not use sympy.
Ambiguous texts (1/2x) are unparsable.

Trees: ["num", digits] ["sym", name] ["const", pi|e|i|oo|deg|reals|empty] ["add", items] ["mul", items] ["neg", x]
["div", a, b] ["pow", a, b] ["root", x, n] ["call", function, x] ["log", base, x] ["abs", x]
["fact", x] ["binom", n, k] ["pm", a, b, sign] ["percent", x] ["matrix", rows] ["det", rows] ["tuple", items]
["interval", low, high, low_closed, high_closed] ["set", items] ["union", items] ["ratio", items]
["rel", operators, sides] ["named", name, side, value, earlier values] ["builder", condition] ["approx", x]
["unit", x, symbol, word] ["list", "list"|"and"|"or", items] ["family", parameter, x] (for every integer)
["floor", x] ["ceil", x] ["based", digits, base] ["congruent", sides, modulus] ["cases", [[value, condition]]]
["opaque", head, parts]: notation that equals only itself, but for the identities of `unknowns`; "f()" is a function or
a factor
"""

from __future__ import annotations

import re
from functools import lru_cache

from livek12.core.patterns import late
from livek12.judges.rules.notation import NOT_A_NAME, bare, without_labels
from livek12.judges.rules.reader import CLOSING, OPENING, ExpressionReader
from livek12.judges.rules.tokens import EMPTY_SET, MAX_CHARS, REALS, Token, Unparsable, tokenize
from livek12.judges.rules.trees import NOT_SCALAR, Node, holds_symbol, symbols
from livek12.judges.rules.units import read_unit, upright

MAX_ITEMS = 24
_INFINITE = frozenset(
    {"infinitely many", "infinite", "infinity", "无数", "无数个", "无穷多", "无穷多个", "무한", "무수히 많다"}
)
MAX_PIECES = 8
_OTHERWISE = frozenset({"otherwise", "其他", "其它", "else"})
_IF = frozenset({"if", "when", "for", "当", "若"}) | _OTHERWISE
_NOT_IN_NAMES = frozenset({"+", "-", "^", "pm", "mp", "*", "times", "!", "%", "sqrt", "deg"})
_FOR_ALL = late(r"\s*for (?:all|every|any|each)\b")
_LETTERS_ONLY = late(r"(?:[a-z]{3,}|[A-Za-z]?[A-Z][A-Za-z]*)(?<!^[A-Za-z])")
_FUNCTION_OF_A_LETTER = late(r"(?:sin|cos|tan|cot|sec|csc|ln|lg|log|exp|arcsin|arccos|arctan)[a-z]")
_WORD_NAME = late(
    r"^(?P<name>[\u4e00-\u9fff]{1,16}|"
    r"(?:[A-Za-z](?:\([\w, ]{1,8}\))?의 )?[\uac00-\ud7a3 ]{1,24})\s*(?:为|是|=|＝|:|：|은|는)\s*(?=\S)"
)


def parse(text: str, letters: bool = False, tight: bool = False) -> Node:
    """The tree of an answer.

    Args:
        text: of the answer.
        letters: a single letter behind a value may be its unit.
        tight: letters behind a slash are one denominator (E/kT).

    Raises:
        Unparsable: no mathematics, or out of bounds.
    """
    tree = _remembered(text, letters, tight) if len(text) <= MAX_REMEMBERED else _outcome(text, letters, tight)
    if isinstance(tree, str):
        raise Unparsable(tree)
    return tree


MAX_REMEMBERED = 400


def _outcome(text: str, letters: bool, tight: bool) -> Node | str:
    try:
        return _tree(text, letters, tight)
    except Unparsable as error:
        return str(error)


_remembered = lru_cache(maxsize=8192)(_outcome)


def _tree(text: str, letters: bool, tight: bool) -> Node:
    text = upright(without_labels(bare(text)), letters)
    name = _WORD_NAME.match(text)
    if name and not NOT_A_NAME.search(name["name"]):
        text = text[name.end() :]
    if text.lower() in EMPTY_SET:
        return ["const", "empty"]
    if text.lower() in REALS:
        return ["const", "reals"]
    if text.lower() in _INFINITE:
        return ["const", "oo"]
    if not text or (_LETTERS_ONLY.fullmatch(text) and not _FUNCTION_OF_A_LETTER.fullmatch(text)):
        raise Unparsable("no expression")
    if len(text) > MAX_CHARS:
        raise Unparsable("too long")
    text = _FACTORIAL.sub(r"\1! =", _POINT.sub("", text))
    text = _BASE.sub(lambda base: f"{base['digits']}_{{{_BASES.get(base['base'].lower(), base['base'])}}}", text)
    text = _BARE_BUILDER.sub(r"\\{\1|\2\\}", f"{{{text}}}" if _OPEN_BUILDER.fullmatch(text) else text)
    text = _RATIO.sub(r"\1:\2", _of_family(text))
    remark = _INTEGER.search(text)
    if remark:
        text = text[: remark.start()]
    about = _ABOUT.match(text)
    tokens, source = tokenize(text[about.end() :] if about else text)
    node = _Reader(tokens, source, tight).whole()
    if about and node[0] not in NOT_SCALAR:
        node = ["approx", node]
    if remark and bounds([node], remark["name"]):
        raise Unparsable("a condition on whole numbers")
    return ["family", remark["name"], node] if remark else node


def bounds(nodes: list[Node], name: str) -> bool:
    """Checks for an inequality in no other symbol."""
    return any(
        (node[0] == "rel" and "=" not in node[1] and symbols(node) == {name})
        or (node[0] in {"list", "builder"} and bounds(node[2] if node[0] == "list" else [node[1]], name))
        for node in nodes
    )


_POINT = late(r"^(?:(?:the )?(?:point|coordinates?)|点|좌표는?|점)\s*(?=[(（])", re.IGNORECASE)
_FACTORIAL = late(r"^(\d+)!=(?=\s?\d)")
"""A number before "!=" and a number behind it: two numbers are not called unequal."""
_BASES = {"two": "2", "three": "3", "five": "5", "eight": "8", "ten": "10"}
_BASE = late(
    r"^(?P<digits>\d+)\s*(?:[(（]\s*(?:in )?base[ -]?|,?\s*(?:in )?base[ -]?|_\{?\s*\\text\s*\{)"
    r"(?P<base>\d{1,2}|two|three|five|eight|ten)\s*[)）}]{0,2}$",
    re.IGNORECASE,
)
_BARE_BUILDER = late(r"(?<!\\)\{\s*([a-z])\s*[|∣｜]([^{}|∣｜]*(?:[<>≤≥≠]|\\(?:le|ge|ne|lt|gt))[^{}|∣｜]*)\}")
_OPEN_BUILDER = late(r"[a-z]\s*[|∣｜][^{}|∣｜]*(?:[<>≤≥≠]|\\(?:le|ge|ne|lt|gt))[^{}|∣｜]*")
_ABOUT = late(r"(?:≈|≒|\\approx(?![a-z])|约(?:等于|为|是)?)\s*")
_RATIO = late(r"^(\d{1,9})\s*[比대]\s*(\d{1,9})$")
_FAMILY = late(r"^\\?\{\s*([a-z]|\\[a-z]+)\s*(?:[|∣｜:：]|\\mid(?![a-z]))\s*(?=\1\s*=)")


def _of_family(text: str) -> str:
    set_of = _FAMILY.match(text) if text.endswith("}") else None
    condition = text[set_of.end() : -1].removesuffix("\\") if set_of else ""
    return condition if _INTEGER.search(condition) else text


_INTEGER = late(
    r"(?:\\[ ,;:!]|\\q?quad(?![a-z])|[\s~,，;；])*(?:\\text\s*\{\s*(?:for|where)?\s*\}|其中)?\s*"
    r"[(（]?\s*(?P<name>[klmnN])\s*(?:\\in|∈)\s*(?:\\math(?:bb|bf|rm)\s*\{?\s*[ZN]\s*\}?|\{?[ZNℤℕ]\}?)(?:\^?\{?[*+]\}?)?\s*[)）]?\s*$"
)


class _Reader(ExpressionReader):
    # --- lists, items and relations -----------------------------------------------------------------------------

    def whole(self) -> Node:
        node = self.items()
        if self.at < self.end:
            raise Unparsable(f"unexpected {self.peek().text!r}")
        return node

    def items(self) -> Node:
        nodes: list[Node] = []
        kinds: set[str] = set()
        while True:
            signs: set[str] = set()
            while self.peek().kind in {"sep", "row"}:
                signs.add(self.take().text)
            if self.peek().kind == "end" or self.is_op("}", ")", "]", "set}"):
                break
            if nodes:
                kinds.add(next((word for word in ("or", "and") if word in signs), "list"))
            nodes.append(self.item())
            if len(nodes) > MAX_ITEMS:
                raise Unparsable("too many items")
            if self.peek().kind not in {"sep", "row"}:
                break
        if {"and", "or"} <= kinds:
            raise Unparsable("and beside or")
        kept = [node for node in nodes if node[0] != "remark"]
        if nodes == [["remark", "reals"]]:
            return ["const", "reals"]
        if any(node[:2] == ["remark", "whole"] and bounds(kept, node[2]) for node in nodes):
            raise Unparsable("a condition on whole numbers")
        if not kept:
            raise Unparsable("no expression")
        return kept[0] if len(kept) == 1 else ["list", kinds.pop() if len(kinds) == 1 else "list", kept]

    def item(self) -> Node:
        end, stop = self.end, self.boundary(frozenset({"sep", "row"}), self.at)
        if (self.peek().kind == "word" or self.is_op("(")) and (sign := self.after_words(stop)):
            name = self.source[self.peek().start : self.tokens[sign - 1].start].strip()
            self.at = sign
            value = self.item()
            return ["named", name, None, value]
        word = min(stop, self.boundary(frozenset({"word"}), self.at))
        if word == stop and self.is_upright_unit(stop - 1):
            word = stop - 1
        self.end = word
        if word == self.at:
            raise Unparsable("a word")
        node = self.relation()
        if self.at < word:
            raise Unparsable(f"unexpected {self.peek().text!r}")
        self.end, self.at = end, stop
        if word == stop:
            return _point(node)
        alone = stop - word == 1 and self.tokens[word].text in self.source
        written = self.tokens[word].text if alone else self.source[self.tokens[word].start : self.tokens[stop - 1].end]
        unit = read_unit(written)
        if unit is None and _FOR_ALL.match(self.tokens[word].text):
            return node
        if unit is None:
            raise Unparsable("words")
        return ["unit", node, unit.symbol, unit.word]

    def is_upright_unit(self, index: int) -> bool:
        r"""Checks for a unit in upright type behind a value: "2\sqrt3\ \text{m}"."""
        if index <= self.at or self.tokens[index].kind != "id":
            return False
        written = self.source[self.tokens[index].start : self.tokens[index].end]
        unit = read_unit(written) if written.startswith(("\\text", "\\mathrm")) else None
        before = self.tokens[index - 1]
        return (
            unit is not None and unit.symbol != "" and (before.kind in {"num", "id", "const"} or before.text in CLOSING)
        )

    def after_words(self, stop: int) -> int:
        """Index behind the sign of "Minimum = …", "Qing: …" or "(A): …"; else 0."""
        first = self.tokens[self.at : self.at + 4]
        if [token.text for token in first[::2]] == ["(", ")"]:
            return self.at + 4 if len(first) == 4 and first[1].kind == "id" and first[3].text == ":" else 0
        for index in range(self.at, stop):
            kind, text = self.tokens[index][:2]
            if text in {"=", ":"} and kind in {"rel", "op"}:
                return index + 1
            if kind not in {"word", "id"}:
                break
        return 0

    def cases(self) -> Node:
        rows: list[Node] = []
        conditions = 0
        while self.peek().kind != "end" or self.peek().text != "cases":
            row_end = self.boundary(frozenset({"row"}), self.at)
            if self.at >= self.end or len(rows) >= MAX_PIECES:
                raise Unparsable("cases without end")
            start = self.at
            value, condition = self.piece(row_end)
            if value is not None:
                rows.append([value, condition])
                conditions += condition is not None
            if self.peek().kind == "row":
                self.take()
            if self.at == start:
                raise Unparsable("cases without end")
        self.take()
        if conditions:
            return ["cases", rows]
        if not rows:
            raise Unparsable("no cases")
        return rows[0][0] if len(rows) == 1 else ["list", "and", [row[0] for row in rows]]

    def piece(self, row_end: int) -> tuple[Node | None, Node | None]:
        close = self.boundary(frozenset({"end"}), self.at)
        end, self.end = self.end, min(row_end, close)
        try:
            if self.at >= self.end:
                return None, None
            start, split = self.at, self.boundary(frozenset({"sep"}), self.at)
            amp = next((i for i in range(start, self.end) if self.tokens[i].text == "&"), self.end)
            stop, self.end = self.end, min(split, amp)
            value = self.relation()
            if self.at < self.end:
                raise Unparsable("a piece")
            self.end = stop
            while (
                self.peek().kind == "sep"
                or self.is_op("&")
                or (self.peek().kind == "word" and self.peek().text.strip().lower() in _IF)
            ):
                otherwise = self.peek().text.strip().lower() in _OTHERWISE
                self.take()
                if otherwise:
                    return value, ["const", "otherwise"]
            if self.at >= self.end:
                return value, None
            condition = self.relation()
            if self.at < self.end:
                raise Unparsable("a condition")
            return value, condition
        finally:
            self.end = end

    def relation(self) -> Node:
        start = self.at
        first = self.boundary(frozenset({"rel"}), start)
        if first < self.end and self.tokens[first].kind == "rel":
            operator = self.tokens[first].text
            if operator in {"=", "~", "in"} and self.is_name(start, first):
                return self.named(start, first)
        sides, operators = [self.ratio()], list[str]()
        while self.peek().kind == "rel":
            operators.append(self.take().text)
            sides.append(self.ratio())
        if not operators:
            return sides[0]
        if operators == ["~"]:
            return ["rel", ["="], sides] if holds_symbol(sides[0]) else sides[0]
        if operators == ["equiv"] and self.peek().kind == "mod":
            return ["congruent", sides, self.modulus(self.take().text)]
        if {"~", "in", "equiv"} & set(operators) or operators.count("=") not in {0, len(operators)}:
            raise Unparsable("mixed relations")
        return ["rel", operators, sides]

    @staticmethod
    def modulus(text: str) -> Node:
        return ["num", text] if text.isdigit() else ["sym", text]

    def is_name(self, start: int, end: int) -> bool:
        """Checks for tokens that only name a quantity: x, f(2), AB, cos A, P(X>k), (x, y), V_1 : V_2."""
        within: list[bool] = []
        for index in range(start, end):
            kind, text = self.tokens[index][:2]
            before = self.tokens[index - 1] if index > start else Token("", "", 0, 0)
            if kind == "op" and text in OPENING:
                arguments = text in {"(", "["} and before.kind in {"id", "const", "func", "op"} and before.text != "("
                within.append(any(within) or before.text == "_" or (arguments and index > start))
            elif kind == "op" and text in CLOSING:
                within = within[:-1]
            elif any(within):
                if kind == "id" and self.tokens[start].text == text and self.tokens[start + 1].text == "(":
                    return False
            elif (kind == "num" and before.text != "_") or text in _NOT_IN_NAMES:
                return False
        return end > start

    def named(self, start: int, first: int) -> Node:
        """A name with the last value of its chain, exact before approximate."""
        name = "".join(token.text for token in self.tokens[start:first] if token.text not in {"{", "}", "bold"})
        side = self.attempt(start, first)
        if side and side[0] == "mul" and [part[0] for part in side[1]] == ["sym", "tuple"]:
            side = ["opaque", f"{side[1][0][1]}()", side[1][1][1]]
        operator = self.tokens[first].text
        self.at = first + 1
        if operator == "in":
            if self.peek().text in {"mathbb", "Z", "N", "R", "Q"}:
                real = any(self.tokens[index].text == "R" for index in range(self.at, self.end))
                self.at = self.end
                return ["remark", "reals"] if real else ["remark", "whole", name]
            return self.ratio()
        value = self.ratio()
        if operator == "~":
            value = ["approx", value]
        earlier: list[Node] = []
        while self.peek().kind == "rel":
            operator = self.take().text
            if operator not in {"=", "~"}:
                raise Unparsable("mixed relations")
            after = self.ratio()
            if operator == "=":
                earlier, value = [*earlier, value], after
        return ["named", name, side, value, *([earlier] if earlier else [])]

    def attempt(self, start: int, end: int) -> Node | None:
        at, stop, depth = self.at, self.end, self.depth
        self.at, self.end = start, end
        try:
            node = self.ratio()
            return node if self.at == end else None
        except Unparsable:
            return None
        finally:
            self.at, self.end, self.depth, self.bars = at, stop, depth, 0

    def ratio(self) -> Node:
        sides = [self.union()]
        while self.is_op(":"):
            self.take()
            sides.append(self.union())
        return sides[0] if len(sides) == 1 else ["ratio", sides]


def _point(node: Node) -> Node:
    if node[0] == "mul" and len(node[1]) == 2 and node[1][1][0] == "tuple" and node[1][0][0] == "sym":
        name = node[1][0][1]
        if name[0].isupper():
            return ["named", name, None, node[1][1]]
    return node
