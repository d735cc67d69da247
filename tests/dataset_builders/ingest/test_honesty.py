"""What a paper has that was not read is said: drawn signs, letters that are not printed, counts, leftovers, keys."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.pages.glyphs import read as read_glyphs
from livek12.dataset_builders.ingest.pages.pdf import unnamed_codes
from livek12.dataset_builders.ingest.paper import AnswerKey, Options, read_paper
from tests.dataset_builders.ingest.papers import both, by_number, page, paper_of, read
from tests.dataset_builders.ingest.pdf_making import plain_pdf, raw_pdf, stream, typeset
from tests.dataset_builders.ingest.test_typeset_papers import SETUP

SOURCES = Path(__file__).parent / "typeset"


def doubted(draft: Draft, kind: str) -> bool:
    return any(doubt.kind == kind for doubt in draft.doubts)


def printed(name: str, folder: Path) -> IngestedPaper:
    pytest.importorskip("pypdfium2")
    body = (SOURCES / f"{name}.typ").read_text(encoding="utf-8")
    return paper_of(typeset(body, folder / f"{name}.pdf", language="zh", setup=SETUP))


def test_drawn_signs_are_read_or_doubted_and_hidden_letters_are_not_read(tmp_path: Path) -> None:
    paper = printed("zh_drawn", tmp_path)
    found = by_number(paper)
    for formula in (r"$\sqrt{x}$", r"$\sqrt{14}$", r"$\sqrt[3]{8}$"):
        assert formula in found["1"].question
    for formula in (
        r"\begin{pmatrix}1 & 2 \\ 3 & 4\end{pmatrix}",
        r"\begin{cases}x>1 \\ y<2\end{cases}",
        r"\overrightarrow{AB}",
    ):
        assert formula in found["7"].question
    unread = {number for number, draft in found.items() if doubted(draft, "text")}
    assert unread == {"2", "3", "4", "5"}
    said = next(doubt.text for doubt in found["5"].doubts if doubt.kind == "text")
    assert "page 1" in said and "体积" in said
    assert "看不见" not in found["6"].question
    assert any("看不见的字" in note for note in paper.notes)
    assert not paper.errors


def test_numbers_however_they_are_set(tmp_path: Path) -> None:
    paper = printed("zh_numbers", tmp_path)
    found = by_number(paper)
    assert list(found) == [str(number) for number in range(1, 9)]
    assert [option.label for option in found["1"].options] == list("ABCD")
    answers = [draft.answer for draft in paper.drafts]
    assert answers[:7] == [["B"], ["C"], ["A"], ["D"], ["A"], ["B"], ["2"]] and "3" in answers[7][0]
    assert found["8"].question.startswith("已知圆锥") and found["7"].question.endswith("．")
    assert not paper.errors and not paper.unmatched


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["一、选择题：本题共3小题，每小题5分，共15分．", "1. 甲", "2. 乙"], "says that it has 3 questions, and 2"),
        (["一、选择题（每小题5分，共15分）", "1. 甲", "2. 乙"], "says that it has 3 questions, and 2"),
        (["Section A: 4 Questions", "1. Find a.", "2. Find b."], "says that it has 4 questions, and 2"),
        (["총 5문항", "5지선다형", "1. 가나다라의 값은?", "2. 나다라마의 값은?"], "has 5 questions, and 2"),
        (
            ["一、解答题：共20分．", "1. （8分）甲", "2. （10分）乙"],
            "says that it has 20 points, and its questions have 18",
        ),
        (["1. 甲", "2. 乙", "4. 丁"], "question 3 was not found"),
        (["一、选择题：本题共2小题，每小题5分，共10分．", "1. 甲", "2. 乙"], ""),
        (["Answer any 3 of the 5 questions.", "1. Find a.", "2. Find b."], ""),
        (["Section A: 2 Questions, 2 points each", "1. Find a.", "2. Find b."], ""),
        (["一、填空题（每空2分，共20分）", "1. 甲____", "2. 乙____"], ""),
    ],
)
def test_counts_that_are_printed_are_held_against_what_was_found(lines: list[str], said: str) -> None:
    paper = read(page(*lines))
    assert (len(paper.errors) == 1 and said in paper.errors[0]) if said else not paper.errors, paper.errors


def test_everything_on_a_page_is_accounted_for() -> None:
    first = page("某校期中考试", "一、选择题：每小题5分", "1. 甲", "2. 乙…", top=0.2)
    paper = read(both(first, page("goes on", "3. 丙", column=1, top=0.3)), page("※ 注意事项：", "请检查", number=2))
    one, two = paper.account
    assert (one.questions, one.sections, one.key) == (5 - 1, 1, 0)
    assert one.left == ["某校期中考试"]
    assert two.questions + two.sections + two.key + len(two.left) == 2


def test_a_key_without_sections_serves_none_of_two(tmp_path: Path) -> None:
    lines = ["Section I: Multiple Choice", "1. Which is a prime?", "A. 4 B. 5 C. 6 D. 8"]
    lines += ["2. Which is even?", "A. 1 B. 3 C. 4 D. 5"]
    lines += ["Section II: Free Response", "1. Find the length of the side.", "2. Find the area of the field."]
    key = AnswerKey([Entry(1, "B"), Entry(2, "C")], name="key.csv", sha256="0")
    answers = {draft.id: draft.answer for draft in read(page(*lines, top=0.1), key=key).drafts}
    assert list(answers.values()) == [["B"], ["C"], [], []]


def test_numbers_begin_anew_behind_the_title_of_a_section() -> None:
    lines = [
        "Section I: 2 Questions",
        "1. Find a.",
        "2. Find b.",
        "Section II: 2 Questions",
        "2 Questions are here.",
        "1. Find c.",
        "2. Find d.",
    ]
    paper = read(page(*lines, top=0.1))
    assert [draft.number for draft in paper.drafts] == ["1", "2", "1", "2"] and not paper.errors
    within = ["一、选择题", "1. 甲", "二、解答题", "2. 乙，步骤如下", "1. 其一", "2. 其二", "3. 丙", "4. 丁"]
    assert [draft.number for draft in read(page(*within, top=0.1)).drafts] == ["1", "2", "3", "4"]


def test_letters_off_the_page_clear_or_clipped_are_not_read(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    content = (
        b"BT /F1 12 Tf 60 700 Td (1. What is the sum of two and two?) Tj ET "
        b"BT /F1 12 Tf 3 Tr 60 680 Td (invisible words) Tj ET "
        b"BT /F1 12 Tf 0 Tr 700 660 Td (words off the page) Tj ET "
        b"q 0 0 10 10 re W n BT /F1 12 Tf 60 640 Td (clipped words) Tj ET Q "
        b"BT /F1 12 Tf 60 620 Td (covered words) Tj ET 1 1 1 rg 50 610 200 30 re f 0 0 0 rg "
        b"BT /F1 12 Tf 60 590 Td (2. What is the sum of four and four?) Tj ET"
    )
    file = tmp_path / "hidden.pdf"
    file.write_bytes(plain_pdf(1, content))
    paper = paper_of(file)
    assert [draft.question for draft in paper.drafts] == [
        "What is the sum of two and two?",
        "What is the sum of four and four?",
    ]
    assert any("not printed" in note for note in paper.notes)


@pytest.mark.parametrize("packed", [False, True])
def test_a_code_that_the_file_does_not_name_is_no_letter(tmp_path: Path, packed: bool) -> None:
    pytest.importorskip("pypdfium2")
    names = zlib.compress(b"1 beginbfchar <21><0078> endbfchar 1 beginbfrange <28><29><0028> endbfrange")
    font = b"<</Type/Font/Subtype/TrueType/BaseFont/ABCDEF+Sums/FirstChar 33/FontDescriptor 7 0 R/ToUnicode 5 0 R"
    font += b"/LastChar 41/Widths[500 600.7 0 0 0 0 0 300 300]>>"
    sheet = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 3 0 R/Resources<</Font<</F1 6 0 R>>>>>>"
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count 1/Kids[4 0 R]>>"]
    objects += [stream(b'BT /F1 12 Tf 60 700 Td (!\\("!\\)) Tj ET'), sheet, stream(names, b"/Filter/FlateDecode")]
    objects += [font, b"<</Type/FontDescriptor/FontName/ABCDEF+Sums/Flags 4/FontBBox[0 -200 900 800]>>"]
    file = tmp_path / "running.pdf"
    file.write_bytes(raw_pdf(objects))
    [page] = extract_pages(file, language=None, how="text", reader=None)
    [line] = page.blocks[0].lines
    assert line.unread and line.text == "x\ufffc x)"
    if packed:  # the font in a stream of objects
        objects[5] = stream(zlib.compress(b"6 0 " + font), b"/Type/ObjStm/N 1/First 4/Filter/FlateDecode")
        file.write_bytes(raw_pdf(objects))
    assert ("Sums", '"', 600) in unnamed_codes(file)
    file.write_bytes(file.read_bytes().replace(names, names[:9]).replace(b"FirstChar 33", b"FirstChar " + b"9" * 5000))
    assert not unnamed_codes(file)


@pytest.mark.parametrize(
    ("names", "unnamed"),
    [
        (b"1 beginbfrange <41><42>[<0061>\n<0062>] <44> <44> <0064> endbfrange", "C"),
        (b"3 beginbfchar <41> <> < 42> <0062> <44><0064> endbfchar", "C"),
        (b"beginbfchar" * 2900 + b"endbfchar", "ABCD"),
        (b"beginbfrange" + b"[" * 30_000 + b"endbfrange", "ABCD"),
        (b"beginbfchar" * 9000, ""),  # longer than any map of 256 codes
    ],
)
def test_codes_that_a_map_names(tmp_path: Path, names: bytes, unnamed: str) -> None:
    font = b"<</Type/Font/Subtype/TrueType/BaseFont/ABCDEF+Sums/FirstChar 65/ToUnicode 2 0 R/Widths[500 600 700 800]>>"
    (tmp_path / "p.pdf").write_bytes(raw_pdf([font, stream(zlib.compress(names), b"/Filter/FlateDecode")]))
    assert "".join(sorted(code for _, code, _ in unnamed_codes(tmp_path / "p.pdf"))) == unnamed
    encoded = font.replace(b"ToUnicode 2 0 R", b"Encoding/WinAnsiEncoding").replace(b"800", b"801")
    (tmp_path / "p.pdf").write_bytes((tmp_path / "p.pdf").read_bytes() + encoded)
    assert {code for _, code, _ in unnamed_codes(tmp_path / "p.pdf")} == {*unnamed} & {"D"}


@pytest.mark.parametrize(("shown", "letter"), [(b"!", "𝑜"), (b"!!#", "표")])
def test_letters_cut_to_16_bits_are_of_formulas_unless_the_page_is_korean(
    tmp_path: Path, shown: bytes, letter: str
) -> None:
    pdfium = pytest.importorskip("pypdfium2")
    font = b"<</Type/Font/Subtype/TrueType/BaseFont/STIXGeneral/FirstChar 33/ToUnicode 5 0 R/Widths[500 500 500]>>"
    sheet = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 3 0 R/Resources<</Font<</F1 6 0 R>>>>>>"
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count 1/Kids[4 0 R]>>"]
    objects += [stream(b"BT /F1 12 Tf 60 700 Td (" + shown + b") Tj ET"), sheet]
    objects += [stream(b"2 beginbfchar <21><d45c> <23><ac00> endbfchar"), font]
    (tmp_path / "p.pdf").write_bytes(raw_pdf(objects))
    assert read_glyphs(pdfium.PdfDocument(tmp_path / "p.pdf")[0]).glyphs[0].text == letter


@pytest.mark.parametrize(
    "failure", ["raise ImportError('libGL.so.1: cannot open')", "raise AttributeError('_ARRAY_API')", ""]
)
def test_an_opencv_that_does_not_load_is_named(tmp_path: Path, failure: str) -> None:
    pytest.importorskip("pypdfium2")
    (tmp_path / "cv2").mkdir()
    (tmp_path / "cv2" / "__init__.py").write_text(failure)
    code = "from livek12.dataset_builders.ingest import scan; scan.ready()"
    places = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": places},
        check=False,
    )
    assert done.stderr.strip().splitlines()[-1].startswith("ImportError"), done.stderr


def test_a_paper_in_a_language_without_rules_is_refused_or_doubted_with_the_reason() -> None:
    croatian = [
        f"Zadatak {n} ({n} bod). Svaka osoba ima ime i prezime, a student je osoba koja studira" for n in (1, 2)
    ]
    reason = "language without rules here (Latin letters, not English)"
    paper = read(page(*croatian * 5))
    assert any(reason in line for line in paper.errors)
    assert all(any(reason in doubt.text for doubt in draft.doubts) for draft in paper.drafts)
    with pytest.raises(UserError, match=r"script without rules here \(cyrillic\)"):
        read(page(*["Задача прва. Секој ученик има име и презиме, а учител предава предмет"] * 5))


def test_every_refusal_of_pages_says_how_pictures_are_read() -> None:
    for pages in (page(), page("Dear Sir,", "thank you.")):
        with pytest.raises(UserError, match="--how ocr"):
            read(pages)


def test_heads_with_a_sign_before_the_number() -> None:
    lines = ["Question # 1: Name two techniques. [4 marks]", "1) Manual tunnels", "2) packing", "Both use IPv6."]
    lines += ["Question 2: What is a subnet? [3 marks]", "Question # 3: Draw the network. [3 marks]"]
    drafts = by_number(read(page(*lines)))
    assert list(drafts) == ["1", "2", "3"] and "Manual tunnels" in drafts["1"].question


def test_exercises_are_told_from_numbers_in_them() -> None:
    lines = ["Exercise 1: Name two techniques.", "1. Manual tunnels.", "2. packing."]
    drafts = by_number(read(page(*lines, "Exercise 2: What is a subnet?", "3. It has hosts.", "Exercise 3: Draw it.")))
    assert list(drafts) == ["1", "2", "3"] and "Manual tunnels" in drafts["1"].question


def test_a_key_with_lists_in_its_answers_is_read_by_its_heads() -> None:
    paper = page("1. What is a type? (13 points)", "2. What is a cast? (10 points)", "3. What is a closure? (4 points)")
    key = page(
        "Problem #1: 13 points",
        "A set of values, with operations that are defined for all of them.",
        "Problem #2: 10 points",
        "A reading of the same bits as another type; these are not casts:",
        "1. The language is typed statically and the value is converted.",
        "2. The language is typed dynamically and nothing is converted.",
        "3. A coercion takes place.",
        "Problem #3: 4 points",
        "A function with the variables of the place that made it.",
    )
    drafts = by_number(read(paper, key=AnswerKey(name="key.pdf", pages={"key.pdf": [key]})))
    assert [(draft.answer, draft.solution.split()[1]) for draft in drafts.values() if draft.solution] == [
        ([], "set"),
        ([], "reading"),
        ([], "function"),
    ]


def test_numbers_may_come_again_below_titles_with_a_colon_behind_their_number() -> None:
    lines = [
        "一：选择题（共2题）",
        "1. 下列数中最大的是",
        "2. 下列数中最小的是",
        "二、填空题（共2题）",
        "1. 和为____。",
    ]
    paper = read(page(*lines, "2. 差为____。"))
    assert [draft.elective for draft in paper.drafts] == ["选择题"] * 2 + ["填空题"] * 2 and not paper.errors


def test_an_annotation_over_a_question_is_a_note_and_no_doubt(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    text = b"BT /F1 12 Tf 72 700 Td (1. What is a type?) Tj 0 -30 Td (2. What is a cast?) Tj ET"
    font = b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    over = b"1 0 0 rg 0 0 m 90 5 l 90 12 l 40 2 l f"
    form = b"<</Type/XObject/Subtype/Form/BBox[0 0 90 12]/Length %d>>stream\n%s\nendstream" % (len(over), over)
    file = tmp_path / "annotated.pdf"
    file.write_bytes(
        raw_pdf(
            [
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Count 1/Kids[4 0 R]>>",
                stream(text),
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources %s/Contents 3 0 R/Annots[5 0 R]>>" % font,
                b"<</Type/Annot/Subtype/FreeText/Rect[120 690 210 702]/F 4/AP<</N 6 0 R>>>>",
                form,
            ]
        )
    )
    paper = paper_of(file)
    assert not any(doubted(draft, "text") for draft in paper.drafts)
    assert any("annotations" in note for note in paper.notes)


def test_a_number_in_brackets_goes_on_below_the_title_of_its_section(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.md"
    sheet.write_text(
        "# 数值分析\n\n## 判断题\n\n1. 提高精度可以改善病态问题\n\n2. 差商与节点的次序无关\n\n"
        "## 证明题(16)\n\n(3) 数值积分有中矩形公式\n\n   (1) 分析其代数精度\n\n## 计算题\n\n4. 用牛顿法求$x^2=2$的根\n",
        encoding="utf-8",
    )
    paper = read_paper(sheet, list(extract_pages(sheet)), "sheet", "0" * 64, Options(), None, AnswerKey(), None)[0]
    assert [(draft.number, draft.section) for draft in paper.drafts] == [
        ("1", "判断题"),
        ("2", "判断题"),
        ("3", "证明题(16)"),
        ("4", "计算题"),
    ]


@pytest.mark.parametrize(("root", "whole"), [(r"$v<\sqrt$gl", False), (r"$v<\sqrt{gl}$", True)])
def test_a_root_of_nothing_is_a_doubt(root: str, whole: bool) -> None:
    draft = read(page(f"1. The ball has {root}. Find v.", "2. Find the time.")).drafts[0]
    assert whole is not any("not whole" in doubt.text for doubt in draft.doubts)


def test_an_exponent_of_full_size_is_not_read_flat(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    lines = (b"(1. Find all n for which 2) Tj 5 Ts (n+1) Tj 0 Ts ( + 3 is even.) Tj", b"(2. Find the value of b.) Tj")
    shown = b" ".join(b"BT /F1 10 Tf 50 %d Td %s ET" % (700 - 20 * at, line) for at, line in enumerate(lines))
    (tmp_path / "p.pdf").write_bytes(plain_pdf(1, shown))
    first, second = paper_of(tmp_path / "p.pdf").drafts
    assert "2n+1" not in first.question and doubted(first, "text") and not doubted(second, "text")
