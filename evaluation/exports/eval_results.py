"""The Hub's format: `.eval_results/livek12--TASK.yaml` for the model's repository, and its pull request.

Contract: one file a task with its article's first mark. An interval is refused, unless bounds are asked for: then its
lower end is the value and the whole of it in `notes`. A pull request is opened once for each model, task and mark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError, install
from livek12.core.files import write_atomically
from livek12.core.hub import reason
from livek12.core.lazy import yaml
from livek12.core.run.spec import TaskSpec
from livek12.core.scoring.metrics import metric_of
from livek12.core.text import one_line
from livek12.evaluation.exports import Export, ensure_folder, is_hub_name, safe_name
from livek12.tasks.registry import find_task

FOLDER: Final = ".eval_results"
REGISTER: Final = "pull_requests.jsonl"


@dataclass(frozen=True)
class Proposal:
    """File for the repository of a model (ORG/NAME), and the title of its pull request."""

    model: str
    path: str
    content: str
    title: str


def write(export: Export, out: Path, *, bounds: bool = False) -> list[Path]:
    """Writes the file of each task, in a folder of the model's name."""
    files = []
    for proposal in proposals(export, bounds=bounds):
        file = out / safe_name(proposal.model.replace("/", "--")) / proposal.path
        ensure_folder(file.parent)
        write_atomically(file, proposal.content)
        files.append(file)
    return files


def proposals(export: Export, *, bounds: bool = False) -> list[Proposal]:
    """File for the model's repository for each task."""
    return [_proposal(export, task, bounds) for task in export.spec.tasks]


def _proposal(export: Export, task: TaskSpec, bounds: bool) -> Proposal:
    entry_class, to_yaml = _hub_classes()
    repo, revision = export.data_of(task)
    if not repo:
        raise UserError(
            f"{export.run.path}: the data of {task.name} is not named as on the Hub: give --data-repo ORG/NAME, the"
            " published benchmark"
        )
    name, value, notes = _mark(export, task, bounds)
    source = {"source_url": export.source_url, "source_name": "livek12"} if export.source_url else {}
    entry = entry_class(
        dataset_id=repo,
        task_id=task.name,
        value=value,
        dataset_revision=revision,
        date=export.spec.started_at,
        notes=notes,
        **source,
    )
    content = yaml.safe_dump(to_yaml([entry]), sort_keys=False, allow_unicode=True, width=1000)
    title = f"Results of livek12 on {task.name}: {name} {value:g}"
    return Proposal(export.model, f"{FOLDER}/livek12--{safe_name(task.name)}.yaml", content, title)


def _hub_classes() -> tuple[Any, Any]:
    try:
        from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    except ImportError:
        raise UserError(f"the Hub's results are written by huggingface_hub 1.5 or newer: {install('export')}") from None
    return EvalResultEntry, eval_result_entries_to_yaml


def _mark(export: Export, task: TaskSpec, bounds: bool) -> tuple[str, float, str]:
    registered, metrics = find_task(task.name), export.scores["tasks"][task.name]["metrics"]
    names = [*(registered.metrics if registered else ()), "accuracy", "mark"]
    name = next((name for name in names if name in metrics and metrics[name]["low"] is not None), None)
    if name is None:
        raise UserError(f"{export.run.path}: {task.name} has no mark: `livek12 judge` makes them")
    metric, counts = metrics[name], export.scores["tasks"][task.name]["counts"]
    low, high = _percent(name, metric["low"]), _percent(name, metric["high"])
    open_ = ", ".join(f"{counts[state]} {state}" for state in ("ungraded", "failed", "unsupported") if counts[state])
    if metric["value"] is None and not bounds:
        raise UserError(
            f"{export.run.path}: {name} of {task.name} is not one number: {low:.4g} to {high:.4g} ({open_} of"
            f" {counts['answers']} answers); judge what is open, or give --bounds"
        )
    by = "; ".join(marker["who"] for marker in export.scores["marked_by"]) or "nobody"
    notes = [f"{name} of 100 by livek12 {export.spec.package_version}, {counts['questions']} questions, marked by {by}"]
    if metric["value"] is None:
        notes.insert(0, f"lower bound of {low:.4g} to {high:.4g}: {open_} of {counts['answers']} answers")
    if metric["ci"]:
        ends = [_percent(name, end) for end in metric["ci"]]
        notes.append(f"95 % interval {ends[0]:.4g} to {ends[1]:.4g}")
    if export.spec.trials > 1:
        notes.append(f"mean of {export.spec.trials} trials")
    return name, round(low if metric["value"] is None else _percent(name, metric["value"]), 4), "; ".join(notes)


def _percent(name: str, value: float) -> float:
    return value if metric_of(name).scale == "out_of_100" else 100 * value


def propose(all_of_them: list[Proposal], out: Path, *, dry_run: bool) -> Iterator[str]:
    """Opens the missing pull requests; a line on each."""
    for proposal in all_of_them:
        if not is_hub_name(proposal.model):
            raise UserError(f"{proposal.model}: is no model of the Hub: name it with --model-id ORG/NAME")
    made = _registered(out / REGISTER)
    for proposal in all_of_them:
        key = f"{proposal.model} {proposal.path}"
        if (before := made.get(key)) and before["content"] == proposal.content:
            yield f"{proposal.model}: {proposal.path} was proposed before: {before['url']}"
        elif dry_run:
            yield f"{proposal.model}: would open a pull request with {proposal.path}: {proposal.title}"
        elif _is_there(proposal):
            yield f"{proposal.model}: {proposal.path} is there already, as it is"
        else:
            url = _open(proposal)
            _register(out / REGISTER, proposal, url)
            yield f"{proposal.model}: {url}"


def _registered(file: Path) -> dict[str, Mapping[str, Any]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        rows = [json.loads(line) for line in lines]
        return {f"{row['model']} {row['path']}": row for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file}: cannot be read ({one_line(error, 80)}); mend it or move it away") from None


def _register(file: Path, proposal: Proposal, url: str) -> None:
    row = {"model": proposal.model, "path": proposal.path, "content": proposal.content, "url": url}
    before = file.read_text(encoding="utf-8") if file.is_file() else ""
    ensure_folder(file.parent)
    write_atomically(file, before + json.dumps(row, ensure_ascii=False) + "\n")


def _is_there(proposal: Proposal) -> bool:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import EntryNotFoundError

    try:
        file = HfApi().hf_hub_download(proposal.model, proposal.path, repo_type="model")
        return Path(file).read_text(encoding="utf-8") == proposal.content
    except EntryNotFoundError:
        return False
    except Exception as error:
        raise UserError(f"{proposal.model}: {_refused(error)}") from None


def _open(proposal: Proposal) -> str:
    from huggingface_hub import CommitOperationAdd, HfApi

    operation = CommitOperationAdd(path_in_repo=proposal.path, path_or_fileobj=proposal.content.encode())
    try:
        made = HfApi().create_commit(
            proposal.model, [operation], commit_message=proposal.title, repo_type="model", create_pr=True
        )
    except Exception as error:
        raise UserError(f"{proposal.model}: the pull request is not made: {_refused(error)}") from None
    return str(made.pr_url or made.commit_url)


def _refused(error: BaseException) -> str:
    return reason(error).replace("data set", "model")
