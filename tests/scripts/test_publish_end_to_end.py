"""From the built sample to a run on the published data set: build, publish, load by name, run, report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12.core.questions import read_card
from livek12.core.run.folder import RunFolder
from tests.endpoint import oracle_at
from tests.hub import STRANGER, WRITER, Hub
from tests.hub_client import Client

pytestmark = pytest.mark.slow

TASKS = "livek12_text_only_en,livek12_image_only_en,kmmmu,cfe_text,mdk12"
LOAD = """
from datasets import load_dataset

result = {}
for config in [*CONFIGS, None]:
    whole = load_dataset("org/livek12", config)
    streamed = load_dataset("org/livek12", config, revision="sample", streaming=True)
    result[str(config)] = {split: len(rows) for split, rows in whole.items()}
    keys = ["paper_id", "page_number"] if config == "pages" else ["id"]
    for split, rows in whole.items():
        first, other = rows[0], next(iter(streamed[split]))
        assert [first[key] for key in keys] == [other[key] for key in keys], (config, split)
        assert first.keys() == other.keys(), (config, split)
"""


@pytest.fixture(scope="module")
def sample(built_sample: Path) -> Path:
    return built_sample


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oracle_at(tmp_path_factory.mktemp("oracle") / "log") as address:
        yield address


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("hub")
    with Hub(folder / "hub") as hub, Client(hub, folder / "home") as process:
        yield process


def rows(data: Path) -> dict[str, dict[str, int]]:
    """Rows of each config and split, counted here."""
    import pyarrow.parquet as pq

    return {
        config: {
            split: sum(pq.read_metadata(file).num_rows for pattern in patterns for file in data.glob(pattern))
            for split, patterns in splits.items()
        }
        for config, splits in read_card(data).items()
    }


def run(client: Client, data: str, out: Path, oracle: str, *more: object) -> dict[str, Any]:
    how = ("--model", "oracle", "--engine", "openai", "--engine-args", f"base_url={oracle}")
    ended = client.livek12("run", "--task", TASKS, "--data", data, *(more or how), "--out", out)
    assert ended.code == 0, ended.err
    report: dict[str, Any] = json.loads((out / "report.json").read_text())["tasks"]
    return report


@pytest.fixture(scope="module")
def local(sample: Path, client: Client, oracle: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The report of a run on the data set as it lies here."""
    return run(client, str(sample), tmp_path_factory.mktemp("local") / "run", oracle)


def test_build_publish_load_run(
    sample: Path, client: Client, oracle: str, local: dict[str, Any], tmp_path: Path
) -> None:
    ended = client.livek12("publish", sample, "--repo", "org/livek12", "--json")
    assert ended.code == 0, ended.err
    published = json.loads(ended.out)
    (shipment,) = published["shipments"]
    here = rows(sample)
    assert (published["withheld"], shipment["tag"]) == ([], "sample")
    assert {config: splits for config, splits in shipment["loaded"].items() if config in here} == here
    assert {config for config in shipment["loaded"] if config.startswith("eval_")} == set(shipment["loaded"]) - set(
        here
    )

    client.log_in(STRANGER)  # anybody may read it
    loaded = client.python(f"CONFIGS = {list(here)!r}\n{LOAD}")
    assert loaded.pop("None") == here["default"]
    assert loaded == here

    report = run(client, "org/livek12", tmp_path / "run", oracle)
    assert report == local
    assert (tmp_path / "run" / "report.html").exists()
    again = run(
        client, "org/livek12@sample", tmp_path / "again", oracle, "--model", tmp_path / "run", "--engine", "replay"
    )
    assert {task: scores["metrics"] for task, scores in again.items()} == {
        task: scores["metrics"] for task, scores in report.items()
    }


@pytest.mark.release
def test_a_run_without_the_held_answers_is_ungraded(
    sample: Path, client: Client, oracle: str, local: dict[str, Any], tmp_path: Path
) -> None:
    client.log_in(WRITER)
    ended = client.livek12("publish", sample, "--repo", "org/new", "--hold-answers", "org/new-keys")
    assert ended.code == 0, ended.err
    client.log_in(STRANGER)
    report = run(client, "org/new", tmp_path / "run", oracle)
    for task, scores in report.items():
        assert scores["metrics"]["mark"]["value"] is None, task
    states = {row.state for row in RunFolder.open(tmp_path / "run").rows()}
    assert states <= {"ungraded", "no_answer"} and "ungraded" in states
    questions = (tmp_path / "run").glob("questions*")
    assert not [file for file in questions if '"solution":"' in file.read_text()]

    refused = client.livek12("judge", tmp_path / "run", "--answers", "org/new-keys")
    assert refused.code == 2 and "org/new-keys" in refused.err
    client.log_in(WRITER)
    ended = client.livek12("judge", tmp_path / "run", "--answers", "org/new-keys")
    assert ended.code == 0, ended.err
    assert client.livek12("score", tmp_path / "run").code == 0
    marked = json.loads((tmp_path / "run" / "report.json").read_text())["tasks"]
    assert {task: scores["metrics"] for task, scores in marked.items()} == {
        task: scores["metrics"] for task, scores in local.items()
    }
