"""Turns end where nothing is remembered, and not before."""

from __future__ import annotations

import pytest

from livek12.core.errors import UserError
from livek12.judges.llm.turns import Turns


class Judge:
    def __init__(self, name: str) -> None:
        self.name = name

    def close(self) -> None:
        """Nothing is held."""


def test_a_large_pool_takes_as_many_rounds_as_it_puts_requests() -> None:
    turns, judges = Turns(), [Judge(f"judge {number}") for number in range(40)]
    assert turns.admits(judges[0])
    for number, following in enumerate([*judges[1:], *judges]):
        turns.keep(number, None)
        turns.want(following)
        turns.end_round()
        assert turns.admits(following)
    turns.keep(0, None)  # put before: its reply was not remembered
    turns.want(judges[0])
    with pytest.raises(UserError, match="not remembered"):
        turns.end_round()


def test_a_judge_that_comes_up_and_cannot_see_is_no_waste() -> None:
    turns, blind, seeing = Turns(), Judge("blind"), Judge("seeing")
    assert turns.admits(blind)
    turns.want(seeing)
    turns.end_round()
    assert turns.admits(seeing)
