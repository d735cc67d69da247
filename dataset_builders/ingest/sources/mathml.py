"""LaTeX of formulas in OMML (Word) and MathML (web pages).

Contract: names of elements and attributes have no namespaces. An unknown element gives the formulas of its children; no
text is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final
from xml.etree.ElementTree import Element

from livek12.core.languages import HANGUL
from livek12.dataset_builders.ingest.pages.atoms import FUNCTIONS, symbol

_ACCENTS: Final = {
    "\u0302": "hat", "^": "hat", "\u0303": "tilde", "~": "tilde", "\u0304": "bar", "\u0305": "overline",
    "¯": "overline", "‾": "overline", "_": "underline", "\u0332": "underline", "\u20d7": "vec", "→": "overrightarrow",
    "\u0307": "dot", "˙": "dot", "\u0308": "ddot", "¨": "ddot", "⏞": "overbrace", "⏟": "underbrace",
    "⌢": "overset{\\frown}", "\u0311": "overset{\\frown}", "⏜": "overset{\\frown}",
}  # fmt: skip
_SIGNS: Final = {"\\to": "→", "\\rightarrow": "→", "\\hat{}": "^", "\\_": "_", "\\sim": "~"}
"""Accents that are written as symbols."""
_STYLES: Final = {
    "double-struck": "mathbb", "script": "mathcal", "fraktur": "mathfrak", "b": "mathbf", "bold": "mathbf",
}  # fmt: skip
_WORDS: Final = re.compile(rf"[一-鿿{HANGUL}][一-鿿{HANGUL}\s，、。]*")
_BASES: Final = re.compile(r"\\?[^\\{}\s]|\\[A-Za-z]+|\{.*\}|\\math[a-z]+\{[^{}]*\}", re.DOTALL)
_OPERATORS: Final = re.compile(r"\\(?:lim|max|min|sup|inf|sum|prod|int|iint|oint|bigcup|bigcap|coprod)\b\s*")
_TALL: Final = re.compile(r"\\(?:[dt]?frac|sum|int|begin|sqrt|left|overset|underset)\b")
_MATRICES: Final = {"()": "pmatrix", "[]": "bmatrix", "||": "vmatrix"}
_FENCES: Final = {"{": "\\{", "}": "\\}", "‖": "\\|", "∥": "\\|"}


def latex(node: Element) -> str:
    """LaTeX of a formula, without dollar signs."""
    return re.sub(r" {2,}", " ", _of(node)).strip()


def joined(pieces: Sequence[str]) -> str:
    """Pieces side by side: a command and a letter behind it stay apart."""
    text = ""
    for piece in pieces:
        apart = piece[:1].isalpha() and piece.isascii() and re.search(r"\\[A-Za-z]+$", text)
        text += f" {piece}" if apart else piece
    return text


def _of(node: Element) -> str:
    if node.tag.endswith("Pr") or node.tag in ("annotation", "annotation-xml", "mphantom"):
        return ""
    return _RULES.get(node.tag, _row)(node)


def _row(node: Element) -> str:
    return joined([_of(child) for child in node])


def _part(node: Element, name: str) -> str:
    return joined([_row(child) for child in node.iterfind(name)])


def _setting(node: Element, name: str, default: str = "") -> str:
    """The value of a property in OMML: "" of an empty element, the default of a missing one."""
    setting = node.find(f"{node.tag}Pr/{name}")
    return default if setting is None else setting.get("val", "")


def _letters(text: str, style: str, upright: bool) -> str:
    pieces = []
    for piece in re.split(rf"({_WORDS.pattern}|[A-Za-z]{{2,}})", text.replace("\u2061", "").replace("\u00a0", " ")):
        if _WORDS.fullmatch(piece):
            pieces.append(f"\\text{{{piece}}}")
        elif piece in FUNCTIONS:
            pieces.append(f"\\{piece}")
        elif upright and len(piece) > 1 and piece.isascii() and piece.isalpha():
            pieces.append(f"\\mathrm{{{piece}}}")
        else:
            pieces += map(symbol, piece)
    made = joined(pieces)
    return f"\\{style}{{{made}}}" if style and made.strip() else made


def _run(node: Element) -> str:
    texts = [child.text or "" for child in node.iterfind("t")]
    style = _STYLES.get(_setting(node, "scr"), "") or _STYLES.get(_setting(node, "sty"), "")
    if _setting(node, "nor", "missing") != "missing":
        return f"\\text{{{''.join(texts)}}}" if any(texts) else ""
    return _letters("".join(texts), style, _setting(node, "sty") == "p")


def _token(node: Element) -> str:
    text = " ".join("".join(node.itertext()).split())
    if node.tag in ("mtext", "ms"):
        return f"\\text{{{text}}}" if text else " "
    style = _STYLES.get(node.get("mathvariant", ""), "")
    return _letters(text, style, len(text) > 1)


def _scripts(base: str, below: str = "", above: str = "") -> str:
    is_whole = _OPERATORS.fullmatch(base) or _BASES.fullmatch(base) or re.fullmatch(r"\\\w+", base)
    marks = base if is_whole else f"{{{base}}}"
    primes = above.replace("\\prime", "'").replace(" ", "")
    marks += f"_{{{below}}}" if below else ""
    return marks + (primes if primes and set(primes) == {"'"} else f"^{{{above}}}" if above else "")


def _limits(base: str, below: str = "", above: str = "") -> str:
    if _OPERATORS.fullmatch(base) or not (below or above):
        return _scripts(base, below, above)
    for mark, stack in ((above, "overset"), (below, "underset")):
        base = _stacked(mark, _SIGNS.get(mark, mark), base, stack) if mark else base
    return base


def _stacked(mark: str, sign: str, base: str, stack: str) -> str:
    accent = _ACCENTS.get(sign)
    return f"\\{accent}{{{base}}}" if accent else f"\\{stack}{{{mark}}}{{{base}}}"


def _fenced(node: Element) -> str:
    opening, closing = _setting(node, "begChr", "("), _setting(node, "endChr", ")")
    inner = [_row(part) for part in node.iterfind("e")]
    return _between(opening, joined([_setting(node, "sepChr", "|").join(inner)]), closing)


def _between(opening: str, inner: str, closing: str) -> str:
    if array := re.fullmatch(r"\\begin\{(matrix|array)\}(?:\{l\})?(.*)\\end\{\1\}", inner, re.DOTALL):
        name = "cases" if (opening, closing) == ("{", "") else array[1] == "matrix" and _MATRICES.get(opening + closing)
        if name and "\\begin" not in array[2]:
            return f"\\begin{{{name}}}{array[2]}\\end{{{name}}}"
    first, last = (_FENCES.get(sign, symbol(sign) if sign else ".") for sign in (opening, closing))
    if _TALL.search(inner) or "." in (first, last):
        return joined([f"\\left{first}", inner, f"\\right{last}"])
    return joined([first, inner, last])


def _array(rows: Sequence[Sequence[str]], name: str = "matrix") -> str:
    lines = " \\\\ ".join(" & ".join(row) for row in rows)
    return f"\\begin{{{name}}}{'{l}' if name == 'array' else ''} {lines} \\end{{{name}}}"


def _accent(node: Element) -> str:
    sign, inner = _setting(node, "chr", "\u0302"), _part(node, "e")
    if sign == "\u20d7" and len(inner) > 1 and not re.fullmatch(r"\\\w+", inner):
        sign = "→"
    return _stacked(symbol(sign), sign, inner, "overset")


def _grouped(node: Element) -> str:
    sign, stack = _setting(node, "chr", "⏟"), "overset" if _setting(node, "pos") == "top" else "underset"
    return _stacked(symbol(sign), sign, _part(node, "e"), stack)


def _nary(node: Element) -> str:
    hidden = [_setting(node, f"{name}Hide") in ("1", "on", "true") for name in ("sub", "sup")]
    below, above = ("" if hides else _part(node, name) for name, hides in zip(("sub", "sup"), hidden, strict=True))
    return joined([_scripts(symbol(_setting(node, "chr", "∫")), below, above), " ", _part(node, "e")])


def _fraction(node: Element) -> str:
    over, under, kind = _part(node, "num"), _part(node, "den"), _setting(node, "type", "bar")
    forms = {"lin": f"{over}/{under}", "noBar": f"\\genfrac{{}}{{}}{{0pt}}{{}}{{{over}}}{{{under}}}"}
    return forms.get(kind, f"\\frac{{{over}}}{{{under}}}")


def _root(degree: str, inner: str) -> str:
    return f"\\sqrt[{degree}]{{{inner}}}" if degree else f"\\sqrt{{{inner}}}"


def _semantics(node: Element) -> str:
    texts = [child.text or "" for child in node.iterfind("annotation") if "tex" in child.get("encoding", "").lower()]
    return texts[0].strip() if texts else _row(node)


def _of_children(build: Callable[..., str]) -> Callable[[Element], str]:
    """A rule on the LaTeX of a node's children, in order."""

    def rule(node: Element) -> str:
        try:
            return build(*map(_of, node))
        except TypeError:  # more or fewer children than the element has by its standard
            return _row(node)

    return rule


_RULES: Final[dict[str, Callable[[Element], str]]] = {
    "r": _run,
    "f": _fraction,
    "sSup": lambda node: _scripts(_part(node, "e"), "", _part(node, "sup")),
    "sSub": lambda node: _scripts(_part(node, "e"), _part(node, "sub")),
    "sSubSup": lambda node: _scripts(_part(node, "e"), _part(node, "sub"), _part(node, "sup")),
    "sPre": lambda node: joined([_scripts("", _part(node, "sub"), _part(node, "sup")), _part(node, "e")]),
    "rad": lambda node: _root(_part(node, "deg"), _part(node, "e")),
    "d": _fenced,
    "nary": _nary,
    "limLow": lambda node: _limits(_part(node, "e"), _part(node, "lim")),
    "limUpp": lambda node: _limits(_part(node, "e"), "", _part(node, "lim")),
    "acc": _accent,
    "bar": lambda node: f"\\{'overline' if _setting(node, 'pos') == 'top' else 'underline'}{{{_part(node, 'e')}}}",
    "groupChr": _grouped,
    "borderBox": lambda node: f"\\boxed{{{_part(node, 'e')}}}",
    "m": lambda node: _array([[_row(cell) for cell in row] for row in node.iterfind("mr")]),
    "eqArr": lambda node: _array([[_row(row)] for row in node.iterfind("e")], "array"),
    **dict.fromkeys(("mi", "mn", "mo", "mtext", "ms"), _token),
    "mspace": lambda node: " ",
    "semantics": _semantics,
    "mfenced": lambda node: _between(node.get("open", "("), ",".join(map(_of, node)), node.get("close", ")")),
    "mfrac": _of_children(lambda over, under: f"\\frac{{{over}}}{{{under}}}"),
    "msup": _of_children(lambda base, above: _scripts(base, "", above)),
    **dict.fromkeys(("msub", "msubsup"), _of_children(_scripts)),
    "msqrt": lambda node: _root("", _row(node)),
    "mroot": _of_children(lambda inner, degree: _root(degree, inner)),
    "mover": _of_children(lambda base, above: _limits(base, "", above)),
    **dict.fromkeys(("munder", "munderover"), _of_children(_limits)),
    "mtable": lambda node: _array([[_row(cell) for cell in row] for row in node]),
}  # fmt: skip
