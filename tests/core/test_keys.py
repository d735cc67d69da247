"""A set of keys is a set of their texts, in little memory."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from livek12.core.records import Key
from livek12.core.run.journal import KeySet

KEYS = st.builds(
    Key,
    task=st.sampled_from(["t", "t@0.5"]),
    question_id=st.sampled_from(["a", "a/1", "", "漢"]),
    trial=st.integers(0, 300),
)


@given(st.lists(KEYS), st.lists(KEYS))
def test_it_is_the_set_of_the_texts(first: list[Key], second: list[Key]) -> None:
    plain: set[str] = set()
    ours = KeySet()
    for key in first:
        assert ours.add(key) == (str(key) not in plain)
        plain.add(str(key))
    others = {str(key) for key in second}
    assert set(ours) == plain and len(ours) == len(plain)
    assert all((str(key) in ours) == (str(key) in plain) for key in (*first, *second))
    assert set(ours | others) == plain | others == set(ours | KeySet(others))
    assert len(ours | others) == len(plain | others)


def test_what_is_no_key_is_not_in_it() -> None:
    keys = KeySet(["t/a/0"])
    assert not any(other in keys for other in ("", "a", "t/a", "t/a/", "t/a/-1", "t/a/x", "t/a/0/0", 7))


def test_many_trials_take_bytes_not_kilobytes() -> None:
    tracemalloc.start()
    keys = KeySet()
    for question in range(100):
        for trial in range(1000):
            keys.add(Key(task="t", question_id=str(question), trial=trial))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(keys) == 100_000
    assert held < 2 * len(keys), "more than two bytes a key"
