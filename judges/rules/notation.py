"""Surface forms of answers: removes, unifies or splits what carries no meaning.

Pure functions, linear in the text, that never raise.
"""

from __future__ import annotations

import re
import unicodedata

from livek12.core.patterns import late
from livek12.core.text import of_short

_RAISED = [*range(0xB2, 0xBA), *range(0x2B0, 0x2B9), *range(0x1D2C, 0x1D6B), *range(0x2070, 0x209D), 0x2C7C]
"""Unicode ranges of superscripts and subscripts."""


def _small(kind: str) -> dict[str, str]:
    chars = (char for char in map(chr, _RAISED) if unicodedata.decomposition(char).startswith(f"<{kind}>"))
    return {char: unicodedata.normalize("NFKC", char).replace("−", "-") for char in chars}


_SUPERSCRIPTS, _SUBSCRIPTS = _small("super"), _small("sub")
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩϕϵ",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi "
        "psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega phi epsilon".split(),
        strict=True,
    )
)
_SIGNS = r"""
µ \mu − - – - — - ‐ - × \times ✕ \times · \cdot ⋅ \cdot ∙ \cdot • \cdot ÷ \div ⁄ / ∕ / √ \sqrt
∛ \sqrt[3] ∜ \sqrt[4] ⊎ \cup ⊔ \cup ∞ \infty ≤ \le ≦ \le ⩽ \le ≥ \ge ≧ \ge ⩾ \ge ≠ \ne ≡ \equiv
⌊ \lfloor ⌋ \rfloor ⌈ \lceil ⌉ \rceil ≈ \approx ≒ \approx ± \pm ∓ \mp ∪ \cup ∩ \cap ∈ \in
∅ \emptyset ∣ | ｜ | ∖ \setminus ℝ \mathbb{R} ℤ \mathbb{Z} ° ^\circ º ^\circ ′ ' ’ ' ∶ : 【 [ 】 ] 〈 (
〉 ) 、 , 。 . ％ % ∠ \angle △ \triangle Ω \Omega ħ \hbar
""".split()
"""Signs, each before its LaTeX."""
_SYMBOLS = {letter: f"\\{name} " for letter, name in _GREEK.items()}
_SYMBOLS |= {
    sign: latex + " " * ("\\" in latex and latex[-1] != "}")
    for sign, latex in zip(_SIGNS[::2], _SIGNS[1::2], strict=True)
}
_SYMBOL_OF = str.maketrans(_SYMBOLS)
_COLOURS = late(r"\\(?:textcolor|colorbox|color)\s*\{(?!white\b|transparent\b)[a-zA-Z]+\}")
_REPEATING = late(
    r"(?<![\d.])(?P<whole>\d{1,12})\.(?P<fixed>\d{0,12})(?:\\(?:overline|bar)\s*(?:\{(?P<line>\d{1,12})\}|(?P<one>\d))"
    r"|\\dot\s*\{?(?P<first>\d)\}?(?:(?P<inner>\d{0,12})\\dot\s*\{?(?P<last>\d)\}?)?)(?!\d)"
)
_ANGSTROM = late(r"\\overset\s*\{\s*(?:\^?\\circ|o)\s*\}\s*\{\s*(?:\\(?:text|mathrm)\s*\{\s*A\s*\}|A)\s*\}")
_REPEATING_WHOLE = late(r"[+-]?(?P<whole>\d{1,12})\.(?P<fixed>\d{0,12})\((?P<line>\d{1,12})\)")
_INVISIBLE = late("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_SCRIPT_RUN = late(f"([{''.join(_SUPERSCRIPTS)}]+)|([{''.join(_SUBSCRIPTS)}]+)")
_GROUPS = late(r"(?<=\d)\s*(?:\{\s*,\s*\}|,\\!)\s*(?=\d{3}(?!\d))")
_CIRCLED = late("[①-⑳㉠-㉻Ⓐ-ⓩ]")


def visible(text: str) -> str:
    """Removes invisible characters and restores commands broken by JSON escapes."""
    return _INVISIBLE.sub(
        "", _ESCAPED.sub(lambda match: "\\" + _LETTER_OF[match[0]], text) if _CONTROL.search(text) else text
    )


_LETTER_OF = {"\x07": "a", "\x08": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r"}
_CONTROL = late("[\x07\x08\x0b\x0c\t\n\r]")
_ESCAPED = late(
    r"[\x07\x08\x0b\x0c](?=[a-zA-Z])|\t(?=(?:imes|heta|frac|au|riangle|ilde|binom|extbf|extrm)(?![a-z]))"
    r"|\n(?=(?:eq|abla|otin|exists)(?![a-z]))|\r(?=(?:ight|ho|angle|floor|ceil|ightarrow|vert)(?![a-z]))"
)
r"""A control character before the rest of a command: "\frac" read as a form feed and "rac". What stands behind tabs and
line ends must be the rest of one; \text and \nu, which leave words, are not mended."""


_SET_APART = late(r"(?<=\d) (?=\d)|(?<=\d) (?=\. \d)|(?<=\d \.) (?=\d)|(?<=\d\.) (?=\d)")
_SPACED_GROUP = late(r"(?:\\[a-zA-Z]+|[_^}\]]) ?\{ [^{}]{0,200} \}")
_CLOSED_GROUP = late(r"(?<!\\)\{[^ {}]|\b\d \d{3}\b(?! \d\b)")


def _closed_up(text: str) -> str:
    if "{ " not in text or not _SPACED_GROUP.search(text) or _CLOSED_GROUP.search(text):
        return text
    return _SET_APART.sub("", text)


@of_short
def to_latex(text: str) -> str:
    r"""Unicode mathematics as plain LaTeX: "√3/2" and "２π" as "\sqrt 3/2" and "2\pi "."""
    if text.isascii() and text.isalnum():
        return text
    text = _closed_up(text)
    text = _SCRIPT_RUN.sub(_script, _GROUPS.sub(",", visible(text)))
    if not text.isascii():
        text = text.translate(_SYMBOL_OF)
        text = "".join(char if _CIRCLED.match(char) else unicodedata.normalize("NFKC", char) for char in text)
    text = _COLOURS.sub("", text.replace("⁄", "/"))
    if "\\overset" in text:
        text = _ANGSTROM.sub(r"\\text{Å}", text)
    if "10" in text:
        text = _TEN_TO_THE.sub(_power_of_ten, text)
    if _REPEATING_WHOLE.fullmatch(text):
        text = text.replace("(", "\\overline{").replace(")", "}")
    return _REPEATING.sub(_repeating, text)


_TEN_TO_THE = late(
    r"(?P<times>(?:times|乘以?|곱하기)\s?)?(?<![\d.])10(?:"
    r" to the (?:power (?:of )?)?(?P<minus>minus |negative |-)?(?P<power>\d{1,3})(?:(?:st|nd|rd|th)(?: power)?)?"
    r"|的(?P<zhminus>负|-)?(?P<zh>\d{1,3})次[方幂]|의 (?P<kominus>마이너스 ?|-)?(?P<ko>\d{1,3}) ?(?:제곱|승))"
)
"""A power of ten in words."""


def _power_of_ten(match: re.Match[str]) -> str:
    sign = "-" if match["minus"] or match["zhminus"] or match["kominus"] else ""
    times = "\\times " if match["times"] else ""
    return f"{times}10^{{{sign}{match['power'] or match['zh'] or match['ko']}}}"


def _repeating(match: re.Match[str]) -> str:
    fixed = match["fixed"]
    period = match["line"] or match["one"] or (match["first"] + (match["inner"] or "") + (match["last"] or ""))
    top = int(match["whole"] + fixed + period) - int(match["whole"] + fixed)
    return f"\\frac{{{top}}}{{{(10 ** len(period) - 1) * 10 ** len(fixed)}}}"


def _script(match: re.Match[str]) -> str:
    if match[1]:
        return "^{" + "".join(_SUPERSCRIPTS[char] for char in match[1]) + "}"
    return "_{" + "".join(_SUBSCRIPTS[char] for char in match[2]) + "}"


_ANGLE = late(r"π|\\pi(?![a-z])|(?<![A-Za-z])pi(?![A-Za-z])|[°º]|\\(?:circ|degree)(?![a-z])")
_TEMPERATURE = late(
    r"[℃℉]|[摄华]氏|[섭화]씨|celsius|centigrade|fahrenheit|(?:[°º]|(?:circ|degrees?|deg)(?![a-z]))"
    r"(?:\W|\\[a-z]+){0,9}[CF](?![a-z])",
    re.IGNORECASE,
)
_WORD_END = (
    r"(?(open)\s*\})(?![A-Za-z\u4e00-\u9fff]|(?!이다|입니다|이에요|예요|와|또는)[가-힣]|\s*(?:[/^·*]|\\cdot|per\b|每))"
)
_WORD_START = r"(?P<end>\$|\\\))?(?:\s|~|\\[,;: ]){0,9}(?P<open>\\(?:text(?:rm)?|mathrm|mbox)\s*\{\s*)?"
_IN_WORDS = late(
    r"(?<![\d./^_])(?P<number>\d+(?:\.\d+)?(?:/\d+)?|\\[dt]?frac\s*\{\d{1,9}\}\s*\{\d{1,9}\})"
    rf"{_WORD_START}(?:degrees?|deg\.?|度|도){_WORD_END}",
    re.IGNORECASE,
)
"""Degrees in words behind a number, but not those of a speed."""
_RADIANS = late(
    r"(?P<number>(?:\\pi|π)(?:\s*/\s*\d{1,9})?|\\[dt]?frac\s*\{[^{}]{0,9}(?:\\pi|π)\s*\}\s*\{\d{1,9}\})"
    rf"{_WORD_START}(?:rad(?:ians?)?|弧度|라디안){_WORD_END}",
    re.IGNORECASE,
)
"""Radians behind a multiple of π; 90 rad are no 90°."""


def with_degree_signs(gold: str, answer: str, *others: str) -> list[str]:
    """The texts with the sign for degrees in words, if the key may be an angle and none is a temperature."""
    texts = [gold, answer, *others]
    angle = _ANGLE.search(gold) or (_IN_WORDS.search(gold) and _ANGLE.search(answer))
    if not angle or any(map(_TEMPERATURE.search, texts)):
        return texts
    signed = [_RADIANS.sub(r"\g<number>\g<end>", _IN_WORDS.sub(_with_sign, text)) for text in texts]
    return signed if any("\\circ" in to_latex(text) for text in signed[:2]) else texts


def _with_sign(words: re.Match[str]) -> str:
    number = f"({words['number']})" if "/" in words["number"] else words["number"]
    return f"{number}{words['end'] or ''}^\\circ "


_DELIMITERS = late(r"(?<!\\)(?:\\[()\[\]]|\$)")
_EDGE = ' \t\r\n*`"“”'
_END = _EDGE + ".。．,，;；:：！、"
_WRAPPER = late(
    r"\\(?:boxed|fbox|text|textbf|textit|textrm|textup|textnormal|mathrm|mathbf|mathit|mathsf|boldsymbol|bm|mbox"
    r"|operatorname|displaystyle|rm|bf|ensuremath|underline)(?![a-zA-Z])\s*"
)


NOT_A_NAME = late(
    r"[不非没无或误错勿倍若猜]|可能|也许|如果|增根|认为|以为|[大小高低多少]于|至[多少]|最[多少]|超过|이상|이하|초과|미만|아니|않"
    r"|倒数|相反数|一半|平方|立方|오답|역수|절반|제곱|[두세네] ?배"
)
"""Words before a value that qualify it (至少为5, 它的倒数是9)."""
MAX_SPACING = 60
_SPACED_END = late(r"(?:(?<!\\)\\(?:[,;:! ]|q?quad(?![a-zA-Z])|$)|~)+$")
_COPULA = late(r"(?<=[\dA-Za-z)}\]%°])\s*(?:이다|입니다|이에요|예요)$")
_THEREFORE = late(
    r"^(?:(?:따라서|그러므로|그래서|결국)\s|즉,?\s|(?:therefore|thus|hence|so),|(?:因此|所以|故|综上)[,，]|[⇒⟹→✅✓✔]\ufe0f?|=>|>\s?(?=\*\*))\s*(?=\S)",
    re.IGNORECASE,
)
_TICKED = late(r"(?<=\S)\s?[✓✔✅☑]\ufe0f?$")


_GOES_ON = late(r"([,，、]\s{0,4})(?:\.{3,6}|…{1,2}|⋯{1,2}|。{3,6})(?=\s{0,4}[$)}\]]{0,3}\s{0,4}$)")
"""An ellipsis at the end of a list (no closing punctuation)."""


@of_short
def bare(text: str) -> str:
    """An answer without delimiters, emphasis, boxes, closing full stop or copula."""
    if text.isascii() and text.isalnum():
        return text
    text = _DELIMITERS.sub("", visible(text).replace('\\"', '"')).strip(_EDGE)
    text = _GOES_ON.sub(lambda match: match[1] + "\\ldots", text)
    for _ in range(8):
        plain = _THEREFORE.sub("", _TICKED.sub("", _without_end(text)).lstrip(_EDGE + ":：=＝∴"))
        plain = plain[:-MAX_SPACING] + _SPACED_END.sub("", plain[-MAX_SPACING:])
        stripped = _unwrap(_COPULA.sub("", plain).rstrip(_EDGE))
        if stripped == text:
            break
        text = stripped
    return text


def _without_end(text: str) -> str:
    short = text.rstrip(_END)
    return text[: len(short) + 1] if short.endswith("\\") and short != text else short


def key_value(gold: str) -> str:
    """The boxed values of a worked solution; any other key unchanged."""
    if "\\boxed" not in gold or len(bare(gold)) < len(gold) / 2:
        starts = [match.end() - 1 for match in _BOX.finditer(gold)]
        ends = [closing_brace(gold, start) for start in starts]
        if (
            starts
            and all(end > 0 for end in ends)
            and not any(start < end for start, end in zip(starts[1:], ends, strict=False))
        ):
            return ", ".join(gold[start + 1 : end] for start, end in zip(starts, ends, strict=True))
    return gold


_BOX = late(r"\\(?:boxed|fbox)\s*\{")


def _unwrap(text: str) -> str:
    command = _WRAPPER.match(text)
    rest = text[command.end() :] if command else text
    if rest.startswith("{") and closing_brace(rest, 0) == len(rest) - 1:
        return rest[1:-1]
    return rest if command and rest and not rest.startswith("{") else text


def closing_brace(text: str, start: int) -> int:
    """Index of the brace that closes the one at `start`, or -1; ignores escaped braces."""
    depth = 0
    for match in _BRACE.finditer(text, start):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return -1


_BRACE = late(r"\\.|[{}]", re.DOTALL)
_WORDS = (
    r"\\text(?:rm|bf|normal)?\s*\{\s*(?:and|or|和|或|且|与|及|및|또는)\s*\}"
    r"|(?<![a-zA-Z\\])(?:and|or)(?![a-zA-Z])|[和或且与及]|및|또는"
)
_SEPARATORS = ("[;；]", r"\n|\\\\", "[,，]", "、", rf"[,，、;；\n]|\\\\|\\q?quad(?![a-zA-Z])|{_WORDS}")
_BRACKETS = (
    r"(?P<open>\\left\s*\\?[(\[{{|]|\\?[{(\[（]|\\begin(?![a-zA-Z]))"
    r"|(?P<close>\\right\s*\\?[)\]}|]|\\?[})\]）]|\\end(?![a-zA-Z]))"
)
_SPLITTERS = [late(rf"{_BRACKETS}|(?P<sep>{separator})|\\.", re.DOTALL) for separator in _SEPARATORS]
_THOUSANDS = late(r"(?<![\d,.])\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d|,\d)")


_PART_LABEL = late(
    r"(?P<before>^|[;；,，\n]|\\q?quad(?![a-zA-Z]))\s{0,20}[(（](?P<number>\d)[)）]\s*[.、．:：]?(?=\s*\S)"
)


_ONE_PART = late(
    r"(?:(?P<word>\\(?:text(?:bf|it|rm|up|normal)?|mathrm|mathbf|mbox)\s*\{\s*)?[(（](?P<label>[a-h]|i{1,3}|iv|vi{0,3})[)）]"
    r"(?(word)\s*\}))(?P<space>(?:\s|~|\\(?:[,;: ]|quad(?![a-zA-Z]))){1,8})(?=\S)"
    r"(?![-+*/^=<>_!~]\s|[*/^=<>_!&和与及或,，、]|(?:and|or)\b)"
)
r"""The label of a part with a space behind it, also one of LaTeX ("\;", "~"); a factor in brackets has none."""


def without_part_labels(*texts: str) -> tuple[set[str], list[str]]:
    """The part labels of texts ("(b) x+1"), and the texts without them.

    Before a LaTeX space, a letter that occurs in another text may be a factor.
    """
    plain = [bare(text) for text in texts]
    matches = [_ONE_PART.match(text) for text in plain]
    for place, match in enumerate(matches):
        others = _COMMAND.sub("", " ".join(plain[:place] + plain[place + 1 :]))
        if match and not match["word"] and not match["space"].isspace() and match["label"] in others:
            matches[place] = None
    labels = {match["label"] for match in matches if match}
    return labels, [
        inner[match.end() :] if match else text for text, inner, match in zip(texts, plain, matches, strict=True)
    ]


_COMMAND = late(r"\\[A-Za-z]+|[(（][a-z]{1,4}[)）](?=\s|~|\\)")


def without_labels(text: str) -> str:
    """Removes part labels: "(1) 3; (2) 5" as "3; 5"."""
    numbers = [int(match["number"]) for match in _PART_LABEL.finditer(text)]
    if len(numbers) < 2 or numbers != list(range(1, len(numbers) + 1)):
        return text
    return _PART_LABEL.sub(lambda match: match["before"] + " ", text)


def split_values(text: str, count: int) -> list[str]:
    r"""The `count` top-level values of a list ("3\pi/2, 1" gives two).

    Tries separators from ";" to all together; without a match splits at any.
    """
    text = without_labels(_DELIMITERS.sub("", text))
    numbers = [match.span() for match in _THOUSANDS.finditer(text)]
    for splitter, whole in [*((splitter, numbers) for splitter in _SPLITTERS), (_SPLITTERS[-1], [])]:
        pieces = _split(text, splitter, whole)
        if len(pieces) == count:
            return pieces
    return _split(text, _SPLITTERS[-1], numbers)


def _split(text: str, splitter: re.Pattern[str], whole: list[tuple[int, int]]) -> list[str]:
    pieces: list[str] = []
    depth = start = kept = 0
    for match in splitter.finditer(text):
        while kept < len(whole) and whole[kept][1] <= match.start():
            kept += 1
        if match["open"]:
            depth += 1
        elif match["close"]:
            depth = max(0, depth - 1)
        elif match["sep"] and depth == 0 and not (kept < len(whole) and whole[kept][0] <= match.start()):
            pieces.append(text[start : match.start()])
            start = match.end()
    pieces.append(text[start:])
    return [piece for piece in (bare(piece) for piece in pieces) if piece]


_NO_BRACKET = late(r"\\(?:left|right)(?![a-zA-Z])|\$")
_TOGETHER = late(r"\s*\(?([^()=]+?)\)?\s*=\s*(\(.+\)|[^()=]+)", re.DOTALL)
_NAME = late(r"\\?[A-Za-z]\w{0,10}(?:_\{\w{1,4}\})?")


def named_together(text: str, count: int = 0) -> list[str]:
    """The `count` values (0: any number) of "(x, y) = (3, 4)" and "x, y = 3, 4", each behind its name; or none."""
    match = _TOGETHER.fullmatch(_NO_BRACKET.sub("", bare(text))) if "=" in text else None
    if match is None:
        return []
    names = [name.strip() for name in match[1].split(",")]
    values = split_values(match[2][1:-1] if match[2].startswith("(") else match[2], count or len(names))
    if not len(names) == len(values) == (count or len(names)) > 1 or not all(map(_NAME.fullmatch, names)):
        return []
    return [f"{name} = {value}" for name, value in zip(names, values, strict=True)]
