"""Units: every spelling in three languages has one symbol, conversion is exact, other dimensions differ."""

from __future__ import annotations

from fractions import Fraction

import pytest

from livek12.judges.rules.notation import to_latex
from livek12.judges.rules.units import _CANONICAL, conversion, read_unit
from tests.judges.helpers import outcome

SPELLED = [
    ("m/s", "m^1 s^-1"), ("米/秒", "m^1 s^-1"), ("米每秒", "m^1 s^-1"), ("meters per second", "m^1 s^-1"),
    ("m·s⁻¹", "m^1 s^-1"),
    ("미터/초", "m^1 s^-1"), ("J/(mol·K)", "J^1 K^-1 mol^-1"), ("J mol^{-1} K^{-1}", "J^1 K^-1 mol^-1"),
    ("\\text{ kg/m}^3", "kg^1 m^-3"), ("千克/立方米", "kg^1 m^-3"), ("平方千米", "km^2"), ("제곱미터", "m^2"),
    ("square meters", "m^2"),
    ("μm", "um^1"), ("微米", "um^1"), ("마이크로미터", "um^1"), ("kΩ", "kohm^1"), ("千欧", "kohm^1"), ("毫安", "mA^1"),
    ("℃", "degC^1"),
    ("摄氏度", "degC^1"), ("킬로그램", "kg^1"), ("公斤", "kg^1"), ("千瓦时", "kWh^1"), ("mmHg", "mmHg^1"),
    ("min", "min^1"), ("m/s squared", "m^1 s^-2"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "symbol"), SPELLED)
def test_one_symbol_for_every_spelling(text: str, symbol: str) -> None:
    unit = read_unit(to_latex(text))
    assert unit is not None
    assert unit.symbol == symbol


@pytest.mark.parametrize(
    "text", ["x", "m/", "/s", "(m", "m)", "foo/bar", "m^", "mm mm mm mm mm mm mm mm mm", "一定", "米饭", "Nx"]
)
def test_what_is_no_unit_has_no_symbol(text: str) -> None:
    unit = read_unit(text)
    assert unit is None or unit.symbol == ""


def test_every_unit_can_be_converted_into_itself_times_a_thousandth() -> None:
    for symbol in set(_CANONICAL.values()) - {"rpm", "rad", "deg"}:
        assert conversion(f"{symbol}^1", f"{symbol}^2")[0] == "other"


CONVERTED = [
    ("km^1 h^-1", "m^1 s^-1", Fraction(5, 18)), ("L^1", "cm^3", Fraction(1000)), ("kWh^1", "J^1",
    Fraction(3_600_000)),
    ("N^1 m^1", "J^1", Fraction(1)), ("eV^1", "J^1", Fraction(1602176634, 10**28)), ("atm^1", "Pa^1",
    Fraction(101325)),
    ("t^1", "kg^1", Fraction(1000)), ("in^1", "cm^1", Fraction(254, 100)), ("d^1", "s^1", Fraction(86400)),
]  # fmt: skip


@pytest.mark.parametrize(("unit", "into", "factor"), CONVERTED)
def test_conversion_is_exact(unit: str, into: str, factor: Fraction) -> None:
    assert conversion(unit, into) == ("convertible", factor)


QUANTITIES = [
    ("ΔT=25 ℃", "ΔT=25 K", "accept"), ("25 ℃", "298.15 K", "accept"), ("25 ℃", "298 K", "undecided"), ("25 ℃", "25 K",
    "undecided"),
    ("25 ℃", "320 K", "reject"), ("3.0×10^8 m/s", "3.00×10^5 km/s", "accept"), ("9.8 m/s²", "980 cm/s²", "accept"),
    ("1.60×10^{-19} C", "0.160 aC", "undecided"), ("5 g", "5 m", "reject"), ("5g", "5m", "undecided"),
    ("5 kg", "5 米", "reject"),
    ("30°", "30", "accept"), ("2 h", "7200 s", "accept"), ("2 h", "2 min", "reject"),
    ("8.31 J/(mol·K)", "8.31 J/(kg·K)", "reject"),
    ("8.314 J/(mol·K)", "8.31 J/(mol·K)", "accept"), ("101 kPa", "1.01×10^5 Pa", "accept"), ("22.4 L/mol", "22.4 L",
    "reject"),
]  # fmt: skip


@pytest.mark.parametrize(("gold", "answer", "expected"), QUANTITIES)
def test_quantities(gold: str, answer: str, expected: str) -> None:
    assert outcome(gold, answer) == expected
