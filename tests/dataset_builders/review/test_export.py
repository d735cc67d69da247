"""The export: accepted questions only, as `build` reads them; crops show what their boxes enclose."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from livek12.core.errors import UserError
from livek12.core.questions import load_questions
from livek12.dataset_builders import build
from livek12.dataset_builders.ingest.drafts import Figure
from livek12.dataset_builders.review.export import export
from livek12.dataset_builders.review.page import Rendering, question
from livek12.dataset_builders.review.store import ReviewStore
from livek12.report.markup import render, render_answer
from tests.dataset_builders.review.folders import make_folder

WILD = "<script>alert(1)</script> $\\href{javascript:x}{x}$ \\input{/etc/passwd}"
RED = {"page": 1, "left": 0.5, "top": 180 / 560, "right": 0.75, "bottom": 260 / 560}
"""Where the pages of `make_folder` have a red disc."""


def test_only_what_was_accepted_is_exported_and_builds(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers", question=WILD)
    with ReviewStore(folder) as store:
        store.act(
            "ann", "edit", "alpha-q1", {"fields": {"points": "7", "answer": [" C "], "knowledge_points": "sums; 数列"}}
        )
        typed = [
            {"id": "1", "points": "3", "text": WILD, "partial": "1: half"},
            {"id": "2", "points": "4", "text": "x"},
        ]
        store.act("ann", "edit", "alpha-q1", {"fields": {"scheme": [typed]}})
        figure = {"name": "alpha-q2-1.png", "box": RED, "caption": ""}
        store.act("ann", "edit", "alpha-q2", {"figures": [figure]})
        for draft in ("alpha-q1", "alpha-q2"):
            store.act("ann", "accept", draft, {})
        store.act("bob", "accept", "alpha-q2", {})  # bob's has the figure where it was
        store.act("ann", "reject", "alpha-q3", {"text": "not a question"})
        store.act("bob", "settle", "alpha-q2", {"other": "ann", "verdict": "accepted"})
        done = export(store, tmp_path / "out")
    assert (done.accepted, done.rejected, done.open, done.conflict, done.cut) == (2, 1, 5, 0, 1)
    assert done.reasons == {"not a question": 1}
    assert done.papers == ["alpha"]
    rows = [json.loads(line) for line in (tmp_path / "out" / "questions.jsonl").read_text().splitlines()]
    assert [row["review"]["by"] for row in rows] == ["ann", "bob"]
    assert all(row["review"]["state"] == "accepted" and row["review"]["at"] for row in rows)
    (cut,) = (tmp_path / "out" / "images").iterdir()
    with Image.open(cut) as picture:
        assert picture.size == (100, 80)
        assert picture.convert("RGB").getpixel((50, 40)) == (200, 30, 40)
    assert sorted(file.name for file in (tmp_path / "out" / "pages").iterdir()) == ["alpha_1.png", "alpha_2.png"]
    build("livek12", str(tmp_path / "out"), tmp_path / "data")
    first, second = load_questions(tmp_path / "data", ["default"], "livek12")
    assert (first.question, first.points, first.answer) == (WILD, 7.0, ["C"])
    assert [(c.id, c.points, c.text, len(c.partial)) for c in first.scheme[0]] == [("1", 3, WILD, 1), ("2", 4, "x", 0)]
    assert (first.review.state, first.review.by, first.knowledge_points) == ("accepted", "ann", ["sums", "数列"])
    assert second.images[0].bytes == cut.read_bytes()


def test_pictures_of_a_solution_are_shown_exported_and_built_and_go_with_their_marks(tmp_path: Path) -> None:
    names = ["alpha-q1-solution-1.png", "alpha-q1-solution-2.png"]
    drawn = [Figure(name=name) for name in names]
    folder = make_folder(tmp_path / "papers", solution="As <image>.\nOr <image>.", solution_figures=drawn)
    for place, name in enumerate(names):
        Image.new("RGB", (20 + place, 20), (place, 80, 200)).save(folder / "images" / name)
    with ReviewStore(folder) as store:
        html = question(folder, store.board, "alpha-q1", "ann", Rendering(render, render_answer))["html"]["solution"]
        assert [html.count(name) for name in names] == [1, 1]
        store.act("ann", "edit", "alpha-q1", {"fields": {"solution": "Or <image>."}})
        store.act("ann", "accept", "alpha-q1", {})
        export(store, tmp_path / "out")
    build("livek12", str(tmp_path / "out"), tmp_path / "data")
    (built,) = load_questions(tmp_path / "data", ["default"], "livek12")
    assert built.solution == "Or <image>."
    assert [image.bytes for image in built.solution_images] == [(folder / "images" / names[1]).read_bytes()]


def test_an_export_replaces_an_export_and_nothing_else(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    with ReviewStore(folder) as store:
        with pytest.raises(UserError, match="nothing is accepted"):
            export(store, tmp_path / "out")
        store.act("ann", "accept", "alpha-q1", {})
        export(store, tmp_path / "out")
        store.act("ann", "accept", "alpha-q2", {})
        assert export(store, tmp_path / "out").accepted == 2
        mine = tmp_path / "mine"
        mine.mkdir()
        (mine / "diary.txt").write_text("dear")
        for wrong in (mine, folder, folder / "inside"):
            with pytest.raises(UserError, match="choose"):
                export(store, wrong)
        assert (mine / "diary.txt").read_text() == "dear"
        (tmp_path / "out" / "notes.txt").write_text("dear")  # of the user, in an export of ours
        with pytest.raises(UserError, match=r"holds something else \(notes\.txt\)"):
            export(store, tmp_path / "out")
        (tmp_path / "out" / "notes.txt").unlink()
        (tmp_path / "out" / "pages").rename(tmp_path / "pages")
        (tmp_path / "out" / "pages").symlink_to(folder / "pages")
        with pytest.raises(UserError, match="pages: is a link"):
            export(store, tmp_path / "out")
        (tmp_path / "out" / "pages").unlink()
        (tmp_path / "pages").rename(tmp_path / "out" / "pages")
        (folder / "pages" / "alpha_2.png").unlink()
        with pytest.raises(UserError, match="alpha_2"):
            export(store, tmp_path / "out")
    assert (tmp_path / "out" / "questions.jsonl").read_text().count("\n") == 2
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mine", "out", "papers"]
