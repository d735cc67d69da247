"""Verdicts: parts, points, bounds, end states."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import pytest

from livek12.core.records import Variable
from livek12.judges.base import AnswerComparison, Decision, accept, reject, undecided
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig, grade, judge_version
from livek12.judges.rules.numeric import NumberStage
from livek12.judges.rules.pool import SymbolicPool
from livek12.judges.rules.symbolic import SymbolicStage
from tests.judges.helpers import KEY, mark, options, question


def test_a_right_choice_gets_its_points() -> None:
    verdict = mark(question("single_choice", answer=["B"], points=5), "B")
    assert (verdict.state, verdict.points, verdict.low, verdict.high, verdict.max_points) == ("graded", 5, 5, 5, 5)
    assert verdict.correct is True
    assert verdict.parts[0].decided_by == "choice"


def test_partial_credit_of_multiple_choice_follows_the_rule() -> None:
    asked = question("multiple_choice", answer=["ACD"], points=6)
    assert mark(asked, "AC").points == pytest.approx(4)
    assert mark(asked, "AC", config=GradingConfig(partial_credit="half")).points == pytest.approx(3)
    assert mark(asked, "AC", config=GradingConfig(partial_credit="exact")).points == 0
    assert mark(asked, "AB").points == 0
    assert mark(asked, "AC").correct is False


def test_letters_as_several_entries_are_one_part() -> None:
    asked = question("multiple_choice", answer=["A", "C"], points=6)
    assert mark(asked, "CA").points == 6
    assert mark(asked, "A", "C").points == 6


def test_parts_are_marked_in_order_with_their_points() -> None:
    asked = question(answer=["3", "5", "x+1"], part_points=[2, 3, 5], points=10)
    verdict = mark(asked, "3", "6", "1+x")
    assert [part.decision for part in verdict.parts] == ["accept", "reject", "accept"]
    assert (verdict.points, verdict.correct, verdict.state) == (7, False, "graded")


def test_part_points_that_do_not_fit_give_equal_shares() -> None:
    assert mark(question(answer=["3", "5"], part_points=[1], points=5), "3", "6").points == pytest.approx(2.5)


def test_points_default_to_one_and_stated_parts_are_scaled_to_the_question() -> None:
    assert mark(question(answer=["3"]), "3").max_points == 1
    assert mark(question(answer=["3", "5"], part_points=[1, 3]), "3", "6").points == 1
    assert mark(question(answer=["3", "5"], part_points=[1, 3], points=8), "3", "6").points == 2


def test_undecided_parts_leave_bounds_and_no_points() -> None:
    asked = question(answer=["3", "增大，因为浓度升高"], points=10)
    verdict = mark(asked, "3", "变大")
    assert (verdict.state, verdict.points, verdict.low, verdict.high, verdict.correct) == (
        "ungraded",
        None,
        5,
        10,
        None,
    )
    assert verdict.reason


def test_one_rejected_part_settles_that_the_answer_is_not_right() -> None:
    verdict = mark(question(answer=["3", "增大，因为浓度升高"], points=10), "4", "变大")
    assert (verdict.state, verdict.correct, verdict.low, verdict.high) == ("ungraded", False, 0, 5)


@pytest.mark.parametrize("answers", [(), ("",), ("  ", "")])
def test_no_answer_is_worth_nothing_and_says_so(answers: tuple[str, ...]) -> None:
    verdict = mark(question(answer=["3"], points=5), *answers)
    assert (verdict.state, verdict.points, verdict.high, verdict.correct) == ("no_answer", 0, 0, False)
    assert verdict.parts[0].answer is None


def test_a_part_left_out_is_wrong_while_the_others_count() -> None:
    verdict = mark(question(answer=["3", "5"], points=4), "3", "")
    assert (verdict.state, verdict.points, verdict.correct) == ("graded", 2, False)


@pytest.mark.parametrize("question_type", ["open_ended", "proof"])
def test_open_questions_need_a_reader(question_type: str) -> None:
    verdict = mark(question(question_type, answer=["证明：略"], points=12), "证明：略")
    assert (verdict.state, verdict.low, verdict.high, verdict.reason) == ("ungraded", 0, 12, "needs a reader")


def test_no_key_is_ungraded_and_not_wrong() -> None:
    verdict = mark(question(answer=[], points=5), "3")
    assert (verdict.state, verdict.reason, verdict.low, verdict.high, verdict.correct) == (
        "ungraded",
        "no key",
        0,
        5,
        None,
    )


def test_another_number_of_answers_than_parts_is_undecided_unless_it_can_be_taken_apart() -> None:
    asked = question(answer=["3", "5"], points=4)
    assert mark(asked, "3; 5").points == 4
    assert mark(asked, "3 和 6").points == 2
    assert mark(asked, r"$3$，$5$").points == 4
    verdict = mark(asked, "3", "5", "7")
    assert (verdict.state, verdict.low, verdict.high) == ("ungraded", 0, 4)
    assert verdict.reason == "three answers where two were asked for"
    few = mark(asked, "17")
    assert (few.state, few.reason) == ("ungraded", "one answer where two were asked for")
    assert [part.answer for part in few.parts] == ["17", None], "what was answered is shown"


@pytest.mark.parametrize("kind", ["single_choice", "multiple_choice"])
@pytest.mark.parametrize(
    ("texts", "answer", "correct"),
    [
        (("$1+2i$", "$2+i$", "$-1-2i$", "$-2+i$"), "17", False),
        (("1/3", "2/5", "2/3", "3/4"), "17", False),
        (("it grows", "it falls", "it is constant", "it changes"), "17", False),
        (("周期变大", "速度变小", "加速度变小", "机械能减小"), "17 m/s", False),
        (("it grows", "it falls", "it is constant", "it changes"), "3", None),  # perhaps the third
        (("17 m/s is the speed", "it falls", "it rests", "it turns"), "17", None),
        (("no roots", "one root", "many roots", "all"), "0", None),
        (("it is doubled", "it is half of it", "it rests", "it turns"), "0.5", None),
        (("①⑦", "②③", "①②", "③④"), "17", None),
        (("$\\sqrt{289}$", "2", "3", "4"), "17", None),
        (("<image>", "<image>", "<image>", "<image>"), "17", None),
        ((), "17", None),
    ],
)
def test_a_number_that_is_no_option_is_wrong(
    kind: str, texts: tuple[str, ...], answer: str, correct: bool | None
) -> None:
    asked = question(kind, answer=["B"], options=options(*texts))
    assert mark(asked, answer).correct is correct


TWO_BLANKS = r"则 \(\theta=\)____，\(f\left(\dfrac{2\pi}{3}\right)=\)____."


@pytest.mark.parametrize(
    "answer",
    [
        r"\frac{3\pi}{2}, 1", "3π/2，1", r"$\dfrac{3\pi}{2}$；$1$", r"\(\frac{3\pi}{2}\), 1", r"\dfrac{3\pi}{2},\ 1",
        r"$\theta = \dfrac{3\pi}{2}$，$f\!\left(\dfrac{2\pi}{3}\right) = 1$", "θ=3π/2，f(2π/3)=1",
        r"\theta=\dfrac{3\pi}{2}\quad\text{且}\quad f\!\left(\dfrac{2\pi}{3}\right)=1",
    ],
)  # fmt: skip
def test_one_key_with_the_values_of_two_blanks(answer: str) -> None:
    asked = question(question=TWO_BLANKS, answer=[r"3\pi/2, 1"], points=5)
    assert mark(asked, answer).points == 5


def test_blanks_of_one_key_share_its_points_and_keep_their_order() -> None:
    asked = question(question=TWO_BLANKS, answer=[r"3\pi/2, 1"], points=6)
    assert mark(asked, "3π/2, 2").points == 3
    assert mark(asked, "π/2, 2").points == 0
    swapped = mark(asked, "1, 3π/2")
    assert (swapped.state, swapped.correct) == ("ungraded", None)
    assert mark(asked, "1").state == "ungraded"
    assert mark(asked, r"\frac{3\pi}{2}", "1").points == 6


def test_answers_that_name_the_blanks_are_placed_by_these_names() -> None:
    for fields in ({"answer": ["3", "5"]}, {"answer": ["3, 5"]}):
        asked = question(question="则 $x=$____，$y=$____.", points=4, **fields)
        assert mark(asked, "x=3, y=5").points == 4
        assert mark(asked, "x=3, y=6").points == 2
        assert mark(asked, "(x, y) = (3, 5)").points == mark(asked, "y, x = 5, 3").points == 4
        assert mark(asked, r"\left(x, y\right) = \left(5, 3\right)").points == 0
        assert mark(asked, "y=5, x=3").points == 4
        assert mark(asked, "y=5", "x=3").points == 4
        assert mark(asked, "y=3, x=5").points == 0
        for answers in (["x=3", "x=5"], ["y=5", "3"]):
            assert (mark(asked, *answers).correct, mark(asked, *answers).state) == (None, "ungraded")
    asked = question(question="甲的速度是____，乙的速度是____.", answer=["5", "3"], points=4)
    assert mark(asked, "乙的速度是3", "甲的速度是5").points == 4
    assert mark(asked, "乙的速度是5", "甲的速度是3").points in {None, 0}
    asked = question(question="The minimum is ____, at x = ____.", answer=["-4", "2"], points=4)
    assert mark(asked, "At x = 2", "the minimum value is -4").points == 4
    asked = question(question="The maximum value is ____ and the minimum value is ____.", answer=["3", "-3"], points=4)
    assert mark(asked, "min = -3", "max = 3").points == mark(asked, "The minimum: -3", "The maximum: 3").points == 4
    assert mark(asked, "the minimum is 3", "the maximum is -3").points == 0
    assert mark(asked, "The smallest value is 3", "the largest value is -3").state == "ungraded"
    asked = question(question="철수의 나이는 ____살이고 영희의 나이는 ____살이다.", answer=["14", "11"], points=4)
    assert mark(asked, "영희는 11살", "철수는 14살이다").points == 4
    asked = question(question="男生有____人，女生有____人。", answer=["12", "18"], points=4)
    assert [mark(asked, *answers).points for answers in (("女生：18", "男生：12"), ("女生：12", "男生：18"))] == [4, 0]


def test_answers_that_name_the_keys_are_placed_by_these_names() -> None:
    asked = question("short_answer", answer=["x=1", "y=2"])
    assert mark(asked, "y=2", "x=1").correct
    assert mark(asked, "x=2", "y=1").correct is False


def test_one_key_that_lists_values_is_as_many_blanks() -> None:
    asked = question(answer=["CAB; 负极、正极; $1.6$"], points=6)
    assert mark(asked, "CAB", "负极和正极", "1.6").points == 6
    assert mark(asked, "CAB；负极，正极；2.7").points == 4
    assert mark(asked, "CAB; 1.6").state == "ungraded"
    assert len(mark(question(answer=["3; 5"], question="x=____"), "3; 5").parts) == 1


def test_the_values_of_a_list_in_another_order_are_undecided() -> None:
    asked = question(answer=["3; 5"], points=4)
    assert mark(asked, "5; 3").correct is None
    assert mark(asked, "7; 3").correct is False
    assert mark(question(answer=["3", "5"], points=4), "5", "3").points == 0


def test_sub_questions_of_a_single_choice_are_marked_one_by_one() -> None:
    for key in (["B", "C", "D"], ["B\nC\nD"]):
        asked = question("single_choice", answer=key, points=12)
        assert mark(asked, "B", "C", "A").points == 8
        assert mark(asked, "BCD").points == 12
        assert mark(asked, "B").state == "ungraded"


def test_the_unit_printed_behind_a_blank_may_be_given() -> None:
    asked = question(answer=["5"], part_units=["m/s"])
    assert [mark(asked, answer).correct for answer in ("5", "5 m/s", "6", "6 m/s")] == [True, True, False, False]
    assert mark(asked, "5 kg").correct is not True


def test_without_marked_blanks_a_list_is_a_set() -> None:
    asked = question("short_answer", question="Solve x^2-3x+2=0.", answer=["1, 2"])
    assert mark(asked, "2, 1").correct is True
    assert mark(asked, "2, 3").correct is False
    unmarked = asked.model_copy(update={"question_type": "fill_in_blank"})
    assert mark(unmarked, "1, 2").correct is True
    assert mark(unmarked, "2, 1").correct is None
    assert mark(unmarked.model_copy(update={"question": "x=____"}), "2, 1").correct is True


def test_variables_are_parts_with_their_names() -> None:
    variables = [
        Variable(name="v", type="formula", value=r"$\sqrt{2gh}$"), Variable(name="t", type="numeric", value="0.452"),
        Variable(name="why", type="other", value="energy is conserved"),
    ]  # fmt: skip
    asked = question("short_answer", benchmark="cfe", language="en", variables=variables, points=3)
    verdict = mark(asked, r"v=\sqrt{2hg}", "0.4518", "because of friction")
    assert [(part.name, part.decision) for part in verdict.parts] == [
        ("v", "accept"),
        ("t", "accept"),
        ("why", "undecided"),
    ]
    assert (verdict.low, verdict.high) == (2, 3)


PROSE = "A项说法有误，概括不全面；B项符合文意，当选；C项因果关系错误"


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("A; B; C", True),
        ("ABC", True),
        ("A; B; D", False),
        (PROSE, None),
        ("A. 12; B. 5; C. 7", None),
        ("甲；乙；丙", None),
    ],
)
def test_prose_about_several_choices_is_not_cut_at_its_semicolons(answer: str, right: bool | None) -> None:
    assert mark(question("single_choice", answer=["A", "B", "C"]), answer).correct is right


def test_two_labels_are_wrong_where_one_is_asked_for() -> None:
    assert mark(question("single_choice", answer=["D"]), "D、A").correct is False


def test_options_reach_the_judge() -> None:
    asked = question("single_choice", answer=["B"], options=options("5", "6", "7"))
    assert mark(asked, "6").correct is True


def test_the_version_names_the_rules_in_force() -> None:
    versions = {judge_version(GradingConfig(partial_credit=rule)) for rule in ("exact", "half", "proportional")}
    assert len(versions) == 3
    assert mark(question(answer=["3"]), "3").judge == judge_version(GradingConfig())


class Counting:
    """A stage that counts what it is asked."""

    name = "counting"

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.asked = 0

    def decide(self, comparison: AnswerComparison) -> Decision:
        self.asked += 1
        return self.decision


def test_the_first_stage_that_decides_has_the_word_and_equal_questions_are_asked_once() -> None:
    stages = [Counting(undecided("one", "why")), Counting(reject("two")), Counting(accept("three"))]
    cascade = Cascade(stages)
    comparison = AnswerComparison("a", "b", "short_answer")
    assert [cascade.decide(comparison).by for _ in range(3)] == ["two"] * 3
    assert [stage.asked for stage in stages] == [1, 1, 0]
    assert cascade.decide(AnswerComparison("a", "c", "short_answer")).decision == "reject"
    assert stages[0].asked == 2


def test_what_no_stage_decides_keeps_the_reasons() -> None:
    cascade = Cascade([Counting(undecided("one", "why")), Counting(undecided("one", ""))])
    decision = cascade.decide(AnswerComparison("a", "b", "short_answer"))
    assert (decision.decision, decision.score, decision.reason) == ("undecided", None, "counting: why")


def test_memory_of_decisions_is_bounded() -> None:
    stage = Counting(accept("one"))
    cascade = Cascade([stage], remembered=2)
    for answer in "abca":
        cascade.decide(AnswerComparison("x", answer, "short_answer"))
    assert stage.asked == 4


def test_judging_does_not_load_sympy_into_this_process() -> None:
    code = "import sys, livek12.judges.grade as g; g.Cascade; from livek12.judges.cascade import default_cascade as c"
    code += "; c(); print('sympy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/", check=True)
    assert done.stdout.strip() == "False"


def test_a_response_breaks_one_limit_and_no_more_whatever_is_remembered() -> None:
    terms = [(f"|x^{{{n}}}-y^{{{n}}}|", f"|y^{{{n}}}-x^{{{n}}}|") for n in range(1, 45)]
    dear = ["+".join(one) for one in zip(*terms, strict=True)]
    asked = question(answer=[f"(x+1)^2+{number}+{dear[0]}" for number in range(4)] + ["(x+1)^2", "12"])
    answers = [f"{dear[1]}+x^2+2x+1+{number}" for number in range(4)] + ["x^2+2x+1", "12"]
    with SymbolicPool(size=1, seconds=0.3) as pool:
        told = partial(grade, key=KEY, config=GradingConfig(), cascade=Cascade([NumberStage(), SymbolicStage(pool)]))
        easy = told(question(answer=["(x+1)^2"]), answers=["x^2+2x+1"])
        assert easy.correct is True, "and it is remembered now"
        said = told(asked, answers=answers)
        assert pool.killed == 1
        assert told(question(answer=["(x+2)^2"]), answers=["x^2+4x+4"]).correct is True
    assert [part.decision for part in said.parts] == ["undecided"] * 5 + ["accept"]
    assert ["no result" in part.reason for part in said.parts] == [True, False, False, False, False, False]
    assert ["not tried" in part.reason for part in said.parts] == [False, True, True, True, True, False]
