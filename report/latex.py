r"""LaTeX to MathML that is safe to put into a page.

`to_mathml(source, display)` gives MathML of the elements, attributes and classes named here, or None where the formula
is too large, too deep or not understood; the caller then shows the source. The source may be hostile: size, depth and
number of elements are bounded before and after the conversion. Before it, notation is rewritten into what the converter
knows (text arguments, amsmath, mhchem's \ce and \pu); after it, gaps of MathML Core are filled by Unicode and CSS.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import lru_cache
from xml.etree.ElementTree import Element

ARROWS = {
    "<-->": r"\rightleftarrows",
    "<=>>": r"\rightleftharpoons",
    "<<=>": r"\rightleftharpoons",
    "<=>": r"\rightleftharpoons",
    "<->": r"\leftrightarrow",
    "->": r"\rightarrow",
    "<-": r"\leftarrow",
    "=": "=",
}
EXTENSIBLE = {
    r"\rightleftharpoons": r"\xrightleftharpoons",
    r"\rightleftarrows": r"\xrightleftharpoons",
    r"\leftrightarrow": r"\xleftrightarrow",
    r"\rightarrow": r"\xrightarrow",
    r"\leftarrow": r"\xleftarrow",
    "=": r"\xlongequal",
}
PIECE = re.compile(
    r"(?P<arrow><-->|<=>>|<<=>|<=>|<->|->|<-|=(?=[\s\[]))(?:\[(?P<above>[^\]]*)\])?(?:\[(?P<below>[^\]]*)\])?"
    r"|(?<=\s)(?P<gas>\^)(?=\s|$)|(?<=\s)(?P<solid>v)(?=\s|$)|(?<=\s)(?P<plus>\+)(?=\s)"
    r"|(?P<raised>\^)(?:\{(?P<group>[^{}]*)\}|(?P<charge>\d*[+-]|\d+))"
    r"|_(?:\{(?P<lowered>[^{}]*)\}|(?P<low>\d+))"
    r"|(?<=[A-Za-z)\]}])(?P<count>\d+)"
    r"|(?<=[A-Za-z0-9)\]}])(?P<sign>[+-])(?=[\s)\],]|$)"
    r"|(?P<state>\((?:aq|s|l|g)\))|(?P<dot>[*.](?=\d*[A-Z]))|(?P<bond>[-#~](?=[A-Z(\[]))"
    r"|(?P<command>\\[A-Za-z]+)|(?P<math>\$[^$]*\$)|(?P<letters>[A-Za-z]+)|(?P<space>\s+)"
)
PLAIN = {"gas": r"\uparrow ", "solid": r"\downarrow ", "plus": "{}+{}", "space": r"\,", "dot": r"\cdot "}
BONDS = {"-": r"\text{-}", "#": r"\equiv ", "~": r"\sim "}


def ce(source: str) -> str:
    """A chemical formula or equation as LaTeX."""
    return PIECE.sub(_piece, source.strip())


def pu(source: str) -> str:
    """A number with an upright unit as LaTeX."""
    spaced = re.sub(r"\s*\*\s*", r"\\cdot ", source.strip())
    spaced = re.sub(r"(\d)[eE]([+-]?\d+)", r"\1\\times 10^{\2}", spaced)
    spaced = re.sub(r"\^(-?\d+)", r"^{\1}", spaced)
    spaced = re.sub(r"(?<![\\A-Za-z{])[A-Za-zµμΩ]+|(?<!\S)[A-Za-z]+", lambda unit: rf"\mathrm{{{unit[0]}}}", spaced)
    return re.sub(r"\s+", r"\\,", spaced)


def _piece(match: re.Match[str]) -> str:
    kind = next(name for name, value in match.groupdict().items() if value is not None)
    text = match[kind]
    if kind == "arrow":
        return _arrow(ARROWS[text], match["above"], match["below"])
    if kind == "raised":
        charge = match["group"] if match["group"] is not None else match["charge"]
        return f"^{{{charge}}}"
    if kind in ("lowered", "low", "count"):
        return f"_{{{text}}}"
    if kind == "sign":
        return f"^{{{text}}}"
    if kind == "bond":
        return BONDS[text]
    if kind in ("letters", "state"):
        return rf"\mathrm{{{text}}}"
    if kind == "math":
        return text[1:-1]
    return PLAIN.get(kind, text + " ")


def _arrow(arrow: str, above: str | None, below: str | None) -> str:
    if not above and not below:
        return f" {arrow} "
    under = f"[{_condition(below)}]" if below else ""
    return f" {EXTENSIBLE[arrow]}{under}{{{_condition(above or '')}}} "


def _condition(text: str) -> str:
    return ce(text) if text.isascii() else rf"\text{{{text}}}"


REFUSED = re.compile(
    r"\\(?:newcommand|renewcommand|providecommand|def|gdef|edef|let|DeclareMathOperator|newenvironment|href|url"
    r"|class|style|unicode|verb|input|include|csname|includegraphics|begin\s*\{(?:tabular|enumerate|itemize"
    r"|tikzpicture|figure|table|center)\*?\})(?![A-Za-z])"
)
TABLES = {
    **dict.fromkeys(("align", "aligned", "alignat", "alignedat", "eqnarray", "split"), "split"),
    **dict.fromkeys(("gather", "gathered", "multline"), "displaylines"),
    **dict.fromkeys(("dcases", "cases"), "cases"),
}
# Environments whose fences the converter lacks, or draws too small.
FENCED = {"rcases": (".", r"\}"), "vmatrix": ("|", "|"), "Vmatrix": (r"\|", r"\|")}
REPLACEMENTS = {
    r"\tfrac": r"\frac", r"\nicefrac": r"\frac", r"\sfrac": r"\frac",
    r"\centerdot": r"\cdot", r"\cdotp": r"\cdot", r"\dotproduct": r"\cdot",
    r"\thinspace": r"\,", r"\medspace": r"\:", r"\thickspace": r"\;", r"\nobreakspace": "~", r"\enskip": r"\enspace",
    r"\hfill": r"\quad", r"\hfil": r"\quad", r"\break": "", r"\newline": r"\\", r"\par": r"\\", r"\noindent": "",
    r"\displaystyle": "", r"\textstyle": "", r"\scriptstyle": "", r"\allowbreak": "", r"\nolimits": "",
    r"\nonumber": "", r"\notag": "", r"\protect": "", r"\relax": "", r"\null": "", r"\strut": "", r"\mathstrut": "",
    r"\big": "", r"\Big": "", r"\bigg": "", r"\Bigg": "", r"\large": "", r"\Large": "", r"\LARGE": "", r"\small": "",
    r"\tiny": "", r"\scriptsize": "", r"\footnotesize": "", r"\normalsize": "", r"\huge": "", r"\Huge": "",
    r"\bigl": "", r"\bigr": "", r"\bigm": "", r"\Bigl": "", r"\Bigr": "", r"\Bigm": "",
    r"\biggl": "", r"\biggr": "", r"\biggm": "", r"\Biggl": "", r"\Biggr": "", r"\Biggm": "",
    r"\R": r"\mathbb{R}", r"\Z": r"\mathbb{Z}", r"\N": r"\mathbb{N}", r"\Q": r"\mathbb{Q}", r"\C": r"\mathbb{C}",
    r"\reals": r"\mathbb{R}", r"\dd": r"\mathrm{d}", r"\differentialD": r"\mathrm{d}",
    r"\textdegree": r"^{\circ}", r"\degreeCelsius": r"^{\circ}\mathrm{C}", r"\celsius": r"^{\circ}\mathrm{C}",
    r"\permil": "‰", r"\textperthousand": "‰", r"\micro": r"\mu", r"\ohm": r"\Omega", r"\textmu": r"\mu",
    r"\textohm": r"\Omega", r"\texttimes": r"\times", r"\textbackslash": r"\backslash", r"\textasciitilde": r"\sim",
    r"\arccot": r"\operatorname{arccot}", r"\sgn": r"\operatorname{sgn}", r"\arsinh": r"\operatorname{arsinh}",
    r"\rank": r"\operatorname{rank}", r"\tr": r"\operatorname{tr}", r"\lcm": r"\operatorname{lcm}",
    r"\iff": r"\Longleftrightarrow", r"\implies": r"\Longrightarrow", r"\impliedby": r"\Longleftarrow",
    r"\xlongrightarrow": r"\xrightarrow", r"\xlongleftarrow": r"\xleftarrow",
    r"\parallelslant": r"\parallel", r"\varparallel": r"\parallel", r"\sslash": r"\parallel",
    r"\nparallelslant": r"\nparallel", r"\leqslant": r"\leq", r"\geqslant": r"\geq",
    r"\emph": r"\text", r"\operatorname*": r"\operatorname",
    r"\lparen": "(", r"\rparen": ")", r"\lbrack": "[", r"\rbrack": "]", r"\slash": "/", r"\colon": ":",
    r"\square": "□", r"\Box": "□", r"\blacksquare": "■", r"\qed": "□", r"\checkmark": "✓", r"\textcircled": "",
    r"\arc": r"\overset{\frown}", r"\wideparen": r"\overset{\frown}", r"\overarc": r"\overset{\frown}",
    r"\lvert": "|", r"\rvert": "|", r"\lVert": r"\|", r"\rVert": r"\|", r"\vert": "|", r"\Vert": r"\|",
    r"\textless": "<", r"\textgreater": ">", r"\textbar": "|", r"\textquotesingle": "'", r"\ensuremath": "",
    r"\displaylimits": "", r"\answer": "", r"\AA": "Å", r"\angstrom": "Å", r"\degree": r"^{\circ}", r"\euro": "€",
    r"\pounds": "£", r"\yen": "¥",
}  # fmt: skip
COMMAND = re.compile(r"\\operatorname\*|\\[A-Za-z]+")
DROPPED = re.compile(r"\\(?:label|vspace|vskip|color|pagecolor|phantom|vphantom|hphantom|cline|cmidrule)\s*\{[^{}]*\}")
SPANNING = re.compile(r"\\multirow\s*\{[^{}]*\}\s*\{[^{}]*\}|\\multicolumn\s*\{(?P<columns>\d)\}\s*\{[^{}]*\}\s*(?=\{)")
TEXT_MACRO = re.compile(
    r"\\(text(?:bf|it|md|normal|rm|sf|tt|up)?|mbox|hbox|fbox|textcolor|ce|pu|SI|si|operatorname\*?|emph)\s*\{"
)
ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([A-Za-z]+)(\*?)\}(\s*\[[tbc]\])?")
COLUMNS = re.compile(r"(\\begin\{array\})\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
BARE_BREAK = re.compile(r"\\\\(?![A-Za-z])")


def normalise(source: str) -> str:
    """Formula in the converter's dialect.

    Raises:
        ValueError: the formula defines macros, links somewhere or draws.
    """
    if match := REFUSED.search(source):
        raise ValueError(f"{match[0]} is not rendered")
    latex = source.replace("\u2212", "-").replace("\u00a0", " ")
    latex = re.sub(r"(?<!\\)\\[\[\]()]", " ", latex)
    latex = _text_arguments(latex, 0)
    latex = re.sub(r"(?<!\\)((?:\\\\)*)%", r"\1\\%", latex)
    latex = re.sub(r"(?<!\\)\$", " ", DROPPED.sub("", latex))
    latex = re.sub(r"(^|[({\[,&=])\s*(?=[\^_])", r"\1{}", SPANNING.sub("", latex))
    latex = COMMAND.sub(_command, latex)
    latex = re.sub(r"\\(?:left|right)\s*(?=\\[A-Za-z{}|]|[^\\A-Za-z\s])", lambda match: match[0].rstrip(), latex)
    return _rows(_environments(latex))


def _command(match: re.Match[str]) -> str:
    replacement = REPLACEMENTS.get(match[0])
    if replacement is None:
        return re.sub(r"^(\\q?quad)(?!$)", r"\1 ", match[0])
    # "\large x" must not become "x" glued to a command before it, nor "\R x" become "\mathbb{R}x" with no gap
    return replacement + " " if replacement[-1:].isalpha() or not replacement else replacement


def _text_arguments(latex: str, depth: int) -> str:
    r"""Encodes the arguments of \text and its kin; a formula inside them ($…$) remains one."""
    pieces, position = [], 0
    while macro := TEXT_MACRO.search(latex, position):
        end = closing_brace(latex, macro.end() - 1)
        if end is None or depth > 8:
            raise ValueError("unbalanced braces")
        inner = latex[macro.end() : end]
        pieces += [latex[position : macro.start()], _text_macro(macro[1], inner, depth)]
        position = end + 1
    return "".join([*pieces, latex[position:]])


def _text_macro(name: str, inner: str, depth: int) -> str:
    chemical: dict[str, Callable[[str], str]] = {"ce": ce, "pu": pu}
    if name in chemical:
        return _text_arguments("{" + chemical[name](inner) + "}", depth + 1)
    if name == "textcolor":
        return ""  # the colour; its second argument follows as a group of its own
    if name.startswith("operatorname"):
        return _operatorname(inner)
    if name == "fbox":
        return rf"\boxed{{{_text_macro('text', inner, depth)}}}"
    words, formulas = inner.split("$")[0::2], inner.split("$")[1::2]
    pieces = []
    for index, word in enumerate(words):
        if word:
            pieces.append(_mathematical(word) if _is_formula(word) else rf"\text{{{encode(word)}}}")
        if index < len(formulas):
            pieces.append("{" + _text_arguments(formulas[index], depth + 1) + "}")
    body = "".join(pieces)
    return rf"\mathbf{{{body}}}" if name == "textbf" else "{" + body + "}"


def _operatorname(name: str) -> str:
    if re.fullmatch(r"\s*(?:[A-Za-z]\s)*[A-Za-z]\s*", name):  # recognised letter by letter: "c o s"
        name = re.sub(r"\s", "", name)
    return rf"\operatorname{{{name}}}" if re.fullmatch(r"[A-Za-z ]+", name) else rf"\mathrm{{{name}}}"


def _is_formula(word: str) -> bool:
    r"""A text argument has commands that only maths can show, as in \text{H_2O} or \text{\Omega}."""
    return re.search(r"\\[A-Za-z]{2,}|(?<!\\)[_^]", word) is not None


def _mathematical(word: str) -> str:
    pieces = re.split(r"((?:\\(?:text\w*|mathrm)\s*\{[^{}]*\})|\\[A-Za-z]+|[_^](?:\{[^{}]*\}|\\?\w+)?|[{}])", word)
    return "".join(
        piece if index % 2 else (rf"\text{{{encode(piece)}}}" if piece else "") for index, piece in enumerate(pieces)
    )


def encode(text: str) -> str:
    """Text with special signs as character references, safe from later steps."""
    plain = re.sub(r"\\([%$&#_{}\s,;:!])", lambda match: " " if match[1] in " ,;:!" else match[1], text)
    plain = plain.replace("~", " ").replace("\\\\", " ")
    plain = plain if "\\" in plain else plain.replace("{", "").replace("}", "")
    plain = re.sub(r"\s", "\u00a0", plain)
    return re.sub(
        r"[^\w.,;()]|(?<![^\W\d])\d+(?=[a-z])", lambda match: "".join(f"&#x{ord(c):X};" for c in match[0]), plain
    )


def closing_brace(latex: str, opening: int) -> int | None:
    """Position of the brace that closes the one at `opening`, or None."""
    depth = 0
    for brace in re.compile(r"\\.|[{}]", re.S).finditer(latex, opening):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if depth == 0:
            return brace.start()
    return None


def _environments(latex: str) -> str:
    latex = re.sub(r"(\\begin\{align(?:ed)?at\*?\})\s*\{\d+\}", r"\1", latex)
    latex = COLUMNS.sub(lambda match: f"{match[1]}{{{_columns(match[2])}}}", latex)
    return ENVIRONMENT.sub(_environment, latex)


def _columns(specification: str) -> str:
    plain = re.sub(r"[@!><]\s*\{[^{}]*\}|\\[A-Za-z]+", "", specification)
    plain = re.sub(r"[pmb]\s*\{[^{}]*\}", "l", plain)
    return "".join(column for column in plain if column in "lcr|") or "l"


def _environment(match: re.Match[str]) -> str:
    edge, name, star = match[1], match[2], match[3]
    if name == "equation":
        return " "
    if fence := FENCED.get(name):
        return rf"\left{fence[0]}\begin{{matrix}}" if edge == "begin" else rf"\end{{matrix}}\right{fence[1]}"
    table = TABLES.get(name)
    return rf"\{edge}{{{table}}}" if table else rf"\{edge}{{{name}{star}}}"


def _rows(latex: str) -> str:
    """Puts line breaks outside environments into a table, and drops the space after a break."""
    latex = re.sub(r"\\\\\s*\[-?[\d.]+\s*[a-z]+\]|\\\\\*", r"\\\\", latex)
    latex = re.sub(r"&\s*(?=\\end\{)", "&{}", latex)  # the converter drops a last row whose last cell is empty
    outside = re.sub(r"\\begin\{.*\\end\{[A-Za-z]+\*?\}|\\substack\s*\{.*\}", "", latex, flags=re.S)
    if re.search(r"(?<!\\)&", re.sub(r"&#x[0-9A-F]+;", "", outside)):
        return rf"\begin{{split}}{latex}\end{{split}}"
    if BARE_BREAK.search(outside):
        return rf"\begin{{displaylines}}{latex}\end{{displaylines}}"
    return latex


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
# Letters encoded earlier, and so missing in the mathematical block.
EARLIER = dict(zip("ℬℰℱℋℐℒℳℛℯℊℴℭℌℑℜℨℂℍℕℙℚℝℤℎ", (
    0x1D49D, 0x1D4A0, 0x1D4A1, 0x1D4A3, 0x1D4A4, 0x1D4A7, 0x1D4A8, 0x1D4AD, 0x1D4BA, 0x1D4BC, 0x1D4C4, 0x1D506,
    0x1D50B, 0x1D50C, 0x1D515, 0x1D51D, 0x1D53A, 0x1D53F, 0x1D545, 0x1D547, 0x1D548, 0x1D549, 0x1D551, 0x1D455,
), strict=True))  # fmt: skip
HOLES = {code: letter for letter, code in EARLIER.items()}


class _NotRendered(ValueError):
    """The formula is not fully understood."""


@lru_cache(maxsize=4096)
def to_mathml(source: str, display: bool = False) -> str | None:
    """MathML of one formula, or None where its source has to be shown."""
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
    """An upper bound of the nesting depth, without parsing."""
    depth = deepest = chain = 0
    for token in re.finditer(r"[{}]|\\(?:left|right|begin|end)(?![A-Za-z])|\\[A-Za-z]+|[_^]|.", source, re.S):
        sign = token[0]
        depth += sign in ("{", r"\left", r"\begin")
        depth -= sign in ("}", r"\right", r"\end")
        chain = chain + 1 if sign[0] == "\\" or sign in "_^" else 0  # \sqrt\sqrt\sqrt nests without braces
        deepest = max(deepest, depth, chain)
    return deepest


class _Writer:
    """Serialises one tree, counting elements."""

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
        """Children, with TeX's spaces where MathML would need a structure that the converter lacks."""
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
        """A prime beside its letter: text fonts draw it raised, so as a superscript it would be lost."""
        base = self.write(element[0], depth + 1)
        if element.tag == "msubsup":
            base = f"<msub>{base}{self.write(element[1], depth + 1)}</msub>"
        return f'<mrow>{base}<mo lspace="0.05em" rspace="0.05em" stretchy="false">{prime}</mo></mrow>'


def _plain(element: Element) -> str:
    return REFERENCE.sub(_decoded, element.text or "")


def _pair_bars(parent: Element) -> None:
    """Makes bars in pairs fences (|x|), single ones separators (P(A|B))."""
    bars = [child for child in parent if child.tag == "mo" and _plain(child) == "|" and "form" not in child.attrib]
    if len(bars) % 2 == 0:
        for index, bar in enumerate(bars):
            bar.set("form", "postfix" if index % 2 else "prefix")


def _is_function(element: Element) -> bool:
    if element.tag in UNDER and len(element):
        return _is_function(element[0])
    return element.tag in ("mi", "mo") and FUNCTION.fullmatch(_plain(element)) is not None


def _is_unary(before: list[Element]) -> bool:
    """A sign here belongs to what follows: "(−2" and "x = −2", not "x − 2"."""
    if not before:
        return True
    if before[-1].tag != "mo":
        return False
    last = _plain(before[-1])
    if last == "|":
        return sum(_plain(element) == "|" for element in before) % 2 == 1
    return last not in CLOSING


def _prime(element: Element) -> str:
    """Primes that are an element's whole superscript, or ""."""
    if element.tag not in ("msup", "msubsup") or len(element) == 0 or len(element[-1]):
        return ""
    text = _plain(element[-1])
    return text if text and set(text) <= PRIMES else ""


def _operator(sign: str, element: Element) -> str:
    if sign in ("↑", "↓") and not element.attrib:
        return ' stretchy="false"'
    return ' movablelimits="true"' if sign in LIMITS and "movablelimits" not in element.attrib else ""


def _attributes(element: Element) -> tuple[str, str | None]:
    """Allowed attributes as text, and the letter style, which becomes other letters."""
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
