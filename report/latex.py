"""LaTeX to MathML that is safe to put into a page.

Contract: `to_mathml(source, display)` gives MathML made only of the elements, attributes and classes named
here, with all text escaped, or None where the formula is too large, too deep or not understood; the caller
then shows the source. The source may be hostile: size, depth and the number of elements are bounded before
and after the conversion. Browsers implement MathML Core, so what Core lacks is mapped: letter styles to
Unicode's mathematical alphabets, column alignment, boxes and strokes to classes of the style sheet.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from xml.etree.ElementTree import Element

from livek12.report.normalise import normalise

MAX_SOURCE = 4000
MAX_DEPTH = 40
MAX_ELEMENTS = 4000
TAGS = {
    "math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "msub", "msup", "msubsup", "mfrac", "msqrt", "mroot",
    "mover", "munder", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom",
}  # fmt: skip
ENUMERATED = {
    **dict.fromkeys(
        ("displaystyle", "stretchy", "fence", "accent", "movablelimits", "largeop", "separator"), ("true", "false")
    ),
    "scriptlevel": ("0", "1", "2"),
    "form": ("prefix", "infix", "postfix"),
    "display": ("inline", "block"),
}
LENGTHS = frozenset(("width", "height", "depth", "lspace", "rspace", "voffset", "minsize", "maxsize", "linethickness"))
LENGTH = re.compile(r"-?(?:\d{1,2}(?:\.\d{1,4})?|\.\d{1,4})(?:em|ex|px|pt)|0")
CLASSES = {
    ("columnalign", "left"): "left", ("columnalign", "right"): "right", ("columnspacing", "0em"): "aligned",
    ("notation", "box"): "boxed", ("notation", "updiagonalstrike"): "struck",
    ("notation", "downdiagonalstrike"): "struck", ("notation", "updiagonalstrike downdiagonalstrike"): "struck",
}  # fmt: skip
UPRIGHT_LETTER = re.compile(r"&#x000(?:4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A]);")
PRIMES = frozenset("′″‴⁗")
LIMITS = frozenset(("lim", "max", "min", "sup", "inf", "lim\u2009sup", "lim\u2009inf", "arg\u2009max", "arg\u2009min"))
FUNCTION = re.compile(
    "(?:arc)?(?:sin|cos|tan|cot|tg|ctg)|(?:sin|cos|tan|cot)h|sec|csc|l[ng]|log|exp|det|dim|ker|deg|hom|arg|gcd|lcm"
    "|sgn|tr|rank|Re|Im"
)
SIGNS = frozenset("+−-±∓")
CLOSING = frozenset(")]}!%°′″‴…⋯")
ROWS = ("mrow", "mstyle", "mtd", "math", "mpadded", "msqrt")
THIN_SPACE = '<mspace width="0.167em"></mspace>'
UNDER = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
REFERENCE = re.compile(r"&#x([0-9A-Fa-f]{1,6});")
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\uffff]"
)
# Offsets into Unicode's mathematical alphanumerics: capital, small letter, digit (None where there are none).
ALPHABETS: dict[str, tuple[int, int, int | None]] = {
    "bold": (0x1D400, 0x1D41A, 0x1D7CE), "bold-italic": (0x1D468, 0x1D482, 0x1D7CE),
    "double-struck": (0x1D538, 0x1D552, 0x1D7D8), "script": (0x1D49C, 0x1D4B6, None),
    "fraktur": (0x1D504, 0x1D51E, None), "sans-serif": (0x1D5A0, 0x1D5BA, 0x1D7E2),
    "monospace": (0x1D670, 0x1D68A, 0x1D7F6), "italic": (0x1D434, 0x1D44E, None),
}  # fmt: skip
# Letters that were encoded before the mathematical block was, and are missing in it.
EARLIER = dict(zip("ℬℰℱℋℐℒℳℛℯℊℴℭℌℑℜℨℂℍℕℙℚℝℤℎ", (
    0x1D49D, 0x1D4A0, 0x1D4A1, 0x1D4A3, 0x1D4A4, 0x1D4A7, 0x1D4A8, 0x1D4AD, 0x1D4BA, 0x1D4BC, 0x1D4C4, 0x1D506,
    0x1D50B, 0x1D50C, 0x1D515, 0x1D51D, 0x1D53A, 0x1D53F, 0x1D545, 0x1D547, 0x1D548, 0x1D549, 0x1D551, 0x1D455,
), strict=True))  # fmt: skip
HOLES = {code: letter for letter, code in EARLIER.items()}


class _NotRendered(ValueError):
    """The formula is not understood in whole."""


@lru_cache(maxsize=4096)
def to_mathml(source: str, display: bool = False) -> str | None:
    """MathML of one formula, or None where its source has to be shown instead."""
    from latex2mathml.converter import Converter

    if len(source) > MAX_SOURCE or _nesting(source) > MAX_DEPTH:
        return None
    try:
        latex = normalise(source)
        if len(latex) > 4 * MAX_SOURCE:
            return None
        tree = Converter(display="block" if display else "inline").convert_to_element(latex)
        return _Writer().write(tree)
    except Exception:  # the converter raises what it happens to run into (IndexError, RecursionError, …)
        return None


def _nesting(source: str) -> int:
    """An upper bound of how deep the formula nests, found without parsing it."""
    depth = deepest = chain = 0
    for token in re.finditer(r"[{}]|\\(?:left|right|begin|end)(?![A-Za-z])|\\[A-Za-z]+|[_^]|.", source, re.S):
        sign = token[0]
        depth += sign in ("{", r"\left", r"\begin")
        depth -= sign in ("}", r"\right", r"\end")
        chain = chain + 1 if sign[0] == "\\" or sign in "_^" else 0  # \sqrt\sqrt\sqrt nests without braces
        deepest = max(deepest, depth, chain)
    return deepest


class _Writer:
    """Serialises one tree, counting what it writes."""

    def __init__(self) -> None:
        self.elements = 0

    def write(self, element: Element, depth: int = 0) -> str:
        self.elements += 1
        if depth > 2 * MAX_DEPTH or self.elements > MAX_ELEMENTS:
            raise _NotRendered("too large")
        tag = "mrow" if element.tag == "menclose" else element.tag
        if tag not in TAGS:
            raise _NotRendered(str(tag))
        if prime := _prime(element):
            return self._primed(element, prime, depth)
        attributes, variant = _attributes(element)
        inside = _text(element.text or "", tag, variant)
        children = self._children(element, depth)
        if tag in UNDER and len(element) and _plain(element[0]) in LIMITS:
            tag = UNDER[tag]
        elif tag == "mi" and (variant == "normal" or UPRIGHT_LETTER.fullmatch(element.text or "")):
            attributes += ' mathvariant="normal"' if len(inside) == 1 else ""
        elif tag == "mo" and len(inside) > 1 and inside.isalpha() and inside not in LIMITS:
            tag = "mi"  # from \operatorname
        elif tag == "mo":
            attributes += _operator(inside, element)
        return f"<{tag}{attributes}>{inside}{children}</{tag}>"

    def _children(self, element: Element, depth: int) -> str:
        """The children, with the spaces of TeX where MathML would need a structure that the converter lacks."""
        written = []
        _pair_bars(element)
        for index, child in enumerate(element):
            if _plain(child) in SIGNS and _is_unary(element[:index]):
                child.set("form", "prefix")
            if (
                _is_function(child)
                and index > 0
                and element.tag in ROWS
                and element[index - 1].tag not in ("mo", "mspace")
            ):
                written.append(THIN_SPACE)
            written.append(self.write(child, depth + 1))
            following = element[index + 1] if index + 1 < len(element) else None
            if _is_function(child) and element.tag in ROWS and following is not None:
                written.append("" if following.tag in ("mo", "mspace") else THIN_SPACE)
        return "".join(written)

    def _primed(self, element: Element, prime: str, depth: int) -> str:
        """A prime beside its letter: text fonts draw it raised, so that as a superscript it would be lost."""
        base = self.write(element[0], depth + 1)
        if element.tag == "msubsup":
            base = f"<msub>{base}{self.write(element[1], depth + 1)}</msub>"
        return f'<mrow>{base}<mo lspace="0.05em" rspace="0.05em" stretchy="false">{prime}</mo></mrow>'


def _plain(element: Element) -> str:
    return REFERENCE.sub(_decoded, element.text or "")


def _pair_bars(parent: Element) -> None:
    """Bars that come in pairs enclose something: |x|; a single one stands between: P(A|B)."""
    bars = [child for child in parent if child.tag == "mo" and _plain(child) == "|" and "form" not in child.attrib]
    if len(bars) % 2 == 0:
        for index, bar in enumerate(bars):
            bar.set("form", "postfix" if index % 2 else "prefix")


def _is_function(element: Element) -> bool:
    if element.tag in UNDER and len(element):
        return _is_function(element[0])
    return element.tag in ("mi", "mo") and FUNCTION.fullmatch(_plain(element)) is not None


def _is_unary(before: list[Element]) -> bool:
    """Whether a sign after these elements belongs to what follows: "(−2" and "x = −2", not "x − 2"."""
    if not before:
        return True
    if before[-1].tag != "mo":
        return False
    last = _plain(before[-1])
    if last == "|":
        return sum(_plain(element) == "|" for element in before) % 2 == 1
    return last not in CLOSING


def _prime(element: Element) -> str:
    """The primes that are an element's whole superscript, if they are."""
    if element.tag not in ("msup", "msubsup") or len(element) == 0 or len(element[-1]):
        return ""
    text = _plain(element[-1])
    return text if text and set(text) <= PRIMES else ""


def _operator(sign: str, element: Element) -> str:
    if sign in ("↑", "↓") and not element.attrib:
        return ' stretchy="false"'
    return ' movablelimits="true"' if sign in LIMITS and "movablelimits" not in element.attrib else ""


def _attributes(element: Element) -> tuple[str, str | None]:
    """The attributes that may stay, written out, and the letter style, which becomes other letters."""
    kept, classes = [], []
    for name, value in element.attrib.items():
        if value in ENUMERATED.get(name, ()) or (name in LENGTHS and LENGTH.fullmatch(value)):
            kept.append(f' {name}="{value}"')
        elif (name, value) in CLASSES:
            classes.append(CLASSES[name, value])
        elif name == "rowlines":
            classes.append("headed" if value.split().count("solid") == 1 else "ruled")
        elif name == "columnlines" and "solid" in value:
            classes.append("parted")
    if element.tag == "mpadded" and "voffset" in element.attrib and not kept:
        classes.append("caption")  # what stands on an arrow; Core knows no relative sizes
    if classes:
        kept.append(f' class="{" ".join(classes)}"')
    return "".join(kept), element.attrib.get("mathvariant")


def _decoded(reference: re.Match[str]) -> str:
    code = int(reference[1], 16)
    return chr(code) if code < 0x110000 else "\ufffd"


def _text(raw: str, tag: str, variant: str | None) -> str:
    if "\\" in raw:
        raise _NotRendered(raw)  # a command the converter does not know
    decoded = REFERENCE.sub(_decoded, raw)
    if UNSAFE.search(decoded):
        raise _NotRendered("control character")
    styled = "".join(_styled(character, variant) for character in decoded) if variant in ALPHABETS else decoded
    return html.escape(styled.strip() if tag != "mtext" else styled)


def _styled(character: str, variant: str | None) -> str:
    capital, small, digit = ALPHABETS[variant or "normal"]
    if "A" <= character <= "Z":
        code = capital + ord(character) - ord("A")
    elif "a" <= character <= "z":
        code = small + ord(character) - ord("a")
    elif character.isascii() and character.isdigit() and digit is not None:
        code = digit + int(character)
    else:
        return character
    return HOLES.get(code) or chr(code)
