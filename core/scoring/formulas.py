"""The metrics' formulas, each over all answers at once (BENCHMARKS: LiveK12Bench 2.3, CFE-Bench 4, Chen et al. 2021).

Contract: `exam_terms` gives each metric of some `Answers` as a `Term`, a ratio of sums scale · Σ numerator / Σ weight
with numerators at worst and best. All metrics rise with points, correctness and a cleaner process, so the two are
bounds over every completion of undecided answers. An unavailable metric is a string: the reason.

With V points of the question, O points awarded, x mean presence over the critics of CIE, LAE, DRE (0 to 1
each), l completion tokens with thinking, S = 1 when fully correct, sums over all N answers:

profile `article`:
    process score P = max(0, V - 3·Σx),  exam score ES = 0.5·P·(O/V) + 0.5·O
        Without stated points V = 1 is our unit, where a penalty of 3 would let one critic of three take the whole
        score; there each error type takes a third of V: P = V - (V/3)·Σx.
    OES = 100·ΣES/ΣV,  PES = 100·ΣP·(O/V)/ΣV,  OCS = 100·ΣO/ΣV
    ARL = (1/N)·ΣS·(1 + 0.15·ln(4096/l)),  Acc≤r = (1/N)·#(S = 1 and l ≤ r·32768)
profile `release`: e = number of erroneous steps that a critic lists (two DRE are two)
    process half = O/2 if e = 0 else 0,  outcome half = O/2 if e ≤ 1 else 0, each the mean over the critics: the
    expectation of the authors' code, which asks one critic at random. Bounds for an audit without steps.
    PES = 100·Σ(process half)/(ΣV/2),  OES = 100·Σ(outcome half + process half)/ΣV,  OCS and Acc≤r as above
    ARL = (1/N)·ΣS·(1 + 0.1·ln(l̄/l)), l̄ = mean tokens of the compared models on the question: `release_arl`

Acc≤r of one long run is a cut after the fact: an answer longer than the limit counts as not given (`budget_curves`
compares it with answers drawn under the limit). A missing token count makes ARL and Acc≤r "not available", even where
S = 0; an answer that never came (failed, unsupported) has bounds 0 and a correct answer of one token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from livek12.core.errors import UserError
from livek12.core.lazy import np
from livek12.core.records import ERROR_TYPES
from livek12.core.scoring.schema import Parameters, Profile, parameters_of, profile_named
from livek12.core.statistics import Bools, Floats, Indices

Presence = tuple[float, float, float]
"""Mean presence of CIE, LAE and DRE over the critics of one answer, 0 to 1 each."""
Steps = tuple[float, float]
"""Shares of the critics of one answer that list at least one, and at least two, erroneous steps."""

RATIOS = tuple(f"{tenth / 10:.1f}" for tenth in range(1, 11))
ERROR_KINDS = len(ERROR_TYPES)
NO_PROCESS = "no process verdicts"
RELEASE_ARL = "the release profile's ARL compares models: see livek12 compare"


@dataclass(frozen=True)
class Answers:
    """Formulas' columns for n answers.

    Attributes:
        points: V, the points of the question; None: unknown, see `points_note`.
        share: (2, n), O/V at worst and best.
        correct: (2, n), S at worst and best, 0 or 1.
        presence: (2, n, 3), presence of CIE, LAE, DRE at worst (high) and at best (low); None: no audit at all.
        steps: (2, n, 2), `Steps` at worst and best; None: no audit at all.
        tokens: l; NaN where unknown.
        came: false: failed or unsupported.
        points_stated: false: no question states points, each counts 1.
    """

    points: Floats | None
    share: Floats
    correct: Floats
    presence: Floats | None
    steps: Floats | None
    tokens: Floats
    came: Bools
    points_note: str | None = None
    points_stated: bool = True

    @property
    def tokens_missing(self) -> Bools:
        """Answers that came without a token count."""
        return np.asarray(self.came & np.isnan(self.tokens))

    @cached_property
    def ones(self) -> Floats:
        """Weights of a mean over answers."""
        return np.ones(len(self.tokens))


@dataclass(frozen=True)
class Term:
    """Metric as a ratio of sums over answers.

    Attributes:
        low: numerators at worst.
        high: numerators at best; the same array where nothing is undecided.
        weight: denominators.
        scale: 1, or 100 for marks out of 100.
        missing: answers that make the metric unavailable.
        by_trial: true if the metric exists for one trial.
        most: largest numerator of an answer, over its weight; the smallest is 0.
    """

    low: Floats
    high: Floats
    weight: Floats
    scale: float = 1.0
    missing: Bools | None = None
    by_trial: bool = True
    note: str | None = None
    most: float = 1.0

    def absence(self, picked: Indices | None = None) -> str | None:
        """Reason if unavailable over the picked answers."""
        if self.missing is None:
            return None
        missing = int((self.missing if picked is None else self.missing[picked]).sum())
        return no_tokens(missing) if missing else None


ADAPTIVE = "adaptive"
"""Beginning of the note of predicted estimates."""


@dataclass(frozen=True)
class PredictedTerm:
    """Predicted metric of a whole bank: a share with its standard error.

    Attributes:
        posed: asked questions.
    """

    value: float
    error: float
    posed: int
    bank: frozenset[str]
    scale: float = 1.0

    @property
    def note(self) -> str:
        """Kind of the number."""
        return f"{ADAPTIVE}: predicted for the bank, {self.posed:,} of {len(self.bank):,} questions asked"

    def absence(self, picked: Indices | None = None) -> str | None:
        """It is of the whole bank alone."""
        return None if picked is None else BY_DESIGN


BY_DESIGN = "not available: an adaptive exam chose the questions, and predicts the mark of the whole bank alone"
Terms = dict[str, Term | PredictedTerm | str]


def no_tokens(missing: int) -> str:
    """Reason for unavailable token metrics."""
    return f"not available ({missing} {'answer states' if missing == 1 else 'answers state'} no token count)"


def presence_bounds(audits: Sequence[Presence | None]) -> Floats | None:
    """(2, n, 3) presence of each error type at worst and best; unbounded for unaudited answers, None if all are."""
    if all(audit is None for audit in audits):
        return None
    worst, best = ([unknown if audit is None else audit for audit in audits] for unknown in ((1.0,) * 3, (0.0,) * 3))
    return np.array([worst, best])


def step_bounds(audits: Sequence[tuple[Presence, Steps | None] | None]) -> Floats | None:
    """(2, n, 2) `Steps` at worst and best, from each answer's presence and, where they are known, its steps.

    Critics without known steps list at least one for each error type they saw: as many list one as saw the commonest
    type, at most as many as saw any; at least so many list two as the overlap of the types requires.
    """
    if all(audit is None for audit in audits):
        return None
    bounds = [((1.0, 1.0), (0.0, 0.0)) if audit is None else steps_between(*audit) for audit in audits]
    return np.array(bounds).transpose(1, 0, 2).copy()


def steps_between(presence: Presence, steps: Steps | None) -> tuple[Steps, Steps]:
    """`Steps` of one answer at worst and best; `steps` None: unknown."""
    if steps is not None:
        return steps, steps
    total, (_, second, first) = sum(presence), sorted(presence)
    seen = min(1.0, total)
    return (seen, seen), (first, max(0.0, (total - 1) / 2, first + second - 1))


def ratio_term(bounds: Floats, weight: Floats, scale: float = 1.0, note: str | None = None) -> Term:
    """Σ value / Σ weight of a value with its (2, n) bounds."""
    low, high = bounds
    if (low == high).all():
        high = low
    return Term(low, high, weight, scale=scale, note=note)


def mean_term(bounds: Floats, answers: Answers, *, needs_tokens: bool = False) -> Term:
    """Mean over all answers of a value with its (2, n) bounds."""
    missing = answers.tokens_missing if needs_tokens else None
    return replace(ratio_term(bounds, answers.ones), missing=missing)


def exam_terms(answers: Answers, profile: Profile, parameters: Parameters) -> Terms:
    """Accuracy, mark, OCS, PES, OES, ARL and Acc≤r of one task's answers."""
    terms: Terms = {"accuracy": mean_term(answers.correct, answers)}
    terms |= _point_terms(answers, profile, parameters)
    arl = arl_term(answers, parameters.reference_tokens, parameters.length_weight)
    terms["ARL"] = arl if profile == "article" else RELEASE_ARL
    for ratio in RATIOS:
        terms[f"Acc≤{ratio}"] = budget_term(answers, float(ratio) * parameters.token_limit)
    return terms


def arl_term(answers: Answers, reference: float | Floats, length_weight: float) -> Term:
    """Accuracy weighted by response length; `reference` is 4096 (paper) or a length for each answer (release)."""
    # Missing answers are bounded by an answer of one token; a missing count is `missing`.
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1 + length_weight * np.log(reference / np.where(answers.tokens > 0, answers.tokens, 1.0))
    both = np.where(answers.correct > 0, answers.correct * factor, 0.0)
    # An immensely long answer has a negative factor: then a correct one is the worse completion.
    bounds = np.stack([np.minimum(both[0], both[1]), np.maximum(both[0], both[1])])
    shortest = 1 + length_weight * float(np.log(np.max(reference)))
    return replace(mean_term(bounds, answers, needs_tokens=True), most=shortest)


def budget_term(answers: Answers, limit: float) -> Term:
    """Share of answers correct within `limit` completion tokens, thinking included."""
    # Missing answers are bounded by an answer of no length.
    within = np.nan_to_num(answers.tokens) <= limit
    return mean_term(answers.correct * within, answers, needs_tokens=True)


def _point_terms(answers: Answers, profile: Profile, parameters: Parameters) -> Terms:
    points, note = answers.points, answers.points_note
    if points is None:
        return dict.fromkeys(("mark", "OCS", "PES", "OES"), note or "the questions state no points")
    if not points.sum() > 0:
        return dict.fromkeys(("mark", "OCS", "PES", "OES"), "the questions are worth no points")

    def term(earned: Floats) -> Term:
        return ratio_term(earned, points, scale=100.0, note=note)

    outcome = points * answers.share
    terms: Terms = {"mark": term(outcome)}
    terms["OCS"] = terms["mark"]
    if answers.presence is None:
        return terms | dict.fromkeys(("PES", "OES"), NO_PROCESS)
    process, overall = (_article_scores if profile == "article" else _release_scores)(answers, points, parameters)
    return terms | {
        "PES": replace(term(process), note=_process_note(answers, profile, parameters)),
        "OES": term(overall),
    }


def _process_note(answers: Answers, profile: Profile, parameters: Parameters) -> str | None:
    if profile == "article" and not answers.points_stated:
        return f"{answers.points_note}, and an error type takes a third of the process score"
    if profile == "article" and answers.points is not None and answers.points.max() <= parameters.process_penalty:
        return f"all or nothing: no question is worth more than the {parameters.process_penalty:g} points of an error"
    return answers.points_note


def _article_scores(answers: Answers, points: Floats, parameters: Parameters) -> tuple[Floats, Floats]:
    """P·(O/V) and ES of each answer, at worst and best."""
    assert answers.presence is not None
    penalty: Floats | float = parameters.process_penalty if answers.points_stated else points / ERROR_KINDS
    kept = np.maximum(0.0, points - penalty * answers.presence.sum(axis=2))
    process, weight = kept * answers.share, parameters.process_weight
    return process, weight * process + (1 - weight) * (points * answers.share)


def _release_scores(answers: Answers, points: Floats, parameters: Parameters) -> tuple[Floats, Floats]:
    """Process half over V/2 (O where a critic lists no step), and both halves together."""
    assert answers.steps is not None
    outcome = points * answers.share
    process = outcome * (1 - answers.steps[..., 0])
    return process, 0.5 * process + 0.5 * outcome * (1 - answers.steps[..., 1])


OPEN = (0.0, 1.0)
Score = dict[str, float | str | None]


def exam_scores(
    awarded: Sequence[float | None],
    possible: Sequence[float],
    *,
    correct: Sequence[bool | None] | None = None,
    tokens: Sequence[int | None] | None = None,
    presence: Sequence[tuple[float, float, float] | None] | None = None,
    steps: Sequence[Sequence[int] | None] | None = None,
    profile: Profile = "article",
    parameters: Parameters | None = None,
) -> dict[str, Score]:
    """Accuracy, mark, OCS, PES, OES, ARL and Acc≤r from plain columns.

    Args:
        awarded: points of each answer; None: undecided.
        correct: fully correct; None, as a whole or for one answer: where all points are awarded.
        tokens: completion tokens with thinking; None: unknown.
        presence: mean presence (0 to 1) of CIE, LAE, DRE; None: not audited.
        steps: erroneous steps by critic, for profile `release`; None: unknown, which gives bounds.

    Returns:
        By metric `low`, `high` and `note`; both None with a note where it is unavailable.
    """
    unknown = [None] * len(awarded)
    columns = {"possible": possible, "correct": correct, "tokens": tokens, "presence": presence, "steps": steps}
    for name, column in columns.items():
        if not awarded or (column is not None and len(column) != len(awarded)):
            raise UserError(f"{len(awarded)} answers with points need as many values in {name!r}, at least one")
    for index, (points, worth) in enumerate(zip(awarded, possible, strict=True)):
        if not 0 <= (points or 0) <= worth or worth <= 0:
            raise UserError(f"answer {index} has {points} of {worth} points: give it 0 to all of a positive number")
    shares = [None if p is None else p / worth for p, worth in zip(awarded, possible, strict=True)]
    right = [
        share == 1 if share is not None and full is None else full
        for share, full in zip(shares, correct or unknown, strict=True)
    ]
    audits = presence or unknown
    listed = [None if not counts else _shares(counts) for counts in steps or unknown]
    answers = Answers(
        points=np.asarray(possible, dtype=np.float64),
        share=np.array([OPEN if s is None else (s, s) for s in shares]).T.copy(),
        correct=np.array([OPEN if c is None else (float(c), float(c)) for c in right]).T.copy(),
        presence=presence_bounds(audits),
        steps=step_bounds(
            [None if a is None else (a, step_counts) for a, step_counts in zip(audits, listed, strict=True)]
        ),
        tokens=np.array([_count(t, c) for t, c in zip(tokens or unknown, right, strict=True)]),
        came=np.ones(len(awarded), dtype=np.bool_),
    )
    named = profile_named(profile)
    terms = exam_terms(answers, named, parameters or parameters_of(named))
    return {name: _score(term) for name, term in terms.items()}


def _shares(counts: Sequence[int]) -> tuple[float, float]:
    return sum(c >= 1 for c in counts) / len(counts), sum(c >= 2 for c in counts) / len(counts)


def _count(tokens: int | None, correct: bool | None) -> float:
    """0 is possible for a wrong answer only."""
    valid = tokens is not None and (tokens >= 1 or (tokens == 0 and correct is False))
    return float(tokens or 0) if valid else float("nan")


def _score(term: Term | PredictedTerm | str) -> Score:
    reason = term if isinstance(term, str) else term.absence()
    if reason is not None or not isinstance(term, Term):
        return {"low": None, "high": None, "note": reason}
    low, high = (term.scale * float(side.sum() / term.weight.sum()) for side in (term.low, term.high))
    return {"low": low, "high": high, "note": term.note}
