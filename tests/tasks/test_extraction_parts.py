"""Several parts, sub-questions of a choice, truth values in sentences, and responses that say nothing."""

from __future__ import annotations

import pytest

from livek12.core.records import Option
from livek12.tasks.extraction import extract
from livek12.tasks.extraction.regions import says_nothing, spoken
from tests.tasks.test_extraction import answers, ask, chosen

TWO = [
    ("<answer>3</answer><answer>5</answer>", ["3", "5"]),
    ("<answer>4</answer> wait <answer>3</answer> and <answer>5</answer>", ["3", "5"]),
    ("Working. <answer>3; 5", ["3", "5"]),
    (r"\boxed{1,000, 2,000}", ["1,000", "2,000"]),
    ("答案：1,000，2,000", ["1,000", "2,000"]),
    ("第一空：3；第二空：5", ["3", "5"]),
    ("第1空 3，第2空 5", ["3", "5"]),
    ("第一个空填3，第二个空填5", ["3", "5"]),
    ("空1：3\n空2：5", ["3", "5"]),
    ("Blank 1: 3\nBlank 2: 5", ["3", "5"]),
    ("(a) 3\n(b) 5", ["3", "5"]),
    ("(i) 3 (ii) 5", ["3", "5"]),
    ("1) 3\n2) 5", ["3", "5"]),
    ("첫째 빈칸: 3, 둘째 빈칸: 5", ["3", "5"]),
    ("(가) 3 (나) 5", ["3", "5"]),
    ("【答案】 (1). 3 (2). 5", ["3", "5"]),
    ("【答案】①. 增大 ②. 减小", ["增大", "减小"]),
    ("两空依次为 3，5", ["3", "5"]),
    ("故依次填：3；5", ["3", "5"]),
    ("(b) 5\n(a) 3", ["3", "5"]),
    ("(ii) 5; (i) 3", ["3", "5"]),
    ("(2) 5\n(1) 3", ["3", "5"]),
    ("The answers are (b) 5, (a) 3.", ["3", "5"]),
    ("Second blank: 5; first blank: 3", ["3", "5"]),
    ("第二空：5；第一空：3", ["3", "5"]),
    ("②5；①3", ["3", "5"]),
    ("두 번째 빈칸: 5, 첫 번째 빈칸: 3", ["3", "5"]),
]


@pytest.mark.parametrize(("response", "values"), TWO)
def test_two_blanks(response: str, values: list[str]) -> None:
    assert answers(response, ask(parts=2)) == values


def test_references_in_another_order_are_no_labels() -> None:
    for response in ("From (2) and (1) follows the law.", "Use (b) with (a): x."):
        assert answers(response, ask(parts=2)) == [response]


def test_arguments_of_functions_and_lists_within_a_part_are_no_labels() -> None:
    assert answers("f(1)=3，f(2)=5", ask(parts=2)) != ["=3，f", "=5"]
    nested = "1. 由基因控制\n2. 免疫力下降\n3. 思路：\n   1. 取样\n   2. 检测\n   3. 比对\n4. 产生记忆细胞"
    found = answers(nested, ask(parts=4))
    assert [found[0], found[1], found[3]] == ["由基因控制", "免疫力下降", "产生记忆细胞"]
    assert answers("1. 先取样\n2. 再检测\n3. 其中\n1. 甲\n2. 乙\n4. 得出结论", ask(parts=2)) != ["甲", "乙"]


def test_alternatives_are_not_the_values_of_two_blanks() -> None:
    assert answers("答案：3或5", ask(parts=2)) != ["3", "5"]
    assert answers(r"\boxed{3 \text{ or } 5}", ask(parts=2)) != ["3", "5"]


def test_an_answer_tag_that_was_cut_off_does_not_count() -> None:
    assert answers("Thus <answer>12") == ["12"]
    assert answers("Thus <answer>12", finish_reason="length") == []
    assert answers("<answer>\nB", ask("single_choice")) == ["B"]
    assert answers("Thus <answer>" + "and so on " * 80) == []


VALUES = [
    ("过程略，所以 $b=2\\sqrt{2}$。", "b=2\\sqrt{2}"),
    ("故函数 $f(x)$ 的最小值为 -4 .", "-4"),
    ("经过点 $(0,0)$ 的切线方程为 $y=3x$，即 $3x-y=0$.", "$3x-y=0$"),
    ("由 $a=1$ 和 $c=2$，由余弦定理得 $b^2=8$，所以 $b=2\\sqrt2$", "b=2\\sqrt2"),
]


@pytest.mark.parametrize(("response", "value"), VALUES)
def test_conclusions_within_the_last_line(response: str, value: str) -> None:
    assert answers("先化简，再计算。\n" + response) == [value]


CHOICES = [
    ("故选：BCD．\n图中过程为", "BCD"),
    ("故选BCD．因为A错误", "BCD"),
    ("故选：A、C．解析如下", "AC"),
    ("正确答案是\nA．甲\nB．乙", "AB"),
    ("A,B,D正确，C错误", "ABD"),
    ("A、C选项错误；B、D选项正确", "BD"),
    ("A、B、C、D都正确", "ABCD"),
    ('{"answer": "AC"}', "AC"),
]


@pytest.mark.parametrize(("response", "labels"), CHOICES)
def test_several_labels(response: str, labels: str) -> None:
    assert chosen(response, "multiple_choice") == labels


ONE = [
    ("下列叙述错误的是（ D ）\n\nA. 甲\n- 正确。\nB. 乙\n- 正确。\nC. 丙\n- 正确\nD. 丁\n- 错误。", "D"),
    ("航海活动（ ）\n\nD. 促进了流动\n\n解析：\nA. 甲：错\nB. 乙：错\nC. 丙：错\nD. 丁：对", "D"),
    ("故选：C．【点睛】本题考查电场", "C"),
    ("选项C“波速是10m/s”是最有可能的结论。", "C"),
    ("B或C，我倾向于B", "B"),
    ("The answer must be B.", "B"),
    ('{"reason": "…", "answer": "B"}', "B"),
    ("答案是“B”", "B"),
    ("答案为A或B", "?"),
    ("下列正确的是（ ）\nA. 甲\nB. 乙\nC. 丙\nD. 丁", None),
]


@pytest.mark.parametrize(("response", "labels"), ONE)
def test_one_label(response: str, labels: str | None) -> None:
    assert chosen(response) == labels


def test_the_value_of_a_conclusion_is_handed_on_where_options_are_at_hand() -> None:
    four = [Option(label=label, text=text) for label, text in zip("ABCD", ["3", "4", "5", "6"], strict=True)]
    assert answers("相加即得。\n所以有 $2+2=4$ 个交点，即 $4$。", ask("single_choice", options=four)) == ["$4$"]
    assert answers("相加即得。\n所以有 $2+2=4$ 个交点，即 $4$。", ask("single_choice")) == []


SUB_QUESTIONS = [
    ("1. B. 沿溪流分布\n2. C. 充分利用空间\n3. D. ③④", "BCD"),
    ("溪流提供水源。所以答案是B。\n节省用地。所以答案是C。\n公益性。所以答案是D。", "BCD"),
    ("（1）故选B。（2）故选C。（3）故选D。", "BCD"),
    ("综上，答案为：BCD", "BCD"),
    ("答案：1. B 2. C 3. D", "BCD"),
]


@pytest.mark.parametrize(("response", "labels"), SUB_QUESTIONS)
def test_sub_questions_of_a_choice(response: str, labels: str) -> None:
    found = answers(response, ask("single_choice", parts=3))
    assert "".join(answer.lstrip("故选答案是 ")[:1] for answer in found) == labels


def test_too_few_choices_for_the_sub_questions_are_handed_on_whole() -> None:
    judged = "1. A项错误。2. B项正确。3. C项错误。"
    for response in (judged, "答案是B。", "B. 沿溪流分布", "故选A。故选B。故选C。故选D。"):
        found = extract(response, ask("single_choice", parts=3), "stop")
        assert (found.answers, found.method) == ([response], "whole")


TRUTHS = [
    ("The statement is not true.", "not true"),
    ("T", "T"),
    ("Answer: F", "F"),
    ("该命题为真", "真"),
    ("命题为假", "假"),
    ("정답: X", "X"),
    ("맞지 않다", "맞지 않다"),
    ("这个说法是对的吗？不对。", "不对。"),
    ("It is not false.", "It is not false."),
]


@pytest.mark.parametrize(("response", "value"), TRUTHS)
def test_truth_values(response: str, value: str) -> None:
    assert answers(response, ask("true_false")) == [value]


COPY = "量取液体应使用的仪器为 __ （填名称）。\n“搅拌”的作用是 __ 。\n“加热”方式为 __ 。"
NOTHING = [
    "",
    "图1",
    "<image 0> <image 1>",
    "![](a.png)",
    "```python\n" + "from x import *\n" * 40,
    "图1.png\n" * 50 + "图1.p",
    COPY,
    COPY + "\n\n\n" + COPY,
    "在某工艺流程中得到产品。回答下列问题：\n" + COPY + "\n\n在某工艺流程中得到产品。回答下列",
    "解：\n【答案】\n",
    "a\n\nb\n\nc\n\nd\n\n" * 30 + "a",
]
SOMETHING = [
    "仪器为酸式滴定管。",
    COPY + "\n酸式滴定管；使充分接触；水浴",
    COPY.replace("__", "滴定管", 1) + "\n所以是水浴",
    "增大",
    ">",
    "细胞凋亡是由基因控制的过程。",
    "The first is greater.\nThe second is smaller.",
    "增大\n减小\n" * 3,
    "仪器的名称是 __ 。\n应当是滴定管。\n作用是 __ 。\n为了加快反应。\n方式为 __ 。\n水浴加热。",
]


@pytest.mark.parametrize("response", NOTHING)
def test_loops_and_copies_say_nothing(response: str) -> None:
    asked = ask(parts=3)
    assert says_nothing(response, asked)
    assert spoken(response, asked) == ""
    assert answers(response, asked) == []


@pytest.mark.parametrize("response", SOMETHING)
def test_what_is_said_is_handed_on(response: str) -> None:
    assert not says_nothing(response, ask(parts=3))
    assert answers(response, ask(parts=3)) != []


def test_the_options_again_on_one_line_say_nothing_of_a_choice() -> None:
    listed = "A. 增大 B. 减小 C. 不变 D. 先增大后减小"
    for tail in ("", "\nA\nB\nC\nD" * 20):
        assert says_nothing(listed + tail, ask("single_choice"))
    for answer in (listed + "\n应为第二项", "A. 增大 B. 减小（正确） C. 不变 D. 无法确定", "B. 减小"):
        assert not says_nothing(answer, ask("single_choice"))
    assert not says_nothing(listed, ask(parts=4))


def test_a_copy_of_the_question_is_known_where_the_question_is() -> None:
    asked = ask(parts=2, question="某反应在高温下进行，求反应热，并求平衡常数的数值。")
    assert says_nothing("某反应在高温下进行，求反应热，并求平衡常数的数值。", asked)
    assert not says_nothing("某反应在高温下进行，求反应热，并求平衡常数的数值。反应热为正。", asked)


def test_a_sentence_as_key_lets_prose_be_handed_on() -> None:
    prose = "氮是植物生长的元素。\n含量过多会引发水华。"
    assert answers(prose) == []
    asked = ask().model_copy(
        update={"answer": ["元素是植物生长的必须元素，含量过多会使藻类等水生生物的生长过快，导致水体富营养化"]}
    )
    assert answers(prose, asked) == [prose]
