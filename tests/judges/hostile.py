r"""Five hundred hostile answers, made by families: what grows without bound, what looks like code, what breaks parsers.

Each family is a pattern at several sizes, so that the table shows where a bound takes hold. Nothing here is random.
"""

from __future__ import annotations

from collections.abc import Iterator

_CODE = [
    "__import__('os').system('touch {marker}')", "exec(open('{marker}','w'))", "eval(\"open('{marker}','w')\")",
    "(lambda: open('{marker}','w'))()", "Symbol('x').func(open('{marker}','w'))", "open('{marker}','w').close()",
    "().__class__.__base__.__subclasses__()", "x.__class__.__mro__", "getattr(x,'__dict__')",
    "sympify(\"__import__('os').system('touch {marker}')\")", "S('open(\"{marker}\",\"w\")')", "globals()['x']",
    "$(touch {marker})", "`touch {marker}`", "; touch {marker} ;", "| touch {marker}", "{{open('{marker}','w')}}",
    "${{open('{marker}','w')}}", "%(x)s", "\\write18{touch {marker}}", "\\immediate\\write18{touch {marker}}",
    "\\input{/etc/passwd}", "\\include{/etc/passwd}", "\\openout1={marker}", "\\catcode`\\{=13",
    "\\csname end\\endcsname",
    "lambdify(x, open('{marker}','w'))", "parse_expr('1')", "f(open('{marker}'))", "import os", "os.system('id')",
    "pickle.loads(b'x')", "<script>fetch('x')</script>", "'; DROP TABLE verdicts; --", "../../../../etc/passwd",
    "Integer(10)**Integer(10)**Integer(10)", "factorial(factorial(99))", "prod(range(10**9))", "[0]*10**12",
]  # fmt: skip
_WRAPPED = ["{}", r"\boxed{{{}}}", "${}$", r"\text{{{}}}"]
_NESTS: dict[str, tuple[str, str, str]] = {
    "braces": ("{", "1", "}"), "brackets": ("(", "1", ")"), "squares": ("[", "1", "]"), "sets": (r"\{", "1", r"\}"),
    "fractions": (r"\frac{1}{", "2", "}"), "tops": (r"\frac{", "2", "}{3}"), "roots": (r"\sqrt{", "2", "}"),
    "cube roots": (r"\sqrt[3]{", "2", "}"), "powers": ("2^{", "2", "}"), "nines": ("9^{", "9", "}"),
    "indices": ("x_{", "1", "}"), "sines": (r"\sin(", "x", ")"), "exponentials": ("e^{", "x", "}"),
    "logarithms": (r"\ln(", "x", ")"), "bars": ("|", "x", "|"), "lefts": (r"\left(", "1", r"\right)"),
    "texts": (r"\text{", "x", "}"), "boxes": (r"\boxed{", "5", "}"), "floors": (r"\lfloor ", "x", r"\rfloor "),
    "binomials": (r"\binom{", "9", "}{4}"), "factorials": ("(", "9", ")!"), "arrows": (r"\vec{", "a", "}"),
    "matrices": (r"\begin{pmatrix}", "1", r"\end{pmatrix}"), "cases": (r"\begin{cases}", "x", r"\end{cases}"),
    "systems": (r"\left\{\begin{array}{l}", "x=1", r"\end{array}\right."), "angles": (r"\langle 1,", "2",
    r"\rangle "),
    "polynomials": ("(x+", "y", ")^{99}"), "quotients": ("1/(", "x", ")"), "functions": ("f(", "x", ")"),
}  # fmt: skip
_REPEATS: dict[str, str] = {
    "pluses": "x+", "minuses": "-", "times": "2*", "divisions": "1/", "hats": "x^", "carets": "9^", "bangs": "9!",
    "commas": "1,", "semicolons": "1;", "equals": "x=", "less": "x<", "unions": r"(0,1)\cup", "plus-minus": r"\pm 1",
    "ors": r"1 \text{ or }", "ands": "1 and ", "letters": "a", "digits": "7", "zeros": "0", "spaces": " ",
    "lines": "\n", "rows": r"\\", "dollars": "$", "percents": "%", "primes": "x'", "dots": ".",
    "ellipses": r"\ldots ",
    "underscores": "x_", "ampersands": "&", "tabs": "\t", "nulls": "\x00", "directions": "\u202e\u2066",
    "joiners": "\u200d",
    "accents": "e\u0301", "combining": "\u0334", "emoji": "\U0001f4a9", "unknown": "\\zzz", "degrees": r"1^\circ",
    "repeating": r"0.\overline{9}", "units": "kg·m/s^2·", "numerals": "一百万", "fractions of fractions": "三分之",
    "colours": r"\color{red}", "commands": r"\def\a{\a\a}\a", "new commands": r"\newcommand{\x}{\x\x}\x",
    "mod": r"x\equiv 1\pmod{7},", "ratios": "1:", "tags": "<answer>", "quotes": "'\"", "surrogates": "\ufffe",
    "squares": "(x+1)(x-1)", "sums": r"\sum_{n=1}^{\infty}", "integrals": r"\int_0^x ", "limits": r"\lim_{x\to 0}",
}  # fmt: skip
_HUGE = [
    "99999999!", "((((99999!)!)!)!)!", "(x^{999})!", "(10^{10})!", "1e999999999", "x^{10^9}", "(x+1)^{1000}",
    "(x+y+z)^{300}",
    r"\binom{10^9}{5}", r"\binom{99999}{49999}", r"\binom{x}{10^6}", "9^{9^{9^{9^9}}}", "9^9^9^9",
    "e^{e^{e^{e^{e^x}}}}",
    "e^{e^{e^{e^{e^9}}}}", "10^{10^{10}}-10^{10^{10}}", "(10^{10})^{10^{10}}", "2^{4095}", "2^{4096}", "2^{4097}",
    "3^{-99999999}",
    r"\sin(10^{999})", r"\tan(10^{300})", r"\sqrt[10^9]{5}", r"\sqrt[99]{99^{98}+1}", r"\log_{2^{999}}(3^{999})",
    r"\lfloor 10^{999} \rfloor", r"\lfloor e^{e^{e^9}} \rfloor", "0." + "1" * 5000, "1" * 5000 + "." + "2" * 5000,
    "1e-999999999", r"1\times10^{999999999}", "x^{x^{x^{x^x}}}", "(-1)^{10^{30}+1}", "i^{10^{20}}", "(1+i)^{999}",
    "(x^{99}+1)^{99}",
    r"(((x+y)^{99}+z)^{99}+w)^{99}", r"\frac{1}{x^{999}-y^{999}}", "|x|^{999}", r"\frac{0}{0}", r"\infty-\infty",
    r"\infty\cdot 0",
    r"\ln(0)", r"\tan(90^\circ)", r"0^{-1}", r"0^{0}", r"\arcsin(10^{99})", "x^{999}+x^{998}>1",
    "x^6+x^5+x^4+x^3+x^2+x+1>0",
    "|||||x|||||<1", "x^{100}<1", r"\sin x<\cos x", "e^x>x^9", r"0.\overline{" + "9" * 900 + "}",
    "1111111111111111111111_{3}", "z" * 200 + "_{36}", "(" + "9" * 59 + ")_{36}", r"x\equiv 1\pmod{0}",
    r"x\equiv 10^{99}\pmod{10^{99}}",
    "k\\pi/999983, k\\in Z", r"\frac{k\pi}{2},\frac{k\pi}{3},\frac{k\pi}{59},\frac{k\pi}{61}, k\in\mathbb{Z}",
    "[k,k+1],k\\in Z",
    "5 m^9 kg^9 s^9", "5 m/s/s/s/s/s/s/s/s/s/s", "5 ((((m", "10^{400} m", "1e-400 km", "5 Tm^{-9}", "1e300 ly",
    "9" * 60 + " nm",
]  # fmt: skip


def _matrices() -> Iterator[tuple[str, str]]:
    for rows, columns in ((1, 50), (50, 1), (8, 8), (9, 9), (30, 30), (300, 300)):
        body = r"\\".join("&".join(["x+1"] * columns) for _ in range(rows))
        yield f"matrix {rows}x{columns}", rf"\begin{{pmatrix}}{body}\end{{pmatrix}}"
    full = r"\\".join("&".join(f"x^{i * j}" for j in range(8)) for i in range(8))
    yield "matrix product", rf"\begin{{pmatrix}}{full}\end{{pmatrix}}" * 4


def hostile_strings(marker: str) -> dict[str, str]:
    """Name and text of every hostile string; `marker` is the file that none of them may create."""
    found: dict[str, str] = {}
    for index, code in enumerate(_CODE):
        for number, wrapped in enumerate(_WRAPPED):
            found[f"code {index}.{number}"] = wrapped.format("\0").replace("\0", code).replace("{marker}", marker)
    for name, (before, inner, after) in _NESTS.items():
        for depth in (7, 31, 33, 250, 5000):
            found[f"{name} {depth}"] = before * depth + inner + after * depth
        found[f"open {name}"] = before * 10_000
    for name, piece in _REPEATS.items():
        for count in (20, 300, 100_000):
            found[f"{name} {count}"] = piece * count + "1"
    found.update({f"huge {index}": text for index, text in enumerate(_HUGE)})
    found.update(_matrices())
    found["a megabyte of braces"] = "{" * 10**6
    found["a megabyte of pairs"] = "{}" * 500_000
    return found
