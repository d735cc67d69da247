"""Results in the forms that others read, by their own readers where these are here; what may not be shown is not."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from livek12.core.records import Key, Option, Question, Response, Review, Sampling, Source, Variant
from livek12.core.run.folder import RunFolder
from livek12.core.run.spec import RunSpec, TaskSpec
from livek12.evaluation.marking import judge
from tests.hub import STRANGER, WRITER, Hub
from tests.hub_client import Client
from tests.plugins.conftest import needs
from tests.scripts.command import livek12_here

TASK = "livek12_text_only_en"
SHOWN = Review(state="accepted"), Source(licence="CC-BY-4.0")
KINDS: dict[str, dict[str, Any]] = {
    "shown": {"release": "2603", "review": SHOWN[0], "source": SHOWN[1]},
    "held": {"release": "2605", "review": SHOWN[0], "source": SHOWN[1]},
    "unlicensed": {"release": "2603", "review": SHOWN[0], "source": Source(licence="Unknown")},
    "unreviewed": {"release": "2603", "source": SHOWN[1]},
}


def marker(kind: str, what: str) -> str:
    return f"Marker{hashlib.sha256(f'{kind}{what}'.encode()).hexdigest()[:12]}"


def question(kind: str, **fields: Any) -> Question:
    return Question(
        id=f"q-{kind}",
        benchmark="livek12",
        language="en",
        subject="math",
        question_type="single_choice",
        question=f"{marker(kind, 'text')} What is 1+1?",
        options=[Option(label="A", text="1"), Option(label="B", text=f"2 {marker(kind, 'option')}")],
        solution=marker(kind, "solution"),
        **{"answer": ["B"], **KINDS[kind], **fields},
    )


def make_run(path: Path, data: Path, questions: list[Question], said: str = "So it is B.") -> Path:
    """A run whose answers are marked by the rules; every text has its marker."""
    task = TaskSpec(
        name=TASK, version=2, modality="text_only", prompt_sha256="0" * 64, data=str(data), data_sha256="1" * 64,
        questions=len(questions), sampling=Sampling(temperature=0.5),
    )  # fmt: skip
    spec = RunSpec(model="some-model", engine="vllm", engine_versions={"vllm": "1"}, tasks=[task])
    run = RunFolder.create_or_resume(path, spec, {TASK: questions})
    with run.writer("responses") as writer:
        for one in questions:
            text = f"{marker(one.id, 'response')} {said}"
            key = Key(task=TASK, question_id=one.id)
            counts = {"prompt_tokens": 9, "completion_tokens": 5, "seconds": 0.5, "finish_reason": "stop"}
            thought = marker(one.id, "thought")
            writer.append(
                Response(key=key, text=text, reasoning=thought, engine="vllm", model="some-model", **counts)  # type: ignore[arg-type]
            )
    judge(run)
    run.leave()
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("run")
    (here / "data").mkdir()
    (here / "data" / "held_back.json").write_text('{"release": "2605", "repo": "org/answers"}')
    return make_run(here / "run", here / "data", [question(kind) for kind in KINDS])


def written(folder: Path) -> bytes:
    """Every byte that was written, archives unpacked."""
    found = b""
    for file in sorted(folder.rglob("*")):
        if file.suffix == ".eval":
            import inspect_ai.log  # noqa: F401  (teaches zipfile its compression)

            with zipfile.ZipFile(file) as archive:
                found += b"".join(archive.read(name) for name in archive.namelist())
        elif file.is_file():
            found += file.read_bytes()
    return found


def kinds_in(found: bytes) -> dict[str, bool]:
    """Of which kinds of questions anything stands there."""
    return {
        kind: any(
            marker(name, what).encode() in found
            for name in (kind, f"q-{kind}")
            for what in ("text", "option", "solution", "response", "thought")
        )
        or f"q-{kind}".encode() in found
        for kind in KINDS
    }


ONLY = {"shown": True, "held": False, "unlicensed": False, "unreviewed": False}


@pytest.mark.parametrize("form", ["eee", pytest.param("inspect", marks=pytest.mark.slow)])
def test_only_what_may_be_shown_goes_out(form: str, run: Path, tmp_path: Path) -> None:
    if form == "inspect":
        needs("inspect_ai")
    ended = livek12_here("export", run, "--to", form, "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    found = written(tmp_path / "out")
    assert kinds_in(found) == ONLY
    assert str(run.parent).encode() not in found, "no place of this machine"
    for why in ("the answers of its release are held back", "no licence stated", "nobody reviewed it"):
        # A warning is given once in a process.
        assert f"1 answers are not in the export: {why}" in ended.err or form != "eee"
    for rows, there in (("none", dict.fromkeys(KINDS, False)), ("all", dict.fromkeys(KINDS, True))):
        out = tmp_path / rows
        assert livek12_here("export", run, "--to", form, "--out", out, "--rows", rows).code == 0
        assert kinds_in(written(out)) == there
    out = tmp_path / "hold"
    assert livek12_here("export", run, "--to", form, "--out", out, "--hold", "2603").code == 0
    assert kinds_in(written(out)) == {**ONLY, "shown": False, "held": True}, "as the user says"


def test_a_translation_or_variant_of_a_held_question_is_held(tmp_path: Path) -> None:
    twin = question("shown", translation_of="q-held")
    made = question("unlicensed", source=SHOWN[1], review=SHOWN[0], variant=Variant(of="q-shown", kind="dynamic"))
    other = question("unreviewed", review=SHOWN[0], translation_of="q-elsewhere")
    run = make_run(tmp_path / "run", tmp_path, [question("held"), twin, made, other])
    assert livek12_here("export", run, "--to", "eee", "--out", tmp_path / "out", "--hold", "2605").code == 0
    found = kinds_in(written(tmp_path / "out"))
    assert found == {"held": False, "shown": False, "unlicensed": False, "unreviewed": True}


def test_a_key_that_only_the_judges_had_is_held(tmp_path: Path) -> None:
    asked = question("shown").model_copy(update={"answer": []})
    run = make_run(tmp_path / "run", tmp_path, [asked, question("held", release="2603")])
    folder = RunFolder.open(run)
    lent = [(response, verdict) for response, verdict in folder.judged() if verdict.key.question_id == "q-held"]
    part = lent[0][1].parts[0]
    (response,) = [found for found in folder.responses() if found.key.question_id == "q-shown"]
    with folder.writer("verdicts") as writer:
        writer.append(
            lent[0][1].model_copy(
                update={"key": response.key, "response_sha256": response.sha256, "parts": [part], "marking": 1}
            )
        )
    assert livek12_here("export", run, "--to", "eee", "--out", tmp_path / "out").code == 0
    found = kinds_in(written(tmp_path / "out"))
    assert (found["shown"], found["held"]) == (False, True)


def test_every_eval_ever(run: Path, tmp_path: Path) -> None:
    """Its package, which checks the schema, needs a newer Python than the tests."""
    out = tmp_path / "out"
    how = ("--rows", "all", "--model-id", "org/m", "--data-repo", "org/exam", "--organization", "Example")
    assert livek12_here("export", run, "--to", "eee", "--out", out, *how).code == 0
    samples, aggregate = sorted(out.rglob("*.json*"), key=lambda file: file.suffix, reverse=True)
    record = json.loads(aggregate.read_text())
    assert record["schema_version"] == "0.3.0" and record["model_info"]["id"] == "org/m"
    results = {result["evaluation_result_id"]: result for result in record["evaluation_results"]}
    accuracy = results[f"{TASK}/accuracy"]
    assert accuracy["score_details"]["score"] == 1.0
    assert "confidence_interval" not in accuracy["score_details"].get("uncertainty", {}), "too few questions for one"
    assert accuracy["source_data"]["hf_repo"] == "org/exam"
    assert accuracy["generation_config"]["generation_args"]["temperature"] == 0.5
    detail = record["detailed_evaluation_results"]
    assert out / detail["file_path"] == samples
    assert hashlib.sha256(samples.read_bytes()).hexdigest() == detail["checksum"]
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    assert len(rows) == detail["total_rows"] == 4
    for row in rows:
        assert row["evaluation_id"] == record["evaluation_id"]
        assert row["evaluation_result_id"] in results
        assert row["answer_attribution"][0]["extracted_value"] == "B"
        assert row["evaluation"] == {"score": 1.0, "is_correct": True, "num_turns": 1}
        assert row["token_usage"] == {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    before = {file.relative_to(out) for file in out.rglob("*") if file.is_file()}
    assert livek12_here("export", run, "--to", "eee", "--out", out, *how).code == 0
    assert {file.relative_to(out) for file in out.rglob("*") if file.is_file()} == before, "once more, the same names"


@pytest.mark.slow
def test_a_log_of_inspect_is_read_back(run: Path, tmp_path: Path) -> None:
    needs("inspect_ai")
    from inspect_ai.log import read_eval_log

    assert livek12_here("export", run, "--to", "inspect", "--out", tmp_path / "out", "--rows", "all").code == 0
    (file,) = (tmp_path / "out").glob("*.eval")
    log = read_eval_log(str(file))
    assert log.status == "success" and log.samples and log.results
    (score,) = log.results.scores
    assert score.metrics["accuracy"].value == 1.0 and score.metrics["ungraded"].value == 0
    for sample in log.samples:
        (said,) = (sample.scores or {}).values()
        assert said.answer == "B" and said.value == {"accuracy": 1.0, "score": 1.0}
        assert sample.output.usage and sample.output.usage.output_tokens == 5
    ended = livek12_here("rejudge", file, "--from", "inspect", "--out", tmp_path / "again")
    assert ended.code == 0, ended.err
    assert "they agree on all" in ended.out.replace("\n", " ")


def exported(run: Path, out: Path, *more: object) -> Any:
    return livek12_here("export", run, "--to", "eval-results", "--out", out, "--model-id", "maker/m", *more)


def test_the_results_of_the_hub(run: Path, tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    if not hasattr(hub, "EvalResultEntry"):
        pytest.skip("huggingface_hub is too old for the Hub's results")
    ended = exported(run, tmp_path / "out")
    assert (ended.code, len(ended.errors)) == (2, 1) and "--data-repo ORG/NAME" in ended.err
    ended = exported(run, tmp_path / "out", "--data-repo", "org/exam", "--source-url", "https://example.org/r")
    assert ended.code == 0, ended.err
    (file,) = (tmp_path / "out" / "maker--m" / ".eval_results").iterdir()
    assert file.name == f"livek12--{TASK}.yaml"
    (entry,) = hub.parse_eval_result_entries(yaml.safe_load(file.read_text()))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("org/exam", TASK, 100.0)
    assert entry.source_url == "https://example.org/r" and "marked by rules" in entry.notes


def test_an_interval_is_no_mark(tmp_path: Path) -> None:
    asked = [question("shown"), question("held", answer=[])]
    run = make_run(tmp_path / "run", tmp_path, asked)
    ended = exported(run, tmp_path / "out", "--data-repo", "org/exam")
    assert (ended.code, len(ended.errors)) == (2, 1) and "is not one number: 50 to 100 (1 ungraded of 2" in ended.err
    ended = exported(run, tmp_path / "out", "--data-repo", "org/exam", "--bounds")
    assert ended.code == 0, ended.err
    (file,) = (tmp_path / "out").rglob("*.yaml")
    (entry,) = yaml.safe_load(file.read_text())
    assert entry["value"] == 50 and entry["notes"].startswith("lower bound of 50 to 100: 1 ungraded of 2 answers")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub(tmp_path / "hub") as running:
        yield running


@pytest.mark.slow
def test_a_pull_request_is_opened_once(run: Path, hub: Hub, tmp_path: Path) -> None:
    out = tmp_path / "out"
    how = ("export", run, "--to", "eval-results", "--out", out, "--data-repo", "org/exam", "--model-id")
    with Client(hub, tmp_path / "home") as keeper:
        keeper.python("from huggingface_hub import HfApi; HfApi().create_repo('org/m'); result = None")
        repo = hub.repo("org/m", "models")
        told = keeper.livek12(*how, "org/m", "--dry-run")
        assert told.code == 0 and "would open a pull request" in told.out and not repo.refs["pullRequests"]
        keeper.log_in(STRANGER)
        opened = keeper.livek12(*how, "org/m", "--pull-request")
        assert opened.code == 0 and "/org/m/discussions/1" in opened.out, opened.err
        proposed = repo.commit_of(repo.refs["pullRequests"]["1"])["tree"]
        assert f".eval_results/livek12--{TASK}.yaml" in proposed
        again = keeper.livek12(*how, "org/m", "--pull-request")
        assert again.code == 0 and "was proposed before" in again.out and len(repo.refs["pullRequests"]) == 1
        keeper.log_in(WRITER)
        hub.fault("/commit/", "500", method="POST")
        refused = keeper.livek12(
            *how, "org/m", "--pull-request", "--profile", "release", "--source-url", "https://x.org"
        )
        assert (refused.code, len(refused.errors)) == (2, 1) and "the pull request is not made" in refused.err
        nowhere = keeper.livek12(*how, "org/nowhere", "--pull-request")
        assert (nowhere.code, len(nowhere.errors)) == (2, 1) and "no such model" in nowhere.err


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--to", "eee", "--bounds"), "go with --to eval-results"),
        (("--to", "nothing"), "--to"),
        (("--to", "eee", "--rows", "some"), "--rows some"),
        (("--to", "eee", "--model-id", "no name"), "is no ORG/NAME"),
        (("--to", "eee", "--relationship", "friend"), "--relationship"),
    ],
)
def test_wrong_use_is_one_line(more: tuple[str, ...], told: str, run: Path, tmp_path: Path) -> None:
    ended = livek12_here("export", run, "--out", tmp_path / "out", *more)
    assert (ended.code, len(ended.errors)) == (2, 1) and told in ended.err
