"""The package silences what libraries report, in this process and in its children; what a person set is left alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from livek12.core.silence import SILENT
from tests.engines.conftest import needs

UNDERSTOOD = {
    "huggingface_hub": "from huggingface_hub import constants as c; print(c.HF_HUB_DISABLE_TELEMETRY)",
    "datasets": "from datasets import config; print(not config.HF_UPDATE_DOWNLOAD_COUNTS)",
    "evaluate": (
        "from livek12.engines.torch_builds import mend_torch_builds; mend_torch_builds()\n"
        "from evaluate import config; print(not config.HF_UPDATE_DOWNLOAD_COUNTS)"
    ),
    "ray": "from ray._common.usage import usage_lib; print(not usage_lib.usage_stats_enabled())",
    "vllm": "from vllm.usage.usage_lib import is_usage_stats_enabled as on; print(not on())",
}


def said_by(code: str, **environment: str) -> str:
    ours = {name: value for name, value in os.environ.items() if name not in SILENT}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**ours, **environment}
    )
    return done.stdout.strip().splitlines()[-1]


def test_children_inherit_it_and_what_was_set_stays() -> None:
    code = "import livek12, os, subprocess; print(subprocess.check_output(['env'], text=True).replace('\\n', ';'))"
    inherited = said_by(code, RAY_USAGE_STATS_ENABLED="1").split(";")
    assert "RAY_USAGE_STATS_ENABLED=1" in inherited
    assert {f"{name}={value}" for name, value in SILENT.items() if not name.startswith("RAY_")} <= set(inherited)


@pytest.fixture(scope="module")
def understood() -> dict[str, str]:
    """What each library prints, all in one process: most of them import torch."""
    code = (
        "import livek12, contextlib, io, json, traceback\n"
        "lines = {}\n"
        f"for library, code in {UNDERSTOOD!r}.items():\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        try: exec(code, {})\n"
        "        except Exception: print(traceback.format_exc())\n"
        "    lines[library] = (out.getvalue().strip().splitlines() or [''])[-1]\n"
        "print(json.dumps(lines))"
    )
    lines: dict[str, str] = json.loads(said_by(code))
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("library", UNDERSTOOD)
@pytest.mark.release
def test_the_library_understands_it(library: str, understood: dict[str, str]) -> None:
    needs(library)
    assert understood[library] == "True"
