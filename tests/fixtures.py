"""Fixtures that tests of commands share: a browser, a Hub, the built sample, and a run of it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livek12.core.run.folder import RunFolder
from livek12.evaluation.asking import ask
from livek12.evaluation.options import RunOptions
from tests.endpoint import oracle_at
from tests.hub import WRITER, Hub
from tests.hub_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser; tests are skipped where there is none."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium on this machine")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A Hub on this machine."""
    with Hub(tmp_path_factory.mktemp("hub")) as server:
        yield server


@pytest.fixture(scope="module")
def client(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A process that keeps its imports, and commands run in it against that Hub."""
    with Client(hub, tmp_path_factory.mktemp("client") / "home") as process:
        yield process


@pytest.fixture
def logged_in(client: Client) -> Iterator[Client]:
    """The client with the writer's token, at the end too."""
    client.log_in(WRITER)
    yield client
    client.log_in(WRITER)


@pytest.fixture
def oracle(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """The address of a model that knows the keys, and the log of what is asked."""
    (log := tmp_path / "asked").touch()
    with oracle_at(log) as address:
        yield address, log


Shared = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Shared:
    """Makes a folder once for all processes of a test run; none of its tests may change it."""
    room = tmp_path_factory.getbasetemp()
    room = (room.parent if "PYTEST_XDIST_WORKER" in os.environ else room) / "shared"
    room.mkdir(exist_ok=True)

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, done = room / name, room / f"{name}.done"
        with (room / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not done.exists():
                make(folder)
                done.touch()
        return folder

    return made


@pytest.fixture(scope="session")
def cfe_data(shared: Shared, shared_data: Path) -> str:
    """CFE-Bench's real rows as a data set."""
    return _built(shared, "cfe", shared_data / "cfe_bench")


@pytest.fixture(scope="session")
def gaokao_mm_data(shared: Shared, shared_data: Path) -> str:
    """Real exam questions with figures as a livek12 data set."""
    return _built(shared, "livek12", shared_data / "gaokao_mm")


def _built(shared: Shared, benchmark: str, source: Path) -> str:
    from livek12.dataset_builders import build

    return str(shared(source.name, lambda folder: build(benchmark, str(source), folder)))


@pytest.fixture(scope="session")
def built_sample(shared: Shared) -> Iterator[Path]:
    """The sample that ships inside, built once for all tests; none may change it."""
    from livek12.dataset_builders import build

    folder = shared("sample", lambda place: build("sample", "", place))
    before = _contents(folder)
    yield folder
    assert _contents(folder) == before, "a test changed the sample that all share"


def _contents(folder: Path) -> dict[str, str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.fixture(scope="session")
def data(built_sample: Path) -> Path:
    """The built sample; modules whose data are others make their own."""
    return built_sample


TASKS = "livek12,kmmmu,cfe_text,mdk12"


@pytest.fixture
def tasks() -> str:
    """The tasks of the run."""
    return TASKS


@pytest.fixture
def run(data: Path, tmp_path: Path, tasks: str) -> RunFolder:
    """A run whose answers are prose that no rule can read, but for one question in three."""
    from livek12.core.questions import load_questions
    from livek12.tasks.registry import get_tasks

    rows = []
    for task in get_tasks(tasks):
        for number, asked in enumerate(load_questions(data, task.configs, task.benchmark)):
            right = "\\boxed{" + (asked.answer or ["?"])[0] + "}"
            prose = f"Of question {asked.id} one may think much.\n\nIn the end it comes to something.\n\nSo be it."
            rows.append({"task": task.name, "question_id": asked.id, "response": right if number % 3 == 0 else prose})
    file = tmp_path / "recorded.jsonl"
    file.write_text("".join(json.dumps(row | {"model": "gpt-x"}) + "\n" for row in rows))
    folder, _ = ask(RunOptions(tasks, str(file), tmp_path / "run", str(data), "replay", trials=1), {})
    return folder
