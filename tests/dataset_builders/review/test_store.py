"""The store: any interleaving of reviewers, kills and torn lines gives one state; nothing stored is lost."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import IngestedPaper
from livek12.dataset_builders.ingest.folder import STATE
from livek12.dataset_builders.review.board import Board
from livek12.dataset_builders.review.page import agreements
from livek12.dataset_builders.review.store import ReviewStore
from tests.dataset_builders.review.folders import make_folder

IDS = ("alpha-q1", "alpha-q2", "alpha-q3", "alpha-q1-s2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "papers")


@pytest.fixture
def store(folder: Path) -> Iterator[ReviewStore]:
    with ReviewStore(folder) as opened:
        yield opened


def state(board: Board) -> Any:
    """All that can be seen of a board."""
    return [
        (
            entry.draft.model_dump(),
            entry.state(),
            {by: entry.copy(by).digest for by in ("ann", "bob")},
            {by: made.model_dump() for by, made in sorted(entry.decided().items())},
            [comment.model_dump() for comment in entry.comments],
        )
        for entry in board.live()
    ]


def replayed(store: ReviewStore) -> Board:
    papers = [IngestedPaper.model_validate_json(f.read_bytes()) for f in sorted((store.root / STATE).glob("*.json"))]
    actions = list(store.actions.values())
    random.Random(7).shuffle(actions)
    return Board(papers, actions)


steps = st.tuples(
    st.sampled_from(("ann", "bob")),
    st.sampled_from(
        ("edit", "edit", "boxes", "accept", "reject", "reopen", "comment", "split", "merge", "undo", "redo", "settle")
    ),
    st.sampled_from(IDS),
    st.integers(0, 5),
)


def do(store: ReviewStore, step: tuple[str, str, str, int]) -> None:
    by, kind, draft, n = step
    said: dict[str, Any] = {
        "edit": {"fields": {"question": f"text {n} here", "points": str(n)}, "group": f"g{n}"},
        "boxes": {"boxes": [{"page": 1, "left": 0.1, "top": 0.1, "right": 0.5 + n / 20, "bottom": 0.9}]},
        "reject": {"text": f"reason {n}"},
        "comment": {"text": f"comment {n}"},
        "split": {"option": None, "offset": 3 + n},
        "merge": {"with": "next" if n % 2 else "previous"},
        "settle": {"other": "bob", "verdict": "rejected"},
    }.get(kind, {})
    with contextlib.suppress(UserError):  # what makes no sense just now
        store.act(by, "edit" if kind == "boxes" else kind, draft, said)


@settings(max_examples=40)
@given(st.lists(steps, max_size=25), st.data())
def test_any_interleaving_is_one_state_and_survives_torn_tails(
    tmp_path_factory: pytest.TempPathFactory, done: list[tuple[str, str, str, int]], data: st.DataObject
) -> None:
    root = make_folder(tmp_path_factory.mktemp("any") / "papers", ("alpha",), 3)
    with ReviewStore(root) as one, ReviewStore(root) as two:
        for step in done:
            do(data.draw(st.sampled_from((one, two))), step)
        assert state(one.refresh()) == state(two.refresh())  # two servers on one folder agree
        assert state(one.board) == state(replayed(one))  # as does a replay of the actions in any order
        shown = state(one.board)
    for file in (root / STATE).glob("reviews-*.jsonl"):
        torn = data.draw(st.sampled_from((b"", b"{", b'{"id":"x","order":99,', b"\xff\xfe")))
        file.write_bytes(file.read_bytes() + torn)
    with ReviewStore(root) as again:
        assert state(again.board) == shown
        again.act("ann", "comment", again.board.live()[0].draft.id, {"text": "still works"})
    with ReviewStore(root, read_only=True) as last:
        assert len(last.actions) == len(again.actions)
        assert not last.problems


@settings(max_examples=40)
@given(st.lists(steps, max_size=12))
def test_undoing_everything_leaves_nothing(
    tmp_path_factory: pytest.TempPathFactory, done: list[tuple[str, str, str, int]]
) -> None:
    root = make_folder(tmp_path_factory.mktemp("undo") / "papers", ("alpha",), 3)
    with ReviewStore(root) as store:
        fresh, seen = state(store.board), 0
        for _, kind, draft, n in done:
            if kind not in ("undo", "redo"):
                do(store, ("ann", kind, draft, n))
        after, stored = state(store.board), len(store.actions)
        while True:
            try:
                store.act("ann", "undo", "", {})
            except UserError:
                break
            seen += 1
            assert seen <= stored
        assert state(store.board) == fresh
        for _ in range(seen):
            store.act("ann", "redo", "", {})
        assert state(store.board) == after


def test_cutting_the_journal_anywhere_leaves_what_stood_before(folder: Path, tmp_path: Path) -> None:
    with ReviewStore(folder) as store:
        for n in range(3):
            store.act("ann", "edit", "alpha-q1", {"fields": {"question": f"version {n}"}})
    text = (folder / STATE / "reviews-0.jsonl").read_bytes()
    ends = [i + 1 for i, byte in enumerate(text) if byte == 10]
    for cut in (0, 5, *ends, *(end - 1 for end in ends), *(end - 40 for end in ends)):
        copy = tmp_path / f"cut{cut}"
        shutil.copytree(folder, copy)
        (copy / STATE / "reviews-0.jsonl").write_bytes(text[:cut])
        with ReviewStore(copy) as store:
            whole = sum(end <= cut + (text[cut : cut + 1] == b"\n") for end in ends)  # a whole line lacks but its end
            expected = f"version {whole - 1}" if whole else "What is $1+1$?"
            assert store.board.entry("alpha-q1").copy("ann").form.question == expected


def test_each_reviewer_has_a_copy_and_two_that_differ_are_in_conflict_until_settled(store: ReviewStore) -> None:
    for by in ("ann", "bob"):
        store.act(by, "accept", "alpha-q1", {})
    assert store.board.entry("alpha-q1").state() == "accepted"
    store.act("bob", "edit", "alpha-q1", {"fields": {"answer": ["C"]}})
    assert store.board.entry("alpha-q1").copy("ann").form.answer == ["B"]
    assert store.board.entry("alpha-q1").state() == "accepted"  # bob's decision is void, ann's stands
    store.act("bob", "accept", "alpha-q1", {})
    entry = store.board.entry("alpha-q1")
    assert (entry.state(), entry.differences()) == ("conflict", ["answer"])
    with pytest.raises(UserError, match="whose version"):
        store.act("ann", "settle", "alpha-q1", {"other": "carol", "verdict": "accepted"})
    store.act("carol", "settle", "alpha-q1", {"other": "bob", "verdict": "accepted"})
    entry = store.board.entry("alpha-q1")
    assert entry.state() == "accepted"
    assert entry.final()[0].form.answer == ["C"]
    store.act("ann", "reject", "alpha-q1", {"text": "no"})
    assert store.board.entry("alpha-q1").state() == "conflict"


def test_spaces_and_the_last_pixels_of_a_crop_are_no_conflict(store: ReviewStore) -> None:
    figure = store.board.entry("alpha-q2").fresh.figures[0].model_dump()
    for by, right, text in (("ann", 0.601, "See  <image>."), ("bob", 0.6, "See <image>.\n")):
        box = {**figure["box"], "right": right}
        said = {"fields": {"question": text}, "figures": [{**figure, "box": box}]}
        store.act(by, "edit", "alpha-q2", said)
        store.act(by, "accept", "alpha-q2", {})
    assert store.board.entry("alpha-q2").state() == "accepted"


def test_agreement_is_over_decisions_and_over_answers(store: ReviewStore) -> None:
    for number in (1, 2, 3, 4):
        store.act("ann", "accept", f"alpha-q{number}", {})
    store.act("bob", "edit", "alpha-q1", {"fields": {"answer": ["C"]}})
    for number in (1, 2, 3):
        store.act("bob", "accept", f"alpha-q{number}", {})
    store.act("bob", "reject", "alpha-q4", {"text": "no"})
    store.act("ann", "reject", "beta-q1", {"text": "no"})
    store.act("bob", "reject", "beta-q1", {"text": "not a question"})
    (found,) = agreements(store.board)
    assert (found.n, found.same, found.both_accepted, found.same_answer) == (5, 4, 3, 2)
    assert found.kappa == pytest.approx((0.8 - (0.8 * 0.6 + 0.2 * 0.4)) / (1 - (0.8 * 0.6 + 0.2 * 0.4)))
    assert found.answer_kappa == pytest.approx(0.0)


def test_a_decision_counts_while_the_copy_is_as_it_was_decided_on(store: ReviewStore) -> None:
    store.act("ann", "accept", "alpha-q1", {})
    store.act("ann", "edit", "alpha-q1", {"fields": {"points": "6"}})
    assert store.board.entry("alpha-q1").state() == "open"
    store.act("ann", "edit", "alpha-q1", {"fields": {"points": "5"}})
    assert store.board.entry("alpha-q1").state() == "accepted"


def test_ingesting_anew_keeps_edits_and_voids_decisions_on_what_changed(store: ReviewStore, folder: Path) -> None:
    store.act("ann", "edit", "alpha-q1", {"fields": {"points": "6"}})
    for number in (1, 2):
        store.act("ann", "accept", f"alpha-q{number}", {})
    make_folder(folder, question="What is $1+2$?")
    store.refresh()
    assert [store.board.entry(f"alpha-q{n}").state() for n in (1, 2)] == ["open", "accepted"]
    form = store.board.entry("alpha-q1").copy("ann").form
    assert (form.points, form.question) == ("6", "What is $1+2$?")


def test_splitting_and_merging_lose_nothing(store: ReviewStore) -> None:
    text = "First? <image>\n7. Second? A. one"
    figures = [store.board.entry("alpha-q2").fresh.figures[0].model_dump()]
    store.act("ann", "edit", "alpha-q2", {"fields": {"question": text}, "figures": figures})
    store.act("ann", "split", "alpha-q2", {"option": None, "offset": text.index("7.")})
    first, second = (store.board.entry(id).draft for id in ("alpha-q2", "alpha-q2-s2"))
    assert (first.question, len(first.figures), first.options) == ("First? <image>", 1, [])
    assert (second.number, second.question, len(second.options)) == ("7", "Second? A. one", 4)
    assert (second.answer, second.points, second.confidence) == ([], None, 0.0)
    assert store.board.order["alpha"] == ["alpha-q1", "alpha-q2", "alpha-q2-s2", "alpha-q3", "alpha-q4"]
    with pytest.raises(UserError, match="not there"):
        store.act("ann", "accept", "alpha-q9", {})
    store.act("bob", "merge", "alpha-q2-s2", {"with": "previous"})
    merged = store.board.entry("alpha-q2").draft
    assert merged.question == "First? <image>\nSecond? A. one"
    assert (len(merged.figures), len(merged.options)) == (1, 4)
    with pytest.raises(UserError, match="bob worked on what came of it"):
        store.act("ann", "undo", "", {})
    store.act("bob", "undo", "", {})
    store.act("ann", "undo", "", {})
    assert store.board.entry("alpha-q2").copy("ann").form.question == text


@pytest.mark.parametrize(
    ("kind", "said", "message"),
    [
        ("reject", {}, "say why"),
        ("comment", {"text": " "}, "empty"),
        ("edit", {"fields": {"id": "other"}}, "Extra"),
        ("edit", {"fields": {"question": 3}}, "question"),
        ("edit", {"fields": {"question": "x" * 300_000}}, "200,000"),
        ("edit", {"boxes": [{"page": 9, "left": 0, "top": 0, "right": 1, "bottom": 1}]}, "within a page"),
        ("edit", {"boxes": [{"page": 1, "left": 0.5, "top": 0, "right": 0.2, "bottom": 1}]}, "within a page"),
        ("edit", {"boxes": [{"page": 1, "left": float("nan"), "top": 0, "right": 1, "bottom": 1}]}, "within a page"),
        ("edit", {"figures": [{"name": "../../etc/passwd"}]}, "no figure"),
        ("split", {"offset": 0}, "one side would be empty"),
        ("merge", {"with": "previous"}, "no previous"),
        ("settle", {"other": "bob", "verdict": "accepted"}, "no conflict"),
        ("undo", {}, "nothing to undo"),
        ("redo", {}, "nothing to do again"),
        ("sudo", {}, "no action"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_and_not_stored(
    store: ReviewStore, kind: str, said: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        store.act("ann", kind, "alpha-q1", said)
    assert "\n" not in str(caught.value)
    assert not store.actions


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"points": "five"}, "no number of points"),
        ({"number": " "}, "has a number"),
        ({"question_type": "riddle"}, "choose one of"),
        ({"answer": ["E"]}, "no option E"),
        ({"question": "and <image>"}, "for 0 figures"),
        ({"question": "see ![](http://elsewhere.test/x.png)"}, "written into the text"),
        ({"options": [{"label": "A", "text": "x"}, {"label": "A", "text": "y"}]}, "label of its own"),
        ({"scheme": [[{"id": "1", "points": "2", "text": "x"}]]}, "add up to 2 points and the question has 5"),
        ({"scheme": [[{"id": "1", "points": "", "text": "x"}]]}, "criterion 1: points"),
        ({"scheme": [[{"id": "1", "points": "-5", "text": "x"}]]}, "criterion 1: points"),
        ({"scheme": [[{"id": "1", "points": "5", "text": " "}]]}, "criterion 1 says nothing"),
        ({"scheme": [[{"id": "1", "points": "5", "text": "x", "needs": "1"}]]}, "need each other"),
        ({"scheme": [[{"id": "1", "points": "5", "text": "x", "partial": "half"}]]}, "no line like 0.5"),
        ({"scheme": [[{"id": "1", "points": "5", "text": "x", "kind": "magic"}]]}, "criterion 1: kind"),
    ],
)
def test_what_cannot_be_a_question_is_kept_as_typed_but_not_accepted(
    store: ReviewStore, fields: dict[str, Any], message: str
) -> None:
    store.act("ann", "edit", "alpha-q1", {"fields": fields})
    with pytest.raises(UserError, match=message):
        store.act("ann", "accept", "alpha-q1", {})
    store.act("ann", "reject", "alpha-q1", {"text": "beyond repair"})
    assert store.board.entry("alpha-q1").state() == "rejected"


FIRST = {"id": "1", "points": "2", "text": "names $F$"}
SECOND = {"id": "2", "points": "3", "text": "finds $a$", "needs": "1", "partial": "1: a wrong sign", "kind": "accuracy"}


def test_a_scheme_is_edited_put_in_order_and_kept_through_merges(store: ReviewStore) -> None:
    plain = store.board.entry("alpha-q1").copy("ann").digest
    assert plain == "bc81bd6315c0dcffd52a", "decisions on questions without a scheme hold"
    store.act("ann", "edit", "alpha-q1", {"fields": {"scheme": [[FIRST, SECOND]]}})
    store.act("ann", "accept", "alpha-q1", {})
    store.act("bob", "edit", "alpha-q1", {"fields": {"scheme": [[SECOND, FIRST]]}})
    store.act("bob", "accept", "alpha-q1", {})
    assert store.board.entry("alpha-q1").differences() == ["scheme"]
    for number in ("1", "3"):
        store.act(
            "ann",
            "edit",
            f"alpha-q{number}",
            {"fields": {"scheme": [[FIRST, SECOND], [{**FIRST, "id": "B", "points": "5"}]]}},
        )
    store.act("ann", "merge", "alpha-q1", {"with": "next"})
    store.act("ann", "merge", "alpha-q1", {"with": "next"})
    merged = store.board.entry("alpha-q1").draft
    assert [[criterion.id for criterion in criteria] for criteria in merged.scheme] == [
        ["A1", "A2", "A3", "A4"],
        ["B1", "B2", "B3"],
        ["C1", "C2", "C3"],
        ["D1", "D2"],
    ]
    assert [criterion.needs for criterion in merged.scheme[0]] == [[], ["A1"], [], ["A3"]]


def test_an_action_sent_twice_is_stored_once(store: ReviewStore) -> None:
    assert store.act("ann", "comment", "alpha-q1", {"text": "once"}, id="abc123")
    assert store.act("ann", "comment", "alpha-q1", {"text": "once"}, id="abc123") is None
    assert len(store.board.entry("alpha-q1").comments) == 1


def test_typing_is_taken_back_as_one(store: ReviewStore) -> None:
    for end in range(1, 5):
        store.act("ann", "edit", "alpha-q1", {"fields": {"question": "typed"[:end]}, "group": "one"})
    store.act("ann", "undo", "", {})
    assert store.board.entry("alpha-q1").copy("ann").form.question == "What is $1+1$?"


def test_a_folder_without_papers_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="livek12 ingest"):
        ReviewStore(tmp_path)
    (tmp_path / STATE).mkdir()
    with pytest.raises(UserError, match="livek12 ingest"):
        ReviewStore(tmp_path)


def test_edits_of_several_questions_in_one_group_are_undone_together(store: ReviewStore) -> None:
    for place, id in enumerate(("alpha-q1", "alpha-q2"), 7):
        store.act("ann", "edit", id, {"fields": {"number": str(place)}, "group": "numbers"})
    store.act("ben", "edit", "alpha-q3", {"fields": {"number": "9"}, "group": "numbers"})
    store.act("ann", "undo", "", {})
    numbers = [
        store.board.entries[id].copy(by).form.number for id, by in zip(IDS[:3], ("ann", "ann", "ben"), strict=True)
    ]
    assert numbers == ["1", "2", "9"]
