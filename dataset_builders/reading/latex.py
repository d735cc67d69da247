r"""Repairs LaTeX damaged by escaping: literal `\n` for line breaks, control characters for commands.

Contract: pure functions; each changes a text only where its rule is certain.
"""

from __future__ import annotations

import re

from livek12.dataset_builders.reading.text import mask_formulas

# Commands of LaTeX, amsmath and siunitx that begin with n.
_N_COMMAND_NAMES = """
    nabla natural ncong ne nearrow needspace neg negmedspace negthickspace negthinspace neq newcommand
    newenvironment newline newpage newtheorem nexists ngeq ngeqq ngeqslant ngtr ni nicefrac nleftarrow
    nLeftarrow nleftrightarrow nLeftrightarrow nleq nleqq nleqslant nless nmid noalign nobreak nobreakdash
    nobreakspace nocite nocorr node noexpand noindent nointerlineskip nolimits nolinebreak nonfrenchspacing
    nonumber nonscript nopagebreak norm normalcolor normalfont normalmarginpar normalsize not notag notin notni
    nparallel nplus nprec npreceq npreccurlyeq nrightarrow nRightarrow nshortmid nshortparallel nsim nsimeq
    nsubset nsubseteq nsubseteqq nsucc nsucceq nsucccurlyeq nsupset nsupseteq nsupseteqq ntriangleleft
    ntrianglelefteq ntriangleright ntrianglerighteq nu nuclide nulldelimiterspace num numberline numberwithin
    numlist numproduct numrange nvdash nvDash nVdash nVDash nwarrow
"""
_N_COMMANDS = frozenset(_N_COMMAND_NAMES.split())
_SEPARATOR = re.compile(r"\\\\|\\(n[A-Za-z]*)(\s?[).．、:）：])?")
_BOXED = r"\boxed{"
_RELATIONS = frozenset({"ne", "ni"})
_CONTROLS = {"\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r"}
_DAMAGED = re.compile(r"([\a\b\v\f\t\n\r])([A-Za-z]+)|[\v\f](?!\n)")
_SURE = {
    "a": frozenset("lpha ngle pprox rc rccos rcsin rctan rray st symp ligned lign leph cute bs malg".split()),
    "b": frozenset(
        "ar eta egin inom igcap igcup igoplus igotimes igl igr igg iggl iggr ig igtriangleup igtriangledown igcirc f ot"
        " oldsymbol oxed owtie ullet ecause mod m reve ackslash lacksquare lacktriangle oxplus oxtimes umpeq race"
        " egingroup rack".split()
    ),
    "f": frozenset("rac orall lat rown box ootnotesize ootnote".split()),
    "v": frozenset(
        "ec ert ee dots arphi arepsilon artheta arnothing arrho arsigma arpi arkappa arpropto artriangle space skip"
        " phantom center dash Dash Vdash eebar erb".split()
    ),
    "t": frozenset(
        "heta ilde imes ext extstyle extrm extsf extit extbf exttt extnormal hinspace au anh frac binom"
        " herefore riangle riangleq riangleleft riangleright hickapprox hicksim woheadrightarrow".split()
    ),
    "r": frozenset("ight ightarrow ightharpoonup ightleftharpoons ho ceil vert".split()),
    "n": frozenset("abla eq otin exists earrow warrow leq geq subseteq onumber leftarrow rightarrow".split()),
}
"""Remainders of commands whose first letter became a control character, and that are no words."""
_IN_FORMULAS = {
    "t": frozenset("o op an ag iny".split()),
    "r": frozenset("angle floor m brace brack".split()),
    "n": frozenset("u e eg ot i mid parallel sim cong".split()),
}
"""Remainders that could also be a word or a symbol."""
_SUSPECTS = "\a\b\v\f\t\r"
_SUSPECT_BREAK = re.compile(r"\n(?:" + "|".join(_SURE["n"]) + r")(?![A-Za-z])")
"""Quick test: texts without a match are undamaged."""


def restore(text: str) -> str:
    """Restores the commands and line breaks of a text."""
    return restore_newlines(restore_commands(text))


def restore_commands(text: str) -> str:
    r"""Turns control characters back into the beginning of a command.

    Unescaping `\frac`, `\begin` or `\theta` leaves a form feed and "rac", a backspace and "egin", a tab and "heta". A
    control character is restored if the letters after it are the rest of a command and no word. Remainders that could
    be words ("an", "to", "u…") count only inside a formula, or, except for tabs, in a text that is certainly damaged;
    inside a formula a bell or a backspace before letters always counts.
    """
    if not _may_be_damaged(text):
        return text
    damaged = any(map(_is_sure, _DAMAGED.finditer(text)))
    masked = mask_formulas(text)

    def replace(match: re.Match[str]) -> str:
        letter = _CONTROLS[match[0][0]]
        inside = masked[match.start()] == "\0"
        could_be = letter in "ab" or ((damaged or letter == "t") and match[2] in _IN_FORMULAS.get(letter, ()))
        if _is_sure(match) or (inside and match[2] and could_be):
            return f"\\{letter}{match[2]}"
        return f"\n{match[2] or ''}" if letter in "vf" else match[0]

    return _DAMAGED.sub(replace, text)


def _may_be_damaged(text: str) -> bool:
    for suspect in _SUSPECTS:  # in half the time of `any`
        if suspect in text:
            return True
    return "\n" in text and _SUSPECT_BREAK.search(text) is not None


def _is_sure(match: re.Match[str]) -> bool:
    return match[2] is not None and match[2] in _SURE[_CONTROLS[match[1]]]


def restore_newlines(text: str) -> str:
    r"""Turns a literal backslash-n that separates lines into a line break.

    TeX reads the longest run of letters after a backslash as the command. A known command (`\neq`, `\nu`, `\nabla`) is
    kept; for any other run the `\n` is a separator. A relation has a right side, so `\ne)` and `\ni.` are the labels
    e) and i. of a new line. A double backslash is TeX's own line break.
    """
    if "\\n" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        letters, label_end = match[1], match[2]
        is_command = letters in _N_COMMANDS and not (label_end and letters in _RELATIONS)
        if letters is None or is_command:
            return match[0]
        return "\n" + match[0][2:]

    return _SEPARATOR.sub(replace, text)


def unboxed(text: str) -> str:
    r"""The content of a `\boxed{…}` that is the whole text; any other text unchanged."""
    begin = text.strip().removeprefix(_BOXED)
    if begin == text.strip() or not begin.endswith("}"):
        return text
    depth = 1
    for position, character in enumerate(begin):
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return begin[:-1].strip() if position == len(begin) - 1 else text
    return text
