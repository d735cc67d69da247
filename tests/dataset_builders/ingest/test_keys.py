from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Option
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys import matching
from livek12.dataset_builders.ingest.keys.alignment import NUMBER, KeyPlace
from livek12.dataset_builders.ingest.keys.answers import WORTH, split_answered
from livek12.dataset_builders.ingest.keys.entries import Entry, of_mark_schemes
from livek12.dataset_builders.ingest.keys.ink import looks_of
from livek12.dataset_builders.ingest.keys.listed import _above, _joined, candidates, listed_entries, numbers_first
from livek12.dataset_builders.ingest.keys.words import PaperWords
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.paper import AnswerKey, Options, read_paper
from livek12.dataset_builders.ingest.questions.stream import flatten
from tests.dataset_builders.ingest.papers import both, by_number, figure, page, read

QUESTIONS = ("一、选择题", *(line for n in range(1, 5) for line in (f"{n}．{'甲' * n}是", "A．1 B．2 C．3 D．4")))


def key_of(*lines: str) -> AnswerKey:
    return AnswerKey(name="k", pages={"k": [page(*lines)]})


def question(number: int, answer: str) -> Draft:
    """A question of the type that an answer has."""
    is_label = bool(re.fullmatch(r"[(（]?[A-JＡ-Ｊ]{1,4}[)）]?|[a-d①-⑤]", answer))
    is_sign = answer in ("√", "×", "T", "F", "对", "错")
    options = [Option(label=label, text=label) for label in ("12345" if answer in "①②③④⑤" else "ABCDE")]
    return Draft(
        id=f"q{number}",
        number=str(number),
        language="zh",
        subject="",
        question_type="single_choice" if is_label else "true_false" if is_sign else "fill_in_blank",
        question="____",
        options=options if is_label else [],
    )


def entries(*lines: str | PageBlocks, of: Mapping[int, str]) -> dict[int, str]:
    """Answers that a key has for questions."""
    pages = [line if isinstance(line, PageBlocks) else page(*lines) for line in lines[:1]]
    drafts = [question(number, answer) for number, answer in of.items()]
    listed = listed_entries(drafts, PaperWords(), flatten(pages), "k")
    return {entry.number: entry.answer for entry in listed if entry.answer or entry.solution}


def test_pictures_of_a_key_are_their_solutions_and_an_answer_has_none() -> None:
    given = ("1. It is like that:", "2. c", "3. No \U000f0000 and <image>: b")
    pages = [figure(page(text, number=number, top=0.2 * number), "") for number, text in enumerate(given, 1)]
    sheet = page("1. Why is it so?", "2. Draw it.", "3. Say what it is and why it is so.")
    key = AnswerKey(name="k", pages={"k": pages})
    made, pictures = read_paper(Path("p.pdf"), [sheet], "p", "0" * 64, Options(), None, key, None)
    solutions = [(draft.answer, draft.solution, [own.name for own in draft.solution_figures]) for draft in made.drafts]
    assert solutions == [
        ([], "It is like that:\n<image>", ["p-q1-solution-1.png"]),
        ([], "c\n<image>", ["p-q2-solution-1.png"]),
        ([], "No □ and < image>: b\n<image>", ["p-q3-solution-1.png"]),
    ]
    assert {*pictures} == {f"p-q{n}-solution-1.png" for n in (1, 2, 3)}
    assert all(any("pictures" in doubt.text for doubt in draft.doubts) for draft in made.drafts)


def test_private_letters_of_a_paper_or_table_are_no_pictures(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("number,answer,solution\n1,B,\U000f0000 so\n", encoding="utf-8")
    sheet = page("1. Which is \U000f0000 of all?", "A. one", "B. two")
    (draft,) = read(sheet, key=AnswerKey.read(tmp_path / "k.csv")).drafts
    assert (draft.answer, draft.solution) == (["B"], "□ so") and "□ of all" in draft.question


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["题号 1 2 3", "答案 A BC D"], {1: "A", 2: "BC", 3: "D"}),
        (["題序 01 02 03 04", "答案 Ｃ Ｄ ＃ Ａ"], {1: "Ｃ", 2: "Ｄ", 3: "＃", 4: "Ａ"}),
        (
            ["1．（C）2．（D）3．（A）", "4．（B）5．（C）6．（D）"],
            dict(enumerate(["（C）", "（D）", "（A）", "（B）", "（C）", "（D）"], 1)),
        ),
        (["1．对2．错3．错4．对"], {1: "对", 2: "错", 3: "错", 4: "对"}),
        (["1-5 ABCDA 6-8 DCB"], {1: "A", 2: "B", 3: "C", 4: "D", 5: "A", 6: "D", 7: "C", 8: "B"}),
        (["1. B 2. C 3. AD"], {1: "B", 2: "C", 3: "AD"}),
        (["1．B", "2．$\\frac{1}{2}$", "3．解：由题意得"], {1: "B", 2: "$\\frac{1}{2}$", 3: ""}),
        (["1√ 2× 3√"], {1: "√", 2: "×", 3: "√"}),
        (
            ["（1）D）（2）A）（3）D）", "（4）B）（5）【6】C）"],
            {1: "D）", 2: "A）", 3: "D）", 4: "B）", 5: "【6】C）"},
        ),
        (["1. 0.2； 2. 5/7；    3. $2. 4$；"], {1: "0.2", 2: "5/7", 3: "$2. 4$"}),
        (["11", "(1)15", "12", "(1)F B", "13", "7"], {11: "", 12: "", 13: "7"}),
        (["1. 解答 A", "解析 略", "2. 解答 B", "解析f(1)=2", "3. 解答 C", "解析 略"], {1: "A", 2: "B", 3: "C"}),
        (
            ["一、", "1、C；2、D；3、A", "二、", "4、15；-2", "5、20；11", "三、", "6、SP；SS", "7、CF；OF"],
            {1: "C", 2: "D", 3: "A", 4: "15；-2", 5: "20；11", 6: "SP；SS", 7: "CF；OF"},
        ),
        (["题号 1 2 3 4", "A卷 A B C D", "B卷 B C D A"], {}),
        (["1-3: (A) (C) (B)", "4-5: (D) (A)"], {n: f"({label})" for n, label in enumerate("ACBDA", 1)}),
        (["1-5 ABC"], {}),
        (["I6.B 17. A 18,C 19, D"], {16: "B", 17: "A", 18: "C", 19: "D"}),
        (["1. B 2. C 3. D", "Text 1", "W: Hello.", "4. run", "5. ran"], {1: "B", 2: "C", 3: "D", 4: "run", 5: "ran"}),
        (["二、判断题", "F T F T"], {1: "F", 2: "T", 3: "F", 4: "T"}),
        (["#1 — B", "#2 — C"], {1: "B", 2: "C"}),
        (["【1题答案】", "【答案】B", "【2题答案】", "【答案】C"], {1: "B", 2: "C"}),
        (["1) [정답] ②", "2) [정답] ①"], {1: "②", 2: "①"}),
        (["A1. B", "A2. C", "1. It is so.", "2. It is so, too."], {1: "B", 2: "C"}),
        (["他在第 3 A 组"], {}),
        (["第一题（2分）", "B", "第二题（2分）", "C"], {1: "B", 2: "C"}),
        (["1．어법 (전치사)", "✅ 정답: on", "해설: 그렇다.", "2．어형", "✅ 정답: off"], {1: "on", 2: "off"}),
        (["1．무관문장 | 쉬움 | 3점 | 정답 ③", "2．제목 | 보통 | 정답 ①"], {1: "③", 2: "①"}),
        (["1．：b", "2．c"], {1: "b", 2: "c"}),
        (["1    0.0    2    a, b", "3    x=1    4    6"], {1: "0.0", 2: "a, b", 3: "x=1", 4: "6"}),
        (["1 A    2 B    3 A/C    4 D"], {1: "A", 2: "B", 3: "A/C", 4: "D"}),
        (["1. 12", "2. 9    3    3", "3. 5"], {1: "12", 2: "9    3    3", 3: "5"}),
        (
            ["1. B    4. C    7. ab", "2. C    5. A    8. 42", "3. B    6. D"],
            dict(enumerate([*"BCBCAD", "ab", "42"], 1)),
        ),
        (
            ["No. Answer    No. Answer", "1    B    4    ab c", "2    C    5    A", "3    B"],
            dict(enumerate(["B", "C", "B", "ab c", "A"], 1)),
        ),
        (["二、5．3 6．6；4 7．9π"], {5: "3", 6: "6；4", 7: "9π"}),
        (["二、填空题（3题）5．3 6．6，4"], {5: "3", 6: "6，4"}),
        (["一、选择题1-4 ABAB"], dict(enumerate("ABAB", 1))),
        (["1. B", "2. C", "[서답형 3] x", "[서답형 4] y"], {1: "B", 2: "C", 3: "x", 4: "y"}),
        (["Question Answer    Points", "1    B    2", "2    ab    1", "3    C    2"], {1: "B", 2: "ab", 3: "C"}),
    ],
)
def test_forms_of_keys(lines: list[str], found: dict[int, str]) -> None:
    assert entries(*lines, of=found) == found


def test_answers_of_blanks_that_are_counted_through_a_section_are_those_of_its_questions() -> None:
    sheet = (
        "Section 1: Complete the programs",
        "1. It adds both: n = (1) ; then it prints them by (2) .",
        "2. It goes up by (3) and down by (5) , while (1) holds.",
        "Section 2: Write programs",
        "1. Sort all numbers.",
        "2. Print all numbers.",
    )
    given = (
        "Section 1: Complete the programs",
        "(1)    a+b    (2)    printf",
        "(3)    i++    (4)    1",
        "(5)    i--",
        "Section 2: Write programs",
    )
    key = key_of(*given, "1. sort(all)", "2. print(all)")
    drafts = read(page(*sheet), key=key).drafts
    keys = ["\n".join((*draft.answer, draft.solution or "")).strip() for draft in drafts]
    assert keys == ["(1) a+b\n(2) printf", "(3) i++\n(4) 1\n(5) i--", "sort(all)", "print(all)"]
    drafts = read(page(*sheet), key=key_of(*given[:2], "(5)    i--", given[-1], "1. sort(all)")).drafts
    assert any("not one answer for each blank" in doubt.text for doubt in drafts[1].doubts)
    drafts = read(page(*sheet), key=key_of(given[0], "1. a+b; printf", "2. i++; 1; i--")).drafts
    assert [draft.answer for draft in drafts[:2]] == [["a+b; printf"], ["i++; 1; i--"]]


def test_parts_that_are_counted_anew_are_no_blanks() -> None:
    sheet = [f"{n}. Say of {word} (1) how (2) why (3) when (4) where." for n, word in enumerate(("iron", "gold"), 1)]
    key = key_of("1. (1) so (2) as", "(3) now", "2. (1) it (2) by", "(3) on (4) at")
    first, second = read(page("Section 1: Metals", *sheet), key=key).drafts
    assert "now" in str(first.solution) and "at" in str(second.solution) and "now" not in str(second.solution)


def test_a_key_behind_which_the_next_question_has_none_is_doubted() -> None:
    sheet = ("1. 甲的值是____。", "2. 乙的值是____。", "3. 丙的值是____。")
    drafts = read(page(*sheet), key=key_of("1. 12", "13", "3. 14")).drafts
    doubted = [any("may stand within" in doubt.text for doubt in draft.doubts) for draft in drafts]
    assert doubted == [True, False, False]


TITLES = ("一、名词解释", "1. 死锁", "2. 虚拟机", "二、简答题", "1. 简述进程的五种状态及其转换。", "2. 什么是颠簸？")


def test_wide_gaps_are_read_in_linear_time() -> None:
    begun = time.process_time()
    for text in (f"{' ' * 20_000}x", f"({' ' * 20_000}x"):
        looks = [*looks_of(replace(page("x").blocks[0].lines[0], text=text))]
        assert len(looks) == 1 and not (NUMBER.match(text) or WORTH.search(text))
    assert time.process_time() - begun < 0.5


def test_a_key_is_aligned_by_titles_words_and_sections() -> None:
    given = (
        "一、名词解释", "1. 死锁", "多个进程互相等待。", "2. 虚拟机", "软件模拟的机器：",
        "1. 有自己的处理器；", "2. 有自己的内存。", "二、简答题",
        "1. 新建、就绪、运行、阻塞与终止。", "2. 频繁地换页。",
    )  # fmt: skip
    key = key_of(*given)
    paper = read(page(*TITLES), key=key)
    solutions = ["".join((*draft.answer, draft.solution or "")) for draft in paper.drafts]
    assert solutions[0] == "多个进程互相等待。" and "有自己的内存" in solutions[1]
    assert solutions[2].startswith("新建") and solutions[3].startswith("频繁")


def test_sections_of_a_key_that_are_questions_are_their_keys() -> None:
    sheet = ["三、计算题", "某波沿直线传播，求其波长。", "四、计算题", "某气体吸热膨胀，求其末态温度。"]
    choices = ["一、选择题", "1. 甲是", "A．1 B．2 C．3 D．4", "2. 乙是", "A．5 B．6 C．7 D．8"]
    blanks = ["二、填空题", "1. 丙是____。", "2. 丁是____。"]
    key = [
        "一、选择题",
        "AB",
        "1. A 2. B",
        "二、填空题",
        "1. 天",
        "2. 地",
        "三、计算题",
        "(1) 20",
        "(2) 30",
        "四、计算题",
    ]
    drafts = read(page(*choices, *blanks, *sheet, "参考答案", *key, "(1) 50", "(2) 60")).drafts
    assert [(draft.number, draft.solution) for draft in drafts[4:]] == [
        ("3", "(1) 20\n(2) 30"),
        ("4", "(1) 50\n(2) 60"),
    ]


def test_a_key_numbered_anew_in_each_section_is_that_of_a_paper_that_goes_on() -> None:
    sheet = ("一、填空题", "1. 甲的值是____。", "2. 乙的值是____。", "二、简答题", "3. 简述丙。", "4. 简述丁的由来。")
    given = ("一、", "1. 12", "2. 13", "二、", "1. 它是这样的。", "2. 它是那样的。")
    key = key_of(*given)
    keys = ["".join((*draft.answer, draft.solution or "")) for draft in read(page(*sheet), key=key).drafts]
    assert keys[:2] == ["12", "13"] and "这样" in keys[2] and "那样" in keys[3]


def test_sections_of_a_key_are_those_of_the_paper_by_title() -> None:
    sheet = [("1 Truth [4 points]", "TFTF"), ("2 Paths [3 points]", "D"), ("3 Steps (2 pts)", "CBx")]
    drafts = [
        question(at, answer).model_copy(update={"id": f"{title[0]}.{at}", "section": title})
        for title, answers in sheet
        for at, answer in enumerate(answers, 1)
    ]
    truth, paths = ("1 Truth", "1. T", "2. F", "3. T", "4. F"), ("2 Paths", "D")
    steps = ("Question 1", "Answer: C", "Question 2", "Answer: B", "Question 3", "1. Answer: A", "2. Answer: A")
    read_so = listed_entries(drafts, PaperWords(), flatten([page(*truth, *paths, "3 Step's", *steps)]), "k")
    assert [entry.of for entry in read_so] == [draft.id for draft in drafts]
    assert [entry.answer for entry in read_so[:7]] == [*"TFTFDCB"] and read_so[7].printed.endswith("2. Answer: A")


def test_the_head_of_a_section_is_no_answer() -> None:
    sheet = (
        "一、填空（8分）",
        "1. 甲的值是____。",
        "2. 乙的值是____。",
        "二、算法填空（5分）",
        "补全下面的算法并说明理由。",
    )
    given = (
        "一、填空（8分，每空4分）",
        "1. 12",
        "2. 13",
        "二、算法填空（5分，每空不等）",
        "参考答案：每空2分，不扣分。",
    )
    steps = [f"第{name}空 {name * 20}" for name in "天地人"]
    drafts = read(page(*sheet), key=key_of(*given, *steps)).drafts
    assert [draft.answer for draft in drafts] == [["12"], ["13"], []]
    assert str(drafts[2].solution).endswith("\n".join(steps))


def test_a_key_may_count_through_all_sections() -> None:
    sheet = ("一、选择题", *QUESTIONS[1:5], "二、填空题", "1. 甲的值是____。", "2. 乙的值是____。")
    drafts = read(page(*sheet), key=key_of("1. A", "2. B", "3. 12", "4. 13")).drafts
    assert [draft.answer for draft in drafts] == [["A"], ["B"], ["12"], ["13"]]


def test_solutions_behind_a_list_of_labels_are_whole_and_titles_are_no_answers() -> None:
    sheet = *QUESTIONS, "二、填空题", "5．甲的值是____。", "6．乙的值是____。"
    worked = (
        *(line for n in range(1, 5) for line in (f"{n}．由图{n}知它小", "所以不对")),
        "二、填空题",
        "5．12",
        "6．13",
    )
    key = [table_page("1\t2\t3\t4", "A\tB\tC\tD"), page("一、选择题", *worked, number=2)]
    drafts = read(page(*sheet), key=AnswerKey(name="k", pages={"k": key})).drafts
    assert [draft.answer for draft in drafts] == [["A"], ["B"], ["C"], ["D"], ["12"], ["13"]]
    assert [draft.solution for draft in drafts[:4]] == [f"由图{n}知它小\n所以不对" for n in range(1, 5)]


def test_two_lists_that_differ_are_refused() -> None:
    paper = read(page(*QUESTIONS), key=key_of("1. A 2. B 3. C 4. D", "Version 2", "1. B 2. C 3. D 4. A"))
    assert not any(draft.answer for draft in paper.drafts)
    assert sum("several keys" in line for line in paper.unmatched) == 4


PROVED = ("1. Prove that the sum of both is even.", "2. Prove that it has no root.", "3. Prove that both are equal.")
LONG = [f"{n}. It follows from the lemma of the lecture, as each of them, {n}, has a divisor." for n in (1, 2, 3)]
OTHER = [f"{n}. We assume the contrary, and see that the greater of the two, {n}, is too small." for n in (1, 2, 3)]
AGAIN, SEVERAL = "comes again", "several keys"


@pytest.mark.parametrize(
    ("sheet", "lines", "doubts"),
    [
        (QUESTIONS, ["1. A 2. B 3. C 4. D", "Version 2", "1. B 2. C 3. D 4. A"], dict.fromkeys("1234", SEVERAL)),
        (
            QUESTIONS,
            ["1. A", "2. B", "3. E", "4. D", "1. A", "2. B", "3. C", "4. D"],
            {"3": AGAIN},
        ),
        (QUESTIONS, ["1. A", "2. B", "3. C", "4. D", "勘误", "3. B"], {"3": AGAIN, "4": "text without a head"}),
        (QUESTIONS, ["1-4 ABCD", "3. B"], {"3": AGAIN}),
        (
            QUESTIONS,
            [*["1. A", "2. B", "3. C", "4. D"] * 3, "1. A", "2. B", "3. C", "4. A"],
            {**dict.fromkeys("123", "more than 3 times"), "4": AGAIN},
        ),
        (QUESTIONS, [*["1. A", "2. B", "3. C", "4. D"] * 2, "It follows so."], {"4": "text without a head"}),
        (PROVED, [*LONG, *OTHER], dict.fromkeys("123", "another solution")),
        (PROVED, ["1. yes", "2. no", "3. so", "Errata", "2. yes"], {"2": AGAIN, "3": "other answers stand behind"}),
    ],
)
def test_answers_that_come_again_and_differ_are_doubted(
    sheet: Sequence[str], lines: list[str], doubts: dict[str, str]
) -> None:
    drafts = read(page(*sheet), key=key_of(*lines)).drafts
    own = [(draft.number, [doubt.text for doubt in draft.doubts if doubt.kind == "answer"]) for draft in drafts]
    texts = {number: "; ".join(given) for number, given in own}
    assert {*doubts} == {number for number, text in texts.items() if text}
    assert all(text in texts[number] for number, text in doubts.items())
    assert not any(draft.answer for draft in drafts if doubts.get(draft.number) == SEVERAL)


def test_the_number_of_a_row_may_be_level_with_the_middle_of_its_lines() -> None:
    items = flatten([page("1    B", "It is so", "2    4", "and so on", "3    C")]).items
    places = ((0.1, 0.10), (0.2, 0.12), (0.1, 0.13), (0.2, 0.14), (0.1, 0.16))
    boxes = (
        replace(item.box, left=left, top=top, bottom=top + 0.015)
        for item, (left, top) in zip(items, places, strict=True)
    )
    moved = [replace(item, box=box) for item, box in zip(items, boxes, strict=True)]
    rows = [item.text for item in numbers_first(moved)]
    assert rows == ["1    B", "2    It is so    4", "and so on", "3    C"]
    assert [item.text for item in numbers_first(items)] == [item.text for item in items]


def test_an_answer_that_stands_behind_another_is_doubted() -> None:
    lines = [line for n in range(1, 6) for line in (f"{n}. Which is it?", "A. one", "B. two")]
    drafts = read(page(*lines), key=key_of("1    A    4    B", "2    B    5    A", "3    A")).drafts
    assert any("the key of question 4 stands behind" in doubt.text for doubt in drafts[0].doubts)


def test_a_label_of_no_option_is_a_rival() -> None:
    assert [entry.answer for entry in _joined(question(3, "A"), [Entry(3, "F"), Entry(3, "C")])] == ["F", "C"]


def test_a_table_on_a_page_without_headings_has_nothing_above() -> None:
    stream = flatten([table_page("题号\t答案", "1\tA")])
    assert _above(replace(stream, headings={}), [KeyPlace(0, 0, style="table")]) == {1: ""}


def test_a_row_of_a_table_begins_a_key() -> None:
    sheet = page("1. Show that the limit is zero.", "2. Show that the sum of both is one.")
    tables = [table_page("Solution\tMarks", f"{n}. (a) It tends to {n}\t1M") for n in (1, 2)]
    both = replace(tables[0], blocks=[*tables[0].blocks, *tables[1].blocks])
    drafts = read(sheet, key=AnswerKey(name="k", pages={"k": [both]})).drafts
    assert [f"It tends to {n}" in (draft.solution or "".join(draft.answer)) for n, draft in enumerate(drafts, 1)] == [
        True
    ] * 2


def test_parts_with_heads_of_their_own_are_of_their_question() -> None:
    lines = "Question 1(a) [ 2 marks ]", "4", "Question 1(b) [ 3 marks ]", "5", "Question 2 [ 1 mark ]", "6"
    first, second = read(page("1. How many are red?", "2. How many are blue?"), key=key_of(*lines)).drafts
    text = "".join((*first.answer, first.solution or ""))
    assert "4" in text and "5" in text and second.answer == ["6"]
    lines = "Answers of Problem 1:", "4 m", "Answers of Problem 2:", "5 m"
    drafts = read(page("1. How long is it?", "2. How wide is it?"), key=key_of(*lines)).drafts
    assert [draft.answer for draft in drafts] == [["4 m"], ["5 m"]]


def test_heads_of_rooms_for_answers_begin_no_question_and_may_be_those_of_the_key() -> None:
    titles = [f"Problem {n}: Flow of the {name} (5 points)" for n, name in enumerate(("river", "creek", "brook"), 1)]
    tasks = [f"Describe how the water flows in case {n} and why it does." for n in (1, 2, 3)]
    rooms = [f"Answers of Problem {n}:" for n in (1, 2, 3)]
    sheet = [line for lines in zip(titles, tasks, rooms, strict=True) for line in lines]
    given = [rooms[0], "1) It is slow", *(line for n in (1, 2) for line in (titles[n], tasks[n], f"It is {n}0 m"))]
    drafts = read(page(*sheet), key=key_of(*given)).drafts
    assert [draft.number for draft in drafts] == ["1", "2", "3"]
    assert ["".join((*draft.answer, draft.solution or "")) for draft in drafts] == [
        "1) It is slow",
        "It is 10 m",
        "It is 20 m",
    ]


def test_heads_in_any_words_are_told_by_how_well_they_cover_the_paper() -> None:
    sheet = [f"{n}. Explain the {word} of this long system." for n, word in enumerate(("cost", "gain", "size"), 1)]
    given = (
        "Uppgift 1, cost",
        "It is low:",
        "1. now",
        "2. later",
        "Uppgift 2, gain",
        "It is high.",
        "Uppgift 3",
        "Small.",
    )
    key = key_of(*given)
    first, second, third = read(page(*sheet), key=key).drafts
    assert "later" in (first.solution or "") and "high" in (second.solution or "")
    assert third.answer == ["Small"] or third.solution == "Small."


def test_the_key_of_another_paper_is_refused_once() -> None:
    given = ("1. Which sorts are stable when keys repeat?", "2. What is the cost of a hash table lookup?")
    key = key_of(*given)
    paper = read(page("1. Explain a stack in your own words.", "2. Explain a queue in your own words."), key=key)
    assert any("it has other questions" in line for line in paper.errors)
    assert not any(draft.answer or draft.solution for draft in paper.drafts)


def test_rows_of_blanks_and_parts_are_one_answer() -> None:
    rows = ["题号\t答案", "1\tB", "2（空1）\t3", "2（空2）\t4", "3\tC"]
    found = {1: "B", 2: "3; 4", 3: "C"}
    assert entries(table_page(*rows), of=found) == found


def test_a_row_of_letters_is_of_its_section_in_order() -> None:
    found = dict(enumerate("ACDCD", 1))
    assert entries("一、选择题", "A,C,D,C,D", of=found) == found
    assert not entries("A,C,D,C,D,A", of=found)
    items = flatten([page(*["A B C D A C B D" * 20] * 200)]).items
    assert len(candidates(items, "k")) <= 10_000


def test_keys_that_are_exchanged_are_doubted() -> None:
    sheet = ("1. Explain why Ethernet needs packets of minimum size.", "2. Divide the message to compute its checksum.")
    given = (
        "1. Divide it: the remainder of this message is the checksum.",
        "2. So Ethernet needs packets that are long.",
    )
    paper = read(page(*sheet), key=key_of(*given))
    assert all(any("has the words" in doubt.text for doubt in draft.doubts) for draft in paper.drafts)


SET = ("1.【答案】{}。解析：有三种：", "1. 甲；", "2. 乙。", "2.【答案】{}。解析：丙。", "3.【答案】{}。解析：丁。")


def test_series_of_numbers_are_those_of_the_paper_in_order() -> None:
    questions = [line for n in range(1, 4) for line in (f"{n}. {'甲' * n}是", "A．1 B．2 C．3 D．4")]
    letters = ["ABC", "BCD", "CDA"]
    lines = [line for own in letters for line in "\n".join(SET).format(*own).split("\n")]
    paper = read(page(*questions * 3), key=key_of(*lines))
    assert ["".join(draft.answer) for draft in paper.drafts] == [*"".join(letters)]
    assert paper.drafts[1].solution == "丙。"
    assert not any(doubt.kind == "answer" for draft in paper.drafts for doubt in draft.doubts)


def test_a_key_that_begins_with_another_question_is_doubted() -> None:
    sheet = ("1. [4 points] How many roots has this polynomial of degree two?", "2. [5 points] Draw a cubic spline.")
    other = (
        "1. [6 points] Perform two steps of the Jacobi method.",
        "First, rearrange.",
        "2. [5 points] Draw it.",
        "So.",
    )
    paper = read(page(*sheet), key=key_of(*other))
    assert any("another question" in doubt.text for doubt in paper.drafts[0].doubts)
    own = "1. Show that the sum of two odd numbers is even.", "2. Draw it."
    paper = read(page(*own), key=key_of("1. Now the sum of two odd numbers is even, since", "each is so.", "2. So."))
    assert not any("another question" in doubt.text for doubt in paper.drafts[0].doubts)


def test_a_solution_that_repeats_words_of_its_question_is_whole_and_lines_left_out_are_doubted() -> None:
    sheet = page("1. Find the limit of the sum of one over n squared plus one and two over n squared.", "2. Draw it.")
    again = "Let S be the sum of one over n squared plus one and two over n squared, so find its limit."
    whole = read(sheet, key=key_of(f"1. Solution. {again}", "Then S tends to zero.", "2. So.")).drafts[0]
    assert again in (whole.solution or "") and not any(doubt.kind == "answer" for doubt in whole.doubts)
    draft = question(1, "x").model_copy(update={"markdown": "Find the limit of the sum of one over n squared."})
    entry = Entry(1, "", solution="Now the limit of the sum of one over n squared\nis zero.", listed=True)
    ended = matching._ended(entry, draft, PaperWords())
    assert ended.solution == "is zero." and "were left out" in ended.unsure


def test_numbers_that_begin_anew_are_those_of_sections() -> None:
    blanks = [f"{n}. {'甲' * n}是____。" for n in (1, 2, 3)]
    choices = [line for n in (1, 2) for line in (f"{n}. {'乙' * n}是", "A．1 B．2 C．3 D．4")]
    open_ = ["三、求似然函数并化简。", "四、证明这个由题意可得的不等式。"]
    lines = (
        "一、填空题",
        "1. 3；  2. 4；  3. 5",
        "二、选择题",
        "1、C   2、A",
        "三、解：似然函数为",
        "x=2",
        "四、证明：由题意",
    )
    drafts = read(page("一、填空题", *blanks, "二、选择题", *choices, *open_), key=key_of(*lines)).drafts
    assert [draft.answer for draft in drafts[:5]] == [["3"], ["4"], ["5"], ["C"], ["A"]]
    assert [draft.solution for draft in drafts[5:]] == ["解：似然函数为\nx=2", "证明：由题意"]


def test_lines_are_the_values_of_as_many_blanks() -> None:
    stem = "1. Fill in: MOV ____ and then MOV ____."
    key = key_of("1. BX, 500", "DX, AX", "2. B")
    first, *_ = read(page(stem, "2. Which is it?", "A. 1    B. 2    C. 3    D. 4"), key=key).drafts
    assert (first.answer, first.solution) == (["BX, 500", "DX, AX"], None)


@pytest.mark.parametrize(
    ("stem", "key", "answer", "kind"),
    [
        ("1. Add ____ for P and ____ for N.", "A; C", ["A", "C"], "fill_in_blank"),
        ("1. True or false?", "(a)true (b)false (c)true (d)false", ["true", "false", "true", "false"], "fill_in_blank"),
        ("1. He ____ home and ____ here.", "(1) C (2) 42", ["C", "42"], "fill_in_blank"),
        ("1. He ____ home and ____ here.", "A, past tense", ["A"], "single_choice"),
        ("1. He ____ home and ____ here.", "A. one; another", ["A"], "single_choice"),
        ("1. He ____ home and ____ here.", "A; past tense", ["A; past tense"], "single_choice"),
        ("1. Which are right ( )", "A、C", ["AC"], "multiple_choice"),
        ("1. Which is right?", "A; C", ["A; C"], "single_choice"),
        ("1. Which is right?", "• (c)", ["C"], "single_choice"),
    ],
)
def test_a_choice_with_several_answers_has_each_of_them(stem: str, key: str, answer: list[str], kind: str) -> None:
    (draft,) = read(page(stem, "A. one", "B. two", "C. three", "D. four"), key=key_of(f"1. {key}")).drafts
    assert (draft.answer, draft.question_type) == (answer, kind)
    assert (";" in "".join(answer)) == any("no label" in doubt.text for doubt in draft.doubts)


def test_titles_of_questions_in_a_key_are_no_answers() -> None:
    paper = page("1). Making and unmaking", "What does it print?", "2). Writing and reading", "What does it print?")
    key = key_of("1). Making and unmaking", "People()", "~People()", "2). Writing and reading", "apple", "juice")
    drafts = read(paper, key=key).drafts
    assert [draft.solution for draft in drafts] == ["People()\n~People()", "apple\njuice"]
    assert not any(doubt.kind == "answer" for draft in drafts for doubt in draft.doubts)


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("-1    3 4 X *", ["-1", "3 4 X *"]),
        ("$[$(i $-1)/2]$，2i+1", ["$[$(i $-1)/2]$", "2i+1"]),
        ("f(1，2)", ["f(1，2)"]),
        ("此处由两式相减而得，再由题意知其中一个不合题意，舍去，故答案为：2，3。", ["2", "3"]),
    ],
)
def test_blanks_have_their_answers_by_gaps_signs_and_what_a_solution_ends_with(key: str, answer: list[str]) -> None:
    (draft,) = read(page("1. 则 a=____，b=____"), key=key_of(f"1. {key}")).drafts
    assert draft.answer == answer


def test_a_key_has_nothing_that_the_paper_prints_elsewhere() -> None:
    passage = "The next two questions are on a shop that sells apples and pears."
    sheet = [
        "1. How many apples are in the shop?",
        "A. 1    B. 2    C. 3    D. 4",
        passage,
        "2. How many pears?",
        "A. 1    B. 2    C. 3    D. 4",
    ]
    key = key_of("1. A", passage, "2. B", "Explanation: all are sold.")
    first, second = read(page(*sheet), key=key).drafts
    assert (first.answer, first.solution) == (["A"], None)
    assert second.solution == "all are sold."


def test_solutions_stand_with_their_numbers() -> None:
    drafts = [question(1, "B"), question(2, "x")]
    found = listed_entries(drafts, PaperWords(), flatten([page("1．B", "2．解：设 x", "则 x=2")]), "k")
    assert [(entry.answer, entry.solution) for entry in found] == [("B", None), ("", "解：设 x\n则 x=2")]


PAIRS = "\n".join(f"{a} || {b}" for a, b in zip("abcdefghijklm", "nopqrstuvwxyz", strict=True))


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("题\n【答案】B\n【解析】因为", ("题", "B", "因为")),
        ("题\n【答案】 3．", ("题", "3", None)),
        ("题\n答案：B\n解析：因为", ("题", "B", "因为")),
        ("문제\n정답: ③\n해설: 왜냐하면", ("문제", "③", "왜냐하면")),
        ("Find x.\nAnswer: 4\nSolution: by hand", ("Find x.", "4", "by hand")),
        ("题\n【答案】3\n$\\frac{1}{2}\\text{【解析】因为", ("题", "3", "$\\frac{1}{2}\\text{【解析】因为")),
        ("写出答案", ("写出答案", None, None)),
        ("设A对称.\n证明:A可逆", ("设A对称.\n证明:A可逆", None, None)),
        ("Why?\nSolution sketch: so", ("Why?", None, "so")),
        ("Why?\nNo. Explanation:\n【解析】so", ("Why?\nNo. Explanation:", None, "so")),
        ("Find x.\nAnswer. It is 4.", ("Find x.", "It is 4", None)),
        ("Find x.\nAnswer a. It is 4.\nAnswer b. None.", ("Find x.", None, "a. It is 4.\nAnswer b. None.")),
        ("Say it.\nAnswer. $V$\n(2 points) (a) So.", ("Say it.\nAnswer. $V$\n(2 points) (a) So.", None, None)),
        ("Give the\nanswer. Then", ("Give the\nanswer. Then", None, None)),
        (f"Find all.\nAnswer: {PAIRS}", ("Find all.", PAIRS, None)),
    ],
)
def test_answers_below_their_question(text: str, split: tuple[str, str | None, str | None]) -> None:
    assert split_answered(text) == split


def test_a_paper_with_its_answers_behind_the_questions() -> None:
    paper = read(page(*QUESTIONS, "参考答案", "1．B", "2．C", "3．AD", "4．D"))
    assert [(draft.answer, draft.question_type) for draft in paper.drafts] == [
        (["B"], "single_choice"),
        (["C"], "single_choice"),
        (["AD"], "multiple_choice"),
        (["D"], "single_choice"),
    ]
    assert not paper.unmatched


def test_answers_behind_a_paper_need_no_title() -> None:
    key = page("1) [정답] B", "2) [정답] C", "3) [정답] A", "4) [정답] D", number=2)
    assert [draft.answer for draft in read(page(*QUESTIONS), key).drafts] == [["B"], ["C"], ["A"], ["D"]]


def test_a_paper_with_its_answers_below_each_question() -> None:
    paper = read(page("1．甲是", "A．1 B．2 C．3 D．4", "【答案】B", "【解析】算", "2．则 a=____", "【答案】3"))
    first, second = paper.drafts
    assert (first.answer, first.solution, len(first.options)) == (["B"], "算", 4)
    assert (second.answer, second.answer_from, second.question) == (["3"], "the paper", "则 a=____")


def test_topics_below_a_question_are_its_knowledge_points() -> None:
    (draft,) = read(page("1．则 a=____", "【考点】集合的运算；补集", "【答案】3")).drafts
    assert (draft.question, draft.knowledge_points, draft.answer) == ("则 a=____", ["集合的运算", "补集"], ["3"])


def csv(folder: Path, text: str) -> AnswerKey:
    file = folder / "key.csv"
    file.write_text(text, encoding="utf-8")
    return AnswerKey.read(file)


def test_a_csv_with_missing_doubled_and_foreign_numbers(tmp_path: Path) -> None:
    key = csv(tmp_path, "题号,答案,分值\n1,A,5\n2,B,5\n2,C,5\n9,D,5\nx,D,5\n4,E,5\n")
    paper = read(page(*QUESTIONS), key=key)
    assert paper.unmatched == [
        "key.csv:6: 'x' is no question number; left out",
        "question 2: key.csv has several keys (B and C); none was taken",
        "question 3: no key in key.csv",
        "key 9 (key.csv:5): no question has this number",
    ]
    drafts = by_number(paper)
    assert drafts["1"].answer == ["A"] and drafts["1"].points == 5 and not drafts["1"].doubts
    assert drafts["2"].answer == [] and drafts["3"].answer == []
    assert [doubt.text for doubt in drafts["4"].doubts] == ["the key 'E' names an option that is not there"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("prompt,answer\nx,A\n", "no columns 'number' and 'answer'"),
        ("number,answer,key\n1,A,B\n", "two columns for answer"),
        ("", "no columns"),
        ("number,answer\n", "no answers were found"),
    ],
)
def test_a_csv_that_is_no_key_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem) as error:
        csv(tmp_path, text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("题号,答案,分值\n1,A,4分\n第2题,AC,6\n", "gb18030"),
        ("문항,정답,배점\n1,A,4\n2,AC,6\n", "cp949"),
        ("题号\t答案\t分值\n1\tA\t4\n2\tAC\t6\n", "utf-16"),
        ("No.;Answer;Marks\r\n1;A;4\r\nQ2;AC;6\r\n", "utf-8-sig"),
        ("题号，答案，分值\r1，答案：A，4\r2，AC，6\r", "utf-8"),
        ("\n\nQuestion,Key,Points\nQuestion 1,A,4 points\n2.,AC,6\n", "ascii"),
    ],
)
def test_a_csv_as_spreadsheets_save_it(tmp_path: Path, text: str, encoding: str) -> None:
    (tmp_path / "key.csv").write_bytes(text.encode(encoding))
    found = AnswerKey.read(tmp_path / "key.csv").entries
    assert [(entry.number, entry.answer, entry.points) for entry in found] == [(1, "A", 4), (2, "AC", 6)]


def test_a_csv_without_names_of_columns_is_numbers_and_answers(tmp_path: Path) -> None:
    assert [(entry.number, entry.answer) for entry in csv(tmp_path, "1,B\n2,C\n").entries] == [(1, "B"), (2, "C")]


def test_a_csv_in_no_known_encoding_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "key.csv").write_bytes(bytes(range(128, 256)) * 3)
    with pytest.raises(UserError, match="save it as UTF-8"):
        AnswerKey.read(tmp_path / "key.csv")


def test_points_of_paper_and_key_that_differ_are_a_doubt(tmp_path: Path) -> None:
    paper = read(page("1. 값은? [3점]", "① 1 ② 2 ③ 3 ④ 4 ⑤ 5"), key=csv(tmp_path, "번호,정답,배점\n1,③,4\n"))
    (draft,) = paper.drafts
    assert draft.answer == ["3"] and draft.points == 3
    assert [doubt.kind for doubt in draft.doubts] == ["points"]
    worked = key_of("1．解：2x=6（3分）", "x=3（8分）")
    assert not [
        doubt for doubt in read(page("1．解方程2x+1=7．（8分）"), key=worked).drafts[0].doubts if doubt.kind == "points"
    ]


def test_a_key_of_another_subject_is_refused(tmp_path: Path) -> None:
    title, table = page("( 물리학Ⅰ )과목", top=0.05), table_page("번호\t정답\t배점", "1\t③\t2")
    sheet = page("과학탐구 영역(화학 I)", "1. 값은?", "① 1 ② 2 ③ 3 ④ 4 ⑤ 5", top=0.05)
    paper = read(sheet, key=AnswerKey(name="k.pdf", pages={"k.pdf": [both(title, table)]}))
    assert paper.drafts[0].answer == []
    assert paper.unmatched == ["k.pdf is a key for physics, not for this paper; none of it was taken"]


def test_several_blanks_and_parts_get_their_own_answers(tmp_path: Path) -> None:
    key = csv(tmp_path, 'number,answer\n1,"2; 3"\n2,"(1) 4 (2) 5"\n3,7\n')
    drafts = by_number(read(page("1．则 a=____，b=____", "2．(1)求 a", "(2)求 b", "3．则 c=____，d=____"), key=key))
    assert drafts["1"].answer == ["2", "3"]
    assert drafts["2"].answer == ["4", "5"]
    assert [doubt.kind for doubt in drafts["3"].doubts] == ["answer"]


def test_a_matched_key_says_where_it_is_from(tmp_path: Path) -> None:
    drafts, lines = matching.match(read(page(*QUESTIONS)).drafts, [Entry(1, "A")], "k.csv", "")
    assert drafts[0].answer_from == "k.csv" and drafts[1].answer_from == ""
    assert len(lines) == 3


def test_keys_behind_the_last_question_tell_of_questions_that_were_not_found(tmp_path: Path) -> None:
    whole = csv(tmp_path, "number,answer\n1,A\n2,B\n3,7\n4,C\n5,D\n")
    paper = read(page(*QUESTIONS), key=whole)
    number = len(paper.drafts)
    assert number == 4
    assert [line for line in paper.errors if "not found" in line] == [
        "question 5, whose key stands in key.csv:6, was not found"
    ]
    apart = csv(tmp_path, "number,answer\n1,A\n2,B\n3,7\n4,C\n9,D\n")  # nothing between: perhaps another's
    assert not [line for line in read(page(*QUESTIONS), key=apart).errors if "not found" in line]


# --- mark schemes ---------------------------------------------------------------------------------------------------

HEAD = "Question\tAnswer\tMarks\tGuidance"
MARKED = {
    "codes": (["1(a)\tUses $v$\tM1\t", "\t$v = 2$\tA1 ft\toe", "(b)\tsays so\tB1\t", "\t\t3\t"], [1, 1, 1]),
    "starred and dependent": (["1\ta\t*M1\t", "\tb\tDM1\t", "\tc\tA1 FT\t", "\t\t[3]\t"], [1, 1, 1]),
    "two marks in a cell": (["1\ta\tM1 A1\t", "\t\t2\t"], [1, 1]),
    "another total": (["1\ta\tM1\t", "\t\t2\t"], []),
    "no total": (["1\ta\tM1\t", "\tb\tA1\t"], []),
    "another way of its own marks": (["1\ta\tM1\t", "\tAlternative method\t\t", "\tb\tM1\t", "\t\t1\t"], []),
    "a mark for nothing": (["1\t\tM1\t", "\t\t1\t"], []),
    "a sign that has no letter": (["1\t$□$\tM1\t", "\t\t1\t"], []),
    "marks with what they assess": (["1(a)(i)\tUses it\t(1) AO 2 1\t", "1aii\tso it is\t(2) AO2\t"], [1, 2]),
    "marks within a row": (["1(a)\tIt was (1) and is (1)\t(2)\t", "1(b)\tIt will be (1) as it is now (1)\t(2)\t"], []),
    "a note in place of an answer": (["1(a)\t\tM1\tall heights", "\t\t1\t"], [1]),
}


def table_page(*rows: str) -> PageBlocks:
    made = page(*rows)
    lines = [line for block in made.blocks for line in block.lines]
    return replace(made, blocks=[replace(made.blocks[0], kind="table", lines=lines)])


def mark_scheme(*rows: str) -> PageBlocks:
    return table_page(HEAD, *rows)


def test_the_column_behind_one_that_counts_from_one_is_of_answers() -> None:
    rows = ["1\t$\\frac{W}{R}$ or its like", "2\tthe larger of the two", "3\t480"]
    found = {n: row[2:] for n, row in enumerate(rows, 1)}
    assert entries(table_page(*rows), of=found) == found


def test_rows_of_two_forms_are_no_key() -> None:
    rows = ["题号\t1\t2\t3\t4", "A卷\tA\tB\tC\tD", "B卷\tB\tC\tD\tA"]
    found = dict(enumerate("ABCD", 1))
    assert not entries(table_page(*rows), of=found)
    assert entries(table_page(*rows[:2]), of=found) == found


def test_a_table_amid_the_heads_of_a_key_is_of_its_question() -> None:
    lines = [
        "Q1 [6 marks]",
        "All but one",
        "Q2 [5 marks]",
        "Pick one",
        "Q3 [4 marks]",
        "A title",
        "Q4 [4 marks]",
        "x",
    ]
    made = page(*lines)
    rows = [
        replace(line, text=text) for line, text in zip(made.blocks[3].lines * 2, ["1\t2\t3", "C\tA\tB"], strict=True)
    ]
    table = replace(made.blocks[3], kind="table", lines=rows)
    key = replace(made, blocks=[*made.blocks[:4], table, *made.blocks[4:]])
    given = entries(key, of={1: "x", 2: "x", 3: "x", 4: "x"})
    assert "C" not in given.values() and len(given) == 4


@pytest.mark.parametrize("name", MARKED)
def test_mark_schemes_in_tables(name: str) -> None:
    rows, points = MARKED[name]
    (entry,) = listed_entries([question(1, "x")], PaperWords(), flatten([mark_scheme(*rows)]), "k")
    assert [criterion.points for criteria in entry.scheme for criterion in criteria] == points
    assert entry.answer == "" and rows[0].split("\t")[1] in (entry.solution or "")


def test_marks_of_rows_without_rules_are_level_with_them() -> None:
    first = page("1(a)    Any two from:    [2]", "• a key", "1(b)    Any one from:", "• a mouse", "• a pen")
    marks = page("", "", "3", "7", column=1)
    pages = [both(first, marks), replace(mark_scheme("2\tIt is so, as was to be shown here, and so on\t4\t"), number=2)]
    scheme = dict(of_mark_schemes(flatten(pages).items, "k"))
    assert [(entry.number, entry.points) for entry in scheme.values()] == [(1, 5), (2, 4)]
    assert scheme[0].solution == "(a)  Any two from:\n• a key  [2]\n(b)  Any one from:\n• a mouse\n• a pen\n7  [3]"


def test_rows_of_schemes_end_with_their_total_and_begin_with_their_number() -> None:
    pages = [
        mark_scheme("1(a)\tso it is\t(1) AO1\t"),
        page("1(b)", "It was.", "Total for Question 1 = 2 marks", "Address"),
    ]
    pages += [replace(mark_scheme("2\tSAS\tB1\t", "\tGuidance\t\t"), number=3)]
    first, second = (
        entry for _, entry in of_mark_schemes(flatten([replace(p, number=n) for n, p in enumerate(pages)]).items, "k")
    )
    assert first.solution == "(a)  so it is  [1]\n(b)  \nIt was."
    assert (second.answer, second.solution) == ("SAS", "Guidance")


@pytest.mark.parametrize(
    ("key", "doubt"),
    [
        ("So it is.\n$x=1$.\n2\nand so on", "number of the next question"),
        ("So it is.\n2(a)\nand so on", "number of the next question"),
        ("Marked with ****", "its key stands elsewhere"),
        ("是什么？它是这样的。", "what stands before"),
        (r"$\sum_{d}^{d}P(a)$ is one.", "formula of its key"),
    ],
)
def test_keys_of_which_a_piece_is_not_their_own_are_doubted(key: str, doubt: str) -> None:
    entry = Entry(1, "", solution=key, source="k")
    keys = AnswerKey([entry, replace(entry, number=2, solution="So it is.")], name="k")
    first = by_number(read(page("1. Show that it is so.", "2. Explain it."), key=keys))["1"]
    assert any(doubt in own.text for own in first.doubts), first.doubts


def test_a_question_gets_the_scheme_of_its_points() -> None:
    paper = [page("1. Find how fast the ball falls from rest. [3]", "2. Show that it falls at last. [4]")]
    rows = ["1\tUses $v$\tM1\t", "\t$v=2$\tA1\t", "\tm/s\tB1\t", "\t\t3\t", "2\tso\tB1\t", "\t\t1\t"]
    key = AnswerKey(name="key", pages={"key": [mark_scheme(*rows)]})
    drafts = by_number(read(*paper, key=key))
    first, second = (drafts[number].scheme for number in "12")
    assert [(c.points, c.kind, c.text, c.needs) for c in first[0]] == [
        (1, "method", "Uses $v$", []),
        (1, "accuracy", "$v=2$", ["1"]),
        (1, "independent", "m/s", []),
    ]
    assert second == [] and any("the key 1" in doubt.text for doubt in drafts["2"].doubts)
