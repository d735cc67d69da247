"""Single characters as LaTeX: operators, Greek, mathematical alphabets, accents.

Contract: `symbol` gives LaTeX for one character of a formula; what has no name stays itself.
"""

from __future__ import annotations

import unicodedata
from typing import Final

FUNCTIONS: Final = frozenset(
    (
        "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh "
        "ln log lg lim max min exp sup inf det gcd arg dim ker"
    ).split()
)
LIMITS: Final = frozenset(("\\lim", "\\max", "\\min", "\\sup", "\\inf", "\\sum", "\\prod", "\\bigcup", "\\bigcap"))
"""What carries its limits below and above."""
ACCENTS: Final = {
    "\u20d7": "vec", "\u0305": "bar", "\u0304": "bar", "\u0302": "hat", "\u0303": "tilde", "\u0307": "dot",
    "\u0308": "ddot", "\u20d6": "overleftarrow", "\u030c": "check", "\u0306": "breve", "\u203e": "bar", "\u00af": "bar",
    "⏜": "overparen", "⏞": "overbrace", "⏝": "underparen",
    "⏟": "underbrace", "\u0311": "overparen", "\u02c6": "hat", "\u02dc": "tilde", "\u0332": "underline",
}  # fmt: skip
WIDE: Final = {"vec": "overrightarrow", "bar": "overline", "hat": "widehat", "tilde": "widetilde"}
BRACES: Final = frozenset("⏞⏟")
BELOW: Final = frozenset("⏝⏟\u0332")
"""Accents that stand under their letters."""
OPEN: Final = "([{⟨⌊⌈"
PIECES: Final = {
    "⎧": "{", "⎨": "{", "⎩": "{", "⎪": "", "⎫": "}", "⎬": "}", "⎭": "}",
    "⎛": "(", "⎜": "(", "⎝": "(", "⎞": ")", "⎟": ")", "⎠": ")",
    "⎡": "[", "⎢": "[", "⎣": "[", "⎤": "]", "⎥": "]", "⎦": "]",
}  # fmt: skip
"""Tall brackets are stacked from pieces."""

_NAMES: Final = {
    "−": "-", "×": "\\times", "÷": "\\div", "±": "\\pm", "∓": "\\mp", "·": "\\cdot", "⋅": "\\cdot", "∙": "\\cdot",
    "≤": "\\le", "⩽": "\\le", "≦": "\\le", "≥": "\\ge", "⩾": "\\ge", "≧": "\\ge", "≠": "\\ne", "≈": "\\approx",
    "≡": "\\equiv", "∼": "\\sim", "≅": "\\cong", "∝": "\\propto", "∞": "\\infty", "∈": "\\in", "∉": "\\notin",
    "∋": "\\ni", "⊂": "\\subset", "⊃": "\\supset", "⊆": "\\subseteq", "⊇": "\\supseteq", "⊊": "\\subsetneq",
    "⫋": "\\subsetneqq", "∪": "\\cup", "∩": "\\cap", "∅": "\\varnothing", "∁": "\\complement", "∀": "\\forall",
    "∃": "\\exists", "¬": "\\neg", "∧": "\\wedge", "∨": "\\vee", "⇒": "\\Rightarrow", "⇔": "\\Leftrightarrow",
    "⇐": "\\Leftarrow", "→": "\\to", "←": "\\leftarrow", "↔": "\\leftrightarrow", "⟶": "\\longrightarrow",
    "↦": "\\mapsto", "⇌": "\\rightleftharpoons", "∑": "\\sum", "∏": "\\prod", "∫": "\\int", "∬": "\\iint",
    "∮": "\\oint", "⋃": "\\bigcup", "⋂": "\\bigcap", "∂": "\\partial", "∇": "\\nabla", "√": "\\sqrt", "∠": "\\angle",
    "∥": "\\parallel", "∦": "\\nparallel", "⊥": "\\perp", "⟂": "\\perp", "△": "\\triangle",
    "∘": "\\circ", "⚬": "\\circ", "○": "\\circ", "°": "^{\\circ}",
    "⋯": "\\cdots", "…": "\\ldots", "⋮": "\\vdots", "⋱": "\\ddots", "′": "'", "″": "''",
    "‴": "'''", "∣": "|", "∖": "\\setminus",
    "⌊": "\\lfloor", "⌋": "\\rfloor", "⌈": "\\lceil", "⌉": "\\rceil", "⟨": "\\langle", "⟩": "\\rangle",
    "∴": "\\therefore", "∵": "\\because", "⊕": "\\oplus", "⊗": "\\otimes", "{": "\\{", "}": "\\}", "%": "\\%",
    "#": "\\#", "&": "\\&", "$": "\\$", "_": "\\_", "^": "\\hat{}", "~": "\\sim", "\\": "\\backslash", "∗": "*",
    "∶": ":", "ℓ": "\\ell", "Å": "\\mathring{A}", "ℏ": "\\hbar", "ℎ": "h", "∆": "\\Delta", "Ω": "\\Omega", "µ": "\\mu",
    "ϕ": "\\phi", "φ": "\\varphi", "ϵ": "\\epsilon", "ε": "\\varepsilon", "ϑ": "\\vartheta", "ϖ": "\\varpi",
    "ϱ": "\\varrho", "ς": "\\varsigma", "ο": "o", "⩵": "==", "≔": ":=", "≪": "\\ll", "≫": "\\gg", "⋆": "\\star",
    "∎": "\\blacksquare", "♯": "\\sharp",
}  # fmt: skip
_STYLES: Final = (("DOUBLE-STRUCK", "mathbb"), ("FRAKTUR", "mathfrak"), ("SCRIPT", "mathcal"), ("BOLD", "boldsymbol"))


def symbol(character: str) -> str:
    """LaTeX of one character of a formula."""
    if character in _NAMES:
        return _NAMES[character]
    if character.isascii():
        return character
    name = unicodedata.name(character, "")
    plain = unicodedata.normalize("NFKC", character)
    if name.startswith("GREEK"):
        return _greek(name, character)
    if len(plain) == 1 and plain != character and (plain.isascii() or unicodedata.name(plain, "").startswith("GREEK")):
        inner = symbol(plain)
        style = next((style for word, style in _STYLES if word in name), None)
        return f"\\{style}{{{inner}}}" if style and plain.isalpha() else inner
    return character


def _greek(name: str, character: str) -> str:
    words = name.split()
    if len(words) >= 4 and words[2] == "LETTER":
        word = words[3].lower().replace("lamda", "lambda")
        if words[1] == "CAPITAL":
            latin = unicodedata.normalize("NFKC", character)
            return (
                f"\\{word.capitalize()}" if latin in "ΓΔΘΛΞΠΣΥΦΨΩ" else {"\u0391": "A", "\u0392": "B"}.get(latin, latin)
            )
        return f"\\{word}"
    return character


def is_math_letter(character: str) -> bool:
    """Whether it belongs to one of Unicode's mathematical alphabets, or only ever stands in formulas."""
    code = ord(character)
    return 0x1D400 <= code <= 0x1D7FF or character in "ℎℝℤℕℚℂℙℓ" or (0x2200 <= code <= 0x22FF and character not in "∶∼")
