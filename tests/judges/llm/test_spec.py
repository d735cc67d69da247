"""What --judge may say, and what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.prices import Prices
from livek12.judges.llm.spec import parse_judge

PANEL = """
engine: openai
engine_args: {base_url: "http://h/v1"}
judges:
  - gpt-x
  - model: local/qwen-y
    engine: vllm
    engine_args: {}
    family: qwen
    price: {prompt: 1.25, cached: 0.125, completion: 10}
    sampling: {max_tokens: 9000}
  - model: gpt-x
size: 2
rule: majority
quorum: 2
spread: 0.4
families: {my-model: qwen}
"""


def test_rules_name_nobody() -> None:
    assert parse_judge("rules") is None


@pytest.mark.parametrize(
    ("text", "judges"),
    [
        ("gpt-x", [("gpt-x", "openai", {"base_url": "http://s/v1"})]),
        ("M,org/GPT-x", [(name, "openai", {"base_url": "http://s/v1"}) for name in ("M", "org/GPT-x")]),
        ("a, b,a", [("a", "openai", {"base_url": "http://s/v1"}), ("b", "openai", {"base_url": "http://s/v1"})]),
        ("a@openai:base_url=http://h:1/v1,concurrency=4,b@vllm",
         [("a", "openai", {"base_url": "http://h:1/v1", "concurrency": "4"}), ("b", "vllm", {"base_url": "http://s/v1"})]),
        ("org/a@main@openai:base_url=http://h/v1", [("org/a@main", "openai", {"base_url": "http://h/v1"})]),
        ('a@openai:base_url=http://h/v1,extra_body={"x": [1, 2]},b',
         [("a", "openai", {"base_url": "http://h/v1", "extra_body": '{"x": [1, 2]}'}),
          ("b", "openai", {"base_url": "http://s/v1"})]),
        ("Qwen/Qwen3-8B,qwen3-8b.Q4_K_M.gguf", [("Qwen/Qwen3-8B", "openai", {"base_url": "http://s/v1"})]),
        ("votes.jsonl@replay:pick=x", [("votes.jsonl", "replay", {"pick": "x"})]),
    ],
)  # fmt: skip
def test_judges_on_the_command_line(text: str, judges: list[tuple[str, str, dict[str, str]]]) -> None:
    panel = parse_judge(text, "openai", "base_url=http://s/v1")
    assert panel is not None
    assert [(judge.model, judge.engine, judge.engine_args) for judge in panel.judges] == judges


def test_a_judge_keeps_the_case_of_its_name() -> None:
    panel = parse_judge("M@openai:base_url=http://s/v1")
    assert panel is not None and [judge.name for judge in panel.judges] == ["M"]


def test_a_panel_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "panel.yaml"
    file.write_text(PANEL)
    panel = parse_judge(str(file), method="p3")
    assert panel is not None
    first, second = panel.judges
    assert (first.model, first.engine, first.engine_args) == ("gpt-x", "openai", {"base_url": "http://h/v1"})
    assert (second.engine, second.family, second.prices) == ("vllm", "qwen", Prices(1.25, 10.0, 0.125))
    assert (second.sampling.temperature, second.sampling.max_tokens) == (0.0, 9000)
    assert (panel.size, panel.rule, panel.quorum, panel.spread, panel.method) == (2, "majority", 2, 0.4, "p3")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (("judges:", "judge:"), "needs a list of judges"),
        (("rule: majority", "rule: most"), "rule is one of"),
        (("quorum: 2", "quorum: 0"), "quorum"),
        (("quorum: 2", "quorums: 2"), "unknown field 'quorums'"),
        (("size: 2", "size: two"), "size"),
        (("prompt: 1.25, ", ""), "price needs"),
        (("engine: vllm", "engine: vlm"), "choose one of"),
        (("max_tokens: 9000", "max_token: 9000"), "sampling"),
        (("max_tokens: 9000", "system_prompt: Be strict"), "no other system_prompt"),
        (("families: {my-model: qwen}", "families: [a]"), "families"),
        (("engine: openai", "engine: [openai"), "is not YAML"),
    ],
)
def test_a_file_that_is_no_panel(tmp_path: Path, change: tuple[str, str], problem: str) -> None:
    file = tmp_path / "panel.yml"
    file.write_text(PANEL.replace(*change))
    with pytest.raises(UserError, match=problem) as caught:
        parse_judge(str(file))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ((",",), "names nobody"),
        (("a@opnai:base_url=x",), "no such engine"),
        (("a", "opnai"), "choose one of"),
        (("a", "", "", "p4"), "choose one of"),
        (("rules", "openai"), "go with --judge MODEL"),
        (("missing.yaml",), "cannot be read"),
    ],
)
def test_judges_that_cannot_be(args: tuple[str, ...], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        parse_judge(*args)


def test_equal_panels_mark_equally_and_others_do_not() -> None:
    def version(text: str, **args: str) -> str:
        panel = parse_judge(text, "openai", "base_url=http://s/v1", **args)
        assert panel is not None
        return panel.version("p2", ("kmmmu_p2",), panel.size)

    assert version("a,b") == version("a,b,a")
    assert version("a,b") != version("a,c")
    assert version("a@openai:base_url=http://s/v1,concurrency=3") == version("a")
