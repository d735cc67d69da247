"""A sweep on a real Slurm of one node on loopback, with jobs killed and requeued in the middle.

Skipped where Slurm is not installed, or this user may not start it (Debian: slurm-wlm, munge; as root).
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from livek12.core.run.sessions import read_sessions
from tests.evaluation.test_sweep import QUESTIONS, Sweeping, answered, at, lines, until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel")

CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 CoresPerSocket=8 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [found.getsockname()[1] for found in sockets]
    for found in sockets:
        found.close()
    return ports


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A controller and a node; commands find them by SLURM_CONF."""
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        pytest.skip(f"Slurm is not installed here: no {', '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("only root may start a Slurm of its own")
    folder = tmp_path / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o600)
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=socket.gethostname().split(".")[0], folder=folder, ports=free_ports(2)))
    monkeypatch.setenv("SLURM_CONF", str(conf))
    files = {name: folder / f"munge.{name}" for name in ("sock", "pid", "log", "seed")}
    options = ["--num-threads=2", f"--key-file={key}", f"--socket={files['sock']}", f"--pid-file={files['pid']}"]
    options += [f"--log-file={files['log']}", f"--seed-file={files['seed']}", "--force", "--foreground"]
    daemons = [subprocess.Popen(["munged", *options], stderr=subprocess.DEVNULL)]
    try:
        until(files["sock"].exists, "munged is up")
        daemons += [subprocess.Popen([name, "-D"], stderr=subprocess.DEVNULL) for name in ("slurmctld", "slurmd")]
        until(lambda: "idle" in called("sinfo", "-h", "-o", "%T"), "the node is up")
        yield
    finally:
        called("scancel", "--signal=KILL", "--full", "--user=root")
        called("scancel", "--user=root")
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def called(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60).stdout


def queue() -> dict[str, str]:
    """The jobs by name of the element, and their states."""
    said = called("squeue", "-h", "-r", "-o", "%i|%T").splitlines()
    return dict(line.split("|") for line in said)


def test_jobs_that_are_killed_and_requeued_do_all_once(
    slurm: None, data: Path, oracle: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = oracle
    trials, concurrency = 6, 1
    wanted = trials * QUESTIONS
    models = [at(url, concurrency, label=label, sampling={"seed": seed}) for label, seed in (("a", 0), ("b", 100))]
    sweeping = Sweeping(tmp_path, data, trials=trials, backend="slurm", slurm={"time": "00:30:00"}, models=models)
    assert sweeping.run().code == 0
    assert sweeping.run().err.startswith("everything is in the queue already"), "nothing is submitted twice"
    first, second = sorted(job for job in queue() if "_" in job)
    until(lambda: all(lines(sweeping.out / label / "responses-0.jsonl") >= 10 for label in "ab"), "10 answers each")
    for label in "ab":  # so that they cannot end before they are looked at
        os.kill(read_sessions(sweeping.out / label)[-1].pid, signal.SIGSTOP)
    running = {(cell["state"], cell["by"].partition(" on ")[0]) for cell in sweeping.status()}
    assert running == {("running", f"Slurm job {first}"), ("running", f"Slurm job {second}")}
    called("scontrol", "requeue", first)
    until(lambda: queue()[first] == "PENDING", "the requeued job waits")
    called("scancel", "--signal=KILL", "--full", second)
    until(lambda: second not in queue(), "the killed job is gone")
    killed = [cell for cell in sweeping.status() if cell["label"] == "b"]
    assert all(cell["state"] in ("failed", "waiting") and cell["reason"] for cell in killed)
    last = next(job for job in queue() if "_" not in job)
    assert sweeping.run().code == 0
    jobs = queue()
    assert last not in jobs, "a new job judges and reports, after the new ones"
    assert first in jobs and len([job for job in jobs if "_" in job]) == 2, "only the killed one is submitted again"
    called("scontrol", "update", f"jobid={first}", "starttime=now")  # Slurm would let it wait for two minutes
    until(lambda: not queue() or time.sleep(0.2), "all jobs have ended")

    report = sweeping.report()
    assert report["missing"] == [] and {cell["state"] for cell in report["cells"]} == {"done"}
    assert [answered(sweeping.out / label) for label in "ab"] == [wanted, wanted]
    in_hand = 4  # at a kill: asked and not stored yet; far fewer than were stored
    assert lines(log) <= 2 * (wanted + in_hand), "asked again what was stored"
    assert sweeping.run().code == 0 and not queue(), "nothing is left to submit"
