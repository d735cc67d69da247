"""MinerU's output, in both its layouts, becomes the same blocks; what leads out of its folder is refused."""

from __future__ import annotations

import io
import json
import os
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("pypdfium2")

from PIL import Image

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.models import mineru
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.paper import Options, ingest
from tests.dataset_builders.ingest.pdf_making import typeset


def picture() -> bytes:
    buffer = io.BytesIO()
    Image.new("L", (20, 10), 200).save(buffer, "PNG")
    return buffer.getvalue()


def span(text: str, *styles: str) -> dict[str, Any]:
    return {"type": "text", "content": text, "styles": list(styles)}


NEW = {
    "pages": [
        {
            "page_idx": 0,
            "blocks": [
                {"type": "header", "bbox": [0.1, 0.02, 0.9, 0.04], "content": [span("Mock exam of x<t")]},
                {
                    "type": "text",
                    "bbox": [0.1, 0.1, 0.9, 0.15],
                    "content": [span("1. Water is H"), span("2", "subscript"), span("O?")],
                },
                {"type": "equation", "bbox": [0.1, 0.2, 0.9, 0.25], "image_path": "images/eq.png", "content": ""},
                {"type": "equation", "bbox": [0.1, 0.26, 0.9, 0.3], "image_path": "images/eq.png", "content": "x^2=4"},
                {
                    "type": "image",
                    "bbox": [0.1, 0.3, 0.5, 0.5],
                    "content": [
                        {
                            "type": "image_body",
                            "bbox": [0.1, 0.3, 0.5, 0.48],
                            "image_path": "images/fig.png",
                            "content": "",
                        },
                        {"type": "image_caption", "content": [span("Figure 1")]},
                    ],
                },
                {
                    "type": "table",
                    "bbox": [0.1, 0.6, 0.9, 0.7],
                    "content": "<table><tr><td>a</td><td>b</td></tr></table>",
                },
            ],
        }
    ]
}
OLD = [
    {"type": "header", "text": "Mock exam of x<t", "page_idx": 0, "bbox": [100, 20, 900, 40]},
    {"type": "text", "text": "1. Water is H$_{2}$O?", "page_idx": 0, "bbox": [100, 100, 900, 150]},
    {"type": "equation", "img_path": "images/eq.png", "text": "", "page_idx": 0, "bbox": [100, 200, 900, 250]},
    {
        "type": "equation",
        "img_path": "images/eq.png",
        "text": "$$\nx^2=4\n$$",
        "page_idx": 0,
        "bbox": [100, 260, 900, 300],
    },
    {
        "type": "image",
        "img_path": "images/fig.png",
        "image_caption": ["Figure 1"],
        "page_idx": 0,
        "bbox": [100, 300, 500, 500],
    },
    {
        "type": "table",
        "table_body": "<table><tr><td>a</td><td>b</td></tr></table>",
        "page_idx": 0,
        "bbox": [100, 600, 900, 700],
    },
]


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    return typeset("1. Water is H#sub[2]O?", tmp_path / "paper.pdf")


def folder_of(tmp_path: Path, name: str, layout: object) -> Path:
    folder = tmp_path / "out"
    (folder / "images").mkdir(parents=True)
    for file in ("eq.png", "fig.png"):
        (folder / "images" / file).write_bytes(picture())
    (folder / name).write_text(json.dumps(layout))
    return folder


def zipped(folder: Path) -> Path:
    target = folder.with_suffix(".zip")
    with zipfile.ZipFile(target, "w") as archive:
        for file in folder.rglob("*"):
            if file.is_file():
                archive.write(file, file.relative_to(folder).as_posix())
    return target


def check(pages: list[PageBlocks]) -> None:
    (page,) = pages
    assert page.image
    assert [block.kind for block in page.blocks] == ["header", "text", "formula", "formula", "figure", "table"]
    header, text, unread, formula, figure, table = page.blocks
    assert header.text == "Mock exam of x<t"
    assert text.text == "1. Water is H$_{2}$O?"
    assert unread.lines[0].unread and unread.picture is not None
    assert formula.text == "$x^2=4$"
    assert figure.picture is not None and figure.picture == picture()
    assert figure.caption == "Figure 1"
    assert table.text == "a\tb"
    assert text.box.left == pytest.approx(0.1) and text.box.bottom == pytest.approx(0.15)
    assert all(block.origin == "mineru" for block in page.blocks)


@pytest.mark.parametrize(("name", "layout"), [("middle_json.json", NEW), ("paper_content_list.json", OLD)])
def test_both_layouts_as_folder_and_zip(tmp_path: Path, paper: Path, name: str, layout: object) -> None:
    folder = folder_of(tmp_path, name, layout)
    check(list(mineru.read(folder, paper)))
    check(list(mineru.read(zipped(folder), paper)))


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname", "images/../../secret.png"])
def test_pictures_outside_the_folder_are_not_read(tmp_path: Path, paper: Path, name: str) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    layout = [{"type": "image", "img_path": name, "page_idx": 0, "bbox": [0, 0, 500, 500], "image_caption": ["c"]}]
    (page,) = mineru.read(folder_of(tmp_path, "a_content_list.json", layout), paper)
    assert all(block.picture is None for block in page.blocks)


@pytest.mark.parametrize(
    "layout",
    ["not json", {"pages": 3}, {"something": []}, [3, 4], {"pages": [{"page_idx": "x"}]}, [{"page_idx": 1e400}]],
)
def test_damaged_output_is_one_line(tmp_path: Path, paper: Path, layout: object) -> None:
    folder = folder_of(tmp_path, "middle_json.json", layout)
    with pytest.raises(UserError, match=r"middle_json\.json"):
        list(mineru.read(folder, paper))


def test_an_archive_that_is_encrypted_says_so(tmp_path: Path, paper: Path) -> None:
    archive = zipped(folder_of(tmp_path, "middle_json.json", NEW))
    data = bytearray(archive.read_bytes())
    for signature, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(signature)
        while at >= 0:
            data[at + flags] |= 1
            at = data.find(signature, at + 4)
    archive.write_bytes(data)
    with pytest.raises(UserError, match=r"out\.zip: .*middle_json\.json in it is encrypted; unpack it"):
        list(mineru.read(archive, paper))


def test_a_picture_that_is_broken_in_the_archive_is_not_left_out(tmp_path: Path, paper: Path) -> None:
    archive = zipped(folder_of(tmp_path, "middle_json.json", NEW))
    data = bytearray(archive.read_bytes())
    at = data.find(b"IHDR", data.find(b"images/fig.png"))
    data[at + 8] ^= 0xFF
    archive.write_bytes(data)
    with pytest.raises(UserError, match=r"out\.zip: images/fig\.png in it is damaged \(Bad CRC"):
        list(mineru.read(archive, paper))


@given(cut=st.integers(0, 10_000), place=st.integers(0, 10_000), change=st.integers(1, 255), packed=st.booleans())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_broken_archive_is_one_line(tmp_path: Path, cut: int, place: int, change: int, packed: bool) -> None:
    archive = tmp_path / "made.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as made:
        made.writestr("out/middle_json.json", json.dumps(NEW))
        made.writestr("out/images/fig.png", picture())
    data = bytearray(archive.read_bytes())
    data[place % len(data)] ^= change
    archive.write_bytes(data[: len(data) - cut % len(data)] if cut % 3 == 0 else data)
    try:
        with closing(mineru._Output(archive)) as output:
            output.pages()
            output.bytes("out/images/fig.png", 1000)
    except UserError as error:
        assert "made.zip" in str(error) and "\n" not in str(error)


def test_nothing_there_is_one_line(tmp_path: Path, paper: Path) -> None:
    with pytest.raises(UserError, match="content_list"):
        list(mineru.read(tmp_path, paper))
    with pytest.raises(UserError, match="no such folder"):
        list(mineru.read(tmp_path / "nowhere", paper))


def test_without_mineru_the_way_out_is_named(paper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="pip install mineru"):
        list(extract_pages(paper, how="mineru"))


def test_a_paper_goes_through_the_program_to_questions(
    tmp_path: Path, paper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = zipped(folder_of(tmp_path, "middle_json.json", NEW))
    program = tmp_path / "bin" / "mineru-kit"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport shutil, sys\n"
        "assert sys.argv[1] == 'parse' and open(sys.argv[2], 'rb').read(5) == b'%PDF-'\n"
        f"shutil.copy({str(recorded)!r}, sys.argv[sys.argv.index('-o') + 1])\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    check(list(extract_pages(paper, how="mineru")))
    outcome = ingest([paper], tmp_path / "papers", Options(how="mineru"))
    assert not outcome.failed
    assert [draft.number for draft in outcome.papers[0].drafts] == ["1"]
    program.write_text(f"#!{sys.executable}\nimport sys; sys.exit('no model here')\n")
    with pytest.raises(UserError, match="MinerU failed: no model here"):
        list(extract_pages(paper, how="mineru"))
