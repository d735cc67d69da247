"""What sources call their keys: known names, maps, what would be lost, and the first questions before a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.core.records import IMAGE_MARK, Question
from livek12.dataset_builders import build
from livek12.dataset_builders.base import BadRow, Log
from livek12.dataset_builders.benchmarks import kmmmu, livek12, mdk12
from livek12.dataset_builders.builder import read
from livek12.dataset_builders.reading.naming import NOTHING, Given, Naming, lost_keys, read_given
from livek12.dataset_builders.reading.options import options_of
from livek12.dataset_builders.reading.rows import SourceRow
from tests.dataset_builders.pictures import picture
from tests.scripts.command import livek12_here

STEM = "Which of these numbers is a prime number?"
FOUR = ["nine", "eleven", "twelve", "fifteen"]


def questions(
    folder: Path, *rows: dict[str, Any], builder: Any = livek12.BUILDER, said: Given = NOTHING, log: Log | None = None
) -> list[Question]:
    (folder / "rows.json").write_text(json.dumps(rows, ensure_ascii=False))
    records = read(builder, folder / "rows.json", log or Log(), given=said)
    return [record for record in records if isinstance(record, Question)]


@pytest.mark.parametrize(
    "row",
    [
        {"question": STEM, "options": FOUR, "answer": "B"},
        {"Problem Text": STEM, "choices": FOUR, "correct_answer": "eleven"},
        {"prompt": STEM, "answerOptionList": [[{"aoVal": c, "content": t}] for c, t in zip("ABCD", FOUR, strict=True)]}
        | {"answer_value": "B"},
        {"problem": STEM, "options": json.dumps(dict(zip("ABCD", FOUR, strict=True))), "gold": ["B"]},
        {"stem": STEM, "choices": {"label": list("ABCD"), "text": FOUR}, "answerKey": "B"},
        {"question": STEM, **dict(zip("ABCD", FOUR, strict=True)), "label": "B"},
        {"question": STEM, **{f"option_{n}": t for n, t in zip("abcd", FOUR, strict=True)}, "final_answer": "b"},
        {"题目": STEM, "选项": [f"{c}. {t}" for c, t in zip("ABCD", FOUR, strict=True)], "答案": "\\boxed{B}"},
        {
            "question": STEM,
            "options": "\n".join(f"({c}) {t}" for c, t in zip("ABCD", FOUR, strict=True)),
            "answer": "B",
        },
    ],
)
def test_one_question_by_many_names(tmp_path: Path, row: dict[str, Any]) -> None:
    log = Log()
    (question,) = questions(tmp_path, row, log=log)
    assert question.question == STEM
    assert [(option.label, option.text) for option in question.options] == list(zip("ABCD", FOUR, strict=True))
    assert (question.question_type, question.answer, lost_keys(log)) == ("single_choice", ["B"], {})


@pytest.mark.parametrize(("key", "place"), [("answer_idx", 1), ("answer_index", [1]), ("answer_place", 2)])
def test_a_key_by_its_place(tmp_path: Path, key: str, place: object) -> None:
    (question,) = questions(tmp_path, {"question": STEM, "choices": FOUR, key: place})
    assert (question.question_type, question.answer) == ("single_choice", ["B"])
    log = Log()
    assert questions(tmp_path, {"question": STEM, "choices": FOUR, key: 5}, log=log) == []
    assert "names no option of 4" in log.skipped[0]


@pytest.mark.parametrize("builder", [livek12.BUILDER, kmmmu.BUILDER, mdk12.BUILDER])
def test_what_stands_around_a_question_is_kept_by_every_builder(tmp_path: Path, builder: Any) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    row = {
        "context": "A ball falls.",
        "question": "How fast?",
        "answer": ["1", "2"],
        "points": [0.5, 1],
        "unit": ["m", None],
    }
    row |= {"marking": [["0.5 for the law", "1 for the value"]], "image_question": ["a.png"], "explanation": "By law."}
    (question,) = (
        questions(tmp_path, row, builder=builder)
        if builder is not mdk12.BUILDER
        else questions(tmp_path, {**row, "points": 1.5, "part_points": [0.5, 1]}, builder=builder)
    )
    assert question.question == f"A ball falls.\n\nHow fast?\n{IMAGE_MARK}"
    assert [image.bytes for image in question.images] == [picture()]
    assert (question.points, question.part_points, question.part_units) == (1.5, [0.5, 1.0], ["m", ""])
    assert question.solution == "By law.\n\n- 0.5 for the law\n- 1 for the value"


@pytest.mark.parametrize("builder", [livek12.BUILDER, kmmmu.BUILDER, mdk12.BUILDER])
def test_pictures_of_several_keys_are_all_there(tmp_path: Path, builder: Any) -> None:
    for name, number in (("a.png", 0), ("b.png", 1), ("c.png", 2)):
        (tmp_path / name).write_bytes(picture(number))
    row = {"question": "Which?", "answer": "x", "image": "a.png", "images": ["a.png", "b.png"], "image_path": "c.png"}
    (question,) = questions(tmp_path, row, builder=builder)
    assert sorted(image.path or "" for image in question.images) == ["a.png", "b.png", "c.png"]


def test_pictures_stand_where_the_text_names_them(tmp_path: Path) -> None:
    for name, number in (("a.png", 0), ("b.png", 1), ("c.png", 2)):
        (tmp_path / name).write_bytes(picture(number))
    row = {"question": "In [figure2] and [figure1], as [figure2] shows: <image 3>?", "answer": "4"}
    row |= {"image_1": "a.png", "image_2": "b.png", "image_3": "c.png"}
    (question,) = questions(tmp_path, row)
    assert question.question == "In [figure2]<image> and <image>, as [figure2] shows: <image>?"
    assert [image.path for image in question.images] == ["b.png", "a.png", "c.png"]


def test_a_head_holds_for_the_rows_behind_it(tmp_path: Path) -> None:
    log = Log()
    rows = [{"information": "Use $g = 10$."}, {"question": "Q1?", "context": "C."}, {"question": "Q2?"}]
    found = questions(tmp_path, *rows, log=log)
    assert [question.question for question in found] == ["Use $g = 10$.\n\nC.\n\nQ1?", "Use $g = 10$.\n\nQ2?"]
    assert not log.skipped


def test_one_question_a_file_has_the_pictures_beside_it(tmp_path: Path) -> None:
    for number in range(2):
        (folder := tmp_path / str(number)).mkdir()
        (folder / "data.json").write_text(json.dumps({"problem_text": f"Q{number}?", "answer_number": "1"}))
        (folder / "figure.png").write_bytes(picture(number))
    found = [q for q in read(livek12.BUILDER, tmp_path, Log()) if isinstance(q, Question)]
    assert [(q.question, q.images[0].bytes) for q in found] == [
        (f"Q{number}?\n{IMAGE_MARK}", picture(number)) for number in range(2)
    ]


LOSING = [{"question": f"Q{number}?", "answer": "1", "hint": f"Try {number}."} for number in range(4)]


def test_a_build_that_would_lose_text_fails_and_names_it(tmp_path: Path) -> None:
    source = tmp_path / "rows.json"
    source.write_text(json.dumps(LOSING))
    with pytest.raises(UserError, match=r"would be lost: hint \(4 rows\); say with --map FILE .* or .*--drop hint$"):
        build("livek12", str(source), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert build("livek12", str(source), tmp_path / "out", given=Given(dropped=frozenset({"hint"}))).written == 4
    few = [*LOSING[:3], *({"question": f"Q{number}?", "answer": "1"} for number in range(5))]
    source.write_text(json.dumps(few))
    assert build("livek12", str(source), tmp_path / "out").written == 8, "what a few rows hold is told"


def test_a_second_key_of_one_meaning_is_not_dropped(tmp_path: Path) -> None:
    log = Log()
    rows = [{"question": "Q?", "answer_number": "0.5", "answer_latex": r"\frac12"}] * 4
    assert [q.answer for q in questions(tmp_path, *rows, log=log)] == [["0.5"]] * 4
    assert lost_keys(log) == {"answer_latex": 4}
    log = Log()
    questions(tmp_path, *[{"question": "Q?", "answer_number": "0.5", "answer_latex": " 0.5"}] * 4, log=log)
    assert lost_keys(log) == {}, "the same in other words is not lost"


def test_a_map_says_what_keys_are(tmp_path: Path) -> None:
    rows = [{"aufgabe": {"text": "Wie viel?", "bild": "a.png"}, "loesung": "Zwei.", "ergebnis": "2"}] * 4
    (tmp_path / "a.png").write_bytes(picture())
    names = {"aufgabe.text": "question", "aufgabe.bild": "images", "loesung": "solution", "ergebnis": "answer"}
    log = Log()
    found = questions(tmp_path, *rows, said=Given(names), log=log)
    assert (found[0].question, found[0].solution, found[0].answer) == (f"Wie viel?\n{IMAGE_MARK}", "Zwei.", ["2"])
    assert lost_keys(log) == {}
    with pytest.raises(UserError, match="--map: no question has antwort; one has answer, "):
        questions(tmp_path, *rows, said=Given({"ergebnis": "antwort"}))


@pytest.mark.parametrize("text", ["", "- a", "a: [b]", "a: 1", "a: b: c", "\x00", "[" * 5000])
def test_what_is_no_map(tmp_path: Path, text: str) -> None:
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(UserError, match=r"map\.yaml: (cannot be read as YAML|a map has lines)"):
        read_given(tmp_path / "map.yaml", "")


def test_the_first_questions_are_shown_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(LOSING))
    (tmp_path / "map.yaml").write_text("hint: solution\n")
    shown = livek12_here("build", "livek12", "--source", tmp_path / "rows.json", "--preview")
    assert shown.code == 1 and "would be lost: hint, which holds text in 4 rows" in shown.err + shown.out
    how = (
        "build",
        "livek12",
        "--source",
        tmp_path / "rows.json",
        "--map",
        tmp_path / "map.yaml",
        "--preview",
        "--json",
    )
    shown = livek12_here(*how)
    first = json.loads(shown.out)["questions"][0]
    assert (shown.code, first["question"], first["solution"]) == (0, "Q0?", "Try 0.")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["map.yaml", "rows.json"]
    (tmp_path / "rows.json").write_text(json.dumps([{"aufgabe": "Wie viel?"}]))
    assert "keys without a place: aufgabe" in livek12_here(*how[:4], "--preview").err
    assert "needs --out" in livek12_here("build", "livek12", "--source", tmp_path / "rows.json").err


def test_pictures_of_a_folder_that_no_question_has_are_told(tmp_path: Path) -> None:
    (tmp_path / "11_image.png").write_bytes(picture())
    (tmp_path / "rows.json").write_text(json.dumps([{"question": "Q?", "answer": "1"}]))
    log = Log()
    list(read(livek12.BUILDER, tmp_path, log))
    assert f"{tmp_path.name}: pictures that no question has: 1 (11_image.png)" in log.notes


@pytest.mark.parametrize("row", [{"question": "Q?", "answer": "1"}, [{"question": "Q?", "answer": "1"}]])
def test_a_file_of_rows_is_all_of_its_source(tmp_path: Path, row: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what its rows name is looked at: not the pictures, the pages of other papers or the folders beside it."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "other_1.png").write_bytes(picture())
    (tmp_path / "11_image.png").write_bytes(picture())
    (tmp_path / "rows.json").write_text(json.dumps(row))
    monkeypatch.setattr("os.walk", lambda *_: pytest.fail("the folder was walked"))
    (question,) = read(livek12.BUILDER, tmp_path / "rows.json", Log())
    assert isinstance(question, Question) and question.images == []


VALUES = st.one_of(st.none(), st.text(max_size=5), st.integers(), st.lists(st.text(max_size=3), max_size=2))


@given(st.dictionaries(st.sampled_from([*livek12.KEYS, "hint", "choices", "A", "B", "image_1", "x"]), VALUES))
def test_every_text_of_a_row_is_placed_or_counted(row: dict[str, Any]) -> None:
    log = Log()
    named = Naming(livek12.KEYS)(SourceRow(row, Path("f.json"), 1, "f.json:1"), log).data
    placed = json.dumps(named, ensure_ascii=False)
    for key, value in row.items():
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str) and text.strip():
                assert json.dumps(text.strip(), ensure_ascii=False)[1:-1] in placed or log.lost[key], key


@pytest.mark.parametrize("given", [[{"label": "A", "text": {}}], [[1, 2, 3]], [{"a": 1, "b": 2}], {"A": ["x"]}])
def test_options_that_are_none(given: object) -> None:
    with pytest.raises(BadRow, match="options"):
        options_of(given, letters=True)


def test_letters_that_belong_to_the_options_stay() -> None:
    texts = ["[A]에서 나무", "[B]에서 숲", "[C]에서 강"]
    assert [option.text for option in options_of(texts, letters=False)[0]] == texts


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["B) two", "A) one"], "B two, A one"),
        (["(b) two", "(a) one"], "B two, A one"),
        (["**B.** two", "**A.** one"], "B two, A one"),
        (["Ⓑ two", "Ⓐ one"], "B two, A one"),
        (["C. 3", "A. 1", "B. 2"], "C 3, A 1, B 2"),
        (["（Ｂ）二", "（Ａ）一"], "B 二, A 一"),
        (["② 둘", "① 하나"], "2 둘, 1 하나"),
        (["2) two", "1) one"], "2 two, 1 one"),
        ([{"text": "B) two"}, {"text": "A) one"}], "B two, A one"),
        ("B. two\nA. one", "B two, A one"),
        (["A. one", "B. two"], "A one, B two"),
        ([{"label": "A", "text": "B. subtilis"}, {"label": "B", "text": "A. niger"}], "A B. subtilis, B A. niger"),
        (["(B) only", "(A) only"], "A (B) only, B (A) only"),
        (["(A) and (C)", "(A) and (B)"], "A (A) and (C), B (A) and (B)"),
        (["A: ㄱ B: ㄴ", "A: ㄴ B: ㄱ"], "A A: ㄱ B: ㄴ, B A: ㄴ B: ㄱ"),
        (["2.5 m", "1.5 m"], "A 2.5 m, B 1.5 m"),
        (["E. coli", "S. aureus"], "A E. coli, B S. aureus"),
        (["one", "two", None, None], "A one, B two"),
        (["A) one", "C) three"], None),
        (["A) one", "B) two", "B) three"], None),
        (["B) two", "one", "C) three"], None),
        (["A) one", "two", "C) three"], "A A) one, B two, C C) three"),
        (["(a)의 주어", "(b)의 주어", "(a)의 서술어"], "A (a)의 주어, B (b)의 주어, C (a)의 서술어"),
        (
            ["(c) - (b) - (a)", "(a) - (b) - (c)", "(b) - (a) - (c)"],
            "A (c) - (b) - (a), B (a) - (b) - (c), C (b) - (a) - (c)",
        ),
        (["3. a", "2. b"], None),
        (["one", None, "three"], None),
    ],
)
def test_labels_in_the_texts_of_options_are_read_or_refused(options: Any, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(BadRow):
            options_of(options, letters=True)
    else:
        found, _ = options_of(options, letters=True)
        assert ", ".join(f"{option.label} {option.text}" for option in found) == expected


@given(st.permutations("ABCDE"), st.sampled_from(["{}. {}", "({}) {}", "{}、{}", "{}: {}"]))
def test_labels_in_any_order_name_their_own_texts(order: list[str], form: str) -> None:
    found, _ = options_of([form.format(label, f"text {label.lower()}") for label in order], letters=True)
    assert [(option.label, option.text) for option in found] == [(label, f"text {label.lower()}") for label in order]


@pytest.mark.parametrize(
    "key", ["A\u200b", "\ufeffA", "A\u00ad", "\u2060A\u200e", "A\ufe0e", "\u202aA\u202c", "A\u200d"]
)
def test_characters_that_nobody_sees_are_not_stored(tmp_path: Path, key: str) -> None:
    log = Log()
    row = {
        "question": "Which one?",
        "options": [f"{key}. one", "B. two"],
        "answer": key,
        "question_type": "single choice",
    }
    (question,) = questions(tmp_path, row | {"\ufeffsubject": "math\u200b"}, log=log)
    assert (question.answer, [option.label for option in question.options]) == (["A"], ["A", "B"])
    assert (question.subject, question.question_type) == ("math", "single_choice")
    assert any("characters that cannot be seen are left out of options, answer, subject" in note for note in log.notes)


def test_joiners_of_emoji_and_words_stay(tmp_path: Path) -> None:
    (question,) = questions(tmp_path, {"question": "Who is 👩\u200d🏫?", "answer": "می\u200cخواهم"})
    assert (question.question, question.answer) == ("Who is 👩\u200d🏫?", ["می\u200cخواهم"])


@pytest.mark.parametrize("builder", [livek12, kmmmu, mdk12], ids=["livek12", "kmmmu", "mdk12"])
@pytest.mark.parametrize(
    ("text", "images", "expected", "count"),
    [
        ("Look.", [None], "Look.", 0),
        ("Look.", [None, "a.png", ""], f"Look.\n{IMAGE_MARK}", 1),
        ("Look.", [{"bytes": None, "path": None}], "Look.", 0),
        ("First <image> then <image>", [None, "a.png"], f"First [image] then {IMAGE_MARK}", 1),
    ],
)
def test_a_null_in_a_list_of_pictures_loses_no_row(
    tmp_path: Path, builder: Any, text: str, images: list[object], expected: str, count: int
) -> None:
    (tmp_path / "a.png").write_bytes(picture())
    row = {"question": text, "answer": "1", "images": images, "knowledge_points": ["x", None], "language": "en"}
    (tmp_path / "rows.json").write_text(json.dumps([row]))
    log = Log()
    (question,) = read(builder.BUILDER, tmp_path, log)
    assert isinstance(question, Question) and not log.skipped
    assert (question.question, len(question.images), question.knowledge_points) == (expected, count, ["x"])
