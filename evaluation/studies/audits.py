"""What critics say of the reasoning, as yes or no by error type: beside each other and beside themselves.

Contract: a critic says of an error type that it is there, or not; a critic without a usable critique says nothing. The
panel says what more than half of its critics say; where they are even it says nothing. `OVERALL` pools the decisions
on all three types; `ANY` is whether there is an error of any type (LiveK12Bench, appendix C, tables 8 and 9, does not
say which of the two its "overall" is).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from livek12.core.agreement import cohen_kappa, krippendorff_alpha
from livek12.core.records import ERROR_TYPES, Process

PANEL = "panel"
OVERALL, ANY = "overall", "any error"
KINDS = (*ERROR_TYPES, OVERALL, ANY)
Said = Mapping[str, bool]
"""Whether an error is there, by type and for `ANY`; a type that nothing is said of is missing."""


def with_any(said: Mapping[str, bool]) -> dict[str, bool]:
    """What is said of the types, and what follows for `ANY`."""
    types = [said[kind] for kind in ERROR_TYPES if kind in said]
    known = any(types) or len(types) == len(ERROR_TYPES)
    return {**{kind: said[kind] for kind in ERROR_TYPES if kind in said}, **({ANY: any(types)} if known else {})}


def critics_said(process: Process | None) -> dict[str, dict[str, bool]]:
    """What each critic of an audit said, and the panel."""
    if process is None or not process.critics:
        return {}
    found = {
        critic: with_any(
            {kind: any(e.type == kind and e.judge == critic for e in process.errors) for kind in ERROR_TYPES}
        )
        for critic in dict.fromkeys(process.critics)
    }
    shares = {kind: sum(said[kind] for said in found.values()) / len(found) for kind in ERROR_TYPES}
    return {**found, PANEL: with_any({kind: share > 0.5 for kind, share in shares.items() if share != 0.5})}


def decisions(said: Said, kind: str) -> dict[str, bool]:
    """The decisions that count for a kind: all types for `OVERALL`."""
    kinds = ERROR_TYPES if kind == OVERALL else (kind,)
    return {one: said[one] for one in kinds if one in said}


def agreement_of(pairs: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    """The rate of equal decisions, and Cohen's κ."""
    return {
        "n": len(pairs),
        "agreed": sum(a == b for a, b in pairs) / len(pairs) if pairs else None,
        "kappa": cohen_kappa([a for a, _ in pairs], [b for _, b in pairs]),
    }


def between_critics(audits: Iterable[Process]) -> dict[str, dict[str, Any]]:
    """Agreement of each pair of critics by error type, and over all pairs together (LiveK12Bench, table 9).

    Returns:
        By kind and pair, "all pairs" last; empty where no audit has two critics.
    """
    pairs: defaultdict[str, defaultdict[str, list[tuple[bool, bool]]]] = defaultdict(lambda: defaultdict(list))
    for audit in audits:
        said = critics_said(audit)
        said.pop(PANEL, None)
        for kind in KINDS:
            for a, b in combinations(sorted(said), 2):
                left, right = decisions(said[a], kind), decisions(said[b], kind)
                pairs[kind][f"{a} / {b}"] += [(left[one], right[one]) for one in left]
    return {
        kind: {name: agreement_of(found) for name, found in named.items()}
        | {"all pairs": agreement_of([pair for found in named.values() for pair in found])}
        for kind, named in pairs.items()
    }


def over_repeats(repeats: Sequence[Mapping[str, Process]]) -> dict[str, dict[str, Any]]:
    """How far critics agree with themselves when they are asked again, by error type (LiveK12Bench, table 9).

    Args:
        repeats: the audits of each repeat by answer; two repeats or more.

    Returns:
        By kind and critic, the panel last: decisions made in every repeat, the share that is the same in all of them,
        the mean agreement of two repeats, and Krippendorff's α.
    """
    said = [{key: critics_said(process) for key, process in audits.items()} for audits in repeats]
    critics = sorted({critic for one in said for found in one.values() for critic in found} - {PANEL})
    shared = sorted(set.intersection(*(set(one) for one in said))) if said else []
    found: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        for critic in (*critics, PANEL) if critics else ():
            units = []
            for key in shared:
                given = [decisions(one[key].get(critic, {}), kind) for one in said]
                units += [[one[name] for one in given] for name in given[0] if all(name in one for one in given)]
            found.setdefault(kind, {})[critic] = _repeated(units)
    return found


def _repeated(units: Sequence[Sequence[bool]]) -> dict[str, Any]:
    pairs = [a == b for unit in units for a, b in combinations(unit, 2)]
    return {
        "n": len(units),
        "identical": sum(len(set(unit)) == 1 for unit in units) / len(units) if units else None,
        "agreed": sum(pairs) / len(pairs) if pairs else None,
        "alpha": krippendorff_alpha(units),
    }
