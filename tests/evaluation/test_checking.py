"""`livek12 check`: whatever byte of a run folder changes, it is said, and nothing is said of a sound one."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import random
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12.core import hub
from livek12.core.compaction import compact, restore
from livek12.core.errors import UserError
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import LineFile
from livek12.core.run.sums import STRETCH, damage, read_sums
from livek12.evaluation.checking import check_run
from livek12.evaluation.task_data import reload_task_data
from tests.evaluation.test_site import TASK, asked, made, read, simple
from tests.scripts.command import livek12_here

MUTATIONS = 100
OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
UNREAD = (".lock", ".in-use", ".claims-")
"""Files that no number is made of, and that no reader of a finished run opens."""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run with its report."""
    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path / "cache"))
    made = simple(tmp_path / "qwen3", "qwen3", [True, False, True], [asked(n) for n in range(1, 4)])
    assert livek12_here("report", str(made)).code == 0
    return made


def mutated(folder: Path, seed: int) -> tuple[Path, bytes]:
    """Changes one byte of one file; returns the file and its content before."""
    draw = random.Random(seed)
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.stat().st_size]
    file = draw.choice([file for file in files if not file.name.startswith(UNREAD)])
    before = file.read_bytes()
    place = draw.randrange(len(before))
    change = bytes([before[place] ^ draw.randrange(1, 256)])
    file.write_bytes(before[:place] + change + before[place + 1 :])
    return file, before


@pytest.mark.parametrize("packed", [False, True])
def test_each_changed_byte_is_told(run: Path, packed: bool) -> None:
    if packed:
        compact(run)
    assert check_run(run).faults == []
    silent = []
    for seed in range(MUTATIONS // 2):
        file, before = mutated(run, seed)
        if not check_run(run).faults:
            silent.append((file.name, seed))
        file.write_bytes(before)
    assert silent == []
    assert check_run(run).faults == []


def test_what_is_lost_and_what_it_touches_is_told(run: Path) -> None:
    file = run / "responses-0.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]))
    lost, orphan, *_ = check_run(run).faults
    assert re.search(r"responses-0\.jsonl: ends at byte \d+ of \d+; what was written behind it is lost", lost)
    assert orphan.startswith(f"{run}: 1 verdicts are on answers that are not there: {TASK}/")
    file.write_bytes(b"".join(lines).replace(b'"text":"', b'"text":"1', 1))
    assert any("It touches one of 3 answers" in fault for fault in check_run(run).faults)
    assert any("1 verdicts are on other texts than the responses" in fault for fault in check_run(run).faults)
    file.unlink()
    assert any(f"{file}: is gone" in fault for fault in check_run(run).faults)


FORGED: dict[str, tuple[str, Callable[[str], str], str]] = {
    "the points of a verdict": (
        "verdicts-0.jsonl",
        lambda text: text.replace('"points":0.0', '"points":4.0'),
        "points",
    ),
    "a mark of the report": (
        "report.json",
        lambda text: re.sub(r'"low": 0\.6+\d*', '"low": 0.9', text),
        "0.9, and the",
    ),
    "a count of run.json": ("run.json", lambda text: text.replace('"questions": 3', '"questions": 2'), "questions"),
    "a key": ("questions.jsonl", lambda text: text.replace('"answer":["', '"answer":["1'), "not what the run began"),
}


@pytest.mark.parametrize("what", FORGED)
def test_numbers_are_made_of_the_lines_again_where_no_sum_is(run: Path, what: str) -> None:
    for file in run.glob(".*.sums"):
        file.unlink()
    checked = check_run(run)
    assert checked.faults == []
    assert "responses-0.jsonl" in str(checked.notes)
    name, change, said = FORGED[what]
    text = (run / name).read_text()
    assert change(text) != text
    (run / name).write_text(change(text))
    assert said in str(check_run(run).faults)


HOSTILE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a stretch that is read again and again": (".responses-0.jsonl.sums", lambda text: text * 3),
    "a sum without end": (".responses-0.jsonl.sums", lambda text: b'{"end":99999999999999999999,"sha256":""}'),
    "a page elsewhere": (".report.html.sums", lambda text: text + b'{"end":1,"sha256":"","file":"/etc/passwd"}\n'),
    "a deep report": ("report.json", lambda text: b"[" * 200_000),
    "a report of no profile": ("report.json", lambda text: b'{"profile": ["article"]}'),
    "a deep signature": ("signature.json", lambda text: b"[" * 200_000),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_folder_of_a_stranger_costs_a_line(run: Path, what: str) -> None:
    name, change = HOSTILE[what]
    file = run / name
    file.write_bytes(change(file.read_bytes() if file.exists() else b""))
    ended = livek12_here("check", str(run))
    assert ended.code == 1
    assert name in ended.out
    assert "Traceback" not in ended.out + ended.err


def test_a_run_goes_on_after_a_kill_and_its_sums_cover_all(run: Path) -> None:
    path = run / "responses-0.jsonl"
    size = path.stat().st_size
    with path.open("ab") as file:  # by a command that was killed
        file.write(path.read_bytes().splitlines(keepends=True)[0] + b'{"torn')
    assert "no sum covers its last" in str(check_run(run).notes)
    with RunFolder.open(run).writer("responses"):
        pass
    checked = check_run(run)
    assert (checked.faults, checked.notes) == ([], [])
    assert [row.start for row in read_sums(path)] == [0, size]


def test_a_sum_that_was_torn_by_a_kill_is_no_damage(run: Path) -> None:
    sums = run / ".responses-0.jsonl.sums"
    sums.write_bytes(sums.read_bytes()[:-20])
    checked = check_run(run)
    assert checked.faults == []
    assert "no sum covers its last" in str(checked.notes)


def test_long_journals_have_a_sum_for_each_stretch(tmp_path: Path) -> None:
    with LineFile(tmp_path / "file.jsonl", summed=True) as file:
        for _ in range(3):
            file.write_line("x" * STRETCH)
        assert len(read_sums(file.path)) == 3
        file.write_line("y")
    assert [row.end for row in read_sums(file.path)][-1] == file.path.stat().st_size
    assert damage(file.path) == []


def test_damage_is_not_packed(run: Path) -> None:
    compact(run)
    restore(run)
    assert check_run(run).faults == []
    path = run / "responses-0.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"text":"', b'"text":"1', 1))
    with pytest.raises(UserError, match=r"responses-0\.jsonl: is not what was written to it"):
        compact(run)


def test_the_command_ends_with_1_where_anything_is_wrong(run: Path) -> None:
    ended = livek12_here("check", str(run))
    assert (ended.code, ended.out) == (0, f"{run}: every sum, line and number is as it was written\n")
    (run / "report.html").write_text("other")
    ended = livek12_here("check", str(run), "--json")
    assert ended.code == 1
    assert "report.html: is not what was written" in json.loads(ended.out)["faults"][0]


def test_a_run_from_elsewhere_asks_no_hub(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names: list[str] = []

    def fetch(name: str, *_: object) -> Path:
        names.append(name)
        raise hub.NotFetched("away")

    monkeypatch.setattr(hub, "fetch", fetch)
    own = RunFolder.open(run).spec()
    RunFolder(run).amend(tasks=[task.model_copy(update={"data": "org/exams"}) for task in own.tasks])
    elsewhere = RunFolder.open(run)
    assert not elsewhere.made_here()
    assert reload_task_data(elsewhere, trusts=False).questions == {}
    assert "was not made here, and only `report --data org/exams` asks the Hub" in capsys.readouterr().err
    assert names == []
    with pytest.raises(UserError):
        reload_task_data(elsewhere, "org/exams", trusts=False)
    RunFolder.create_or_resume(run, elsewhere.spec(), {}).leave()
    assert elsewhere.made_here()
    reload_task_data(elsewhere, trusts=False)
    assert names == ["org/exams"] * 2


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A private key, with its public one beside it."""
    made = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519").Ed25519PrivateKey.generate()
    encodings = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    plain = encodings.Encoding.PEM, encodings.PrivateFormat.OpenSSH, encodings.NoEncryption()
    (tmp_path / "key").write_bytes(made.private_bytes(*plain))
    public = made.public_key().public_bytes(encodings.Encoding.OpenSSH, encodings.PublicFormat.OpenSSH)
    (tmp_path / "key.pub").write_bytes(public + b" ann@example.org\n")
    return tmp_path / "key"


def test_a_signature_holds_for_what_was_signed_and_by_whom(run: Path, key: Path, tmp_path: Path) -> None:
    public = str(key.with_suffix(".pub"))
    assert check_run(run, public).faults == [f"{run}: is not signed"]
    assert livek12_here("sign", str(run), "--key", str(key)).code == 0
    assert (
        check_run(run, public).faults == check_run(run, Path(public).read_text()).faults == check_run(run).faults == []
    )
    assert livek12_here("check", str(run), "--signer", public).code == 0
    (other,) = (line for line in check_run(run, f"ssh-ed25519 {OTHER}").faults)
    assert "is signed by ssh-ed25519" in other
    assert "and not by" in other
    file = run / "signature.json"
    text = file.read_text()
    file.write_text(text.replace('"model": "qwen3"', '"model": "qwen4"'))
    assert check_run(run, public).faults == [f"{file}: its signature does not hold for what it states"]
    file.write_text(text)
    RunFolder(run).amend(marking=7)
    assert check_run(run, public).faults[0] == f"{run}/run.json: has changed since the run was signed"
    for name in ("key.pub", "nothing"):
        assert livek12_here("sign", str(run), "--key", str(tmp_path / name)).code == 2


@pytest.mark.parametrize("step", ["sums_path", "note_whole"])
def test_an_undo_that_a_fault_ended_is_sound_when_done_again(
    run: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compact(run)

    def fails(*_: Any, **__: Any) -> None:
        raise OSError(errno.EIO, "fault")

    with monkeypatch.context() as patch:
        patch.setattr(f"livek12.core.compaction.{step}", fails)
        with pytest.raises(UserError, match="nothing is lost"):
            restore(run)
    restore(run)
    assert check_run(run).faults == []


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The socket of an ssh-agent without keys."""
    if not shutil.which("ssh-agent"):
        pytest.skip("ssh-agent is not installed")
    with tempfile.TemporaryDirectory() as short:
        place = f"{short}/agent"
        with subprocess.Popen(["ssh-agent", "-D", "-a", place], stdout=subprocess.DEVNULL) as process:
            while not Path(place).exists() and process.poll() is None:
                time.sleep(0.01)
            monkeypatch.setenv("SSH_AUTH_SOCK", place)
            yield place
            process.terminate()


def test_the_agent_signs_with_the_key_to_a_public_one(run: Path, key: Path, agent: str) -> None:
    public = key.with_suffix(".pub")
    ended = livek12_here("sign", str(run), "--key", str(public))
    assert (ended.code, "ssh-agent did not sign" in ended.err) == (2, True), "it has no keys"
    assert not (run / "signature.json").exists()
    key.chmod(0o600)
    subprocess.run(["ssh-add", "-q", str(key)], check=True)
    assert livek12_here("sign", str(run), "--key", str(public)).code == 0
    assert check_run(run, str(public)).faults == []


def test_the_site_says_who_signed(run: Path, key: Path, tmp_path: Path) -> None:
    def signed() -> dict[str, Any]:
        return read(tmp_path / "site", "runs/qwen3")["facts"]["signed"]  # type: ignore[no-any-return]

    def make() -> None:
        made([run], tmp_path / "site")

    make()
    assert signed() == {}
    assert livek12_here("sign", str(run), "--key", str(key)).code == 0
    make()
    printed = hashlib.sha256(base64.b64decode(key.with_suffix(".pub").read_text().split()[1])).digest()
    fingerprint = "SHA256:" + base64.b64encode(printed).decode().rstrip("=")
    assert signed() == {"by": fingerprint, "faults": 0}
    file = run / "signature.json"
    text = file.read_text()
    for changed in (text.replace('"model": "qwen3"', '"model": "qwen4"'), "{"):
        file.write_text(changed)
        make()
        assert signed()["faults"] == 1


def test_a_signed_run_is_signed_where_it_was_pushed(run: Path, key: Path, tmp_path: Path) -> None:
    RunFolder(run).amend(engine_args={"base_url": "http://10.0.0.1/v1"})
    assert livek12_here("sign", str(run), "--key", str(key)).code == 0
    assert livek12_here("push", str(run), f"file://{tmp_path}/pushed", "--hold", "none").code == 0
    ended = livek12_here("check", f"file://{tmp_path}/pushed", "--signer", str(key.with_suffix(".pub")))
    assert (ended.code, ended.out.count("\n")) == (0, 1), ended.out
