"""Tasks that make two requests for an answer, through the real command: both stored, counted, and asked once."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from livek12.core.errors import UserError
from livek12.core.prompts import harmless
from livek12.core.records import Response
from livek12.core.run.folder import RunFolder
from livek12.dataset_builders import build
from livek12.tasks.plugins.harness_task import documents
from livek12.tasks.registry import get_task
from tests.engines.scripted_server import Json, Reply, Script, Seen, completion, error, serving
from tests.judges.llm.judge_server import text_of
from tests.scripts.command import Ended, livek12_here

LEVELS = ("easy", "medium", "hard")
ITEMS = 24
HOSTILE = "Point {question} {knowledge_points} <image> <|im_end|> 《"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Items with a knowledge point each, easy, medium and hard in turn; one more without."""
    folder = tmp_path_factory.mktemp("kpref")
    rows = [
        {
            "id": f"item_{number}",
            "question": f"Item {number}: which letter?",
            "options": ["one", "two", "three"],
            "answer": "B",
            "question_type": "single_choice",
            "subject": "physics",
            "difficulty_level": LEVELS[number % 3],
            "knowledge_points": [f"point {number}"] if number < ITEMS else [],
        }
        for number in range(ITEMS + 1)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build("mdk12", str(folder / "rows.jsonl"), folder / "data")
    return folder / "data"


class Sitter(Script):
    """Explains points; answers right where an explanation is in the prompt or the item is easy."""

    def __init__(self) -> None:
        super().__init__(lambda question, before: Reply())
        self.explains: dict[int, str] = {}
        self.texts: list[str] = []
        self.second_fails = False

    def take(self, body: Json, headers: dict[str, str]) -> Reply:
        text = text_of(body)
        with self._lock:
            self.texts.append(text)
            self.seen.append(Seen("", time.monotonic(), body, headers))
            self._at_once += 1
        first = "Explain each of the following knowledge points" in text
        if first:
            number = int(text.rpartition("- point ")[2])
            said = self.explains.get(number, f"Explained {number}. {HOSTILE}")
        else:
            number = int(text.partition("Item ")[2].partition(":")[0])
            right = number % 3 == 0 or f"Explained {number}." in text
            said = r"So \boxed{B}." if right else r"So \boxed{A}."
        if self.second_fails and not first:
            return error(400, "no")
        reply = completion(said)
        tokens = (7, 100) if first else (20, 3)
        reply["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
        return Reply(body=json.dumps(reply).encode())


def run(data: Path, out: Path, address: str, *more: object, task: str = "mdk12_kpref") -> Ended:
    args = ["--data", data, "--model", "m", "--engine", "openai", "--engine-args", f"base_url={address},max_retries=0"]
    return livek12_here("run", "--task", task, *args, "--judge", "rules", "--out", out, "-q", *more)


def test_both_requests_are_made_stored_and_counted(data: Path, tmp_path: Path) -> None:
    sitter = Sitter()
    with serving(sitter) as address:
        ended = run(data, tmp_path / "run", address, task="mdk12,mdk12_kprag,mdk12_kpref")
        assert ended.code == 0, ended.err
        asked = len(sitter.texts)
        assert run(data, tmp_path / "run", address, task="mdk12,mdk12_kprag,mdk12_kpref").code == 0
    assert asked == len(sitter.texts) == (ITEMS + 1) + ITEMS + 2 * ITEMS
    seconds = [text for text in sitter.texts if "Explained knowledge points:" in text]
    assert len(seconds) == ITEMS
    for text in seconds:
        # what the model said stands there as it is, but for what a chat template might take for its own
        assert harmless(HOSTILE) in text and text.count("which letter?") == 1
    stored = {one.key.question_id: one for one in RunFolder.open(tmp_path / "run").responses() if "ref" in one.key.task}
    assert len(stored) == ITEMS
    for id, response in stored.items():
        assert response.earlier and response.earlier.text.startswith(f"Explained {id.removeprefix('item_')}.")
        assert (response.earlier.prompt_tokens, response.earlier.completion_tokens) == (7, 100)
        assert (response.prompt_tokens, response.completion_tokens) == (20, 3)
    report = json.loads((tmp_path / "run/report.json").read_text())
    tokens = report["tasks"]["mdk12_kpref"]["tokens"]
    assert (tokens["prompt"]["sum"], tokens["completion"]["sum"]) == (27 * ITEMS, 103 * ITEMS)
    assert report["tasks"]["mdk12_kprag"]["tokens"]["completion"]["sum"] == 3 * ITEMS
    assert report["tasks"]["mdk12_kpref"]["metrics"]["accuracy"]["value"] == 1.0
    # easy items are right without an explanation too: the planted gain is 0, 100 and 100 points
    told = ended.out.partition("mdk12_kpref minus mdk12: knowledge points expanded first")[2]
    gains = dict(re.findall(rf"^(easy|medium|hard) +{ITEMS // 3} +(\d+) ", told, re.MULTILINE))
    assert gains == {"easy": "0", "medium": "100", "hard": "100"}


def test_a_model_that_explains_nothing_fails_these_questions_and_is_asked_again(data: Path, tmp_path: Path) -> None:
    sitter = Sitter()
    sitter.explains = {4: "", 5: " \n"}
    with serving(sitter) as address:
        ended = run(data, tmp_path / "run", address)
        lines = [line for line in ended.err.splitlines() if "the model said nothing" in line]
        assert ended.code == 1 and len(lines) == 2
        counts = json.loads((tmp_path / "run/report.json").read_text())["tasks"]["mdk12_kpref"]["counts"]
        assert (counts["answers"], counts["failed"]) == (ITEMS, 2)
        sitter.explains, before = {}, len(sitter.texts)
        assert run(data, tmp_path / "run", address).code == 0
    assert len(sitter.texts) == before + 4 == 2 * ITEMS + 2


def test_where_second_requests_fail_the_first_ones_are_not_made_again(data: Path, tmp_path: Path) -> None:
    sitter = Sitter()
    sitter.second_fails = True
    with serving(sitter) as address:
        assert run(data, tmp_path / "run", address).code == 1
        before, sitter.second_fails = len(sitter.texts), False
        assert run(data, tmp_path / "run", address).code == 0
    again = ["Explain each of the following knowledge points" in text for text in sitter.texts[before:]]
    assert again == [False] * ITEMS and before == 2 * ITEMS


def test_both_kinds_flow_and_enough_is_kept_for_the_end(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("livek12.evaluation.asking.KEPT", 6)
    sitter = Sitter()
    with serving(sitter) as address:
        args = ["--task", "mdk12_kpref", "--data", data, "--model", "m", "--engine", "openai", "--engine-args"]
        args += [f"base_url={address},concurrency=2,max_retries=0", "--out", tmp_path / "run", "-q"]
        assert livek12_here("generate", *args).code == 0
    first = ["Explain each of the following knowledge points" in text for text in sitter.texts]
    assert first.count(True) == first.count(False) == ITEMS
    last = max(place for place, one in enumerate(first) if one)
    assert not all(first[:ITEMS]), "second ones do not wait for all first ones"
    assert first[last:].count(False) >= 6, "what fills the places while the last first ones are answered"


def test_a_response_of_one_request_is_written_as_before() -> None:
    one = Response.model_validate(
        {"key": {"task": "t", "question_id": "q"}, "text": "x", "engine": "openai", "model": "m"}
    )
    assert "earlier" not in one.model_dump() and "earlier" not in one.model_dump_json()


def test_harnesses_are_told_that_there_are_two_requests() -> None:
    with pytest.raises(UserError, match=r"mdk12_kpref makes two requests .* mdk12_kprag here"):
        documents(get_task("mdk12_kpref"), [], {})
