"""Second reader: routes formulas with max, min, gcd, lcm, sums or products to latex2sympy2_extended, if installed.

Contract: imports neither it nor sympy (`second_trees` does, in a worker). Words, decimals, slashes and bars, which it
reads differently, are excluded. Its readings can only be accepted.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import metadata

from livek12.core.patterns import late
from livek12.judges.rules.notation import bare, to_latex

LIBRARY = "latex2sympy2_extended"
_RUNTIMES = ("4.9.3", "4.11", "4.13.2")
"""Versions of the antlr runtime for which the library brings a parser."""
MAX_CHARS, MAX_DIGITS = 300, 30
_OURS_LACKS = late(r"\\(?:max|min|gcd|lcm|sum|prod)(?![a-zA-Z])|\\operatorname\s*\{\s*(?:lcm|gcd|max|min)\s*\}")
_NOT_FOR_IT = late(
    rf"[^\x20-\x7e]|[./|!%&$'\"]|\d{{{MAX_DIGITS},}}|\\(?:text|mathrm|log|lg|int|lim|begin|cup|cap|pm|mp|%)|(?<![\\a-zA-Z])[a-zA-Z]{{2,}}"
)
_NAMED = late(r"\\operatorname\s*\{\s*(lcm|gcd|max|min)\s*\}")


@cache
def version() -> str:
    """Name and version of the library, or ""."""
    try:
        runtime, release = metadata.version("antlr4-python3-runtime"), metadata.version(LIBRARY)
    except metadata.PackageNotFoundError:
        return ""
    return f"{LIBRARY} {release}" if runtime.startswith(_RUNTIMES) else ""


def may_read(text: str) -> bool:
    """Checks for a formula of the second reader."""
    return len(text) <= MAX_CHARS and _OURS_LACKS.search(text) is not None and not _NOT_FOR_IT.search(plain(text))


def plain(text: str) -> str:
    """LaTeX for the library."""
    plain = re.sub(r"\\[,;:! ]|\\(?:left|right|displaystyle|limits)(?![a-zA-Z])", " ", to_latex(bare(text)))
    return re.sub(r"\\[dt]frac(?![a-zA-Z])", r"\\frac", _NAMED.sub(r"\\\1 ", plain)).strip()
