"""An answer that is a short sentence is worth what it says of its subject, and nothing where it says more or less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.judges.rules.restated import complement, glossed
from tests.judges.helpers import outcome

RIGHT = """
(2,3) @ The vertex is (2, 3).
[1,4] @ The range of a is [1, 4].
3:2 @ Their ratio is 3:2
y=2x+1 @ The equation of the line is y = 2x + 1.
H2SO4 @ The acid is H2SO4.
endothermic @ The reaction is endothermic.
The reaction is endothermic. @ endothermic
Paris @ The capital of France is Paris.
Paris @ It's Paris.
正方形 @ 四边形ABCD是正方形。
李白 @ 这首诗的作者是李白。
李白 @ 作者：李白
顺时针 @ 线圈转动方向为顺时针
光合作用 @ 这个过程叫做光合作用
서울 @ 수도는 서울이다.
세종대왕 @ 한글을 만든 사람은 세종대왕입니다.
(2,3) @ 꼭짓점은 (2, 3)이다.
x=3 @ 解得x=3，经检验x=3是原方程的解
(-1,3] @ 故不等式的解集为(-1,3].
삼투압 @ 삼투압(osmotic pressure)
osmosis @ 삼투(osmosis)
线粒体 @ 线粒体（mitochondria）
Na2CO3 @ 碳酸钠（Na₂CO₃）
임진왜란 @ 임진왜란(1592)
삼투압(osmotic pressure) @ 삼투압
"""
WRONG = """
x=3 @ 解得x=2，经检验x=2是原方程的解
(2,3) @ The vertex is (3, 2).
y=2x+1 @ The equation of the line is y = 2x - 1.
endothermic @ The reaction is exothermic.
顺时针 @ 线圈转动方向为逆时针
"""
OPEN = """
Paris @ It is not Paris.
Paris @ Its capital was never Paris.
Paris @ The capital is Paris, not London.
Paris @ The capital is Paris or London.
Paris @ The capital might be Paris.
Paris @ The wrong answer is Paris.
Paris @ My guess is Paris.
Paris @ The capital is Lyon.
Paris @ What is wanted is Paris. No, it is Lyon.
(2,3) @ The other vertex is (5, 3).
正方形 @ 四边形ABCD不是正方形。
李白 @ 这首诗的作者是杜甫。
李白 @ 这首诗的作者可能是李白。
李白 @ 作者是李白还是杜甫？
서울 @ 수도는 서울이 아니다.
서울 @ 수도는 서울 또는 부산이다.
The reaction is endothermic. @ exothermic
唐代 @ 李白（唐代）
《红楼梦》 @ 《红楼梦》（曹雪芹）
증가 @ 증가 (오타, 감소)
李白（唐代） @ 唐代
삼투압 @ 삼투압(X가 아니라 증산)
삼투압 @ 증산(transpiration)
"""


def _pairs(table: str) -> list[list[str]]:
    return [line.split(" @ ") for line in table.strip().splitlines()]


@pytest.mark.parametrize(("gold", "answer"), _pairs(RIGHT))
def test_what_a_sentence_says_counts(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "accept"


@pytest.mark.parametrize(("gold", "answer"), _pairs(WRONG))
def test_what_it_says_otherwise_is_wrong(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "reject"


@pytest.mark.parametrize(("gold", "answer"), _pairs(OPEN))
def test_what_denies_hedges_or_says_more_is_left_open(gold: str, answer: str) -> None:
    assert outcome(gold, answer) == "undecided"


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    value = complement(text)
    assert value is None or value in text
    assert all(word in text for word in glossed(text))
