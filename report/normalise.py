r"""Rewrites common LaTeX into what the converter understands.

Contract: `normalise(source)` keeps the meaning and changes only notation: text arguments become single
tokens with encoded characters, amsmath environments become the table environments the converter knows,
sizes, labels and colours are dropped, \ce and \pu are written out. A ValueError names what must not be
converted at all (macro definitions, links).
"""

from __future__ import annotations

import re
from collections.abc import Callable

from livek12.report import chemistry

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
    """The same formula in the converter's dialect.

    Raises:
        ValueError: the formula defines macros, links somewhere or draws.
    """
    if found := REFUSED.search(source):
        raise ValueError(f"{found[0]} is not rendered")
    latex = source.replace("\u2212", "-").replace("\u00a0", " ")
    latex = re.sub(r"(?<!\\)\\[\[\]()]", " ", latex)
    latex = _text_arguments(latex, 0)
    latex = re.sub(r"(?<!\\)((?:\\\\)*)%", r"\1\\%", latex)
    latex = re.sub(r"(?<!\\)\$", " ", DROPPED.sub("", latex))
    latex = re.sub(r"(^|[({\[,&=])\s*(?=[\^_])", r"\1{}", SPANNING.sub("", latex))
    latex = COMMAND.sub(_command, latex)
    latex = re.sub(r"\\(?:left|right)\s*(?=\\[A-Za-z{}|]|[^\\A-Za-z\s])", lambda found: found[0].rstrip(), latex)
    return _rows(_environments(latex))


def _command(found: re.Match[str]) -> str:
    replacement = REPLACEMENTS.get(found[0])
    if replacement is None:
        return re.sub(r"^(\\q?quad)(?!$)", r"\1 ", found[0])
    # "\large x" must not become "x" glued to a command before it, nor "\R x" become "\mathbb{R}x" with no gap
    return replacement + " " if replacement[-1:].isalpha() or not replacement else replacement


def _text_arguments(latex: str, depth: int) -> str:
    r"""Encodes the arguments of \text and its kin; a formula inside them ($…$) stays a formula."""
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
    chemical: dict[str, Callable[[str], str]] = {"ce": chemistry.ce, "pu": chemistry.pu}
    if name in chemical:
        return _text_arguments("{" + chemical[name](inner) + "}", depth + 1)
    if name == "textcolor":
        return ""  # the colour; its second argument follows as a group of its own
    if name.startswith("operatorname"):
        return _operator(inner)
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


def _operator(name: str) -> str:
    if re.fullmatch(r"\s*(?:[A-Za-z]\s)*[A-Za-z]\s*", name):  # recognised letter by letter: "c o s"
        name = re.sub(r"\s", "", name)
    return rf"\operatorname{{{name}}}" if re.fullmatch(r"[A-Za-z ]+", name) else rf"\mathrm{{{name}}}"


def _is_formula(word: str) -> bool:
    r"""Whether commands stand in a text argument, as in \text{H_2O} or \text{\Omega}, that only maths can show."""
    return re.search(r"\\[A-Za-z]{2,}|(?<!\\)[_^]", word) is not None


def _mathematical(word: str) -> str:
    pieces = re.split(r"((?:\\(?:text\w*|mathrm)\s*\{[^{}]*\})|\\[A-Za-z]+|[_^](?:\{[^{}]*\}|\\?\w+)?|[{}])", word)
    return "".join(
        piece if index % 2 else (rf"\text{{{encode(piece)}}}" if piece else "") for index, piece in enumerate(pieces)
    )


def encode(text: str) -> str:
    """Text whose special signs are character references, so that no later step reads them as LaTeX."""
    plain = re.sub(r"\\([%$&#_{}\s,;:!])", lambda found: " " if found[1] in " ,;:!" else found[1], text)
    plain = plain.replace("~", " ").replace("\\\\", " ")
    plain = plain if "\\" in plain else plain.replace("{", "").replace("}", "")
    plain = re.sub(r"\s", "\u00a0", plain)
    return re.sub(
        r"[^\w.,;()]|(?<![^\W\d])\d+(?=[a-z])", lambda found: "".join(f"&#x{ord(c):X};" for c in found[0]), plain
    )


def closing_brace(latex: str, opening: int) -> int | None:
    """Where the brace at `opening` closes, or None."""
    depth = 0
    for brace in re.compile(r"\\.|[{}]", re.S).finditer(latex, opening):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if depth == 0:
            return brace.start()
    return None


def _environments(latex: str) -> str:
    latex = re.sub(r"(\\begin\{align(?:ed)?at\*?\})\s*\{\d+\}", r"\1", latex)
    latex = COLUMNS.sub(lambda found: f"{found[1]}{{{_columns(found[2])}}}", latex)
    return ENVIRONMENT.sub(_environment, latex)


def _columns(specification: str) -> str:
    plain = re.sub(r"[@!><]\s*\{[^{}]*\}|\\[A-Za-z]+", "", specification)
    plain = re.sub(r"[pmb]\s*\{[^{}]*\}", "l", plain)
    return "".join(column for column in plain if column in "lcr|") or "l"


def _environment(found: re.Match[str]) -> str:
    edge, name, star = found[1], found[2], found[3]
    if name == "equation":
        return " "
    if fence := FENCED.get(name):
        return rf"\left{fence[0]}\begin{{matrix}}" if edge == "begin" else rf"\end{{matrix}}\right{fence[1]}"
    table = TABLES.get(name)
    return rf"\{edge}{{{table}}}" if table else rf"\{edge}{{{name}{star}}}"


def _rows(latex: str) -> str:
    """Gives line breaks outside any environment a table to stand in, and drops the space after a break."""
    latex = re.sub(r"\\\\\s*\[-?[\d.]+\s*[a-z]+\]|\\\\\*", r"\\\\", latex)
    latex = re.sub(r"&\s*(?=\\end\{)", "&{}", latex)  # the converter drops a last row whose last cell is empty
    outside = re.sub(r"\\begin\{.*\\end\{[A-Za-z]+\*?\}|\\substack\s*\{.*\}", "", latex, flags=re.S)
    if re.search(r"(?<!\\)&", re.sub(r"&#x[0-9A-F]+;", "", outside)):
        return rf"\begin{{split}}{latex}\end{{split}}"
    if BARE_BREAK.search(outside):
        return rf"\begin{{displaylines}}{latex}\end{{displaylines}}"
    return latex
