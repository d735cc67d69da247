"""Geometry in points from the top left of a page as shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

Bounds = tuple[float, float, float, float]
"""Left, top, right, bottom in points."""


class Placed:
    """Ink at a place: left, top, right and bottom in points."""

    __slots__ = ()
    left: float
    top: float
    right: float
    bottom: float

    @property
    def box(self) -> Bounds:
        """Around it."""
        return (self.left, self.top, self.right, self.bottom)

    @property
    def centre(self) -> tuple[float, float]:
        """Of its box."""
        return self.middle, (self.top + self.bottom) / 2

    @property
    def middle(self) -> float:
        """X of its centre."""
        return (self.left + self.right) / 2

    @property
    def width(self) -> float:
        """Of its ink."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Of its ink."""
        return self.bottom - self.top


def around(boxes: Iterable[Bounds]) -> Bounds:
    """The smallest box around all."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def hull(items: Iterable[Placed]) -> Bounds:
    """The smallest box around the ink of all."""
    return around([item.box for item in items])


@dataclass(slots=True)
class Rule(Placed):
    """A thin horizontal or vertical line; `joints` are the x at which its pieces meet."""

    left: float
    top: float
    right: float
    bottom: float
    joints: tuple[float, ...] = ()

    @property
    def flat(self) -> bool:
        """True for a horizontal line."""
        return self.width >= self.height

    @property
    def length(self) -> float:
        """In points."""
        return max(self.width, self.height)


@dataclass(slots=True)
class Shape(Placed):
    """A picture ("image"), a drawing with curves or slants ("drawing") or a filled or rounded rectangle ("frame").

    `points` are a drawing's outline; a `filled` one has a ground, a `faint` one is light enough to be printed over, a
    `bright` one is a highlighter's.
    """

    kind: str
    left: float
    top: float
    right: float
    bottom: float
    points: tuple[tuple[float, float], ...] = ()
    filled: bool = False
    faint: bool = False
    bright: bool = False

    @property
    def outline(self) -> list[tuple[float, float]]:
        """Its points, and the middles between them."""
        return [*self.points, *(((a + c) / 2, (b + d) / 2) for (a, b), (c, d) in pairwise(self.points))]


@dataclass(frozen=True, slots=True)
class Affine:
    """x' = a x + c y + e; y' = b x + d y + f."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float

    def point(self, x: float, y: float) -> tuple[float, float]:
        """The image of a point."""
        return self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f

    def after(self, first: Affine) -> Affine:
        """This map applied after another."""
        return Affine(
            self.a * first.a + self.c * first.b,
            self.b * first.a + self.d * first.b,
            self.a * first.c + self.c * first.d,
            self.b * first.c + self.d * first.d,
            self.a * first.e + self.c * first.f + self.e,
            self.b * first.e + self.d * first.f + self.f,
        )

    def bounds(self, left: float, bottom: float, right: float, top: float) -> Bounds:
        """The box around the image of a rectangle."""
        points = [self.point(x, y) for x in (left, right) for y in (bottom, top)]
        return around((x, y, x, y) for x, y in points)


_Item = TypeVar("_Item")


def chains(items: Iterable[_Item], goes_on: Callable[[list[_Item], _Item], bool]) -> list[list[_Item]]:
    """Items in groups: each goes on with the group before it, or begins another."""
    done: list[list[_Item]] = []
    for item in items:
        if done and goes_on(done[-1], item):
            done[-1].append(item)
        else:
            done.append([item])
    return done


UNMOVED: Final = Affine(1, 0, 0, 1, 0, 0)


def root_of(parent: list[int], place: int) -> int:
    """Root of a union-find tree."""
    while parent[place] != place:
        parent[place] = parent[parent[place]]
        place = parent[place]
    return place


def connected(many: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Numbers below `many` in groups that pairs connect."""
    parent = [*range(many)]
    for place, other in pairs:
        first, last = sorted((root_of(parent, place), root_of(parent, other)))
        parent[last] = first
    groups: dict[int, list[int]] = {}
    for place in range(many):
        groups.setdefault(root_of(parent, place), []).append(place)
    return [*groups.values()]
