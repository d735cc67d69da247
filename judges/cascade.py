"""The stages, the quickest first: the first that decides has the last word.

Decisions are cached in a bounded memory shared by threads, and slow ones on disk, by comparison and code of the rules.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from importlib import metadata

from livek12.core.errors import UserError
from livek12.core.question_types import type_of
from livek12.core.records import canonical_json
from livek12.core.store import DECISIONS, Store
from livek12.judges.base import AnswerComparison, Decision, Stage, undecided
from livek12.judges.code_version import DECIDING, code_version
from livek12.judges.rules.notation import with_degree_signs
from livek12.judges.rules.pool import time_budget_exhausted
from livek12.judges.rules.restated import Compare, complement, glossed, restated, weigh, weigh_key
from livek12.judges.rules.statements import weigh as weigh_statements

_log = logging.getLogger(__name__)
REMEMBERED = 100_000
MAX_CHARS = 20_000
"""Longer keys and answers are prose for a reader, not values to compare."""
OF_CHOICES = frozenset({"choice", "refusal"})
"""Stages for keys of option labels."""
DEAR_SECONDS = 0.001
"""Slower decisions are cached on disk."""


class Cascade:
    """Runs its stages until one decides.

    Args:
        stages: in order.
        remembered: decisions in memory.
        store: caches slow decisions.
        guard: runs first: its rejections are final, and its doubt prevents acceptance.
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        remembered: int = REMEMBERED,
        store: Store | None = None,
        guard: Stage | None = None,
    ) -> None:
        self.stages = tuple(stages)
        self.guard = guard
        self._remembered = remembered
        self._store = store
        self._known: OrderedDict[AnswerComparison, Decision] = OrderedDict()
        self._lock = threading.Lock()

    def decide(self, comparison: AnswerComparison) -> Decision:
        """First decision, else undecided with all reasons."""
        if time_budget_exhausted():  # cached results of other responses must not change this one
            return self._ask(comparison)
        with self._lock:
            if cached := self._known.get(comparison):
                self._known.move_to_end(comparison)
                return cached
        decision = self._recalled(comparison) or self._decided(comparison)
        if decision.lasting:
            with self._lock:
                self._known[comparison] = decision
                if len(self._known) > self._remembered:
                    self._known.popitem(last=False)
        return decision

    def flush(self) -> None:
        """Writes pending decisions to disk."""
        if self._store is not None:
            self._store.flush()

    def _recalled(self, comparison: AnswerComparison) -> Decision | None:
        text = self._store.get(_disk_key(comparison)) if self._store is not None else None
        if text is None:
            return None
        try:
            outcome, score, by, reason = json.loads(text)
        except (ValueError, TypeError):
            return None
        return Decision(outcome, score, by, reason)

    def _decided(self, comparison: AnswerComparison) -> Decision:
        began = time.perf_counter()
        decision = self._ask(comparison)
        dear = time.perf_counter() - began > DEAR_SECONDS
        if self._store is not None and dear and decision.lasting:
            value = json.dumps([decision.decision, decision.score, decision.by, decision.reason])
            self._store.put(_disk_key(comparison), value, urgent=False)
        return decision

    def _ask(self, comparison: AnswerComparison) -> Decision:
        if max(len(comparison.gold), len(comparison.answer)) > MAX_CHARS:
            return undecided("rules", "too long to compare by rule")
        whole = self._stage_by_stage(comparison)
        if type_of(comparison.question_type).answer in ("labels", "truth"):
            return whole

        decisions: list[Decision] = []

        def compare(gold: str, answer: str) -> Decision:
            decisions.append(self.decide(replace(comparison, gold=gold, answer=answer)))
            return decisions[-1]

        def alike(first: str, second: str) -> Decision:
            plain = replace(comparison, gold=first, answer=second, asked_form="", asked_expression="")
            decisions.append(self.decide(plain))
            return decisions[-1]

        if parts := restated(comparison.answer):
            decision = weigh(parts, comparison, whole, compare, alike)
        elif parts := restated(comparison.gold):
            decision = weigh_key(parts, comparison, whole, compare, alike)
        elif whole.decision == "undecided":
            decision = _of_words(comparison, whole, compare)
        else:
            return whole
        return replace(decision, lasting=all(each.lasting for each in (whole, *decisions)))

    def _stage_by_stage(self, comparison: AnswerComparison) -> Decision:
        texts = [comparison.gold, comparison.answer, comparison.asked_expression]
        if (signed := with_degree_signs(*texts)) != texts:
            gold, answer, asked = signed
            comparison = replace(comparison, gold=gold, answer=answer, asked_expression=asked)
        reasons: list[str] = []
        lasting = True
        stages, guard = self.stages, self.guard
        if comparison.is_choice:
            stages, guard = tuple(stage for stage in stages if stage.name in OF_CHOICES), None
        form = _said(guard, comparison) if guard is not None else undecided("rules")
        if form.decision == "reject":
            return form
        for stage in stages:
            decision = _said(stage, comparison)
            if decision.decision != "undecided":
                return form if decision.decision == "accept" and form.reason else decision
            lasting = lasting and decision.lasting
            if decision.reason:
                reasons.append(f"{stage.name}: {decision.reason}")
        return undecided("rules", "; ".join(reasons) or "no rule applies", lasting)


def _of_words(comparison: AnswerComparison, whole: Decision, compare: Compare) -> Decision:
    """Decision on the complement of a sentence, or on a word or its gloss.

    A key sentence may say more, so other complements and words are left open.
    """
    if value := complement(comparison.answer):
        decision = compare(comparison.gold, value)
        return decision if decision.decision != "undecided" else weigh_statements(comparison, whole, compare)
    pairs = [(comparison.gold, value) for value in glossed(comparison.answer)]
    value = complement(comparison.gold)
    pairs += [(key, comparison.answer) for key in ([value] if value else glossed(comparison.gold))]
    decisions = (compare(*pair) for pair in pairs)
    best = next((decision for decision in decisions if decision.decision == "accept"), whole)
    return best if best.decision != "undecided" else weigh_statements(comparison, whole, compare)


def _said(stage: Stage, comparison: AnswerComparison) -> Decision:
    try:
        return stage.decide(comparison)
    except UserError:
        raise
    except Exception as error:
        _log.warning("%s: the %s rules broke off", comparison.question_id, stage.name, exc_info=True)
        return undecided(stage.name, f"broke off ({type(error).__name__})", lasting=False)


def default_cascade(store: Store | None = None) -> Cascade:
    """Standard stages behind the form."""
    from livek12.judges.rules.chemistry import ChemistryStage
    from livek12.judges.rules.choice import ChoiceStage
    from livek12.judges.rules.form import FormStage
    from livek12.judges.rules.numeric import NumberStage
    from livek12.judges.rules.refusal import RefusalStage
    from livek12.judges.rules.symbolic import SymbolicStage
    from livek12.judges.rules.text import TextStage
    from livek12.judges.rules.true_false import TrueFalseStage
    from livek12.judges.rules.words import WordStage

    stages: list[Stage] = [ChoiceStage(), TrueFalseStage(), NumberStage(), ChemistryStage()]
    stages += [WordStage(), SymbolicStage(), TextStage(), RefusalStage()]
    return Cascade(stages, store=store, guard=FormStage())


def decision_store() -> Store:
    """Store in the user's cache."""
    return Store(DECISIONS)


def _disk_key(comparison: AnswerComparison) -> str:
    given = {f.name: getattr(comparison, f.name) for f in fields(comparison) if f.compare and f.name != "options"}
    options = [[option.label, option.text] for option in comparison.options]
    return canonical_json([rules_digest(), given, options])


@cache
def rules_digest() -> str:
    """Hash of the rules, and sympy's version."""
    return f"{code_version(DECIDING)} {metadata.version('sympy')}"
