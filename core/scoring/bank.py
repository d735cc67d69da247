"""Item banks of adaptive exams: questions with the curves of a two-parameter logistic model, fitted with shrinkage.

Contract: deterministic in bank and answers. A curve is the chance of full points by
ability (in standard deviations of the bank's models), averaged over its parameters (MacKay 1992), whose normal prior is
fitted too (empirical Bayes). The next question has the most mutual information with the ability, within the area that
lags most behind its share. An undecided answer tells nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import erfc, inf, log, sqrt
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from livek12.core.errors import UserError, why
from livek12.core.lazy import np
from livek12.core.records import Record
from livek12.core.statistics import Bools, Floats, Indices, kendall_tau

BANK = "bank.json"
"""The bank of an adaptive run, in its folder."""
FEWEST_MODELS = 5
ANCHORS = 5
"""Questions that every exam of a bank begins with."""
FOLDS = 10
TRIED = 50
"""Questions of the exams by which a bank is tried on its own models."""
LEAST_BEYOND = 0.01
"""Least standard error of a mark beyond that of the curves."""
MISFIT = 0.01
"""Chance below which a model counts as unlike those of the bank."""
OUTSIDE = 0.5
"""So far beyond the models of a bank an ability is extrapolated."""
_PRIOR = 1.3
_UNTIL = re.compile(r"se=(0?\.\d+|[1-9]\d*(?:\.\d+)?)|n=([1-9]\d{0,5})")
_Number = Annotated[float, Field(ge=-1e6, le=1e6)]
_Positive = Annotated[float, Field(gt=0, le=1e6)]


class BankItem(Record):
    """Question of a bank.

    Attributes:
        level: log odds of full points at ability 0.
        spread: variance of the slope, covariance, variance of the level.
    """

    id: str
    area: str
    worth: _Positive = 1.0
    slope: _Number
    level: _Number
    spread: tuple[_Number, _Number, _Number] = (0, 0, 0)
    answers: int
    exposure: int = 0


class BankTrial(Record):
    """Exams of models left out of the fit: error of the mark in points, that of random questions, Kendall's τ."""

    questions: int
    models: int
    error: float
    random: float
    tau: float | None


class ItemBank(Record):
    """Content of a bank file.

    Attributes:
        version: hash of all else.
        anchors: questions that each exam begins with.
        shift: mean mark (a share) by the curves less the true one.
        beyond: standard error of marks beyond that of the curves, from the trial.
        binary: all answers earned nothing or everything.
    """

    version: str = ""
    task: str
    models: dict[str, _Number]
    items: Annotated[list[BankItem], Field(min_length=1)]
    anchors: list[str]
    shift: Annotated[float, Field(ge=-1, le=1)]
    beyond: Annotated[float, Field(ge=0, le=1)]
    binary: bool
    trial: BankTrial

    def stamped(self) -> ItemBank:
        """Copy with its version."""
        content = self.model_dump_json(exclude={"version"}).encode()
        return self.model_copy(update={"version": hashlib.sha256(content).hexdigest()[:12]})

    @property
    def is_plain(self) -> bool:
        """True if the mark is the share of fully correct answers."""
        return self.binary and len({item.worth for item in self.items}) == 1

    @cached_property
    def places(self) -> dict[str, int]:
        """Place of each question by id."""
        return {item.id: place for place, item in enumerate(self.items)}

    @cached_property
    def curves(self) -> Curves:
        """Its curves."""
        parameters = np.array([(item.slope, item.level, *item.spread) for item in self.items])
        areas, worth = [item.area for item in self.items], np.array([item.worth for item in self.items])
        span = min(self.models.values()), max(self.models.values())
        return Curves.of(parameters, areas, worth, self.shift, self.beyond, span)


def read_bank(path: Path) -> ItemBank:
    """Reads a bank file, or that of a run folder."""
    file = path / BANK if path.is_dir() else path
    try:
        bank = ItemBank.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise UserError(f"{file}: there is no such item bank; make one with `livek12 bank`") from None
    except (OSError, ValidationError, ValueError) as error:
        raise UserError(f"{file}: is no item bank: {why(error)}") from None
    if bank.stamped().version != bank.version or len(bank.places) != len(bank.items):
        raise UserError(f"{file}: was changed since `livek12 bank` made it; make it again")
    return bank


class BankEstimate(NamedTuple):
    """Estimate from the answers of an exam.

    Attributes:
        mark: share of the points of the whole bank.
        misfit: chance of answers as unlike the curves as these.
        outside: the mark is extrapolated: no model of the bank is near this ability.
    """

    ability: float
    ability_error: float
    mark: float
    mark_error: float
    misfit: float
    area: str
    outside: bool = False


def in_words(standing: BankEstimate) -> str:
    """Ability, mark and misfit in words."""
    reach = 196 * standing.mark_error
    low, high = max(0.0, 100 * standing.mark - reach), min(100.0, 100 * standing.mark + reach)
    words = (
        f"ability {standing.ability:+.2f} ± {standing.ability_error:.2f},"
        f" predicted mark of the bank {100 * standing.mark:.1f} (95 % interval {low:.1f} to {high:.1f})"
    )
    problems = {
        "its ability is beyond those of the bank's models": standing.outside,
        f"its answers in {standing.area} are unlike those of the bank's models (p = {standing.misfit:.2g})": (
            standing.misfit < MISFIT
        ),
    }
    if odd := [problem for problem, is_there in problems.items() if is_there]:
        words += f"; misfit: {' and '.join(odd)}, so the interval may not hold: ask all questions"
    return words


@dataclass(frozen=True)
class ExamEnd:
    """End of an exam: the first of a standard error of the ability and a number of questions."""

    error: float | None
    questions: int | None

    @classmethod
    def parse(cls, text: str) -> ExamEnd:
        """Reads `se=0.3`, `n=50` or both, between commas."""
        matches = [_UNTIL.fullmatch(part.strip()) for part in text.split(",")]
        errors, numbers = ([each[n] for each in matches if each and each[n]] for n in (1, 2))
        if not all(matches) or len(errors) > 1 or len(numbers) > 1:
            raise UserError(
                f"--until {text!r:.60}: write se=0.3 (standard error of the ability), n=50, or both: se=0.3,n=50"
            )
        return cls(float(errors[0]) if errors else None, int(numbers[0]) if numbers else None)

    def reached(self, standing: BankEstimate, posed: int) -> str:
        """The end reached, or ""."""
        if self.error is not None and standing.ability_error <= self.error:
            return f"the standard error of the ability is {standing.ability_error:.3f}"
        return f"{posed:,} questions are asked" if self.questions is not None and posed >= self.questions else ""


@dataclass(frozen=True, eq=False)
class Curves:
    """Chance of full points by question and ability on the grid; `span`: the models' abilities."""

    chance: Floats
    area: Indices
    areas: Sequence[str]
    worth: Floats
    shift: float = 0.0
    beyond: float = 0.0
    span: tuple[float, float] = (-inf, inf)

    @classmethod
    def of(cls, parameters: Floats, areas: Sequence[str], worth: Floats, *facts: Any) -> Curves:
        """Curves of slope, level and their variances, one question a row."""
        names, codes = np.unique(np.array(areas, dtype=object), return_inverse=True)
        return cls(_chances(parameters), codes, names.tolist(), worth / worth.sum(), *facts)

    @cached_property
    def _own_entropy(self) -> Floats:
        return _entropy(self.chance)

    def posterior(self, shares: Mapping[int, float]) -> Floats:
        """Weights of the grid's abilities after answers: shares of the points by question."""
        places, earned = np.array([*shares], dtype=np.intp), np.array([*shares.values()])
        chance = self.chance[places]
        logs = earned @ np.log(chance) + (1 - earned) @ np.log1p(-chance) - grid() ** 2 / (2 * _PRIOR**2)
        weights: Floats = np.exp(logs - logs.max())
        return weights / weights.sum()

    def choose(self, shares: Mapping[int, float], posed: Sequence[int], count: int) -> list[tuple[int, float]]:
        """Next questions with their information in bits; `posed` includes undecided ones."""
        weights = self.posterior(shares)
        gain = (_entropy(self.chance @ weights) - self._own_entropy @ weights) / log(2)
        taken = np.bincount(self.area[np.array(posed, dtype=np.intp)], minlength=len(self.areas)).astype(np.float64)
        part = np.bincount(self.area) / len(self.area)
        open_items: Bools = np.ones(len(gain), dtype=np.bool_)
        open_items[list(posed)] = False
        chosen = []
        for number in range(len(posed), min(len(posed) + count, len(gain))):
            there = np.bincount(self.area[open_items], minlength=len(part)) > 0
            lag = np.where(there, part * (number + 1) - taken, -np.inf)
            place = int(np.where(open_items & (self.area == lag.argmax()), gain, -np.inf).argmax())
            chosen.append((place, float(gain[place])))
            open_items[place] = False
            taken[self.area[place]] += 1
        return chosen

    def estimate(self, shares: Mapping[int, float]) -> BankEstimate:
        """Ability and mark after the answers."""
        weights, places = self.posterior(shares), np.array([*shares], dtype=np.intp)
        earned = np.array([*shares.values()])
        rest: Bools = np.ones(len(self.worth), dtype=np.bool_)
        rest[places] = False
        by_ability = earned @ self.worth[places] + self.worth[rest] @ self.chance[rest]
        ability, mark = float(weights @ grid()), float(weights @ by_ability)
        left_over = float(self.worth[rest].sum())
        error = sqrt(float(weights @ (by_ability - mark) ** 2) + self.beyond**2 * left_over)
        mark = min(1.0, max(0.0, mark - self.shift * left_over))
        expected = self.chance[places] @ weights
        misfit, area = self._misfit(places, earned - expected, expected * (1 - expected))
        outside = not self.span[0] - OUTSIDE < ability < self.span[1] + OUTSIDE
        return BankEstimate(ability, sqrt(float(weights @ (grid() - ability) ** 2)), mark, error, misfit, area, outside)

    def _misfit(self, places: Indices, residual: Floats, variance: Floats) -> tuple[float, str]:
        """Compares the residuals of areas (Bonferroni)."""
        if not len(places):
            return 1.0, ""
        off, spread = (np.bincount(self.area[places], each, len(self.areas)) for each in (residual, variance))
        z = np.abs(off) / np.sqrt(np.where(spread > 0, spread, np.inf))
        worst = int(z.argmax())
        return min(1.0, len(self.areas) * erfc(float(z[worst]) / sqrt(2))), self.areas[worst]


def grid() -> Floats:
    """Abilities at which curves are kept."""
    return np.linspace(-4, 4, 81)


def _entropy(chance: Floats) -> Floats:
    return np.asarray(-(chance * np.log(chance) + (1 - chance) * np.log1p(-chance)))


def _chances(parameters: Floats) -> Floats:
    ability, (slope, level, slopes, both, levels) = grid(), (column[:, None] for column in parameters.T)
    doubt = np.maximum(0, slopes * ability**2 + 2 * both * ability + levels)
    odds = (slope * ability + level) / np.sqrt(1 + np.pi * doubt / 8)
    return np.clip(1 / (1 + np.exp(-odds)), 1e-4, 1 - 1e-4)


class Fit(NamedTuple):
    """Parameters of questions (slope, level, spread), abilities of models, and the shift."""

    parameters: Floats
    abilities: Floats
    shift: float


def fit_items(shares: Floats, worth: Floats, rounds: int = 4, steps: int = 5) -> Fit:
    """Fits shares of the points, models × questions; NaN where a model has no answer."""
    given = ~np.isnan(shares)
    earned = np.where(given, shares, 0.0)
    mean = (earned.sum(axis=1) + 0.5) / (given.sum(axis=1) + 1)
    abilities: Floats = np.log(mean / (1 - mean))
    center, precision = np.array([1.0, 0.0]), np.diag([4.0, 0.5])
    parameters = np.tile([1.0, 0, 0, 0, 0], (shares.shape[1], 1))
    chance = weights = np.zeros(0)
    for _ in range(rounds):
        abilities = (abilities - abilities.mean()) / max(float(abilities.std()), 1e-6)
        for _ in range(steps):
            parameters = _newton(earned, given, abilities[:, None], parameters, center, precision)
        slope, both, level = parameters[:, 2:].mean(axis=0)
        center = parameters[:, :2].mean(axis=0)
        precision = np.linalg.inv(np.cov(parameters[:, :2].T) + np.array([[slope, both], [both, level]]))
        chance = _chances(parameters)
        logs = earned @ np.log(chance) + (given - earned) @ np.log1p(-chance) - grid() ** 2 / 2
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        abilities = weights @ grid()
    marks = given @ worth
    off = ((weights * ((given * worth) @ chance)).sum(axis=1) - earned @ worth) / marks
    return Fit(parameters, abilities, float(off.mean()))


def _newton(
    earned: Floats, given: Bools, ability: Floats, parameters: Floats, center: Floats, precision: Floats
) -> Floats:
    chance = 1 / (1 + np.exp(-(ability * parameters[:, 0] + parameters[:, 1])))
    weight, residual = chance * (1 - chance) * given, np.where(given, earned - chance, 0.0)
    off = (parameters[:, :2] - center) @ precision
    to_slope, to_level = (ability * residual).sum(axis=0) - off[:, 0], residual.sum(axis=0) - off[:, 1]
    slopes = (ability**2 * weight).sum(axis=0) + precision[0, 0]
    both = (ability * weight).sum(axis=0) + precision[0, 1]
    levels = weight.sum(axis=0) + precision[1, 1]
    step = np.stack([levels * to_slope - both * to_level, slopes * to_level - both * to_slope])
    size = slopes * levels - both**2
    return np.vstack(
        [parameters[:, :2].T + np.clip(step / size, -1.5, 1.5), np.stack([levels, -both, slopes]) / size]
    ).T


def sit(curves: Curves, answers: Floats, questions: int, batch: int = ANCHORS) -> BankEstimate:
    """Estimate after an exam of recorded answers (NaN: undecided)."""
    posed: list[int] = []
    shares: dict[int, float] = {}
    while len(posed) < min(questions, len(answers)):
        places = [place for place, _ in curves.choose(shares, posed, min(batch, questions - len(posed)))]
        posed += places
        shares |= {place: share for place in places if (share := float(answers[place])) == share}
    return curves.estimate(shares)


def make_bank(task: str, models: Sequence[str], items: Sequence[BankItem], shares: Floats) -> ItemBank:
    """Fits a bank to models' shares of the points."""
    if len(models) < FEWEST_MODELS:
        raise UserError(f"{len(models)} models: an item bank needs the answers of {FEWEST_MODELS} or more")
    areas, worth = [item.area for item in items], np.array([item.worth for item in items])
    trial, beyond = _tried(shares, areas, worth)
    fit = fit_items(shares, worth)
    counts = (~np.isnan(shares)).sum(axis=0).tolist()
    made = [
        item.model_copy(update={"slope": slope, "level": level, "spread": tuple(spread), "answers": answers})
        for item, (slope, level, *spread), answers in zip(items, fit.parameters.round(5).tolist(), counts, strict=True)
    ]
    decided = shares[~np.isnan(shares)]
    abilities = {name: round(float(ability), 4) for name, ability in zip(models, fit.abilities, strict=True)}
    binary = bool(((decided == 0) | (decided == 1)).all())
    bank = ItemBank(
        task=task,
        models=abilities,
        items=made,
        anchors=[],
        shift=round(fit.shift, 5),
        beyond=round(beyond, 5),
        binary=binary,
        trial=trial,
    )
    anchors = [made[place].id for place, _ in bank.curves.choose({}, [], ANCHORS)]
    return bank.model_copy(update={"anchors": anchors}).stamped()


def _tried(shares: Floats, areas: Sequence[str], worth: Floats) -> tuple[BankTrial, float]:
    """Tries exams on models left out of the fit; also returns the error beyond the curves'."""
    folds: Indices = np.arange(len(shares)) % min(FOLDS, len(shares))
    marks, predicted, excess = np.zeros(len(shares)), np.zeros(len(shares)), []
    for fold in np.unique(folds):
        fit = fit_items(shares[folds != fold], worth)
        curves = Curves.of(fit.parameters, areas, worth, fit.shift)
        for model in np.flatnonzero(folds == fold):
            given = ~np.isnan(shares[model])
            marks[model] = float(np.where(given, shares[model], 0.0) @ worth / (given @ worth))
            standings = [sit(curves, shares[model], size) for size in (TRIED, 2 * TRIED)]
            predicted[model] = standings[0].mark
            excess += [(each.mark - marks[model]) ** 2 - each.mark_error**2 for each in standings]
    error, tau = float(np.abs(predicted - marks).mean()), kendall_tau(marks.tolist(), predicted.tolist())
    size = min(TRIED, len(areas))
    drawn = sqrt(2 / np.pi * (1 - size / len(areas)) / size) * float(np.nanstd(shares, axis=1).mean())
    trial = BankTrial(
        questions=size,
        models=len(shares),
        error=round(100 * error, 2),
        random=round(100 * drawn, 2),
        tau=tau and round(tau, 3),
    )
    return trial, sqrt(max(LEAST_BEYOND**2, float(np.mean(excess))))
