"""mdk12 `mini`: equally many questions of each difficulty, covering every knowledge point.

Contract: `sample` depends on seed and ids, not on order. Points that only full difficulties cover are taken with a
note. Source: MDK12-Bench Table 2 and "MDK12-Mini" (a tenth of the set, 4,952 of each difficulty).
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from livek12.dataset_builders.base import DIFFICULTIES


@dataclass(frozen=True)
class Item:
    """A question for the draw."""

    id: str
    difficulty: str | None
    points: frozenset[str]


@dataclass
class Sample:
    """Drawn questions with reasons, and notes on deviations."""

    picked: dict[str, str]
    notes: list[str]


def sample(items: Iterable[Item], share: float, seed: int) -> Sample:
    """Draws the sample; `share` is of the rated questions, a third of it for each difficulty."""
    order = sorted(items, key=lambda item: seeded_hash(item.id, seed))
    rated = [item for item in order if item.difficulty in DIFFICULTIES]
    available = Counter(item.difficulty or "" for item in rated)
    targets = _targets(round(share * len(rated)), available)
    picked = _cover(order, targets)
    taken = Counter(item.difficulty for item in order if item.id in picked)
    notes = _notes(order, targets, taken, share)
    for difficulty in DIFFICULTIES:
        rest = [item for item in rated if item.difficulty == difficulty and item.id not in picked]
        for item in rest[: max(0, targets[difficulty] - taken[difficulty])]:
            picked[item.id] = f"drawn for {difficulty}"
    return Sample(picked, notes)


def _targets(total: int, available: Counter[str]) -> dict[str, int]:
    targets: dict[str, int] = {}
    for place, difficulty in enumerate(sorted(DIFFICULTIES, key=lambda name: (available[name], name))):
        remaining = len(DIFFICULTIES) - place
        targets[difficulty] = min(available[difficulty], (total - sum(targets.values()) + remaining - 1) // remaining)
    return targets


def _cover(order: Sequence[Item], targets: dict[str, int]) -> dict[str, str]:
    uncovered = set().union(*(item.points for item in order))
    room = Counter(targets)
    picked: dict[str, str] = {}
    waiting = _greedy([item for item in order if item.difficulty in targets], uncovered, room, picked)
    waiting = _greedy(waiting, uncovered, None, picked)
    _greedy([item for item in order if item.difficulty not in targets], uncovered, None, picked)
    return picked


def _greedy(
    items: Sequence[Item], uncovered: set[str], room: Counter[str] | None, picked: dict[str, str]
) -> list[Item]:
    """Takes the question with most uncovered points until none adds any; returns those without room."""
    # Gains only shrink: an entry with an unchanged gain is the best.
    heap = [(-len(item.points), place) for place, item in enumerate(items) if item.points]
    heapq.heapify(heap)
    crowded: list[int] = []
    while heap and uncovered:
        gain, place = heapq.heappop(heap)
        item = items[place]
        new = item.points & uncovered
        if len(new) < -gain:
            if new:
                heapq.heappush(heap, (-len(new), place))
        elif room is not None and room[item.difficulty or ""] <= 0:
            crowded.append(place)
        else:
            if room is not None:
                room[item.difficulty or ""] -= 1
            uncovered -= new
            picked[item.id] = f"covers {_listed(new)}"
    return [items[place] for place in sorted(crowded)]


def _notes(order: Sequence[Item], targets: dict[str, int], taken: Counter[str | None], share: float) -> list[str]:
    notes = []
    for difficulty in DIFFICULTIES:
        target, has = targets[difficulty], taken[difficulty]
        if has > target:
            over = f"{has - target} above its share of {target}"
            notes.append(f"{difficulty}: {has} questions, {over}: the knowledge points need them")
    equal = round(share * sum(item.difficulty in DIFFICULTIES for item in order)) // len(DIFFICULTIES)
    notes += [
        f"{difficulty}: only {target} questions, below an equal share of {equal}; the others make up for it"
        for difficulty, target in targets.items()
        if target < equal
    ]
    unrated = sum(count for difficulty, count in taken.items() if difficulty not in DIFFICULTIES)
    if unrated:
        notes.append(f"{unrated} questions without a difficulty: nothing else has their knowledge points")
    bare = sum(not item.points for item in order)
    if bare:
        notes.append(f"{bare} questions name no knowledge point: they can only be drawn")
    return notes


def _listed(points: Collection[str]) -> str:
    shown = sorted(points)[:5]
    return ", ".join(shown) + (f" and {len(points) - 5} more" if len(points) > 5 else "")


def seeded_hash(id: str, seed: int) -> bytes:
    """Order-independent key for draws and ties."""
    return hashlib.sha256(f"{seed}\0{id}".encode()).digest()
