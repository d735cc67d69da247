"""Questions by example on the review page: a paper is ingested again with the first lines that a reviewer showed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import IngestedPaper
from livek12.dataset_builders.ingest.folder import STATE, Folder
from livek12.dataset_builders.ingest.paper import Options, ingest
from livek12.dataset_builders.review.store import ReviewStore
from tests.dataset_builders.ingest.pdf_making import typeset
from tests.dataset_builders.review.folders import make_folder
from tests.dataset_builders.review.test_regions import place
from tests.scripts.command import livek12_here

pytest.importorskip("pypdfium2", reason="the ingest extra is not installed")
TOPICS = ("Words", "Music", "Rocks", "Rain", "Snow", "Stars")
OPTIONS = ("--language", "en", "--subject", "nature", "--release", "2611", "--licence", "CC0", "--how", "text")


def cards(path: Path) -> Path:
    """A paper of six cards without numbers, in whose tasks the rules see the questions."""
    tasks = "1. Read the text about it.\n\n2. Tell a friend what you think of it."
    return typeset("\n\n".join(f"*Card / {topic}*\n\n{tasks}\n\nSay how it is made." for topic in TOPICS), path)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("heads")
    (root / "pdfs").mkdir()
    (root / "pdfs" / "key.csv").write_text("number,answer\n1,nouns\n2,notes\n")
    command = ("ingest", cards(root / "pdfs" / "cards.pdf"), "--answers", root / "pdfs" / "key.csv", *OPTIONS)
    livek12_here(*command, "--out", root / "papers")
    livek12_here(*command, "--out", root / "shown", "--head", "Card / Words", "--head", "Card / Music")
    return root


@pytest.fixture
def store(ingested: Path, tmp_path: Path) -> Iterator[ReviewStore]:
    shutil.copytree(ingested, tmp_path, dirs_exist_ok=True)
    with ReviewStore(tmp_path / "papers", pdfs=tmp_path / "pdfs") as opened:
        yield opened


def record(store: ReviewStore) -> bytes:
    return (store.root / STATE / "cards.json").read_bytes()


def test_the_paper_is_the_one_that_the_command_makes_of_these_lines(store: ReviewStore) -> None:
    before = store.board.papers["cards"]
    assert (len(before.drafts), before.heads) != (6, [])
    (shown,) = Folder(store.root.parent / "shown").papers()
    boxes = [place(store.root.parent / "pdfs" / "cards.pdf", f"Card / {topic}", "Card") for topic in TOPICS]
    heads = [store.head("cards", {**box[0], "bottom": box[0]["top"] + 0.02}) for box in boxes[:2]]
    assert heads == ["Card / Words", "Card / Music"]
    assert store.find_like("cards", heads) == []
    assert store.board.papers["cards"] == shown
    assert [entry.draft.question.split()[0] for entry in store.board.live()] == [*TOPICS]
    assert [draft.answer for draft in shown.drafts[:2]] == [["nouns"], ["notes"]]
    assert "Say how" in (store.root / "report.html").read_text()
    assert livek12_here("ingest", store.root.parent / "pdfs" / "cards.pdf", "--out", store.root).code < 2
    assert store.refresh().papers["cards"].heads == []


def test_reviewed_questions_that_change_are_named_before(store: ReviewStore) -> None:
    first, second, *_ = [entry.draft.id for entry in store.board.live()]
    store.act("ann", "edit", first, {"fields": {"points": "3"}})
    store.act("ann", "reject", second, {"text": "no question"})
    before = record(store)
    heads = ["Card / Words", "Card / Music"]
    assert store.find_like("cards", heads) == [first, second]
    assert record(store) == before
    assert store.find_like("cards", heads, anyway=True) == []
    assert store.board.entry(first).copy("ann").form.points == "3"
    assert len(store.board.live()) == len(TOPICS)
    store.act("ann", "reject", second, {"text": "no"})
    assert store.find_like("cards", [*heads, "Card / Rain"]) == []  # they find the same
    assert store.board.entry(second).state() == "rejected"


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"options": None}, r"repeat livek12 ingest: another version"),
        ({"options": {"how": "magic"}}, r"another version"),
        ({"options": {"how": "vlm"}}, r"with --head: it was read with --how vlm"),
        ({"options": {"parser": "m@openai"}}, r"it was read with m@openai"),
        ({"sha256": "0" * 64}, r"cards\.pdf: is not given; start livek12 review with --pdfs"),
        ({}, r"--head 'Kapitel': no line of the paper begins so"),
    ],
)
def test_what_cannot_be_ingested_so_is_one_line_and_changes_nothing(
    store: ReviewStore, changed: dict[str, Any], problem: str
) -> None:
    paper = store.board.papers["cards"].model_copy(update=changed)
    (store.root / STATE / "cards.json").write_text(paper.model_dump_json())
    before = record(store)
    with pytest.raises(UserError, match=problem) as error:
        store.find_like("cards", ["Kapitel"])
    assert "\n" not in str(error.value)
    assert record(store) == before


def test_a_folder_that_another_command_writes_is_left_alone(store: ReviewStore) -> None:
    with Folder(store.root).alone(), pytest.raises(UserError, match="another command"):
        store.find_like("cards", ["Card / Words"])


def test_a_record_keeps_no_arguments_of_engines(store: ReviewStore) -> None:
    pdf = store.root.parent / "pdfs" / "cards.pdf"
    ingest([pdf], store.root, Options(parser="m@openai:api_key=secret", vlm="v:api_key=secret", template="english"))
    assert b"secret" not in record(store)
    with pytest.raises(UserError, match=r"it was read with m@openai$"):
        store.find_like("cards", [])


def test_records_of_earlier_versions_are_read(tmp_path: Path) -> None:
    root = make_folder(tmp_path / "papers", ("alpha",))
    file = root / STATE / "alpha.json"
    old = IngestedPaper.model_validate_json(file.read_bytes()).model_dump_json(exclude={"options"})
    file.write_text(old)
    with ReviewStore(root) as store:
        assert store.board.papers["alpha"].heads == []
        with pytest.raises(UserError, match="repeat livek12 ingest"):
            store.head("alpha", {"page": 1, "left": 0.1, "top": 0.1, "right": 0.2, "bottom": 0.2})
        with pytest.raises(UserError, match="not there"):
            store.head("beta", {})
