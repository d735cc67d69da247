"""The knowledge tree: the one that ships, any other, and what is wrong with one in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from livek12.core.errors import UserError
from livek12.dataset_builders.proposals.tagging.tree import MAX_LAYERS, ROUTE, load_tree, parse_tree, tree_of


def test_the_shipped_tree_is_sound() -> None:
    tree = load_tree()
    assert 150 <= len(tree.points) <= 300
    assert tree.subjects == ["math", "physics", "chemistry", "biology"]
    for place, point in enumerate(tree.points):
        assert point.names.keys() == {"zh", "en"} and point.terms
        assert len(point.path) + 1 == len(tree.layers) <= MAX_LAYERS
        assert {tree.find(point.name("zh")), tree.find(point.name("en")), tree.find(point.route("zh"))} == {place}


def test_a_tree_of_six_layers_and_three_languages(tmp_path: Path) -> None:
    inner = "{zh: 点, en: point, ko: 점, terms: [甲]}"
    for layer in "54321":
        inner = f"{{zh: 层{layer}, en: layer {layer}, children: [{inner}]}}"
    file = tmp_path / "tree.yaml"
    file.write_text(f"name: t\nnodes: [{inner}]\n", "utf-8")
    (point,) = load_tree(file).points
    assert point.route("en") == ROUTE.join([f"layer {n}" for n in range(1, 6)] + ["point"])
    assert (point.name("ko"), point.subject) == ("점", "layer 1")


def node(text: str) -> str:
    return f"nodes: [{{zh: 数学, children: [{text}]}}]"


SEVEN = "{zh: 七}"
for name in "六五四三二一":
    SEVEN = f"{{zh: {name}, children: [{SEVEN}]}}"
WRONG = {
    "nothing": ("", "a tree is a mapping"),
    "a list": ("- 1", "a tree is a mapping"),
    "no YAML": ("nodes: [", "no YAML"),
    "a Python object": ("nodes: !!python/object/apply:os.system ['true']", "no YAML"),
    "aliases": ("a: &a [1]\nnodes: [*a, *a]", "aliases are not read"),
    "no nodes": ("nodes: []", "no knowledge point"),
    "another key": ("nodes: [{zh: 甲}]\nevil: 1", "evil"),
    "a node that is a text": (node("函数"), "数学, node 1 is str"),
    "no name": (node("{terms: [甲]}"), "数学, node 1 has no name"),
    "a name that is a number": (node("{zh: 7}"), "数学, node 1: zh"),
    "a name with a line break": (node('{zh: "a\\nb"}'), "printable"),
    "a name with an arrow": (node("{zh: a->b}"), "->"),
    "too long": (node("{zh: " + "长" * 200 + "}"), "printable text"),
    "unknown key": (node("{zh: 函数, weight: 3}"), "node '函数' has no place for weight"),
    "terms that are a text": (node("{zh: 函数, terms: 甲}"), "node '函数': terms"),
    "empty children": (node("{zh: 函数, children: []}"), "node '函数': children"),
    "twice": (node("{zh: 函数}, {zh: 函 数}"), "'函 数' is there twice"),
    "seven layers": (f"nodes: [{SEVEN}]", "node '七' is in layer 7"),
    "deep": ("nodes: " + "[" * 3000, "no YAML"),
}


@pytest.mark.parametrize("case", sorted(WRONG))
def test_what_is_wrong_is_one_line_that_names_it(case: str) -> None:
    text, named = WRONG[case]
    with pytest.raises(UserError) as caught:
        parse_tree(text.encode(), "my.yaml")
    line = str(caught.value)
    assert line.startswith("my.yaml") and named in line and "\n" not in line and len(line) < 400


def test_no_file_and_bad_bytes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        load_tree(tmp_path / "none.yaml")
    with pytest.raises(UserError, match="no YAML"):
        parse_tree(b"\xff\xfe\x00", "x")


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_any_text_is_a_tree_or_one_line(text: str) -> None:
    try:
        parse_tree(text.encode("utf-8", "replace"), "x")
    except UserError as error:
        assert "\n" not in str(error)


@settings(max_examples=50)
@given(st.lists(st.text(max_size=30), max_size=8))
def test_a_tree_of_labels_finds_each_label_again(labels: list[str]) -> None:
    tree = tree_of(labels, "labels")
    for label in labels:
        if label.rpartition(ROUTE)[2].strip():
            assert tree.find(label.rpartition(ROUTE)[2].strip()) is not None
