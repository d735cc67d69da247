"""Demands of a question's wording on its answer: form, expression asked about, unit, all of several.

Pure functions, linear in the text. They read an expression at its verb ("Factor $x^2-1$ completely", "化简：…", "…을
전개하시오", "2+3=____"), operations in words ("the square root of 81"), fixed phrases ("in lowest terms",
"用科学记数法") and units ("how many meters", "（单位：m）"); nothing if parts or phrases conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from livek12.core.patterns import late
from livek12.judges.rules.notation import to_latex
from livek12.judges.rules.numerals import read_numeral, spelled
from livek12.judges.rules.tokens import Token, Unparsable, tokenize
from livek12.judges.rules.units import read_unit

_OPERATIONS = r"""
\sqrt{{{a}}} @ the (?:positive |principal )?square root of A
\sqrt{{{a}}} @ A的(?:算术)?平方根 @ 根号A @ A의 (?:양의 )?제곱근 @ 루트 ?A
\sqrt[3]{{{a}}} @ the cube root of A @ A的立方根 @ A의 세제곱근
({a})^2 @ the square of A @ A squared @ A的平方 @ A의 제곱
({a})^3 @ the cube of A @ A cubed @ A的立方 @ A의 세제곱
{a}! @ the factorial of A @ A factorial @ A的阶乘 @ A의 (?:계승|팩토리얼)
({a})^{{{b}}} @ A (?:raised )?to the power (?:of )?B @ A to the Bth power @ A的B次[方幂] @ A의 B ?(?:제곱|승)
1/({a}) @ the reciprocal of A @ A的倒数 @ A의 역수
-({a}) @ the opposite of A @ A的相反数
|{a}| @ the absolute value of A @ A的绝对值 @ A의 절댓값
({a})/2 @ A的一半 @ A의 절반
2\times {a} @ (?:twice|double) A @ A的[两2]倍 @ A의 (?:두|2) ?배
{a}+{b} @ the sum of A and B @ A plus B @ A[与和]B的和 @ A加上?B @ A[와과] B의 합 @ A 더하기 B
{a}-{b} @ the difference (?:of|between) A and B @ A minus B @ A[与和]B的差 @ A减去?B @ A[와과] B의 차 @ A 빼기 B
{a}\times {b} @ the product of A and B @ A (?:times|multiplied by) B
{a}\times {b} @ A[与和]B的积 @ A乘以?B @ A[와과] B의 곱 @ A 곱하기 B
({a})/({b}) @ the quotient of A and B @ A divided by B
({a})/({b}) @ A[与和]B的商 @ A除以B @ A 나누기 B @ A[을를] B(?:으?로) 나눈 [값몫]
{a}\%\times {b} @ A(?: per ?cent|\\?%) of B @ B의 A ?(?:\\?%|퍼센트)
{a}\times {b} @ A of B @ B的A @ B의 A
"""
"""Operations on numbers, or on other operations, in the words of three languages; the last is a share (3/4 of 100)."""


def _wordings() -> Iterator[tuple[str, re.Pattern[str]]]:
    for line in _OPERATIONS.strip().splitlines():
        written, *wordings = line.split(" @ ")
        for wording in wordings:
            yield written, late(wording.replace("A", "(?P<a>.+?)").replace("B", "(?P<b>.+?)"), re.IGNORECASE)


_WORDINGS = list(_wordings())
_OBJECT = r"(?P<object>(?:[^.?!。？！,，;；:：\n]|\.(?=\d)){2,90}?)"
_ASKING = [
    late(
        r"\b(?:what is|what's|how much is|find|compute|calculate|evaluate|determine|work out|give|state|write)"
        rf"(?: down)?(?: the (?:exact |numerical )?value of)? {_OBJECT}\s*(?:[.?!,]|$)",
        re.IGNORECASE,
    ),
    late(rf"(?:求出?|计算|算出?|写出|给出)\s*[:：]?\s*{_OBJECT}(?:的(?:近似)?值|的结果)?\s*(?:[。？?，,；;\n]|$)"),
    late(rf"(?:^|[，,。：:\s]){_OBJECT}(?:的值|的结果)?(?:是|等于|为|得)(?:多少|几|[_＿（(])"),
    late(rf"(?:^|[.:：\n]\s*){_OBJECT}(?:의 값)?(?:[을를은는이가]|이란)?\s*(?:구하|계산하|얼마|무엇|몇|쓰시오|[?_])"),
]
"""A verb before or a question behind an object."""
_FORM_BEHIND = late(r" (?:to|in|as|correct|rounded|exactly|accurate)\b")
_SPOKEN_HINT = late(
    r"root of|half of|square|cube|factorial|power|reciprocal|opposite|absolute|twice|double|sum of|plus|difference"
    r"|minus|product of|times|multiplied|quotient|divided|cent of|\d\\?\$?%? of"
    r"|[的加减乘除]|根号|[와과의] |루트|더하|빼|곱하|나누|나눈"
)
_SPOKEN_NUMBER = late(r"\$?(-?\d{1,12}(?:\.\d{1,12}|/\d{1,12})?)\$?")
MAX_NESTED = 3


def _spoken_sums(text: str) -> Iterator[tuple[str, str]]:
    if not _SPOKEN_HINT.search(text.lower()):
        return
    for frame in _ASKING:
        for match in islice(frame.finditer(text), MAX_VERBS):
            asked = match["object"]
            ends = [len(asked), *(form.start() for form in _FORM_BEHIND.finditer(asked))]
            formulas = (_formula_of(asked[:end].strip(), MAX_NESTED) for end in ends)
            if formula := next(filter(None, formulas), ""):
                yield "evaluate", formula


def _formula_of(words: str, depth: int) -> str:
    """The formula of words; "" for none or several readings (3 plus 4 squared)."""
    readings = set()
    for written, wording in _WORDINGS:
        if (match := wording.fullmatch(words)) is not None:
            operands = {name: _operand(operand.strip(), depth) for name, operand in match.groupdict().items()}
            if all(operands.values()):
                readings.add(written.format(**operands))
    return readings.pop() if len(readings) == 1 else ""


def _operand(words: str, depth: int) -> str:
    if number := _SPOKEN_NUMBER.fullmatch(words):
        return number[1]
    if (value := spelled(words)) is not None:
        return str(value)
    if (numeral := read_numeral(words)) is not None and not numeral.rest:
        return str(numeral.value)
    inner = _formula_of(words, depth - 1) if depth else ""
    return f"({inner})" if inner else ""


_UNIT_PHRASES = [
    late(r"\bhow (?:many|much) (?P<unit>(?:square |cubic )?[a-z]+(?: per [a-z]+)?)\b", re.IGNORECASE),
    late(
        r"\b(?:in|the nearest) (?:units of )?(?P<unit>(?:square |cubic )?[a-zA-Z]+(?: per [a-z]+|/[a-zA-Z]+)?)"
        r"\s*[?.,;)]"
    ),
    late(r"[(（]\s*(?:in|单位(?:为|是)?[:：]?|단위[:：]?)\s*(?P<unit>[^()（）]{1,24})[)）]"),
    late(r"多少(?P<unit>(?:平方|立方)?[\u4e00-\u9fff]{1,4})[?？。，,]"),
    late(r"몇\s*(?P<unit>[\uac00-\ud7a3]{1,6}|[a-zA-Z/]{1,6})(?:인가|입니까|일까|이다|인지)"),
]
_FREE_ENDS = late(
    r"monoton|\b(?:in|de)creasing\b|\b(?:in|de)creases\b|单调|递增|递减|增区间|减区间|증가하는|감소하는|단조"
    r"|confidence interval|置信区间|신뢰\s?구간",
    re.IGNORECASE,
)
_PER_CENT = late(
    r"\bwhat (?:is the )?percent(?:age)?\b|\bas an? percent(?:age)?\b|百分之(?:几|多少)"
    r"|百分(?:数|比|率)[是为]?(?:多少|几|[_＿(（?？])"
    r"|(?:多少|几)[%％]|몇\s*(?:%|퍼센트|프로)|(?:_{2,}|[(（]\s*[)）])\s*(?:\\?%|％)",
    re.IGNORECASE,
)
MAX_QUESTION = 20_000
MAX_KEY = 200
_SPACING = late(r"\\(?:text|mathrm|rm|[,;:! ])|[\s{}$~]")
_UP_TO_NUMBER = late(r"^.*\d[\s})]*", re.DOTALL)


@lru_cache(maxsize=4096)
def asked_unit(question: str) -> str | None:
    """The one unit a question asks for; None for none or several."""
    units: dict[str, str] = {}
    for phrase in _UNIT_PHRASES:
        for match in phrase.finditer(question[:MAX_QUESTION]):
            unit = read_unit(to_latex(match["unit"].strip(" $")))
            if unit is not None and unit.symbol:
                units[unit.symbol] = match["unit"].strip(" $")
    if not units and _PER_CENT.search(question[:MAX_QUESTION]):
        return "%"
    return next(iter(units.values())) if len(units) == 1 else None


@lru_cache(maxsize=4096)
def shows_unit(question: str, gold: str) -> bool:
    """Checks for the key's unit in the question."""
    behind = _SPACING.sub("", _UP_TO_NUMBER.sub("", gold[-MAX_KEY:]))
    return behind != "" and behind in _SPACING.sub("", question[:MAX_QUESTION])


@lru_cache(maxsize=4096)
def leaves_ends_open(question: str) -> bool:
    """Checks for questions on monotony or confidence, whose intervals may be open or closed."""
    return _FREE_ENDS.search(question[:MAX_QUESTION]) is not None


_THINGS = r"(?:values?|solutions?|roots?|zeros?|pairs?|triples?|numbers?|integers?|primes?|functions?|points?)"
_ALL = late(
    r"\b(?:find|determine|list|give|state|identify|solve for|what are|write down)\b"
    r"(?!\s+the\s+(?:sum|product|number|average|mean))"
    rf"[^.?!]{{0,30}}\ball\b[^.?!,]{{0,40}}\b{_THINGS}\b"
    r"|(?:求|求出|写出|列出|找出)[^。？?，,和积]{0,12}(?:所有|全部)(?![^。？?]{0,20}(?:之?和|之?积|个数))"
    r"|모두 (?:구하|찾|쓰)|모든[^.?]{0,20}(?:값|해|근|쌍|수)[을를] (?:구하|찾|쓰)",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def asks_for_all(question: str) -> bool:
    """Checks whether all values are required."""
    return _ALL.search(question[:MAX_QUESTION]) is not None


_SOLUTIONS = late(
    r"general\s+solution|differential\s+equation|\bODEs?\b|通解|微分方程|일반해|미분\s?방정식"
    r"|(?<![A-Za-z])[yuxw]\s?(?:'{1,4}|\^\{\\prime|\^\{\(\d\)\})|\\(?:ddot|dot)\s?\{?[a-z]|\\d?frac\s?\{\s?(?:\\mathrm\s?\{?)?d\}?\^?\{?\d?\}?\s?[yuxw]\s?\}"
)


@lru_cache(maxsize=4096)
def asks_for_solutions(question: str) -> bool:
    """Checks for a differential equation, whose constants may have any name."""
    return _SOLUTIONS.search(question[:MAX_QUESTION]) is not None


MAX_CHARS = 6_000
"""Longer questions tell a story; their first words are no demand."""
MAX_EXPRESSION = 160
MAX_BEFORE = 420
MAX_STEP = 20
MAX_VERBS = 60


class Demand(NamedTuple):
    """Sorted kinds of form with spaces between, and the expression asked about; "" for neither."""

    form: str = ""
    expression: str = ""


_NONE = Demand()
_IN_FRONT = """
factor: factor | 因式分解 | 分解因式 | 分解质因数 | 인수분해하 | 소인수분해하
expand: expand | multiply | distribute | remove the brackets | remove the parentheses | 展开 | 去括号 | 전개하
simplify: simplify | reduce | 化简 | 约分 | 约简 | 간단히 하 | 약분하
rationalise: rationali | 分母有理化 | 유리화하
evaluate: compute | calculate | evaluate | work out | perform | 计算 | 求值 | 계산하 | 값을 구하
find: find | determine | what is | what's | what does | how much is | give | state | the value of
convert: write | rewrite | express | convert | change | turn | 用科学记数法表示 | 用科学计数法表示 | 用小数表示 | 나타내
convert: 用分数表示 | 用最简分数表示 | 用百分数表示
round: round | approximate
square: complete the square | 配方
solve: solve | 解方程 | 解不等式 | 방정식을 푸
"""
_BEHIND = r"""
factor: 因式分解 | 分解因式 | 分解质因数 | 인수분해 | 소인수분해
expand: 展开 | 전개
simplify: 化简 | 约分 | 约简 | 간단히 | 약분
rationalise: 分母有理化 | 유리화
evaluate: 的值 | 的结果 | 的近似值 | 의 값 | 계산
convert: 化成 | 化为 | 写成 | 用科学 | 用小数 | 用分数 | 用最简 | 用百分
convert: 기약분수로 | 분수로 | 소수로 | 백분율로 | 과학적
square: 配方
round: 四舍五入 | 精确到 | 保留 | 반올림 | 소수  | 소수점
find: __ | \_\_ | \underline | \uline | ? | ？ | ▲
"""


def _any_of(table: str) -> tuple[re.Pattern[str], dict[str, str]]:
    rows = (line.split(": ", 1) for line in table.strip().splitlines())
    kinds = {verb: kind for kind, verbs in rows for verb in verbs.split(" | ")}
    return late("|".join(map(re.escape, sorted(kinds, key=len, reverse=True)))), kinds


_FRONT_VERB, _FRONT_KINDS = _any_of(_IN_FRONT)
_BEHIND_VERB, _BEHIND_KINDS = _any_of(_BEHIND)
_STEP = late(r"(?:^|[.;:!?。；：，,\n\]]|\b(?:please|then|fully|completely|(?:can|could) you)|\d\))[\s*]*$")
_SHAPE_STEP = late(rf"{_STEP.pattern}|\b(?:to|and|by) $")
_ENDING = late(
    r"(?:(?P<evaluate> the (?:exact |numerical )?(?:value|result) of)"
    r"|(?P<factor> the (?:(?:complete |full |prime )?factori[sz]ation|(?:completely |fully )?factored form) of)"
    r"|(?P<expand> the expanded form of)|(?P<simplify> the (?:simplest|simplified|reduced) form of)"
    r"|(?:i?[sz]e)?(?: off| out)?)\b"
)
_HANGUL_ENDING = late("(?:시오|여라|어라|면|세요)")
_PARTICLE = late(r"(?:进行|[을를의]|(?:[을를]\s*완전히)|(?:의\s*분모를))\s*$")
_FILLER = late(
    r"(?:[\s:：*]|\b(?:and (?:simplify|evaluate)|the|following|expressions?|value|result|of"
    r"|polynomials?|trinomial|binomial|quadratic|monomial|fraction|numbers?|decimal|completely|fully|exact|numerical"
    r"|given|below|sum|product|each|equations?|inequality|radical|ratio|determinant|integral|limit|angle|denominators?|in|algebraic)\b"
    r"|for \$?[a-z]\$?(?=[\s:,])"
    r"|下列|多项式|各?式子?|代数式|方程|分数|下面|结果|[.。．，,：]|다음|식|을|를)*",
    re.IGNORECASE,
)
_TO_COLON = late(r"(?:[^.?!:$\\\n\u4e00-\u9fff\uac00-\ud7a3]{1,80}|[\u4e00-\u9fff]{1,20})[:：]\s{0,4}(?=\S)")
_TO_FORMULA = late(r"(?:[a-z ,'-]{1,80}|[\u4e00-\u9fff]{1,12} ?)(?=\$|\\[(\[])", re.IGNORECASE)
_BY_SHAPE = frozenset({"factor", "expand", "simplify", "rationalise"})
"""Verbs that ask for the expression behind them ("compute" may mean "count")."""
_EMPTY_BRACKETS = late(r"[(（][\s~]{0,12}[)）]")
_FORMULA = late(
    r"\$\$(?P<a>[^$]{1,400})\$\$|\$(?P<b>[^$]{1,400})\$|\\\((?P<c>(?:[^\\]|\\(?!\))){1,400})\\\)"
    r"|\\\[(?P<d>(?:[^\\]|\\(?!\])){1,400})\\\]"
)
_TAIL = late(
    r"\s*(?:$|[.,;:?!)。，；：？！\n]|=|(?:completely|fully|over|as|in|to|into|by|and|where|when|if|for|given|with|using"
    r"|without|exactly|correct|rounded|simplified|reduced|factored|expanded|written|expressed|is|equals?)\b|[的用化写，]|因式|分解|其中|进行|精确|[을를의은는이가])",
    re.IGNORECASE,
)
_SENTENCE = late(r"\.(?=\s|$)|[?？。；;\n]|[,，](?=\s)|=?\s?(?:_{2}|\\_|▲|[(（]\s?[)）])")
_BLANK_AT_END = late(r"=\s?(?:\\?_|\\u(?:nder)?line|[(（]\s?[)）]|\?)[^$=]{0,60}$")
_EDGE = " \t\r\n.,;:=?，。；：？$"
_NOT_BEFORE = "\u4e00-\u9fff\uac00-\ud7a3，。？；：、\n$"
_LAST_RUN = late(rf"[^{_NOT_BEFORE}]+$")
_PARTS = (
    late(r"(?<![\w)}\\^])[(（]1[)）]|①|(?m:^)1[.)、]"),
    late(r"(?<![\w)}\\^])[(（]2[)）]|②|(?m:^)2[.)、]"),
)
_PHRASES = {
    "lowest": r"\b(?:lowest terms?|simplest terms|lowest form|irreducible fraction|reduced fraction)\b"
    r"|最简分数|既约分数|约分|기약분수",
    "rationalise": r"\brational denominators?\b",
    "simplify": r"\b(?:and simplify|(?:collect|combine) like terms)\b"
    r"|\b(?:simplest (?:\w+ )?form|simplified form|reduced form)\b|最简二次根式|最简形式|合并同类项|가장 간단한",
    "radians": r"\b(?:in|to|into)\s(?:\w{1,12}\s)?radians?\b|弧度|라디안|호도법",
    "scientific": r"\bscientific notation\b|科学[记计]数法|과학적 표기",
    "fraction": r"\bas an? (?:\w+ )?fraction\b|\bcommon fraction\b|(?:化成|化为|写成|用)(?:最简)?分数|분수로",
    "decimal": r"\bas an? (?:\w+ )?decimal\b|\bin decimal (?:form|notation)\b|(?:化成|化为|写成|用)小数|소수로",
    "percent": r"\b(?:as|to|into) an? percent(?:age)?\b|(?:化成|化为|写成|用)百分数|백분율로",
    "mixed": r"\b(?:as|to|into) an? (?:\w+ )?mixed (?:number|fraction|numeral)|(?:化成|化为|写成|用)带分数|대분수로",
    "pi": r"\bin terms of \$?(?:\\\()?\s*(?:\\?pi\b|π)|(?:保留|用含?)\s*\$?\s*(?:\\pi|π)",
    "exact": r"\bexact (?:value|answer|form|expression)s?\b|精确值|准确值|정확한 값",
    "factor": r"\bas a product of (?:\w+ )?(?:factors|primes)\b"
    r"|\bin (?:\w+ )?factored form\b|\b(?:completely|fully) factored\b",
    "expand": r"\bin expanded form\b",
    "square": r"\bvertex form\b|\bcomplet(?:e|ing) the square\b|配方|顶点式|완전제곱",
    "solved": r"\b(?:express|write|find|give)\s+\$?(?:\\\()?\s*[a-z]\s*(?:\\\))?\$?\s+"
    r"(?:in terms of|as a function of)\b|\bslope[- ]intercept form\b"
    r"|\bmake \$?[a-z]\$? the subject\b|用含\s*\$?[a-z]\$?\s*的(?:代数)?式子?表示",
}
_FORMS = {kind: late(pattern) for kind, pattern in _PHRASES.items()}
_HINT = late(
    r"lowest|simplest|simplified|reduced|irreducible|notation|fraction|decimal|percent|mixed|terms of|exact|factored"
    r"|expanded|product of|rational denom|like terms|and simplify|合并|subject"
    r"|vertex|square|function of|intercept|配方|顶点|완전제곱|用含|用 ?\$? ?(?:\\pi|π)|最简|既约|约分"
    r"|科学|分数|小数|保留|精确|准确|기약|가장|과학|분수|소수|백분율|정확|radian|弧度|라디안|호도법"
)
"""Every phrase contains one of these."""
_EXCLUSIVE = (("fraction", "decimal", "percent", "scientific"), ("factor", "expand"), ("exact", "decimal"))
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5,
           "첫": 1, "한": 1, "둘": 2, "두": 2, "셋": 3, "세": 3, "넷": 4, "네": 4, "다섯": 5}  # fmt: skip
_PLACES = (
    late(
        r"\b(?:to|with|using) (?P<n>\d|one|two|three|four|five) (?:decimal|d\.?p|places)"
        r"|(?:保留|精确到)到?(?:小数点后第?)?(?P<m>[一两二三四五\d])位"
        r"|소수점? (?:아래 )?(?P<k>\d|첫|둘|셋|넷|한|두|세|네|다섯) ?(?:번?째 ?)?자리까지"
    ),
    late(r"nearest (?P<n>whole|integer|tenth|hundredth|thousandth)\b|精确到(?P<m>个|十分|百分|千分)位"),
    late(r"精确到\s*\$?(?P<n>0\.0{0,5}1)(?!\d)"),
)
_NEAREST = {"whole": 0, "integer": 0, "tenth": 1, "hundredth": 2, "thousandth": 3,
            "个": 0, "十分": 1, "百分": 2, "千分": 3}  # fmt: skip


@lru_cache(maxsize=4096)
def demand(question: str) -> Demand:
    """The demand of a question; empty with several parts or conflicting expressions."""
    if len(question) > MAX_CHARS or all(part.search(question) for part in _PARTS):
        return _NONE
    lower = question.lower()
    forms = {kind for kind, pattern in _FORMS.items() if pattern.search(lower)} if _HINT.search(lower) else set()
    tasks = [*_spoken_sums(question)] or [*_in_front(question), *_behind(question)]
    if len({"".join(to_latex(expression).split()) for _, expression in tasks}) > 1:
        tasks = []
    forms |= {kind for kind, _ in tasks}
    places = _places(question)
    if "round" in forms or (places and tasks and _SPOKEN_NUMBER.fullmatch(tasks[0][1])):
        forms = forms - {"round", "decimal"} | places
    for group in _EXCLUSIVE:
        if len(forms & set(group)) > 1:
            forms -= set(group)
    return Demand(" ".join(sorted(forms)), tasks[0][1] if tasks else "")


def _in_front(text: str) -> Iterator[tuple[str, str]]:
    lower = text.lower()
    for verb in islice(_FRONT_VERB.finditer(lower if len(lower) == len(text) else text), MAX_VERBS):
        kind, end = _FRONT_KINDS[verb[0]], verb.end()
        if verb[0].isascii():
            ending = _ENDING.match(lower, end)
            step = _SHAPE_STEP if kind in _BY_SHAPE else _STEP
            if ending is None or not step.search(lower, max(0, verb.start() - MAX_STEP), verb.start()):
                continue
            kind = ending.lastgroup or kind
            end = ending.end()
        elif (hangul := _HANGUL_ENDING.match(text, end)) is not None:
            end = hangul.end()
        for gap in (_FILLER, _TO_COLON, *([_TO_FORMULA] if kind in _BY_SHAPE else [])):
            filler = gap.match(text, end)
            expression = _expression(text, filler.end()).strip(_EDGE) if filler else ""
            if expression and _counts(kind, expression):
                yield kind, expression
                break


def _behind(text: str) -> Iterator[tuple[str, str]]:
    text = _EMPTY_BRACKETS.sub("__", text)
    for verb in islice(_BEHIND_VERB.finditer(text), MAX_VERBS):
        kind, head = _BEHIND_KINDS[verb[0]], text[: verb.start()][-MAX_BEFORE:]
        if kind == "find":
            head = head.rstrip(" \n~")
            if not head.rstrip(" $").endswith("="):
                continue
            expression = _before(head.removesuffix("="))
        elif text.startswith("域", verb.end()):
            continue
        else:
            expression = _before(_PARTICLE.sub("", head))
            if not expression and (counted := _COUNTED.search(head)):
                expression = counted[1]
        expression = expression.strip(_EDGE)
        if expression and _counts(kind, expression):
            yield kind, expression


_COUNTED = late(r"(?<![\d.])(\d{1,20}(?:\.\d{1,20})?)\s?[\u4e00-\u9fff]{1,4}[，,]?$")
_SYMBOL = late(r"\\?[A-Za-z]+(?:_\{?\w{1,12}\}?)?'*")
_OPERATION = late(r"[-+*/^!×÷√²³]|\\(?:frac|dfrac|tfrac|sqrt|times|cdot|div|binom|log|lg|ln|sin|cos|tan|int|sum|begin)")


def _counts(kind: str, expression: str) -> bool:
    if len(expression) > MAX_EXPRESSION or (_SYMBOL.fullmatch(expression) and kind != "round"):
        return False
    if kind in {"find", "evaluate"}:
        return _OPERATION.search(expression) is not None or "(" in expression
    return any(char.isalnum() for char in expression)


def _expression(text: str, start: int) -> str:
    formula = _FORMULA.match(text, start)
    if formula:
        inner = next(group for group in formula.groups() if group is not None)
        inner = _BLANK_AT_END.sub("", inner)
        return inner if _TAIL.match(text, formula.end()) else ""
    stop = _SENTENCE.search(text, start, start + MAX_EXPRESSION)
    source, words = _words(text[start : stop.start() if stop else start + MAX_EXPRESSION])
    if not words:
        return source
    return source[: words[0].start] if _TAIL.match(source, words[0].start) else ""


def _before(text: str) -> str:
    head = text.rstrip()
    for opening, closing in (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]")):
        if head.endswith(closing):
            start = head.rfind(opening, 0, -len(closing))
            return head[start + len(opening) : -len(closing)].strip() if start >= 0 else ""
    run = _LAST_RUN.search(head[-MAX_EXPRESSION:])
    source, words = _words(run[0] if run else "")
    return source[words[-1].end if words else 0 :].strip()


def _words(text: str) -> tuple[str, list[Token]]:
    try:
        tokens, source = tokenize(text)
    except Unparsable:
        return "", []
    return source, [token for token in tokens if token.kind == "word" and not token.text.startswith("\\")]


def _places(text: str) -> set[str]:
    places = {number for pattern in _PLACES for match in pattern.finditer(text) for number in match.groups() if number}
    if len(places) != 1:
        return set()
    (number,) = places
    if number in _NEAREST:
        return {f"places:{_NEAREST[number]}"}
    return {f"places:{_COUNTS.get(number, number) if '.' not in number else len(number) - 2}"}
