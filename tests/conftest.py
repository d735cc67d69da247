"""What all tests share: where the real data lies, and what this machine can do."""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests import costs

ROOT = Path(__file__).resolve().parents[1]
pytest_plugins = ["tests.fixtures"]

SLOW_SECONDS = 300
"""A bound for a slow test by the clock, where `scripts/test.sh` bounds tests; none but pytest's own for `release`."""

STARTED = {"browser", "client", "hub", "served", "small_folder", "tiny_text", "tiny_qwen25_vl", "tiny_qwen3_vl"}
"""Fixtures that start a browser, a Hub or a model, or make one: whoever comes first pays for them."""

ENGINES = "tests/engines/"

# A busy machine is no failure: no test may depend on how fast it is.
settings.register_profile("livek12", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("livek12")

# A shell starts what runs behind it with Ctrl-C ignored, and every process of a test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as slow what `costs.json` lists or what starts something; the dearest files come first."""
    seconds = costs.listed()
    of_files, tests = Counter[Path](), Counter(item.path for item in items)
    for name, item in {costs.function_of(item.nodeid): item for item in items}.items():
        of_files[item.path] += seconds.get(name, 0.0)
    items.sort(key=lambda item: (-of_files[item.path], -tests[item.path]))
    for item in items:
        dear = costs.function_of(item.nodeid) in seconds or not STARTED.isdisjoint(getattr(item, "fixturenames", ()))
        if dear and not item.get_closest_marker("quick"):
            item.add_marker(pytest.mark.slow)
        if not item.get_closest_marker("timeout") and (item.get_closest_marker("slow") or _is_dear(item)):
            item.add_marker(pytest.mark.timeout(0 if _is_dear(item) else SLOW_SECONDS))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`: one process for all tests of engines, since each would import torch and vLLM."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return ENGINES if nodeid.startswith(ENGINES) else str(super()._split_scope(nodeid))

    return ByFile(config, log)


def _is_dear(item: pytest.Item) -> bool:
    return item.get_closest_marker("release") is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Release tests may take longer than `faulthandler_timeout`, which ends pytest."""
    if _is_dear(item):
        faulthandler.cancel_dump_traceback_later()


def pytest_collection_finish() -> None:
    """What is collected stays: engines that are closed, and commands, collect garbage without looking at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def own_garbage() -> Iterator[None]:
    """What a file has imported stays too: a collection takes a second where torch is loaded."""
    modules = len(sys.modules)
    yield
    if len(sys.modules) > modules or not gc.get_freeze_count():  # an engine that is closed unfreezes all
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real exams beside the repository; the test is skipped, saying so, where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("real data (../shared/data) is not beside the repository")
    return folder


@pytest.fixture(autouse=True)
def own_signals() -> Iterator[None]:
    """A command that ran here leaves its answer to SIGTERM behind: a forked pool would inherit it and hang."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is not before:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Decisions and judges' replies are remembered for this test run only, commands in processes of their own too."""
    before = os.environ.get("LIVEK12_CACHE")
    os.environ["LIVEK12_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    os.environ.pop("LIVEK12_CACHE")
    if before is not None:
        os.environ["LIVEK12_CACHE"] = before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB that is nearly full: removing `ballast` makes room. Needs the right to mount."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small tmpfs here: {mounted.stderr.decode().strip()}")
    try:
        (folder / "ballast").write_bytes(bytes(1_500_000))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def read_only(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Path], Path]]:
    """Shows a folder at another place where nobody can write, root neither. Needs the right to mount."""
    places: list[Path] = []

    def mounted(folder: Path) -> Path:
        place = tmp_path_factory.mktemp("read-only")
        done = subprocess.run(["mount", "--bind", "-o", "ro", folder, place], capture_output=True, check=False)
        if done.returncode:
            pytest.skip(f"cannot mount here: {done.stderr.decode().strip()}")
        places.append(place)
        return place

    yield mounted
    for place in places:
        subprocess.run(["umount", str(place)], check=True)
