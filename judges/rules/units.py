r"""Units in one canonical spelling ("米/秒", "m/s", "m\cdot s^{-1}"), and handwritten quantities.

Chinese, Korean and English names, SI prefixes, "square", "平方", "제곱", "per", "每". Without brackets, all behind a
slash ("J/mol·K") is denominator, marked doubtful. Conversion is exact (pint, imported lazily). Counting words are no
units.

By hand: 2 h 30 min, 5 ft 6 in, 1小时20分钟; 2√3 cm, π/4 rad. Compound units are of one kind, descending, all but the
last value whole. Letters are a unit only behind a space and a value without letters; one letter only if the other side
has a unit (`letters`), as 2√3 m may be a formula in m.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from livek12.core.patterns import late
from livek12.core.process import untimed
from livek12.core.text import of_short
from livek12.judges.rules.notation import to_latex
from livek12.judges.rules.numerals import COUNTED

_PREFIXES = [("T", "tera", "太", "테라"), ("G", "giga", "吉", "기가"), ("M", "mega", "兆", "메가"),
             ("k", "kilo", "千", "킬로"), ("c", "centi", "厘", "센티"), ("d", "deci", "分", "데시"),
             ("m", "milli", "毫", "밀리"), ("u", "micro", "微", "마이크로"), ("n", "nano", "纳", "나노"),
             ("p", "pico", "皮", "피코"), ("f", "femto", "飞", "펨토")]  # fmt: skip
_PREFIXED = """
m: meter metre | 米 | 미터
g: gram gramme | 克 | 그램
s: sec second | 秒 秒钟 | 초
N: newton | 牛 牛顿 | 뉴턴
J: joule | 焦 焦耳 | 줄
W: watt | 瓦 瓦特 | 와트
Pa: pascal | 帕 帕斯卡 | 파스칼
V: volt | 伏 伏特 | 볼트
A: ampere amp | 安 安培 | 암페어
ohm: | 欧 欧姆 | 옴
F: farad | 法 法拉 | 패럿
C: coulomb | 库 库仑 | 쿨롱
Hz: hertz | 赫 赫兹 | 헤르츠
T: tesla | 特斯拉 | 테슬라
Wb: weber | 韦伯 | 웨버
H: henry | 亨 亨利 | 헨리
S: siemens | 西门子 | 지멘스
eV: electronvolt | 电子伏 电子伏特 | 전자볼트
eVc: | |
eVcc: | |
mol: mole | 摩 摩尔 | 몰
cal: calorie | 卡 卡路里 | 칼로리
bar: | 巴 | 바
torr: Torr | 托 | 토르
Bq: becquerel | 贝可 贝克勒尔 | 베크렐
Gy: gray | 戈瑞 | 그레이
Sv: sievert | 希沃特 西弗 | 시버트
lm: lumen | 流明 | 루멘
lx: lux | 勒克斯 | 럭스
cd: candela | 坎德拉 | 칸델라
pc: parsec | 秒差距 | 파섹
bp: |  |
M: molar |  |
L: l liter litre | 升 | 리터
"""
_NAMES = """
um: micron
kg: 公斤
km: 公里
cm: 公分
min: mins minute minutes 分钟 分 분
h: hr hrs hour hours 小时 时 시간
d: day days 天 日 일
y: yr yrs year years 年 年度 년 년도
t: ton tons tonne tonnes 吨 톤
atm: 大气压 标准大气压 기압
mmHg: mm_Hg mm_of_Hg 毫米汞柱
hPa: 百帕 헥토파스칼
ha: hectare hectares 公顷 헥타르
K: kelvin kelvins 开 开尔文 켈빈
degC: ^\\circC \\circC ℃ °C 摄氏度 섭씨 celsius degree_celsius degrees_celsius degree_C degrees_C deg_C
degF: ^\\circF \\circF ℉ °F 华氏度 화씨 fahrenheit degree_fahrenheit degrees_fahrenheit degree_F degrees_F deg_F
rad: radian radians 弧度 라디안
deg: ^\\circ \\circ ° degree degrees 度 도
lb: lbs pound pounds 磅
ft: feet foot 英尺
in: inch inches 英寸
yd: yard yards
mi: mile miles 英里
oz: ounce ounces
mph:
u: amu
ly: light_year light_years light-year light-years 光年 광년
nmi: nautical_mile nautical_miles
slug: slugs
au: AU 天文单位
knot: knots kn
G: gauss Gauss Gs
hp: H.P HP h.p horsepower 马力 마력
psi:
dyn: dyne dynes
erg: ergs
lbf:
angstrom: Å \\AA
kWh: 千瓦时 千瓦·时 킬로와트시
rpm:
"""


def _names() -> dict[str, str]:
    names: dict[str, str] = {"\\Omega": "ohm", "Ohm": "ohm", "ohms": "ohm"}
    for line in _PREFIXED.strip().splitlines():
        symbol, _, words = line.partition(":")
        english, chinese, korean = (part.split() for part in words.split("|"))
        symbols = [symbol, "\\Omega"] if symbol == "ohm" else [symbol]
        names.update(dict.fromkeys([*symbols, *english, *(f"{word}s" for word in english), *chinese, *korean], symbol))
        for short, latin, zh, ko in _PREFIXES:
            spelled = [f"{latin}{word}{plural}" for word in english if len(word) > 3 for plural in ("", "s")]
            spelled += [f"{zh}{word}" for word in chinese] + [f"{ko}{word}" for word in korean]
            spelled += [f"{mark}{name}" for mark in ((short, "\\mu") if short == "u" else (short,)) for name in symbols]
            if symbol in {"L", "l"}:
                spelled.append(f"{short}l")
            names.update(dict.fromkeys(spelled, short + symbol))
    for line in _NAMES.strip().splitlines():
        symbol, _, words = line.partition(":")
        names.update(dict.fromkeys([symbol, *(word.replace("_", " ") for word in words.split())], symbol))
    return names


_CANONICAL = _names()
_PINT = {"y": "year", "in": "inch", "u": "unified_atomic_mass_unit", "ly": "light_year", "h": "hour", "d": "day",
         "degC": "delta_degC", "degF": "delta_degF", "kWh": "kilowatt_hour", "T": "tesla", "t": "metric_ton",
         "mph": "mile_per_hour", "G": "gauss", "hp": "horsepower",
         "au": "astronomical_unit", "nmi": "nautical_mile",
         "rpm": "revolutions_per_minute", "ha": "hectare", "S": "siemens"}  # fmt: skip
_ATOM = late(
    r"(?P<before>square |sq\.? |cubic |平方|立方|세제곱|제곱)?\s*"
    r"(?P<name>" + "|".join(re.escape(name) for name in sorted(_CANONICAL, key=len, reverse=True)) + r")"
    r"(?![A-Za-z])(?:\s*\^\s*\{?\s*(?P<power>[+-]?\s*\d)\s*\}?|(?P<bare>[23]|-[1-3])(?!\d)|\s*(?P<after>squared|cubed)(?![a-z]))?"
)
"""A power without a caret is 2 or 3, or negative, and directly behind its unit (see `_may_be_bare`)."""
_POWERS = {"square": 2, "sq": 2, "sq.": 2, "平方": 2, "제곱": 2, "squared": 2,
           "cubic": 3, "立方": 3, "세제곱": 3, "cubed": 3}  # fmt: skip
_STYLE = late(
    r"\\(?:text|textbf|textrm|textnormal|mathrm|mathbf|mbox|rm|operatorname|unit|left|right)(?![a-zA-Z])"
    r"|\\[,;:! ]|[~{}$]"
)
_CAPITALISED = late(r"(?<![A-Za-z\\])[A-Z][a-z]{2,}(?![A-Za-z])")
"""Unit names that may have a capital: "5 Newtons", "20 Degrees Celsius"; symbols have shorter ones."""
_BETWEEN = late(r"\s*(?P<sign>\\cdot|\\times|\*|\.|-|/|每|per(?![a-z]))?\s*(?P<open>\()?\s*")
_MONEY = {
    **dict.fromkeys(("dollar", "dollars", "\\$", "美元", "달러", "USD"), "dollar"),
    **dict.fromkeys(("yuan", "元", "圆", "人民币", "위안", "RMB"), "yuan"),
    **dict.fromkeys(("won", "원", "₩", "韩元"), "won"), **dict.fromkeys(("euro", "euros", "€", "欧元", "유로"), "euro"),
    **dict.fromkeys(("¥", "￥"), "¥"), "£": "sterling", "英镑": "sterling", "yen": "yen", "日元": "yen", "엔": "yen",
    **dict.fromkeys(("cent", "cents", "¢", "美分", "penny", "pennies", "센트"), "cent"),
    **dict.fromkeys(("pence", "p"), "pence"), "角": "jiao",
}  # fmt: skip
"""Money, by one word for each. ¥ is the sign of two currencies."""
SUBUNITS = {("cent", "dollar"): 100, ("cent", "euro"): 100, ("pence", "sterling"): 100, ("jiao", "yuan"): 10}
"""Number of the first unit in one of the second."""
_PLAIN_UNITS = {"unit", "units", "square units", "square unit", "cubic units", "cubic unit", "单位", "平方单位"}
_COUNTED = late(
    rf"(?:[a-z]{{3,}}"
    r"|(?=(?:[a-z]+[ -])*(?:[a-z]+(?<![su])s|people|(?:wo)?men|children|feet|teeth|mice|fish|sheep|is|are)(?![a-z]))"
    rf"[a-z]+(?:[ -][a-z]+){{1,3}}|(?:st|nd|rd|th)(?: [a-z]+)?|{COUNTED})",
    re.IGNORECASE,
)
"""A counting word, up to four with a plural, or the ending of a rank."""
_QUANTIFIED = late(
    r"\b(?:or|and|more|less|least|most|than|not|no|half|double|times|dozen|hundred|thousand|million|billion|trillion|"
    r"mod|if|when|where|for|to|over|pi|percent|pct|base|plus|minus|at|up|about|per|below|above|under|short|off|out"
    r"|negative|positive|inverse|reciprocal|factorial|half|halves|quarters?|thirds?|score|fold|of|as|times"
    r"|pairs?|couples?|away|apart|each|alone|again|according|almost|wrong|incorrect|invalid|false|never|was|were|excluding|impossible|errors?|mistakes?|unless|because|but|else|instead"
    r"|rather|without|except|maybe|perhaps|possibly|guess|mil|bn"
    r"|hundreds|thousands|millions|billions|trillions|dozens|too|left over|remainder|cents?|pence|penn(?:y|ies))\b"
    r"|\b(?:halv|doubl|tripl|quadrupl|cub|squar|reduc|increas|decreas|divid|multipli|subtract|add|rais|round|invert|negat"
    r"|repeat)ed\b|\b(?:recurring|repeating|missing|halving|doubling)\b"
    r"|\b(?!months?\b|paths?\b|maths?\b|cloths?\b|moths?\b|baths?\b)\w{2,}ths?\b"
    r"|square|cubic"
    r"|[万亿千百十一二两三四五六七八九半倍成折之不非或且至到以约多余零的]|左右|上下|만|억|천|백|이상|이하|초과|미만|또는|배"
)
_PLAINEST = frozenset(f"{name}^1" for name in "m cm mm km mi ft in g kg mg t lb s ms min h d y".split())
_LENGTHS = frozenset("m cm mm km dm mi ft in yd".split())
_CONFUSED = [{"deg^1", "degC^1"}, {"C^1", "degC^1"}, {"F^1", "degF^1"}]
_CONFUSED += [{"A^1", f"{length}^1"} for length in ("m", "cm", "mm", "nm", "um", "pm", "angstrom")]
MAX_ATOMS = 8
Fit = Literal["same", "convertible", "doubtful", "other"]


@dataclass(frozen=True)
class Unit:
    """The unit behind a number. `symbol` is canonical ("m^1 s^-1"), or "" for a counting word or nothing.

    `letter`: one letter directly behind the number ("3d" may be 3·d); `doubtful`: letters directly behind a number
    ("2mg", "2g N"), or a product behind a slash.
    """

    symbol: str
    word: str = ""
    letter: bool = field(default=False, compare=False)
    doubtful: bool = field(default=False, compare=False)

    @property
    def is_plain(self) -> bool:
        """Checks for an everyday length, area, volume, time, mass or angle."""
        name, _, power = self.symbol.partition("^")
        return self.may_be_left_out or (f"{name}^1" in _PLAINEST | {"L^1", "ha^1"} and power in {"1", "2", "3"})

    @property
    def may_be_left_out(self) -> bool:
        """Checks for counting words, money and degrees."""
        return self.symbol in {"", "deg^1"}

    @property
    def may_be_added(self) -> bool:
        """Checks for units plain enough for a key without one."""
        name, _, power = self.symbol.partition("^")
        area = name in _LENGTHS and power in {"2", "3"}
        return self.may_be_left_out or area or (self.symbol in _PLAINEST and not self.letter)


NO_UNIT = Unit("")


def currency(sign: str) -> Unit:
    """The unit of a currency sign."""
    return Unit("", _MONEY[sign])


@of_short
def read_unit(text: str) -> Unit | None:
    """The unit of a whole text."""
    plain = " ".join(_STYLE.sub(" ", text).replace("^ ", "^").split()).rstrip(".")
    plain = _CAPITALISED.sub(_small, plain)
    plain = plain.replace("\\mu ", "\\mu").replace("\\circ ", "\\circ")
    plain = re.sub(r"(?<![A-Za-z])([kMGm]) \\Omega", r"\1\\Omega", plain)
    plain = _JOINED.sub(r"\1 \2", plain)
    plain = _PER_LIGHT.sub(lambda match: "eVcc" if match["square"] else "eVc", plain)
    if not plain:
        return NO_UNIT
    parsed = _powers(plain)
    if parsed is not None:
        powers, doubtful = parsed
        symbol = " ".join(f"{name}^{power}" for name, power in sorted(powers.items()) if power)
        return Unit(
            symbol,
            letter=len(text) == 1 and text.isascii(),
            doubtful=doubtful or (text.isalpha() and text.isascii()) or _FACTOR_BEFORE.match(text) is not None,
        )
    if plain.lower() in _PLAIN_UNITS:
        return NO_UNIT
    if plain in _MONEY:
        return Unit("", _MONEY[plain])
    if _COUNTED.fullmatch(plain) and not _QUANTIFIED.search(plain.lower()):
        return Unit("", plain.lower())
    return None


_JOINED = late(r"(?<![A-Za-z\\])([AWNJVC])([ms])(?![A-Za-z])")
"""Products without a sign: Am^2, Js."""
_PER_LIGHT = late(r"eV ?/ ?(?:\( ?)?c(?: ?\))?(?![A-Za-z])(?P<square> ?\^ ?2| ?\^ ?\{ ?2 ?\})?")
"""Momentum and mass of particles: GeV/c, MeV/c^2."""
_NATURAL = late(r"eVcc?\^")
"""Units that are one where the speed of light is 1."""
_ENERGY = late(r"[kMGT]?eV\^1")
_FACTOR_BEFORE = late(
    r"(?:\s|\\[,;: ]|~)*[A-Za-z](?:(?:\s|\\[,;: ]|~)*\\(?:text|mathrm|textrm|rm)(?![a-z])|\s+[A-Za-z](?![A-Za-z]))"
    r"|(?:\s|\\[,;: ]|~)*kT$"
)
r"""Plain letters behind a number that are rather factors: 8080g \text{N}, 8080 g N, 3 kT."""


def _small(word: re.Match[str]) -> str:
    small = word[0].lower()
    canonical = small in _CANONICAL or small in {"per", "square", "cubic"}
    return small if canonical and word[0] not in _CANONICAL else word[0]


def _powers(text: str) -> tuple[dict[str, int], bool] | None:
    if text[0] == "(" and text[-1] == ")" and text.count("(") == 1:
        text = text[1:-1].strip()
    powers: dict[str, int] = {}
    position, sign, inside, slashes, doubtful = 0, 1, False, 0, False
    for _ in range(MAX_ATOMS):
        atom = _ATOM.match(text, position)
        if atom is None:
            return None
        mark = (atom["before"] or atom["after"] or "").strip()
        power = int((atom["power"] or atom["bare"] or "1").replace(" ", "")) * _POWERS.get(mark, 1)
        name = _CANONICAL[atom["name"]]
        if atom["bare"] and not _may_be_bare(text, name, atom["bare"], first=position == 0):
            return None
        powers[name] = powers.get(name, 0) + sign * power
        position = atom.end()
        if inside and text[position : position + 1] == ")":
            inside, position = False, position + 1
        if position == len(text):
            return None if inside else (powers, doubtful)
        between = _BETWEEN.match(text, position)
        if between is None or (between["open"] and inside):
            return None
        if between["sign"] == "-" and not _may_be_joined(text, atom["name"], between):
            return None
        if between["sign"] in {"/", "每", "per"}:
            sign, slashes = -1, slashes + 1
        elif slashes and not inside:
            doubtful = True
        inside = inside or between["open"] is not None
        position = between.end()
    return None


def _may_be_bare(text: str, name: str, power: str, first: bool) -> bool:
    """Checks for a missing caret: cm2, m/s2, mol L-1; 4t+1 and 5 m s-1 may be sums."""
    if power.startswith("-"):
        return not first and _LONG_NAME.search(text) is not None
    return name in _LENGTHS or (name == "s" and not first)


_LONG_NAME = late(r"(?<![A-Za-z\\])[A-Za-z]{2}")


def _may_be_joined(text: str, name: str, between: re.Match[str]) -> bool:
    """Checks for a hyphen between units (kW-h, ft-lb), not a minus (3t-m)."""
    after = text[between.end() : between.end() + 2]
    tight = not any(char.isspace() for char in between[0])
    return tight and (len(name) > 1 or after[1:].isalpha())


# --- conversion ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _registry() -> Any:
    with untimed():
        import pint

        registry: Any = pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)
        registry.define("eVc = electron_volt / speed_of_light")
        registry.define("eVcc = electron_volt / speed_of_light ** 2")
        return registry


@lru_cache(maxsize=4096)
def _in_base_units(symbol: str) -> tuple[Fraction, str]:
    registry = _registry()
    product = registry.Quantity(Fraction(1), "dimensionless")
    for atom in symbol.split():
        name, _, power = atom.partition("^")
        product = product * registry.Quantity(Fraction(1), _PINT.get(name, name)) ** int(power)
    base = product.to_base_units()
    return Fraction(base.magnitude), str(sorted(base.dimensionality.items()))


def conversion(unit: str, into: str) -> tuple[Fit, Fraction]:
    """The fit of two canonical units, and the factor between them.

    "doubtful": often confused (20度 and 20℃), or two meanings of one dimension (Hz, rad/s); "other": another dimension.
    """
    if unit == into:
        return "same", Fraction(1)
    if (
        {unit, into} in _CONFUSED
        or (("rad" in unit) != ("rad" in into) and {unit, into} != {"deg^1", "rad^1"})
        or any("rpm" in symbol for symbol in (unit, into))
    ):
        return "doubtful", Fraction(1)
    natural = [_NATURAL.sub("eV^", symbol) for symbol in (unit, into)]
    of_particles = all(map(_ENERGY.fullmatch, natural)) and unit.count("c") != into.count("c")
    if ("bp^" in unit) != ("bp^" in into) or natural[0] == natural[1] or of_particles:
        return "doubtful", Fraction(1)
    (size, dimension), (other_size, other_dimension) = _in_base_units(unit), _in_base_units(into)
    if dimension != other_dimension:
        return "other", Fraction(1)
    return "convertible", size / other_size


KELVIN_OFFSET = {"degC^1": Fraction("273.15"), "K^1": Fraction(0)}
"""Offset to kelvin."""


MAX_CHARS = 60
_KINDS = [
    frozenset(f"{name}^1" for name in kind.split())
    for kind in ("d h min s", "mi yd ft in", "km m cm mm", "t kg g mg", "lb oz")
]
_CLOCK = frozenset({"时", "시"})
"""3时20分 is rather a time of day."""
_STYLED = late(r"\\(?:text|mathrm|textrm)\s*\{([^{}]*)\}|\\[,;: ]|~")
_PIECE = late(r"\s*(?P<number>\d{1,9}(?P<places>\.\d{1,9})?)\s*(?P<unit>[^\d\s,，.]{1,12})\.?\s*(?:and\b|又|零)?")


class Compound(NamedTuple):
    """Value in the first unit, worth of the last digit (None: exact), digits."""

    value: Fraction
    quantum: Fraction | None
    digits: int
    unit: Unit


def compound(text: str) -> Compound | None:
    """The quantity of a text with several units."""
    if len(text) > MAX_CHARS:
        return None
    plain = _STYLED.sub(lambda style: f" {style[1] or ''} ", text).strip()
    pieces = []
    position = 0
    while position < len(plain):
        piece = _PIECE.match(plain, position)
        unit = read_unit(piece["unit"]) if piece and piece["unit"] not in _CLOCK else None
        if piece is None or unit is None:
            return None
        pieces.append((Fraction(piece["number"]), piece["places"], unit))
        position = piece.end()
    return _one(pieces)


def _one(pieces: list[tuple[Fraction, str | None, Unit]]) -> Compound | None:
    if len(pieces) < 2 or not any(kind.issuperset(unit.symbol for _, _, unit in pieces) for kind in _KINDS):
        return None
    first = pieces[0][2]
    total, above = pieces[0][0], Fraction(1)
    for (_, places, _), (value, _, unit) in pairwise(pieces):
        _, size = conversion(unit.symbol, first.symbol)
        if places or size >= above or value * size >= above:
            return None
        total, above = total + value * size, size
    places = pieces[-1][1]
    quantum = above / 10 ** (len(places) - 1) if places else None
    return Compound(total, quantum, len(str(int(total / quantum))) if quantum else 0, first)


_BEHIND = late(
    r"(?P<value>.*(?:[\d)}\]π]|\\pi))(?:\s|\\[,;: ]|~)+(?P<unit>[A-Za-zΩ][A-Za-zΩ\d^/·{}²³⁻¹-]{0,20})",
    re.DOTALL,
)
_BRACKETED = late(
    r"(?P<value>.*[\d)}π])(?:\s|\\[,;: ]|~|\\q?quad)+\[(?P<unit>[A-Za-zΩ][A-Za-zΩ\d^/·{}-]{0,20})\]", re.DOTALL
)
_COMMAND = late(r"\\[a-zA-Z]+")
_NAME = late(r".*(?:[=≈]|\\approx(?![a-z]))", re.DOTALL)
_LETTER = late(r"[A-Za-z]")
_NO_FORMULA = late(
    r"(?<![A-Za-z])(?:rad|cm|mm|km|kg|mol|min|hr|[kMG]Hz|Hz|[kM]Pa|kWh)(?![A-Za-z])|(?<![A-Za-z])m/s(?![A-Za-z])"
)
"""Units whose letters are no product, unlike mg, eV and kT (weight, charge times voltage, temperature)."""


def upright(text: str, letters: bool = False) -> str:
    r"""A text with its unit's letters upright: "2√3 cm" as "2√3\text{ cm}"; `letters` allows any unit."""
    if len(text) > MAX_CHARS:
        return text
    behind = _BRACKETED.fullmatch(text) if text.endswith("]") else None
    if behind is None:
        behind = _BEHIND.fullmatch(text)
        if behind is None or not (letters or _NO_FORMULA.search(behind["unit"])):
            return text
        if _LETTER.search(_COMMAND.sub("", _NAME.sub("", behind["value"]))):
            return text
    unit = read_unit(to_latex(behind["unit"]))
    return f"{behind['value']}\\text{{ {behind['unit']}}}" if unit is not None and unit.symbol else text
