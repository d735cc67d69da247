"""Which verdict on an answer counts, where it has several, and who marked what, in words.

Contract: a run is marked once, and anew whenever somebody asks for that (`judge --again`); `Verdict.marking` says which
time it is. Of two verdicts on one answer that of the later marking counts; within one marking a graded one before
others, then one by the keys of another data set, then one of judge models that replied, then that which leaves less
open, then that with an audit of the reasoning, then the later one. But a verdict that waits for a judge, which could
not be asked, gives way to one that decides, whichever marking that is of; and of two within one marking that rules
alone made, by the same keys, that of the rules which came later counts. So a mark stands until another has taken its
place, answer by answer. A verdict of a judge whom run.json does not know, from before markings were counted, counts
only where there is none besides.

A judge is named by a version, `rules-CODE+SETTINGS`, a space, the same of each method of its models (`count-…`), and
what names its keys. CODE is a hash (`judges.code_version`); up to livek12 0.1.0 it was a number that people raised.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from livek12.core.records import Verdict

REGRADES = "regrades.jsonl"
"""The file of a run folder in which the marks stand that people set (`core.regrades`)."""
PERSON = "person "
"""Stands before the name of a person who set a mark in place of the judges (`core.regrades`)."""
KEYS = " keys+"
"""Stands in the version of a judge before what names the keys of another data set that it marked by."""

_CODE = re.compile(r"\b([a-z]\w*)-([0-9a-f]+)\+")
"""In the version of a judge: a name with the version of its code."""
_READER = re.compile(r"\+latex2sympy2_extended-[\w.]+")
"""Behind its settings: the library that reads what the rules' own reader cannot, where it is installed."""


def counts_over(new: Verdict, old: Verdict, known: Sequence[str]) -> bool:
    """Whether of two verdicts on one answer the one that was read later counts.

    Args:
        new: read later.
        old: read before.
        known: versions of the judges that run.json knows, in the order in which they came.
    """
    if new.waits != old.waits:
        waiting, other = (new, old) if new.waits else (old, new)
        if not other.is_open:
            return waiting is old
    by_rules = other_rules(new, old.judge) and other_rules(old, new.judge)
    if by_rules and new.marking == old.marking and new.judge in known and old.judge in known:
        return known.index(new.judge) > known.index(old.judge)
    return _rank(new, known) >= _rank(old, known)


def other_rules(verdict: Verdict, judge: str) -> bool:
    """Whether rules alone made a verdict, by the keys that a judge has, but not the rules of that judge."""
    (rules, *_), (others, *_) = verdict.judge.split(" "), judge.split(" ")
    return not verdict.by_models and rules != others and _keys(verdict.judge) == _keys(judge)


def without_code(version: str) -> str:
    """A judge whatever its code: who, by which methods and prompts, with which settings and keys."""
    return _CODE.sub(r"\1+", _READER.sub("", version))


def _keys(version: str) -> str:
    return version.partition(KEYS)[2]


def _rank(verdict: Verdict, known: Sequence[str]) -> tuple[float, ...]:
    marking = verdict.marking if verdict.marking or verdict.judge in known else -1
    heard = verdict.by_models and not verdict.waits
    narrow = (verdict.low - verdict.high) / verdict.max_points if verdict.max_points else 0.0
    return marking, verdict.state == "graded", KEYS in verdict.judge, heard, narrow, verdict.process is not None


def in_words(version: str) -> str:
    """A judge by its version alone, for runs that do not say who it was: "rules 5 and judge models (count, audit)"."""
    if version.startswith(PERSON):
        return f"{version.removeprefix(PERSON)} (a person)"
    names = dict.fromkeys(_CODE.findall(version.partition(KEYS)[0]))
    rules = " ".join(f"rules {number}" for name, number in names if name == "rules") or version
    models = ", ".join("audit" if name.startswith("audit") else name for name, _ in names if name != "rules")
    return rules + (f" and judge models ({models})" if models else "")
