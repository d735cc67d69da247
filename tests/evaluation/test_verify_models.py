"""`Verifier(judge=…)`: judge models get what the rules leave open, and nothing else."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import threading
from pathlib import Path
from typing import Any

from livek12 import Verifier
from livek12.evaluation.options import JudgingOptions
from livek12.evaluation.pair_file import judge_file
from tests.engines.helpers import wait_until
from tests.engines.scripted_server import Reply, error, serving
from tests.judges.llm.judge_server import JudgeScript, counted, says

Json = dict[str, Any]
CLEAR: list[Json] = [{"gold": "12", "response": "12"}, {"gold": "12", "response": "13"}, {"gold": {}, "response": "1"}]
OPEN: list[Json] = [
    {"question": f"«{name}» Why?", "question_type": "open_ended", "gold": "heat", "response": "It is warm."}
    for name in ("right", "wrong")
]


def answer(name: str, before: int, body: Json) -> Reply:
    return says(counted(name == "right"))


def spec(address: str) -> str:
    return f"alpha@openai:base_url={address},max_retries=1,backoff=0.01"


def test_only_what_is_open_is_asked_and_once(tmp_path: Path) -> None:
    script = JudgeScript(answer)
    rows = CLEAR + OPEN
    with serving(script) as address, Verifier(workers=1, undecided=0.5, judge=spec(address)) as verifier:
        judged = verifier.batch(rows)
        assert [found.decision for found in judged] == ["accept", "reject", "undecided", "accept", "reject"]
        assert [found.score for found in judged] == [1.0, 0.0, None, 1.0, 0.0]
        assert [found.decided_by for found in judged[2:]] == ["input", "llm", "llm"]
        assert sorted(seen.question for seen in script.seen) == ["right@alpha", "wrong@alpha"]
        again = asyncio.run(verifier.abatch(rows))
        assert again == judged
        assert len(script.seen) == 2, "replies are remembered"
        (tmp_path / "in.jsonl").write_text("".join(json.dumps({"id": n, **row}) + "\n" for n, row in enumerate(rows)))
        judge_file(tmp_path / "in.jsonl", tmp_path / "out.jsonl", JudgingOptions(spec(address)).judges())
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["decision"] for line in lines] == [found.decision for found in judged]
    assert [line["judge"] for line in lines[3:]] == [found.judge for found in judged[3:]]


def test_a_judge_that_does_not_answer_leaves_it_undecided() -> None:
    script = JudgeScript(lambda name, before, body: error(500))
    with serving(script) as address, Verifier(workers=1, judge=spec(address)) as verifier:
        (found,) = verifier.batch([{**OPEN[0], "question": "«silent» Why?"}])
    assert (found.decision, found.score) == ("undecided", None)
    assert "500" in found.reason


def _expects_a_model(verifier: Verifier, name: str) -> None:
    (found,) = verifier.batch([{**OPEN[0], "question": f"«right» In {name}?"}])
    assert (found.decision, found.decided_by) == ("accept", "llm")


def test_a_fork_goes_on_with_judges_of_its_own() -> None:
    script = JudgeScript(answer)
    with serving(script) as address, Verifier(workers=1, judge=spec(address)) as verifier:
        _expects_a_model(verifier, "the parent")
        fork = multiprocessing.get_context("fork").Process(target=_expects_a_model, args=(verifier, "the fork"))
        fork.start()
        fork.join(60)
        assert fork.exitcode == 0
        assert len(script.seen) == 2


def test_one_that_is_no_longer_used_closes_its_judges() -> None:
    with serving(JudgeScript(answer)) as address:
        before = set(threading.enumerate())
        verifier = Verifier(workers=1, judge=spec(address))
        _expects_a_model(verifier, "use")
        assert "judges" in " ".join(thread.name for thread in set(threading.enumerate()) - before)
        del verifier
        wait_until(lambda: not [thread for thread in set(threading.enumerate()) - before if _is_ours(thread)])


def _is_ours(thread: threading.Thread) -> bool:
    return not thread.name.endswith("(process_request_thread)")  # one of the server's a connection
