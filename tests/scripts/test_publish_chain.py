"""Releases one after the other, each with its answers held back: none is lost, none is seen too early."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12.core.questions import load_questions
from livek12.core.records import Question
from livek12.dataset_builders.publishing.keeping import answered
from livek12.dataset_builders.writing.card import rewrite_metadata
from livek12.dataset_builders.writing.parquet import TableWriters
from livek12.dataset_builders.writing.withheld import without_answers
from tests.dataset_builders.publishing_sets import make_set, page, question
from tests.dataset_builders.test_releases import LATER, STEMS
from tests.hub import WRITER, Hub
from tests.hub_client import Client

pytestmark = pytest.mark.slow

RELEASES = ("2603", "2605", "2607")
TEXTS = dict(
    zip(RELEASES, (STEMS, LATER, ["How many faces has a cube?", "Name the capital of a large country."]), strict=True)
)


def rows(release: str) -> list[dict[str, Any]]:
    """Rows with everything that can tell an answer but pictures."""
    return [
        {
            "id": f"en_{release}_math_{n:04d}",
            "set": release,
            "subject": "math",
            "question": text,
            "answer": [f"secret {release} {n}"],
            "solution": f"secret way {release} {n}",
            "review": {"state": "accepted"},
            "source": {"licence": "MIT"},
        }
        for n, text in enumerate(TEXTS[release], 1)
    ]


def source(folder: Path, *releases: str) -> Path:
    file = folder / f"{'-'.join(releases)}.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for release in releases for row in rows(release)))
    return file


def head(hub: Hub, repo: str, folder: Path, revision: str = "main") -> dict[str, tuple[list[str], str | None]]:
    """Answer and solution of every question of a head."""
    for path, entry in hub.repo(repo).commit_of(revision)["tree"].items():
        if path[0] != ".":
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(hub.repo(repo).content(entry).read_bytes())
    return {q.id: (q.answer, q.solution) for q in load_questions(folder, ["default"], "livek12")}


def ever_shown(hub: Hub, repo: str) -> set[str]:
    """The questions whose answer any commit of a repository has."""
    repository = hub.repo(repo)
    entries = [item for commit in repository.history("main") for item in commit["tree"].items()]
    tables = [repository.content(entry) for path, entry in entries if path.endswith(".parquet")]
    return {id for file in tables for _, id in answered(file)}


def answers(*releases: str) -> dict[str, tuple[list[str], str]]:
    return {row["id"]: (row["answer"], row["solution"]) for release in releases for row in rows(release)}


@pytest.mark.parametrize(
    "again", [False, pytest.param(True, marks=pytest.mark.release)], ids=["only the new release", "all releases so far"]
)
def test_over_three_releases_no_answer_is_lost_or_leaked(
    again: bool, hub: Hub, logged_in: Client, tmp_path: Path
) -> None:
    name = f"org/exams{again:d}"
    keys, base = f"{name}-keys", ("--base", name)
    for number, release in enumerate(RELEASES):
        before, data = RELEASES[:number], tmp_path / f"data-{release}"
        made = ("build", "livek12", "--source", source(tmp_path, *(before if again else ()), release), "--out", data)
        if before:
            refused = logged_in.livek12(*made, *base)
            assert refused.code == 2 and len(refused.errors) == 1
            assert f"{name} holds the answers of release {before[-1]} back" in refused.err
            assert f"add --base-answers {keys}" in refused.err and not data.exists()
            made = (*made, *base, "--base-answers", keys)
        ended = logged_in.livek12(*made)
        assert ended.code == 0, ended.err
        assert logged_in.livek12("validate", data).code == 0
        assert {q.id: (q.answer, q.solution) for q in load_questions(data, ["default"], "livek12")} == answers(
            *before, release
        )
        ended = logged_in.livek12("publish", data, "--repo", name, "--hold-answers", keys)
        assert ended.code == 0, ended.err
        assert ("become public" in ended.out) == bool(before)
        public = head(hub, name, tmp_path / f"public-{release}")
        private = head(hub, keys, tmp_path / f"private-{release}")
        assert private == answers(*before, release)
        assert public == answers(*before) | {id: ([], None) for id in answers(release)}
        assert ever_shown(hub, name) == set(answers(*before))
        assert logged_in.livek12("validate", tmp_path / f"public-{release}").code == 0
    assert f"`{RELEASES[-1]}`, are not public yet" in (tmp_path / "public-2607" / "README.md").read_text()


@pytest.fixture(scope="module")
def begun(hub: Hub, client: Client, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A repository whose newest release is held back, and a data set of two releases."""
    name, folder = "org/chain", tmp_path_factory.mktemp("chain")
    client.log_in(WRITER)
    old = make_set(folder / "old", [question("a"), question("b")], [page(1)])
    assert client.livek12("publish", old, "--repo", name, "--hold-answers", f"{name}-keys").code == 0
    both = make_set(folder / "both", [question("a"), question("b"), question("c", "2607")], [page(1), page(1, "2607")])
    return name, both


@pytest.fixture
def chain(begun: tuple[str, Path], hub: Hub, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The same, where both repositories are at their end what they were."""
    name, both = begun
    before = [hub.repo(repo).commit_of("main") for repo in (name, f"{name}-keys")]
    yield name, Path(shutil.copytree(both, tmp_path / "both"))
    assert before == [hub.repo(repo).commit_of("main") for repo in (name, f"{name}-keys")]


def keyless(folder: Path, release: str) -> Path:
    """The data set as a build on the public one made it before it was refused: without the answers of a release."""
    found = [q for q in load_questions(folder, ["default"], "livek12") if q.release == release]
    for table in {file.parent.name for file in folder.rglob("*.parquet")} - {"pages"}:
        file = next((folder / table).glob(f"en_{release}-*.parquet"))
        file.unlink()
        with TableWriters(folder) as writers:
            for one in found:
                writers.write(table, f"en_{release}", without_answers(one))
    rewrite_metadata(folder)
    return folder


@pytest.mark.parametrize("how", ["hold again", "hold elsewhere", "reveal", "not logged in to the keys"])
def test_answers_that_a_head_keeps_are_not_dropped(
    how: str, chain: tuple[str, Path], hub: Hub, logged_in: Client
) -> None:
    name, both = chain
    keyless(both, "2605")
    keys = {"hold again": f"{name}-keys", "hold elsewhere": f"{name}-other-keys"}.get(how)
    args = ["publish", both, "--repo", name, *(["--hold-answers", keys] if keys else ["--reveal-answers"])]
    if how == "not logged in to the keys":
        logged_in.log_in(None)
        args.append("--dry-run")
    ended = logged_in.livek12(*args)
    assert ended.code == 2, ended.out
    (line,) = ended.errors
    assert "would drop the answers of 2 questions (a)" in line and f"--base-answers {name}-keys" in line
    assert "become public" not in ended.out
    assert not hub.repo(f"{name}-other-keys").exists


def test_what_is_dropped_on_purpose_is_said(hub: Hub, logged_in: Client, tmp_path: Path) -> None:
    name = "org/dropped"
    old = make_set(tmp_path / "old", [question("a"), question("b")], [page(1)])
    assert logged_in.livek12("publish", old, "--repo", name, "--hold-answers", f"{name}-keys").code == 0
    less = make_set(tmp_path / "less", [question("a"), question("c", "2607")])
    args = ("publish", less, "--repo", name, "--hold-answers", f"{name}-keys")
    refused = logged_in.livek12(*args)
    assert refused.code == 2
    assert "would drop 2 rows (b), the configs image_only, pages;" in refused.err
    assert "say with --drop --remove image_only,pages that it is meant" in refused.err
    for less_said in (("--drop",), ("--remove", "image_only,pages"), ("--drop", "--remove", "pages")):
        assert logged_in.livek12(*args, *less_said).code == 2
    ended = logged_in.livek12(*args, "--remove", "default")
    assert ended.code == 2 and "--remove default: the data set has it" in ended.err
    ended = logged_in.livek12(*args, "--drop", "--remove", "image_only, pages")
    assert ended.code == 0, ended.err
    assert "dropped: 2 rows (b), the configs image_only, pages" in ended.out


@pytest.mark.parametrize(
    ("base", "keys", "said"),
    [
        ("{both}", "{both}", "holds no answers back: leave --base-answers out"),
        ("{name}", "{name}-nothing", "cannot fetch {name}-nothing from the Hub"),
        ("{name}", "{strange}", "does not have a of release 2605, whose answers are held back"),
        ("{name}", "{wrong}", "question a: the held answer is of another text"),
        ("", "{both}", "--base-answers needs --base"),
    ],
)
def test_other_keys_are_refused(
    base: str, keys: str, said: str, chain: tuple[str, Path], logged_in: Client, tmp_path: Path
) -> None:
    name, both = chain
    places = {
        "name": name,
        "both": both,
        "strange": make_set(tmp_path / "strange", [question("x")]),
        "wrong": make_set(tmp_path / "wrong", [question("a", question="Another?"), question("b")]),
    }
    out = ("--out", tmp_path / "out")
    given = ("--base", base.format(**places)) if base else ()
    ended = logged_in.livek12(
        "build", "livek12", "--source", source(tmp_path, "2607"), *out, *given, "--base-answers", keys.format(**places)
    )
    assert ended.code == 2 and len(ended.errors) == 1
    assert said.format(**places) in ended.err
    assert not (tmp_path / "out").exists()


def test_pictures_and_variables_come_back_too(chain: tuple[str, Path], logged_in: Client, tmp_path: Path) -> None:
    name, both = chain
    args = ("--source", source(tmp_path, "2607"), "--base", name, "--base-answers", f"{name}-keys")
    assert logged_in.livek12("build", "livek12", *args, "--out", tmp_path / "out").code == 0

    def held(folder: Path, table: str) -> list[Question]:
        return [q for q in load_questions(folder, [table], "livek12") if q.release == "2605"]

    for table in ("text_only", "image_only"):
        assert held(tmp_path / "out", table) == held(both, table)


def test_a_withdrawal_needs_the_answers_too(chain: tuple[str, Path], logged_in: Client, tmp_path: Path) -> None:
    name, _ = chain
    (tmp_path / "less.csv").write_text("a,wrong figure,2607\n")
    args = ("build", "livek12", "--base", name, "--withdraw", tmp_path / "less.csv", "--out", tmp_path / "out")
    assert "holds the answers of release 2605 back" in logged_in.livek12(*args).err
    assert logged_in.livek12(*args, "--base-answers", f"{name}-keys").code == 0
    found = {q.id: (q.answer, q.removed_in) for q in load_questions(tmp_path / "out", ["text_only"], "livek12")}
    assert found == {"a": (["secret a", "2"], "2607"), "b": (["secret b", "2"], None)}
