"""What is written into a folder stays in it: no link, device or pipe of a stranger's folder is written through."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.files import (
    check_names,
    copy_file,
    make_subfolder,
    open_file,
    remove_files,
    write_atomically,
)
from livek12.core.records import Response
from livek12.core.run.access import only_writer
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import Index
from livek12.dataset_builders.ingest.drafts import IngestedPaper
from livek12.dataset_builders.ingest.folder import Folder
from tests.core.test_run_folder import question, response, spec
from tests.scripts.command import livek12_here

TASK = spec().tasks[0].model_dump(mode="json")
QUESTIONS = {"t": [question(name) for name in "abc"]}
LINKS: dict[str, Callable[[Path, Path], None]] = {
    "a symlink": lambda name, victim: name.symlink_to(victim),
    "a symlink to nothing": lambda name, victim: name.symlink_to(victim.with_name("nothing")),
    "a hard link": lambda name, victim: name.hardlink_to(victim),
    "a pipe": lambda name, victim: os.mkfifo(name),
}
OWNED = (
    *("verdicts-0.jsonl", "responses-1.jsonl", "repeats-0.jsonl", "sessions-0.jsonl", "failures-0.jsonl"),
    *("regrades.jsonl", "labels-ann.jsonl", ".lock", ".in-use", ".claims-verdicts.jsonl", "run.json", "report.json"),
    *("log.txt", "verdicts.parquet", "questions.jsonl", "report"),
)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file outside of every folder, whose last line is no whole one."""
    file = tmp_path / "bashrc"
    file.write_text("alias ls=ls\nexport PATH=$PATH:~/bi")
    return file


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = RunFolder.create_or_resume(tmp_path / "run", spec(), QUESTIONS)
    with made.writer("responses") as writer:
        writer.append(response("a"))
    made.leave()
    return made.path


@pytest.mark.parametrize("kind", LINKS)
def test_no_file_is_opened_through_a_link(tmp_path: Path, victim: Path, kind: str) -> None:
    before, name = victim.read_bytes(), tmp_path / "folder" / "verdicts-0.jsonl"
    name.parent.mkdir()
    LINKS[kind](name, victim)
    for flags in (os.O_RDWR | os.O_APPEND | os.O_CREAT, os.O_WRONLY | os.O_CREAT):
        with pytest.raises(UserError, match=r"verdicts-0\.jsonl: is .*use a copy"):
            open_file(name, flags)
    assert victim.read_bytes() == before
    assert not victim.with_name("nothing").exists()


@pytest.mark.parametrize("kind", LINKS)
@pytest.mark.parametrize("name", OWNED)
def test_a_run_folder_with_links_is_refused_before_it_is_read(run: Path, victim: Path, name: str, kind: str) -> None:
    before = victim.read_bytes()
    (run / name).unlink(missing_ok=True)
    LINKS[kind](run / name, victim)
    for use in (RunFolder.open, lambda path: RunFolder.create_or_resume(path, spec(), QUESTIONS)):
        with pytest.raises(UserError, match=rf"{re.escape(name)}: is .*use a copy"):
            use(run)
    assert victim.read_bytes() == before
    assert not victim.with_name("nothing").exists()


def test_leases_lead_nowhere_else(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run / ".leases").mkdir()
    (run / ".leases" / "claims-responses").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="claims-responses: is a link"):
        RunFolder.open(run)


def test_a_command_that_marks_says_so_in_a_line(run: Path, victim: Path) -> None:
    before = victim.read_bytes()
    (run / "verdicts-0.jsonl").symlink_to(victim)
    (run / "verdicts-1.jsonl").write_text("")
    ended = livek12_here("judge", str(run))
    assert ended.code == 2
    assert ended.err.startswith(f"error: {run}/verdicts-0.jsonl: is a link")
    assert len(ended.err.splitlines()) == 1
    assert victim.read_bytes() == before


def test_a_folder_may_be_named_by_a_link(run: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(run)
    assert RunFolder.open(tmp_path / "link").spec() == RunFolder.open(run).spec()
    (run / "notes.md").symlink_to("/etc/passwd")  # is none of ours
    RunFolder.open(run)


def test_a_file_takes_its_place_whole_or_not_at_all(tmp_path: Path, victim: Path) -> None:
    before, name = victim.read_bytes(), tmp_path / "table"
    name.symlink_to(victim)
    write_atomically(name, [b"\xff", "é"])
    assert (name.read_bytes(), victim.read_bytes()) == (b"\xff\xc3\xa9", before)
    with pytest.raises(FileExistsError):
        write_atomically(name, "other", new=True)

    def refuse() -> None:
        raise UserError("another took over")

    with pytest.raises(UserError, match="another took over"):
        write_atomically(name, "other", before=refuse)
    assert name.read_bytes() == b"\xff\xc3\xa9"
    write_atomically(tmp_path / "new", "first", new=True)
    assert (tmp_path / "new").read_text() == "first"
    assert not list(tmp_path.glob(".*"))


def test_only_listed_files_go_and_none_through_a_link(tmp_path: Path, victim: Path) -> None:
    root, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    for folder in (root / "images", root / "data", elsewhere):
        folder.mkdir(parents=True)
        (folder / "a.png").write_bytes(b"a")
    (root / "images").rename(root / "old")
    (root / "images").symlink_to(elsewhere)
    (root / "link.png").symlink_to(victim)
    names = ["images/a.png", "../elsewhere/a.png", "/etc/passwd", str(victim), "data/../../bashrc", "data", "", "\0"]
    remove_files(root, [*names, "link.png", "data/a.png", "gone.png"])
    assert victim.exists()
    assert (elsewhere / "a.png").exists()
    assert not (root / "data" / "a.png").exists()
    assert not (root / "link.png").is_symlink()
    with pytest.raises(UserError, match="images: is no folder of its own"):
        make_subfolder(root, "images")
    with pytest.raises(UserError, match="is a link"):
        copy_file(root / "images", root / "copy")


def test_what_is_no_name_of_ours_is_not_looked_at(tmp_path: Path, victim: Path) -> None:
    (tmp_path / "mine").symlink_to(victim)
    check_names(tmp_path, ["yours", "m?"])
    check_names(tmp_path / "nothing", ["*"])
    with pytest.raises(UserError):
        check_names(tmp_path, ["m*"])


@pytest.mark.parametrize("leases", ["0", "1"])
def test_a_folder_has_one_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leases: str) -> None:
    monkeypatch.setenv("LIVEK12_LEASES", leases)
    for _ in range(2):
        with (
            only_writer(tmp_path),
            pytest.raises(UserError, match="another command writes it"),
            only_writer(tmp_path),
        ):
            pass


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"trials": 1_000_000_000}, "trials"),
        ({"trials": 0}, "trials"),
        ({"trials": True}, "trials"),
        ({"tasks": []}, "tasks"),
        ({"tasks": [TASK, TASK]}, "tasks"),
        ({"tasks": [{**TASK, "sampling": {"max_tokens": -1}}]}, "tasks: 0: sampling: max_tokens"),
        ({"tasks": [{**TASK, "sampling": {"temperature": float("inf")}}]}, "tasks: 0: sampling: temperature"),
        ({"limit": 1 << 60}, "limit"),
        ({"marking": -1}, "marking"),
        ({"marking": 1 << 60}, "marking"),
    ],
)
def test_what_a_run_states_is_bounded(run: Path, change: dict[str, Any], why: str) -> None:
    file = run / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    with pytest.raises(UserError, match=rf"run\.json: cannot be read: {why}: "):
        RunFolder.open(run)


def test_room_is_made_for_what_is_stored_and_not_for_what_is_stated(run: Path) -> None:
    file = run / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "trials": 10_000}))
    trials = RunFolder.open(run).spec().trials
    stored = Index(run, "responses", Response, trials)
    assert stored.find(response("a").key) == response("a")
    assert stored.find(response("a", trial=9_999).key) is None
    assert sum(map(sys.getsizeof, stored._places.values())) < 1_000


def paper(name: str, pages: int) -> IngestedPaper:
    return IngestedPaper(
        paper_id=name, source=f"{name}.pdf", sha256="0" * 64, pages=pages, language="en", template="plain"
    )


def test_an_ingested_folder_forgets_its_own_pages_alone(tmp_path: Path, victim: Path) -> None:
    folder = Folder(tmp_path / "exam")
    for number in (1, 2, 3):
        folder.save_page("a", number, b"\x89PNG")
    (folder.root / "pages" / "a_99.png").write_bytes(b"mine")
    folder.save(paper("a", 3), {})
    Folder(folder.root).forget_pages("a", beyond=1)
    assert {file.name for file in (folder.root / "pages").iterdir()} == {"a_1.png", "a_99.png"}
    (folder.root / "pages").rename(tmp_path / "pages")
    (folder.root / "pages").symlink_to(tmp_path / "pages")
    with pytest.raises(UserError, match="pages: is no folder of its own"):
        Folder(folder.root)
    other = Folder(tmp_path / "other")
    with other.alone(), pytest.raises(UserError, match="another command writes it"):
        other.alone().__enter__()
    (other.root / "questions.jsonl").symlink_to(victim)
    with pytest.raises(UserError, match=r"questions\.jsonl: is a link"):
        Folder(other.root)
    (tmp_path / "third" / ".ingest").mkdir(parents=True)
    (tmp_path / "third" / ".ingest" / "a.json").write_text(paper("a", 3).model_dump_json().replace(":3,", ":99999999,"))
    with pytest.raises(UserError, match="is damaged"):
        Folder(tmp_path / "third").papers()


def test_a_write_that_was_killed_between_its_two_names_is_taken(tmp_path: Path) -> None:
    target, temporary = tmp_path / "run.json", tmp_path / f".run.json.{'a' * 32}"
    temporary.write_text("{}")
    target.hardlink_to(temporary)
    check_names(tmp_path, ["run.json", ".run.json.*"])
    assert target.stat().st_nlink == 1 and not temporary.exists()
    (tmp_path / "other").hardlink_to(target)
    with pytest.raises(UserError, match="hard link"):
        check_names(tmp_path, ["run.json"])
