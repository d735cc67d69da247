"""Subsets decided without a reviewer: by runs (hard, adversarial, image_dependent) or by a draw (mini).

Contract: only graded answers are right or wrong (a missing answer is wrong); all else is open, and leaves dependent
decisions undecided. `sample` depends on seed and ids, not on order. Sources: KMMMU section 4.1 (hard), B.3 (adversarial
filtering), 7.1 and CFE-Bench section 3.2 (image dependence), MDK12-Bench Table 2 and "MDK12-Mini" (a tenth of the set,
4,952 of each difficulty).
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.core.scoring import Row
from livek12.dataset_builders.base import DIFFICULTIES
from livek12.dataset_builders.proposals.subsets.candidates import Candidate, text_sha256

Outcome = tuple[Literal["proposed", "undecided", "out"], str]
"""Decision on a question, and the reason."""
_LONG = 0.75


@dataclass
class Tally:
    """Answers of one run to one question over all trials."""

    right: int = 0
    wrong: int = 0
    open: int = 0
    why_open: str = ""

    @property
    def trials(self) -> int:
        """Number of expected answers."""
        return self.right + self.wrong + self.open

    def solved(self, confidence: float) -> bool | None:
        """True if at least this share of the trials is right; None while open answers could decide."""
        if self.trials and self.right >= confidence * self.trials:
            return True
        return None if not self.trials or self.right + self.open >= confidence * self.trials else False

    def __str__(self) -> str:
        parts = [f"right {self.right} of {self.trials}"] if self.trials else ["no answer on record"]
        return ", ".join(parts + ([f"open {self.open}: {self.why_open}"] if self.open else []))


@dataclass
class RunAnswers:
    """Answers of one run by question id.

    Attributes:
        texts: hash of the text asked.
        tokens: mean completion tokens, if every answer has a count.
        lucky: right answers with process errors.
    """

    name: str
    model: str
    tallies: dict[str, Tally] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    tokens: dict[str, float] = field(default_factory=dict)
    audited: set[str] = field(default_factory=set)
    lucky: dict[str, int] = field(default_factory=dict)

    def asked(self, item: Candidate) -> bool:
        """True if the run had this exact question text."""
        return self.texts.get(item.id) == item.text_sha256

    def tally(self, item: Candidate) -> Tally:
        """Answers to a question; open if the run lacks its exact text."""
        if item.id not in self.texts:
            return Tally(open=1, why_open="not asked")
        if not self.asked(item):
            return Tally(open=1, why_open="another text was asked")
        return self.tallies[item.id]


def read_runs(paths: Sequence[Path]) -> list[RunAnswers]:
    """Reads run folders; UserError for an invalid or repeated one."""
    if len({path.resolve() for path in paths}) != len(paths):
        raise UserError("a run is named twice: it would count as two baselines")
    return [_read(path) for path in paths]


def hard(item: Candidate, runs: Sequence[RunAnswers]) -> Outcome:
    """Wrong by all runs in all trials; one right answer excludes, one open answer leaves undecided."""
    tallies = [(run, run.tally(item)) for run in runs]
    evidence = _evidence(tallies)
    if any(tally.right for _, tally in tallies):
        return "out", evidence
    return ("undecided" if any(tally.open for _, tally in tallies) else "proposed"), evidence


def adversarial(item: Candidate, cascade: Sequence[RunAnswers], confidence: float) -> Outcome:
    """Kept if no model is right in at least `confidence` of its trials.

    Later stages may skip questions that an earlier one removed.
    """
    tallies = [(run, run.tally(item)) for run in cascade]
    solved = [(run, tally) for run, tally in tallies if tally.solved(confidence)]
    if solved:
        return "out", f"taken out by {_evidence(solved[:1])}"
    undecided = any(tally.solved(confidence) is None for _, tally in tallies)
    return ("undecided" if undecided else "proposed"), _evidence(tallies)


def image_dependent(
    item: Candidate, seeing: Sequence[RunAnswers], blind: Sequence[RunAnswers], confidence: float
) -> Outcome:
    """Dependent if a model is right with the images, and none without.

    Right means at least `confidence` of the trials. If no model is right either way, the question is undecided.
    """
    if not item.features["images"]:
        return "out", "it has no image"
    with_images = [(run, run.tally(item)) for run in seeing]
    without = [(run, run.tally(item)) for run in blind]
    evidence = f"with images: {_evidence(with_images)}; without: {_evidence(without)}"
    blind_answers = [tally.solved(confidence) for _, tally in without]
    if any(blind_answers):
        return "out", f"answered without its images; {evidence}"
    seen = any(tally.solved(confidence) for _, tally in with_images)
    if seen and None not in blind_answers:
        return "proposed", evidence
    return "undecided", evidence if seen or None in blind_answers else f"no model is right with its images; {evidence}"


def ablation(items: Sequence[Candidate], seeing: Sequence[RunAnswers], blind: Sequence[RunAnswers]) -> list[str]:
    """Accuracy with and without images by model (KMMMU Table 9); intervals for open answers."""
    lines = []
    pictured = [item for item in items if item.features["images"]]
    for run in seeing if pictured else ():
        for other in (other for other in blind if other.model == run.model):
            shares = " ".join(f"{how} {_share(pictured, which)}" for how, which in (("with", run), ("without", other)))
            lines.append(f"{run.model}: {shares} images, {len(pictured)} questions")
    return lines


def long_answers(items: Iterable[Candidate], runs: Sequence[RunAnswers]) -> dict[str, tuple[bool, str]]:
    """True if at least half of the runs with token counts put it in their longest quarter, and the reason."""
    longest = {run.name: _longest(run) for run in runs}
    results = {}
    for item in items:
        counted = [run for run in runs if longest[run.name] and item.id in run.tokens and run.asked(item)]
        over = [run for run in counted if item.id in longest[run.name]]
        if counted:
            why = "; ".join(f"{run.name}: {run.tokens[item.id]:.0f} tokens" for run in over)
            results[item.id] = (2 * len(over) >= len(counted), why)
    return results


def lucky(items: Iterable[Candidate], runs: Sequence[RunAnswers]) -> dict[str, tuple[bool, str]]:
    """True if a run's right answer has process errors; only audited questions."""
    results = {}
    for item in items:
        if audited := [run for run in runs if item.id in run.audited and run.asked(item)]:
            seen = [run for run in audited if item.id in run.lucky]
            why = "; ".join(f"{run.name}: {run.lucky[item.id]} right with process errors" for run in seen)
            results[item.id] = (bool(seen), why)
    return results


def _read(path: Path) -> RunAnswers:
    folder = RunFolder.open(path)
    answers = RunAnswers(str(path), folder.spec().model)
    tokens: dict[str, list[int | None]] = {}
    for row in folder.rows():
        id = row.question.id
        answers.texts[id] = text_sha256(row.question)
        _count(answers.tallies.setdefault(id, Tally()), row)
        tokens.setdefault(id, []).append(row.response.completion_tokens if row.response else None)
        process = row.verdict.process if row.verdict else None
        if process is not None:
            answers.audited.add(id)
            if row.verdict and row.verdict.correct and process.cie + process.lae + process.dre > 0:
                answers.lucky[id] = answers.lucky.get(id, 0) + 1
    for id, counts in tokens.items():
        token_counts = [count for count in counts if count is not None]
        if len(token_counts) == len(counts):
            answers.tokens[id] = sum(token_counts) / len(token_counts)
    return answers


def _count(tally: Tally, row: Row) -> None:
    correct = row.verdict.correct if row.verdict and row.state in ("graded", "no_answer") else None
    if correct is None:
        tally.open += 1
        tally.why_open = tally.why_open or row.state
    elif correct:
        tally.right += 1
    else:
        tally.wrong += 1


def _longest(run: RunAnswers) -> set[str]:
    if len(run.tokens) < 4:
        return set()
    ordered = sorted(run.tokens.values())
    limit = ordered[math.floor(_LONG * (len(ordered) - 1))]
    return {id for id, count in run.tokens.items() if count >= limit and count > ordered[(len(ordered) - 1) // 2]}


def _evidence(tallies: Iterable[tuple[RunAnswers, Tally]]) -> str:
    return "; ".join(f"{run.name} ({run.model}): {tally}" for run, tally in tallies)


def _share(items: Sequence[Candidate], run: RunAnswers) -> str:
    tallies = [run.tally(item) for item in items]
    low = 100 * math.fsum(tally.right / tally.trials for tally in tallies) / len(tallies)
    high = 100 * math.fsum((tally.right + tally.open) / tally.trials for tally in tallies) / len(tallies)
    return f"{low:.1f} %" if low == high else f"{low:.1f} to {high:.1f} %"


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
