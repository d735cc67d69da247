"""The backend `hf-jobs` up to the call: what would be submitted, and what the real `hf` says where no Hub is."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.scripts.command import livek12, livek12_here

SWEEP = """\
out: out
data: org/exam
tasks: [livek12_text_only]
backend: hf-jobs
hf_jobs: {bucket: org/runs, flavor: l4x1, package: "livek12[vllm] @ git+https://example.org/livek12"}
models:
  - {name: org/small, label: small, env: {A_B: "c d"}}
  - {name: org/other, label: other, sampling: {temperature: 0.6}}
"""


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweep.yaml").write_text(SWEEP)
    return tmp_path / "sweep.yaml"


def test_a_dry_run_shows_every_command_and_script(sweep: Path) -> None:
    ended = livek12_here("sweep", sweep, "--dry-run")
    assert ended.code == 0, ended.err
    commands = [shlex.split(line) for line in ended.out.splitlines() if line.startswith("hf jobs uv run ")]
    assert [words[words.index("--name") + 1] for words in commands] == ["livek12-small", "livek12-other"]
    for words in commands:
        assert words[words.index("--volume") + 1] == "hf://buckets/org/runs:/sweep"
        assert words[words.index("--flavor") + 1] == "l4x1" and words[words.index("--secrets") + 1] == "HF_TOKEN"
    assert commands[0][commands[0].index("--env") + 1] == "A_B=c d"
    scripts = ended.out.split("# /// script\n")[1:]
    assert len(scripts) == 2
    for script, label in zip(scripts, ("small", "other"), strict=True):
        body = script.split("# ///\n")[1].split("\nhf jobs uv run ")[0]
        compile(body, label, "exec")
        assert f'"--out=/sweep/{label}"' in body and '"--data=org/exam"' in body and '"run"' in body
        assert 'dependencies = ["livek12[vllm] @ git+https://example.org/livek12"]' in script
    assert not (sweep.parent / "out").exists(), "nothing is written"


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ("bucket: org/runs, ", "", "hf_jobs.bucket: is missing"),
        ("data: org/exam", "data: here", "the data set 'here' is not on the Hub"),
        ("name: org/small", "name: here", "the model 'here' is not on the Hub"),
        ("flavor: l4x1", "flavour: l4x1", "hf_jobs.flavour: there is no such key"),
    ],
)
def test_what_a_job_could_not_find_is_refused(was: str, now: str, told: str, sweep: Path) -> None:
    (sweep.parent / "here").mkdir()
    sweep.write_text(SWEEP.replace(was, now))
    ended = livek12_here("sweep", sweep, "--dry-run")
    assert (ended.code, len(ended.errors)) == (2, 1) and told in ended.err, ended.err


@pytest.mark.slow
def test_a_hub_that_is_not_there_is_one_line(sweep: Path) -> None:
    if shutil.which("hf") is None:
        pytest.skip("huggingface_hub's command is not on the path")
    where = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_TOKEN": "hf_none", "HF_HUB_DISABLE_TELEMETRY": "1"}
    ended = livek12("sweep", sweep, **where)
    assert (ended.code, len(ended.errors)) == (2, 1) and "`hf jobs uv run` refuses" in ended.err, ended.err
