"""Exact numbers: integers, decimals, fractions, percent, scientific notation, simple zh and ko numerals.

No floats. A decimal has a last digit (its quantum); integers and fractions are exact. The rule of precision:

1. Equal values are equal.
2. A key with three or more significant digits behind a point (two, if approximate) accepts exact or longer answers
   within half a unit of its last digit.
3. An exact key (1/3, the root of 2), or a decimal longer than the answer, accepts its rounding to four or more
   significant digits; a measured key (with a unit, or approximate) to three.
4. With a decimal: values within one per cent, or within the coarser rounding (one unit of the last digit between two
   decimals), are undecided.
5. Everything else differs.

Units: quantities are converted exactly into the key's unit. A missing unit is a doubt, unless the question prints it,
it is an angle's degree, or no change of units explains the difference. A capital directly behind the key's number
("0.64N") is unit or factor: unless the question has it, the bare number is wrong. Equal numbers in ℃ and K are a doubt.

Per cent: above 1, if it cannot be the share itself, 28 stands for a key of 28 %, unless a question speaks of none; a
key of 28 is 28 % only if the question asks for per cent. A whole number above 1 and as many hundred per cent (5, 500 %)
are a doubt.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from livek12.core.patterns import late
from livek12.core.text import of_short
from livek12.judges.base import AnswerComparison, Decision, Outcome, accept, reject, undecided
from livek12.judges.rules.notation import NOT_A_NAME, bare, key_value, to_latex, without_part_labels
from livek12.judges.rules.numerals import read_numeral, spelled
from livek12.judges.rules.units import KELVIN_OFFSET, NO_UNIT, SUBUNITS, Unit, compound, conversion, currency, read_unit

NAME = "number"
Said = tuple[Outcome, str]
MAX_CHARS = 200
MAX_DIGITS = 60
MAX_EXPONENT = 400
KEY_DIGITS, MARKED_KEY_DIGITS, ANSWER_DIGITS, MEASURED_ANSWER_DIGITS = 3, 2, 4, 3
NEAR = Fraction(1, 100)
_SMALL_MONEY = frozenset(small for small, _ in SUBUNITS)
_PER_CENT_ALONE = "the same number of per cent"
PER_CENT = "%"
"""The printed unit of a question that asks for per cent."""


@dataclass(frozen=True)
class Number:
    """A number as written. `quantum` is the worth of its last digit, None if exact.

    `digits` are significant; `marked`: "about"; `percent` is already applied; `size` is that of "million" or 万.
    """

    value: Fraction
    quantum: Fraction | None = None
    digits: int = 0
    marked: bool = False
    percent: bool = False
    unit: Unit = NO_UNIT
    name: str = ""
    size: int = 1


class NumberStage:
    """Decides numeric keys and answers."""

    name = NAME

    def decide(self, comparison: AnswerComparison) -> Decision:
        """Accept or reject by precision; undecided for doubtful units."""
        if _FLAT.search(comparison.answer) and not _FLAT.search(comparison.gold):
            return undecided(NAME)
        key = key_value(comparison.gold)
        gold, answer = read_number(key), read_number(comparison.answer)
        if gold is None or answer is None:
            labels, texts = without_part_labels(key, comparison.answer)
            gold, answer = map(read_number, texts) if len(labels) == 1 else (None, None)
        if gold is None or answer is None:
            return undecided(NAME)
        outcome, reason = compare_quantities(gold, answer, comparison.unit)
        if gold.name and answer.name and gold.name != answer.name and outcome != "reject":
            return undecided(NAME, "another name")
        if reason == _PER_CENT_ALONE and comparison.ends_count and not (comparison.unit or comparison.unit_shown):
            return undecided(NAME, "a number for a percentage that the question does not ask for")
        if outcome == "undecided" and _lacks_its_unit(gold, answer, comparison):
            outcome, reason = "reject", f"the unit {gold.unit.symbol} is missing, and nothing prints it"
        if outcome == "undecided":
            return undecided(NAME, reason)
        return accept(NAME, reason) if outcome == "accept" else reject(NAME, reason)


def compare_quantities(gold: Number, answer: Number, printed: str | None) -> Said:
    """Compares numbers with units and per cent; `printed` is the question's unit."""
    if gold.percent != answer.percent:
        return _share(gold, answer, percent_asked=printed == PER_CENT)
    shown = read_unit(to_latex(printed)) if printed else None
    fits = shown is not None and (not gold.unit.symbol or conversion(shown.symbol, gold.unit.symbol)[0] != "other")
    if shown is not None and shown.symbol and fits:
        gold, answer = (
            quantity if quantity.unit.symbol else replace(quantity, unit=shown) for quantity in (gold, answer)
        )
    if gold.unit.symbol and answer.unit.symbol:
        return _in_the_keys_unit(gold, answer)
    if money := _money(gold, answer):
        return money
    if gold.size != answer.size and gold.value / gold.size == answer.value / answer.size:
        return "undecided", "a magnitude on one side only"
    result = compare(gold, answer)
    if doubt := _unit_doubt(gold, answer, result[0]):
        return "undecided", doubt
    return result


def _money(gold: Number, answer: Number) -> Said | None:
    """Sums in a currency and its hundredth; cents and a bare number are a doubt."""
    words = gold.unit.word, answer.unit.word
    for own, other in (words, words[::-1]):
        size = SUBUNITS.get((own, other))
        if size:
            small, large = (gold, answer) if own == words[0] else (answer, gold)
            changed = replace(small, value=small.value / size, quantum=small.quantum / size if small.quantum else None)
            return compare(*((changed, large) if small is gold else (large, changed)))
        if own in _SMALL_MONEY and not other and gold.value != answer.value and compare(gold, answer)[0] == "reject":
            return "undecided", "cents, or the whole"
    return None


_TENS = frozenset(Fraction(10) ** power for power in range(-12, 13) if power)


def compare(gold: Number, answer: Number) -> Said:
    """Applies the rule of precision, without units."""
    if gold.value == answer.value:
        return "accept", "equal values"
    apart = abs(gold.value - answer.value)
    finer = answer.quantum is None or (gold.quantum is not None and answer.quantum < gold.quantum)
    if gold.quantum is not None and finer and apart <= gold.quantum / 2:
        if gold.digits >= (MARKED_KEY_DIGITS if gold.marked else KEY_DIGITS):
            return "accept", "rounds to the key"
        return "undecided", "rounds to the key, which has few digits"
    coarser = answer.quantum is not None and (gold.quantum is None or gold.quantum < answer.quantum)
    if coarser and answer.quantum is not None and apart <= answer.quantum / 2:
        if gold.quantum is None and gold.value.denominator == 1 and not gold.unit.symbol:
            return "reject", "the key is whole"
        measured = gold.marked or gold.unit.symbol != ""
        if answer.digits >= (MEASURED_ANSWER_DIGITS if measured else ANSWER_DIGITS):
            return "accept", "the key rounds to it"
        return "undecided", "a decimal of few digits for a key with more"
    if gold.quantum is None and answer.quantum is None:
        return "reject", "different exact values"
    if answer.value and gold.value / answer.value in _TENS:
        return "reject", "another power of ten"
    coarse = max(gold.quantum or 0, answer.quantum or 0)
    one_exact = gold.quantum is None or answer.quantum is None
    if apart <= NEAR * abs(gold.value) or apart <= (coarse / 2 if one_exact else coarse):
        return "undecided", "close, but not within rounding"
    return "reject", "different values"


def _share(gold: Number, answer: Number, percent_asked: bool) -> Said:
    """28 stands for 28 % of the key or the asked quantity; 0.28 is 28 %."""
    bare_one, share = (answer, gold) if gold.percent else (gold, answer)
    if bare_one.unit.symbol or bare_one.unit.word:
        return "undecided", "a unit beside per cent"
    if gold.value == answer.value:
        whole = bare_one.value > 1 and bare_one.value.denominator == 1
        return ("undecided", "a whole number beside hundreds of per cent") if whole else ("accept", "equal values")
    if (bare_one.value > 1 and gold.percent) or (bare_one.value >= 1 and percent_asked):
        quantum = bare_one.quantum / 100 if bare_one.quantum is not None else None
        cents = replace(bare_one, value=bare_one.value / 100, quantum=quantum)
        result = compare(gold, cents) if gold.percent else compare(cents, answer)
        if result[0] == "accept":
            return "accept", _PER_CENT_ALONE
    if 100 * share.value == bare_one.value:
        return "undecided", "only one of them is in per cent"
    if answer.percent and answer.quantum is None:  # 17 % may be 1/6
        answer = replace(answer, quantum=Fraction(1, 100), digits=len(str(abs(answer.value.numerator))))
    return compare(gold, answer)


def _in_the_keys_unit(gold: Number, answer: Number) -> Said:
    kinds = {gold.unit.symbol, answer.unit.symbol}
    if kinds == set(KELVIN_OFFSET):
        return _temperatures(gold, answer)
    fit, factor = conversion(answer.unit.symbol, gold.unit.symbol)
    if fit == "convertible" and gold.unit.letter and answer.unit.letter:
        return "undecided", "two letters that may be variables"
    quantum = answer.quantum * factor if answer.quantum is not None else None
    outcome, reason = compare(gold, replace(answer, value=answer.value * factor, quantum=quantum))
    if fit == "doubtful":
        return "undecided", f"units that are easily confused: {gold.unit.symbol} and {answer.unit.symbol}"
    if fit == "other" or (outcome == "reject" and fit != "same"):
        if gold.unit.doubtful or answer.unit.doubtful:
            return "undecided", f"the units differ: {gold.unit.symbol} and {answer.unit.symbol}"
        return "reject", f"other units: {gold.unit.symbol} and {answer.unit.symbol}"
    return outcome, reason


def _temperatures(gold: Number, answer: Number) -> Said:
    """℃ and K: temperatures have an offset, differences (ΔT) none."""
    plain = compare(gold, answer)
    if any(re.match(r"\\?Delta", quantity.name) for quantity in (gold, answer)):
        return plain
    if plain[0] == "accept":
        return "undecided", "equal numbers of ℃ and K"
    kelvin = [
        replace(
            quantity,
            value=quantity.value + KELVIN_OFFSET[quantity.unit.symbol],
            quantum=quantity.quantum or Fraction(1),
        )
        for quantity in (gold, answer)
    ]
    return compare(*kelvin)


def _lacks_its_unit(gold: Number, answer: Number, comparison: AnswerComparison) -> bool:
    capital = gold.unit.letter and not gold.unit.is_plain
    alone = not (answer.unit.symbol or answer.unit.word or gold.percent or answer.percent)
    return capital and alone and not (comparison.unit or comparison.unit_shown or comparison.variable_type)


def _unit_doubt(gold: Number, answer: Number, outcome: Outcome) -> str:
    words = gold.unit.word, answer.unit.word
    if any(words) and (gold.unit.symbol or answer.unit.symbol):
        return f"a unit beside {' or '.join(filter(None, words))}"
    bare_numbers = gold.unit == answer.unit == NO_UNIT
    if bare_numbers or (outcome == "reject" and not by_a_change_of_units(gold.value, answer.value)):
        return ""
    if gold.unit.symbol and not answer.unit.symbol and not (gold.unit.may_be_left_out or _is_a_year(gold)):
        return f"the key has the unit {gold.unit.symbol}, the answer none"
    if answer.unit.symbol and not gold.unit.symbol and not answer.unit.may_be_added:
        return f"the answer has the unit {answer.unit.symbol}, the key none"
    if _RANK.match(words[1]) and not _RANK.match(words[0]):
        return "a rank beside a number"
    if all(words) and words[1] not in (words[0], words[0].removeprefix("个")):
        return "different words behind the number"
    return ""


_RANK = late(r"(?:st|nd|rd|th)\b|번째")


def _is_a_year(number: Number) -> bool:
    return number.unit.symbol == "y^1" and number.value.denominator == 1 and 1000 <= number.value <= 2100


_STEPS = [Fraction(step) for step in ("1", "3.6", "6", "36", "8.64", "57.296")]


def by_a_change_of_units(first: Fraction, second: Fraction) -> bool:
    """Checks for a quotient with the digits of a common conversion."""
    if first == 0 or second == 0 or (first < 0) != (second < 0):
        return False
    return any(_leading(first / second) == digits for step in _STEPS for digits in (_leading(step), _leading(1 / step)))


def _leading(value: Fraction) -> str:
    scaled = value / Fraction(10) ** (len(str(value.numerator)) - len(str(value.denominator)))
    return f"{float(scaled):.1e}"[:3]


_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{0,2}(?: \d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+"
_POWER = r"(?:\\times|\\cdot|\*|[xX])\s*10\s*\^?\s*(?:\{\s*(?P<exp1>[+-]?\s*\d+)\s*\}|(?P<exp2>[+-]?\d+))"
_FLAT = late(r"(?:×|\\times|\\cdot)\s*10\d")
"""A power of ten that may have lost its raised exponent, as keys do that were read off a page; or a product."""
_NUMBER = late(
    r"(?P<sign>[+-]?)\s*(?:"
    rf"(?P<whole>\d+)?\s*\\frac\s*(?:\{{\s*(?P<fsign>[+-]?)\s*(?P<top>{_DIGITS})\s*\}}|(?P<top1>\d))"
    rf"\s*(?:\{{\s*(?P<bottom>{_DIGITS})\s*\}}|(?P<bottom1>\d))"
    r"|(?P<mixed>\d+) (?P<mtop>\d+)/(?P<mbottom>\d+)"
    rf"|(?P<left>{_DIGITS})\s*/\s*(?P<right>{_DIGITS})(?![\d^])"
    rf"|10\s*\^\s*(?:\{{\s*(?P<exp0>[+-]?\s*\d+)\s*\}}|(?P<exp00>[+-]?\d+))"
    rf"|(?P<dec>{_DIGITS})(?:\s*{_POWER}|[eE](?P<exp3>[+-]?\d+)(?![\d.]))?"
    r")(?!\.?\d|\s*(?:\^(?!\s*\{?\s*\\circ)|[!_/:<>=+])|\s*-\s*[\d\\]|\s*\\(?:frac|sqrt|pi|times|cdot|div|pm|mp)|\s*[\d(])"
)
_SPACING = late(r"\\(?:[,;:! ]|q?quad(?![a-zA-Z])|left(?![a-zA-Z])|right(?![a-zA-Z])|displaystyle)|~")
_LATIN_NAME = late(
    r"(?P<name>\|?(?:\\Delta\s*)?(?:\\(?:d{1,2}ot|bar|tilde|hat|vec|mathbf)\s*\{\s*\\?[A-Za-z]+\s*\}|\\?[A-Za-z]+)'*(?:\s*_\s*(?:\{(?:[^{}=]|\{[^{}=]{0,20}\}){1,40}\}|\\[a-z]+\s?\{[^{}=]{0,20}\}|\w))?'*\|?(?:\s*\([^()=]{0,40}\))?)\s*(?P<is>=|\\(?:approx|sim|simeq)(?![a-z]))\s*(?=[^=])"
)
_WORD_NAME = late(
    r"(?P<name>[\u4e00-\u9fff]{1,16}|"
    r"(?:[A-Za-z](?:\([\w, ]{1,8}\))?의 )?[\uac00-\ud7a3 ]{1,24})\s*(?P<is>为|是|=|:|은|는|:)\s*"
)
_ABOUT = late(r"(?:约(?:为|等于|是)?|大约|近似为?|\\approx|\\sim|about|approximately|approx\.?|약|대략)\s*")
_PERCENT = late(r"\s*(?:\\?%|(?:percent(?:age)?|per cent|pct)\b|퍼센트)")
_MAGNITUDES = {"百万": 10**6, "十亿": 10**9, "万亿": 10**12, "千": 10**3, "万": 10**4, "亿": 10**8,
               "만": 10**4, "억": 10**8}  # fmt: skip
_MAGNITUDE = late(rf"{'|'.join(_MAGNITUDES)}(?![米克瓦卡赫帕焦伏安欧牛吨升字])")
_LEAD = late(r"^\\(?:text|mathrm|mbox)\s*\{([\u4e00-\u9fff\uac00-\ud7a3:：=， ]{1,24})\}")
_TIMES = {"每秒": "s", "每分钟": "min", "每小时": "h", "时速": "h", "초속": "s", "분속": "min", "시속": "h"}
_PER = late(rf"^(?P<time>{'|'.join(_TIMES)})\s*(?P<rest>\d[\d.,]*\s*(?:k?m|千?米|公里|킬로미터|미터))$")
_NEGATIVE = late(r"^(?:(?:负|마이너스)\s*|(?i:minus|negative)\s+)(?=[\d.\\])")
_IN_BRACKETS = late(r"(?<=[\d}])(?:\s+\(|\s*（)\s*([^\d()（）]{1,20})\s*[)）]$")
_PAREN = late(r"\(\s*([^(),]*)\s*\)")


@of_short
def read_number(text: str) -> Number | None:
    """The number of a whole text, with its unit."""
    if len(text) > MAX_CHARS:
        return None
    if alone := _DIGITS_ALONE.fullmatch(text):
        value, quantum, digits = _decimal(alone[2], 0)
        return Number(-value if alone[1] else value, quantum, digits)
    text = bare(_DOLLARS.sub(r"\1\$", text))
    text = _IN_BRACKETS.sub(lambda unit: f" {unit[1]}" if read_unit(unit[1]) else unit[0], text)
    text = to_latex(_LEAD.sub(lambda match: match[1], text))
    if "\\" in text or "~" in text:
        text = _SPACING.sub(" ", _FRACTION.sub(r"\\frac", text))
    plain, name, marked = _drop_name(" ".join(text.split()))
    if inner := _PAREN.fullmatch(plain):
        plain = inner[1].strip()
    if about := _ABOUT.match(plain):
        marked, plain = True, plain[about.end() :]
    plain = _PER.sub(lambda per: f"{per['rest']}/{_TIMES[per['time']]}", plain)
    if money := _MONEY.match(plain):
        plain = money["minus"] + plain[money.end() :]
    plain = _NEGATIVE.sub("-", plain)
    if numeral := read_numeral(plain):
        counted = read_unit(numeral.rest) or NO_UNIT
        return Number(numeral.value, numeral.quantum, numeral.digits, marked, numeral.percent, counted, name)
    if plain[-1:].isalpha() and (words := spelled(plain)) is not None:
        return Number(words, marked=marked, name=name)
    match = _NUMBER.match(plain)
    number = _parsed(match) if match else None
    if number is None or (match and match["whole"] and _NEW_LINE.search(text.strip())):
        return None
    value, quantum, digits, end = number
    rest = plain[end:]
    if large := _LARGE.match(rest):
        rest = f"{_IN_ENGLISH[large[1]]}{rest[large.end() :]}"
    size = 1
    if magnitude := _MAGNITUDE.match(rest):
        size = _MAGNITUDES[magnitude[0]]
        value, quantum, rest = value * size, quantum * size if quantum is not None else None, rest[magnitude.end() :]
    percent = _PERCENT.match(rest)
    if percent:
        value, quantum, rest = value / 100, quantum / 100 if quantum is not None else None, rest[percent.end() :]
    unit = read_unit(rest)
    if unit is None:
        several = None if percent or marked else compound(plain)
        return several and Number(several.value, several.quantum, several.digits, unit=several.unit, name=name)
    if money and unit == NO_UNIT:
        unit = currency(money["sign"])
    if marked and quantum is None and value.denominator == 1:
        quantum, digits = Fraction(1), len(str(abs(value.numerator)))
    return Number(value, quantum, digits, marked, percent is not None, unit, name, size)


_DIGITS_ALONE = late(r"(-)?(\d{1,29}(?:\.\d{1,29})?)", re.ASCII)
_FRACTION = late(r"\\(?:dfrac|[tc]frac(?![a-z]))")
_MONEY = late(r"^(?P<minus>[+-]?)\s*(?P<sign>\\\$|[¥￥€£₩])\s*")
_DOLLARS = late(r"\A(\s*[+-]?)\$(?=\d[^$]*\Z)")
"""The sign of money: one that opens mathematics is closed again."""
_NEW_LINE = late(r"\n")
_IN_ENGLISH = {"thousand": "千", "million": "百万", "billion": "十亿", "trillion": "万亿"}
_LARGE = late(rf"\s+({'|'.join(_IN_ENGLISH)})(?![a-z])")


def _drop_name(text: str) -> tuple[str, str, bool]:
    """Splits off "x = ", "f(2) = " or "离心率为", but no qualifier ("至少为5")."""
    latin = _LATIN_NAME.match(text)
    if latin:
        return text[latin.end() :], re.sub(r"[\s{}]", "", latin["name"]), latin["is"] != "="
    word = _WORD_NAME.match(text)
    if word and not NOT_A_NAME.search(word["name"]):
        return text[word.end() :], "", False
    return text, "", False


def _parsed(match: re.Match[str]) -> tuple[Fraction, Fraction | None, int, int] | None:
    groups = {name: group for name, group in match.groupdict().items() if group}
    if any(len(group) > MAX_DIGITS for group in groups.values()):
        return None
    exponent = next((groups[name] for name in ("exp0", "exp00", "exp1", "exp2", "exp3") if name in groups), "0")
    power = int(exponent.replace(" ", ""))
    if abs(power) > MAX_EXPONENT:
        return None
    negative = (match["sign"] == "-") != (match["fsign"] == "-")
    if match["dec"]:
        value, quantum, digits = _decimal(match["dec"], power)
    elif "exp0" in groups or "exp00" in groups:
        value, quantum, digits = Fraction(10) ** power, None, 0
    else:
        tops, bottoms = ("top", "top1", "mtop", "left"), ("bottom", "bottom1", "mbottom", "right")
        top = next(_decimal(groups[name], 0)[0] for name in tops if name in groups)
        bottom = next(_decimal(groups[name], 0)[0] for name in bottoms if name in groups)
        if bottom == 0:
            return None
        whole = match["whole"] or match["mixed"]
        if whole and top >= bottom:
            return None
        value, quantum, digits = Fraction(whole or 0) + top / bottom, None, 0
    return (-value if negative else value), quantum, digits, match.end()


def _decimal(written: str, power: int) -> tuple[Fraction, Fraction | None, int]:
    plain = written.replace(",", "").replace(" ", "")
    whole, point, places = plain.partition(".")
    if not point and not power:
        return Fraction(int(whole)), None, 0
    digits = len(plain.replace(".", "").lstrip("0"))
    quantum = Fraction(10) ** (power - len(places))
    value = int(whole + places) * quantum
    exact = quantum >= 1 and point == "" and power == 0
    return value, None if exact else quantum, digits
