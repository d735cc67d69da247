"""`livek12 publish` while the Hub fails, the network drops, somebody else commits, or the process is killed."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.dataset_builders.publishing_sets import make_set, page, question
from tests.hub import WRITER, Hub
from tests.hub_client import Client
from tests.scripts.command import COMMAND
from tests.scripts.test_publish import PUTS, files, history, tree

pytestmark = pytest.mark.slow

KILLS = 3
BARE: dict[str, Any] = {"paper_id": None, "page_numbers": [], "solution_images": [], "answer_images": []}
NO_WAITING = (
    "import types, time, huggingface_hub.utils._http as http\n"
    "from livek12.dataset_builders.publishing import remote\n"
    "http.time = types.SimpleNamespace(**{**vars(time), 'sleep': lambda seconds: None})\n"
    "remote.WAITS = (0.0, 0.0)"
)


@pytest.fixture(scope="module")
def client(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Client(hub, tmp_path_factory.mktemp("client") / "home") as process:
        process.python(NO_WAITING)
        yield process


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_set(tmp_path_factory.mktemp("data") / "small", [question("a"), question("old", "2603")], [page(1)])


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One question without a page or a picture: few tables are read back."""
    return make_set(tmp_path_factory.mktemp("data") / "bare", [question("a", **BARE)])


@pytest.mark.parametrize(
    ("path", "action", "times"),
    [
        ("/commit/", "503", 1),
        ("/commit/", "drop", 1),
        ("/commit/", "forget", 1),
        ("^/_lfs/.*[0-9a-f]{64}$", "500", 2),
        ("^/_lfs/.*[0-9a-f]{64}$", "drop", 1),
        ("^/_lfs/.*[0-9a-f]{64}$", "forget", 1),
        ("/objects/batch$", "502", 1),
        ("/preupload/", "429", 1),
        ("/tag/", "forget", 1),
        ("/tree/", "500", 1),
        ("/refs$", "drop", 1),
        ("/repos/create$", "forget", 1),
    ],
)
def test_a_passing_fault_costs_nothing(
    path: str, action: str, times: int, hub: Hub, client: Client, bare: Path, request: pytest.FixtureRequest
) -> None:
    repo = f"org/fault-{abs(hash(request.node.name))}"
    hub.fault(path, action, times=times)
    ended = client.livek12("publish", bare, "--repo", repo)
    assert ended.code == 0, ended.err
    assert tree(hub, repo) == tree(hub, repo, "2605") == files(bare)
    assert history(hub, repo) == ["Publish 2605", "initial commit"]


@pytest.mark.parametrize(
    ("path", "action", "said"),
    [
        ("/commit/", "503", "the Hub answered 503 again and again"),
        ("/commit/", "drop", "cannot be reached"),
        ("^/_lfs/.*[0-9a-f]{64}$", "500", "the Hub answered 500 again and again"),
        ("^/_lfs/.*[0-9a-f]{64}$", "drop", "cannot be reached"),
        ("/whoami-v2$", "500", "the Hub answered 500 again and again"),
        ("/commit/", "403", "may not write to"),
        ("/commit/", "422", "the Hub refused (422)"),
        ("/commit/", "401", "does not accept the token: log in again"),
        ("^/_lfs/.*[0-9a-f]{64}$", "403", "was refused (403): run the same command again"),
        ("/preupload/", "html", "is no Hub, or something stands before it"),
    ],
)
def test_a_lasting_fault_is_one_line_and_the_next_start_goes_on(
    path: str, action: str, said: str, hub: Hub, client: Client, bare: Path, request: pytest.FixtureRequest
) -> None:
    repo = f"org/lasting-{abs(hash(request.node.name))}"
    hub.fault(path, action, times=1000)
    ended = client.livek12("publish", bare, "--repo", repo)
    assert ended.code == 2 and len(ended.errors) == 1 and said in ended.err
    assert WRITER not in ended.out + ended.err
    if hub.repo(repo).exists:
        assert history(hub, repo) == ["initial commit"] and not tree(hub, repo)
    hub.calm()
    uploads = f"{PUTS}datasets/{repo}/"
    sent = len(hub.requests(uploads, 200))
    ended = client.livek12("publish", bare, "--repo", repo)
    assert ended.code == 0, ended.err
    assert tree(hub, repo) == files(bare)
    objects = sum(path.endswith(".parquet") for path in files(bare))
    assert len(hub.requests(uploads, 200)) == objects and sent in (0, objects)


def test_somebody_else_commits_meanwhile(hub: Hub, client: Client, small: Path, tmp_path: Path) -> None:
    assert client.livek12("publish", small, "--repo", "org/race").code == 0
    client.python(
        "from livek12.dataset_builders.publishing.remote import Repository\n"
        "kept = Repository.upload\n"
        "def upload(self, operations):\n"
        "    kept(self, operations)\n"
        "    file = {'path_or_fileobj': b'x', 'path_in_repo': 'x.csv'}\n"
        "    self._api.upload_file(repo_id='org/race', repo_type='dataset', **file)\n"
        "    Repository.upload = kept\n"
        "Repository.upload = upload"
    )
    hub.kill()
    hub.start()  # it keeps what it had
    newer = make_set(tmp_path / "newer", [question("a"), question("b", "2607")])
    ended = client.livek12("publish", newer, "--repo", "org/race", "--drop", "--remove", "image_only,pages")
    assert ended.code == 2 and len(ended.errors) == 1 and "org/race was changed by somebody else" in ended.err
    assert tree(hub, "org/race").keys() == {*files(small), "x.csv"}
    ended = client.livek12("publish", newer, "--repo", "org/race", "--drop", "--remove", "image_only,pages")
    assert ended.code == 0 and tree(hub, "org/race") == {**files(newer), "x.csv": b"x"}


@pytest.mark.parametrize(("moment", "said"), [("commit", "changed by somebody else"), ("tag", "the tag 2605 names")])
def test_somebody_else_is_faster(moment: str, said: str, hub: Hub, client: Client, bare: Path) -> None:
    """While the answer to a commit is lost somebody else commits; or somebody else takes the tag."""
    client.python(
        f"moment, repo = {moment!r}, dict(repo_id='org/faster-{moment}', repo_type='dataset')\n"
        "from livek12.dataset_builders.publishing.remote import Repository, Unanswered\n"
        "kept = getattr(Repository, moment)\n"
        "def late(self, *args):\n"
        "    setattr(Repository, moment, kept)\n"
        "    if moment == 'tag':\n"
        "        first = self._api.list_repo_commits(**repo)[-1].commit_id\n"
        "        self._api.create_tag(**repo, tag=args[0], revision=first)\n"
        "        return kept(self, *args)\n"
        "    kept(self, *args)\n"
        "    self._api.upload_file(**repo, path_or_fileobj=b'x', path_in_repo='README.md')\n"
        "    raise Unanswered('lost')\n"
        "setattr(Repository, moment, late)"
    )
    ended = client.livek12("publish", bare, "--repo", f"org/faster-{moment}")
    assert ended.code == 2 and len(ended.errors) == 1 and said in ended.err
    assert client.livek12("publish", bare, "--repo", f"org/faster-{moment}", "--tag", "mine").code == 0


def test_a_repository_with_a_new_name(hub: Hub, client: Client, small: Path) -> None:
    client.python(
        "from huggingface_hub import HfApi\nHfApi().create_repo('org/new', repo_type='dataset', private=True)"
    )
    hub.fault("org/old", "move:org/old:org/new", times=1000)
    ended = client.livek12("publish", small, "--repo", "org/old", "--private", "--hold-answers", "org/new")
    assert ended.code == 2 and "are one repository: org/new" in ended.err
    ended = client.livek12("publish", small, "--repo", "org/old")
    hub.calm()
    assert ended.code == 0 and "org/old is called org/new on the Hub by now" in ended.out
    assert tree(hub, "org/new") == files(small) and not hub.repo("org/old").exists


def test_what_comes_back_otherwise_is_told(hub: Hub, client: Client, small: Path, tmp_path: Path) -> None:
    assert client.livek12("publish", small, "--repo", "org/tampered").code == 0
    repo = hub.repo("org/tampered")
    other = make_set(tmp_path / "other", [question("a", points=1.0), question("old", "2603")], [page(1)])
    name = "text_only/en_2605-00000-of-00001.parquet"
    repo.content(repo.commit_of("main")["tree"][name]).write_bytes((other / name).read_bytes())
    ended = client.livek12("publish", small, "--repo", "org/tampered")
    assert ended.code == 2 and len(ended.errors) == 1
    assert "not the same when loaded back" in ended.err or "does not load" in ended.err


def test_no_hub_is_one_line(bare: Path, tmp_path: Path) -> None:
    hub = Hub(tmp_path / "hub").start()
    with Client(hub, tmp_path / "home") as client:
        hub.kill()
        for more in ((), ("--dry-run",)):
            ended = client.livek12("publish", bare, "--repo", "org/set", *more)
            assert ended.code == 2 and len(ended.errors) == 1
            assert "cannot be reached" in ended.err and "check the network and HF_ENDPOINT" in ended.err
        client.python("import huggingface_hub.constants as constants\nconstants.HF_HUB_OFFLINE = True")
        ended = client.livek12("publish", bare, "--repo", "org/set")
    assert ended.code == 2 and "HF_HUB_OFFLINE is set" in ended.err


def test_the_token_is_nowhere(hub: Hub, bare: Path, tmp_path: Path) -> None:
    with Client(hub, tmp_path / "home") as client:
        client.python(NO_WAITING)
        ended = client.livek12("publish", bare, "--repo", "org/token", "--json")
        assert ended.code == 0
        said = [ended.out, ended.err]
        for path, action in (("/commit/", "422"), ("/refs$", "500"), ("/commit/", "drop"), ("/tag/", "403")):
            hub.fault(path, action, times=3)
            ended = client.livek12("publish", bare, "--repo", f"org/token-{action}")
            said += [ended.out, ended.err]
        echoed = client.python(
            "from livek12.dataset_builders.publishing.remote import Repository\n"
            "repository = Repository('org/token')\n"
            f"result = str(repository._said(RuntimeError('Bad header Bearer {WRITER} for you')))"
        )
        assert "Bad header" in echoed
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.name != "token":
            said.append(file.read_bytes().decode(errors="replace"))
    said += [echoed, *(f.read_bytes().decode(errors="replace") for f in bare.rglob("*") if f.is_file())]
    said += [hub.requests.__doc__ or "", (hub.folder / "requests.jsonl").read_text()]
    assert not [text for text in said if WRITER in text]


@pytest.mark.release
def test_killed_at_random_moments_it_ends_with_the_same_tree(tmp_path: Path) -> None:
    folder = make_set(tmp_path / "set", [question(f"q{n}", f"26{n:02}", **BARE) for n in range(1, 7)])
    with Hub(tmp_path / "hub") as hub, Client(hub, tmp_path / "client") as client:
        environment = hub.environment(tmp_path / "home", WRITER)
        hub.fault("^/_lfs/.*[0-9a-f]{64}$", "slow:0.05", times=10_000)
        assert client.livek12("publish", folder, "--repo", "org/calm").code == 0
        calm = hub.repo("org/calm")
        tables = [entry for path, entry in calm.commit_of("main")["tree"].items() if path.endswith(".parquet")]
        objects = len({calm.content(entry).read_bytes() for entry in tables})
        hits = _killed_often(hub, folder, "org/rough", environment, objects)
        assert client.livek12("publish", folder, "--repo", "org/rough").code == 0
        assert hits > KILLS // 2, "the kills came too late to prove anything"
        assert tree(hub, "org/rough") == tree(hub, "org/calm") == files(folder)
        assert history(hub, "org/rough") == ["Publish 2606", "initial commit"]
        sent = Counter(row["path"] for row in hub.requests(f"{PUTS}datasets/org/rough/", 200))
        assert len(sent) == objects and set(sent.values()) == {1}, "sent again what the Hub had"


def _killed_often(hub: Hub, folder: Path, repo: str, environment: dict[str, str], objects: int) -> int:
    """Starts the publish again and again and kills it; most kills fall while a random number of objects is there.

    Returns:
        How often it was still running.
    """
    import os

    hits, stored = 0, hub.folder / "datasets" / repo / "lfs"
    targets: list[int | None] = [*sorted(random.choices(range(1, objects + 1), k=KILLS - 2)), None, None]
    for target in targets:
        child = subprocess.Popen(
            [*COMMAND, "publish", str(folder), "--repo", repo],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            env={**os.environ, **environment},
        )
        if target is None:
            time.sleep(random.uniform(0.3, 2.5))
        else:
            while child.poll() is None and len(list(stored.glob("[0-9a-f]*"))) < target:
                time.sleep(0.005)
        hits += child.poll() is None
        child.kill()
        child.wait()
    return hits


if __name__ == "__main__":
    KILLS = int(sys.argv[1])
    test_killed_at_random_moments_it_ends_with_the_same_tree(Path(sys.argv[2]))
