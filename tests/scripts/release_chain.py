"""Releases published one after the other, from every kind of base, and what the two heads hold at any moment.

Contract: a chain publishes to `org/NAME` and, where answers are held back, to `org/NAME-keys`. After each command, and
after each kill, `check` proves that no answer which was ever published is in neither head, and that nothing which is
held back was ever sent to the public repository: not in a commit, not in an object that no commit names.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from livek12.dataset_builders.publishing.keeping import Content
from livek12.dataset_builders.publishing.remote import holds_records
from tests.hub import Hub
from tests.hub_client import Client
from tests.scripts.command import Ended

RELEASES = ("2603", "2605", "2607", "2609")
STEMS = (
    ("How likely is it that two marbles drawn without looking are both red?", "Which line meets the circle twice?"),
    ("Give the larger solution of the quadratic equation.", "In how many ways can six people sit at a table?"),
    ("How many faces has a cube that lost a corner?", "Name the capital of the largest country."),
    ("What does a train need to overtake a lorry?", "Of which metal is the coating of this tin?"),
)
TEXTS = dict(zip(RELEASES, STEMS, strict=True))
BASES = ("public", "private", "local")


def rows(release: str) -> list[dict[str, Any]]:
    """A free question and a choice with several right letters."""
    known = {"set": release, "subject": "math", "review": {"state": "accepted"}, "source": {"licence": "MIT"}}
    free, choice = TEXTS[release]
    return [
        {
            **known,
            "id": f"en_{release}_math_0001",
            "question": free,
            "answer": [f"secret {release}"],
            "solution": f"secret way {release}",
        },
        {
            **known,
            "id": f"en_{release}_math_0002",
            "question_type": "Multiple Choice",
            "question": choice,
            "options": ["this", "that", "neither", "both"],
            "answer": ["BD"],
            "solution": f"secret choice {release}",
        },
    ]


@dataclass
class Chain:
    """One line of releases on one pair of repositories.

    Attributes:
        published: releases whose answers a publish took.
        held: the release that the last publish held back.
        said: what became of each step.
    """

    hub: Hub
    client: Client
    folder: Path
    name: str
    published: list[str] = field(default_factory=list)
    held: str = ""
    said: list[str] = field(default_factory=list)

    @property
    def repo(self) -> str:
        return f"org/{self.name}"

    @property
    def keys(self) -> str:
        return f"org/{self.name}-keys"

    def step(self, release: str, base: str, hold: bool) -> None:
        """Builds and publishes a release; what is refused changes nothing, and the way that is advised then works."""
        took = self._build(release, base)
        ended = self.publish(release, hold)
        if ended.code and "would show them" in ended.err:
            took.append("refused to show the answers")
            self.unchanged_by(ended)
            ended = self.publish(release, hold, "--reveal-answers")
        if ended.code:
            assert "has not all that is published" in ended.err, ended.err
            took.append("refused, it lacks published rows")
            self.unchanged_by(ended)
            shutil.rmtree(self.built(release))
            took += self._build(release, "public")
            ended = self.publish(release, hold, "--reveal-answers")
        assert ended.code == 0, ended.err
        self.took(release, hold)
        self.said.append("; ".join(took) or "published")

    def took(self, release: str, hold: bool) -> None:
        """Notes that a publish went through."""
        self.published.append(release)
        self.held = release if hold else ""
        self.check()

    def built(self, release: str) -> Path:
        return self.folder / f"{self.name}-{release}"

    def publish(self, release: str, hold: bool, *more: str) -> Ended:
        """The command as a user gives it."""
        return self.client.livek12(*self.publish_line(release, hold), *(() if hold else more))

    def publish_line(self, release: str, hold: bool) -> list[str]:
        kept = ["--hold-answers", self.keys] if hold else []
        return ["publish", str(self.built(release)), "--repo", self.repo, *kept]

    def _build(self, release: str, base: str) -> list[str]:
        file, took = self.folder / f"{release}.jsonl", list[str]()
        file.write_text("".join(json.dumps(row) + "\n" for row in rows(release)))
        line = ["build", "livek12", "--source", str(file), "--out", str(self.built(release))]
        if self.published:
            place = {"public": self.repo, "local": str(self.built(self.published[-1]))}.get(base, self.keys)
            line += ["--base", place if base != "private" or self.hub.repo(self.keys).exists else self.repo]
        ended = self.client.livek12(*line)
        if ended.code:
            assert f"add --base-answers {self.keys}" in ended.err, ended.err
            took.append("refused without the answers")
            ended = self.client.livek12(*line, "--base-answers", self.keys)
        assert ended.code == 0, ended.err
        return took

    def unchanged_by(self, ended: Ended) -> None:
        """A refusal is one line, and leaves both heads as they were."""
        assert ended.code == 2 and len(ended.errors) == 1, ended.err
        self.check()

    def check(self) -> None:
        """No answer is lost, none is leaked."""
        content = Content()
        for repo in (self.repo, self.keys):
            for path, file in self._head(repo):
                if holds_records(path):
                    content.add(file, path.partition("/")[0])
        for release in self.published:
            for row in rows(release):
                told = content.questions["livek12", row["id"]]
                assert told.keys == {repr((row["answer"], []))} and told.entries["solution"] == 1, row["id"]
        if self.held:
            shown = self.hub.folder / "datasets" / self.repo
            hidden = f"secret {self.held}", f"secret way {self.held}", f"secret choice {self.held}"
            for file in (*(shown / "lfs").glob("*"), *(shown / "blobs").glob("*")):
                told_there = _text(file)
                assert not any(secret in told_there for secret in hidden), f"{file} tells {self.held}"

    def _head(self, repo: str) -> Iterator[tuple[str, Path]]:
        repository = self.hub.repo(repo)
        if repository.exists:
            yield from (
                (path, repository.content(entry)) for path, entry in repository.commit_of("main")["tree"].items()
            )


def _text(file: Path) -> str:
    """All that a file tells."""
    if file.read_bytes()[:4] == b"PAR1":
        return str(pq.read_table(file).to_pylist())
    return file.read_bytes().decode("utf-8", errors="replace")
