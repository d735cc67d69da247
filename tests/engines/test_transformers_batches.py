"""Batches: every request once, alike, bounded in number, size and look-ahead, and padded less than as they came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.records import Request
from livek12.engines.transformers import RenderedPrompt, Room, batches
from tests.engines.helpers import ask


def prompts(lengths: list[int], trials: int = 1, kinds: int = 1) -> list[RenderedPrompt]:
    return [
        RenderedPrompt(ask(str(n), trial=trial, max_tokens=8 + n % kinds), length)
        for n, length in enumerate(lengths)
        for trial in range(trials)
    ]


def kind(request: Request) -> int:
    return request.sampling.max_tokens


@given(
    lengths=st.lists(st.integers(1, 500), max_size=60),
    trials=st.integers(1, 4),
    kinds=st.integers(1, 5),
    rows=st.integers(1, 9),
    ahead=st.integers(1, 4),
    cells=st.none() | st.integers(1, 4000),
)
def test_all_once_alike_and_within_the_room(
    lengths: list[int], trials: int, kinds: int, rows: int, ahead: int, cells: int | None
) -> None:
    asked = prompts(lengths, trials, kinds)
    read = given = 0

    def source() -> Iterator[RenderedPrompt]:
        nonlocal read
        for prompt in asked:
            read += 1
            yield prompt

    room = Room(rows, ahead, cells)
    seen: Counter[str] = Counter()
    for batch in batches(source(), room, kind):
        assert read - given <= rows * ahead
        given += len(batch)
        seen.update(str(prompt.request.key) for prompt in batch)
        assert len({kind(prompt.request) for prompt in batch}) == 1
        assert len(batch) == 1 or len(batch) <= rows
        if cells is not None and len(batch) > 1:
            assert len(batch) * max(prompt.cells for prompt in batch) <= cells
    assert seen == Counter(str(prompt.request.key) for prompt in asked)


def test_lengths_are_sorted_within_the_look_ahead() -> None:
    asked = prompts([10, 500] * 32)
    found = list(batches(asked, Room(8, 8), kind))
    assert [len(batch) for batch in found] == [8] * 8
    assert all(len({prompt.length for prompt in batch}) == 1 for batch in found)


@pytest.mark.parametrize("trials", [3, 4])
def test_trials_of_one_prompt_share_a_batch(trials: int) -> None:
    found = batches(prompts([30, 20, 10, 30, 20, 10], trials), Room(5, 4), kind)
    for batch in found:
        counts = Counter(prompt.request.key.question_id for prompt in batch)
        assert set(counts.values()) == {trials}


def test_trials_that_no_batch_holds_are_parted() -> None:
    found = [len(batch) for batch in batches(prompts([10, 10], 7), Room(4, 2), kind)]
    assert sum(found) == 14
    assert max(found) == 4


def test_after_memory_ran_out_long_prompts_go_in_smaller_batches_and_short_ones_do_not() -> None:
    room = Room(8, 2)
    long, short = prompts([1000] * 8), prompts([100] * 8)
    room.shrink([long])
    sizes = {batch[0].length: len(batch) for batch in batches(long + short, room, kind)}
    assert sizes == {1000: 4, 100: 8}
    room.shrink([long[:2]])
    assert [len(batch) for batch in batches(long, room, kind)] == [1] * 8, "one always goes"


@pytest.mark.parametrize("place", range(8))
def test_a_request_that_does_not_fit_alone_takes_the_blame_for_its_parts_only(place: int) -> None:
    asked = prompts([100] * 8)
    parts = [asked, asked[place // 4 * 4 :][:4], asked[place // 2 * 2 :][:2], asked[place:][:1]]
    room = Room(8, 2)
    room.shrink(parts)
    assert room.cells is None
    other = asked[4:] if place < 4 else asked[:4]
    room.shrink([other, *parts])
    assert room.cells == 2 * asked[0].cells, "half of the part without it"


def test_a_row_is_no_longer_than_the_context() -> None:
    request = ask("q", max_tokens=32768)
    assert [RenderedPrompt(request, 100, context).cells for context in (None, 2048, 40960)] == [32868, 2048, 32868]
