"""Every command with wrong paths, empty and broken files, folders where a file is due: one line, exit 2."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from livek12.scripts.cli import COMMANDS
from tests.scripts.command import Ended, livek12_here

pytestmark = pytest.mark.slow

ASK = "--task livek12_text_only_en --model m --engine openai --engine-args base_url=http://127.0.0.1:1/v1,max_retries=0"
REPLAY = "--task livek12_text_only_en --engine replay"
TASK = "--task livek12_text_only_en"
LOGS = ("jsonl", "lm-eval", "lmms-eval", "inspect", "lighteval", "vlmevalkit")
LINES = {
    "demo": ["--out {out}"],
    "tasks": ["--data {in}"],
    "build": [
        "livek12 --source {in} --out {new}",
        "all --source {in} --out {new}",
        "all --source cfe={in} --out {new}",
        "sample --out {out}",
        "sample --subsets {in} --out {new}",
        "sample --base {in} --out {new}",
        "sample --base data --withdraw {in} --out {new}",
    ],
    "validate": ["{in}"],
    "ingest": [
        "{in} --out {new}",
        "paper.pdf --out {out}",
        "paper.pdf --answers {in} --out {new}",
        "paper.pdf --template {in} --out {new}",
        "paper.pdf --template {in}.yaml --out {new}",
    ],
    "review": ["{in} --status", "{in} --export {new}", "papers --export {new} --pdfs {in}", "papers --export {out}"],
    "keys": ["add {in} --key key.csv", "amend data {in} --key 1=A --reason why"],
    "exam-day": [
        "{in} --models sweep.yaml --key-later --out {new}",
        "paper.pdf --models sweep.yaml --key-later --out {out}",
    ],
    "dedup": ["{in}", "data --against {in} --out {new}.jsonl", "data --out {out}"],
    "tag": [
        "{in}",
        "data --tree {in}",
        "data --labels {in}",
        "data --engine {in}",
        "data --with {in}",
        "--measure --labels {in}",
        "{in} --variables",
    ],
    "scheme": ["propose {in} --model m"],
    "translate": [
        "{in} --model m --out {new}",
        "data --model m --terms {in} --out {new}",
        "data --model m --out {out}",
    ],
    "subsets": [
        "propose mini --data {in} --out {new}.csv",
        "propose mini --data data --out {out}",
        "propose hard --data data --runs {in} --out {new}.csv",
        "label --data {in} --model m --out {new}.csv",
        "status {in}",
    ],
    "vary": ["{in} --out {new}", "data --out {out}"],
    "publish": ["{in} --repo org/x --dry-run", "data --repo org/x --rights {in} --dry-run"],
    "run": [
        f"{ASK} --data {{in}} --out {{new}}",
        f"{ASK} --data data --out {{out}}",
        f"{REPLAY} --model {{in}} --data data --out {{new}}",
        f"{ASK} --data data --judge {{in}}.yaml --out {{new}}",
    ],
    "generate": [f"{ASK} --data {{in}} --out {{new}}", f"{ASK} --data data --out {{out}}"],
    "judge": ["{in}", "run --answers {in} --again", "run --judge {in}.yaml"],
    "score": ["{in}"],
    "status": ["{in}", "{in} --cancel"],
    "report": ["{in}", "run --data {in}"],
    "import-responses": [
        *(f"{{in}} --from {log} {TASK} --data data --out {{new}}" for log in LOGS),
        f"recorded.jsonl {TASK} --data {{in}} --out {{new}}",
        f"recorded.jsonl {TASK} --data data --out {{out}}",
    ],
    "push": ["{in} file:///tmp/livek12-nowhere", "run {out}"],
    "export": ["{in} --to eee --out {new}", "run --to eee --out {out}"],
    "rejudge": [*(f"{{in}} --from {log} --out {{new}}" for log in (*LOGS, "evalscope")), "pairs.jsonl --out {out}"],
    "import-results": ["{in} --out {new}", "pairs.jsonl --items {in} --out {new}"],
    "plugins": [
        "lm-eval --data {in}",
        "inspect --data {in}",
        "vlmevalkit --data {in}",
        "lm-eval --data data --out {out}",
    ],
    "metrics": ["livek12_cfe --out {out}"],
    "import-judgements": ["{in} pairs.jsonl --judge j", "run {in} --judge j"],
    "judge-pairs": ["{in} {new}.jsonl", "pairs.jsonl {out}"],
    "serve-judge": ["--host {out}", "--judge {in}.yaml"],
    "label-plan": ["{in}", "run --out {out}"],
    "study": [
        "agreement {in}",
        "agreement run --labels {in}",
        "stability {in} run",
        "first-error {in} --judge m",
        "tables {in}",
        "diagnostics {in}",
        "diagnostics run --html {out}",
        "steps {in} --judge m",
        "error-types {in} --plan",
        "error-types run --labels {in}",
        "completion {in}",
        "scheme {in} --labels pairs.jsonl",
        "scheme run --labels {in}",
    ],
    "sweep": ["{in}", "{in} --status"],
    "compare": ["{in} run", "run {in}"],
    "bank": ["{in} --out {new}", "run --out {out}"],
    "compact": ["{in}", "{in} --undo"],
    "check": ["{in}", "run --signer {in}"],
    "sign": ["{in} --key {in}", "run --key {in}"],
    "site": [
        "{in} --out {new}",
        "run --out {out}",
        "run --models {in} --out {new}",
        "run --rights {in} --out {new}",
    ],
}
IN = ("nowhere", "empty", "folder", "text.txt", "junk.bin", "zero", "text.txt/below", "x" * 300, "hollow", "headless")
OUT = ("/proc/nowhere/x", "text.txt", "text.txt/below", "x" * 300)
OTHERWISE = {
    # What is no PDF costs its line, and the others go on.
    **{("ingest", IN[n], line): 1 for n in range(1, len(IN)) if n not in (6, 7) for line in LINES["ingest"][:1]},
    # A key that cannot be read costs the key: the questions are there.
    **{("ingest", place, "paper.pdf --answers {in} --out {new}"): 1 for place in ("junk.bin", "zero")},
    # Every line of a file of pairs gets a line of its own, and an empty one has none.
    ("judge-pairs", "text.txt", "{in} {new}.jsonl"): 1,
    ("judge-pairs", "junk.bin", "{in} {new}.jsonl"): 1,
    ("judge-pairs", "zero", "{in} {new}.jsonl"): 0,
    # A data set without its files has problems, one a line.
    ("validate", "hollow", "{in}"): 1,
    # A run without its questions, or with an empty run.json, is a finding.
    **{("check", place, "{in}"): 1 for place in ("hollow", "headless")},
}
"""Exit codes that are not 2."""


@pytest.fixture(scope="module")
def desk(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with sound things, and all kinds of others."""
    from livek12.dataset_builders import sample

    here = tmp_path_factory.mktemp("desk")
    shutil.copytree(data, here / "data")
    (here / "recorded.jsonl").write_text('{"question_id": "en_sample_math_0001", "response": "A"}\n')
    (here / "pairs.jsonl").write_text('{"id": 1, "gold": "4", "response": "4"}\n')
    shutil.copy(Path(sample.__file__).parent / "papers" / "mdk12.pdf", here / "paper.pdf")
    args = ("import-responses", here / "recorded.jsonl", *TASK.split(), "--data", here / "data", "--out", here / "run")
    assert livek12_here(*args).code == 1, "one of eleven is recorded"
    assert livek12_here("ingest", here / "paper.pdf", "--out", here / "papers").code == 0
    for name in ("empty", "folder", "headless"):
        (here / name).mkdir()
    for name, content in (("text.txt", b"hello\n"), ("junk.bin", bytes(range(256)) * 9), ("zero", b"")):
        (here / name).write_bytes(content)
    (here / "folder" / "text.txt").write_text("hello\n")
    shutil.copytree(data, here / "hollow")  # a data set, and a run folder, without what their cards name
    for file in (here / "hollow").rglob("*.parquet"):
        file.unlink()
    shutil.copy(here / "run" / "run.json", here / "hollow")
    (here / "headless" / "run.json").write_text("{}")
    (here / "headless" / "README.md").write_text("no card\n")
    return here


def test_the_table_is_of_all_commands() -> None:
    assert set(LINES) == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(LINES))
def test_a_wrong_place_is_one_line_and_exit_2(command: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    before = sorted(desk.iterdir())
    wrong = []
    for line in LINES[command]:
        for place in IN if "{in}" in line else OUT:
            words = line.replace("{in}", place).replace("{out}", place).replace("{new}", "made").split()
            ended = livek12_here(command, *words)
            if problem := _problem(ended, OTHERWISE.get((command, place, line), 2)):
                wrong.append(f"{command} {line} with {place[:20]}: {problem}: {ended.err[-400:]}")
            for made in {*desk.iterdir()} - {*before}:
                shutil.rmtree(made) if made.is_dir() else made.unlink()
    assert not wrong, "\n".join(wrong)


def _problem(ended: Ended, code: int) -> str:
    if "Traceback" in ended.err:
        return "a traceback"
    if ended.code != code:
        return f"exit {ended.code}, not {code}"
    if code == 2 and len(ended.errors) != 1:
        return f"{len(ended.errors)} errors"
    return "an error of Python" if "Errno" in ended.err or "Error:" in ended.err else ""


ASKED = "--limit --trials --max-tokens --temperature --top-p --top-k --seed --thinking-budget"
NUMBERS = {
    "demo": "--limit --max-tokens",
    "review": "--port",
    "serve-judge": "--port --workers --undecided",
    "tag": "--threshold",
    "translate": "--retries",
    "subsets propose": "--max-tokens --per-subject --confidence --share --seed",
    "subsets label": "--max-tokens --audit --seed",
    "run": ASKED,
    "generate": ASKED,
    "import-responses": "--limit --trials --max-tokens",
    "label-plan": "--budget --seed",
    "study first-error": "--limit",
    "study steps": "--limit",
    "study error-types": "--sample --seed",
    "study diagnostics": "--fewest",
}


@pytest.mark.parametrize(
    ("command", "option"), [(command, option) for command, options in NUMBERS.items() for option in options.split()]
)
def test_a_text_is_no_number(command: str, option: str) -> None:
    ended = livek12_here(*command.split(), option, "many")
    assert ended.code == 2
    (line,) = ended.errors
    assert option in line and f"see `livek12 {command} --help`" in line
