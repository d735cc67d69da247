"""Which engine `auto` is, and what goes wrong before there is one."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.engines import choose_engine, make_engine, vllm_runs_here
from livek12.engines.pool import replicas


@pytest.fixture(autouse=True)
def _no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize("name", ["vllm", "transformers"])
def test_the_replicas_of_a_pool_are_bare_engines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And can travel: one that was built again within a replica would fail what the others can do."""
    made: list[tuple[object, ...]] = []
    monkeypatch.setattr(replicas, "pooled", lambda *given: made.append(pickle.loads(pickle.dumps(given))))
    args = {"replicas": "2", "ray": "auto", "revision": "v1"}
    make_engine(name, "org/model", args)
    ((_, build, placing, others),) = made
    assert isinstance(build, partial)
    assert build.func is kind_of(name).build()
    assert (build.args, build.keywords) == (("org/model",), {"revision": "v1"})
    assert (placing, others) == ({"ray": "auto", "replicas": 2}, {"revision": "v1"})


@pytest.mark.parametrize(
    ("name", "args", "spread"),
    [
        ("vllm", {"gpus": "4"}, {"tensor_parallel_size": 4}),
        ("vllm", {"gpus": "4", "replicas": "2"}, {"tensor_parallel_size": 4}),
        ("vllm", {"gpus": "4", "pipeline_parallel_size": "2"}, {"pipeline_parallel_size": 2}),
        ("vllm", {"gpus": "4", "tensor_parallel_size": "2"}, {"tensor_parallel_size": 2}),
        ("vllm", {"gpus": "1", "ray": "auto"}, {}),
        ("vllm", {"gpus": "0.5"}, {}),
        ("transformers", {"gpus": "4"}, {}),
    ],
)
def test_an_engine_that_is_given_several_gpus_spreads_over_them(
    name: str, args: dict[str, str], spread: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[object, ...]] = []
    monkeypatch.setattr(replicas, "pooled", lambda *given: made.append(given))
    make_engine(name, "org/model", args)
    ((_, build, _, values),) = made
    assert isinstance(build, partial)
    assert values == build.keywords == spread


def test_recorded_responses_replay(tmp_path: Path) -> None:
    file = tmp_path / "recorded.jsonl"
    file.write_text('{"id": "a", "text": "4"}\n')
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "responses-0.jsonl").write_text(file.read_text())
    assert choose_engine(str(file), {"base_url": "http://x"}) == "replay"
    assert choose_engine(str(tmp_path / "run"), {}) == "replay"
    engine = make_engine("auto", str(file), {})
    assert (engine.name, engine.model) == ("replay", "recorded")


def test_an_address_means_openai(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_engine("m", {"base_url": "http://127.0.0.1:9/v1"}) == "openai"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert choose_engine("m", {}) == "openai"


def test_a_served_vllm_is_an_openai_endpoint() -> None:
    engine = make_engine("vllm", "m", {"base_url": "http://127.0.0.1:9/v1"})
    assert engine.name == "openai"
    engine.close()


def test_a_model_runs_in_vllm_where_that_runs_else_in_transformers() -> None:
    assert choose_engine("org/model", {}) == ("vllm" if vllm_runs_here() else "transformers")
    assert choose_engine("model.gguf", {}) == "transformers"


@pytest.mark.parametrize(
    ("name", "model", "says"),
    [
        ("vlllm", "m", "there is no engine 'vlllm'; there are auto, vllm"),
        ("openai", "m", "needs an address"),
        ("replay", "nowhere", "nowhere: is neither a file of recorded responses nor a folder"),
    ],
)
def test_what_cannot_be_built_says_so_in_one_line(name: str, model: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        make_engine(name, model, {})
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_the_package_imports_no_heavy_library() -> None:
    heavy = ("torch", "vllm", "transformers", "openai", "PIL", "numpy", "datasets")
    code = f"import sys, livek12.engines as e; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
