"""`livek12 push`, and run folders that are read from an address: nothing is lost on the way, and nothing leaks."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import fsspec
import pytest

from livek12.core.compaction import compact, restore
from livek12.core.errors import UserError
from livek12.core.packed import PackedLines, packed_path
from livek12.core.run import remote
from livek12.core.run.folder import RunFolder
from livek12.core.run.remote import RUN_FILE, Manifest, fetch, run_folder, shown
from livek12.dataset_builders.publishing.policy import refusal
from livek12.evaluation.api import Run
from livek12.evaluation.checking import check_run
from livek12.evaluation.pushing import PushWishes, push
from livek12.evaluation.reporting import score
from tests.evaluation.test_site import TASK, asked, simple
from tests.hub import READER, STRANGER, Hub
from tests.hub_client import Client
from tests.scripts.command import livek12_here

HELD = "2605"
PLAIN = PushWishes(refuses=refusal, hold=frozenset())


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of an empty bucket in memory, of which nothing was read before."""
    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path / "cache"))
    files = fsspec.filesystem("memory")
    yield "memory://bucket"
    files.rm("/", recursive=True)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A finished run."""
    return simple(tmp_path / "qwen3", "qwen3", [True, False, True], [asked(n) for n in range(1, 4)])


def place(folder: str) -> str:
    """Folder of the pushed files in the bucket."""
    files = fsspec.filesystem("memory")
    return f"{folder}/{Manifest.model_validate_json(files.cat_file(f'{folder}/push.json')).folder}"


def names(folder: str) -> set[str]:
    """Names of the pushed files without their sums."""
    listed = fsspec.filesystem("memory").ls(place(folder), detail=False)
    return {name for path in listed if not (name := str(path).rpartition("/")[2]).startswith(".")}


def change_spec(run: Path, **fields: Any) -> None:
    file = run / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_a_run_comes_back_from_a_bucket_as_it_was(run: Path, bucket: str) -> None:
    address = f"{bucket}/season/qwen3"
    pushed = push(run, address, PLAIN)
    assert names("/bucket/season/qwen3") == {"run.json", "questions.jsonl", "responses-0.jsonl", "verdicts-0.jsonl"}
    assert (pushed.files, pushed.address, pushed.commit) == (7, address, None)
    copy = run_folder(address)
    assert copy.name == "qwen3"
    assert score(RunFolder(copy)) == score(RunFolder(run))
    assert Run(address).report == score(RunFolder(run))
    compact(run)
    push(run, address, PLAIN)  # the journals there go, for they are packed now
    assert names("/bucket/season/qwen3") == {"run.json", "questions.jsonl", "responses.parquet", "verdicts.parquet"}
    assert len(fsspec.filesystem("memory").ls("/bucket/season/qwen3", detail=False)) == 2
    assert check_run(fetch(address)).faults == []
    assert score(RunFolder(fetch(address)))["tasks"] == score(RunFolder(run))["tasks"]
    assert not list(copy.glob("*-0.jsonl"))
    restore(run)
    push(run, address, PLAIN)
    assert {path.name: path.read_bytes() for path in fetch(address).glob("*-0.jsonl")} == {
        path.name: path.read_bytes() for path in run.glob("*-0.jsonl")
    }


@pytest.mark.parametrize("cut", range(16))
def test_of_half_a_push_the_old_run_is_read_or_the_new_one(
    run: Path, bucket: str, monkeypatch: pytest.MonkeyPatch, cut: int
) -> None:
    """A push of the compacted run over its journals, killed before each of its steps."""
    address, files = f"{bucket}/qwen3", fsspec.filesystem("memory")
    before = score(RunFolder(run))["tasks"]
    push(run, address, PLAIN)
    compact(run)
    steps = 0

    def step(name: str) -> None:
        real = getattr(type(files), name)

        def counted(self: Any, *given: Any, **named: Any) -> Any:
            nonlocal steps
            if steps == cut:
                raise KeyboardInterrupt
            steps += 1
            return real(self, *given, **named)

        monkeypatch.setattr(type(files), name, counted)

    with monkeypatch.context():
        for name in ("pipe_file", "put_file", "rm_file"):
            step(name)
        with suppress(KeyboardInterrupt):
            push(run, address, PLAIN)
    monkeypatch.undo()
    monkeypatch.setenv("LIVEK12_CACHE", str(run.parent / "cache"))
    assert score(RunFolder(fetch(address)))["tasks"] == before
    assert ("responses.parquet" in names("/bucket/qwen3")) == (cut > 7)
    push(run, address, PLAIN)
    assert score(RunFolder(fetch(address)))["tasks"] == before


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"verdicts-0.jsonl": b""}, r"verdicts-0\.jsonl is another than when the run was pushed"),
        ({"verdicts-0.jsonl": None}, r"verdicts-0\.jsonl has gone since the run was pushed"),
        ({"push.json": b"{"}, r"push\.json that cannot be read"),
        ({"push.json": b'{"files": {"run.json": {"size": -1, "sha256": ""}}}'}, "cannot be read"),
    ],
)
def test_what_is_not_what_was_pushed_is_told(run: Path, bucket: str, change: dict[str, bytes | None], why: str) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    files = fsspec.filesystem("memory")
    for name, content in change.items():
        if content is None:
            files.rm(f"{place('/bucket/qwen3')}/{name}")
        else:
            files.pipe(f"{'/bucket/qwen3' if name == 'push.json' else place('/bucket/qwen3')}/{name}", content)
    with pytest.raises(UserError, match=why):
        fetch(f"{bucket}/qwen3")


def test_a_file_of_the_same_size_is_not_taken_for_the_pushed_one(run: Path, bucket: str) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    content = (run / "verdicts-0.jsonl").read_bytes()
    fsspec.filesystem("memory").pipe(f"{place('/bucket/qwen3')}/verdicts-0.jsonl", content.replace(b"true", b"null", 1))
    with pytest.raises(UserError, match=r"verdicts-0\.jsonl is another than when the run was pushed"):
        fetch(f"{bucket}/qwen3")


def test_what_is_no_file_of_the_push_is_passed_over(run: Path, bucket: str, capsys: pytest.CaptureFixture[str]) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    fsspec.filesystem("memory").pipe(f"{place('/bucket/qwen3')}/verdicts-1.jsonl", b"{}\n")
    assert not (fetch(f"{bucket}/qwen3") / "verdicts-1.jsonl").exists()
    assert "passed over, as no files of what was pushed: verdicts-1.jsonl" in capsys.readouterr().err


def test_a_place_without_a_manifest_is_read_as_before(run: Path, bucket: str) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    files = fsspec.filesystem("memory")
    for path in files.ls(place("/bucket/qwen3"), detail=False):
        files.pipe(f"/bucket/qwen3/{path.rpartition('/')[2]}", files.cat_file(path))
    files.rm("/bucket/qwen3/push.json")
    assert score(RunFolder(fetch(f"{bucket}/qwen3"))) == score(RunFolder(run))


def test_only_what_changed_is_fetched_again(run: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    fetch(f"{bucket}/qwen3")
    copied: list[str] = []
    real = remote._copy

    def noting(address: str, files: Any, one: Any, target: Path, progress: Any) -> None:
        copied.append(target.name)
        real(address, files, one, target, progress)

    monkeypatch.setattr(remote, "_copy", noting)
    copy = fetch(f"{bucket}/qwen3")
    assert not copied
    (run / "verdicts-1.jsonl").write_bytes((run / "verdicts-0.jsonl").read_bytes())
    push(run, f"{bucket}/qwen3", PLAIN)
    (copy / "responses-0.jsonl").unlink()
    fetch(f"{bucket}/qwen3")
    assert sorted(copied) == ["responses-0.jsonl", "verdicts-1.jsonl"]


@pytest.mark.parametrize("words", ["score", "compare", "export --to eee --rows none"])
def test_commands_read_an_address(run: Path, tmp_path: Path, bucket: str, words: str) -> None:
    other = simple(tmp_path / "gemma3", "gemma3", [False, False, True], [asked(n) for n in range(1, 4)])
    for folder in (run, other):
        push(folder, f"{bucket}/{folder.name}", PLAIN)
    command, out = words.split(), ["--out", str(tmp_path / "out")] * words.startswith("export")
    runs = [f"{bucket}/qwen3", f"{bucket}/gemma3"][: 2 if words == "compare" else 1]
    here = [str(run), str(other)][: len(runs)]
    found, expected = (livek12_here(*command, *where, *out, "--json") for where in (runs, here))
    assert found.code == expected.code == 0, found.err
    if not out:
        assert json.loads(found.out) == json.loads(expected.out)


def test_scores_of_a_compacted_run_fetch_no_text(run: Path, bucket: str) -> None:
    compact(run)
    push(run, f"{bucket}/qwen3", PLAIN)
    found, expected = (livek12_here("score", where, "--json") for where in (f"{bucket}/qwen3", str(run)))
    assert found.code == 0, found.err
    assert json.loads(found.out) == json.loads(expected.out)
    light, whole = run_folder(f"{bucket}/qwen3", texts=False), run_folder(f"{bucket}/qwen3")
    for stem in ("responses", "verdicts"):
        columns = PackedLines(packed_path(whole, stem)).columns
        assert PackedLines(packed_path(light, stem)).columns == columns - {"line"}
    with pytest.raises(UserError, match=r"responses\.parquet: group 0 cannot be read"):
        list(RunFolder(light).rows())
    (run / "harness.jsonl").write_text("")  # its disagreements show texts
    push(run, f"{bucket}/qwen3", PLAIN)
    assert run_folder(f"{bucket}/qwen3", texts=False) == whole


def test_what_stands_beside_a_run_is_not_fetched(run: Path, bucket: str) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    files = fsspec.filesystem("memory")
    for name in (
        "evil.py",
        ".claims-0.jsonl",
        "report.html",
        "responses-..\\x.jsonl",
        "images/a.png",
    ):
        files.pipe(f"{place('/bucket/qwen3')}/{name}", b"x")
    copy = fetch(f"{bucket}/qwen3")
    assert {path.name for path in copy.iterdir() if not path.name.endswith(".sums")} == {
        "run.json",
        "questions.jsonl",
        "responses-0.jsonl",
        "verdicts-0.jsonl",
    }
    for name in ("../run.json", "responses-0.jsonl/../../x", "a/run.json", "run.json\n", "responses-\u00e9.jsonl"):
        assert not RUN_FILE.fullmatch(name)


def test_a_copy_is_bounded(run: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    monkeypatch.setattr(remote, "MOST_BYTES", 100)
    with pytest.raises(UserError, match=r"to fetch, and .* are the most"):
        fetch(f"{bucket}/qwen3")
    monkeypatch.setattr(remote, "MOST_FILES", 3)
    with pytest.raises(UserError, match="has 7 files"):
        fetch(f"{bucket}/qwen3")


def test_a_file_that_grows_while_it_is_read_is_told(run: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    memory = fsspec.filesystem("memory")
    listed = memory.ls(place("/bucket/qwen3"), detail=True)
    monkeypatch.setattr(type(memory), "ls", lambda *_, **__: [{**one, "size": one["size"] - 1} for one in listed])
    with pytest.raises(UserError, match=r"is another than when the run was pushed"):
        fetch(f"{bucket}/qwen3")


def test_addresses_that_hold_no_run_end_in_a_line(
    run: Path, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(run, f"{bucket}/qwen3", PLAIN)
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    for address, why in {
        f"{bucket}/nothing": "not a run folder",
        f"{bucket}/qwen3/push.json": "not a run folder",
        "gs://place/run": r"gs:// needs another library: pip install gcsfs \(",
        f"file://{tmp_path}/nothing": "not a run folder",
        "nosuch://place/run": "Protocol not known",
    }.items():
        with pytest.raises(UserError, match=why):
            fetch(address)
    for words in (("compact",), ("judge",), ("push",)):
        ended = livek12_here(*words, f"{bucket}/qwen3", *["memory://x"] * (words == ("push",)))
        assert ended.code == 2
        assert "works on a folder of this machine" in ended.err
    assert shown("s3://KEY:SECRET@bucket/a@b?token=x#y") == "s3://bucket/a@b"
    assert shown("hf://datasets/org/name@main/run") == "hf://datasets/org/name@main/run"
    error = remote.failure("ftp://me:hunter2@127.0.0.1/x?sig=abc123", OSError("530 me:hunter2 refused, sig=abc123"))
    assert "hunter2" not in str(error)
    assert "abc123" not in str(error)


def test_an_unfinished_run_stays_here(run: Path, bucket: str) -> None:
    lines = (run / "responses-0.jsonl").read_bytes().splitlines(keepends=True)
    (run / "responses-0.jsonl").write_bytes(b"".join(lines[:2]))
    marks = (run / "verdicts-0.jsonl").read_bytes().splitlines(keepends=True)
    (run / "verdicts-0.jsonl").write_bytes(marks[0])
    with pytest.raises(UserError, match=r"1 answers are missing and 1 answers are not marked; .*--unfinished"):
        push(run, f"{bucket}/qwen3", PLAIN)
    assert not fsspec.filesystem("memory").exists("/bucket/qwen3")
    push(run, f"{bucket}/qwen3", PushWishes(refuses=refusal, hold=frozenset(), unfinished=True))


def test_held_answers_go_out_only_when_asked(run: Path, bucket: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "held_back.json").write_text(json.dumps({"release": HELD}))
    spec = json.loads((run / "run.json").read_text())
    change_spec(run, tasks=[{**task, "data": str(data)} for task in spec["tasks"]])
    for wishes in (PushWishes(refuses=refusal), PushWishes(refuses=refusal, hold=frozenset({HELD}))):
        with pytest.raises(UserError, match=rf"3 of its questions are held back \(the first: {TASK}/q1\)"):
            push(run, f"{bucket}/qwen3", wishes)
    translated = asked(9, release="2601", translation_of="q1")
    other = simple(tmp_path / "mixed", "m", [True] * 3, [asked(1), asked(2, release="2601"), translated])
    with pytest.raises(UserError, match="2 of its questions are held back"):
        push(other, f"{bucket}/mixed", PushWishes(refuses=refusal, hold=frozenset({HELD})))
    assert not fsspec.filesystem("memory").exists("/bucket")
    push(run, f"{bucket}/qwen3", PushWishes(refuses=refusal, reveal=True))


def test_lent_keys_do_not_go_out(tmp_path: Path, bucket: str) -> None:
    lent = simple(tmp_path / "lent", "m", [True, True], [asked(1), asked(2)])
    questions = [json.loads(line) for line in (lent / "questions.jsonl").read_text().splitlines()]
    for one in questions:
        one["question"]["answer"] = []
    (lent / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    change_spec(lent, questions_sha256=None, judges={TASK: "rules-1+x keys+abc"})
    with pytest.raises(UserError, match="2 of its questions are held back"):
        push(lent, f"{bucket}/lent", PLAIN)


def test_no_secret_and_no_endpoint_goes_out(run: Path, bucket: str) -> None:
    secret = {"base_url": "http://10.1.2.3:8000/v1", "api_key": "sk-planted", "max_model_len": "4096"}
    change_spec(run, engine_args=secret)
    push(run, f"{bucket}/qwen3", PLAIN)
    sent = fsspec.filesystem("memory").cat_file(f"{place('/bucket/qwen3')}/run.json")
    assert b"planted" not in sent
    assert b"10.1.2.3" not in sent
    assert b"4096" in sent


def test_another_run_at_the_address_stays(run: Path, tmp_path: Path, bucket: str) -> None:
    other = simple(tmp_path / "other", "other", [True, True, True], [asked(n) for n in range(1, 4)])
    push(run, f"{bucket}/x", PLAIN)
    with pytest.raises(UserError, match="holds another run: model was 'qwen3', now 'other'"):
        push(other, f"{bucket}/x", PLAIN)
    assert RunFolder(fetch(f"{bucket}/x")).spec().model == "qwen3"
    for address in ("runs/x", "hf://org/name/x", "hf://datasets/org", "hf://datasets/org/name/../x"):
        with pytest.raises(UserError, match="give"):
            push(run, address, PLAIN)


@pytest.mark.slow
def test_a_run_goes_to_the_hub_in_one_commit_and_is_read_from_there(
    hub: Hub, logged_in: Client, run: Path, tmp_path: Path
) -> None:
    address = "hf://datasets/org/season/2026/qwen3"
    sent = logged_in.livek12("push", run, address, "--json")
    assert sent.code == 0, sent.err
    assert json.loads(sent.out)["commit"]
    assert len(hub.requests(r"POST .*/datasets/org/season/commit/")) == 1
    found, expected = logged_in.livek12("score", address, "--json"), logged_in.livek12("score", run, "--json")
    assert found.code == 0, found.err
    assert json.loads(found.out) == json.loads(expected.out)
    compact(run)
    assert logged_in.livek12("push", run, address).code == 0
    listing = "from huggingface_hub import HfApi\nresult = HfApi().list_repo_files('org/season', repo_type='dataset')"
    names = {name for name in logged_in.python(listing) if name.startswith("2026/")}
    assert {"2026/qwen3/run.json", "2026/qwen3/responses.parquet"} < names
    assert not any(name.endswith("-0.jsonl") for name in names)
    assert json.loads(logged_in.livek12("score", address, "--json").out)["tasks"] == json.loads(expected.out)["tasks"]
    logged_in.log_in(READER)
    refused = logged_in.livek12("push", run, address)
    assert (refused.code, "Traceback" in refused.err) == (2, False)
    logged_in.log_in(STRANGER)  # it was made private
    unseen = logged_in.livek12("score", address)
    assert unseen.code == 2
    assert "not a run folder" in unseen.err
    for ended in (sent, refused, unseen):
        assert not any(token in ended.out + ended.err for token in (READER, STRANGER, "hf_writer"))
    shutil.rmtree(run)


@pytest.mark.slow
def test_nothing_without_a_licence_goes_to_a_public_data_set(logged_in: Client, tmp_path: Path) -> None:
    from livek12.core.records import Source

    closed = simple(tmp_path / "closed", "m", [True, True], [asked(1), asked(2, source=Source())])
    refused = logged_in.livek12("push", closed, "hf://datasets/org/open/run", "--public", "--hold", "none")
    assert refused.code == 2
    assert "no licence stated: 1 questions" in refused.err
    create = "from huggingface_hub import HfApi\nHfApi().create_repo('org/open', repo_type='dataset')\nresult = 1"
    logged_in.python(create)
    refused = logged_in.livek12("push", closed, "hf://datasets/org/open/run", "--hold", "none")
    assert refused.code == 2
    assert "may not go to the public org/open" in refused.err
    kept = logged_in.livek12("push", closed, "hf://datasets/org/closed", "--hold", "none")
    assert kept.code == 0, kept.err
