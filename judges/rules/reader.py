"""Expression reader: sums, products, powers, functions, brackets and matrices from tokens.

`judges.rules.latex` adds lists, relations and names, and documents the trees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from livek12.judges.rules.tokens import Token, Unparsable
from livek12.judges.rules.trees import (
    ORDERED,
    Node,
    chosen,
    decorated,
    holds_symbol,
    in_base,
    is_improper,
    is_matrix_name,
    is_mixed,
    named_by_points,
    of_rows,
    plus,
    symbols,
    times,
    transposed,
    with_index,
    with_products_of_vectors,
)

OPENING = {"(": ")", "[": "]", "{": "}", "set{": "set}", "floor(": "floor)", "ceil(": "ceil)"}
CLOSING = frozenset(OPENING.values())
MAX_NAME = 40
"""Characters of a subscript."""


class Cursor:
    """A position in tokens, with its depth in brackets and bars."""

    def __init__(self, tokens: list[Token], source: str, tight: bool = False) -> None:
        self.tokens = tokens
        self.source = source
        self.tight = tight
        self.at = 0
        self.end = len(tokens)
        self.depth = 0
        self.bars = 0
        self.inside = 0

    def peek(self) -> Token:
        """The current token."""
        return self.tokens[self.at] if self.at < self.end else Token("end", "", len(self.source), len(self.source))

    def take(self) -> Token:
        """Consumes the current token."""
        token = self.peek()
        self.at += 1
        return token

    def is_op(self, *texts: str) -> bool:
        """Checks for one of these operators."""
        if self.at >= self.end:
            return False
        kind, text, _, _ = self.tokens[self.at]
        return kind == "op" and text in texts

    def expect(self, *texts: str) -> str:
        """Consumes one of these operators."""
        if not self.is_op(*texts):
            raise Unparsable(f"expected {' or '.join(texts)}")
        return self.take().text

    def boundary(self, kinds: frozenset[str], start: int) -> int:
        """Index of the first such token outside brackets; else the end."""
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
        """Consumes a subscript sign, if any."""
        if self.is_op("_"):
            self.take()
            return True
        return False

    def raw_group(self, longest: int = MAX_NAME) -> str:
        """The text of a subscript in a name."""
        if not self.is_op("{"):
            return self.take().text
        close = self.boundary(frozenset(), self.at + 1)
        name = "".join(token.text for token in self.tokens[self.at + 1 : close] if token.text not in {"{", "}"})
        if len(name) > longest or close >= self.end:
            raise Unparsable("a long subscript")
        self.at = close + 1
        return name


MAX_DEPTH = 32
AMBIGUOUS = "ambiguous division"
_APPLIED = frozenset({"f", "g", "F", "G"})
_SIGNS = frozenset({"+", "-", "pm", "mp"})
_ENCLOSED = frozenset({"mean", "ket", "bra"})
MAX_CONTENT = 120
_DIRECTIONS = frozenset({"vec", "bold", "hat"})
_CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
MAX_VERTICES = 3
_PERHAPS_APPLIED = frozenset("E P D Gamma zeta psi Psi phi delta Theta J_ Y_".split())
"""Letters before a bracket that may be functions; they are factors where they are alone somewhere."""
_OF_RANDOM_VARIABLES = frozenset("EPD")
"""Those that are functions of capitals only: E(X), but not P(1+r)."""
_DIFFERENTIALS = frozenset({"d", "partial"})
_GREEK_INDICES = frozenset("mu nu rho sigma lambda kappa tau".split())
_INDICES = frozenset("ijk")
_MARKS = frozenset({"deg", "prime", "dots", "dagger", "top"})
MAX_ORDER = 6
"""Of a derivative."""
MAX_QUANTITY = 8
"""Tokens of the quantity in dy/dx."""
_PRIMES = frozenset({"'", "*", "+", "-"})
_MATRICES = frozenset({"matrix", "pmatrix", "bmatrix", "vmatrix", "Vmatrix", "Bmatrix", "smallmatrix", "array"})


class ExpressionReader(Cursor, ABC):
    """Reads expressions from tokens."""

    @abstractmethod
    def items(self) -> Node:
        """Items in brackets; implemented by the subclass."""

    @abstractmethod
    def attempt(self, start: int, end: int) -> Node | None:
        """Tree of some tokens, or None; implemented by the subclass."""

    @abstractmethod
    def cases(self) -> Node:
        """A system or piecewise value; implemented by the subclass."""

    def union(self) -> Node:
        """Sums joined by ∪ or a backslash (difference)."""
        node = self.sum()
        while self.is_op("cup", "setminus"):
            if self.take().text == "setminus":
                node = ["without", node, self.sum()]
            else:
                right = self.sum()
                node = ["union", [*node[1], right]] if node[0] == "union" else ["union", [node, right]]
        return node

    # --- expressions --------------------------------------------------------------------------------------------

    def sum(self) -> Node:
        """Terms joined by +, -, ± and ∓."""
        node: Node | None = None
        while True:
            operator = self.take().text if self.is_op("+", "-", "pm", "mp") else ("+" if node is None else "")
            if not operator:
                break
            node = plus(node, operator, self.signed_product())
        if node is None:
            raise Unparsable("no expression")
        return node

    def signed_product(self) -> Node:
        """A product with its signs."""
        negative = False
        while self.is_op("+", "-"):
            negative ^= self.take().text == "-"
        node = self.product()
        return ["neg", node] if negative else node

    def product(self) -> Node:
        """Powers joined by *, /, (in brackets) : or nothing; reads mixed numbers."""
        node = self.power()
        divided = False
        factors: list[tuple[str, Node]] = [("", node)]
        while True:
            if self.is_op("*", "times"):
                sign, right = self.take().text, self.signed_power()
                node, divided = times(node, right), False
                factors.append((sign, right))
            elif self.is_op("/") or (self.inside and self.is_op(":")):
                self.take()
                node, divided = ["div", node, self.signed_power()], True
                factors[-1] = (factors[-1][0], ["div", factors[-1][1], node[2]])
            elif self.starts_primary():
                if divided and not (self.tight and node[0] == "div" and holds_symbol(node[2])):
                    raise Unparsable(AMBIGUOUS)
                if divided:
                    node = ["div", node[1], times(node[2], self.power())]
                    factors[-1] = (factors[-1][0], node)
                    continue
                if self.is_op("{") and any(token.text in _SIGNS for token in self.tokens[self.at + 1 : self.at + 2]):
                    raise Unparsable("a sign at the begin of a group")
                fraction = self.peek().text == "frac"
                right = self.power()
                if fraction and is_improper(node, right):
                    raise Unparsable("a whole number before an improper fraction")
                node = ["add", [node, right]] if fraction and is_mixed(node, right) else times(node, right)
                factors[-1] = (factors[-1][0], times(factors[-1][1], right))
            elif self.is_next_power(node):
                right = self.power()
                node = times(node, right)
                factors[-1] = (factors[-1][0], times(factors[-1][1], right))
            else:
                return with_products_of_vectors(factors) or node

    def signed_power(self) -> Node:
        """A power, or its negative behind * and /."""
        if self.is_op("-"):
            self.take()
            return ["neg", self.power()]
        return self.power()

    def is_next_power(self, node: Node) -> bool:
        """Checks for powers of numbers in sequence: 2^6 3^5."""
        last = node[1][-1] if node[0] == "mul" else node
        after = self.tokens[self.at + 1 : self.at + 2] if self.at + 1 < self.end else []
        powers = last[0] == "pow" and last[1][0] == "num"
        return powers and self.peek().kind == "num" and bool(after) and after[0][:2] == ("op", "^")

    def starts_primary(self) -> bool:
        """Checks for an implicit factor."""
        kind, text = self.peek()[:2]
        if kind == "op":
            return text in {"(", "{", "[", "floor(", "ceil("} or (text == "|" and self.bars == 0)
        return kind in {"id", "func", "cmd", "decor", "begin", "operator", "nabla", "partial"} or (
            kind == "const" and text not in _MARKS
        )

    def power(self) -> Node:
        """A primary with powers, primes, factorials, per cent, degrees."""
        node = self.primary()
        while True:
            token = self.peek()
            if self.is_op("^"):
                self.take()
                node = self.exponent(node)
            elif self.is_op("!"):
                self.take()
                if self.is_op("!"):
                    raise Unparsable("double factorial")
                node = ["fact", node]
            elif self.is_op("%"):
                self.take()
                node = ["percent", node]
            elif self.is_op("'") or (token.kind == "const" and token.text in {"deg", "prime"}):
                self.take()
                node = times(node, ["const", "deg"]) if token.text == "deg" else decorated(node, "'")
            elif self.is_op("_"):
                node = self.indexed(node)
            else:
                return node

    def indexed(self, node: Node) -> Node:
        """A symbol with its subscript behind a mark or power; anything else at a condition: (dS/dT)_V."""
        self.take()
        index = self.raw_group()
        if node[0] == "pow" and node[1][0] == "sym":
            return ["pow", with_index(node[1], index), node[2]]
        if node[0] == "sym":
            return with_index(node, index)
        if self.is_op("^") or not index.isalpha():
            raise Unparsable("limits of an evaluation")
        return ["opaque", f"at {index}", [node]]

    def exponent(self, base: Node) -> Node:
        """Applies ^: a power, a mark of a name, or degrees."""
        braced = self.is_op("{")
        close = self.boundary(frozenset(), self.at + 1) if braced else self.at + 1
        inner = self.tokens[self.at + braced : close]
        texts = [token.text for token in inner]
        if base == ["const", "reals"] and texts == ["+"]:
            self.at = close + braced
            return ["interval", ["num", "0"], ["const", "oo"], False, False]
        if base[0] == "sym" and (tensor := self.indices(inner)):
            self.at = close + braced
            return ["sym", f"{base[1]}^({tensor})"]
        if texts in (["T"], ["top"], ["dagger"]) and base[0] == "sym" and is_matrix_name(base[1]):
            self.at = close + braced
            return decorated(base, "^T" if texts[0] != "dagger" else "^dagger")
        mark = bool(inner) and all(token.kind in {"op", "const", "word"} for token in inner)
        named = set(texts) <= _PRIMES | {"prime"} or all(token.kind == "word" for token in inner)
        if mark and named and (braced or texts[0] not in {"+", "-"}):
            self.at = close + braced
            return decorated(base, "".join(texts).replace("prime", "'"))
        if texts in (["T"], ["top"]) and base[0] in {"tuple", "interval", "matrix"}:
            self.at = close + braced
            return transposed(base)
        if texts == ["deg"]:
            self.at = close + braced
            return times(base, ["const", "deg"])
        if braced and texts[0:1] == ["("] and texts[-1] == ")":
            self.at = close + braced
            if base[0] != "sym" or len(texts) != 3 or self.is_op("("):
                raise Unparsable("a bracketed superscript")
            return decorated(base, f"^({texts[1]})")
        exponent = self.argument(signed=True)
        return chosen(base, exponent) or ["pow", base, exponent]

    @staticmethod
    def indices(tokens: list[Token]) -> str:
        """Upper tensor indices (two or more letters); else ""."""
        names = [token.text for token in tokens]
        plain = len(names) > 1 and all(token.kind == "id" for token in tokens)
        return " ".join(names) if plain and (set(names) <= _GREEK_INDICES or set(names) <= _INDICES) else ""

    def argument(self, signed: bool = False, one_digit: bool = False) -> Node:
        """A group in braces or one token."""
        if self.is_op("{"):
            self.take()
            node = self.sum()
            self.expect("}")
            return node
        if signed and self.is_op("-"):
            self.take()
            return ["neg", self.primary()]
        token = self.peek()
        if one_digit and token.kind == "num" and len(token.text) > 1:
            self.tokens[self.at] = token._replace(text=token.text[1:])
            if token.text[1] == ".":
                raise Unparsable("a fraction without braces")
            return ["num", token.text[0]]
        return ["num", self.take().text] if token.kind == "num" else self.primary()

    def primary(self) -> Node:
        """A primary, within the depth limit."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unparsable("too deep")
        node = self.inner_primary()
        self.depth -= 1
        return node

    def inner_primary(self) -> Node:
        """A number, symbol, function, command, bracket or matrix."""
        token = self.take()
        kind, text = token[:2]
        if kind == "num":
            return in_base(text, self.raw_group()) if self.subscripted() else ["num", text]
        if (
            kind in {"id", "partial"}
            and text in _DIFFERENTIALS
            and (derivative := self.quotient_of_differentials(text))
        ):
            return derivative
        if kind == "id" and text == "Delta" and self.peek().kind in {"id", "decor"}:
            return self.change()
        if kind == "id":
            return self.symbol(text)
        if kind == "operator":
            return ["opaque", text, [self.function_argument()]]
        if kind == "nabla":
            return self.nabla()
        if kind == "const" and text in {"e", "i"} and self.peek().text == "_":
            return self.symbol(text)
        if kind == "const" and text != "prime":
            return ["const", text]
        if kind == "func":
            return self.function(text)
        if kind == "cmd":
            return self.structure(text)
        if kind == "decor":
            return self.decoration(text)
        if kind == "begin" and text in _MATRICES:
            return self.matrix(text)
        if kind == "begin" and text == "cases":
            return self.cases()
        if kind == "op" and text in {"(", "[", "{"}:
            return self.bracket(text)
        if kind == "op" and text == "set{":
            return self.set()
        if kind == "op" and text in {"floor(", "ceil("}:
            inner = self.sum()
            self.expect(OPENING[text])
            return [text[:-1], inner]
        if kind == "op" and text == "|":
            return self.absolute()
        raise Unparsable(f"unexpected {text!r}")

    def symbol(self, name: str) -> Node:
        """A symbol with subscript, or f(x)."""
        token = self.peek()
        previous = self.tokens[self.at - 1]
        if self.subscripted():
            name = with_index(["sym", name], self.raw_group())[1]
        elif token.kind == "num" and token.start == previous.end and token.text.isdigit():
            name = f"{name}_{self.take().text}"
        if self.is_op("(") and not name[0].isupper():
            close = self.boundary(frozenset({"sep"}), self.at + 1)
            if close < self.end and self.tokens[close].kind == "sep":
                self.take()
                inner = self.items()
                self.expect(")")
                return ["opaque", f"{name}()", inner[2] if inner[0] == "list" else [inner]]
        if (name in _PERHAPS_APPLIED or name[:2] in _PERHAPS_APPLIED) and self.is_op("(", "["):
            inner = self.bracket(self.take().text)
            random = name not in _OF_RANDOM_VARIABLES or any(letter[0] in _CAPITALS for letter in symbols(inner))
            whole = inner[0] in {"tuple", "interval", "list"}
            return ["opaque", f"{name}()", [inner]] if random and not whole else times(["sym", name], inner)
        if name.split("_")[0] in _APPLIED and self.is_op("("):
            self.take()
            inner = self.items()
            self.expect(")")
            return ["opaque", f"{name}()", inner[2] if inner[0] == "list" else [inner]]
        return ["sym", name]

    def function(self, name: str) -> Node:
        """A known function with base, power and argument."""
        base: Node | None = None
        if name == "log" and self.subscripted():
            base = self.argument()
        exponent: Node | None = None
        if self.is_op("^"):
            self.take()
            exponent = self.argument(signed=True)
        node = self.function_argument()
        if exponent in (["neg", ["num", "1"]], ["num", "-1"]) and name in {"sin", "cos", "tan", "cot"}:
            return ["call", "arc" + name, node]
        called: Node = ["log", base, node] if base is not None else ["call", name, node]
        return ["pow", called, exponent] if exponent is not None else called

    def function_argument(self) -> Node:
        """A bracket, or the product up to the next sign or function."""
        if self.is_op("(", "{"):
            return self.primary()
        node = ["neg", self.power()] if self.is_op("-") and self.take() else self.power()
        while self.starts_primary() and self.peek().kind != "func" and not self.is_direction():
            node = times(node, self.power())
        return node

    def is_direction(self) -> bool:
        """Checks for a letter with arrow or hat, which is no function argument."""
        inner = self.tokens[self.at + 1] if self.is_op("{") and self.at + 1 < self.end else self.peek()
        return inner.kind == "decor" and inner.text in _DIRECTIONS

    def structure(self, name: str) -> Node:
        """A root, fraction or binomial."""
        if name == "sqrt":
            index: Node = ["num", "2"]
            if self.is_op("["):
                self.take()
                index = self.sum()
                self.expect("]")
            return ["root", self.argument(), index]
        if name == "frac" and (derivative := self.derivative()):
            return derivative
        top, bottom = self.argument(one_digit=True), self.argument(one_digit=True)
        return ["div" if name == "frac" else "binom", top, bottom]

    # --- what equals only itself --------------------------------------------------------------------------------

    def derivative(self) -> Node | None:
        r"""\frac{d^2 y}{dx^2}, or \frac{d}{dx} with its operand."""
        start, end = self.at, self.end
        letter = self.tokens[start + 1].text if self.is_op("{") and start + 1 < end else ""
        close = self.boundary(frozenset(), start + 1)
        below = self.tokens[close + 1 : close + 3]
        if letter not in _DIFFERENTIALS or [token.text for token in below] != ["{", letter]:
            return None
        self.at = start + 2
        order = self.order()
        top, self.at, self.end = self.at, close + 2, self.boundary(frozenset(), close + 2)
        variables = self.variables(letter)
        bottom, self.end = self.end, end
        if variables is None:
            self.at = start
            return None
        if len(variables) != order:
            raise Unparsable("a derivative of two orders")
        if top == close:
            self.at = bottom + 1
            operand: Node | None = self.function_argument()
        elif (operand := self.attempt(top, close)) is None:
            self.at = start
            return None
        else:
            self.at = bottom + 1
        return ["opaque", f"{letter} / {' '.join(variables)}", [operand]]

    def quotient_of_differentials(self, letter: str) -> Node | None:
        """The rest of dy/dx or ∂T/∂x."""
        start, end = self.at, self.end
        slash = next(
            (index for index in range(start, min(end, start + MAX_QUANTITY)) if self.tokens[index].text == "/"), 0
        )
        after = [token.text for token in self.tokens[slash + 1 : slash + 2]]
        if not slash or after != [letter] or (operand := self.attempt(start, slash)) is None or operand[0] != "sym":
            return None
        self.at = slash + 2
        if self.peek().kind not in {"id", "decor"}:
            self.at = start
            return None
        variable = self.inner_primary()
        return ["opaque", f"{letter} / {variable[1]}", [operand]]

    def order(self) -> int:
        """Consumes the number behind ^; default 1."""
        if not self.is_op("^"):
            return 1
        self.take()
        power = self.argument()
        if power[0] != "num" or not power[1].isdigit() or not 0 < int(power[1]) <= MAX_ORDER:
            raise Unparsable("a derivative of that order")
        return int(power[1])

    def variables(self, letter: str) -> list[str] | None:
        """The sorted variables of dx^2 dy, with multiplicity."""
        names: list[str] = []
        while self.at < self.end:
            if self.take().text != letter or self.peek().kind not in {"id", "decor"}:
                return None
            variable = self.inner_primary()
            if variable[0] != "sym":
                return None
            names += [variable[1]] * self.order()
        return sorted(names)

    def change(self) -> Node:
        r"""\Delta with its quantity; no product."""
        quantity = self.inner_primary()
        if quantity[0] != "sym":
            raise Unparsable("a change of something else")
        return ["sym", f"Delta({quantity[1]})"]

    def nabla(self) -> Node:
        r"""\nabla with its operand."""
        sign = self.take().text if self.is_op("times", "*") else f"^{self.order()}"
        return ["opaque", f"nabla {sign}", [self.power()]]

    def decoration(self, name: str) -> Node:
        """A decorated symbol; an angle or triangle by vertices; the reals."""
        if name in {"angle", "triangle"} and not self.is_op("{"):
            return named_by_points(name, self.vertices()) or self.symbol(f"{name}({self.raw_group()})")
        inner = self.raw_group(MAX_CONTENT if name in _ENCLOSED else MAX_NAME)
        if name in _ENCLOSED:
            return ["opaque", f"{name} {inner}" if name == "mean" else f"{ORDERED}{name}({inner})", []]
        if name in _DIRECTIONS:
            plain = inner.removeprefix("vec").removeprefix("bold").removeprefix("hat")
            name, inner = ("hat" if "hat" in inner.removesuffix(plain) else name), plain or inner
        if points := named_by_points(name, inner):
            return points
        if name == "mathbb":
            if inner != "R":
                raise Unparsable("a set of numbers")
            return ["const", "reals"]
        if name in {"triangle", "arc"} or any(char.isdigit() for char in inner):
            raise Unparsable("a decorated number")
        return self.symbol(f"{name}({inner})")

    def vertices(self) -> str:
        """Two or more capitals that name an angle or triangle; else ""."""
        start = self.at
        while self.at - start < MAX_VERTICES and self.peek().kind == "id" and self.peek().text in _CAPITALS:
            self.at += 1
        name = "".join(token.text for token in self.tokens[start : self.at])
        if len(name) < 2 or self.is_op("_", "'", "^"):
            self.at = start
            return ""
        return name

    def bracket(self, opening: str) -> Node:
        """A group, tuple or interval; rows in square brackets are a matrix."""
        rows = opening == "[" and self.is_op("[")
        bars, self.bars = self.bars, 0
        self.inside += 1
        inner = self.items()
        self.inside -= 1
        self.bars = bars
        closing = self.expect("}") if opening == "{" else self.expect(")", "]")
        entries = inner[2] if inner[0] == "list" else [inner]
        if entries[0][0] == "num" and len(entries) == 1 and self.subscripted():
            return in_base(entries[0][1], self.raw_group())
        if rows and closing == "]" and (matrix := of_rows(entries)):
            return matrix
        if opening == "{" or (len(entries) == 1 and (opening, closing) in {("(", ")"), ("[", "]")}):
            return inner
        if (opening, closing) == ("(", ")"):
            return ["tuple", entries] if inner[1] == "list" else inner
        if (opening, closing) == ("[", "]") and len(entries) > 2:
            return ["tuple", entries]
        if len(entries) != 2:
            raise Unparsable("an interval with other than two ends")
        return ["interval", *entries, opening == "[", closing == "]"]

    def set(self) -> Node:
        """A set or set-builder."""
        close = self.boundary(frozenset(), self.at)
        bar = next((i for i in range(self.at, close) if self.tokens[i].text in {"|", ":"}), close)
        if bar < close and self.peek().kind == "id" and (bar == self.at + 1 or self.tokens[self.at + 1].text == "in"):
            among = {token.text for token in self.tokens[self.at + 2 : bar]}
            if among and "R" not in among:
                raise Unparsable("a condition on whole numbers")
            self.at = bar + 1
            condition = self.items()
            self.expect("set}")
            return ["builder", condition]
        if self.is_op("set}"):
            self.take()
            return ["const", "empty"]
        inner = self.items()
        self.expect("set}")
        return ["set", inner[2] if inner[0] == "list" else [inner]]

    def absolute(self) -> Node:
        """|x|."""
        self.bars += 1
        node = self.sum()
        self.expect("|")
        self.bars -= 1
        return ["abs", node]

    def matrix(self, name: str) -> Node:
        """Rows up to the end of the environment."""
        rows: list[list[Node]] = [[]]
        while self.peek().kind != "end" or self.peek().text != name:
            if self.peek().kind == "row":
                self.take()
                rows.append([])
            elif self.is_op("&"):
                self.take()
            elif rows[-1] and self.tokens[self.at - 1].text != "&":
                raise Unparsable("entries without a sign between them")
            else:
                rows[-1].append(self.sum())
            if self.at >= self.end or len(rows) > 8:
                raise Unparsable("a matrix without end")
        self.take()
        rows = [row for row in rows if row]
        if not rows or len({len(row) for row in rows}) != 1 or len(rows[0]) > 8:
            raise Unparsable("a ragged matrix")
        if name in {"vmatrix", "Vmatrix"} and (name == "Vmatrix" or len(rows) != len(rows[0])):
            raise Unparsable("a norm, or a determinant that is not square")
        return ["det" if name == "vmatrix" else "matrix", rows]
