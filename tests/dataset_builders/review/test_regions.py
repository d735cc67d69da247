"""Boxes that a reviewer draws are read as one question: missing questions are added, wrong ones read again."""

from __future__ import annotations

import itertools
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper, KeyFile
from livek12.dataset_builders.ingest.folder import Folder
from livek12.dataset_builders.ingest.pages import pdf
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.ingest.region import read_region
from livek12.dataset_builders.review.board import Action, Board
from livek12.dataset_builders.review.store import ReviewStore
from tests.conftest import ROOT
from tests.dataset_builders.ingest.pdf_making import typeset
from tests.dataset_builders.review.folders import make_folder
from tests.scripts.command import livek12_here

pytest.importorskip("pypdfium2", reason="the ingest extra is not installed")
PAPERS = ROOT / "dataset_builders" / "sample" / "papers"


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("regions") / "papers"
    assert livek12_here("ingest", PAPERS / "sample_zh.pdf", PAPERS / "sample_en.pdf", "--out", root).code == 0
    return root


@pytest.fixture
def store(ingested: Path, tmp_path: Path) -> Iterator[ReviewStore]:
    shutil.copytree(ingested, tmp_path / "papers")
    with ReviewStore(tmp_path / "papers", pdfs=PAPERS) as opened:
        yield opened


def drafts(root: Path) -> list[tuple[IngestedPaper, Draft]]:
    return [(paper, draft) for paper in Folder(root).papers() for draft in paper.drafts]


def test_the_boxes_of_a_question_read_as_the_question(ingested: Path) -> None:
    for paper, draft in drafts(ingested)[::3]:
        read = read_region(PAPERS / paper.source, draft.boxes, draft.id, draft.language, draft.section)
        assert read.number == draft.number
        assert "".join(read.question.split()) == "".join(draft.question.split())
        assert [option.text for option in read.options] == [option.text for option in draft.options]
        for figure, other in zip(read.figures, draft.figures, strict=True):
            assert figure.box and other.box
            assert figure.box.overlap(other.box) > 0.9


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_a_box_lies_on_the_page_as_it_is_shown(degrees: int) -> None:
    from PIL import ImageChops, ImageStat

    box = Box(page=1, left=0.1, top=0.2, right=0.7, bottom=0.45)
    with pdf.opened(PAPERS / "kmmmu.pdf") as document:
        page = document[0]
        page.set_rotation(degrees)
        whole = pdf.drawn(page, 72)
        undo = pdf.crop_to(page, box)
        part = pdf.drawn(page, 72)
        undo()
        assert pdf.drawn(page, 72).size == whole.size
    sides = (box.left * whole.width, box.top * whole.height, box.right * whole.width, box.bottom * whole.height)
    cut = whole.crop(tuple(map(round, sides))).resize(part.size)
    assert ImageStat.Stat(ImageChops.difference(cut, part).convert("L")).mean[0] < 12
    assert ImageStat.Stat(ImageChops.invert(part).convert("L")).mean[0] > 1  # there is print on it


def test_a_page_that_was_turned_is_turned_for_its_boxes(tmp_path: Path) -> None:
    import pypdfium2

    turned = tmp_path / "turned.pdf"
    document = pypdfium2.PdfDocument(str(PAPERS / "kmmmu.pdf"))
    for page in document:
        page.set_rotation(90)
    document.save(str(turned))
    document.close()
    assert livek12_here("ingest", turned, "--out", tmp_path / "papers").code == 0
    _, draft = drafts(tmp_path / "papers")[0]
    assert len("".join(draft.question.split())) > 10
    read = read_region(turned, draft.boxes, draft.id, draft.language)
    assert (read.number, read.question.split()) == (draft.number, draft.question.split())


def test_a_missing_question_is_added_behind_another_and_taken_back(store: ReviewStore) -> None:
    (paper, first), (_, second) = drafts(store.root)[:2]
    store.act("ann", "reject", second.id, {"text": "as if it had been lost"})
    boxes = [vars(box) for box in second.boxes]
    action = store.act("ann", "add", store.board.order[paper.paper_id][-1], {"boxes": boxes})
    assert action and action.draft == first.id
    (added,) = action.drafts
    assert (added.number, added.question, added.options) == (second.number, second.question, second.options)
    assert store.board.order[paper.paper_id][:3] == [first.id, added.id, second.id]
    with ReviewStore(store.root, read_only=True) as again:
        assert again.board.order == store.board.order
    store.act("ann", "undo", "", {})
    assert added.id not in store.board.order[paper.paper_id]


@pytest.mark.parametrize(
    ("left", "top", "page", "before"),
    [(0.55, 0.1, 1, 4), (0.1, 0.2, 1, 1), (0.1, 0.01, 1, 0), (0.55, 0.8, 1, 6), (0.1, 0.01, 2, 6)],
)
def test_an_added_question_is_put_where_it_is_printed(
    tmp_path: Path, left: float, top: float, page: int, before: int
) -> None:
    """Six questions in two columns."""
    places = [(x, y) for x in (0.1, 0.55) for y in (0.05, 0.3, 0.55)]
    with ReviewStore(make_folder(tmp_path / "papers", ("alpha",), 6)) as store:
        for number, (x, y) in enumerate(places, 1):
            box = Box(page=1, left=x, top=y, right=x + 0.35, bottom=y + 0.2)
            store.act("ann", "edit", f"alpha-q{number}", {"boxes": [vars(box)]})
        drawn = Box(page=page, left=left - 0.02, top=top, right=left + 0.3, bottom=top + 0.1)
        assert store._last_before("alpha", drawn, "ann") == (f"alpha-q{before}" if before else "")


def test_a_question_is_read_again_from_its_boxes_and_keeps_what_they_do_not_hold(store: ReviewStore) -> None:
    _, draft = drafts(store.root)[0]
    store.act("ann", "edit", draft.id, {"fields": {"question": "garbled", "answer": ["C"], "options": []}})
    store.act("ann", "read", draft.id, {})
    form = store.board.entry(draft.id).copy("ann").form
    assert (form.question, form.options, form.answer) == (draft.question, draft.options, ["C"])
    store.act("ann", "undo", "", {})
    assert store.board.entry(draft.id).copy("ann").form.question == "garbled"


def test_what_cannot_be_read_says_why(store: ReviewStore, tmp_path: Path) -> None:
    _, draft = drafts(store.root)[0]
    empty = [vars(replace(draft.boxes[0], left=0.001, right=0.004, top=0.001, bottom=0.002))]
    action = store.act("ann", "add", draft.id, {"boxes": empty})
    assert action
    assert action.drafts[0].question == ""
    with pytest.raises(UserError, match="within a page"):
        store.act("ann", "add", draft.id, {"boxes": [{**empty[0], "page": 99}]})
    with pytest.raises(UserError, match="draw a box"):
        store.act("ann", "add", draft.id, {})
    folder = make_folder(tmp_path / "without")
    with ReviewStore(folder) as other, pytest.raises(UserError, match="--pdfs"):
        other.act("ann", "read", "alpha-q1", {})


def test_additions_hold_whatever_became_of_their_neighbour(tmp_path: Path) -> None:
    root = make_folder(tmp_path / "papers", ("alpha",), 3)
    papers = Folder(root).papers()
    base = papers[0].drafts[0]
    merged = [base.model_copy(update={"id": "alpha-q1"})]
    actions = [
        Action(id="a", order=1, by="ann", at="", kind="merge", draft="alpha-q1", drafts=merged,
               replaces=["alpha-q1", "alpha-q2"]),
        *(
            Action(id=f"b{n}", order=2 + n, by=by, at="", kind="add", draft=near, paper="alpha",
                   drafts=[base.model_copy(update={"id": f"alpha-q1-s{n}"})])
            for n, (by, near) in enumerate(itertools.product(("ann", "bob"), ("alpha-q1", "alpha-q2")), 2)
        ),
    ]  # fmt: skip
    boards = [Board(papers, random.Random(seed).sample(actions, len(actions))) for seed in range(5)]
    assert all(board.order == boards[0].order for board in boards)
    assert len(boards[0].order["alpha"]) == 2 + 4


BLANK = "#box(width: 3em, stroke: (bottom: 1pt))"
KEYED = {
    "choice": ("1. Which number is prime? \\\n A. 4 #h(2em) B. 5 #h(2em) C. 6 #h(2em) D. 8", "1. B"),
    "blanks": (f"2. The sum is {BLANK} and the product {BLANK}.", "(1) 213H #h(2em) (2) MOV AL, AH"),
    "words": ("3. Why does ice float? Explain.", "It is less dense. \\\n Its lattice is open."),
}  # fmt: skip


def place(pdf: Path, first: str, last: str) -> list[dict[str, float]]:
    """The box from one text of the first page to another, over its width."""
    import pypdfium2

    document = pypdfium2.PdfDocument(str(pdf))
    page = document[0]
    layer = page.get_textpage()
    edges = [layer.get_charbox(layer.search(text).get_next()[0]) for text in (first, last)]
    height = page.get_height()
    top, bottom = 1 - (edges[0][3] + 4) / height, 1 - (edges[1][1] - 5) / height
    document.close()
    return [{"page": 1, "left": 0.02, "top": top, "right": 0.98, "bottom": bottom}]


def test_an_answer_is_read_from_a_box_on_the_key(tmp_path: Path) -> None:
    pdfs = tmp_path / "pdfs"
    pdfs.mkdir()
    paper = typeset("\n\n".join(question for question, _ in KEYED.values()), pdfs / "paper.pdf")
    key = typeset("\n\n".join(["1. A", *(answer for _, answer in KEYED.values())]), pdfs / "key.pdf")
    root = tmp_path / "papers"
    assert livek12_here("ingest", paper, "--answers", key, "--out", root).code == 0
    (file,) = Folder(root).papers()[0].keys
    assert (file.name, file.pages) == ("key.pdf", 1)
    boxes = {"1": place(key, "1. B", "1. B"), "2": place(key, "(1)", "MOV"), "3": place(key, "It is", "Its")}
    with ReviewStore(root, pdfs=pdfs) as store:
        for entry in store.board.live():
            store.act("ann", "key", entry.draft.id, {"boxes": boxes[entry.draft.number], "sha256": file.sha256})
        forms = {entry.draft.number: entry.copy("ann").form for entry in store.board.live()}
        assert forms["1"].answer == ["B"]
        assert forms["2"].answer == ["213H", "MOV AL, AH"]
        assert (forms["3"].answer, forms["3"].solution) == ([], "It is less dense.\nIts lattice is open.")
        more = {"boxes": boxes["1"], "sha256": file.sha256, "more": True}
        store.act("ann", "key", store.board.live()[2].draft.id, more)
        assert store.board.live()[2].copy("ann").form.solution.endswith("open.\n1. B")
        with pytest.raises(UserError, match="within a page"):
            store.act("ann", "key", store.board.live()[0].draft.id, {**more, "boxes": [{**boxes["1"][0], "page": 2}]})
    with ReviewStore(root) as store, pytest.raises(UserError, match=r"key\.pdf: is not given"):
        store.act("ann", "key", store.board.live()[0].draft.id, {"boxes": boxes["1"], "sha256": file.sha256})


def test_a_folder_of_others_names_no_file_outside(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="pattern"):
        KeyFile(name="key.pdf", sha256="../../secret", pages=1)
