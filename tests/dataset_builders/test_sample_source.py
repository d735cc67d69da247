"""The sample exam: its records, its pictures and pages, and that the papers are what the records say."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.questions import data_files, read_card, read_records
from livek12.core.records import IMAGE_MARK, Page, Question
from livek12.dataset_builders import sample
from livek12.dataset_builders.publishing.policy import judge_rows
from tests.dataset_builders import make_sample as render

GROUPS = {"livek12_zh": 21, "livek12_en": 21, "kmmmu": 9, "cfe": 6, "mdk12": 6}
EXAMS = ("livek12_zh", "livek12_en")
QUESTIONS: dict[str, list[Question]] = {name: sample.load(name) for name in GROUPS}
EVERY = [question for questions in QUESTIONS.values() for question in questions]
PAGES: list[Page] = sample.pages()

each = pytest.mark.parametrize("question", EVERY, ids=lambda question: question.id)


def texts(question: Question) -> list[str]:
    """Where image marks may stand, in the order in which they take the images."""
    return [question.question, *(option.text for option in question.options)]


def test_groups_are_whole_and_ids_unique() -> None:
    assert {name: len(questions) for name, questions in QUESTIONS.items()} == GROUPS
    assert max(Counter(question.id for question in EVERY).values()) == 1
    for name, questions in QUESTIONS.items():
        assert [question.number for question in questions] == [str(n + 1) for n in range(GROUPS[name])]
        assert {question.paper_id for question in questions} == {sample.PAPERS[name]}


@each
def test_record_is_complete(question: Question) -> None:
    assert question.answer and all(question.answer) and question.solution and question.knowledge_points
    assert (question.release, question.year, question.source.licence) == ("sample", 2026, "Apache-2.0")
    assert question.difficulty in {"easy", "medium", "hard"} and question.exam
    assert question.review.state == "accepted"


@each
def test_marks_equal_images_and_images_are_small_pngs(question: Question) -> None:
    from PIL import Image

    assert sum(text.count(IMAGE_MARK) for text in texts(question)) == len(question.images)
    for image in question.images:
        assert image.bytes is not None and len(image.bytes) <= 60_000 and image.path is not None
        with Image.open(io.BytesIO(image.bytes)) as picture:
            picture.load()
            assert picture.format == "PNG" and min(picture.size) >= 60


@each
def test_answer_has_the_form_of_its_question(question: Question) -> None:
    labels = "".join(option.label for option in question.options)
    if question.question_type in CHOICE_TYPES:
        (key,) = question.answer
        assert len(labels) >= 4 and "".join(sorted(set(key))) == key and set(key) <= set(labels)
        assert (len(key) == 1) == (question.question_type == "single_choice")
    else:
        assert not labels
    if question.question_type == "fill_in_blank":
        assert len(re.findall(r"_{3,}", question.question)) == len(question.answer)
    if question.question_type == "true_false":
        assert question.answer[0] in ({"正确", "错误"} if question.language == "zh" else {"True", "False"})
    if question.benchmark == "livek12" and len(question.answer) > 1:
        assert len(question.part_points) == len(question.answer)
    if question.part_points:
        assert sum(question.part_points) == question.points


@each
def test_every_text_is_latex_that_the_paper_can_set(question: Question) -> None:
    images = iter(["x.png"] * len(question.images))
    for text in texts(question):
        assert render.blocks(text, images)
    rest = [question.solution or "", *question.answer, *(step.step for step in question.reasoning_flow)]
    formulas = [answer for answer in question.answer if "\\" in answer and "$" not in answer]
    formulas += [variable.value for variable in question.variables] + [step.answer for step in question.reasoning_flow]
    assert all(render.blocks(text, iter([])) for text in rest if "\\" not in text or "$" in text)
    assert all(render.math(formula) for formula in formulas)
    assert all(text.replace("$$", "$").count("$") % 2 == 0 for text in [*texts(question), *rest])


@pytest.mark.parametrize("name", EXAMS)
def test_paper_adds_to_100_and_holds_every_form(name: str) -> None:
    questions = QUESTIONS[name]
    assert sum(question.points or 0 for question in questions) == 100
    assert {question.subject for question in questions} == {"math", "physics", "chemistry", "biology"}
    assert {question.question_type for question in questions} == {
        "single_choice",
        "multiple_choice",
        "fill_in_blank",
        "true_false",
        "short_answer",
        "open_ended",
        "proof",
    }
    blanks = [len(question.answer) for question in questions if question.question_type == "fill_in_blank"]
    assert set(blanks) == {1, 2}
    assert 0.4 <= sum(not question.images for question in questions) / len(questions) <= 0.6
    assert any(all(IMAGE_MARK in option.text for option in q.options) for q in questions if q.options)
    assert any("\n| " in question.question for question in questions)
    assert {subset for question in questions for subset in question.subsets} == {
        "complex_layout",
        "rigorous_process",
        "long_horizon",
    }


def test_translations_agree() -> None:
    for zh, en in zip(*(QUESTIONS[name] for name in EXAMS), strict=True):
        assert en.translation_of == zh.id and zh.translation_of is None
        assert en.id == zh.id.replace("zh_", "en_")
        for field in ("question_type", "points", "part_points", "number", "subject", "difficulty", "subsets", "year"):
            assert getattr(en, field) == getattr(zh, field), (en.id, field)
        assert len(en.answer) == len(zh.answer) and len(en.options) == len(zh.options)
        assert [image.sha256 for image in en.images] == [image.sha256 for image in zh.images]
        if en.question_type not in {"true_false", "open_ended", "proof"}:
            assert en.answer == zh.answer
        assert not re.search("[一-鿿]", en.model_dump_json(exclude={"source"}))


def test_korean_questions_carry_the_axes() -> None:
    questions = QUESTIONS["kmmmu"]
    assert {q.question_type for q in questions} == {"single_choice", "multiple_choice", "short_answer", "open_ended"}
    assert sum(question.flags.is_korean_specific is True for question in questions) == 2
    assert sum(question.flags.is_korean_specific is False for question in questions) == 7
    assert sum(bool(question.images) for question in questions) >= 3
    axes = [question.attributes for question in questions]
    assert all(axis.macro_subject and axis.task and axis.visual_modality for axis in axes)
    assert len({axis.macro_subject for axis in axes}) >= 4


def test_every_name_of_the_published_set_loads_from_the_sample(built: Path) -> None:
    """A publish sends all of it, so that these names load from a published sample as from the folder."""
    assert judge_rows(built, []).withheld == {}
    configs = read_card(built)
    for name in ("text_only", "text_image", "image_only", "hard", "korean_specific"):
        assert all(data_files(built, patterns) for patterns in configs[name].values()), name
    (hard,) = read_records(Question, *data_files(built, configs["hard"]["test"]))
    assert hard.id == "ko_sample_0009" and hard.subsets == ["hard"]


def test_university_questions_have_typed_variables_and_flows() -> None:
    questions = QUESTIONS["cfe"]
    assert {v.type for question in questions for v in question.variables} == {"numeric", "formula", "other"}
    assert max(len(question.variables) for question in questions) == 3
    assert all(len(question.reasoning_flow) >= 3 for question in questions)
    assert all([v.value for v in question.variables] == question.answer for question in questions)
    assert sum(bool(question.images) for question in questions) == 2


def test_k12_questions_cover_subjects_forms_and_difficulties() -> None:
    questions = QUESTIONS["mdk12"]
    assert len({question.subject for question in questions}) == 6
    assert all(len(question.taxonomy) == 6 for question in questions)
    assert Counter(question.difficulty for question in questions) == {"easy": 2, "medium": 2, "hard": 2}
    assert {question.question_type_raw for question in questions} == {
        "single_answer_choice",
        "multiple_answer_choice",
        "fill_in_the_blank",
        "true_false",
        "calculation",
    }
    assert {question.language for question in questions} == {"zh", "en"}
    assert sum(bool(question.images) for question in questions) == 1


def test_pages_are_those_the_questions_name() -> None:
    have = {(page.paper_id, page.page_number) for page in PAGES}
    named = {(question.paper_id, number) for question in EVERY for number in question.page_numbers}
    assert named == have and len(have) == len(PAGES)
    assert all(question.page_numbers for question in EVERY)
    assert sum(len(page.image.bytes or b"") for page in PAGES) < 2_500_000
    for name in EXAMS:
        assert any(len(question.page_numbers) == 2 for question in QUESTIONS[name])
        assert [n for q in QUESTIONS[name] for n in q.page_numbers] == sorted(
            n for q in QUESTIONS[name] for n in q.page_numbers
        )


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("name", GROUPS)
def test_question_stands_on_its_pages(name: str) -> None:
    """In the PDF's own text, a question's first words are on its first page and its last ones on its last."""
    pdfium = pytest.importorskip("pypdfium2")
    with pdfium.PdfDocument(sample.pdf(sample.PAPERS[name])) as document:
        sheets = [squeezed(page.get_textpage().get_text_range()) for page in document]
    assert len(sheets) == sum(page.paper_id == sample.PAPERS[name] for page in PAGES)
    for question in QUESTIONS[name]:
        plain = [squeezed(run) for run in re.split(r"\$\$.*?\$\$|\$.*?\$|_{3,}|<image>|\n|\"|“|”", question.question)]
        runs = [run for run in plain if len(run) >= 6] or [max(plain, key=len)]
        assert runs[0][:6] in sheets[question.page_numbers[0] - 1], question.id
        assert runs[-1][:6] in sheets[question.page_numbers[-1] - 1], question.id


@pytest.mark.parametrize("name", GROUPS)
def test_typesetting_again_gives_the_same_pages(name: str) -> None:
    typst = pytest.importorskip("typst")
    families = {font.family for font in typst.Fonts().fonts()}
    if not {"Noto Serif CJK SC", "Noto Serif CJK KR"} <= families:
        pytest.skip("the papers need Debian's fonts-noto-cjk")
    assert render.locate(name) == {
        question.id: {"page_numbers": question.page_numbers, "boxes": [box.model_dump() for box in question.boxes]}
        for question in QUESTIONS[name]
    }


@pytest.mark.parametrize("name", GROUPS)
def test_each_box_holds_the_number_of_its_question(name: str) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    with pdfium.PdfDocument(sample.pdf(sample.PAPERS[name])) as document:
        sheets = [(page.get_size(), page.get_textpage()) for page in document]
        for question in QUESTIONS[name]:
            box = question.boxes[0]
            (width, height), text = sheets[box.page - 1]
            sides = {"left": box.left * width, "right": box.right * width}
            held = text.get_text_bounded(top=height * (1 - box.top), bottom=height * (1 - box.bottom), **sides)
            assert held.strip().startswith(f"{question.number}."), (question.id, held[:40])


def test_writing_a_group_back_changes_nothing(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    for name in GROUPS:
        before = (render.HERE / f"{name}.jsonl").read_bytes()
        rows = render.read(name)
        with monkeypatch.context() as patch:
            patch.setattr(render, "HERE", tmp_path)
            render.write(name, rows)
        assert (tmp_path / f"{name}.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("latex", "typst"),
    [
        (r"\frac{2\sqrt{6}}{3}", "frac(2 sqrt(6), 3)"),
        (r"x_1^2", "x_(1)^(2)"),
        (r"f'(x)", r"f' \( x \)"),
        (r"\mathrm{H_2O}", "upright(H_(2) O)"),
        (r"3.14,5", r"3.14 \, 5"),
        (r"\vec{n}\perp\overrightarrow{AB}", "arrow(n) perp arrow(A B)"),
        (r"[0,1)", r"[ 0 \, 1 \)"),
        (r"\left(x\right)", r"lr(\( x \))"),
        (r"^2", '""^(2)'),
        (r'"#x', r"\" \# x"),
    ],
)
def test_latex_to_typst(latex: str, typst: str) -> None:
    assert render.math(latex) == typst


@pytest.mark.parametrize("latex", [r"\input{x}", r"\frac{1", "a}", r"\sqrt", "x^", "{" * 500, r"\left(x"])
def test_latex_outside_the_subset_is_refused_in_one_line(latex: str) -> None:
    with pytest.raises(UserError) as caught:
        render.math(latex)
    assert "\n" not in str(caught.value)


def test_blocks_keep_the_order_of_a_text() -> None:
    text = "a <image> b\n| x | $y$ |\n|---|---|\n| 1 | 2 |\n```\nf(1)\n```\n____ c"
    found = render.blocks(text, iter(["p.png"]))
    assert [block["kind"] for block in found] == ["text", "image", "text", "table", "code", "text"]
    assert found[3]["rows"] == [['#"x";', "$y$"], ['#"1";', '#"2";']]
    assert found[5]["body"] == '#blank#" c";'


def test_text_cannot_become_typst_code() -> None:
    (block,) = render.blocks('a" + read("/etc/passwd") #x', iter([]))
    assert block["body"] == '#"a\\" + read(\\"/etc/passwd\\") #x";'


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (sample.load, "livek12"),
        (sample.pdf, "livek12_zh"),
        (sample.pdf, "../paper"),
        (sample._image, "figures/none.png"),
        (sample._image, "../../setup.cfg"),
        (sample._image, "/etc/hostname"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(call, argument: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError) as caught:
        call(argument)
    assert repr(argument) in str(caught.value) and "\n" not in str(caught.value)
