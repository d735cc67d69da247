"""Hand-made responses over forms, languages and styles: what each commits to, and that nothing else is ever read."""

from __future__ import annotations

import pytest

from livek12.core.records import Question
from livek12.judges.rules.labels import labelled_option, read_labels
from livek12.judges.rules.true_false import read_truth
from livek12.tasks.extraction import extract
from tests.judges.helpers import options, question
from tests.tasks import extraction_cases as cases
from tests.tasks.extraction_cases import OPEN, Case, Expected

FOUR = options("3", "5", "7", "9")
KOREAN = question("single_choice", answer=["?"], language="ko", benchmark="kmmmu")
LABELS = [
    *((case, question("single_choice", answer=["?"], options=FOUR)) for case in cases.SINGLE_ZH),
    *((case, question("single_choice", answer=["?"], options=FOUR, language="en")) for case in cases.SINGLE_EN),
    *((case, KOREAN) for case in cases.SINGLE_KO),
    *((case, question("multiple_choice", answer=["?"], options=FOUR)) for case in cases.SEVERAL),
]
VALUES = [
    *((case, question(answer=["?"])) for case in cases.VALUES_ONE),
    *((case, question(answer=["?", "?"])) for case in cases.VALUES_TWO),
]


def read(response: str, asked: Question) -> Expected:
    """What a response commits to, in the words of the cases."""
    found = extract(response, asked, "stop").answers
    if not found:
        return None
    if asked.question_type == "true_false":
        value = read_truth(found[0], signs=True, reasoned=True)
        return OPEN if value is None else "T" if value else "F"
    if asked.question_type in {"single_choice", "multiple_choice"}:
        labels = read_labels(found[0]) or _quoted(found[0])
        return "".join(sorted(labels)) if labels else OPEN
    return found


def _quoted(text: str) -> frozenset[str] | None:
    option = labelled_option(text)
    return frozenset(option[0]) if option else None


def shown(value: object) -> str:
    return repr(value)[:60] if isinstance(value, tuple) else ""


def check(case: Case, asked: Question) -> None:
    response, expected = case
    said = read(response, asked)
    if expected == OPEN:  # nothing clean: neither a label nor a bare number
        assert said in (None, OPEN) or (isinstance(said, list) and not said[0].strip("$ .。").isdigit()), said
    elif expected is None and asked.question_type != "fill_in_blank":
        assert said in (None, OPEN), said
    else:
        assert said == expected


@pytest.mark.parametrize(("case", "asked"), LABELS, ids=shown)
def test_labels(case: Case, asked: Question) -> None:
    check(case, asked)


@pytest.mark.parametrize(("case", "asked"), VALUES, ids=shown)
def test_values(case: Case, asked: Question) -> None:
    check(case, asked)


@pytest.mark.parametrize("case", cases.TRUTH, ids=shown)
def test_truth(case: Case) -> None:
    check(case, question("true_false", answer=["√"]))
