"""What only several runs together tell of questions: how hard each is, which keys look wrong.

Contract: works on the records of runs (`reading`), so that no run is read again. What is said is what `livek12 study
items` says. Of hidden questions nothing is said but how many were right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from livek12.core.records import Question
from livek12.evaluation.sieve import task_way
from livek12.evaluation.site.ranking import Records
from livek12.evaluation.studies.items import FEWEST_RUNS, SUSPECT, Answered, ExamItem, items_study
from livek12.evaluation.studies.suspects import SameAnswer

MOST_COMPARED = 2_000
"""Answers that are all compared by the rules to find keys that look wrong."""


def items(
    exams: Mapping[str, Mapping[str, Question]], hidden: frozenset[str], records: Records, same: SameAnswer
) -> dict[str, dict[str, Any]]:
    """By anchor: how many answered, the share that is right, discrimination, and what speaks against the key.

    Args:
        exams: the questions of each task, by anchor.
        hidden: anchors of which nothing is said.
        records: of the runs.
        same: whether two answers to a question are one.
    """
    found = {
        (task, question.id): (anchor, ExamItem(task, question))
        for task, questions in exams.items()
        for anchor, question in questions.items()
    }
    by_anchor = dict(found.values())
    for slug, record in records.items():
        for cells in record["cells"].values():
            for anchor, (_, *trials) in cells.items():
                by_anchor[anchor].answers[slug] += [_answered(one) for one in trials]
    asked = [item for item in by_anchor.values() if item.answers]
    if len(records) < FEWEST_RUNS:
        return {found[item.key][0]: _counted(item) for item in asked}
    compare = same if _few(asked) else _where_it_matters(asked, same)
    studies = [items_study(together, compare) for together in _by_way(asked) if _runs(together) >= FEWEST_RUNS]
    rows = {(row["task"], row["question_id"]): row for study in studies for row in study["items"]}
    suspects = [one for study in studies for one in study["suspects"]]
    doubted = {(one["task"], one["question_id"]): one for one in suspects if one["chance"] >= SUSPECT}
    told: dict[str, dict[str, Any]] = {}
    for item in asked:
        key = item.key
        anchor, _ = found[key]
        told[anchor] = _counted(item)
        if key in rows:
            told[anchor]["discrimination"] = _short(rows[key]["discrimination"])
        if anchor not in hidden and (doubt := doubted.get(key)):
            names = ("key", "agreed", "agreed_runs", "of_runs")
            told[anchor]["suspect"] = {"chance": _short(doubt["chance"]), **{name: doubt[name] for name in names}}
    return told


def _by_way(asked: Sequence[ExamItem]) -> list[list[ExamItem]]:
    """The items that were asked in one way together: an ability of pages says nothing of one of texts."""
    ways: dict[str, list[ExamItem]] = {}
    for item in asked:
        ways.setdefault(task_way(item.task), []).append(item)
    return list(ways.values())


def _runs(asked: Sequence[ExamItem]) -> int:
    return len({run for item in asked for run in item.answers})


def _few(asked: Sequence[ExamItem]) -> bool:
    return sum(len(answers) for item in asked for answers in item.answers.values()) <= MOST_COMPARED


def _where_it_matters(asked: Sequence[ExamItem], same: SameAnswer) -> SameAnswer:
    """Compares answers by the rules only where a key may look wrong: elsewhere by their spelling, in no time.

    A key may look wrong where it does, well below the chance that is told, with answers told apart by spelling alone or
    with all wrong ones taken for one; the truth lies between the two.
    """
    near: set[tuple[str, str]] = set()
    for together in _by_way(asked):
        for quick in (_never, _always) if _runs(together) >= FEWEST_RUNS else ():
            suspects = items_study(together, quick)["suspects"]
            near |= {(one["task"], one["question_id"]) for one in suspects if one["chance"] >= SUSPECT / 10}
    ids = {question_id for _, question_id in near}
    return lambda question, one, other: question.id in ids and same(question, one, other)


def _never(question: Question, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return False


def _always(question: Question, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return True


def _answered(one: Sequence[Any]) -> Answered:
    _, _, least, most, _, _, tokens, said = one
    return Answered(bool(least) if least == most else None, least, most, tuple(said or ()), None, tokens)


def _counted(item: ExamItem) -> dict[str, Any]:
    given = [answer for answers in item.answers.values() for answer in answers]
    right = [answer.right for answer in given]
    return {"runs": len(item.answers), "answers": len(given), "right": right.count(True), "open": right.count(None)}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
