"""Records found again by their key give what reading everything into memory gives."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Failure, Key
from livek12.core.run.journal import Index, JournalWriter, placed_records, read_journal

QUESTIONS, TRIALS = ("a", "漢", "b/1"), 3


def _failure(question: str, trial: int, reason: str) -> Failure:
    return Failure(key=Key(task="t", question_id=question, trial=trial), state="failed", reason=reason)


@pytest.fixture
def written(tmp_path: Path) -> list[Failure]:
    """Records of three writers at once, short and long ones, with a damaged line and half a line between them."""
    rng = random.Random(7)
    with JournalWriter(tmp_path, "f") as one, JournalWriter(tmp_path, "f") as two, JournalWriter(tmp_path, "f") as more:
        for number in range(60):
            reason = f"{number} " + "long 漢字 " * rng.choice([0, 0, 600, 9000])
            rng.choice([one, two, more]).append(_failure(rng.choice(QUESTIONS), rng.randrange(-1, TRIALS + 1), reason))
            if number == 30:
                with two.path.open("ab") as file:
                    file.write(b"not a record\n\n")
    with (tmp_path / "f-1.jsonl").open("ab") as file:
        file.write(b'{"key": {"ta')
    return list(read_journal(tmp_path, "f", Failure))


@pytest.mark.parametrize("first", [True, False])
def test_what_is_found_is_what_was_read(first: bool, written: list[Failure], tmp_path: Path) -> None:
    problems: list[str] = []
    index = Index(
        tmp_path,
        "f",
        Failure,
        TRIALS,
        wanted=lambda record: not record.reason.startswith("5"),
        wins=(lambda new, old: False) if first else None,
        on_problem=problems.append,
    )
    held: dict[Key, Failure] = {}
    for record in written:
        if not record.reason.startswith("5") and not (first and str(record.key) in map(str, held)):
            held[record.key] = record
    by_text = {str(key): record for key, record in held.items()}
    for question in (*QUESTIONS, "other"):
        for trial in range(TRIALS):
            key = Key(task="t", question_id=question, trial=trial)
            assert index.find(key) == by_text.get(str(key))
        for trial in (-1, TRIALS, 10**9):
            assert index.find(Key(task="t", question_id=question, trial=trial)) is None
    assert len(by_text) > 5 and len(problems) == 1 and "f-1.jsonl" in problems[0]


def test_places_are_those_of_the_lines(written: list[Failure], tmp_path: Path) -> None:
    for place, record in placed_records(tmp_path, "f", Failure):
        line = place.path.read_bytes()[place.start : place.end]
        assert line.endswith(b"\n") and Failure.model_validate_json(line) == record


def test_an_index_of_nothing_finds_nothing(tmp_path: Path) -> None:
    assert Index(tmp_path, "f", Failure, 1).find(Key(task="t", question_id="a")) is None


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "f-0.jsonl").mkdir()
    with pytest.raises(UserError, match=r"f-0\.jsonl: cannot be read"):
        Index(tmp_path, "f", Failure, 1)
