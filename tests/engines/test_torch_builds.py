"""Companions of torch that fail to import, as pip installs them beside a CPU build."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines.conftest import needs

CHECK = """
import importlib.util, torch
if torch.version.cuda is not None:
    print("cuda"); raise SystemExit
from livek12.engines.torch_builds import mend_torch_builds
mend_torch_builds()
mend_torch_builds()
print([name for name in ("torchaudio", "torchcodec") if importlib.util.find_spec(name)])
import transformers
from transformers.utils import is_torchaudio_available
print(is_torchaudio_available())
from transformers.image_utils import load_image
"""


@pytest.mark.slow
@pytest.mark.release
def test_broken_companions_are_hidden_and_torchvision_imports(tmp_path: Path) -> None:
    needs("torch", "transformers")
    for name in ("torchaudio", "torchcodec"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise OSError('libcudart.so.13: cannot open shared object file')")
        (tmp_path / f"{name}-9.0.dist-info").mkdir()
        (tmp_path / f"{name}-9.0.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n"
        )
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{CHECK}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    if run.stdout == "cuda\n":
        pytest.skip("torch is a CUDA build here, and its companions fit it")
    assert run.stdout == "[]\nFalse\n"
