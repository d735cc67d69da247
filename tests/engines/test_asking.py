"""A model is asked once for each draw, again where its reply is not in its form, and never for what is remembered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from livek12.core.records import Failure, Key, Message, Part, Request, Response, Sampling
from livek12.core.replies import parse_object
from livek12.core.store import Store
from livek12.engines import make_engine
from livek12.engines.asking import ATTEMPTS, REPLIES, Asker, Reply, Sender
from livek12.engines.base import Outcome
from tests.engines.scripted_server import Reply as Sent
from tests.engines.scripted_server import Script, good, serving


def request(name: str, schema: dict[str, Any] | None = None, **sampling: Any) -> Request:
    return Request(
        key=Key(task="t", question_id=name),
        messages=[Message(role="user", content=[Part(type="text", text=f"{name} is asked")])],
        sampling=Sampling(temperature=0.0, max_tokens=50, **sampling),
        answer_schema=schema,
    )


def asked(script: Script, requests: Iterable[Request], folder: Path | None) -> dict[str, Reply[dict[str, Any]]]:
    """The replies of an endpoint that follows a script."""
    with serving(script) as url:
        engine = make_engine("openai", "m", {"base_url": url, "concurrency": 1, "max_retries": 0})
        asker = Asker(engine, Store(REPLIES, folder) if folder else None)
        found = {r.key.question_id: r for r in asker.replies(requests, lambda key, text: parse_object(text))}
        asker.close()
        engine.close()
    return found


def test_an_unreadable_reply_is_asked_for_again_bolder() -> None:
    script = Script(lambda text, n: good('{"a": 1}' if n == 1 else "I think so."))
    found = asked(script, [request("x")], None)
    assert found["x"].value == {"a": 1}
    assert [seen.body["temperature"] for seen in script.seen] == [0.0, 0.3]


def test_after_the_last_attempt_the_problem_is_said() -> None:
    script = Script(lambda text, n: good("I think so."))
    found = asked(script, [request("x")], None)
    assert found["x"].value is None and not found["x"].failed
    assert found["x"].problem.startswith("the reply is not one JSON object: 'I think so.'")
    assert len(script.seen) == ATTEMPTS


def test_nothing_is_asked_twice_and_failures_are_asked_again(tmp_path: Path) -> None:
    def reply(text: str, n: int) -> Sent:
        return Sent(status=400, body=b'{"error":{"message":"no"}}') if "bad" in text else good('{"a": 1}')

    script = Script(reply)
    found = asked(script, [request("x"), request("bad")], tmp_path)
    assert found["x"].value == {"a": 1} and found["bad"].problem.startswith("failed: ") and found["bad"].failed
    script = Script(lambda text, n: good('{"a": 2}'))
    found = asked(script, [request("x"), request("bad"), request("new")], tmp_path)
    assert {name: reply.value for name, reply in found.items()} == {"x": {"a": 1}, "bad": {"a": 2}, "new": {"a": 2}}
    assert len(script.seen) == 2
    script = Script(lambda text, n: good('{"a": 3}'))
    other = request("x", schema={"type": "object"})
    assert asked(script, [other], tmp_path)["x"].value == {"a": 3}, "another schema is another question"


def test_an_id_that_is_there_twice_breaks_nothing() -> None:
    script = Script(lambda text, n: good('{"a": 1}'))
    assert asked(script, [request("x"), request("x"), request("y")], None).keys() == {"x", "y"}


def test_an_unreadable_reply_is_remembered_with_its_draw(tmp_path: Path) -> None:
    asked(Script(lambda text, n: good("no")), [request("x")], tmp_path)
    script = Script(lambda text, n: good('{"a": 1}'))
    assert asked(script, [request("x")], tmp_path)["x"].value is None
    assert not script.seen


class Strict:
    """An engine that refuses schemas, and keeps what it was given."""

    name, model, revision, images = "strict", "m", None, False

    def __init__(self) -> None:
        self.given: list[Request] = []

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        for one in requests:
            self.given.append(one)
            if one.answer_schema is not None:
                yield Failure(key=one.key, state="failed", reason="400: unknown field response_format")
            else:
                yield Response(key=one.key, text=json.dumps({"a": 1}), engine="strict", model="m")

    def versions(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        pass


def test_a_model_that_takes_no_schema_is_asked_without(caplog: pytest.LogCaptureFixture) -> None:
    engine = Strict()
    sender = Sender(engine)
    for name in ("x", "y"):
        (outcome,) = sender.generate([request(name, schema={"type": "object"})])
        assert isinstance(outcome, Response)
    assert [one.answer_schema is None for one in engine.given] == [False, True, True]
    assert caplog.text.count("takes no JSON schema") == 1
