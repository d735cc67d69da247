"""Line breaks, options, sub-questions, blanks and image marks in question texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.records import IMAGE_MARK, Image, Option
from livek12.dataset_builders.reading.marks import place_marks, take_inline
from livek12.dataset_builders.reading.text import (
    count_blanks,
    mask_formulas,
    parse_list,
    restore_commands,
    restore_newlines,
    split_blanks,
    split_options,
    split_parts,
    unlabelled,
)

A, B, C, D = (Image(bytes=name.encode(), path=name) for name in "abcd")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"求值。\n(1) 写出", "求值。\n(1) 写出"),
        (r"Find x.\nNote that", "Find x.\nNote that"),
        (r"a \neq b", r"a \neq b"),
        (r"$\nu=3$ and $\nabla f$", r"$\nu=3$ and $\nabla f$"),
        (r"x\not\in A, y\notin B", r"x\not\in A, y\notin B"),
        (r"one\newline two", r"one\newline two"),
        (r"one\nthen two", "one\nthen two"),
        (r"one\n\ntwo", "one\n\ntwo"),
        (r"one\n\neq two", "one\n" + r"\neq two"),
        (r"\begin{cases}x\\nx\end{cases}", r"\begin{cases}x\\nx\end{cases}"),
        (r"a) p\nb) q\ne) r\ni) s", "a) p\nb) q\ne) r\ni) s"),
        (r"a \ne 0", r"a \ne 0"),
        (r"$\nleq$\n$\nRightarrow$", r"$\nleq$" + "\n" + r"$\nRightarrow$"),
        (r"\nA. 1\nB. 2", "\nA. 1\nB. 2"),
        ("already\nbroken", "already\nbroken"),
        (r"ends in \n", "ends in \n"),
    ],
)
def test_newlines(text: str, expected: str) -> None:
    assert restore_newlines(text) == expected


@given(st.text(alphabet="abnuE \\{}$\n1中"))
def test_newlines_change_nothing_but_separators(text: str) -> None:
    once = restore_newlines(text)
    assert once.replace("\n", r"\n") == text.replace("\n", r"\n")


@given(st.lists(st.sampled_from([r"\neq", r"\nu", r"\nabla", r"\newline", r"\notin", r"\nmid"]), min_size=1))
def test_commands_survive_any_company(commands: list[str]) -> None:
    text = r"\n".join(f"$x {command} 1$" for command in commands)
    assert restore_newlines(text) == text.replace(r"$\n$", "$\n$")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x0crac{1}{2} and \x08egin{a}", r"\frac{1}{2} and \begin{a}"),
        ("$\theta$, \time\times", "$\\theta$, \time\\times"),
        ("(x\right)", r"(x\right)"),
        ("$a \neq b$", "$a \\neq b$"),
        ("$\nabla f$", "$\\nabla f$"),
        ("$x\to 0$", "$x\\to 0$"),
        ("a\to b", "a\to b"),  # a tab and the word "o" outside a formula
        ("$\x0crac12$ $\nu=3$", "$\\frac12$ $\\nu=3$"),
        ("$x$\nu is", "$x$\nu is"),
        ("$\nu=3$", "$\nu=3$"),  # a line that begins with u, in a text that is whole
        ("one\r\ntwo\tthree", "one\r\ntwo\tthree"),
        ("plain", "plain"),
    ],
)
def test_commands_that_were_taken_for_control_characters(text: str, expected: str) -> None:
    assert restore_commands(text) == expected


@pytest.mark.parametrize(
    ("damaged", "expected"),
    [
        ("one\vtwo", "one\ntwo"),
        ("Page one\fPage two", "Page one\nPage two"),
        ("a\v\vb", "a\n\nb"),
        ("line\v", "line\n"),
        ("line\v\nnext", "line\v\nnext"),
        ("\vec{a}", r"\vec{a}"),
        ("$\varphi$", r"$\varphi$"),
        ("\frac{1}{2}", r"\frac{1}{2}"),
        ("$\frac12$ then\fNext", "$\\frac12$ then\nNext"),
        ("$\forall x$", r"$\forall x$"),
        ("\begin{cases}", r"\begin{cases}"),
        ("$\bar x+\beta$", r"$\bar x+\beta$"),
        ("$\alpha\approx 1$", r"$\alpha\approx 1$"),
        ("done\bwell", "done\bwell"),
        ("$\boldmacro x$", r"$\boldmacro x$"),
        ("$\theta$\r\nright", "$\\theta$\r\nright"),
        ("$\right)$", r"$\right)$"),
        ("a\tan b", "a\tan b"),
    ],
)
def test_control_characters_are_commands_only_where_they_begin_one(damaged: str, expected: str) -> None:
    assert restore_commands(damaged) == expected


@given(
    st.lists(
        st.sampled_from([r"\frac", r"\theta", r"\right", r"\beta", r"\neq", r"\times", r"\rho", r"\vec"]), min_size=1
    )
)
def test_one_unescaping_too_many_is_undone(commands: list[str]) -> None:
    text = " ".join(f"${command} x$" for command in commands)
    damaged = text
    for letter, control in zip("bfnrtv", "\b\f\n\r\t\v", strict=True):
        damaged = damaged.replace(f"\\{letter}", control)
    assert restore_commands(damaged) == text


@pytest.mark.parametrize(
    ("entries", "bare"),
    [
        (["(1) 2", "(2) 3"], ["2", "3"]),
        (["（1）2", "（2）3"], ["2", "3"]),
        (["①2", "②3"], ["2", "3"]),
        (["1. 2", "2. 3"], ["2", "3"]),
        (["(a) 2", "(b) 3"], ["2", "3"]),
        (["(A): 2", "(B): 3"], ["2", "3"]),
        (["(1) 2", "(3) 3"], None),
        (["(2) 2", "(1) 3"], None),
        (["(1) 2", "3"], None),
        (["(1)", "(2)"], None),
        (["1.5", "2.5"], None),
        (["(1) 2"], None),
        ([], None),
    ],
)
def test_labels_of_a_keys_entries(entries: list[str], bare: list[str] | None) -> None:
    assert unlabelled(entries) == (entries if bare is None else bare)


@pytest.mark.parametrize(
    ("text", "chosen", "stem", "options"),
    [
        ("为（ ）\nA. 1 B. 2\nC. 3 D. 4", "B", "为（ ）", "A1 B2 C3 D4"),
        ("q（）A．甲B．乙C．丙D．丁", "AC", "q（）", "A甲 B乙 C丙 D丁"),
        ("q A、1 B、2 C、3 D、4", "D", "q", "A1 B2 C3 D4"),
        ("q (A) 1 (B) 2 (C) 3", "C", "q", "A1 B2 C3"),
        ("q（A）1（B）2（C）3", "C", "q", "A1 B2 C3"),
        ("q\nA) 1\nB) 2\nC) 3", "C", "q", "A1 B2 C3"),
        ("q Ａ．1Ｂ．2Ｃ．3", "C", "q", "A1 B2 C3"),
        ("q ( A ) 1 ( B ) 2 ( C ) 3", "C", "q", "A1 B2 C3"),
        ("q\nA: 1\nB: 2\nC: 3", "C", "q", "A1 B2 C3"),
        ("q\nA. yes\nB. no", "A", "q", "Ayes Bno"),
        ("A、B、C、D四点。则\nA. 1 B. 2 C. 3 D. 4", "A", "A、B、C、D四点。则", "A1 B2 C3 D4"),
        ("①对 ②错 ③真 正确的是\nA. ①② B. ①③ C. ②③ D. ①②③", "B", "①对 ②错 ③真 正确的是", "A①② B①③ C②③ D①②③"),
        ("옳은 것은?\nㄱ. 가\nㄴ. 나\n① ㄱ ② ㄴ ③ ㄱ, ㄴ", "3", "옳은 것은?\nㄱ. 가\nㄴ. 나", "①ㄱ ②ㄴ ③ㄱ,ㄴ"),
        ("옳은 것은? (1) 가 (2) 나 (3) 다", "2", "옳은 것은?", "1가 2나 3다"),
        ("with $f(A. B. C.)$ A. 1 B. 2 C. 3", "A", "with $f(A. B. C.)$", "A1 B2 C3"),
        (r"\(A. B. C.\) A. \(1\)B. \(2\)C. 3", "A", r"\(A. B. C.\)", r"A\(1\) B\(2\) C3"),
        (r"costs \$5 \( A. 1 B. 2 C. 3", "A", r"costs \$5 \(", "A1 B2 C3"),
        ("A. 1 B. 2 C. 3 D. 4 E. 5", "E", "", "A1 B2 C3 D4 E5"),
        ("$S=(\\quad)$A. 6B. 9C. 12D. 18", "B", "$S=(\\quad)$", "A6 B9 C12 D18"),
        ("q A. $x$ B. $y$ C. 90D. 81", "B", "q", "A$x$ B$y$ C90 D81"),
        ("q A. 1C. B. 2C. C. 3C. D. 4C.", "B", "q", "A1C. B2C. C3C. D4C."),  # coulombs
    ],
)
def test_options(text: str, chosen: str, stem: str, options: str) -> None:
    found = split_options(text, set(chosen))
    assert found[0] == stem
    assert " ".join(o.label + o.text.replace(" ", "") for o in found[1]) == options


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("Through A. Then B. it goes", "A"),  # two labels inside a line are prose
        ("A. 1 B. 2 D. 4", "A"),  # incomplete
        ("A.\nB.\nC.\nD.", "A"),  # the options are pictures
        ("A. 1 B. 2 C. 3", "D"),  # the key names an option that is not there
        ("下列：①对 ②错 ③真，正确的是", "C"),  # statements; the options are pictures
        ("①对 ②错 ③真", ""),  # no key to tell statements from options
        ("1. A. 1 B. 2 C. 3\n2. A. 4 B. 5 C. 6", "A"),  # two questions
        ("q\nA. 1\nB. 2\nc. 3\nD. 4", "B"),  # one of them is not seen
        (r"\begin{tabular}{c} A. & 1 \\ B. & 2 \\ C. & 3 \end{tabular}", "B"),  # a table
        ("<table><tr><td>A. 1 B. 2 C. 3</table>", "B"),
        ("no options at all", "A"),
        ("", "A"),
        ("A. " * 5000, "A"),
    ],
)
def test_uncertain_options_stay_in_the_text(text: str, chosen: str) -> None:
    assert split_options(text, set(chosen)) == (text, [])


@given(st.lists(st.text(alphabet="xyz甲 $", min_size=1).filter(str.strip), min_size=3, max_size=6), st.integers(0, 5))
def test_written_options_are_found_again(texts: list[str], chosen: int) -> None:
    labels = "ABCDEF"[: len(texts)]
    written = "stem\n" + "\n".join(f"{label}. {text}" for label, text in zip(labels, texts, strict=True))
    if any(text.count("$") for text in texts):
        return  # an unpaired $ makes formulas of what stands between
    stem, options = split_options(written, {labels[chosen % len(labels)]})
    assert stem == "stem"
    assert [option.text for option in options] == [text.strip() for text in texts]


@pytest.mark.parametrize(
    ("question", "answer", "parts"),
    [
        ("（1）求a；（2）求b", "（1）3。\n（2）5。", ["3", "5"]),
        ("（1）求a；（2）求b", "(1) 2；(2) 3", ["2", "3"]),
        ("（1）求a；（2）求b", "（1）2; \n（2）3，4；", ["2", "3，4"]),
        ("(1) a (2) b (3) c", "(1) 2, (2) 3，(3) 4.", ["2", "3", "4."]),
        ("(1) a (2) b", r"(1) $x$\; (2) 3\,", [r"$x$\;", r"3\,"]),
        ("(1) a (2) b", "(1)；(2) 3", ["(1)；(2) 3"]),  # a part without an answer
        ("(1) find a (2) find b", "(1) 3 (2) (i) 4 (ii) 5", ["3", "(i) 4 (ii) 5"]),
        ("① a ② b", "①1 ②2", ["1", "2"]),
        ("(a) x (b) y", "(a) 1 (b) 2", ["1", "2"]),
        ("(1) a (2) b (3) c", "(1) 3 (2) 5", ["(1) 3 (2) 5"]),
        ("find a", "(1) 3 (2) 5", ["(1) 3 (2) 5"]),
        ("(1) a (2) b", "解：(1) 3 (2) 5", ["解：(1) 3 (2) 5"]),
        ("(1) a (2) b", "3", ["3"]),
    ],
)
def test_parts(question: str, answer: str, parts: list[str]) -> None:
    assert split_parts(question, answer) == parts


@pytest.mark.parametrize(
    ("answer", "blanks", "pieces"),
    [
        (r"3\pi/2, 1", 2, [r"3\pi/2", "1"]),
        ("3；5", 2, ["3", "5"]),
        ("(1,2), 3", 2, ["(1,2)", "3"]),
        (r"\(f(1,2)\), $3,4$", 2, [r"\(f(1,2)\)", "$3,4$"]),
        ("①3 ②5", 2, ["3", "5"]),
        ("①3；②5。", 2, ["3", "5"]),
        ("3；5。", 2, ["3", "5"]),
        ("(1) 3 (2) 5", 2, ["3", "5"]),
        ("1,000", 2, ["1,000"]),
        ("1,000, 5", 2, ["1,000", "5"]),
        ("[1, 2)", 2, ["[1, 2)"]),
        ("1, 2, 3", 2, ["1, 2, 3"]),
        ("1, 2", 1, ["1, 2"]),
        ("甲、乙", 2, ["甲", "乙"]),
        ("a, b; c", 2, ["a, b", "c"]),
        ("【答案】61. that    \n62. to go    63. of/for", 3, ["that", "to go", "of/for"]),
        ("61. that 62. x 64. y", 3, ["61. that 62. x 64. y"]),
        ("so 61. that 62. x", 2, ["so 61. that 62. x"]),
        ("1.5 2.5", 2, ["1.5 2.5"]),
    ],
)
def test_blanks(answer: str, blanks: int, pieces: list[str]) -> None:
    assert split_blanks(answer, blanks) == pieces


@pytest.mark.parametrize(
    ("text", "blanks"),
    [
        ("a ____ b ____.", 2),
        (r"a \_\_\_\_ b", 1),
        (r"a \underline{\quad\quad} b \underline{\hspace{2cm}}", 2),
        (r"a \underline{word} b_1 x_{2}", 0),
        ("a __61__ b __62__ c ___ 63 ___ d", 3),
        ("a   61   b   62   c   63   d   64   e   65   f", 5),
        ("a   61   b   62   c", 0),
        ("1  2  3  4  6  7", 0),
        ("", 0),
    ],
)
def test_count_blanks(text: str, blanks: int) -> None:
    assert count_blanks(text) == blanks


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ("", []),
        ("a.png", ["a.png"]),
        (["a", "b"], ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        ('["a", "b"]', ["a", "b"]),
        ("[{'bytes': None, 'path': 'a'}]", [{"bytes": None, "path": "a"}]),
        ("['a' 'b']", ["a", "b"]),  # numpy's spelling
        ("['" + "x" * 200_000 + "', 'b']", ["x" * 200_000, "b"]),
        ("['it\\'s', \"b\"]", ["it's", "b"]),
        ("[1, 2]", ["[1, 2]"]),  # an interval
        ("[0, +∞)", ["[0, +∞)"]),
        ("[__import__('os').getcwd()]", ["[__import__('os').getcwd()]"]),
        ("[" * 100_000 + "]" * 100_000, ["[" * 100_000 + "]" * 100_000]),
        (5, [5]),
    ],
)
def test_parse_list(value: object, expected: list[object]) -> None:
    assert parse_list(value) == expected


def options(*texts: str) -> list[Option]:
    return [Option(label=label, text=text) for label, text in zip("ABCD", texts, strict=False)]


@pytest.mark.parametrize(
    ("question", "choices", "images", "expected_question", "expected_choices", "expected_images", "said"),
    [
        ("q <image>", [], [A], "q <image>", [], [A], False),
        ("q", [], [A, B], "q\n<image>\n<image>", [], [A, B], False),
        ("", [], [A], "<image>", [], [A], False),
        (
            "q <image>",
            ["<image>", "x"],
            [A, B, C, D],
            "q <image>\n<image>\n<image>",
            ["<image>", "x"],
            [A, C, D, B],
            True,
        ),
        ("q <image> r <image>", [], [A], "q <image> r [image]", [], [A], True),
        ("q <image>", ["<image>", "<image>"], [A, B], "q <image>", ["<image>", "[image]"], [A, B], True),
        ("q <image>", [], [], "q [image]", [], [], True),
    ],
)
def test_marks_agree_with_images(
    question: str,
    choices: list[str],
    images: list[Image],
    expected_question: str,
    expected_choices: list[str],
    expected_images: list[Image],
    said: bool,
) -> None:
    text, placed, ordered, change = place_marks(question, options(*choices), images)
    assert (text, [o.text for o in placed], ordered) == (expected_question, expected_choices, expected_images)
    assert bool(change) == said


@pytest.mark.parametrize(
    ("text", "refs", "expected", "ordered"),
    [
        ("a ![](b.png) c", [], "a <image> c", ["b.png"]),
        ('a ![fig. 1](<b.png> "t") c', ["x"], "a <image> c", ["b.png", "x"]),
        ("<image> ![](b.png) <image>", ["x", "y", "z"], "<image> <image> <image>", ["x", "b.png", "y", "z"]),
        ('<IMG alt="p" src="b.png" width=3> q', [], "<image> q", ["b.png"]),
        ("[link](b.png) ![x]", ["x"], "[link](b.png) ![x]", ["x"]),
    ],
)
def test_pictures_written_into_a_text(text: str, refs: list[object], expected: str, ordered: list[object]) -> None:
    assert take_inline(text, refs) == (expected, ordered)


TEXTS = st.lists(st.sampled_from(["x", IMAGE_MARK]), max_size=4).map(" ".join)


@given(TEXTS, st.lists(TEXTS, max_size=4), st.integers(0, 6))
def test_marks_always_agree(question: str, choices: list[str], count: int) -> None:
    images = [Image(bytes=bytes([number])) for number in range(count)]
    text, placed, ordered, _ = place_marks(question, options(*choices), images)
    assert sum(t.count(IMAGE_MARK) for t in (text, *(o.text for o in placed))) == count
    assert sorted(i.bytes or b"" for i in ordered) == [i.bytes for i in images]


@given(st.text(alphabet="$$$\\\\()[]ab\n ", max_size=40))
def test_formulas_are_masked_the_same_by_the_quick_search(text: str) -> None:
    thorough = mask_formulas(text + r" \[")  # opens what nothing closes, and is only found by the thorough one
    assert mask_formulas(text) == thorough[: len(text)]
