"""Responses that were cut off commit to nothing half said; values find the variables and blanks that they name."""

# ruff: noqa: E501
from __future__ import annotations

import pytest

from livek12.core.records import Variable
from livek12.tasks.extraction import extract
from livek12.tasks.extraction.regions import answer_tags, cut_off
from tests.judges.helpers import mark
from tests.tasks.test_extraction import answers, ask, chosen

CUT = [
    r"so \boxed{12", r"so \boxed{\frac{1}{2}", "因为速度相等，", "所以答案是", "The answer is",
    "The correct option is", "따라서 정답은", "由此可得 x =", "综上，", "as shown (", "we add 3 and", "答案：", "a \\", "正确的选项是",
]  # fmt: skip
WHOLE = [
    r"so \boxed{12}.", r"\boxed{\frac{1}{2}}", "所以答案是12", "The answer is 12", "正确", "**12**", "정답은 ④", "12。", "$x=2$", "B",
    "because of friction", r"\boxed 5", r"\[\boxed{3}\]", "(A)", "该说法不正确", "√", "A+",
]  # fmt: skip


@pytest.mark.parametrize("text", CUT)
def test_a_text_that_ends_within_something_is_known(text: str) -> None:
    assert cut_off(text)
    assert answers(text) == []
    assert extract(text, ask(), None).truncated is False


@pytest.mark.parametrize("text", WHOLE)
def test_a_text_that_ends_is_not_taken_for_cut_off(text: str) -> None:
    assert not cut_off(text)


def test_half_a_number_at_the_token_limit_is_no_answer() -> None:
    assert answers("所以答案是12", finish_reason="length") == []
    assert answers("所以答案是12。验算", finish_reason="length") == ["12"]
    assert answers(r"所以 \boxed{12}", finish_reason="length") == ["12"]
    assert answers("The answers are 3 and 1", ask(parts=2), "length") == []
    assert answers("(1) 3 (2) 1", ask(parts=2), "stop") == ["3", "1"]
    assert answers('{"answer": "12', finish_reason="length") == []


def test_letters_that_may_go_on_are_no_answer() -> None:
    several = ask("multiple_choice")
    for text in ("答案：A、", "The answers are A and", "故选A，"):
        assert answers(text, several) == []
    assert answers("故选AC", several, "length") == []
    assert answers("故选AC。因为", several, "length") == ["AC"]
    assert answers("故选A", several) == ["A"]
    assert answers("故选D", ask("single_choice"), "length") == ["D"]


def test_the_last_line_with_nothing_but_a_number_is_the_answer() -> None:
    assert answers("We add both.\n\n12 m/s") == ["12 m/s"]
    assert answers("We add both.\n12", finish_reason="length") == []
    assert answers("We list them:\n10\n11\n12") == []


X_Y = [Variable(name="x", value="1"), Variable(name="y", value="2")]


@pytest.mark.parametrize(
    "response",
    [
        r"\boxed{y=2, x=1}",
        r"\boxed{y=2} and \boxed{x=1}",
        "<answer>y = 2; x = 1</answer>",
        "y = 2\nx = 1",
        r"\boxed{y=2, 1}",
    ],
)
def test_values_go_to_the_variables_that_they_name(response: str) -> None:
    asked = ask("short_answer", benchmark="cfe", language="en", variables=X_Y)
    assert mark(asked, *extract(response, asked, "stop").answers).correct is True


def test_values_go_to_the_blanks_that_they_name() -> None:
    asked = ask(question="则 $x=$____，$y=$____。").model_copy(update={"answer": ["1", "2"]})
    for response in (r"\boxed{y=2, x=1}", r"\boxed{x=1, y=2}", r"\boxed{1, 2}"):
        assert mark(asked, *extract(response, asked, "stop").answers).correct is True
    assert mark(asked, *extract(r"\boxed{2, 1}", asked, "stop").answers).correct is False


def test_numbers_with_thousands_separators_are_the_values_of_two_blanks() -> None:
    asked = ask().model_copy(update={"answer": ["1,000", "2,000"]})
    assert mark(asked, *extract("1,000, 2,000", asked, "stop").answers).correct is True


JSON = [
    ('{"answer": "B"}', ["B"]), ('{"answer": ["A", "C"]}', ["A; C"]), ('{"answer": {"1": "3", "2": 5}}', ["3; 5"]), ('{"answer": true}', ["true"]),
    (r'{"answer": "\frac{1}{2}"}', [r"\frac{1}{2}"]), (r'{"answer": "\\frac{1}{2}"}', [r"\frac{1}{2}"]), ('{"answer": "a \\"b\\""}', ['a "b"']),
    ('{"answer": "\\u6b63\\u786e"}', ["正确"]), ('{"answer": {"x": [1]}}', []), ('{"answer": "B', []), ('{"answer": null}', []), ("answer: 5", []),
    ('{"the answer": "B"}', []), ("[" * 5_000, []), ('{"answer": ' + "[" * 5_000, []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "contents"), JSON)
def test_answers_in_json(text: str, contents: list[str]) -> None:
    assert [tag.content for tag in answer_tags(text)] == contents


@pytest.mark.parametrize(
    ("response", "labels"),
    [
        ("【32题详解】\n细节理解题。故选C。\n【33题详解】\n推理判断题。故选D。", "CD"),
        ("46. 答案 B. 细节理解题。\n47. 答案 A. 主旨大意题。", "BA"),
        ("| 题号 | 答案 |\n|---|---|\n| 32 | C |\n| 33 | D |", "CD"),
    ],
)
def test_sub_questions_numbered_from_anywhere(response: str, labels: str) -> None:
    found = answers(response, ask("single_choice", parts=2))
    assert "".join(found) == labels


def test_options_that_are_listed_are_not_chosen() -> None:
    assert chosen("Looking at the options: A) 3, B) 5, C) 7.\nNone fits.") in {None, "?"}
    assert chosen("The choices:\nChoice A: 3\nChoice B: 5\nChoice C: 7\nI pick C.") == "C"
