"""Figures cut anew come from the PDF where it is the one that was ingested, else from the page's picture."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from livek12.dataset_builders.ingest.folder import Folder
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.review.pictures import Originals
from tests.conftest import ROOT
from tests.scripts.command import livek12_here

PAPER = ROOT / "dataset_builders" / "sample" / "papers" / "kmmmu.pdf"


def size(data: bytes) -> tuple[int, int]:
    with Image.open(BytesIO(data)) as picture:
        return picture.size


def test_the_pdf_gives_finer_figures_if_it_is_the_same(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the ingest extra is not installed")
    root, pdfs, others = tmp_path / "papers", tmp_path / "pdfs", tmp_path / "others"
    assert livek12_here("ingest", PAPER, "--out", root).code == 0
    paper = Folder(root).papers()[0]
    box = Box(page=1, left=0.25, top=0.25, right=0.75, bottom=0.5)
    for folder, extra in ((pdfs, b""), (others, b"%")):
        folder.mkdir()
        (folder / "renamed.pdf").write_bytes(PAPER.read_bytes() + extra)
    coarse = size(Originals(root).cut(paper, box))
    fine = size(Originals(root, pdfs).cut(paper, box))
    assert fine[0] == pytest.approx(coarse[0] * 200 / 144, abs=3)
    assert fine[1] == pytest.approx(coarse[1] * 200 / 144, abs=3)
    assert size(Originals(root, others).cut(paper, box)) == coarse
    shutil.copyfile(root / "pages" / "kmmmu_2.png", root / "pages" / "kmmmu_1.png")  # as if it had been straightened
    assert size(Originals(root, pdfs).cut(paper, box)) == coarse
