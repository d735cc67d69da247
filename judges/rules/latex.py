"""Mathematical answers as trees: a recursive-descent reader over a bounded list of tokens.

Contract: `parse` returns plain lists (JSON) or raises Unparsable; it evaluates nothing and does not use sympy.
Ambiguous texts (1/2x) are unparsable.

Trees: ["num", digits] ["sym", name] ["const", pi|e|i|oo|deg|reals|empty] ["add", items] ["mul", items] ["neg", x]
["div", a, b] ["pow", a, b] ["root", x, n] ["call", function, x] ["log", base, x] ["abs", x]
["fact", x] ["binom", n, k] ["pm", a, b, sign] ["percent", x] ["matrix", rows] ["det", rows] ["tuple", items]
["interval", low, high, low_closed, high_closed] ["set", items] ["union", items] ["ratio", items]
["rel", operators, sides] ["bond", ->|prop|<<|>>|<~|>~, left, right]
["named", name, side, value, earlier values] ["builder", condition] ["approx", x]
["unit", x, symbol, word] ["list", "list"|"and"|"or", items] ["family", parameter, x] (for every integer)
["floor", x] ["ceil", x] ["based", digits, base] ["congruent", sides, modulus] ["cases", [[value, condition]]]
["given", x, conditions]
["opaque", head, parts]: notation that equals only itself, but for the identities of `unknowns`; "f()" is a function or
a factor
"""

from __future__ import annotations

import re
from functools import lru_cache

from livek12.core.patterns import late
from livek12.judges.rules import trees
from livek12.judges.rules.notation import NOT_A_NAME, bare, without_labels
from livek12.judges.rules.tokens import EMPTY_SET, MAX_CHARS, REALS, Token, Unparsable, tokenize
from livek12.judges.rules.trees import Node
from livek12.judges.rules.units import read_unit, upright

MAX_ITEMS = 24
OPENING = {"(": ")", "[": "]", "{": "}", "set{": "set}", "floor(": "floor)", "ceil(": "ceil)"}
CLOSING = frozenset(OPENING.values())
MAX_NAME = 40
"""Characters of a subscript."""
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
_INFINITE = frozenset(
    {"infinitely many", "infinite", "infinity", "无数", "无数个", "无穷多", "无穷多个", "무한", "무수히 많다"}
)
_INEQUALITIES = frozenset({"<", ">", "<=", ">="})
_BONDS = frozenset({"->", "prop", "<<", ">>", "<~", ">~"})
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


def parse(text: str, letters: bool = False, division: str = "") -> Node:
    """The tree of an answer.

    Args:
        text: of the answer.
        letters: a single letter behind a value may be its unit.
        division: "tight" if letters behind a slash are one denominator (E/kT), "loose" if only the first.

    Raises:
        Unparsable: no mathematics, or out of bounds.
    """
    tree = _remembered(text, letters, division) if len(text) <= MAX_REMEMBERED else _outcome(text, letters, division)
    if isinstance(tree, str):
        raise Unparsable(tree)
    return tree


MAX_REMEMBERED = 400


def _outcome(text: str, letters: bool, division: str) -> Node | str:
    try:
        return _tree(text, letters, division)
    except Unparsable as error:
        return str(error)


_remembered = lru_cache(maxsize=8192)(_outcome)


def _tree(text: str, letters: bool, division: str) -> Node:
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
    text = _RATIO.sub(r"\1:\2", _of_family(_MEMBER.sub(r"\g<name> \\in ", text)))
    remark = _INTEGER.search(text)
    if remark:
        text = text[: remark.start()]
    about = _ABOUT.match(text)
    tokens, source = tokenize(text[about.end() :] if about else text)
    node = _Reader(tokens, source, division).whole()
    if about and node[0] not in trees.NOT_SCALAR:
        node = ["approx", node]
    if remark and bounds([node], remark["name"]):
        raise Unparsable("a condition on whole numbers")
    return ["family", remark["name"], node] if remark else node


def bounds(nodes: list[Node], name: str) -> bool:
    """Checks for an inequality in no other symbol."""
    return any(
        (node[0] == "rel" and "=" not in node[1] and trees.symbols(node) == {name})
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
_ABOUT = late(r"(?:≈|≒|\{?\\sim\}?(?![a-z])|\\approx(?![a-z])|约(?:等于|为|是)?)\s*")
_RATIO = late(r"^(\d{1,9})\s*[比대]\s*(\d{1,9})$")
_MEMBER = late(r"^(?P<name>[A-Za-z]|\\[a-z]+)\s*(?:(?<![A-Za-z])in|\\text\s*\{\s*in\s*\})\s*(?=(?:\\left\s*)?[(\[])")
"""A letter in an interval: x in [2, 3)."""
_FAMILY = late(r"^\\?\{\s*([a-z]|\\[a-z]+)\s*(?:[|∣｜:：]|\\mid(?![a-z]))\s*(?=\1\s*=)")


def _of_family(text: str) -> str:
    set_of = _FAMILY.match(text) if text.endswith("}") else None
    condition = text[set_of.end() : -1].removesuffix("\\") if set_of else ""
    return condition if _INTEGER.search(condition) else text


_INTEGER = late(
    r"(?:\\[ ,;:!]|\\q?quad(?![a-z])|[\s~,，;；])*(?:\\text\s*\{\s*(?:for|where)?\s*\}|其中)?\s*"
    r"[(（]?\s*(?P<name>[klmnN])\s*(?:\\in|∈)\s*(?:\\math(?:bb|bf|rm)\s*\{?\s*[ZN]\s*\}?|\{?[ZNℤℕ]\}?)(?:\^?\{?[*+]\}?)?\s*[)）]?\s*$"
)


class _Reader:
    # --- tokens ----------------------------------------------------------------------------------------------------

    def __init__(self, tokens: list[Token], source: str, division: str = "") -> None:
        self.tokens = tokens
        self.source = source
        self.division = division
        self.at = 0
        self.end = len(tokens)
        self.depth = 0
        self.bars = 0
        self.inside = 0

    def peek(self) -> Token:
        return self.tokens[self.at] if self.at < self.end else Token("end", "", len(self.source), len(self.source))

    def take(self) -> Token:
        if self.at >= self.end:
            raise Unparsable("an unfinished formula")
        self.at += 1
        return self.tokens[self.at - 1]

    def is_op(self, *texts: str) -> bool:
        if self.at >= self.end:
            return False
        kind, text, _, _ = self.tokens[self.at]
        return kind == "op" and text in texts

    def expect(self, *texts: str) -> str:
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
        if self.is_op("_"):
            self.take()
            return True
        return False

    def raw_group(self, longest: int = MAX_NAME) -> str:
        if not self.is_op("{"):
            return self.take().text
        close = self.boundary(frozenset(), self.at + 1)
        name = "".join(token.text for token in self.tokens[self.at + 1 : close] if token.text not in {"{", "}"})
        if len(name) > longest or close >= self.end:
            raise Unparsable("a long subscript")
        self.at = close + 1
        return name

    def union(self) -> Node:
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
        node: Node | None = None
        while True:
            operator = self.take().text if self.is_op("+", "-", "pm", "mp") else ("+" if node is None else "")
            if not operator:
                break
            node = trees.plus(node, operator, self.signed_product())
        if node is None:
            raise Unparsable("no expression")
        return node

    def signed_product(self) -> Node:
        negative = False
        while self.is_op("+", "-"):
            negative ^= self.take().text == "-"
        node = self.product()
        return ["neg", node] if negative else node

    def product(self) -> Node:
        node = self.power()
        divided = False
        factors: list[tuple[str, Node]] = [("", node)]
        while True:
            if self.is_op("*", "times"):
                sign, right = self.take().text, self.signed_power()
                node, divided = trees.times(node, right), False
                factors.append((sign, right))
            elif self.is_op("/") or (self.inside and self.is_op(":")):
                self.take()
                node, divided = ["div", node, self.signed_power()], True
                factors[-1] = (factors[-1][0], ["div", factors[-1][1], node[2]])
            elif self.starts_primary():
                tight = self.division == "tight" and node[0] == "div" and trees.holds_symbol(node[2])
                if divided and not tight and self.division != "loose":
                    raise Unparsable(AMBIGUOUS)
                if divided and tight:
                    node = ["div", node[1], trees.times(node[2], self.power())]
                    factors[-1] = (factors[-1][0], node)
                    continue
                if self.is_op("{") and any(token.text in _SIGNS for token in self.tokens[self.at + 1 : self.at + 2]):
                    raise Unparsable("a sign at the begin of a group")
                fraction = self.peek().text == "frac"
                right = self.power()
                if fraction and trees.is_improper(node, right):
                    raise Unparsable("a whole number before an improper fraction")
                node = ["add", [node, right]] if fraction and trees.is_mixed(node, right) else trees.times(node, right)
                factors[-1] = (factors[-1][0], trees.times(factors[-1][1], right))
            elif self.is_op("set{"):
                right = self.curly()
                node = trees.times(node, right)
                factors[-1] = (factors[-1][0], trees.times(factors[-1][1], right))
            elif self.is_next_power(node):
                right = self.power()
                node = trees.times(node, right)
                factors[-1] = (factors[-1][0], trees.times(factors[-1][1], right))
            else:
                return trees.with_products_of_vectors(factors) or node

    def signed_power(self) -> Node:
        if self.is_op("-"):
            self.take()
            return ["neg", self.power()]
        return self.power()

    def is_next_power(self, node: Node) -> bool:
        last = node[1][-1] if node[0] == "mul" else node
        after = self.tokens[self.at + 1 : self.at + 2] if self.at + 1 < self.end else []
        if last[0] in {"num", "div"} or self.peek().kind != "num" or not after or after[0][:2] != ("op", "^"):
            return False
        return last not in (["sym", "x"], ["sym", "X"]) or self.peek().text != "10"  # 5 x 10^3

    def starts_primary(self) -> bool:
        kind, text = self.peek()[:2]
        if kind == "op":
            return text in {"(", "{", "[", "floor(", "ceil("} or (text == "|" and self.bars == 0)
        return kind in {"id", "func", "cmd", "decor", "begin", "operator", "nabla", "partial", "big"} or (
            kind == "const" and text not in _MARKS
        )

    def power(self) -> Node:
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
                node = trees.times(node, ["const", "deg"]) if token.text == "deg" else trees.decorated(node, "'")
            elif self.is_op("_"):
                node = self.indexed(node)
            else:
                return node

    def indexed(self, node: Node) -> Node:
        """A symbol with its subscript behind a mark or power; anything else at a condition: (dS/dT)_V."""
        self.take()
        index = self.raw_group()
        if node[0] == "pow" and node[1][0] == "sym":
            return ["pow", trees.with_index(node[1], index), node[2]]
        if node[0] == "sym":
            return trees.with_index(node, index)
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
        if texts in (["T"], ["top"], ["dagger"]) and base[0] == "sym" and trees.is_matrix_name(base[1]):
            self.at = close + braced
            return trees.decorated(base, "^T" if texts[0] != "dagger" else "^dagger")
        mark = bool(inner) and all(token.kind in {"op", "const", "word"} for token in inner)
        named = set(texts) <= _PRIMES | {"prime"} or all(token.kind == "word" for token in inner)
        if mark and named and (braced or texts[0] not in {"+", "-"}):
            self.at = close + braced
            return trees.decorated(base, "".join(texts).replace("prime", "'"))
        if texts in (["T"], ["top"]) and base[0] in {"tuple", "interval", "matrix"}:
            self.at = close + braced
            return trees.transposed(base)
        if texts == ["deg"]:
            self.at = close + braced
            return trees.times(base, ["const", "deg"])
        letters = base[0] == "sym" and all(token.kind in {"num", "id", "const"} for token in inner[1:-1])
        if braced and texts[0:1] == ["("] and texts[-1] == ")" and letters:
            self.at = close + braced
            if self.is_op("("):
                raise Unparsable("a bracketed superscript")
            return trees.decorated(base, f"^({''.join(texts[1:-1])})")
        exponent = self.argument(signed=True)
        return trees.chosen(base, exponent) or ["pow", base, exponent]

    @staticmethod
    def indices(tokens: list[Token]) -> str:
        """Upper tensor indices (two or more letters); else ""."""
        names = [token.text for token in tokens]
        plain = len(names) > 1 and all(token.kind == "id" for token in tokens)
        return " ".join(names) if plain and (set(names) <= _GREEK_INDICES or set(names) <= _INDICES) else ""

    def argument(self, signed: bool = False, one_digit: bool = False) -> Node:
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
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unparsable("too deep")
        node = self.inner_primary()
        self.depth -= 1
        return node

    def inner_primary(self) -> Node:
        token = self.take()
        kind, text = token[:2]
        if kind == "num":
            return trees.in_base(text, self.raw_group()) if self.subscripted() else ["num", text]
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
        if kind == "big":
            return self.big_operator(text)
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

    def letters_of_exponent(self, place: int) -> set[str]:
        """The letters of the exponent whose sign is expected at a place."""
        if place + 1 >= self.end or self.tokens[place][:2] != ("op", "^"):
            return set()
        group = self.tokens[place + 1].text == "{"
        close = self.boundary(frozenset(), place + 2) if group else place + 2
        return {token.text for token in self.tokens[place + 1 : close] if token.kind == "id"}

    def symbol(self, name: str) -> Node:
        token = self.peek()
        previous = self.tokens[self.at - 1]
        if self.subscripted():
            name = trees.with_index(["sym", name], self.raw_group())[1]
        elif token.kind == "num" and token.start == previous.end and token.text.isdigit():
            letters = self.letters_of_exponent(self.at + 1)
            if letters and name not in letters and token.text != "1":
                raise Unparsable("an index or a factor")
            name = name if name in letters else f"{name}_{self.take().text}"  # n2^n is no power of n_2
        if self.is_op("(") and not name[0].isupper():
            close = self.boundary(frozenset({"sep"}), self.at + 1)
            if close < self.end and self.tokens[close].kind == "sep":
                self.take()
                inner = self.items()
                self.expect(")")
                return ["opaque", f"{name}()", inner[2] if inner[0] == "list" else [inner]]
        if (name in _PERHAPS_APPLIED or name[:2] in _PERHAPS_APPLIED) and self.is_op("(", "["):
            inner = self.bracket(self.take().text)
            random = name not in _OF_RANDOM_VARIABLES or any(letter[0] in _CAPITALS for letter in trees.symbols(inner))
            whole = inner[0] in {"tuple", "interval", "list"}
            return ["opaque", f"{name}()", [inner]] if random and not whole else trees.times(["sym", name], inner)
        if (name.split("_")[0] in _APPLIED or ("_" in name and self.is_followed_by_letters())) and self.is_op("("):
            self.take()
            inner = self.items()
            self.expect(")")
            return ["opaque", f"{name}()", inner[2] if inner[0] == "list" else [inner]]
        return ["sym", name]

    def is_followed_by_letters(self) -> bool:
        """Checks for several letters in brackets, which are arguments."""
        close = self.boundary(frozenset(), self.at + 1)
        inner = self.tokens[self.at + 1 : close]
        return any(token.kind == "sep" for token in inner) and all(token.kind in {"id", "sep"} for token in inner)

    def function(self, name: str) -> Node:
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
        if self.is_op("set{"):
            return self.curly()
        node = ["neg", self.power()] if self.is_op("-") and self.take() else self.power()
        while self.starts_primary() and self.peek().kind != "func" and not self.is_direction():
            node = trees.times(node, self.power())
        return node

    def is_direction(self) -> bool:
        """Checks for a letter with arrow or hat, which is no function argument."""
        inner = self.tokens[self.at + 1] if self.is_op("{") and self.at + 1 < self.end else self.peek()
        return inner.kind == "decor" and inner.text in _DIRECTIONS

    def structure(self, name: str) -> Node:
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

    def big_operator(self, name: str) -> Node:
        """A sum, integral or limit with its limits as written; the operand is a product."""
        limits = {"_": "", "^": ""}
        while self.is_op("_", "^"):
            sign = self.take().text
            limits[sign] = self.raw_group(MAX_CONTENT)
        return ["opaque", f"{name} {limits['_']} {limits['^']}", [self.product()]]

    def nabla(self) -> Node:
        r"""\nabla with its operand."""
        sign = self.take().text if self.is_op("times", "*") else f"^{self.order()}"
        return ["opaque", f"nabla {sign}", [self.power()]]

    def decoration(self, name: str) -> Node:
        """A decorated symbol; an angle or triangle by vertices; the reals."""
        if name in {"angle", "triangle"} and not self.is_op("{"):
            return trees.named_by_points(name, self.vertices()) or self.symbol(f"{name}({self.raw_group()})")
        inner = self.raw_group(MAX_CONTENT if name in _ENCLOSED else MAX_NAME)
        if name in _ENCLOSED:
            return ["opaque", f"{name} {inner}" if name == "mean" else f"{trees.ORDERED}{name}({inner})", []]
        if name in _DIRECTIONS:
            plain = inner.removeprefix("vec").removeprefix("bold").removeprefix("hat")
            name, inner = ("hat" if "hat" in inner.removesuffix(plain) else name), plain or inner
        if points := trees.named_by_points(name, inner):
            return points
        if name == "mathbb":
            if inner != "R":
                raise Unparsable("a set of numbers")
            return ["const", "reals"]
        if name in {"triangle", "arc"} or inner.isdigit() or (inner[:1].isdigit() and name not in {"overline", "bar"}):
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
            return trees.in_base(entries[0][1], self.raw_group())
        if rows and closing == "]" and (matrix := trees.of_rows(entries)):
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

    def curly(self) -> Node:
        """A factor in curly brackets, and its power."""
        self.take()
        inner = self.sum()
        self.expect("set}")
        if self.is_op("^"):
            self.take()
            return self.exponent(inner)
        return inner

    def set(self) -> Node:
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
        self.bars += 1
        node = self.sum()
        self.expect("|")
        self.bars -= 1
        return ["abs", node]

    def matrix(self, name: str) -> Node:
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

    # --- lists, items and relations -----------------------------------------------------------------------------

    def whole(self) -> Node:
        node = self.items()
        if self.at < self.end:
            raise Unparsable(f"unexpected {self.peek().text!r}")
        return node

    def items(self) -> Node:
        nodes: list[Node] = []
        kinds: set[str] = set()
        conditions: list[Node] = []
        given = defined = False
        while True:
            signs: set[str] = set()
            while self.peek().kind in {"sep", "row"}:
                signs.add(self.take().text)
            if self.peek().kind == "end" or self.is_op("}", ")", "]", "set}"):
                break
            if given and "if" in signs:
                raise Unparsable("values under several conditions")
            given = given or bool({"if", "where"} & signs)
            defined = defined or "where" in signs
            if nodes and not given:
                kinds.add(next((word for word in ("or", "and") if word in signs), "list"))
            bracketed = self.is_op("(")
            node = self.item()
            remark = bracketed and bool(nodes) and trees.is_condition(node)
            (conditions if given or remark else nodes).append(node)
            enumerated = conditions and conditions[0][0] == "named" and conditions[-1][0] in {"num", "const"}
            if len(conditions) > 1 and not (defined or enumerated or trees.is_condition(conditions[-1])):
                raise Unparsable("values under several conditions")
            if len(nodes) + len(conditions) > MAX_ITEMS:
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
        node = kept[0] if len(kept) == 1 else ["list", kinds.pop() if len(kinds) == 1 else "list", kept]
        return ["given", node, conditions] if conditions else node

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
            while self.peek().kind == "sep":
                self.take()
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
        if len(operators) == 1 and operators[0] in _BONDS:
            return ["bond", operators[0], *sides]
        if operators == ["~"]:
            return ["rel", ["="], sides] if trees.holds_symbol(sides[0]) else sides[0]
        if operators == ["equiv"] and self.peek().kind == "mod":
            return ["congruent", sides, self.modulus(self.take().text)]
        if operators[0] in _INEQUALITIES and len(operators) > 1 and set(operators[1:]) <= {"=", "~"}:
            return ["rel", operators[:1], [sides[0], sides[-1]]]
        if {"~", "in", "equiv", *_BONDS} & set(operators) or operators.count("=") not in {0, len(operators)}:
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
                mark = before.text == "^" and self.is_mark(index - 1, end)
                within.append(any(within) or before.text == "_" or mark or (arguments and index > start))
            elif kind == "op" and text in CLOSING:
                within = within[:-1]
            elif any(within):
                if kind == "id" and self.tokens[start].text == text and self.tokens[start + 1].text == "(":
                    return False
            elif (kind == "num" and before.text != "_") or (text in _NOT_IN_NAMES and not self.is_mark(index, end)):
                return False
        return end > start

    def is_mark(self, index: int, end: int) -> bool:
        """Checks for a superscript that is no power: a word or letters in brackets."""
        start = index + 1 + (index + 1 < end and self.tokens[index + 1].text == "{")
        first = self.tokens[start : start + 1]
        return (
            self.tokens[index].text == "^"
            and bool(first)
            and (first[0].kind == "word" or (first[0].text == "(" and start == index + 2))
        )

    def named(self, start: int, first: int) -> Node:
        """A name with the last value of its chain, exact before approximate."""
        name = "".join(token.text for token in self.tokens[start:first] if token.text not in {"{", "}", "bold"})
        side = self.attempt(start, first)
        if side and side[0] == "mul" and [part[0] for part in side[1]] == ["sym", "tuple"]:
            side = ["opaque", f"{side[1][0][1]}()", side[1][1][1]]
        if side and trees.holds_relation(side):
            side = None
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
            if operator not in {"=", "~", *_INEQUALITIES}:
                raise Unparsable("mixed relations")
            after = self.ratio()
            if operator in _INEQUALITIES:
                remark: Node = ["rel", [operator], [value, after]]
                return ["given", ["named", name, side, value, *([earlier] if earlier else [])], [remark]]
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
