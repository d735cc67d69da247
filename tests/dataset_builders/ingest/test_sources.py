"""Papers in the format they were written in: what is read of them, and what is refused."""

from __future__ import annotations

import base64
import io
import time
import tracemalloc
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import IngestedPaper
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.folder import Folder
from livek12.dataset_builders.ingest.paper import Options, ingest
from livek12.dataset_builders.ingest.sources import files_of, read
from livek12.dataset_builders.ingest.sources.writer import Paragraph, Writer

_SPACES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
    "r": "http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
    "o": "urn:schemas-microsoft-com:office:office",
    "v": "urn:schemas-microsoft-com:vml",
}
_NAMES = " ".join(f'xmlns:{prefix}="{space}"' for prefix, space in _SPACES.items())
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_NUMBERED = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
_NUMBERING = (
    f'<w:numbering {_NAMES}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
    '<w:numFmt w:val="decimal"/><w:lvlText w:val="%1．"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
)


def png(colour: str = "red") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(buffer, "PNG")
    return buffer.getvalue()


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def para(*runs: str, properties: str = "") -> str:
    return f"<w:p>{properties}{''.join(piece if piece.startswith('<') else run(piece) for piece in runs)}</w:p>"


def docx(path: Path, *body: str, parts: dict[str, bytes | str] | None = None) -> Path:
    """A Word document with these paragraphs and parts."""
    relations = (
        "".join(f'<Relationship Id="{name}" Type="image" Target="media/{name}"/>' for name in ("a.png", "b.wmf"))
        + '<Relationship Id="far" Type="image" TargetMode="External" Target="file:///etc/passwd"/>'
    )
    held: dict[str, bytes | str] = {
        "word/document.xml": f"<w:document {_NAMES}><w:body>{''.join(body)}</w:body></w:document>",
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{relations}</Relationships>',
        "word/numbering.xml": _NUMBERING,
        "word/media/a.png": png(),
        "word/media/b.wmf": b"\xd7\xcd\xc6\x9a" + bytes(40),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (held | (parts or {})).items():
            archive.writestr(name, data)
    return path


def ingested(tmp_path: Path, *sources: Path) -> IngestedPaper:
    outcome = ingest(sources, tmp_path / "out", Options())
    assert outcome.failed == []
    return outcome.papers[0]


def text_of(path: Path) -> str:
    return "\n".join(block.text for block in read(path).blocks)


def picture(name: str) -> str:
    return f'<w:r><w:drawing><a:blip r:embed="{name}"/></w:drawing></w:r>'


def equation(field: str) -> str:
    return "".join(
        f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' if kind else f"<w:r><w:instrText>{field}</w:instrText></w:r>"
        for kind in ("begin", "", "end")
    )


_OLE = (
    '<w:r><w:object><v:shape><v:imagedata r:id="b.wmf"/></v:shape>'
    '<o:OLEObject ProgID="Equation.DSMT4"/></w:object></w:r>'
)
_DELETED = "<w:del><w:r><w:delText>旧</w:delText></w:r></w:del>"
_OMML = "<m:oMath><m:f><m:num><m:r><m:t>π</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"


def omml(name: str, *parts: str) -> str:
    """A formula of Word: an element, and its parts by name and letters."""
    inner = "".join(
        f"<m:{part}><m:r><m:t>{text}</m:t></m:r></m:{part}>" for part, text in zip(parts[::2], parts[1::2], strict=True)
    )
    return f"<m:oMath><m:{name}>{inner}</m:{name}></m:oMath>"


def test_a_word_paper_becomes_questions_without_pages(tmp_path: Path) -> None:
    paper = ingested(
        tmp_path,
        docx(
            tmp_path / "paper.docx",
            para("一、选择题（每小题5分）"),
            para("若", _OMML, "为锐角，则（　　）", properties=_NUMBERED),
            para("A．1    B．2    C．3    D．4"),
            para("如图，", picture("a.png"), "的面积为", run("    ", '<w:u w:val="single"/>'), properties=_NUMBERED),
            para("已知", _OLE, "，求其值", run("删", "<w:vanish/>"), _DELETED, properties=_NUMBERED),
            "<w:tbl><w:tr><w:tc>" + para("x") + "</w:tc><w:tc>" + para("1") + "</w:tc></w:tr>"
            "<w:tr><w:tc>" + para("y") + "</w:tc><w:tc>" + para(_OMML) + "</w:tc></w:tr></w:tbl>",
        ),
    )  # fmt: skip
    first, second, third = paper.drafts
    assert (paper.pages, first.question, first.points) == (0, "若$\\frac{\\pi}{2}$为锐角，则（\u3000\u3000）", 5.0)
    assert [option.text for option in first.options] == ["1", "2", "3", "4"]
    assert (second.question, len(second.figures)) == ("如图，<image>的面积为____", 1)
    assert third.question == "已知□，求其值\n| x | 1 |\n|---|---|\n| y | $\\frac{\\pi}{2}$ |"
    assert any("were not read (□)" in doubt.text for doubt in third.doubts)
    assert not any(draft.boxes or draft.page_numbers for draft in paper.drafts)
    folder = Folder(tmp_path / "out").root
    assert (list((folder / "pages").iterdir()), len(list((folder / "images").iterdir()))) == ([], 1)


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        (run("H") + run("2", '<w:vertAlign w:val="subscript"/>') + run("O"), "$H_{2}$O"),
        (run("x") + run("2", '<w:vertAlign w:val="superscript"/>'), "$x^{2}$"),
        (omml("limUpp", "e", "→", "lim", "Δ"), "$\\overset{\\Delta}{\\to}$"),
        (omml("groupChr", "e", "x") + omml("acc", "e", "x"), "$\\underbrace{x}$$\\hat{x}$"),
        ("<w:r><w:noBreakHyphen/></w:r>", "-"),
        (equation(r"eq \f(1,2)") + equation(r"EQ \r(3,x)"), "$\\frac{1}{2}$$\\sqrt[3]{x}$"),
        (equation(r"eq \unknown(1)"), "□"),
        (equation("eq \\f(\uef00,2)"), "□"),
        (equation("eq (a)" + "".join(f"({chr(at)}{chr(at)})" for at in range(0xE100, 0xE200))), "□"),
        ('<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>', "α"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F04A"/></w:r>', "□"),
        (picture("far"), "□"),
        ("<w:r><w:drawing><w:chart/></w:drawing></w:r>", "□"),
    ],
)
def test_what_a_run_of_word_holds(tmp_path: Path, piece: str, text: str) -> None:
    assert text_of(docx(tmp_path / "paper.docx", para(piece))) == text


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"word/document.xml": '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'}, "document type"),
        ({"word/document.xml": "<a>" * 500 + "</a>" * 500}, "nested"),
        ({"word/document.xml": b"\0" * (64 << 20 | 1)}, "MiB"),
        ({"word/document.xml": "<a>"}, "damaged"),
        ({"word/document.xml": "<a/>"}, "no text"),
    ],
)
def test_hostile_word_documents_are_refused(tmp_path: Path, parts: dict[str, bytes | str], reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        read(docx(tmp_path / "paper.docx", parts=parts))


def test_no_more_of_a_part_is_unpacked_than_its_size_says(tmp_path: Path) -> None:
    """A part that says 1,000 bytes and has 256 MiB takes no memory."""
    file = docx(tmp_path / "paper.docx", parts={"word/styles.xml": bytes(256 << 20)})
    data = bytearray(file.read_bytes())
    sizes = data.rindex(b"PK\x01\x02", 0, data.rindex(b"word/styles.xml")) + 24
    data[sizes : sizes + 4] = (1000).to_bytes(4, "little")
    file.write_bytes(data)
    del data
    tracemalloc.start()
    with pytest.raises(UserError, match="damaged"):
        read(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def test_a_word_document_packed_otherwise_and_damaged_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "paper.docx", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("word/document.xml", "abcdefgh" * 1000)
    data = bytearray((tmp_path / "paper.docx").read_bytes())
    packed = data.index(b"word/document.xml") + len("word/document.xml") + 16
    data[packed : packed + 20] = b"\xff" * 20
    (tmp_path / "paper.docx").write_bytes(data)
    with pytest.raises(UserError, match="damaged"):
        read(tmp_path / "paper.docx")


def test_a_table_within_a_cell_leaves_its_row_whole(tmp_path: Path) -> None:
    rows = r"\begin{tabular}{ll}a & x \begin{tabular}{l}p\\q\\r\end{tabular} y\\b & z\end{tabular}"
    (tmp_path / "paper.tex").write_text(rf"\documentclass{{article}}\begin{{document}}{rows}\end{{document}}")
    assert [line.text for line in read(tmp_path / "paper.tex").blocks[0].lines] == ["a\tx p q r y", "b\tz"]


def test_a_picture_beside_the_number_of_a_cell_goes_with_it() -> None:
    writer, drawn = Writer(), Paragraph("1 ￼", unread=True, pictures=[png("red")])
    writer.table([[[drawn], [Paragraph("￼ a", pictures=[png("blue")]), Paragraph("b" * 99), Paragraph("c")]]])
    line = writer.blocks[0].lines[0]
    assert (line.text, line.pictures, line.unread) == ("1 ￼ ￼ a", [png("red"), png("blue")], True)


def test_a_source_has_no_pages_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--how ocr reads pages"):
        list(extract_pages(docx(tmp_path / "paper.docx"), how="ocr"))


def test_a_heading_of_word_numbers_and_shapes(tmp_path: Path) -> None:
    """A drawing with words in it stays a drawing; a display formula has a line of its own."""
    label, text = (f"<w:txbxContent>{para(words)}</w:txbxContent>" for words in ("标签", "框中有一段文字"))
    body = (
        para("前", f"<m:oMathPara>{_OMML}</m:oMathPara>", "后"),
        para(f"<w:r><w:pict><v:group><v:textbox>{label}</v:textbox></v:group></w:pict></w:r>"),
        para(f"<w:r><w:pict><v:shape><v:textbox>{text}</v:textbox></v:shape></w:pict></w:r>"),
    )
    assert text_of(docx(tmp_path / "paper.docx", *body)) == "前\n$\\frac{\\pi}{2}$\n后\n□\n框中有一段文字"


_TEX = r"""
\documentclass[addpoints]{exam}
\newcommand{\R}{\mathbb{R}} \newcommand{\pair}[2]{(#1,#2)}
\title{Mock exam 2024}
\begin{document}\maketitle
\begin{questions}
\question[5] Let $f\colon\R\to\R$ with $f(x)=x^2$. % \question hidden
  Which is right?
  \begin{choices}\choice $\pair{1}{2}$ \CorrectChoice $\frac12$ \choice 3\end{choices}
  \begin{solution}Since \(x>0\).\end{solution}
\question Fill in \fillin[seven] and \underline{\hspace{2cm}}.
  \begin{parts}\part[2] Show \[a=b.\] \part[3] \includegraphics{/etc/passwd}\end{parts}
\question \begin{tabular}{|c|c|}\hline $x$ & 1\\ \hline y & 2\\ \hline\end{tabular}
  \begin{verbatim}
def f():
    return 1
\end{verbatim}
  \input{/etc/passwd} \mystery
\end{questions}
\end{document}
"""


def test_the_class_exam(tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(_TEX)
    paper = ingested(tmp_path, tmp_path / "paper.tex")
    first, second, third = paper.drafts
    assert (paper.title, first.points, first.answer, first.solution) == ("Mock exam 2024", 5, ["B"], "Since $x>0$.")
    assert first.question == r"Let $f\colon\mathbb{R}\to\mathbb{R}$ with $f(x)=x^2$. Which is right?"
    assert [option.text for option in first.options] == ["$(1,2)$", r"$\frac12$", "3"]
    assert second.question == "Fill in ____ and ____.\n(a) [2 points] Show $a=b.$\n(b) [3 points] □"
    assert (second.answer, second.part_points) == (["seven"], [2.0, 3.0])
    assert third.question.startswith("| $x$ | 1 |\n|---|---|\n| y | 2 |\n```\ndef f():\n    return 1\n```\n□")
    assert any("were not read (□)" in doubt.text for doubt in third.doubts)


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        (r"\begin{question}[points=4] 设 $a$，则\paren[C]\begin{choices}\item 1\item 2\end{choices}\end{question}",
         ["1. （4分） 设 $a$，则（  ）", "A. 1", "B. 2", "【答案】C"]),
        (r"\begin{questions}\question [4] 解得\key{$1$}.\fourchoices{9}{8}{7}{6}\end{questions}",
         ["1. （4分） 解得____.", "A. 9", "B. 8", "C. 7", "D. 6", "【答案】$1$"]),
        (r"\begin{enumerate}\item One\begin{enumerate}[label=(\roman*)]\item Two\end{enumerate}\item[7)] 3",
         ["1. One", "(i) Two", "7) 3"]),
        (r"\section{选择题} H\textsubscript{2}O \ce{H2O} 5\% \iffalse 无\fi\textbf{粗} \emph{a~b} \'e ``q''",
         ["一、选择题", "$H_{2}$O $\\ce{H2O}$ 5% 粗 a b e\u0301 “q”"]),
        (r"\question \ding{192}$a$；\ding{193}$b$\pick\twoch{1}{2}{3}{4}",
         ["1. ①$a$；②$b$□", "A. 1", "B. 2", "C. 3", "D. 4"]),
        ("a\\footnote{b} c\\\\[1em]d\\vskip 1em e\\hrule\n{f}\\foosetup{a=b}", ["a (b) c", "d ef"]),
        ("x % y\n\\begin{lstlisting}\na % b\n\\end{lstlisting}", ["x", "```", "a % b", "```"]),
        (r"\newcommand{\two} [1] {#1#1}\question Why?"
         r"\begin{solution}\begin{enumerate}\item \two{a}\end{enumerate}\end{solution}",
         ["1. Why?", "【解析】(1) aa"]),
        ("\\vspace{1em}\n{\\bf Name:} {\\color{black}{a}}\\penalty=100 b", ["Name: a b"]),
        ("a\\newpage[b c", ["a", "[b c"]),
        (r"\question a \answer{x=3}\question b \fillin[y=2]\question c \fillin[width=2cm][5 cm][2in]",
         ["1. a ____", "【答案】x=3", "2. b ____", "【答案】y=2", "3. c ____", "【答案】5 cm"]),
        (r"\begin{questions}\question Is it?\choices[answer=B]{a}{b}{c}{d}\end{questions}",
         ["1. Is it?", "A. a", "B. b", "C. c", "D. d", "【答案】B"]),
        (r"\begin{alignat}{2} x &= 1 \\ y &= 2\end{alignat}",
         [r"$\begin{aligned} x &= 1 \\ y &= 2\end{aligned}$"]),
        (r"\begin{questions}\question a\setcounter{part}{5}\question b\setcounter{question}{6}\question c",
         ["1. a", "2. b", "7. c"]),
        (r"\let\ifc\iffalse\newif\ifb\begin{document}a\iffalse b\ifb c\else d\fi\else{}e\iffalse f\fi\fi{}g\iffalse h",
         ["aeg□h"]),
        (r"\def\key{k}\question a\ifx\key\undefined\else b\fi\question c\ifx\none\undefined d\else e\fi",
         ["1. a b", "2. cd e□"]),
        (r"\def\a{1}\def\b{1}\question x\ifx\a\b y\else z\fi\question c\ifx\a\undefined d\fi\ifx 1 2 e\fi",
         ["1. xy z□", "2. c1 2 e□"]),
        ("\\question Why?\\iffalse $a \\iff b$\\fi\\question \\verb|\\iffalse| or\n"
         "\\begin{verbatim}\n\\iffalse a \\fi\n\\end{verbatim}",
         ["1. Why?", "2. \\iffalse or", "```", "\\iffalse a \\fi", "```"]),
        (r"\newenvironment{choices}{\par}{\par}\question Pick \four[answer=B]{1}{$2}{3}{4}",
         ["1. Pick", "A. 1", "B. □$2$", "C. 3", "D. 4", "【答案】B"]),
    ],
)  # fmt: skip
def test_classes_and_lists_of_latex(tmp_path: Path, source: str, texts: list[str]) -> None:
    (tmp_path / "paper.tex").write_text(source)
    assert text_of(tmp_path / "paper.tex").split("\n") == texts


@pytest.mark.parametrize(
    "source",
    [r"\newcommand{\a}{\a\a}\begin{document}\a", r"\newcommand{\a}{\b\b}\newcommand{\b}{\a}\begin{document}$\a$",
     "\\newcommand{\\a}[1]{#1#1#1#1}\\begin{document}" + "\\a{" * 40 + "x" + "}" * 40, "{" * 100_000,
     r"\begin{a}" * 2_000, "$" * 99_999],
)  # fmt: skip
def test_latex_without_end_ends(tmp_path: Path, source: str) -> None:
    (tmp_path / "paper.tex").write_text(source)
    try:
        assert len(text_of(tmp_path / "paper.tex")) < 10_000_000
    except UserError as error:
        assert str(error).startswith(str(tmp_path))


_DATA = base64.b64encode(png()).decode()


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("<ol start=3><li>Why?<ol type=A><li>x<sup>2</sup><li>y</ol></ol>", ["3. Why?", "A. $x^{2}$", "B. y"]),
        ("<p>已知<math><mfrac><mi>a</mi><mn>2</mn></mfrac></math>，<u>&nbsp;</u></p>", ["已知$\\frac{a}{2}$，____"]),
        (r"<p>\(x\) and \[y\]<script>alert(1)</script><script type='math/tex'>z_1</script>", ["$x$ and $y$$z_1$"]),
        ("<math><semantics><mi>q</mi><annotation encoding='application/x-tex'>\\dot q</annotation></semantics></math>",
         ["$\\dot q$"]),
        (f"<p>a<img src='data:image/png;base64,{_DATA}'>b<img src='http://127.0.0.1/x.png'>", ["a\ufffcb□"]),
        ("<p>1<span style='display:none'>secret</span><style>p{}</style>2<svg><text>t</text></svg>", ["12□"]),
        ("<table><tr><th>a<th>b<tr><td colspan=2>1<td>2</table>", ["a\tb", "\t1\t2"]),
        ("<p>It costs $5 and $6 now", ["It costs $5 and $6 now"]),
        ("<p>Let <span class='math inline'>h^*</span> be $5 and <span class='math inline'>\\(x\\)</span>.",
         ["Let $h^*$ be $5 and $x$."]),
        ("<p>a<div class='accordion-collapse collapse'><p>The solution</div><p>b", ["a", "b"]),
        ("<table><tr><td>A．1<td>B．2<tr><td>C．3<td>D．4</table>", ["A．1    B．2", "C．3    D．4"]),
        ("<h2>Question 3</h2><ol><li>Why?</ol><h2>Notes</h2><ol><li>x</ol>",
         ["Question 3", "(1) Why?", "Notes", "1. x"]),
        ("<pre>if x:\n    y</pre>", ["```", "if x:", "    y", "```"]),
        ("<p>Which?<br><input type=radio name=q>one<br><input type=radio name=q>(B) two<p>Next",
         ["Which?", "A. one", "(B) two", "Next"]),
        ("<table><tr><th>1.<td>Why?</table><ol><li><p>x</p></ol>", ["1.    Why?", "1. x"]),
        (r"<p>Find $x:$ $\textbf{(A) } 1\qquad\textbf{(B)}\ \$2$", ["Find $x:$", r"(A) $1$    (B) $\$2$"]),
    ],
)  # fmt: skip
def test_web_pages(tmp_path: Path, source: str, texts: list[str]) -> None:
    (tmp_path / "paper.html").write_text(source)
    assert text_of(tmp_path / "paper.html").split("\n") == texts


@pytest.mark.parametrize(
    ("front", "titles"),
    [
        ("\n---\ntitle: |\n  A\n  test\nauthor: MATH 51\ndate: 2022-02-14\nfontsize: 12pt\n---\n",
         ["A test", "MATH 51", "2022-02-14"]),
        ("---\ntitle: [}\n...\n", ["title: [}", "..."]),
        ("---\ntitle: !!bool 0xf\nauthor: No\ndate: 10:30\n---\n", ["0xf", "No", "10:30"]),
        ("---\n\nMath\n\n---\n", ["Math"]),
        ("---\nNote well: why?\n---\n", ["Note well: why?"]),
        ("The set {.5}\n", ["The set {.5}"]),
        ("---\ntitle: [a, &b [c, c], &d [*b, *b], &e [*d, *d]]\nauthor: [Ann, Bo]\n---\n", ["a", "Ann, Bo"]),
        ("---\n- a\n---\n", ["a"]),
        ("---\nSchool: X\n\nClass: 3\n---\n", ["School: X", "Class: 3"]),
        ("---\nTitle: A\nClass: 3\n---\n", ["A"]),
        ("---\nCJKmainfont: Song\n---\n## A\n", ["A"]),
    ],
)  # fmt: skip
def test_front_matter_of_markdown(tmp_path: Path, front: str, titles: list[str]) -> None:
    (tmp_path / "paper.md").write_text(f"{front}\n## Part {{.unnumbered}}\n\n1. As in [@smith], why?\n")
    assert text_of(tmp_path / "paper.md").split("\n") == [*titles, "Part", "1. As in □, why?"]


def test_markdown(tmp_path: Path) -> None:
    lines = "# Quiz\n\n1. Is $a_1*b_2*c$ *even*, and is this\n   one sentence?\n\n   A. yes\n   B. no\n   C. $\\{1\\}$"
    (tmp_path / "paper.md").write_text(f"{lines}\n\n2. Next")
    first, second = ingested(tmp_path, tmp_path / "paper.md").drafts
    assert (first.question, second.question) == ("Is $a_1*b_2*c$ even, and is this one sentence?", "Next")
    assert [option.text for option in first.options] == ["yes", "no", "$\\{1\\}$"]
    (tmp_path / "raw.md").write_text("1. What is $\\sqrt{2}$?\n2. Why? \\includegraphics{a.png}\n")
    assert [block.lines[0].unread for block in read(tmp_path / "raw.md").blocks] == [False, True]


def test_the_colour_that_fills_brackets_is_that_of_the_answers(tmp_path: Path) -> None:
    def red(text: str) -> str:
        return run(text, '<w:color w:val="FF0000"/>')

    lines = [para(f"{number}. 单位是（", red(unit), "）") for number, unit in ((1, "米"), (2, "秒"), (3, "千克"))]
    choice = [
        para("4. 选哪个？"),
        para("A. 甲    ", red("B. 乙"), "    C. 丙"),
        para("5. 求证。"),
        para(red("证明：略")),
    ]
    text = text_of(docx(tmp_path / "paper.docx", *lines, *choice))
    assert text.startswith("1. 单位是（____）\n【答案】米\n2. 单位是（____）\n【答案】秒\n3.")
    assert text.endswith("4. 选哪个？\nA. 甲    B. 乙    C. 丙\n【答案】B\n5. 求证。\n【解析】证明：略")
    assert "秒" in text_of(docx(tmp_path / "plain.docx", *lines[:2])).split("\n")[1]


def test_options_in_a_listing_are_options(tmp_path: Path) -> None:
    question = "{}. Which of them is it?\n\n\t\tA. one\n\t\tB. two\n\t\tC. three\n\nAnswer: B\n\n"
    (tmp_path / "paper.md").write_text("".join(map(question.format, range(1, 5))))
    drafts = ingested(tmp_path, tmp_path / "paper.md").drafts
    assert [(draft.answer, len(draft.options)) for draft in drafts] == [(["B"], 3)] * 4


def test_headings_number_the_questions_and_not_the_lists_below_them(tmp_path: Path) -> None:
    texts = ("가장 적절한 것은?", "옳지 않은 것은?", "알맞은 것은?")
    asked = [
        f"## {17 + n}\n\n{text}\n\n1. 하나\n2. 둘\n3. 셋\n\n> answer: {n}\n> points: 2\n"
        for n, text in enumerate(texts, 1)
    ]
    (tmp_path / "paper.md").write_text("# 영어 영역\n\n" + "\n".join(asked))
    drafts = ingested(tmp_path, tmp_path / "paper.md").drafts
    assert [(draft.number, draft.question, draft.answer) for draft in drafts] == [
        ("18", texts[0], ["1"]), ("19", texts[1], ["2"]), ("20", texts[2], ["3"])
    ]  # fmt: skip
    assert {tuple(option.text for option in draft.options) for draft in drafts} == {("하나", "둘", "셋")}


def test_headings_of_parts_belong_to_their_question(tmp_path: Path) -> None:
    problems = [
        f"<h2>Problem {n}</h2><p>Let x be {n}.</p><h3>Problem {n}.1</h3><p>Find x.</p><h3>Problem {n}.2</h3><p>Why?</p>"
        for n in (1, 2, 3)
    ]
    (tmp_path / "paper.html").write_text("<h1>Midterm</h1>" + "".join(problems))
    drafts = ingested(tmp_path, tmp_path / "paper.html").drafts
    assert [draft.question for draft in drafts] == [
        f"Let x be {n}.\nProblem {n}.1\nFind x.\nProblem {n}.2\nWhy?" for n in (1, 2, 3)
    ]


def test_sections_with_headed_questions_keep_those_of_the_lists_before(tmp_path: Path) -> None:
    listed = "\n".join(f"{n}. 第{n}个选择是什么？\n   A. 甲\n   B. 乙\n" for n in range(1, 6))
    headed = "\n".join(f"### Problem {n}\n写一个算法，计算 `$` 的第 {n} 项。\n" for n in (1, 2))
    (tmp_path / "paper.md").write_text(f"# 试卷\n\n## 客观题\n\n{listed}\n## 主观题\n\n{headed}")
    key = "\n".join(f"{n}. {'AB'[n % 2]}" for n in range(1, 6))
    (tmp_path / "key.md").write_text(f"# 参考答案\n\n## 客观题\n{key}\n\n## 主观题\n略")
    outcome = ingest([tmp_path / "paper.md"], tmp_path / "out", Options(answers=[tmp_path / "key.md"]))
    drafts = outcome.papers[0].drafts
    assert [draft.number for draft in drafts] == ["1", "2", "3", "4", "5", "1", "2"]
    assert [draft.answer for draft in drafts] == [["B"], ["A"], ["B"], ["A"], ["B"], [], []]
    assert "`" not in drafts[5].question and "$ 的第 1 项" in drafts[5].question


def test_a_korean_page_without_a_declared_encoding(tmp_path: Path) -> None:
    (tmp_path / "paper.html").write_bytes("<p>1. 다음 중 옳은 것은?</p>".encode("cp949"))
    assert text_of(tmp_path / "paper.html") == "1. 다음 중 옳은 것은?"


def test_an_unclosed_bracket_behind_a_command_loses_no_text(tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(r"\begin{document}1. Is \foo[0, {1] in it? \foo[a {b]c}] Yes. {\foo[x} y] z")
    assert text_of(tmp_path / "paper.tex").split("Is ")[1] == "□[0, 1] in it? □ Yes. □[x y] z"


def test_a_box_that_begins_with_a_question_answers_that_question(tmp_path: Path) -> None:
    red = '<w:color w:val="FF0000"/>'
    inner = para("答案是（", run("丙", red), "），写在这里。")
    box = f"<w:r><w:pict><w:txbxContent>{inner}</w:txbxContent></w:pict></w:r>"
    bodies = [para(f"{number}. 是（", run(letter, red), "）。") for number, letter in ((1, "甲"), (2, "乙"), (4, "丁"))]
    path = docx(tmp_path / "boxed.docx", *bodies[:2], para("3. 看下框。", box), bodies[2])
    assert text_of(path).split("\n") == [
        "1. 是（____）。", "【答案】甲", "2. 是（____）。", "【答案】乙", "3. 看下框。", "答案是（____），写在这里。",
        "【答案】丙", "4. 是（____）。", "【答案】丁",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        ("tex", "$" + "~" * 60_000 + "(A)(B)$"),
        ("tex", r"\\[" * 300_000),
        ("tex", r"\ " * 40_000 + r"\centering" * 60_000),
        ("tex", "\\" + "answer" * 20_000),
        ("tex", "\\input" + " " * 90_000 + "x\\newtheorem" + " " * 90_000),
        ("tex", f"\\usepackage{{{'a,paper.tex,' * 80}}} " * 3_000),
        ("tex", "".join(f"\\input{{{'a/' * 100}{n}}}" for n in range(12_000))),
        ("tex", r"\newcommand{\a}[99999999]{x}\a"),
        ("tex", r"\newcounter{a}[b]" * 20_000 + r"\stepcounter{b}" * 20_000),
        ("tex", r"\newcounter{x}" + r"\addtocounter{x}{99999}" * 20_000 + r"\alph{x} " * 50),
        ("tex", r"\newif\iflong" + r"\iflong" * 60_000 + r"\else" * 60_000 + r"\fi" * 60_000),
        ("tex", r"\newtoggle" * 40_000 + r"\def\b{\a" + "_" * 90_000),
        ("md", "---\ntitle: a" + " " * 90_000 + "b\n---\nx"),
        (
            "md",
            "---\na0: &a0 {k: v}\n"
            + "".join(f"a{n + 1}: &a{n + 1} {{<<: [{f'*a{n},' * 9}]}}\n" for n in range(9))
            + "---\nx",
        ),
        ("tex", r"\newif\ifa" + r"\ifa " * 100_000 + r"\fi " * 100_000),
        (
            "tex",
            r"\newenvironment{question}{" + r"\bfseries " * 500 + "}{}" + r"\begin{question}x\end{question}" * 3_000,
        ),
        ("md", "---\n" * 60_000 + "# a {.b" * 20_000),
        ("html", "<a class=solution>" + "<a>" * 30_000 + "</b>" * 30_000),
    ],
)
def test_sources_are_read_in_linear_time(tmp_path: Path, suffix: str, source: str) -> None:
    (tmp_path / f"paper.{suffix}").write_text(source)
    begin = time.process_time()
    try:
        read(tmp_path / f"paper.{suffix}")
    except UserError as error:
        assert "split it" in str(error) or "as PDF" in str(error)
    assert time.process_time() - begin < 8


def test_latex_inputs_files_of_its_own_folder_alone(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "secret.tex").write_text("secret")
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "link.tex").symlink_to(far / "secret.tex")
    (folder / "parts").mkdir()
    (folder / "parts" / "two.tex").write_text("\n\n2. Is \\input{parts/two} \\ask{three}")
    (folder / "macros.tex").write_text(r"\newcommand{\ask}[1]{Is #1 even?}")
    (folder / "body.v2.tex").write_text("1. \\ask{two}\n\n\\input{body.v2}\\input{paper} See \\ref{x}.")
    inputs = r"\input{link} \input{../far/secret} \input{none} \include{parts/two.tex}"
    (folder / "paper.tex").write_text(
        rf"\input{{macros}}\begin{{document}}\include{{body.v2}} {inputs}\end{{document}}"
    )
    assert text_of(folder / "paper.tex").split("\n") == ["1. Is two even?", "□□ See □. □ □ □", "2. Is □ Is three even?"]


def test_latex_in_markdown_is_read_as_latex(tmp_path: Path) -> None:
    lines = [
        "---", "header-includes:", r"- \newcommand{\R}{\mathbb{R}}", "---",
        r"\newcommand{\yes}[1]{\framebox{\textbf{#1}}}", "", "::: {.exam}",
        r"#. Let $$f(x) = x \text{ for $x > 0$}$$ and", r"   $a =", r"   \R$, so \hfill \yes{Yes} \unknown{x}", "",
        r"   #. Why?", "", r"      \vfill", r"   #. How?", "", r"   \newpage", ":::",
        r"See C:\Users\[name], `\textbf{code}` and \$5.",
    ]  # fmt: skip
    (tmp_path / "paper.md").write_text("\n".join(lines))
    assert text_of(tmp_path / "paper.md").split("\n") == [
        r"1. Let $f(x) = x \text{ for }x > 0\text{}$ and", r"$a = \mathbb{R}$, so Yes x□", "(1) Why?", "(2) How?",
        r"See C:\Users[name], \textbf{code} and $5.",
    ]  # fmt: skip


def test_sections_and_lists_are_numbered_as_their_class_does(tmp_path: Path) -> None:
    items = r"\question[1] Do:\begin{enumerate}\item x\end{enumerate}"
    body = rf"\section{{Free Response}}Read.\begin{{questions}}{items}\end{{questions}}"
    (tmp_path / "exam.tex").write_text(rf"\documentclass{{exam}}\begin{{document}}{body}\end{{document}}")
    (tmp_path / "other.tex").write_text(
        r"\documentclass{BHCexam}\begin{document}\begin{questions}\qs 证\begin{parts}\part 甲\end{parts}\end{questions}"
    )
    assert text_of(tmp_path / "exam.tex").split("\n") == ["1 Free Response", "Read.", "1. [1 point] Do:", "(1) x"]
    assert text_of(tmp_path / "other.tex").split("\n") == ["1. 证", "(1) 甲"]


def test_a_key_within_markdown_is_said_and_names_that_no_file_has_are_gaps(tmp_path: Path) -> None:
    solved = "1. What is 2+2?\n\n\\begin{solution}\nIt is four.\n\\end{solution}\n\n2. Next \\fillin{Paris} town.\n"
    (tmp_path / "paper.md").write_text(solved)
    assert text_of(tmp_path / "paper.md").count("□") == 2
    (tmp_path / "loop.tex").symlink_to(tmp_path / "loop.tex")
    with pytest.raises(UserError, match=r"loop\.tex: cannot be read"):
        read(tmp_path / "loop.tex")
    assert files_of(tmp_path / "loop.tex") == [tmp_path / "loop.tex"]
    (tmp_path / "exam.tex").write_text(
        rf"\begin{{document}}1. Add. \input{{{'汉' * 95}}} \input{{loop}}\end{{document}}"
    )
    assert text_of(tmp_path / "exam.tex").startswith("1. Add.")


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        (r"\newtheorem{prob}{Problem}\begin{document}\begin{prob}Why?\end{prob}\begin{prob}[Hard]How?\end{prob}",
         ["Problem 1. Why?", "Problem 2 (Hard). How?"]),
        (r"\newtheorem*{hint}{Hint}\begin{document}\begin{hint}Look.\end{hint}", ["Hint. Look."]),
        (r"\newenvironment{ask}[1]{\textbf{Task (#1)} }{\par Done.}\begin{document}\begin{ask}{a}Why?\end{ask}",
         ["Task (a) Why?", "Done."]),
        (r"\newtcolorbox{qbox}[1][]{fonttitle=\bfseries, title=#1}\begin{document}"
         r"\begin{qbox}[Question 1]Why?\end{qbox}",
         ["Question 1", "Why?"]),
        (r"\newcounter{n}\newcommand{\ask}{\par\stepcounter{n}Problem \arabic{n}: }\begin{document}"
         r"\ask Why?\setcounter{n}{4}\ask How?", ["Problem 1: Why?", "Problem 5: How?"]),
        (r"\begin{enumerate}\setcounter{enumi}{4}\item Why?\end{enumerate}", ["5. Why?"]),
        (r"\newcounter{m}[section]\begin{document}\section*{A}\stepcounter{m}\them\section*{B}\them",
         ["A", "1", "B", "0"]),
        (r"\newcounter{marks}\begin{document}A \marks{What?} \themarks{} end.", ["A What? 0 end."]),
        (r"\newcounter{a}\newcounter{b}[a]\setcounter{b}{4}\setcounter{a}{2}\begin{document}\theb\alph{a}", ["4b"]),
        (r"\newtheorem{定理}{定理}\newtheorem{ex1}{Ex}\begin{document}\begin{定理}甲\end{定理}\begin{ex1}乙\end{ex1}",
         ["定理 1. 甲", "Ex 1. 乙"]),
        (r"\newenvironment{c}{d}\begin{document}1. Why?", ["1. Why?"]),
        (r"\newcounter{question}\newcommand{\q}{\stepcounter{question}Q\thequestion:}\begin{document}"
         r"\begin{enumerate}\item\q a\item\q b\end{enumerate}", ["1. Q1:a", "2. Q2:b"]),
        (r"\newtheorem{problem}{Problem}\begin{document}\begin{problem}Why?\begin{solution}So.\end{solution}"
         r"\end{problem}\begin{problem}How?\end{problem}", ["Problem 1. Why?", "【解析】So.", "Problem 2. How?"]),
        (r"\title{Algebra}\title{Analysis}\author{MAS241}\date{}\begin{document}Note.\maketitle 1. Why?",
         ["Note.", "Analysis", "MAS241", "1. Why?"]),
        (r"\title{Algebra}\author{Ann}\begin{document}1. Why?", ["Algebra", "1. Why?"]),
        (r"\newif\iflong\newif\ifsolutions\newtoggle{all}\toggletrue{all}\begin{document}\begin{questions}"
         r"\question \iflong Long\else Short\fi? \ifsolutions So.\else Room\fi \longtrue\iflong Yes\fi"
         r"\question \iftoggle{all}{All}{One}? \ifx a b Even\else Odd\fi\end{questions}",
         ["1. Short? Room Yes□", "【解析】So.", "2. All? a b Even Odd□"]),
        (r"\newif\ifshort\newcommand{\all}{\shorttrue}\newif\ifnosol\newboolean{answers}\newif\ifold"
         r"\ifx a b\oldtrue\else\oldfalse\fi\begin{document}\begin{questions}\question \ifshort One?\else All?\fi"
         r"\question \iftranslated Which?\else Welche?\fi \ifnosol Write.\else So.\fi"
         r"\question \ifthenelse{\not\boolean{answers}}{Room}{It is 5.} \ifold Two \else Three \fi"
         r"\iftrue Yes\else No\fi\ifanswers\question Why?\fi\end{questions}",
         ["1. One? All?□", "2. Which? Welche?□ Write.", "【解析】So.", "3. Room Two Three □Yes", "【解析】It is 5.",
          "4. Why?□"]),
        (r"\begin{problem}Compute 2.\end{problem}", ["1. Compute 2."]),
        (r"\newenvironment{question}{\par\textbf{Question:} }{\bigskip}\begin{document}\begin{question}Why?"
         r"\end{question}\begin{question}How?\end{question}", ["1. Why?", "2. How?"]),
        (r"\newcounter{n}\newcommand{\head}{\stepcounter{n}Task \then: }\newenvironment{problem}{\head}{}"
         r"\begin{document}\begin{problem}Why?\end{problem}", ["Task 1: Why?"]),
        (r"\begin{document}\NewDocumentCommand{\odd}{s m}{O #2} The \dataset{Iris}, \offset{3}.\tabcolsep{3}",
         ["The Iris, 3."]),
        (r"\newif\iflong\newcommand{\open}{\iflong}\begin{document}1. Why \open \verb|\iflong| it?",
         ["1. Why □\\iflong it?"]),
        (r"\NewDocumentCommand{\pts}{O{2} m}{(#1 points) #2}\NewDocumentCommand \iu { } {\mathrm{i}}"
         r"\NewDocumentCommand{\odd}{s m}{#2}\begin{document}\pts{Why?} \pts[3]{How?} \odd{Who?} $\iu$",
         ["(2 points) Why? (3 points) How? Who? $\\mathrm{i}$"]),
        (r"\begin{document}\chapter{Exam}\section{A}\chapter{Key}\section{B}\addcontentsline{toc}{section}{B}"
         r"\begin{tabular}{l}1\tabularnewline 2\end{tabular}", ["Exam", "1. A", "Key", "1. B", "1", "2"]),
        (r"\documentclass{exam}\begin{document}\begin{questions}\titledquestion{Force}[3] Why?\end{questions}",
         ["1. [3 points] Force", "Why?"]),
        (r"\begin{tasks}[label=\Alph*.](2)\task one\task two\end{tasks}", ["A. one", "B. two"]),
    ],
)  # fmt: skip
def test_heads_that_a_paper_defines(tmp_path: Path, source: str, texts: list[str]) -> None:
    (tmp_path / "paper.tex").write_text(source)
    assert text_of(tmp_path / "paper.tex").split("\n") == texts


def test_a_counter_that_is_set_to_another_is_noted(tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_text(
        r"\newcounter{a}\setcounter{a}{\value{page}}\setcounter{secnumdepth}{-\maxdimen}\begin{document}\thea"
    )
    assert read(tmp_path / "paper.tex").notes == ["the counter a was not set: its value is no number"]


def test_macros_of_a_class_are_taken_if_all_in_them_is_understood(tmp_path: Path) -> None:
    (tmp_path / "own.cls").write_text(
        r"\newcounter{n}\newcommand{\task}[1]{\par\stepcounter{n}\textbf{Problem \then. #1}}"
        r"\newcommand{\strange}[1]{\@ifnextchar#1}\newcommand{\question}{hidden}"
    )
    (tmp_path / "own.sty").write_text(
        r"\newcounter{prob}\newcommand{\prob}[1]{\strange{#1}}\newcommand{\R}{\mathbb{R}}"
        r"\newcommand{\name}{CLASS}\newcommand{\by}{by \name}"
    )
    paper = tmp_path / "paper.tex"
    paper.write_text(
        r"\documentclass[11pt]{own}\usepackage{none, own}\renewcommand{\name}{me}\begin{document}"
        r"\task{Why?} \strange{How?} \prob{Where?} \by, \name, $\R$ \question What?"
    )
    assert text_of(paper).split("\n") == ["Problem 1. Why? How? Where? by me, me, $\\mathbb{R}$", "1. What?"]
    assert {file.name for file in files_of(paper)} == {"own.cls", "own.sty", "paper.tex"}
    assert files_of(tmp_path / "none.tex") and files_of(tmp_path / "a.md") == [tmp_path / "a.md"]


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("---\ntitle: |\n  Quiz 6 \\\n  Part A\n---\n1. \\textbf{Why? and\n\n2. $x$",
         ["Quiz 6 Part A", "1. \\textbf{Why? and", "2. $x$"]),
        ("~~~\n\\frac{a}{b} $x$\n~~~", ["```", "\\frac{a}{b} $x$", "```"]),
        ("![[Pasted image.png]] Why?", ["□ Why?"]),
        ("1. Why?\n* `x`\n* y (*)\n\n2. How?\n- [ ] x\n- [x] y\n",
         ["1. Why?", "A. x", "B. y", "【答案】B", "2. How?", "A. x", "B. y", "【答案】B"]),
        ("1. Why?\n\n- [ ] A. x\n- [x] B. _y_\n", ["1. Why?", "A. x", "B. y", "【答案】B"]),
        ("- 1. Why?\n  - [x] x\n  - [ ] y\n- 2. How?\n", ["1. Why?", "[x] x", "[ ] y", "2. How?"]),
        ("- [ ] x\n  y\n- [x] z\n- [ ] w\n", ["[ ] x", "y", "[x] z", "[ ] w"]),
        ("- [x] x (*)\n- y (*)\n", ["A. x (*)", "B. y (*)", "【答案】A"]),
        ("See:\n\n- $x+y=1$ (*)\n- $x-y=2$\n", ["See:", "$x+y=1$ (*)", "$x-y=2$"]),
        ("```\na\n\n- [x] a\n- [ ] b\n```", ["```", "a", "", "- [x] a", "- [ ] b", "```"]),
        ("1. ```python\n   x\n   ```\n\n2. \\textbf{y}\n", ["1.", "```", "x", "```", "2. y"]),
        ("```x``` is code\n\n2. \\textbf{y}\n", ["x is code", "2. y"]),
    ],
)  # fmt: skip
def test_markdown_that_is_no_latex(tmp_path: Path, source: str, texts: list[str]) -> None:
    (tmp_path / "paper.md").write_text(source)
    assert text_of(tmp_path / "paper.md").split("\n") == texts


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ("<p>1. Why?<p class=solution>As.<p>2. How?<p>x", ["1. Why?", "【解析】As.", "2. How?", "x"]),
        ("<p>1. Why?<div class=solution>As <p>x", ["1. Why?", "【解析】As", "x"]),
        ("<ol><li>Why?<ol type=A><li>x<li class=solution>y<li>z</ol></ol>",
         ["1. Why?", "A. x", "B. y", "C. z", "【答案】B"]),
        ("<ol><li>Why?<ul><li>A. x<li>B. y</ul><div class=solution>B, as so.</div><li>How?</ol>",
         ["1. Why?", "A. x", "B. y", "【解析】B, as so.", "2. How?"]),
        ("<ol><li>Why?<div class=solution>As.</ol><p>2. How?", ["1. Why?", "【解析】As.", "2. How?"]),
        ("<p>1. P?<table><tr><td>2. Q?<ul><li>A. x<li class=solution>B. y</ul><td>z<tr><td>v<td>w</table>",
         ["1. P?", "2. Q?", "A. x", "B. y", "【答案】B", "z", "v w"]),
    ],
)  # fmt: skip
def test_solutions_of_a_web_page(tmp_path: Path, source: str, texts: list[str]) -> None:
    (tmp_path / "paper.html").write_text(source)
    assert text_of(tmp_path / "paper.html").split("\n") == texts


def test_a_solution_of_a_web_page_stays_whole(tmp_path: Path) -> None:
    solution = "<div class='solution'><p>Solution:<ol type=a><li>One <b>a</b><li>Two</ol><div>Three</div></div>"
    (tmp_path / "paper.html").write_text(f"<ol><li>Why?{solution}<li>How?</ol>")
    assert text_of(tmp_path / "paper.html").split("\n") == ["1. Why?", "【解析】a. One a", "b. Two", "Three", "2. How?"]


def test_an_option_that_is_marked_as_the_solution_is_the_key(tmp_path: Path) -> None:
    options = "<li>A) x</li><li><div class='solution'>B) <b>y</b></div></li><li>C) z</li>"
    (tmp_path / "paper.html").write_text(f"<p>1. Why?<ul>{options}</ul><p>2. How?")
    assert text_of(tmp_path / "paper.html").split("\n") == ["1. Why?", "A) x", "B) y", "C) z", "【答案】B", "2. How?"]


def test_a_western_code_page_is_no_chinese(tmp_path: Path) -> None:
    (tmp_path / "paper.tex").write_bytes(b"\\begin{document}a student\x92s work")
    assert text_of(tmp_path / "paper.tex") == "a student’s work"
    (tmp_path / "paper.tex").write_bytes("Le café. Où ? À côté, déjà vu, élève.".encode("cp1252"))
    assert text_of(tmp_path / "paper.tex") == "Le café. Où ? À côté, déjà vu, élève."
