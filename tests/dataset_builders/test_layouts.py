"""Which tables a question goes into, and which tables make a config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livek12.core.records import Flags, Image, Question
from livek12.dataset_builders.builder import Layout
from livek12.dataset_builders.registry import NAMED, builder_of, builders, merged, split_of

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "images": st.sampled_from([[], [Image(path="a.png")]]),
    "difficulty": st.sampled_from([None, "easy", "medium", "hard", "高"]),
    "subsets": st.lists(
        st.sampled_from(["hard", "mini", "dynamic", "complex_layout", "rigorous_process", "long_horizon", "other"])
    ),
    "flags": st.sampled_from([Flags(), Flags(is_korean_specific=True), Flags(is_korean_specific=False)]),
    "number": st.sampled_from([None, "3"]),
    "paper_id": st.sampled_from([None, "p"]),
    "page_numbers": st.sampled_from([[], [1], [1, 2], [3]]),
}
PAGES = {("p", 1), ("p", 2)}


def question(benchmark: str, **fields: Any) -> Question:
    given: Mapping[str, Any] = {"language": "zh", "subject": "math", "question_type": "proof", "question": "?"}
    return Question(id="q", benchmark=benchmark, **{**given, **fields})


def configs_of(asked: Question, layout: Layout | None = None) -> set[str]:
    layout = layout or builder_of(asked.benchmark).layout
    tables = set(layout.tables(asked, PAGES))
    return {config for config, parts in layout.configs.items() if tables & set(parts)}


@pytest.mark.parametrize(
    ("benchmark", "fields", "configs"),
    [
        ("livek12", {}, "default text_only"),
        ("livek12", {"images": [Image(path="a.png")]}, "default text_image"),
        ("livek12", {"subsets": ["long_horizon", "complex_layout"]}, "default text_only long_horizon complex_layout"),
        ("livek12", {"subsets": ["rigorous_process"]}, "default text_only rigorous_process"),
        ("livek12", {"paper_id": "p", "page_numbers": [1, 2], "number": "1"}, "default text_only image_only"),
        ("livek12", {"paper_id": "p", "page_numbers": [1, 3], "number": "1"}, "default text_only"),
        ("livek12", {"paper_id": "p", "page_numbers": [1]}, "default text_only"),
        ("kmmmu", {}, "default"),
        ("kmmmu", {"subsets": ["hard"], "flags": Flags(is_korean_specific=True)}, "default hard korean_specific"),
        ("kmmmu", {"flags": Flags(is_korean_specific=False)}, "default"),
        ("cfe", {}, "text"),
        ("cfe", {"images": [Image(path="a.png")]}, "multimodal"),
        ("mdk12", {"difficulty": "easy"}, "full easy"),
        ("mdk12", {"difficulty": "medium", "subsets": ["mini"]}, "full medium mini"),
        ("mdk12", {"difficulty": "hard"}, "full hard"),
        ("mdk12", {"difficulty": None}, "full"),
        ("mdk12", {"difficulty": "easy", "subsets": ["dynamic", "mini"]}, "dynamic"),
    ],
)
def test_configs_of_a_question(benchmark: str, fields: dict[str, Any], configs: str) -> None:
    asked = question(benchmark, **fields)
    assert configs_of(asked) == set(configs.split())
    prefix = "" if benchmark == "livek12" else f"{benchmark}_"
    named = {config for config in configs.split() if NAMED.get(config) == benchmark}
    assert configs_of(asked, merged(builders())) == {prefix + config for config in configs.split()} | named


@given(st.sampled_from(list(builders())), st.fixed_dictionaries(FIELDS))
def test_a_config_holds_a_question_once(benchmark: str, fields: dict[str, Any]) -> None:
    for layout in (builder_of(benchmark).layout, merged(builders()), merged([benchmark])):
        tables = list(layout.tables(question(benchmark, **fields), PAGES))
        assert len(tables) == len(set(tables))
        for parts in layout.configs.values():
            assert len(set(tables) & set(parts)) <= 1
        assert set(tables) <= {table for parts in layout.configs.values() for table in parts}


def test_configs_of_the_merged_data_set() -> None:
    assert " ".join(merged(builders()).configs) == (
        "default text_only text_image image_only complex_layout rigorous_process long_horizon"
        " kmmmu_default kmmmu_hard kmmmu_korean_specific cfe_text cfe_multimodal"
        " mdk12_full mdk12_mini mdk12_easy mdk12_medium mdk12_hard mdk12_dynamic"
        " hard korean_specific"
    )
    for name, benchmark in NAMED.items():
        prefix = "" if benchmark == "livek12" else f"{benchmark}_"
        assert merged(builders()).configs[name] == (prefix + name,), "the same files under both names"
    assert "hard" not in merged(["mdk12", "livek12"]).configs, "MDK12's difficulty has no name of its own"


@pytest.mark.parametrize(
    ("benchmark", "release", "split"),
    [
        ("livek12", "2603", "zh_2603"),
        ("livek12", None, "zh"),
        ("livek12", "../2603 b", "zh____2603_b"),
        ("kmmmu", "2603", "test"),
    ],
)
def test_splits(benchmark: str, release: str | None, split: str) -> None:
    assert split_of(question(benchmark, release=release)) == split
