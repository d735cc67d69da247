"""LaTeX and plain-text mathematics as a bounded list of tokens.

Nothing is imported or evaluated: a token is a kind and a text from the lists below, or a symbol's name. Anything else
becomes a `word`, which no expression may contain.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from livek12.core.patterns import late
from livek12.judges.rules.notation import to_latex

MAX_CHARS = 2000
MAX_TOKENS = 800
MAX_NUMBER = 60


class Unparsable(Exception):
    """A text that is no known mathematics, or out of bounds."""


class Token(NamedTuple):
    """A token and its position."""

    kind: str
    text: str
    start: int
    end: int


FUNCTIONS = frozenset(
    "sin cos tan cot sec csc sinh cosh tanh coth sech csch arcsin arccos arctan arccot arcsec arccsc arsinh arcosh "
    "artanh ln log lg exp".split()
)
_ALIASES = {"tg": "tan", "ctg": "cot", "arctg": "arctan", "asin": "arcsin", "acos": "arccos", "atan": "arctan"}
GREEK = frozenset(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma tau upsilon phi chi "
    "psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega hbar ell".split()
)
_SAME_LETTER = {
    "hslash": "hbar",
    "varepsilon": "epsilon",
    "varphi": "phi",
    "vartheta": "theta",
    "varrho": "rho",
    "varsigma": "sigma",
}
_RELATIONS = {
    **{sign: sign for sign in ("<<", ">>", "->")},
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", "lt": "<", "gt": ">", "le": "<=",
    "leq": "<=", "leqslant": "<=", "ge": ">=", "geq": ">=", "geqslant": ">=", "ne": "!=", "neq": "!=",
    **dict.fromkeys("approx simeq sim thickapprox approxeq".split(), "~"), "in": "in", "equiv": "equiv",
    **dict.fromkeys("to rightarrow longrightarrow".split(), "->"), "propto": "prop",
    "ll": "<<", "gg": ">>", **dict.fromkeys("lesssim lessapprox".split(), "<~"),
    **dict.fromkeys("gtrsim gtrapprox".split(), ">~"),
}  # fmt: skip
_OPERATORS = {"times": "times", "cdot": "*", "ast": "*", "div": "/", "pm": "pm", "mp": "mp", "cup": "cup", "mid": "|",
              "vert": "|", "lvert": "|", "rvert": "|", "colon": ":", "setminus": "setminus", "backslash": "setminus",
              "lfloor": "floor(", "rfloor": "floor)", "lceil": "ceil(", "rceil": "ceil)"}  # fmt: skip
_OPERATORS |= dict.fromkeys(("cupdot", "uplus", "sqcup", "dotcup"), "cup")
_STRUCTURES = frozenset({"frac", "sqrt", "binom"})
_BIG = frozenset("int iint iiint oint sum prod lim".split())
_FRACTIONS = {"dfrac": "frac", "tfrac": "frac", "cfrac": "frac", "dbinom": "binom", "tbinom": "binom"}
_CONSTANTS = {"pi": "pi", "infty": "oo", "infinity": "oo", "emptyset": "empty", "varnothing": "empty",
              "circ": "deg", "degree": "deg", "prime": "prime", "dagger": "dagger", "top": "top",
              **dict.fromkeys("ldots dots cdots dotsc".split(), "dots")}  # fmt: skip
_DECORATIONS = frozenset(
    "vec bold hat bar overline tilde dot ddot dddot mathcal mathscr mathbb angle triangle arc mean ket bra".split()
)
_OPERATOR_NAMES = frozenset("det tr Tr Var Cov erf erfc sgn sign rank diag div grad curl rot Re Im arg".split())
"""Functions and operators without rules: their values equal only themselves."""
_SAME_DECORATION = {"overrightarrow": "vec", "widehat": "hat", "widetilde": "tilde", "wideparen": "arc",
                    "overarc": "arc", "measuredangle": "angle", "overleftrightarrow": "overline"}  # fmt: skip
_TRANSPARENT = frozenset(
    "left right big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle textstyle limits nolimits "
    "boxed fbox boldsymbol bm mathbf mathit mathsf rm bf it underline ensuremath therefore".split()
)
_SAME_NAME = {**_ALIASES, **_SAME_LETTER, **_FRACTIONS, **_SAME_DECORATION}
_AND = frozenset({"and", "和", "且", "与", "及", "以及", "및", "그리고"})
_OR = frozenset({"or", "或", "或者", "또는"})
_GIVEN = frozenset({"for", "when", "if", "where", "with"})
_JOINED = late(r"(?P<first>.{0,40}\S)\s+(?P<last>and|or|和|或|및|또는)", re.IGNORECASE)
EMPTY_SET = frozenset({"空集", "공집합", "无解", "无实数解", "no solution", "no solutions", "no real solution",
                        "no real solutions",
                        "empty set", "the empty set", "해가 없다", "there is no solution", "there are no solutions",
                        "no real roots", "no real root", "has no solution", "has no real roots",
                        "无实根", "没有实数根", "无实数根", "没有解", "方程无解", "해는 없다", "해가 없음", "해 없음",
                        "실근이 없다", "실수해가 없다"})  # fmt: skip
REALS = frozenset({"all real numbers", "all reals", "the real numbers", "the set of real numbers", "any real number",
                   "实数集", "全体实数", "一切实数", "任意实数", "所有实数", "实数集r", "全体实数r", "모든 실수",
                   "실수 전체", "실수 전체의 집합", "모든 실수의 집합"})  # fmt: skip
_STOP_WORDS = frozenset("if is as at to of in no on by for all not the yes any are odd end mod sum max min lim".split())

_DOUBLED = late(r"\\\\(?=[a-zA-Z]{2,}|[(){}\[\]])")
_SYSTEM = late(r"\\left\s*(?:\\\{|\\lbrace)\s*\\begin\s*\{(?:array|aligned|matrix|gathered)\}(?:\s*\{[clr]{1,3}\})?")
_END_SYSTEM = late(r"\\end\s*\{(?:array|aligned|matrix|gathered)\}\s*\\right\s*(?:\.|$)")
_ALIGNED = late(
    r"\\(?:begin|end)\s*\{(?:aligned|alignedat|align|gathered|gather|split|eqnarray|equation)\*?\}(?:\{\d\})?"
)
_GOES_ON = late(r"\\\\(?:\s*\[[^\]]{0,10}\])?\s*(?=&?\s*(?:=|\\approx|\\simeq))")
"""A row of a chain: "a &= b \\\\ &= c"."""
_MEAN = late(
    r"(?:\\left\s*)?\\langle(?P<mean>(?:(?!\\[lr]angle).){1,120}?)(?:\\right\s*)?\\rangle"
    r"|(?:\\left\s*)?\|(?P<ket>(?:(?!\\[lr]angle)[^|]){1,60}?)(?:\\right\s*)?\\rangle"
    r"|(?:\\left\s*)?\\langle(?P<bra>(?:(?!\\[lr]angle)[^|]){1,60}?)(?:\\right\s*)?\|",
    re.DOTALL,
)
MAX_NESTED = 3
_ANGLED = late(r"\\langle((?:(?!\\[lr]angle)[^|]){1,400}?,(?:(?!\\[lr]angle)[^|]){1,400}?)\\rangle")
_AMPERSAND = late(r"(?<!\\)&")
_SET_MINUS = late(r"(?<![a-zA-Z\\])(R|\\(?:mathbb|mathbf|Bbb)\s*\{?\s*R\s*\}?)\s*\\(?=\{)")
_ABSOLUTE = late(r"(?<![a-zA-Z\\])[Aa]bs\s*\(([^()|]{1,80})\)")
_CHOOSE = late(r"(?:\{|^)([^{}\\]{1,20})\\choose(?![a-z])([^{}\\]{1,20})(?:\}|$)")
_DATE = late(r"(?<!\d)(?:19|20)\d\d-[01]?\d-[0-3]?\d(?!\d)")
_TOKEN = late(
    r"(?P<space>\s+|\\[,;:!> ]|~|\$|\\[()\[\]])"
    r"|(?P<row>\\\\(?:\s*\[[^\]]{0,10}\])?)"
    r"|(?P<dots>\.{3,6}|…+|⋯+)"
    r"|\\pmod\s*\{?(?P<pmod>\w{1,12})\}?|\(\s*(?:mod|\\bmod|\\mod|\\text\s*\{\s*mod\s*\})\s*(?P<mod>\w{1,12})\s*\)"
    r"|\\(?P<env>begin|end)\s*\{(?P<envname>[a-zA-Z]+)\*?\}(?:\{[clr|]{1,12}\})?"
    r"|\\(?:text|textbf|textrm|textit|textnormal|mathrm|mbox|operatorname)\s*\{(?P<styled>[^{}]*)\}"
    r"|\\(?P<command>q?quad|[a-zA-Z]+)"
    r"|\\(?P<escaped>[{}|%&#_])"
    r"|(?P<num>[1-9]\d{0,2}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<letters>[a-zA-Z]+)"
    r"|(?P<rel><=|>=|!=|==|<<|>>|->|[=<>])"
    r"|(?P<op>[-+*/^_(){}\[\]|,;:!%'&.])"
    r"|(?P<other>[^\x00-\x7f]+|.)",
    re.DOTALL,
)


_BOLD = late(
    r"\\(?:mathbf|boldsymbol|bm|pmb)\s*(?:\{\s*(?P<braced>[A-Za-z]|\\[a-zA-Z]+)\s*\}|(?P<letter>[A-Za-z])(?![A-Za-z]))"
)
_SETS_OF_NUMBERS = frozenset("RZNQC")
_UPRIGHT = late(r"\\(?:mathrm|rm|mathit)\s+([A-Za-z])")
_OPERATOR = late(r"(?<![a-zA-Z\\{])(Tr|tr|det|Var|Cov|erfc?|sgn|rank|arg|Re|Im)(?=\s*(?:\\left\s*)?[(\[])")
"""An operator in plain letters, which is no product."""
_BIG_O = late(r"\\math(?:cal|scr)\s*\{?\s*O\s*\}?(?=\s*(?:\\left\s*)?\()")


def tokenize(text: str) -> tuple[list[Token], str]:
    """The tokens, and the text of their positions.

    Raises:
        Unparsable: too long, or with foreign characters.
    """
    if len(text) > MAX_CHARS:
        raise Unparsable("too long")
    source = to_latex(text).replace("{:}", ":").replace("**", "^")
    source = _OPERATOR.sub(r"\\operatorname{\1}", source)
    if "\\" in source:
        source = _plain_commands(source)
    if "&" in source and "\\begin" not in source:
        source = _AMPERSAND.sub(" ", source)
    if _DATE.search(source):
        raise Unparsable("a date")
    source = _ABSOLUTE.sub(r"|\1|", source)
    tokens: list[Token] = []
    position = depth = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None or len(tokens) > MAX_TOKENS:
            raise Unparsable("too many tokens")
        start, position = position, match.end()
        group = match.lastgroup or ""
        written = match[group]
        if group == "num":
            number, position = _number(written, source, start, depth)
            tokens.append(Token("num", number, start, position))
            continue
        index = tokens and tokens[-1][0] == "op" and tokens[-1][1] in "_^"
        broken = group == "letters" and len(written) > 1 and source.startswith("{", position)
        if group == "envname":
            tokens.append(Token(match["env"], written, start, position))
            continue
        for kind, value in [("word", written)] if broken else _READERS[group](written):
            if index and kind == "word":
                tokens += [Token(*part, start, position) for part in (("op", "{"), (kind, value), ("op", "}"))]
                continue
            tokens.append(Token(kind, value, start, position))
            depth += (kind == "op" and value in "([{") - (kind == "op" and value in ")]}")
    return tokens, source


def _plain_commands(source: str) -> str:
    source = _END_SYSTEM.sub(r"\\end{cases}", _SYSTEM.sub(r"\\begin{cases}", source))
    source = _BIG_O.sub("O", _UPRIGHT.sub(r"\1", _with_bold_letters(source)))
    if "angle" in source:
        source = _ANGLED.sub(r"(\1)", source)
        for _ in range(MAX_NESTED):
            source = _MEAN.sub(lambda pair: f"\\{pair.lastgroup}{{{pair[pair.lastgroup or 0]}}}", source)
    if _ALIGNED.search(source):
        source = _AMPERSAND.sub(" ", _GOES_ON.sub(" ", _ALIGNED.sub(" ", source)))
    source = _CHOOSE.sub(r"\\binom{\1}{\2}", _SET_MINUS.sub(r"\1\\setminus \\", source))
    return source if "\\begin" in source else _DOUBLED.sub(r"\\", source)


def _with_bold_letters(source: str) -> str:
    """Marks bold letters (vectors, matrices), unless all are sets of numbers."""
    letters = {match["braced"] or match["letter"] for match in _BOLD.finditer(source)}
    if letters <= _SETS_OF_NUMBERS:
        return source
    return _BOLD.sub(lambda match: f"\\bold{{{match['braced'] or match['letter']}}}", source)


def _number(written: str, source: str, start: int, depth: int) -> tuple[str, int]:
    grouped = "," in written
    if grouped and (depth or (start and source[start - 1] in ",.")):
        written = written.split(",", maxsplit=1)[0]
    if len(written) > MAX_NUMBER:
        raise Unparsable("number too long")
    return written.replace(",", ""), start + len(written)


_OPERATED = ("partial", "nabla")
_COMMANDS = {
    **{name: ("const", value) for name, value in _CONSTANTS.items()},
    **{name: ("operator", name) for name in _OPERATOR_NAMES},
    **{name: ("op", value) for name, value in _OPERATORS.items()}, "lbrace": ("op", "set{"), "rbrace": ("op", "set}"),
    **{name: ("rel", value) for name, value in _RELATIONS.items()}, **{name: (name, name) for name in _OPERATED},
    **{name: ("big", name) for name in _BIG},
    **{name: ("decor", name) for name in _DECORATIONS}, **{name: ("cmd", name) for name in _STRUCTURES},
    **{name: ("id", name) for name in GREEK}, **{name: ("func", name) for name in FUNCTIONS},
    **dict.fromkeys(("quad", "qquad"), ("sep", ",")),
}  # fmt: skip


def _command(name: str) -> list[tuple[str, str]]:
    name = _SAME_NAME.get(name, name)
    return [] if name in _TRANSPARENT else [_COMMANDS.get(name, ("word", "\\" + name))]


def _word(text: str) -> list[tuple[str, str]]:
    text = text.strip()
    plain = text.strip(" ~")
    if joint := _JOINED.fullmatch(plain):
        kind = "and" if joint["last"].lower() in _AND else "or"
        return [("word", joint["first"]), ("sep", kind)]
    if plain == ",":
        return [("sep", ",")]
    if plain.lower() in _AND:
        return [("sep", "and")]
    if plain.lower() in _OR:
        return [("sep", "or")]
    if plain.lower() in _GIVEN:
        return [("sep", "where" if plain.lower().startswith("w") and plain.lower() != "when" else "if")]
    if plain.lower() in EMPTY_SET:
        return [("const", "empty")]
    if plain.lower().rstrip(".") in {"constant", "const"}:
        return [("id", "constant")]
    if plain in FUNCTIONS or plain in _ALIASES:
        return [("func", _ALIASES.get(plain, plain))]
    if plain in _OPERATOR_NAMES:
        return [("operator", plain)]
    if len(plain) == 1 and plain.isascii() and plain.isalpha():
        return [("const", plain)] if plain in "ei" else [("id", plain)]
    return [("word", text)] if plain else []


_SPELLED = {**dict.fromkeys(FUNCTIONS, "func"), **dict.fromkeys(_ALIASES, "func"), **dict.fromkeys(GREEK, "id"),
            "pi": "const", "infinity": "const", "infty": "const", "oo": "const", "sqrt": "cmd"}  # fmt: skip
_PIECES = late("|".join([*sorted(_SPELLED, key=len, reverse=True), "[a-zA-Z]"]))


def _letters(run: str) -> list[tuple[str, str]]:
    if run.lower() in _AND or run.lower() in _OR:
        return _word(run)
    pieces = _PIECES.findall(run)
    singles = sum(len(piece) == 1 for piece in pieces)
    mixed = run[1:].lower() != run[1:] and not run.isupper()
    allowed = (
        5 if mixed and singles == len(pieces) else 3 if singles == len(pieces) else 2 if pieces[0] in FUNCTIONS else 1
    )
    if (run.lower() in _STOP_WORDS and (run[1:].islower() or run.isupper())) or singles > allowed:
        return [("word", run)]
    tokens: list[tuple[str, str]] = []
    for piece in pieces:
        kind = _SPELLED.get(piece)
        if kind == "func":
            tokens.append(("func", _ALIASES.get(piece, piece)))
        elif kind == "const":
            tokens.append(("const", "pi" if piece == "pi" else "oo"))
        elif kind:
            tokens.append((kind, piece))
        else:
            tokens.append(("const", piece) if piece in "ei" else ("id", piece))
    return tokens


_ESCAPED = {"{": "set{", "}": "set}"}
_SIGNS = {**{sign: [("op", sign)] for sign in "-+*/^_(){}[]|:!%'&"}, ".": []}
_SIGNS[","] = _SIGNS[";"] = [("sep", ",")]
_READERS: dict[str, Callable[[str], list[tuple[str, str]]]] = {
    "space": lambda _: [], "row": lambda _: [("row", "\\\\")], "dots": lambda _: [("const", "dots")],
    **dict.fromkeys(("pmod", "mod"), lambda base: [("mod", base)]), "command": _command, "letters": _letters,
    **dict.fromkeys(("styled", "other"), _word), "op": _SIGNS.__getitem__,
    "escaped": lambda sign: [("op", _ESCAPED.get(sign, sign))], "rel": lambda sign: [("rel", _RELATIONS[sign])],
}  # fmt: skip
"""Readers of the groups of a token."""
