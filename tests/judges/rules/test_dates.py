"""Dates and places on the globe are one in any notation; what says less, or could be two dates, is left open."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.judges.rules.dates import read_date
from tests.judges.helpers import outcome

ACCEPT = """
1949年10月1日 @ 1949.10.1
1949年10月1日 @ 1949-10-01
1949年10月1日 @ 1949년 10월 1일
October 1, 1949 @ 1 October 1949
October 1, 1949 @ the 1st of Oct. 1949
1911年10月 @ October 1911
3月8日 @ March 8
公元前221年 @ 前221年
公元前221年 @ 221 BC
221 BC @ 221 BCE
기원전 108년 @ 108 B.C.
"""
REJECT = """
1949年10月1日 @ 1949年9月1日
October 1, 1949 @ 1 October 1950
公元前221年 @ 221年
221 BC @ AD 221
221 BC @ 221 AD
"""
OPEN = """
1949年10月1日 @ 1949年10月
1949年10月1日 @ 1949
1990年4月3日 @ 3/4/1990
"""


def _pairs(table: str) -> list[list[str]]:
    return [line.split(" @ ") for line in table.strip().splitlines()]


@pytest.mark.parametrize(("gold", "answer"), _pairs(ACCEPT))
def test_one_date_or_place_is_itself(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"


@pytest.mark.parametrize(("gold", "answer"), _pairs(REJECT))
def test_another_is_wrong(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "reject"


@pytest.mark.parametrize(("gold", "answer"), _pairs(OPEN))
def test_less_or_two_readings_are_left_open(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "undecided"


@given(st.dates(date(1000, 1, 1)))
def test_any_day_is_read_in_each_notation(day: date) -> None:
    said = (day.year, day.month, day.day)
    assert read_date(f"{day.year}年{day.month}月{day.day}日") == said
    assert read_date(f"{day.year}년 {day.month}월 {day.day}일") == said
    assert read_date(day.isoformat()) == said
    assert read_date(f"{day:%B} {day.day}, {day.year}") == said
    assert read_date(f"{day.day} {day:%b} {day.year}") == said


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    read_date(text)
