"""`livek12 review` without its page: status, export, and wrong use in one line."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from livek12.dataset_builders.review.store import ReviewStore
from tests.dataset_builders.review.folders import make_folder
from tests.scripts.command import livek12_here


def test_status_counts_states_and_agreement(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    with ReviewStore(folder) as store:
        for by in ("ann", "bob"):
            store.act(by, "accept", "alpha-q1", {})
        store.act("bob", "reject", "beta-q2", {"text": "no"})
        ended = livek12_here("review", folder, "--status", "--json")  # beside a server that runs
    said = json.loads(ended.out)
    assert said["counts"] == {"accepted": 1, "rejected": 1, "conflict": 0, "open": 6}
    assert [paper["open"] for paper in said["papers"]] == [3, 3]
    assert said["reviewers"] == ["ann", "bob"]
    assert (said["agreement"][0]["n"], said["agreement"][0]["kappa"]) == (1, None)
    shown = livek12_here("review", folder, "--status").out
    assert "alpha: 4 questions, 1 accepted, 0 rejected, 0 conflict, 3 open" in shown
    assert "1 of 1 decided alike (Cohen's κ not defined)" in shown
    assert sorted(file.name for file in (folder / ".ingest").glob("reviews-*")) == ["reviews-0.jsonl"]


def test_export_says_what_is_left_out(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    with ReviewStore(folder) as store:
        store.act("ann", "accept", "alpha-q1", {})
        store.act("ann", "edit", "alpha-q2", {"fields": {"answer": [], "solution": ""}, "group": "1"})
        store.act("ann", "accept", "alpha-q2", {})
        for number in (1, 3):
            store.act("ann", "reject", f"beta-q{number}", {"text": "key missing"})
    ended = livek12_here("review", folder, "--export", tmp_path / "out")
    assert ended.code == 0
    assert "2 accepted questions of alpha" in ended.out
    assert "without a key: 1" in ended.out
    assert "left out: 2 rejected, 0 in conflict, 4 open" in ended.out
    assert "rejected 2: key missing" in ended.out


def test_a_reason_that_reorders_or_hides_text_is_shown_as_it_is(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    with ReviewStore(folder) as store:
        store.act("ann", "accept", "alpha-q1", {})
        store.act("ann", "reject", "beta-q1", {"text": "no\u202eyek\U000e0041\x1b[2J"})
    said = livek12_here("review", folder, "--export", tmp_path / "out").out
    assert "rejected 1: no[U+202E]yek[U+E0041][U+001B][2J" in said
    told = json.loads(livek12_here("review", folder, "--export", tmp_path / "out", "--json").out)
    assert list(told["reasons"]) == ["no\u202eyek\U000e0041\x1b[2J"], "a program gets the text itself"


def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for args, words in (
            ([tmp_path / "nothing"], "livek12 ingest"),
            ([folder, "--export", tmp_path / "out"], "nothing is accepted"),
            ([folder, "--port", port], "--port"),
            ([folder, "--host", "999.1.1.1", "--port", 0], "cannot be taken"),
        ):
            ended = livek12_here("review", *args)
            assert ended.code == 2
            assert len(ended.errors) == 1
            assert words in ended.errors[0]
    (folder / ".ingest" / "alpha.json").write_text("{")
    ended = livek12_here("review", folder, "--status")
    assert (ended.code, len(ended.errors)) == (2, 1)
    assert "alpha.json" in ended.errors[0]


def test_a_line_that_is_no_action_is_said_and_passed_over(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "papers")
    (folder / ".ingest" / "reviews-0.jsonl").write_text('{"id": 1}\n')
    ended = livek12_here("review", folder, "--status")
    assert ended.code == 0
    assert len(ended.warnings) == 1
    assert "reviews-0.jsonl" in ended.warnings[0]
