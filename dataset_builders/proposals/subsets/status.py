"""Progress of a sheet's review, and agreement of two reviewers.

Contract: decisions need a name and a date. Cohen's κ is undefined if both gave a single verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from livek12.core.agreement import cohen_kappa
from livek12.dataset_builders.proposals.subsets.criteria import SUBSETS
from livek12.dataset_builders.proposals.subsets.sheet import SheetRow


@dataclass(frozen=True)
class ReviewerPair:
    """Agreement of two reviewers on one subset.

    Attributes:
        both: proposals that both decided.
        agreed: of these, decided alike.
        accepted: of these, accepted by both.
        kappa: Cohen's κ, or None.
        only_one: proposals that one of them decided.
    """

    subset: str
    both: int
    agreed: int
    accepted: int
    kappa: float | None
    disputed: list[str]
    only_one: int


def counts(rows: Sequence[SheetRow]) -> dict[str, Counter[str]]:
    """Rows by subset, and there by state, decision and subject."""
    tallies: dict[str, Counter[str]] = {}
    for row in (row for row in rows if row.subset in SUBSETS):
        verdict, problem = row.verdict
        taken = row.state == "proposed" and SUBSETS[row.subset].as_proposed
        undecided = "taken as proposed" if taken else "open"
        decision = "does not count" if problem else {True: "accepted", False: "rejected", None: undecided}[verdict]
        tally = tallies.setdefault(row.subset, Counter())
        tally[row.state] += 1
        tally[decision] += 1
        if verdict:
            tally[f"accepted {row.language} {row.subject}".rstrip()] += 1
    return tallies


def problems(rows: Sequence[SheetRow]) -> list[str]:
    """Unknown subsets and invalid decisions, a line each."""
    unknown = ((row, f"there is no subset {row.subset!r}") for row in rows if row.subset not in SUBSETS)
    unsound = ((row, problem) for row in rows if row.subset in SUBSETS and (problem := row.verdict[1]))
    return [f"line {row.line} ({row.id}): {problem}" for row, problem in (*unknown, *unsound)]


def agreement(first: Sequence[SheetRow], second: Sequence[SheetRow]) -> list[ReviewerPair]:
    """Agreement of two reviewers, by subset."""
    a, b = _decisions(first), _decisions(second)
    return [_pair(subset, a, b) for subset in sorted({key[0] for key in (*a, *b)})]


def _pair(subset: str, a: dict[tuple[str, str, str], bool], b: dict[tuple[str, str, str], bool]) -> ReviewerPair:
    shared = sorted(key for key in a.keys() & b.keys() if key[0] == subset)
    ours, theirs = [a[key] for key in shared], [b[key] for key in shared]
    return ReviewerPair(
        subset=subset,
        both=len(shared),
        agreed=sum(x == y for x, y in zip(ours, theirs, strict=True)),
        accepted=sum(x and y for x, y in zip(ours, theirs, strict=True)),
        kappa=cohen_kappa(ours, theirs),
        disputed=[key[1] for key in shared if a[key] != b[key]],
        only_one=sum(key[0] == subset for key in a.keys() ^ b.keys()),
    )


def _decisions(rows: Sequence[SheetRow]) -> dict[tuple[str, str, str], bool]:
    return {row.key: verdict for row in rows if (verdict := row.verdict[0]) is not None}
