"""The panels that come with livek12: what they name, where they run, and what is refused."""

from __future__ import annotations

import json

import pytest
import yaml

from livek12.core.errors import UserError
from livek12.judges.llm.families import families_of
from livek12.judges.llm.spec import FOLDER, parse_judge, shipped_panels
from tests.scripts.command import livek12_here

NAMES = sorted(file.stem for file in FOLDER.glob("*.yaml"))


@pytest.fixture(autouse=True)
def _no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_panel_draws_three_of_four_families_that_the_table_knows_and_says_what_it_needs(name: str) -> None:
    said = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    assert len({judge["family"] for judge in said["judges"]}) == len(said["judges"]) == 4
    assert said["size"] == 3
    for judge in said["judges"]:
        assert families_of(judge["model"]) == {judge["family"]}
        assert judge["licence"] and judge["gpu_gb"] > judge["weights_gb"] > 0


def test_the_panels_are_the_same_families_in_two_sizes() -> None:
    small, large = shipped_panels().items()
    assert (small[0], large[0]) == ("small", "large")
    pairs = list(zip(small[1]["judges"], large[1]["judges"], strict=True))
    assert all(a["family"] == b["family"] and a["weights_gb"] < b["weights_gb"] for a, b in pairs)


def test_its_judges_run_in_vllm_with_its_arguments_and_those_of_the_user_go_before() -> None:
    panel = parse_judge("panel:large", "", "tensor_parallel_size=2,max_model_len=16384")
    assert panel is not None
    assert {judge.engine for judge in panel.judges} == {"vllm"}
    mistral = panel.judges[2]
    assert mistral.engine_args["tokenizer_mode"] == "mistral"
    assert (mistral.engine_args["tensor_parallel_size"], mistral.engine_args["max_model_len"]) == ("2", "16384")


@pytest.mark.parametrize("engine", ["", "auto", "openai", "vllm"])
def test_at_an_endpoint_they_are_asked_without_the_arguments_of_vllm(engine: str) -> None:
    panel = parse_judge("panel:small", engine, "base_url=http://h/v1", method="p3")
    assert panel is not None
    assert panel.method == "p3"
    assert [judge.engine_args for judge in panel.judges] == [{"base_url": "http://h/v1"}] * 4


@pytest.mark.parametrize(
    ("text", "engine", "problem"),
    [
        ("panel:huge", "", "panel:huge: there is no such panel; there are large, small"),
        ("panel:", "", "there is no such panel"),
        ("panel:../panels/small", "", "there is no such panel"),
        ("panel:small", "openai", "panel:small: no endpoint is named: give --judge-engine-args base_url=URL"),
    ],
)
def test_what_is_refused_in_one_line(text: str, engine: str, problem: str) -> None:
    with pytest.raises(UserError, match=problem) as caught:
        parse_judge(text, engine)
    assert "\n" not in str(caught.value)


def test_tasks_lists_the_panels() -> None:
    shown = livek12_here("tasks", "--judges")
    told = json.loads(livek12_here("tasks", "--judges", "--json").out)
    assert [panel["name"] for panel in told] == ["small", "large"]
    for panel in told:
        assert f"panel:{panel['name']}" in shown.out
        assert all(judge["model"] in shown.out and judge["licence"] in shown.out for judge in panel["judges"])
