"""Every Eval Ever 0.3: an aggregate JSON for each task of a run, and `_samples.jsonl` with single answers.

Contract: valid for `every_eval_ever validate`, at the datastore's path (`data/TASK/DEVELOPER/MODEL/UUID4.json`); the
same run gives the same names. An interval's score is its lower end, with both ends beside it. Undecided and missing
answers are only in the aggregate.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.files import remove_files, write_atomically
from livek12.core.records import Verdict, canonical_json
from livek12.core.run.spec import TaskSpec
from livek12.core.scoring import Row
from livek12.core.scoring.metrics import metric_of
from livek12.core.version import __version__
from livek12.evaluation.exports import Export, ensure_folder, is_hub_name, safe_name
from livek12.judges.llm.prompts import load_prompt

SCHEMA: Final = "0.3.0"
UNBOUNDED: Final = frozenset({"ARL", "ARL_length"})
NO_PATH: Final = "unknown"


def write(export: Export, out: Path) -> list[Path]:
    """Writes the records of a run; returns the files, the aggregate of each task first."""
    return [file for task in export.spec.tasks for file in _write_task(export, task, out)]


def _write_task(export: Export, task: TaskSpec, out: Path) -> Iterator[Path]:
    spec = export.spec
    digest = hashlib.sha256(canonical_json([spec.started_at, spec.model, task.name, spec.judges]).encode()).digest()
    name = str(uuid.UUID(bytes=digest[:16], version=4))
    developer, _, short = export.model.rpartition("/")
    place = f"data/{safe_name(task.name)}/{safe_name(developer or NO_PATH)}/{safe_name(short)}"
    ensure_folder(out / place)
    identity = f"{task.name}/{export.model}/{spec.started_at}"
    judged: dict[str, str] = {}
    samples, lines = out / place / f"{name}_samples.jsonl", 0

    def sampled() -> Iterator[str]:
        nonlocal lines
        for row in export.rows(task.name):
            if row.verdict is not None:
                judged.update({vote.judge: "" for part in row.verdict.parts for vote in part.votes})
                judged.update({call.judge: call.prompt for call in row.verdict.calls if call.prompt})
            if (sample := _sample(export, task, row, identity)) is not None:
                lines += 1
                yield json.dumps(sample) + "\n"  # ASCII: its readers end lines at every sign that Unicode ends one at

    write_atomically(samples, sampled())
    record = _aggregate(export, task, identity, judged)
    if lines:
        checksum = hashlib.sha256(samples.read_bytes()).hexdigest()
        record["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": f"{place}/{samples.name}",
            "hash_algorithm": "sha256",
            "checksum": checksum,
            "total_rows": lines,
        }
    else:
        remove_files(samples.parent, [samples.name])
    file = out / place / f"{name}.json"
    write_atomically(file, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    yield file
    if lines:
        yield samples


def _aggregate(export: Export, task: TaskSpec, identity: str, judged: Mapping[str, str]) -> dict[str, Any]:
    spec = export.spec
    developer, _, short = export.model.rpartition("/")
    return {
        "schema_version": SCHEMA,
        "evaluation_id": identity,
        "evaluation_timestamp": spec.started_at,
        "retrieved_timestamp": str(int(time.time())),
        "source_metadata": {
            "source_name": "livek12",
            "source_type": "evaluation_run",
            "source_organization_name": export.organization or "unknown",
            **({"source_organization_url": export.source_url} if export.source_url else {}),
            "evaluator_relationship": export.relationship,
        },
        "eval_library": {"name": "livek12", "version": spec.package_version},
        "model_info": {
            "name": short,
            "id": export.model,
            "developer": developer or NO_PATH,
            "inference_engine": {"name": spec.engine, "version": spec.engine_versions.get(spec.engine, "unknown")},
            "additional_details": _texts(
                {
                    "deployment_type": "self_deployed" if kind_of(spec.engine).is_local else "unknown",
                    "model_availability": "open_weights" if is_hub_name(export.model) else "unknown",
                    "model_revision": spec.model_revision,
                }
            ),
        },
        "evaluation_results": list(_results(export, task, judged)),
    }


def _results(export: Export, task: TaskSpec, judged: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    report = export.scores["tasks"][task.name]
    counts = report["counts"]
    for name, metric in report["metrics"].items():
        if metric["low"] is None:
            continue
        yield {
            "evaluation_result_id": f"{task.name}/{name}",
            "evaluation_name": f"{task.name}: {name}",
            "source_data": _source(export, task),
            "evaluation_timestamp": export.spec.started_at,
            "metric_config": _metric(name, judged),
            "score_details": {
                "score": metric["low"],
                "details": _texts(
                    {
                        "low": metric["low"],
                        "high": metric["high"],
                        "is_interval": metric["value"] is None,
                        "note": metric["note"],
                        **{state: count for state, count in counts.items() if count},
                    }
                ),
                "uncertainty": _uncertainty(export, metric, counts),
            },
            "generation_config": _generation(export, task),
        }


def _source(export: Export, task: TaskSpec) -> dict[str, Any]:
    repo, revision = export.data_of(task)
    details = _texts({"data_sha256": task.data_sha256, "revision": revision, "task_version": task.version})
    named = {"dataset_name": repo or task.name, "additional_details": details}
    if not repo:
        return {**named, "source_type": "other"}
    return {**named, "source_type": "hf_dataset", "hf_repo": repo, "samples_number": task.questions}


def _metric(name: str, judged: Mapping[str, str]) -> dict[str, Any]:
    percent = metric_of(name).scale == "out_of_100"
    k = re.fullmatch(r"pass@(\d+)", name)
    row: dict[str, Any] = {
        "metric_id": "pass_at_k" if k else "accuracy" if name == "accuracy" else f"livek12.{name}",
        "metric_name": name,
        "metric_kind": "pass_rate" if k else "accuracy" if name.startswith(("accuracy", "Acc")) else "score",
        "metric_unit": "points" if percent else "proportion",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": 0.0,
        "max_score": "Infinity" if name in UNBOUNDED else 100.0 if percent else 1.0,
    }
    if k:
        row["metric_parameters"] = {"k": float(k[1])}
    if judged:
        row["llm_scoring"] = {
            "judges": [{"model_info": {"name": judge, "id": judge}} for judge in judged],
            "input_prompt": "\n\n".join(dict.fromkeys(map(_prompt, filter(None, judged.values())))) or "unknown",
            "aggregation_method": "majority_vote" if name == "accuracy" else "average",
            "additional_details": {
                "scope": "what the rules of livek12 left open, or all answers where the run says so"
            },
        }
    return row


def _prompt(named: str) -> str:
    """Text of a judge's prompt (`NAME-VERSION+HASH`), if it still has that hash; else the name."""
    try:
        prompt = load_prompt(named.partition("+")[0].rpartition("-")[0])
    except (OSError, UserError, ValueError, KeyError):  # a prompt of the user's own, or of another version
        return named
    return "\n\n".join(prompt.sections) if prompt.id == named else named


def _uncertainty(export: Export, metric: Mapping[str, Any], counts: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"num_samples": metric["n"] or counts["questions"]}
    if metric["ci"]:
        row["confidence_interval"] = {
            "lower": metric["ci"][0],
            "upper": metric["ci"][1],
            "confidence_level": export.scores["parameters"]["level"],
            "method": export.scores["intervals"],
        }
    if metric["std"] is not None:
        row["standard_deviation"] = metric["std"]
    return row


def _generation(export: Export, task: TaskSpec) -> dict[str, Any]:
    spec, sampling = export.spec, task.sampling
    args: dict[str, Any] = {}
    if kind_of(spec.engine).draws:  # of recorded answers nobody knows how they were drawn
        drawn = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
        args = {name: value for name, value in drawn.items() if value is not None}
        args["max_tokens"] = sampling.max_tokens
    details = {"trials": spec.trials, "prompt_sha256": task.prompt_sha256, "engine": spec.engine}
    return {**({"generation_args": args} if args else {}), "additional_details": _texts(details)}


def _sample(export: Export, task: TaskSpec, row: Row, identity: str) -> dict[str, Any] | None:
    verdict, response, question = row.verdict, row.response, row.question
    if verdict is None or response is None or verdict.correct is None or verdict.points is None:
        return None
    golds = question.answer or [variable.value for variable in question.variables]
    text = question.question
    sample_hash = hashlib.sha256((text + canonical_json(golds)).encode()).hexdigest()
    choices = {"choices": [f"{option.label}. {option.text}" for option in question.options]} if question.options else {}
    return {
        "schema_version": SCHEMA,
        "evaluation_id": identity,
        "model_id": export.model,
        "evaluation_name": f"{task.name}: accuracy",
        "evaluation_result_id": f"{task.name}/accuracy",
        "sample_id": question.id if export.spec.trials == 1 else f"{question.id}#{row.trial}",
        "sample_hash": sample_hash,
        "interaction_type": "single_turn",
        "input": {"raw": text, "reference": golds, **choices},
        "output": {"raw": [response.text], **({"reasoning_trace": [response.reasoning]} if response.reasoning else {})},
        "answer_attribution": list(_attributed(verdict)),
        "evaluation": {"score": verdict.points / verdict.max_points, "is_correct": verdict.correct, "num_turns": 1},
        **_spent(row),
        "metadata": _about(row, verdict),
    }


def _attributed(verdict: Verdict) -> Iterator[dict[str, Any]]:
    for part in verdict.parts:
        if part.answer is not None:
            yield {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": part.answer,
                "extraction_method": "livek12 rules",
                "is_terminal": True,
            }


def _spent(row: Row) -> dict[str, Any]:
    response = row.response
    assert response is not None
    read, written = response.prompt_tokens, response.completion_tokens
    totals: dict[str, Any] = {}
    if read is not None and written is not None:
        counts = {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
        cached = {"input_tokens_cache_read": response.cached_tokens, "reasoning_tokens": response.reasoning_tokens}
        totals["token_usage"] = {**counts, **{name: value for name, value in cached.items() if value is not None}}
    if response.seconds is not None:
        totals["performance"] = {"latency_ms": response.seconds * 1000}
    return totals


def _about(row: Row, verdict: Verdict) -> dict[str, str]:
    question, parts = row.question, verdict.parts
    votes: Sequence[Any] = [vote for part in parts for vote in part.votes]
    return _texts(
        {
            "subject": question.subject,
            "question_type": question.question_type,
            "language": question.language,
            "release": question.release,
            "points": question.points,
            "trial": row.trial,
            "decided_by": "+".join(dict.fromkeys(part.decided_by for part in parts)) or verdict.state,
            "reason": verdict.reason or None,
            "finish_reason": row.response.finish_reason if row.response else None,
            "votes": json.dumps([vote.model_dump(exclude={"raw"}) for vote in votes]) if votes else None,
            "judge": verdict.judge,
            "livek12": __version__,
        }
    )


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items() if value is not None}
