"""`--top-p`, `--top-k`, `--system-prompt` reach the model, belong to the run, and are refused where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.core.run.folder import RunFolder
from livek12.evaluation.sweep import read_plan
from tests.engines.scripted_server import Script, good, serving
from tests.scripts.command import Ended, livek12_here

TASK = "livek12_text_only_en"
CHOICES = ("--top-p", 0.9, "--top-k", 20, "--system-prompt", "Be brief.\nSay B.")


def run(url: str, data: Path, out: Path, *more: object) -> Ended:
    how = ("--model", "m", "--engine", "openai", "--engine-args", f"base_url={url}")
    return livek12_here("run", "--task", TASK, "--data", data, *how, "--limit", 1, "--out", out, *more)


def test_they_reach_the_model_and_belong_to_the_run(data: Path, tmp_path: Path) -> None:
    script = Script(lambda question, before: good("B"))
    with serving(script) as url:
        assert run(url, data, tmp_path / "run", *CHOICES).code == 0
        assert run(url, data, tmp_path / "run", *CHOICES).code == 0
        other = run(url, data, tmp_path / "run", *CHOICES[:-1], "Be long.")
        without = run(url, data, tmp_path / "run")
    assert len(script.seen) == 1
    body = script.seen[0].body
    assert (body["top_p"], body["top_k"]) == (0.9, 20)
    assert body["messages"][0] == {"role": "system", "content": "Be brief.\nSay B."}
    assert RunFolder.open(tmp_path / "run").spec().tasks[0].sampling.system_prompt == "Be brief.\nSay B."
    for ended in (other, without):
        assert ended.code == 2
        assert "sampling of livek12_text_only_en was" in ended.errors[0]


def test_a_run_from_before_goes_on(data: Path, tmp_path: Path) -> None:
    script = Script(lambda question, before: good("B"))
    with serving(script) as url:
        assert run(url, data, tmp_path / "run").code == 0
        assert "system_prompt" not in (tmp_path / "run" / "run.json").read_text(), "a folder as older versions write it"
        assert run(url, data, tmp_path / "run").code == 0
    assert len(script.seen) == 1


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (("--top-p", 0), "--top-p 0.0 is not a number above 0"),
        (("--top-p", 1.5), "--top-p 1.5 is not a number above 0"),
        (("--top-p", "nan"), "--top-p nan is not a number above 0"),
        (("--top-k", -1), "--top-k"),
        (("--temperature", "nan"), "--temperature"),
        (("--temperature", "inf"), "--temperature inf is not a number from 0"),
        (("--system-prompt", "x", "--engine", "replay"), "--system-prompt says nothing about them"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    choice: tuple[object, ...], said: str, data: Path, tmp_path: Path
) -> None:
    ended = run("http://127.0.0.1:1/v1", data, tmp_path / "run", *choice)
    assert ended.code == 2
    (line,) = ended.errors
    assert said in line
    assert not (tmp_path / "run").exists()


@pytest.mark.release
def test_a_sweep_sets_them_too(data: Path, tmp_path: Path) -> None:
    script = Script(lambda question, before: good("B"))
    file = tmp_path / "sweep.yaml"
    with serving(script) as url:
        file.write_text(
            f"""out: {tmp_path / "out"}
data: {data}
tasks: [{TASK}]
limit: 1
sampling: {{top_p: 0.9, top_k: 20, system_prompt: ""}}
models:
  - {{name: m, label: told, engine: openai, engine_args: {{base_url: "{url}"}}, sampling: {{system_prompt: "-a\\nb"}}}}
  - {{name: m, label: untold, engine: openai, engine_args: {{base_url: "{url}"}}}}
"""
        )
        ended = livek12_here("sweep", file)
    assert ended.code == 0, ended.err
    assert [run.sampling["system_prompt"] for run in read_plan(file).runs] == ["-a\nb", ""]
    assert sorted(seen.body["messages"][0]["content"] for seen in script.seen) == ["", "-a\nb"]
    assert {(seen.body["top_p"], seen.body["top_k"]) for seen in script.seen} == {(0.9, 20)}
