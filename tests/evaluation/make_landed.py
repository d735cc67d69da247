"""Makes the run folders of a landed version, which `test_landed_runs` goes on with: by that version's own command.

    python -m tests.evaluation.make_landed LIVEK12 tests/evaluation/landed/VERSION

LIVEK12 is the command of that version, installed in an environment of its own. What is made stays as it is in the
repository for good; a later version adds a folder of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory

from livek12.core.questions import load_questions
from livek12.tasks.registry import get_tasks
from tests.endpoint import Oracle, Rambler, oracle_at
from tests.engines.scripted_server import Json, Reply, serving
from tests.judges.llm.judge_server import JudgeScript, replying, says

RECORDED = "livek12,kmmmu,cfe_text,mdk12"
ASKED = "livek12_text_only,mdk12"
JUDGED = "livek12_text_only_en,mdk12"
LIMIT = 4
MODEL = "oracle"
PANEL = "alpha,beta,gamma"


def _none_right(field: re.Match[str]) -> str:
    return field[1] + ("false" if field[2] == "true" else "0")


def panel() -> JudgeScript:
    """Three judges who take everything for right, but that gamma takes everything for wrong."""
    kind = replying()

    def answer(question: str, before: int, body: Json) -> Reply:
        reply = kind._answer(question, before, body)
        if body["model"] != "gamma":
            return reply
        said = json.loads(reply.body)["choices"][0]["message"]["content"]
        return says(re.sub(r'("correct": )(true|[0-9]+)', _none_right, said).replace("TRUE", "FALSE"))

    return JudgeScript(answer)


def record(data: Path, file: Path, tasks: str) -> None:
    """Recorded answers: of three questions one is right, one wrong, and one prose that only a reader can mark."""
    rows = {}
    for task in get_tasks(tasks):
        for number, asked in enumerate(load_questions(data, task.configs, task.benchmark, task.language)):
            right = "So it is \\boxed{" + (asked.answer or ["?"])[0] + "}."
            prose = f"Of question {asked.id} one may think much.\n\nIn the end it comes to something.\n\nSo be it."
            said = (right, "So it is \\boxed{17.25}.", prose)[number % 3]
            rows[asked.id] = {"question_id": asked.id, "response": said, "model": "gpt-x"}
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values()), encoding="utf-8")


class Maker:
    """The command of the landed version, in a folder of its own, so that no path of a machine comes into a file."""

    def __init__(self, command: str, folder: Path) -> None:
        self._command, self._folder = command, folder
        self._environment = {**os.environ, "LIVEK12_CACHE": str(folder / "cache"), "COLUMNS": "120"}
        self._environment.pop("PYTHONPATH", None)

    def __call__(self, *args: str, kill_at: tuple[str, int] | None = None) -> None:
        """Runs it to its end, or kills it when a file has so many lines."""
        child = subprocess.Popen([self._command, *args], cwd=self._folder, env=self._environment)
        while kill_at is not None and child.poll() is None:
            file = self._folder / kill_at[0]
            if file.exists() and file.read_bytes().count(b"\n") >= kill_at[1]:
                child.send_signal(signal.SIGKILL)
            time.sleep(0.002)
        code = child.wait()
        if code not in ((-signal.SIGKILL,) if kill_at else (0, 1)):
            sys.exit(f"{' '.join(args)}: ended with {code}")


def tear(file: Path) -> None:
    """Takes half of the last line away, as a kill may."""
    whole = file.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    file.write_bytes(whole[: (last + len(whole)) // 2])


def make(command: str, work: Path) -> list[str]:
    """Makes everything in a folder; what of it is to be kept."""
    livek12 = Maker(command, work)
    livek12("build", "sample", "--out", "sample")
    limit = ["--data", "sample", "--limit", str(LIMIT)]
    record(work / "sample", work / "recorded.jsonl", f"{RECORDED},{JUDGED}")
    replay = ["--engine", "replay", "--model", "recorded.jsonl"]
    livek12("run", "--task", RECORDED, *replay, *limit, "--out", "complete")
    livek12("import-responses", "recorded.jsonl", "--task", JUDGED, *limit, "--out", "imported")
    livek12("import-responses", "recorded.jsonl", "--task", JUDGED, *limit, "--out", "judged")
    with serving(panel()) as address:
        judges = ["--judge", PANEL, "--judge-engine", "openai", "--judge-engine-args", f"base_url={address}"]
        livek12("judge", "judged", "--data", "sample", "--again", *judges)
        livek12("report", "judged")
        pairs(work / "judged", work / "pairs.jsonl")
        livek12("judge-pairs", "pairs.jsonl", "pairs-rules.jsonl")
        livek12("judge-pairs", "pairs.jsonl", "pairs-panel.jsonl", *judges)
    with oracle_at(work / "log", Oracle) as address:
        asking = ["--engine", "openai", "--model", MODEL, "--engine-args", f"base_url={address},concurrency=1"]
        livek12("run", "--task", ASKED, *asking, *limit, "--out", "whole")
        livek12("run", "--task", ASKED, *asking, *limit, "--out", "cut_off", kill_at=("cut_off/responses-0.jsonl", 5))
    tear(work / "cut_off/responses-0.jsonl")
    shutil.copy(work / "whole/report.json", work / "cut_off.json")
    with oracle_at(work / "log", Rambler) as address:
        asking = ["--engine", "openai", "--model", MODEL, "--engine-args", f"base_url={address}"]
        sampling = ["--trials", "3", "--budgets", "0.5,1"]
        livek12("run", "--task", "livek12_text_only_en", *asking, *limit, *sampling, "--out", "budgets")
    livek12("build", "livek12", "--source", "own.jsonl", "--out", "data")
    runs = ["complete", "imported", "judged", "cut_off", "cut_off.json", "budgets"]
    return [*runs, "recorded.jsonl", "data", "pairs.jsonl", "pairs-rules.jsonl", "pairs-panel.jsonl"]


def own_questions(file: Path) -> None:
    """Questions of somebody's own: three of the sample, without pages."""
    source = Path(str(resources.files("livek12.dataset_builders.sample").joinpath("livek12_en.jsonl")))
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    plain = [row for row in rows if not row.pop("images") and row.pop("page_numbers")][:3]
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in plain), encoding="utf-8")


def pairs(run: Path, file: Path) -> None:
    """The answers of a run beside their keys."""
    asked = [json.loads(line) for line in (run / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    said = [json.loads(line) for line in (run / "responses-0.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {(one["key"]["task"], one["key"]["question_id"]): one["text"] for one in said}
    fields = ("id", "question", "question_type", "options")
    rows = [
        {name: one["question"][name] for name in fields}
        | {"gold": one["question"]["answer"], "response": texts[one["task"], one["question"]["id"]]}
        for one in asked
        if one["question"]["answer"] and not one["question"]["images"]
    ]
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def main() -> None:
    """Makes the folder that is named."""
    command, target = sys.argv[1], Path(sys.argv[2])
    target.mkdir(parents=True)
    with TemporaryDirectory() as folder:
        work = Path(folder)
        own_questions(work / "own.jsonl")
        for name in make(command, work):
            (shutil.copytree if (work / name).is_dir() else shutil.copy)(work / name, target / name)
    for report in target.glob("**/*.json"):
        if report.name in ("report.json", "cut_off.json"):  # most of it is indentation
            report.write_text(json.dumps(json.loads(report.read_text(encoding="utf-8")), separators=(",", ":")) + "\n")
            if report.parent.name != "complete":
                report.with_name("report.html").unlink(missing_ok=True)
    for file in target.glob("pairs-*.jsonl"):
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(lines[: len(lines) // 2 + 1]))
        tear(file)


if __name__ == "__main__":
    main()
