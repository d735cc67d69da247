"""One judge behind a real endpoint: retries, memory, accounting, and every fault as a reason in one line."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from livek12.core.prices import Prices
from livek12.core.records import Key, Request, Response, Sampling
from livek12.core.store import VOTES, Store
from livek12.engines.asking import ATTEMPTS
from livek12.engines.base import Outcome
from livek12.judges.llm.client import Answer, JudgeModel, JudgeSpec
from livek12.judges.llm.forms import Checked, TruthLine, Whole
from livek12.judges.llm.prompts import Fenced, load_prompt
from tests.engines.scripted_server import Reply, error, serving
from tests.judges.llm.judge_server import JudgeScript, says

GOOD = {"reason": "r", "correct": True}


def judge(address: str, store: Store | None = None, timeout: float = 300, **fields: object) -> JudgeModel:
    args = {"base_url": address, "timeout": str(timeout), "max_retries": "1", "backoff": "0.01"}
    return JudgeModel(JudgeSpec("judge", "openai", args, **fields), store)


def ask(model: JudgeModel, name: str = "q", response: str = "2", trial: int = 0) -> Answer[Checked]:
    values = {
        "question": Fenced("QUESTION", f"«{name}» 1 + 1?"),
        "reference": Fenced("REFERENCE ANSWER", "2"),
        "solution": Fenced("REFERENCE SOLUTION", "(none)"),
        "response": Fenced("RESPONSE", response),
    }
    return model.ask(Key(task="cfe_l2l", question_id=name), load_prompt("cfe_l2l"), values, Whole(), trial)


def test_a_reply_that_cannot_be_read_is_asked_for_again_with_another_seed_and_temperature() -> None:
    script = JudgeScript(lambda question, before, body: says("hm" if before < 2 else GOOD))
    with serving(script) as address:
        answer = ask(judge(address))
    assert answer.value == Checked(True, "r")
    assert [call.problem != "" for call in answer.calls] == [True, True, False]
    assert [seen.body["seed"] for seen in script.seen] == [0, 1, 2]
    assert [seen.body["temperature"] for seen in script.seen] == [0.0, 0.3, 0.6]


def test_rubbish_for_ever_ends_after_the_last_attempt_with_the_reason() -> None:
    script = JudgeScript(lambda question, before, body: says('{"reason": "r", "correct": "False"}'))
    with serving(script) as address:
        answer = ask(judge(address))
    assert answer.value is None
    assert not answer.lost
    assert len(script.seen) == len(answer.calls) == ATTEMPTS
    assert "neither true nor false" in answer.problem


@pytest.mark.parametrize(
    "reply", [error(500), error(429), Reply(body=b'{"choices": [{"mess'), Reply(cut=True), Reply(wait=1.0), Reply()]
)
def test_an_endpoint_without_a_reply_is_lost_not_wrong(reply: Reply) -> None:
    with serving(JudgeScript(lambda question, before, body: reply)) as address:
        model = judge(address, timeout=0.5 if reply.wait else 300)
        answers = [ask(model, f"q{n}") for n in range(2)]
    for answer in answers:
        assert answer.value is None
        assert answer.lost
        assert "\n" not in answer.problem
        assert answer.calls[-1].raw is None


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refusal_of_the_request_is_final(status: int) -> None:
    refusal = error(status, "maximum context length exceeded")
    with serving(JudgeScript(lambda question, before, body: refusal)) as address:
        answer = ask(judge(address))
    assert (answer.value, answer.lost, answer.calls[-1].final) == (None, False, True)
    assert f"{status}: maximum context length exceeded" in answer.problem


def test_a_refused_second_attempt_leaves_the_first_reply_unreadable() -> None:
    script = JudgeScript(lambda question, before, body: error(400, "temperature must be 0") if before else says("hm"))
    with serving(script) as address:
        answer = ask(judge(address))
    assert (answer.lost, answer.raw, len(answer.calls)) == (False, "hm", 2)
    assert "no readable reply in 1: the reply is not one JSON object: 'hm'" in answer.problem


def test_what_was_said_is_not_asked_again_not_even_by_another_process(tmp_path: Path) -> None:
    script = JudgeScript(lambda question, before, body: says("hm" if before == 0 else GOOD))
    with serving(script) as address:
        first = ask(judge(address, Store(VOTES, tmp_path)))
        again = ask(judge(address, Store(VOTES, tmp_path)))
        assert len(script.seen) == 2
        assert again.value == first.value
        assert [call.remembered for call in again.calls] == [True, True]
        assert [call.prompt_tokens for call in again.calls] == [call.prompt_tokens for call in first.calls]
        for other in (
            ask(judge(address, Store(VOTES, tmp_path)), response="3"),
            ask(judge(address, Store(VOTES, tmp_path)), trial=1),
            ask(judge(address, Store(VOTES, tmp_path), sampling=Sampling(temperature=0.7))),
        ):
            assert not other.calls[-1].remembered


def test_failures_are_not_remembered(tmp_path: Path) -> None:
    script = JudgeScript(lambda question, before, body: error(500) if before < 2 else says(GOOD))
    with serving(script) as address:
        assert ask(judge(address, Store(VOTES, tmp_path))).lost
        assert ask(judge(address, Store(VOTES, tmp_path))).value == Checked(True, "r")


def test_an_endpoint_without_schemas_is_asked_without() -> None:
    def answer(question: str, before: int, body: object) -> Reply:
        return error(400, "response_format is not supported") if before == 0 else says(GOOD)

    script = JudgeScript(answer)
    with serving(script) as address:
        model = judge(address)
        assert ask(model).value == Checked(True, "r")
        assert ask(model, "other").value is None  # its first request is refused for the same words, without a schema
    assert [("response_format" in seen.body) for seen in script.seen] == [True, False, False]


def test_costs_follow_from_prices_and_counts() -> None:
    with serving(JudgeScript(lambda question, before, body: says(GOOD, 1000, 50, cached=400))) as address:
        answer = ask(judge(address, prices=Prices(prompt=2.0, completion=10.0, cached=0.5)))
    call = answer.calls[0]
    assert call.cost == pytest.approx((600 * 2 + 400 * 0.5 + 50 * 10) / 1e6)
    assert (call.prompt_tokens, call.cached_tokens, call.completion_tokens) == (1000, 400, 50)
    assert Prices(1, 1).cost(None, None, 5) is None


class OneThread:
    """An engine that, like vLLM in this process, may be used by one thread at a time."""

    name, model, revision, images = "inprocess", "m", None, False

    def __init__(self) -> None:
        self.rounds: list[int] = []
        self._busy = threading.Lock()

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        assert self._busy.acquire(blocking=False), "two threads at once"
        asked = list(requests)
        self.rounds.append(len(asked))
        for request in reversed(asked):
            name = "".join(part.text or "" for part in request.messages[1].content)
            text = "[TRUE]" if "«7»" in name else "[FALSE]"
            yield Response(key=request.key, text=text, engine=self.name, model=self.model)
        self._busy.release()

    def versions(self) -> dict[str, str]:
        return {}

    def close(self) -> None: ...


def test_an_engine_for_one_thread_is_given_what_waits_together() -> None:
    engine = OneThread()
    model = JudgeModel(JudgeSpec("m", "vllm"), engine=engine)

    def verdict(name: int) -> bool | None:
        block = Fenced("QUESTION", f"«{name}»")
        values = {
            "question": block,
            "reference": Fenced("GOLD ANSWER", "1"),
            "response": Fenced("RESPONSE", "1"),
        }
        key = Key(task="kmmmu_p1", question_id=str(name))
        answer = model.ask(key, load_prompt("kmmmu_p1"), values, TruthLine())
        return answer.value.correct if answer.value else None

    with ThreadPoolExecutor(32) as threads:
        found = list(threads.map(verdict, range(200)))
    model.close()
    assert found == [name == 7 for name in range(200)]
    assert sum(engine.rounds) == 200
    assert max(engine.rounds) > 1
