"""Extraction: what counts as an answer, which one wins, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.records import Option, Question, Variable
from livek12.judges.rules.labels import read_labels
from livek12.tasks.extraction import extract
from livek12.tasks.extraction.regions import boxes


def ask(question_type: str = "fill_in_blank", parts: int = 1, **fields: object) -> Question:
    defaults = {"id": "q", "benchmark": "livek12", "language": "zh", "subject": "math", "question": ""}
    return Question(question_type=question_type, answer=["?"] * parts, **{**defaults, **fields})


def answers(response: str, asked: Question | None = None, finish_reason: str | None = "stop") -> list[str]:
    return extract(response, asked or ask(), finish_reason).answers


def chosen(response: str, question_type: str = "single_choice", **fields: object) -> str | None:
    """The labels found, as one string; None when there is no answer, "?" when the answer names none."""
    found = answers(response, ask(question_type, **fields))
    labels = read_labels(found[0]) if found else None
    return None if not found else "".join(sorted(labels)) if labels else "?"


VALUES = [
    (r"So \boxed{5}", "5"), (r"\boxed{\frac{\sqrt{66}}{6}}", r"\frac{\sqrt{66}}{6}"), (r"\fbox{7}", "7"),
    (r"\boxed 5", "5"),
    (r"\boxed{1} … \boxed{2}", "2"), (r"\boxed{\left\{1,2\right\}}", r"\left\{1,2\right\}"), (r"\\boxed{3}", "3"),
    (r"first \boxed{1}, no: \boxed{\boxed{3}}", r"\boxed{3}"), (r"\boxed{4} then \boxed{5", "4"),
    (r"x = \boxed{-2} \quad \text{and} \quad \boxed{1}", "-2, 1"), ("<answer>3.5</answer>", "3.5"),
    ("<answer>1</answer> … <answer>2</answer>", "2"), ("<answer>\n$x=2$\n</answer>", "$x=2$"),
    (r"<answer>Long. \boxed{6}</answer>", "6"), (r"\boxed{1} <answer>2</answer>", "2"),
    (r"<answer>2</answer> \boxed{3}", "3"),
    ("答案是：$1.6$", "$1.6$"), ("故填：$\\ln 2$．", "$\\ln 2$"), ("**答案**：5", "5"), ("최종 답: 3", "3"),
    ("정답은 3입니다.", "3입니다"),
    ("The final answer is $28\\%$. I hope it is correct.", "$28\\%$"), ("Answer: 5", "5"),
    ("Final Answer: 12,000,023.", "12,000,023"),
    (r"\boxed{255} is the interest. Final Answer: The final answer is $10,455$.", "$10,455$"),
    ("很长的推理\n步骤二\n综上所述，$ a = \\ln 2 $。", "a = \\ln 2"),
    ("过程……\n所以概率为$\\dfrac{11}{15}$。", "\\dfrac{11}{15}"),
    ("Reasoning\nin two lines.\n**42**", "42"), ("解\n如下：\n$x=3$", "x=3"), ("3.5", "3.5"), ("BCD", "BCD"),
    (r"$\frac12$", r"\frac12"),
    ("Therefore $x \\geq 5$ is the solution.", "x \\geq 5"), ("<think>\\boxed{9}</think>\\boxed{8}", "8"),
    ("<think>a</think>b<think>\\boxed{1}</think>The answer is 2.", "2"),
    ("think</think>\n\n<answer>4</answer><|im_end|>", "4"),
    ("\\boxed{4}<|im_start|>user\nNext \\boxed{5}", "4"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "value"), VALUES)
def test_one_value(response: str, value: str) -> None:
    assert answers(response) == [value]


NO_VALUE = [
    "", "   ", "我不会做这道题。\n这题太难了。", "Let me think about it.\nThere are many cases to consider.",
    "<think>The answer is 5. \\boxed{5}", "<think>\\boxed{5}</think>", "\\boxed{}", "<answer></answer>",
]  # fmt: skip


@pytest.mark.parametrize("response", NO_VALUE)
def test_no_commitment_is_no_answer(response: str) -> None:
    found = extract(response, ask(), "stop")
    assert (found.answers, found.method) == ([], "none")


def test_a_truncated_response_answers_only_by_explicit_commitment() -> None:
    cut = extract("很长的推理\n步骤二\n所以 $a=2$。", ask(), "length")
    assert (cut.answers, cut.truncated) == ([], True)
    assert extract("42", ask(), "length").answers == []
    assert extract(r"\boxed{2} and now let me check", ask(), "length").answers == ["2"]
    assert extract("D", ask("single_choice"), "length").answers == []
    assert extract("故选D", ask("single_choice"), "length").answers == ["D"]


PARTS = [
    (r"\boxed{3}, \boxed{5}", 2, ["3", "5"]),
    (r"\boxed{a} \boxed{3}" + "x" * 400 + r"\boxed{3}, \boxed{5}", 2, ["3", "5"]),
    (r"(1) \boxed{3} (2) \boxed{5}. So \boxed{3} and \boxed{5}", 2, ["3", "5"]),
    (r"\boxed{3} \boxed{5} \boxed{5}", 2, ["3", "5"]),
    (r"\boxed{2} \boxed{2}", 2, ["2", "2"]), (r"\boxed{3\pi/2, 1}", 2, [r"3\pi/2", "1"]),
    (r"\boxed{3；5}", 2, ["3", "5"]),
    (r"\boxed{3，5}", 2, ["3", "5"]), (r"\boxed{3\quad 5}", 2, ["3", "5"]),
    (r"\boxed{3 \text{ and } 5}", 2, ["3", "5"]),
    (r"\boxed{3和5}", 2, ["3", "5"]), (r"\boxed{(1,2), (3,4)}", 2, ["(1,2)", "(3,4)"]),
    (r"\boxed{1,234; 5}", 2, ["1,234", "5"]),
    ("<answer>(1) 3; (2) 5</answer>", 2, ["3", "5"]), ("<answer>3\n5</answer>", 2, ["3", "5"]),
    ("答案是：CAB; 负极、正极; 1.6", 3,
    ["CAB", "负极、正极", "1.6"]),
    ("解：\n（1）$\\cos A=\\dfrac13$；\n（2）$CE=3\\sqrt5$", 2, ["$\\cos A=\\dfrac13$", "$CE=3\\sqrt5$"]),
    ("① 增大 ② 减小 ③ 不变", 3, ["增大", "减小", "不变"]), ("1. 5\n2. 7", 2, ["5", "7"]),
    ("【小题1】B\n【小题2】A", 2, ["B", "A"]),
    (r"(1) 证明……故 \boxed{1} (2) 由……得 \boxed{2}", 2, ["1", "2"]),
]  # fmt: skip


@pytest.mark.parametrize(("response", "count", "values"), PARTS)
def test_one_value_a_part_in_order(response: str, count: int, values: list[str]) -> None:
    assert answers(response, ask(parts=count)) == values


def test_too_few_or_unordered_values_are_handed_on_as_they_are() -> None:
    assert answers(r"\boxed{3}", ask(parts=2)) == ["3"]
    assert answers(r"\boxed{1,2,3}", ask(parts=2)) == ["1,2,3"]
    prose = "细胞凋亡是由基因控制的过程。\n疫苗可以激发免疫反应。"
    found = extract(prose, ask(parts=3), "stop")
    assert (found.answers, found.method) == ([prose], "whole")


def test_the_boxes_of_several_blanks_of_one_key_are_all_taken() -> None:
    asked = ask(question="则 θ=____，f=____。")
    assert answers(r"θ = \boxed{\frac{3\pi}{2}}，f(\frac{2\pi}{3}) = \boxed{1}", asked) == [r"\frac{3\pi}{2}; 1"]
    assert answers(r"\boxed{\frac{3\pi}{2}} … \boxed{\frac{3\pi}{2}, 1}", asked) == [r"\frac{3\pi}{2}, 1"]


CHOICES = [
    ("B", "B"), ("B.", "B"), (r"\boxed{B}", "B"), (r"$\boxed{\text{B}}$", "B"), ("<answer>B</answer>", "B"),
    ("故选B", "B"),
    ("故本题选 D。", "D"), ("A错误；B错误；C正确；D错误；故选C．", "C"), ("答案：C", "C"), ("**答案**：C", "C"),
    ("正确答案是 **B**。", "B"),
    ("正确选项：A", "A"), ("因此，正确答案是：\n\nC. $1-i$", "C"), ("The answer is (C).", "C"), ("ANSWER: D", "D"),
    ("the correct option is B because the slope is 2", "B"), ("So option C is the correct answer.", "C"),
    ("I choose D.", "D"),
    ("D\n【分析】\n此题考查……", "D"), ("分析……\n\n**B**", "B"), ("分析……\n$\\text{C}$", "C"),
    ("综上所述，必定为假的是B选项：虽然……", "B"),
    ("因此，选项A（①②）是最合适的答案。", "A"), ("A项错。B项错。\n所以D选项正确。", "D"),
    ("The value matches option A.", "A"),
    ("B. 奠定了组织基础\n\n这个事件表明……", "B"), ("答案是A。等等，重新计算，答案是B。", "B"),
    (r"\boxed{A} Wait, the answer is C.", "C"),
    ("the answer is A. Hmm. \\boxed{C}", "C"), ("应选 Ａ", "A"), ("选项分析：\n\nA. 错\nB. 对\n故选B", "B"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "labels"), CHOICES)
def test_one_choice(response: str, labels: str) -> None:
    assert chosen(response) == labels


NO_CHOICE = [
    "", "A hole is drilled through the block.\nIt is deep.", "Vitamin A is needed.\nSo is B12.",
    "设点 A 在直线 AB 上。\n因此 AB=5。",
    "分析每个选项：\n\nA. 水的沸点\nB. 冰的熔点", "A is wrong. B is wrong too.\nI am not sure.",
    "正确答案不是A。\n还要再想。", "选项A错误，选项B错误。",
    "The answer is a hole in the ground.", "A\nB\nC\nD\nA\nB", "不选A，也不选B。", "错误的选项是A和B吗？\n无法判断。",
]  # fmt: skip


@pytest.mark.parametrize("response", NO_CHOICE)
def test_a_letter_in_prose_is_no_choice(response: str) -> None:
    assert chosen(response) in {None, "?"}


SEVERAL = [
    ("故选BC", "BC"), (r"\boxed{A,\;C,\;D}", "ACD"), ("正确的选项是 **A** 和 **C**。", "AC"),
    ("综上所述，正确答案是 A、B 和 D。", "ABD"),
    ("答案是：A; B; D", "ABD"), ("<answer>B, C, D</answer>", "BCD"), ("正确答案是：\nC. $P>0.5$\nD. $P<0.8$", "CD"),
    ("The correct options are A, C, and D.", "ACD"), ("综上所述，所有选项 A、B、C 和 D 都是正确的。", "ABCD"),
    ("BCD", "BCD"),
    (r"\boxed{A}\boxed{C}", "AC"), (r"$\boxed{A}$, $\boxed{C}$ and $\boxed{D}$", "ACD"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "labels"), SEVERAL)
def test_several_choices(response: str, labels: str) -> None:
    assert chosen(response, "multiple_choice") == labels


KOREAN = [
    ("정답은 ④", "4"), ("정답: ④번", "4"), ("답: 3", "3"), ("따라서 정답은 2번입니다.", "2"), (r"\boxed{④}", "4"),
    (r"\boxed{4}", "4"), ("④가 정답이다.", "4"),
    ("정답은 (3)입니다", "3"), ("옳은 것은 ㄱ, ㄷ이므로 답은 ③이다.", "3"), ("정답은 ㄱ, ㄷ", "ㄱㄷ"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "labels"), KOREAN)
def test_korean_choices(response: str, labels: str) -> None:
    assert chosen(response, language="ko", benchmark="kmmmu") == labels


def test_only_labels_that_the_question_has_count() -> None:
    choices = [Option(label=label, text=text) for label, text in zip("ABCD", ["①②", "①③", "②③", "②④"], strict=True)]
    assert answers("有助于增长的是①③。故选B。", ask("single_choice", options=choices)) == ["B"]
    assert answers("答案是①③。", ask("single_choice", options=choices)) == ["①③"]
    assert answers(r"\boxed{6}", ask("single_choice", options=choices)) == ["6"]


def test_alternatives_and_contradictions_are_handed_on_and_not_decided_here() -> None:
    assert chosen("答案是A或B。") == "?"
    assert chosen("The answer is A or B.") == "?"
    assert chosen(r"\boxed{A} or \boxed{B}") == "?"
    assert chosen(r"\boxed{A}. After checking once more I change my mind, it must be \boxed{B}") == "B"


def test_the_wrong_one_is_the_answer_where_the_question_asks_for_it() -> None:
    said = "A项正确。B项正确。C项错误。\n综上所述，错误的选项是C。"
    assert chosen(said, question="下列说法错误的是（ ）") == "C"
    assert chosen(said, question="下列说法正确的是（ ）") is None


@pytest.mark.parametrize(
    ("response", "value"),
    [
        (r"\boxed{对}", "对"), ("该说法是错误的。", "错误"), ("Answer: True", "True"),
        ("The statement is false.", "false"), ("正确", "正确"),
        ("错误，因为速度是矢量。", "错误，因为速度是矢量。"), ("<answer>×</answer>", "×"), ("정답은 거짓", "거짓"),
    ],
)  # fmt: skip
def test_truth_values(response: str, value: str) -> None:
    assert answers(response, ask("true_false")) == [value]


def test_open_questions_are_answered_by_the_whole_response() -> None:
    assert answers("<think>x</think>证明：……\\boxed{1} 证毕。", ask("proof")) == ["证明：……\\boxed{1} 证毕。"]
    assert answers("  ", ask("open_ended")) == []


def test_variables_by_boxes_or_by_name() -> None:
    variables = [Variable(name="v_0", value="?"), Variable(name="theta(t)", value="?")]
    asked = ask("short_answer", benchmark="cfe", language="en", variables=variables)
    assert answers(r"So \boxed{\sqrt{2gh}} and \boxed{\omega t}", asked) == [r"\sqrt{2gh}", r"\omega t"]
    named = "Results:\n- $v_0$ = 3 m/s\n- theta(t): \\omega t\n"
    assert answers(named, asked) == ["$v_0$ = 3 m/s", r"theta(t): \omega t"]
    assert answers("v_0 = 3 m/s", asked) == ["v_0 = 3 m/s", ""]
    assert answers("(a) $v_0 = 3$ (b) $\\omega t$", asked) == ["$v_0 = 3$", r"$\omega t$"]


def test_the_key_is_never_read() -> None:
    for key in ("5", "7", "B"):
        asked = ask().model_copy(update={"answer": [key]})
        assert answers("The values 5, 7 and B occur.\nWho knows.", asked) == []
        assert answers(r"\boxed{7}", asked) == ["7"]


TYPES = ["single_choice", "multiple_choice", "fill_in_blank", "true_false", "short_answer", "open_ended", "proof"]
PIECES = st.sampled_from(
    ["\\boxed{", "}", "{", "$", "\\(", "\\)", "<answer>", "</answer>", "答案是", "故选", "A", "B、C",
    "The answer is ", "(1)", "(2)", "①",
     "\n", " ", "5", "x=", "。", ". ", "</think>", "<think>", "정답은 ", "\\", "**", ";", ",", "选项"]
)  # fmt: skip


@given(
    st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join)),
    st.sampled_from(TYPES),
    st.integers(1, 3),
    st.sampled_from(["stop", "length", None]),
)
def test_any_text_gives_answers_or_none(text: str, question_type: str, parts: int, finish_reason: str | None) -> None:
    found = extract(text, ask(question_type, parts), finish_reason)
    assert found.truncated == (finish_reason == "length")
    assert all(isinstance(answer, str) for answer in found.answers)
    assert (found.method == "none") == (not found.answers)


BALANCED = st.recursive(
    st.text(st.characters(blacklist_characters="{}\\", blacklist_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner.map(lambda text: "{" + text + "}") | inner, max_size=3).map("".join),
    max_leaves=12,
)


@given(BALANCED, st.text(st.characters(blacklist_characters="{}\\", blacklist_categories=["Cs"]), max_size=20))
def test_a_box_gives_back_what_was_put_in_it(content: str, around: str) -> None:
    found = boxes(f"{around}\\boxed{{{content}}}{around}")
    assert [region.content for region in found] == ([content.strip()] if content.strip() else [])
