"""Thinking text apart from the answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.engines.thinking import TAGS, Thinking, without
from tests.seconds import within


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("The answer is 4.", None, "The answer is 4."),
        (" two lines\n kept ", None, " two lines\n kept "),
        ("<think>\n2+2\n</think>\n\n4", "2+2", "4"),
        ("<think></think>4", None, "4"),
        ("2+2 is \\boxed{5}? no\n</think>\n4", "2+2 is \\boxed{5}? no", "4"),
        ("<think>I guess \\boxed{5}", "I guess \\boxed{5}", ""),
        ("First. <think>hm</think> Then 4.", "hm", "First.\nThen 4."),
        ("So 4. <think>or was it", "or was it", "So 4."),
        ("<think>a<think>b</think>c</think>d", "a\nb\nc", "d"),
        ("a</think>b</think>c", "a\nb", "c"),
        ("◁think▷두 개◁/think▷정답은 ④", "두 개", "정답은 ④"),
        ("[THINK]想[/THINK]故选B", "想", "故选B"),
        ("<|START_THINKING|>x<|END_THINKING|>y", "x", "y"),
        ("<|channel>thought\nx<channel|>y", "x", "y"),
        (
            "<|channel|>analysis<|message|>2+2<|end|><|start|>assistant<|channel|>final<|message|>4<|return|>",
            "2+2",
            "4",
        ),
        ("<|channel|>analysis<|message|>cut off here", "cut off here", ""),
        ("<|channel|>analysis<|message|>2+2<|end|><|start|>assistant", "2+2", ""),
        ("<|channel|>analysis<|message|>2+2<|end|><|start|>assistant<|channel|>fin", "2+2", ""),
        ("<|channel|>ana", None, ""),
        ("analysisWe add.assistantfinal4", "We add.", "4"),
        ("analysis2+2assistantfinal4", "2+2", "4"),
        ("analysisWe add and", "We add and", ""),
        ("analysisso 2+2 is 4", "so 2+2 is 4", ""),
        ("We add.assistantfinal4", "We add.", "4"),
        ("analysisWe add.assistantcommentary to=f{}assistantanalysis2+2assistantfinal4", "We add.\nto=f{}\n2+2", "4"),
        ("finally 4", None, "finally 4"),
        ("2+2<|end|><|start|>assistant<|channel|>final<|message|>4", "2+2", "4"),
        ("<THINK>a</Think >4", "a", "4"),
        ("<think>a</thinking>4", "a", "4"),
        ("<think>a <thinking>b</thinking> c", "a\nb\nc", ""),
        ("<think>a <thinking>b</thinking> c</think>4", "a\nb\nc", "4"),
        ("<think>a</think>4[THINK]b[/THINK]5", "a\nb", "4\n5"),
        ("analysis shows that it is 4", None, "analysis shows that it is 4"),
        ("<|channel|>final<|message|>4", None, "4"),
        (
            "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>"
            "<|start|>assistant<|channel|>final<|message|>4",
            "{}",
            "4",
        ),
        ("<|think|>2+2<|end|><|begin|>assistant<|content|>4<|end|>", "2+2", "4"),
        ("<|begin|>assistant<|think|>2+2<|end|><|begin|>assistant<|content|>", "2+2", ""),
        ("<|begin|>assistant<|content|>4", None, "4"),
        ("<|think|>2+2 is", "2+2 is", ""),
        ("<|im_start|>assistant/think\n2+2<|im_end|>\n<|im_start|>assistant\n4", "2+2", "4"),
        ("2+2<|im_end|>\n<|im_start|>assistant\n4<|im_end|>", "2+2", "4"),
        ("/think\n2+2\nassistant\n4", "2+2", "4"),
        ("/think\n2+2 is", "2+2 is", ""),
        ("Ask your assistant\n4", None, "Ask your assistant\n4"),
        ("Here is my thought process: 2+2. Here's my response: 4", "2+2.", "4"),
        ("Here’s my thought process: 2+2", "2+2", ""),
        ("So here is my thought process: 4", None, "So here is my thought process: 4"),
        ("Here are my reasoning steps:\n2+2\n[BEGIN FINAL RESPONSE]\n4\n[END FINAL RESPONSE]", "2+2", "4"),
        ("Here are my reasoning steps:\n2+2", "2+2", ""),
        ("2+2\n[BEGIN FINAL RESPONSE]4", "2+2", "4"),
    ],
)
def test_usual_tags(text: str, reasoning: str | None, answer: str) -> None:
    assert Thinking().split(text) == (reasoning, answer)


def test_a_template_that_opened_the_tag() -> None:
    thinking = Thinking()
    assert thinking.opened_by("<|im_start|>assistant\n<think>\n")
    assert not thinking.opened_by("<think>\n\n</think>\n\n")
    assert not thinking.opened_by(None)
    assert thinking.split("2+2</think>4", opened=True) == ("2+2", "4")
    assert thinking.split("still going", opened=True) == ("still going", "")
    assert thinking.opened_by("<|im_start|>assistant/think\n")
    assert thinking.split("2+2\nassistant\n4", opened=True) == ("2+2", "4")
    assert thinking.opened_by("Here are my reasoning steps:\n")


def test_own_tags_and_no_others() -> None:
    thinking = Thinking("<scratch>", "</scratch>")
    assert thinking.split("<scratch>a</scratch><think>b</think>") == ("a", "<think>b</think>")
    assert Thinking("[THINK]").tags == (("[THINK]", "[/THINK]"),)
    assert Thinking(end="◁/think▷").tags == (("◁think▷", "◁/think▷"),)


def test_special_tokens_are_kept_only_where_tags_are_made_of_them() -> None:
    def tokenizer(*roles: str, others: tuple[str, ...] = ()) -> Any:
        added = {number: SimpleNamespace(content=token, special=True) for number, token in enumerate(others)}
        return SimpleNamespace(all_special_tokens=list(roles), added_tokens_decoder=added)

    thinking = Thinking()
    assert thinking.kept(tokenizer("</s>", "[THINK]")) == ["</s>", "[THINK]"]
    assert thinking.kept(tokenizer("<|return|>", others=("<|channel|>",))) == ["<|return|>", "<|channel|>"]
    assert thinking.kept(tokenizer("</s>", others=("<unk>",))) == []
    assert thinking.kept(SimpleNamespace(all_special_tokens=["</s>"])) == []
    assert without("4</s>", ["</s>", "[THINK]"]) == "4"


words = st.text(alphabet="ab 1\n{}\\=中", max_size=40)


@given(st.sampled_from(TAGS), words, words)
def test_what_stands_between_tags_is_never_text(tags: tuple[str, str], thought: str, said: str) -> None:
    start, end = tags
    reasoning, answer = thought.strip() or None, said.strip()
    assert Thinking().split(f"{start}{thought}{end}{said}") == (reasoning, answer)
    assert Thinking().split(f"{thought}{end}{said}") == (reasoning, answer)
    assert Thinking().split(f"{start}{thought}") == (reasoning, "")


@given(words)
def test_text_without_tags_is_left_as_it_is(text: str) -> None:
    assert Thinking().split(text) == (None, text)


@pytest.mark.parametrize(
    "repeated", ["a", "<|channel|>a", "<think>", "<|channel|>a<|message|>", "</think>", "<|think|>", "assistant\n"]
)
def test_hostile_text_takes_no_quadratic_time(repeated: str) -> None:
    with within(2):
        reasoning, answer = Thinking().split("<|channel|>" + repeated * (300_000 // len(repeated)))
    assert len(reasoning or "") + len(answer) <= 300_100
