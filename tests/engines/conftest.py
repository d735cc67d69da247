"""The models that the engine tests run, made or fetched once; a test that cannot have its model is skipped."""

from __future__ import annotations

import functools
import gc
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.engines.small_model import fetch_small_model, serve_gguf
from livek12.engines.torch_builds import mend_torch_builds


def tiny(name: str, folder: Path) -> Path:
    """A model of random weights; what makes it is not in the wheel, unlike all else that tests import."""
    from livek12.scripts.bench.models import make_model

    return make_model(name, folder)


def needs(*modules: str) -> None:
    """Skips the test, naming what is missing."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def needs_transformers(*more: str) -> None:
    """Skips the test where transformers is missing; readies torch's companions where it is there."""
    needs("torch", "transformers", *more)
    _import_transformers()


@functools.cache
def _import_transformers() -> None:
    """Each engine that is closed collects garbage, and would look at all of torch again."""
    mend_torch_builds()
    import torch  # noqa: F401
    from transformers import AutoModelForCausalLM, AutoProcessor  # noqa: F401

    gc.freeze()


@pytest.fixture(scope="session")
def cache() -> Path:
    """Where fetched models stay between test runs: LIVEK12_TEST_CACHE, else a folder of the user's cache."""
    return Path(os.environ.get("LIVEK12_TEST_CACHE") or Path.home() / ".cache" / "livek12-tests")


@pytest.fixture(scope="session")
def small_gguf(cache: Path) -> Path:
    """The genuine small model."""
    try:
        return fetch_small_model(cache)
    except UserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def served(small_gguf: Path) -> Iterator[str]:
    """Address of an OpenAI-compatible server that runs the genuine small model."""
    needs("xllamacpp")
    with serve_gguf(small_gguf, context=1024, slots=2) as address:
        yield address


@pytest.fixture(scope="session")
def small_folder(small_gguf: Path, cache: Path) -> Path:
    """The genuine small model as safetensors, converted once, by a process of its own as in the benchmarks."""
    needs_transformers("gguf")
    from livek12.scripts.bench.models import small_model_folder

    code = "import sys, pathlib; from livek12.scripts.bench.models import small_model_folder as made; "
    code += "made(*map(pathlib.Path, sys.argv[1:]))"
    subprocess.run([sys.executable, "-c", code, small_gguf, cache], check=True)
    return small_model_folder(small_gguf, cache)


@pytest.fixture(scope="session")
def tiny_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that reads text only."""
    needs_transformers()
    return tiny("tiny", tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="session")
def tiny_qwen25_vl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen2.5-VL."""
    needs_transformers("torchvision")
    return tiny("tiny-qwen2.5-vl", tmp_path_factory.mktemp("qwen25_vl"))


@pytest.fixture(scope="session")
def tiny_qwen3_vl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Qwen3-VL."""
    needs_transformers("torchvision")
    return tiny("tiny-qwen3-vl", tmp_path_factory.mktemp("qwen3_vl"))
