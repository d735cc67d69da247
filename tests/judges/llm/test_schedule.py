"""Turns end where nothing is remembered, and not before."""

from __future__ import annotations

import pytest

from livek12.core.errors import UserError
from livek12.judges.llm.client import Schedule


class Judge:
    def __init__(self, name: str) -> None:
        self.name = name

    def close(self) -> None:
        """Nothing is held."""


def test_a_large_pool_takes_as_many_rounds_as_it_puts_requests() -> None:
    schedule, judges = Schedule(), [Judge(f"judge {number}") for number in range(40)]
    assert schedule.admits(judges[0])
    for number, following in enumerate([*judges[1:], *judges]):
        schedule.keep(number, None)
        schedule.want(following)
        schedule.end_round()
        assert schedule.admits(following)
    schedule.keep(0, None)  # put before: its reply was not remembered
    schedule.want(judges[0])
    with pytest.raises(UserError, match="not remembered"):
        schedule.end_round()


def test_a_judge_that_comes_up_and_cannot_see_is_no_waste() -> None:
    schedule, blind, seeing = Schedule(), Judge("blind"), Judge("seeing")
    assert schedule.admits(blind)
    schedule.want(seeing)
    schedule.end_round()
    assert schedule.admits(seeing)
