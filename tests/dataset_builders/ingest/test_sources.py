"""Papers in the format they were written in: what is read of them, and what is refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import IngestedPaper
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.folder import Folder
from livek12.dataset_builders.ingest.paper import Options, ingest
from livek12.dataset_builders.ingest.sources import read

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
        (equation(r"eq \f(1,2)") + equation(r"EQ \r(3,x)"), "$\\frac{1}{2}$$\\sqrt[3]{x}$"),
        (equation(r"eq \unknown(1)"), "□"),
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


def test_a_source_has_no_pages_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--how ocr reads pages"):
        list(extract_pages(docx(tmp_path / "paper.docx"), how="ocr"))
