r"""Units as they stand behind a number, in one canonical spelling: "米/秒", "m/s" and "m\cdot s^{-1}" are one.

No conversion: kilometres are not metres here. A counting word ("3 apples", "5个") is no unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from livek12.judges.numerals import COUNTED

_NAMES = """
m: meter meters metre metres 米 미터
cm: centimeter centimeters centimetre centimetres 厘米 公分 센티미터
mm: millimeter millimeters millimetre millimetres 毫米 밀리미터
km: kilometer kilometers kilometre kilometres 千米 公里 킬로미터
nm: nanometer nanometers nanometre nanometres 纳米 나노미터
um: \\mum micrometer micrometers micron microns 微米 마이크로미터
pm: 皮米
s: sec secs second seconds 秒 秒钟 초
ms: millisecond milliseconds 毫秒
us: \\mus microsecond microseconds 微秒
ns: 纳秒
min: mins minute minutes 分钟 분
h: hr hrs hour hours 小时 时 시간
d: day days 天 일
y: yr year years 年 년
g: gram grams 克 그램
kg: kilogram kilograms 千克 公斤 킬로그램
mg: milligram milligrams 毫克
ug: \\mug 微克
t: ton tons tonne tonnes 吨 톤
N: newton newtons 牛 牛顿 뉴턴
kN: 千牛
J: joule joules 焦 焦耳 줄
kJ: kilojoule kilojoules 千焦
MJ: 兆焦
eV: 电子伏 电子伏特
keV:
MeV:
GeV:
cal:
kcal: 千卡
W: watt watts 瓦 瓦特 와트
kW: 千瓦
MW: 兆瓦
Pa: pascal pascals 帕 帕斯卡 파스칼
kPa: 千帕
MPa: 兆帕
GPa:
hPa:
atm:
bar:
mmHg:
V: volt volts 伏 伏特 볼트
mV: 毫伏
kV: 千伏
A: ampere amperes amp amps 安 安培 암페어
mA: 毫安
uA: \\muA 微安
ohm: ohms \\Omega 欧 欧姆 옴
kohm: k\\Omega 千欧
Mohm: M\\Omega 兆欧
S: siemens
F: farad farads 法 法拉
uF: \\muF 微法
nF:
pF: 皮法
C: coulomb coulombs 库 库仑 쿨롱
uC: \\muC 微库
Hz: hertz 赫 赫兹 헤르츠
kHz: 千赫
MHz: 兆赫
GHz:
T: tesla 特斯拉 테슬라
mT:
Wb: 韦伯
H: henry 亨 亨利
mH:
K: kelvin kelvins 开 开尔文 켈빈
degC: ^\\circC \\circC ℃ °C 摄氏度 섭씨
mol: mole moles 摩尔 몰
mmol:
L: l liter liters litre litres 升 리터
mL: ml milliliter milliliters millilitre millilitres 毫升 밀리리터
rad: radian radians 弧度 라디안
deg: ^\\circ \\circ ° degree degrees 度 도
lb: lbs pound pounds
ft: feet foot 英尺
in: inch inches 英寸
mi: mile miles 英里
mph:
u: amu
ly: 光年
"""
_CANONICAL: dict[str, str] = {}
for _line in _NAMES.strip().splitlines():
    _symbol, _, _others = _line.partition(":")
    _CANONICAL.update(dict.fromkeys([_symbol, *_others.split()], _symbol))

_ATOM = re.compile(
    r"(?P<name>" + "|".join(re.escape(name) for name in sorted(_CANONICAL, key=len, reverse=True)) + r")"
    r"(?![A-Za-z])\s*(?:\^?\s*\{?\s*(?P<power>[+-]?\s*\d)\s*\}?)?"
)
_STYLE = re.compile(
    r"\\(?:text|textbf|textrm|textnormal|mathrm|mathbf|mbox|rm|operatorname|unit)(?![a-zA-Z])|\\[,;:! ]|[~{}$]"
)
_BETWEEN = re.compile(r"\s*(?:\\cdot|\\times|\*|\.|-)?\s*")
_MONEY = {"yuan", "dollar", "dollars", "元", "圆", "원", "won", "euro", "euros", "€", "¥", "￥", "£", "\\$", "₩"}
_PLAIN_UNITS = {"unit", "units", "square units", "square unit", "cubic units", "cubic unit", "单位", "平方单位"}
_COUNTED = re.compile(rf"(?:[A-Za-z]{{3,}}(?:[ -][A-Za-z]+){{0,3}}|(?:st|nd|rd|th)(?: [A-Za-z]+)?|{COUNTED})")
_QUANTIFIED = re.compile(
    r"\b(?:or|and|more|less|least|most|than|not|no|half|double|times|dozen|hundred|thousand|million|billion|trillion|"
    r"mod|if|when|where|for|to|over|pi|percent|pct|base|plus|minus|at|up|about|per)\b|square|cubic"
    r"|[万亿千百十一二两三四五六七八九半倍成折之不非或且至到以约多余零的]|左右|上下|만|억|천|백|이상|이하|초과|미만|또는|배"
)
_PLAINEST = frozenset(f"{name}^1" for name in "m cm mm km mi ft in g kg mg t lb s ms min h d y".split())


@dataclass(frozen=True)
class Unit:
    """What stands behind a number. `symbol` is canonical ("m^1 s^-1"), or "" for a counting word or nothing.

    `letter` says that it is one letter directly behind the number: "3d" may be three days or three times d.
    """

    symbol: str
    word: str = ""
    letter: bool = field(default=False, compare=False)

    @property
    def may_be_left_out(self) -> bool:
        """Counting words, money and degrees add nothing to the number in a key."""
        return self.symbol in {"", "deg^1"}

    @property
    def may_be_added(self) -> bool:
        """Behind a key without a unit only the plainest stand for themselves: no area, no letter of a product."""
        return self.may_be_left_out or (self.symbol in _PLAINEST and not self.letter)


NO_UNIT = Unit("")


def read_unit(text: str) -> Unit | None:
    """The unit that is the whole of `text`; None when it is something else."""
    plain = " ".join(_STYLE.sub(" ", text).replace("^ ", "^").split()).rstrip(".")
    plain = plain.replace("\\mu ", "\\mu").replace("\\circ ", "\\circ").replace("k \\Omega", "k\\Omega")
    if not plain:
        return NO_UNIT
    powers = _powers(plain)
    if powers is not None:
        symbol = " ".join(f"{name}^{power}" for name, power in sorted(powers.items()) if power)
        return Unit(symbol, letter=len(text) == 1 and text.isascii())
    if plain.lower() in _PLAIN_UNITS:
        return NO_UNIT
    if plain in _MONEY or (_COUNTED.fullmatch(plain) and not _QUANTIFIED.search(plain.lower())):
        return Unit("", plain.lower())
    return None


def _powers(text: str) -> dict[str, int] | None:
    """Exponents of a product of units; None where something is not a unit."""
    powers: dict[str, int] = {}
    position, sign = 0, 1
    while position < len(text):
        atom = _ATOM.match(text, position)
        if atom is None:
            return None
        name = _CANONICAL[atom["name"]]
        power = int((atom["power"] or "1").replace(" ", ""))
        powers[name] = powers.get(name, 0) + sign * power
        between = _BETWEEN.match(text, atom.end())
        position = between.end() if between else atom.end()
        sign = 1
        if text[position : position + 1] == "/":
            sign = -1
            position += 1 + len(text[position + 1 :]) - len(text[position + 1 :].lstrip())
            if position == len(text):
                return None
    return powers
