"""What a site says of its runs at once: the records of its first page, and the same as tables for other programs.

Contract: `table.json` has a row for each run, task and profile with each metric as [low, high, ends of the 95 %
interval, ± over trials], `cost.json` tokens and what they cost, `questions.parquet` a row a question. What is hidden is
in none of them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

from livek12.core.visible import visible
from livek12.evaluation.site.exams import Exams
from livek12.evaluation.site.hidden import Hidden
from livek12.evaluation.site.models import KnownModel, cost_of, facts_of
from livek12.report.site.store import SiteStore


def front_of(
    record: Mapping[str, Any], known: KnownModel | None, placed: Mapping[str, Any], slug: str
) -> dict[str, Any]:
    """What the first page needs of a run."""
    tasks = {}
    for task, found in record["tasks"].items():
        counts = found["counts"]
        undecided = counts["ungraded"] + counts["failed"] + counts["unsupported"]
        own = {
            what: {metric: runs[slug] for metric, runs in by_metric.items() if slug in runs}
            for what, by_metric in placed[task].items()
        }
        tasks[task] = {
            "metrics": {name: profile["metrics"] for name, profile in found["profiles"].items()},
            "counts": counts,
            "undecided": undecided / counts["answers"],
            "tokens": found["tokens"],
            "untold": found["untold"],
            "cost": cost_of(known, found["tokens"]),
            **own,
            **({"limit": limit} if (limit := record["facts"]["limits"].get(task)) else {}),
        }
    facts = {name: value for name, value in record["facts"].items() if name != "limits"}
    about = {**facts_of(known), "currency": known.currency if known and known.prices else None}
    budgets = {"budgets": record["budgets"]} if record["budgets"] else {}
    return {"name": visible(record["name"]), **facts, "known": about, "tasks": tasks, **budgets}


def write_tables(
    store: SiteStore,
    front: Mapping[str, Any],
    exams: Exams,
    off: frozenset[str],
    hidden: Hidden,
    told: Mapping[str, Any],
) -> None:
    """Writes the three tables."""
    rows, costs = [], []
    for slug, run in front.items():
        about = {"run": slug, "model": run["model"], "date": run["date"], "released": run["known"]["released"]}
        regraded = {"regraded": run["regraded"]} if "regraded" in run else {}
        for task, found in run["tasks"].items():
            shares = {"undecided": found["undecided"], "counts": found["counts"]}
            shares |= {what: found[what] for what in ("ranks", "tied", "stability")}
            rows += [
                {
                    **about,
                    "task": task,
                    "profile": profile,
                    "metrics": metrics,
                    **shares,
                    "judged_by": run["judged"],
                    **regraded,
                }
                for profile, metrics in found["metrics"].items()
            ]
            spent = {"tokens": found["tokens"], "untold": found["untold"], "cost": found["cost"]}
            costs.append({**about, "task": task, **spent, "currency": run["known"]["currency"]})
        costs.append({**about, "task": None, "judges": run["judges"]})
    for name, value in (("table.json", rows), ("cost.json", costs)):
        store.file(name, (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace"))
    store.file("questions.parquet", _parquet(exams, off, hidden, told))


def _parquet(exams: Exams, off: frozenset[str], hidden: Hidden, told: Mapping[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = ("task", "anchor", "benchmark", "release", "language", "subject", "question_type", "difficulty", "hidden")
    shown = ("question_id", "paper", "number", "question", "key", "agreed")
    counts, numbers = ("runs", "answers", "right", "open"), ("points", "discrimination", "chance_key_is_wrong")
    fields = [pa.field(name, pa.string()) for name in (*texts, *shown)]
    fields += [pa.field(name, pa.int64()) for name in counts] + [pa.field(name, pa.float64()) for name in numbers]
    rows = []
    for task in sorted(exams.tasks):
        for anchor, question in exams.in_order(task):
            seen, may = told.get(anchor, {}), anchor not in off
            suspect = seen.get("suspect", {})
            row = {
                "task": task, "anchor": anchor, "benchmark": question.benchmark, "release": question.release,
                "language": question.language, "subject": question.subject, "question_type": question.question_type,
                "difficulty": question.difficulty, "hidden": hidden.why(question) or None, "points": question.points,
                "discrimination": seen.get("discrimination"), **{name: seen.get(name) for name in counts},
            }  # fmt: skip
            if may:
                row |= {"question_id": question.id, "paper": question.paper_id, "number": question.number}
                row |= {"question": question.question, "key": "; ".join(question.answer)}
                row |= {"agreed": suspect.get("agreed"), "chance_key_is_wrong": suspect.get("chance")}
            rows.append({name: visible(value) if isinstance(value, str) else value for name, value in row.items()})
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), buffer)
    return buffer.getvalue()
