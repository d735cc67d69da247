"""`livek12 publish` against a Hub on loopback: what it sends, refuses, withholds and says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from livek12.core.questions import load_questions
from tests.dataset_builders.publishing_sets import make_set, page, question
from tests.hub import READER, STRANGER, WRITER, Hub
from tests.hub_client import Client

pytestmark = pytest.mark.quick

COMMITS = "POST .*/commit/"
PUTS = "PUT /_lfs/"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [question("a"), question("b"), question("old", "2603")]
    return make_set(tmp_path_factory.mktemp("data") / "small", rows, [page(1), page(1, "2603")])


ADDED = re.compile(r"\.|eval|README.md|croissant.json|published.json")
"""What a publish adds to the built set, or says of where it stands; and the Hub's own."""


def tree(hub: Hub, repo: str, revision: str = "main", added: re.Pattern[str] = ADDED) -> dict[str, Any]:
    """The files of a revision on the Hub that are those of the built set."""
    files = hub.repo(repo).commit_of(revision)["tree"]
    return {path: hub.repo(repo).content(entry).read_bytes() for path, entry in files.items() if not added.match(path)}


def files(folder: Path) -> dict[str, bytes]:
    found = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return {path: file.read_bytes() for path, file in found.items() if not ADDED.match(path)}


def history(hub: Hub, repo: str) -> list[str]:
    return [commit["title"] for commit in hub.repo(repo).history("main")]


def test_the_same_data_commits_once(hub: Hub, logged_in: Client, small: Path) -> None:
    dry = logged_in.livek12("publish", small, "--repo", "org/once", "--dry-run")
    assert dry.code == 0 and "would be created, public" in dry.out and "dry run" in dry.out
    assert not hub.repo("org/once").exists and not hub.requests(f"{COMMITS}.*|{PUTS}")
    first = logged_in.livek12("publish", small, "--repo", "org/once")
    assert first.code == 0, first.err
    assert tree(hub, "org/once") == tree(hub, "org/once", "2605") == files(small)
    assert history(hub, "org/once") == ["Publish 2605", "initial commit"]
    sent = len(hub.requests(PUTS))
    again = logged_in.livek12("publish", small, "--repo", "org/once", "--json")
    (shipment,) = json.loads(again.out)["shipments"]
    assert (shipment["committed"], shipment["tagged"]) == (False, False)
    assert {change["kind"] for change in shipment["files"]} == {"unchanged"}
    assert shipment["loaded"]["default"] == {"en_2603": 1, "en_2605": 2}
    assert len(hub.requests(PUTS)) == sent and len(history(hub, "org/once")) == 2
    logged_in.log_in(None)
    anonymous = logged_in.livek12("publish", small, "--repo", "org/once", "--dry-run")
    assert anonymous.code == 0 and "tag 2605, there already" in anonymous.out


def test_a_new_release_changes_only_what_is_new(hub: Hub, logged_in: Client, tmp_path: Path) -> None:
    old = [question("a", "2603"), question("gone", "2512", paper_id=None)]
    before = make_set(tmp_path / "before", old, [page(1, "2603")])
    after = make_set(tmp_path / "after", [old[0], question("b", "2605")], [page(1, "2603"), page(1, "2605")])
    assert logged_in.livek12("publish", before, "--repo", "org/grows").code == 0
    sent = len(hub.requests(PUTS))
    refused = logged_in.livek12("publish", after, "--repo", "org/grows", "--dry-run")
    assert refused.code == 2 and len(refused.errors) == 1
    assert "would drop 1 row (gone); build it with --base org/grows, or say with --drop" in refused.err
    dry = logged_in.livek12("publish", after, "--repo", "org/grows", "--dry-run", "--drop")
    assert "dropped: 1 row (gone)" in dry.out
    assert "added text_only/en_2605-00000-of-00001.parquet" in dry.out
    assert "changed README.md" in dry.out
    assert "removed text_only/en_2512-00000-of-00001.parquet" in dry.out
    assert "text_only/en_2603" not in dry.out
    assert logged_in.livek12("publish", after, "--repo", "org/grows").code == 2
    assert tree(hub, "org/grows") == files(before)
    assert logged_in.livek12("publish", after, "--repo", "org/grows", "--drop").code == 0
    assert tree(hub, "org/grows") == files(after)
    assert tree(hub, "org/grows", "2603") == files(before)
    assert len(hub.requests(PUTS)) == sent + 3  # text_only, image_only and pages of 2605


def test_a_tag_is_never_moved(hub: Hub, logged_in: Client, tmp_path: Path) -> None:
    one = make_set(tmp_path / "one", [question("a")])
    two = make_set(tmp_path / "two", [question("a", points=7.0)])
    assert logged_in.livek12("publish", one, "--repo", "org/tags").code == 0
    refused = logged_in.livek12("publish", two, "--repo", "org/tags")
    assert refused.code == 2 and len(refused.errors) == 1
    assert "tag 2605 names another content" in refused.err and "--tag 2605.1" in refused.err
    assert tree(hub, "org/tags") == files(one)
    assert logged_in.livek12("publish", two, "--repo", "org/tags", "--tag", "2605.1").code == 0
    assert tree(hub, "org/tags", "2605") == files(one) and tree(hub, "org/tags", "2605.1") == files(two)
    again = logged_in.livek12("publish", two, "--repo", "org/tags")
    assert again.code == 0 and "tag 2605.1, there already" in again.out
    for name in ("main", "a b", "-x", "x..y", ""):
        assert "is no name for a tag" in logged_in.livek12("publish", two, "--repo", "org/tags", "--tag", name).err


def test_withheld_rows_are_listed_and_the_rest_goes_out(hub: Hub, logged_in: Client, tmp_path: Path) -> None:
    rows = [question(f"u{n}", state="unreviewed") for n in range(7)] + [question("r", state="rejected"), question("a")]
    folder = make_set(tmp_path / "set", [*rows, question("n", licence=None), question("p", licence=None)])
    (tmp_path / "rights.yaml").write_text("- {permission: by letter, by: Board, rows: {id: p}}\n")
    args = ("publish", folder, "--repo", "org/partly", "--rights", tmp_path / "rights.yaml")
    ended = logged_in.livek12(*args)
    assert ended.code == 0, ended.err
    assert "withheld, nobody reviewed it: 7 (u0, u1, u2, u3, u4, and 2 more: --json lists all)" in ended.out
    assert "withheld, rejected in review: 1 (r)" in ended.out
    assert "withheld, no licence stated, and no permission named: 1 (n)" in ended.out
    listed = json.loads(logged_in.livek12(*args, "--json").out)
    assert {row["id"] for row in listed["withheld"]} == {*(f"u{n}" for n in range(7)), "r", "n"}
    assert not listed["shipments"][0]["committed"]
    for path, content in tree(hub, "org/partly", added=re.compile(r"\.")).items():
        (tmp_path / "back" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "back" / path).write_bytes(content)
    assert {q.id for q in load_questions(tmp_path / "back", ["default"], "livek12")} == {"a", "p"}
    assert "by permission of Board: by letter" in (tmp_path / "back" / "README.md").read_text()
    assert logged_in.livek12("validate", tmp_path / "back").code == 0


def test_what_is_refused_before_anything_is_sent(hub: Hub, logged_in: Client, small: Path, tmp_path: Path) -> None:
    nothing = make_set(tmp_path / "nothing", [question("a", state="unreviewed"), question("b", licence=None)])
    ended = logged_in.livek12("publish", nothing, "--repo", "org/refused")
    assert ended.code == 2 and "nothing in it may be published (1 nobody reviewed it; 1 no licence" in ended.err
    broken = shutil.copytree(small, tmp_path / "broken")
    (broken / "text_only" / "en_2605-00000-of-00001.parquet").write_bytes(b"PAR1")
    ended = logged_in.livek12("publish", broken, "--repo", "org/refused")
    assert ended.code == 2 and len(ended.errors) == 1 and "damaged or not Parquet" in ended.err
    for name in ("noslash", "a/b/c", "../x"):
        assert "is no name of a repository" in logged_in.livek12("publish", small, "--repo", name).err
    foreign = shutil.copytree(small, tmp_path / "foreign")
    (foreign / "notes.txt").write_text("mine")
    assert "notes.txt is no file of a data set" in logged_in.livek12("publish", foreign, "--repo", "org/refused").err
    assert not hub.repo("org/refused").exists
    logged_in.python(
        "from huggingface_hub import HfApi\napi = HfApi()\n"
        "for name, private in (('org/other', False), ('org/other-private', True)):\n"
        "    api.create_repo(name, repo_type='dataset', private=private)\n"
        "    api.upload_file(repo_id=name, repo_type='dataset', path_or_fileobj=b'x', path_in_repo='data.csv')"
    )
    for args in (("--repo", "org/other"), ("--repo", "org/refused", "--hold-answers", "org/other-private")):
        said = logged_in.livek12("publish", small, *args).err
        assert "holds other data (data.csv)" in said and "org/other" in said
    assert "data.csv" in tree(hub, "org/other")
    ended = logged_in.livek12("publish", small, "--repo", "org/other", "--private")
    assert "is there and public" in ended.err


@pytest.mark.parametrize(
    ("token", "repo", "said"),
    [
        (None, "org/rights", "not logged in to the Hub: run `hf auth login`"),
        ("hf_wrong_Xk29", "org/rights", "does not accept the token: log in again"),
        (READER, "org/rights", "the token may not write to org/rights"),
        (STRANGER, "org/rights", "the token may not write to org/rights"),
        (WRITER, "elsewhere/rights", "the token may not write to elsewhere/rights"),
    ],
)
def test_who_may_not_publish_is_told_so(
    token: str | None, repo: str, said: str, hub: Hub, logged_in: Client, small: Path
) -> None:
    logged_in.log_in(token)
    ended = logged_in.livek12("publish", small, "--repo", repo)
    assert ended.code == 2 and len(ended.errors) == 1 and said in ended.err
    assert not hub.repo(repo).exists
    if token:
        assert token not in ended.out + ended.err


def test_a_private_repository_is_seen_by_its_members_only(hub: Hub, logged_in: Client, small: Path) -> None:
    ended = logged_in.livek12("publish", small, "--repo", "org/private", "--private")
    assert ended.code == 0, ended.err
    assert hub.repo("org/private").private and tree(hub, "org/private") == files(small)
    logged_in.log_in(STRANGER)
    assert "may not write to org/private" in logged_in.livek12("publish", small, "--repo", "org/private").err
    logged_in.log_in(None)
    dry = logged_in.livek12("publish", small, "--repo", "org/private", "--dry-run")
    assert "org/private: you are not logged in, so a private repository of this name is not seen" in dry.out


def test_held_answers_go_to_the_private_repository_only(
    hub: Hub, logged_in: Client, small: Path, tmp_path: Path
) -> None:
    args = ("publish", small, "--repo", "org/exam", "--hold-answers", "org/keys")
    ended = logged_in.livek12(*args)
    assert ended.code == 0, ended.err
    assert "answers of release 2605 are held back" in ended.out
    assert hub.repo("org/keys").private and not hub.repo("org/exam").private
    assert logged_in.livek12(*args).code == 0
    assert len(history(hub, "org/exam")) == len(history(hub, "org/keys")) == 2
    read = "from livek12.core.questions import load_questions\n"
    read += "result = {q.id: [q.answer, q.solution] for q in load_questions('org/%s', ['text_only'], 'livek12')}"
    assert logged_in.python(read % "exam")["a"] == [[], None]
    assert logged_in.python(read % "exam")["old"] == [["secret old", "2"], "secret way to old"]
    assert logged_in.python(read % "keys") == {i: [[f"secret {i}", "2"], f"secret way to {i}"] for i in ("a", "b")}

    by_mistake = logged_in.livek12("publish", small, "--repo", "org/exam", "--tag", "oops")
    assert by_mistake.code == 2 and "--hold-answers org/keys, or --reveal-answers" in by_mistake.err
    assert len(history(hub, "org/exam")) == 2
    later = [question("a"), question("b"), question("old", "2603"), question("new", "2607")]
    newer = make_set(tmp_path / "newer", later, [page(1), page(1, "2603")])
    ended = logged_in.livek12("publish", newer, "--repo", "org/exam", "--hold-answers", "org/keys", "--dry-run")
    assert "the answers of release 2605 become public: 2607 is held back now" in ended.out
    ended = logged_in.livek12("publish", small, "--repo", "org/exam", "--reveal-answers", "--tag", "2605-answers")
    assert ended.code == 0 and tree(hub, "org/exam") == files(small)

    for kind in ("tags", "converts", "pullRequests"):
        hub.repo("org/exam").squash(kind)
        kept = logged_in.livek12(*args, "--tag", "later", "--dry-run")
        assert kept.code == 2 and "already shows the answers of 2 questions" in kept.err
        assert logged_in.livek12("publish", small, "--repo", "org/exam", "--tag", f"shown-{kind}").code == 0
    too_late = logged_in.livek12(*args, "--tag", "later")
    assert too_late.code == 2 and "already shows the answers of 2 questions" in too_late.err
    for repo, said in (("org/exam", "is --repo itself"), ("org/once-public", "is there and public")):
        logged_in.python(
            "from huggingface_hub import HfApi\n"
            "HfApi().create_repo('org/once-public', repo_type='dataset', exist_ok=True)"
        )
        assert said in logged_in.livek12("publish", small, "--repo", "org/exam", "--hold-answers", repo).err


@pytest.mark.release
def test_a_process_that_read_a_first_row_ends_as_it_should(data: Path) -> None:
    """Arrow's threads that read on when a process ends abort it, most of the time (pyarrow 26, datasets 5.2)."""
    code = (
        "from datasets import load_dataset\n"
        "from livek12.dataset_builders.publishing.remote import _first\n"
        f"rows = load_dataset({str(data)!r}, 'cfe_multimodal', streaming=True)\n"
        "assert all(_first(split.decode(False)) for split in rows.values())\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
