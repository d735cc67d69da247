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
from livek12.dataset_builders.ingest.drafts import Draft, IngestedPaper
from livek12.dataset_builders.ingest.folder import Folder
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.ingest.region import read_region
from livek12.dataset_builders.review.board import Action, Board
from livek12.dataset_builders.review.store import ReviewStore
from tests.conftest import ROOT
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
        sources = dict.fromkeys(draft.page_numbers, PAPERS / paper.source)
        read = read_region(draft.boxes, sources, draft.id, draft.language, draft.section)
        assert read.number == draft.number
        assert "".join(read.question.split()) == "".join(draft.question.split())
        assert [option.text for option in read.options] == [option.text for option in draft.options]
        for figure, other in zip(read.figures, draft.figures, strict=True):
            assert figure.box and other.box
            assert figure.box.overlap(other.box) > 0.9


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_boxes_lie_on_the_page_as_it_is_shown(ingested: Path, tmp_path: Path, degrees: int) -> None:
    import pypdfium2

    paper, draft = next((paper, draft) for paper, draft in drafts(ingested) if paper.language == "en")
    turned = tmp_path / "turned.pdf"
    document = pypdfium2.PdfDocument(str(PAPERS / paper.source))
    for page in document:
        page.set_rotation(degrees)
    document.save(str(turned))
    document.close()

    def shown(x: float, y: float) -> tuple[float, float]:
        return {90: (1 - y, x), 180: (1 - x, 1 - y), 270: (y, 1 - x)}[degrees]

    boxes = []
    for box in draft.boxes:
        xs, ys = zip(shown(box.left, box.top), shown(box.right, box.bottom), strict=True)
        boxes.append(Box(page=box.page, left=min(xs), top=min(ys), right=max(xs), bottom=max(ys)))
    read = read_region(boxes, dict.fromkeys(draft.page_numbers, turned), draft.id, "en")
    words = {word for word in draft.question.split() if word.isalpha()}
    assert words <= set(read.question.split())


def test_a_missing_question_is_added_behind_another_and_taken_back(store: ReviewStore) -> None:
    (paper, first), (_, second) = drafts(store.root)[:2]
    store.act("ann", "reject", second.id, {"text": "as if it had been lost"})
    boxes = [vars(box) for box in second.boxes]
    action = store.act("ann", "add", first.id, {"boxes": boxes})
    assert action
    (added,) = action.drafts
    assert (added.number, added.question, added.options) == (second.number, second.question, second.options)
    assert store.board.order[paper.paper_id][:3] == [first.id, added.id, second.id]
    with ReviewStore(store.root, read_only=True) as again:
        assert again.board.order == store.board.order
    store.act("ann", "undo", "", {})
    assert added.id not in store.board.order[paper.paper_id]


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
