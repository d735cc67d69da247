"""Knowledge tree: subjects at the top, knowledge points as leaves, at most six layers (MDK12-Bench, Table 2).

Contract: YAML (see docs/curate.md#tags), read as bounded data; errors name the node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from livek12.core.errors import UserError
from livek12.core.languages import codes, listed
from livek12.core.text import folded
from livek12.dataset_builders.base import one_line

MAX_BYTES = 8 << 20
MAX_NODES = 50_000
MAX_LAYERS = 6
MAX_NAME = 120
MAX_TERMS = 60
SHIPPED = "high-school"
ROUTE = "->"
"""Separator of names in a route, as in labelled data sets."""


@dataclass(frozen=True)
class Point:
    """A leaf of the tree.

    Attributes:
        path: names of the nodes above, from the subject on, by language.
        terms: words that indicate it.
    """

    names: Mapping[str, str]
    path: Sequence[Mapping[str, str]] = ()
    terms: Sequence[str] = ()

    def name(self, language: str = "zh") -> str:
        """Name in a language, or the first."""
        return _in(self.names, language)

    def route(self, language: str = "zh") -> str:
        """Name with those above it."""
        return ROUTE.join(_in(names, language) for names in (*self.path, self.names))

    @property
    def subject(self) -> str:
        """English name of the top node, as in questions."""
        top = self.path[0] if self.path else self.names
        return _in(top, "en")


@dataclass
class Tree:
    """Knowledge tree with its leaves in order; layer names are optional."""

    name: str
    points: list[Point]
    layers: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._places: dict[str, int] = {}
        for place, point in enumerate(self.points):
            for language in codes():
                for name in (point.names.get(language), point.route(language)):
                    if name:
                        self._places.setdefault(_plain(name), place)

    def find(self, name: str) -> int | None:
        """Index of the point of a label: a name or route in any language, or the end of a route."""
        place = self._places.get(_plain(name))
        return self._places.get(_plain(name.rpartition(ROUTE)[2])) if place is None else place

    @property
    def subjects(self) -> list[str]:
        """Subject names in order."""
        return list(dict.fromkeys(point.subject for point in self.points))


def load_tree(file: Path | None = None) -> Tree:
    """Reads a tree, or returns the shared one that ships; raises UserError naming a wrong node."""
    if file is None:
        return _shipped_tree()
    try:
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror}); give --tree a YAML file") from None
    return parse_tree(data, str(file))


@cache
def _shipped_tree() -> Tree:
    source = resources.files("livek12.dataset_builders.proposals.tagging").joinpath(f"trees/{SHIPPED}.yaml")
    return parse_tree(source.read_bytes(), SHIPPED)


def parse_tree(data: bytes, where: str) -> Tree:
    """Parses a YAML tree; `where` names it in errors."""

    class Loader(yaml.SafeLoader):
        """Loader without aliases: a few can expand to billions of nodes."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.events.AliasEvent):
                raise yaml.YAMLError("aliases are not read")
            return super().compose_node(parent, index)

    if len(data) > MAX_BYTES:
        raise UserError(f"{where}: a tree has at most {MAX_BYTES >> 20} MiB")
    try:
        document = yaml.load(data.decode("utf-8"), Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UserError(f"{where}: is no YAML that can be read ({one_line(error, 160)})") from None
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        raise UserError(f"{where}: a tree is a mapping with a list `nodes`")
    if extra := document.keys() - {"name", "layers", "nodes"}:
        raise UserError(f"{where}: has no place for {one_line(', '.join(map(str, extra)), 80)}")
    layers = document.get("layers") or []
    if not isinstance(layers, list) or len(layers) > MAX_LAYERS or not all(isinstance(name, str) for name in layers):
        raise UserError(f"{where}: layers is a list of at most {MAX_LAYERS} names")
    points = list(_points(document["nodes"], (), where))
    _check(points, where)
    return Tree(one_line(document.get("name") or where, MAX_NAME), points, layers)


def tree_of(labels: Iterable[str], name: str) -> Tree:
    """Builds a tree from labels; a route gives the nodes above its point.

    Keeps the last six layers of a route.
    """
    points: dict[str, Point] = {}
    for label in labels:
        pieces = [piece.strip()[:MAX_NAME] for piece in label.split(ROUTE) if piece.strip()][-MAX_LAYERS:]
        if pieces:
            points.setdefault(_plain(pieces[-1]), Point({"zh": pieces[-1]}, [{"zh": piece} for piece in pieces[:-1]]))
    return Tree(name, list(points.values()))


def _points(nodes: Any, above: tuple[Mapping[str, str], ...], where: str) -> Iterator[Point]:
    for number, node in enumerate(nodes, 1):
        place = f"{where}: {_in(above[-1], 'zh') + ', ' if above else ''}node {number}"
        names = _names(node, place)
        place = f"{where}: node {_in(names, 'zh')!r}"
        if extra := node.keys() - {*codes(), "children", "terms"}:
            raise UserError(f"{place} has no place for {one_line(', '.join(map(str, extra)), 80)}")
        if len(above) >= MAX_LAYERS:
            raise UserError(f"{place} is in layer {len(above) + 1}; a tree has at most {MAX_LAYERS}")
        children, terms = node.get("children"), node.get("terms") or []
        if not isinstance(terms, list) or not all(isinstance(t, str) and 0 < len(t.strip()) <= MAX_NAME for t in terms):
            raise UserError(f"{place}: terms is a list of texts of at most {MAX_NAME} characters")
        if len(terms) > MAX_TERMS:
            raise UserError(f"{place} has more than {MAX_TERMS} terms")
        if children is None:
            yield Point(names, above, [term.strip() for term in terms])
        elif not isinstance(children, list) or not children:
            raise UserError(f"{place}: children is a list of nodes; a knowledge point has none")
        else:
            yield from _points(children, (*above, names), where)


def _names(node: Any, place: str) -> dict[str, str]:
    if not isinstance(node, dict):
        raise UserError(f"{place} is {type(node).__name__}, not a mapping with {listed(codes())}")
    names = {language: node[language] for language in codes() if node.get(language) is not None}
    if not names:
        raise UserError(f"{place} has no name: give {listed(codes())}")
    for language, name in names.items():
        if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME or not name.isprintable():
            raise UserError(f"{place}: {language} is a printable text of 1 to {MAX_NAME} characters")
        if ROUTE in name or ";" in name or "；" in name:
            raise UserError(f"{place}: {language} {one_line(name, 60)!r} holds {ROUTE} or a semicolon")
    return {language: name.strip() for language, name in names.items()}


def _check(points: Sequence[Point], where: str) -> None:
    if not points:
        raise UserError(f"{where}: the tree has no knowledge point")
    if len(points) > MAX_NODES:
        raise UserError(f"{where}: a tree has at most {MAX_NODES:,} knowledge points")
    for language in codes():
        seen: set[str] = set()
        for point in points:
            name = _plain(point.names.get(language, ""))
            if name and name in seen:
                raise UserError(
                    f"{where}: node {point.names[language]!r} is there twice; give each point a name of its own"
                )
            seen.add(name)


def _in(names: Mapping[str, str], language: str) -> str:
    return names.get(language) or next(iter(names.values()))


def _plain(name: str) -> str:
    return "".join(folded(name).split())
