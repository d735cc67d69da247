"""The openai engine against a real HTTP server that misbehaves in every way."""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
from collections.abc import Iterator
from email.utils import formatdate
from typing import Any

import pytest

import livek12.engines.openai as openai_api
from livek12.core.errors import UserError
from livek12.core.records import Failure, Image, Request, Response
from livek12.engines import Outcome, make_engine
from livek12.engines.openai import retry_after
from livek12.engines.openai.transport import ALIVE, _watched
from tests.engines.helpers import ask, by_question, failure, picture, response
from tests.engines.scripted_server import Reply, Script, completion, error, good, serving


def _run(address: str, requests: Any, **args: Any) -> list[Outcome]:
    engine = make_engine("openai", "m", {"base_url": address, "backoff": 0.01, **args})
    try:
        return list(engine.generate(requests))
    finally:
        engine.close()


def _answer(script: Script, *requests: Request, **args: Any) -> dict[str, Outcome]:
    with serving(script) as address:
        return by_question(_run(address, requests, **args))


def _body(value: Any) -> Reply:
    return Reply(body=value if isinstance(value, bytes) else json.dumps(value).encode())


def _with(**fields: Any) -> Reply:
    """A completion with other fields in its message."""
    whole = completion()
    whole["choices"][0]["message"] = {"role": "assistant", **fields}
    return _body(whole)


def test_the_request_carries_everything() -> None:
    script = Script(lambda question, before: good("4"))
    request = ask("q what?", system="Be brief.", temperature=0.7, top_p=0.9, top_k=5, seed=40, trial=2, stop=["##"])
    found = _answer(
        script,
        request,
        api_key="sk-1",
        extra_body='{"min_p": 0.1}',
        chat_template_kwargs='{"enable_thinking": false}',
        reasoning_effort="low",
    )
    (seen,) = script.seen
    assert seen.headers["authorization"] == "Bearer sk-1"
    assert seen.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is it?"}],
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 5,
        "seed": 42,
        "max_tokens": 8,
        "stop": ["##"],
        "min_p": 0.1,
        "chat_template_kwargs": {"enable_thinking": False},
        "reasoning_effort": "low",
    } | {"messages": seen.body["messages"]}
    got = response(found["q what?"])
    assert (got.text, got.engine, got.model, got.finish_reason) == ("4", "openai", "m", "stop")
    assert (got.prompt_tokens, got.completion_tokens, got.cached_tokens, got.reasoning_tokens) == (3, 2, None, None)
    assert got.prompt_sha256 == request.prompt_sha256


def test_thinking_is_switched_off_at_a_server_as_in_process() -> None:
    """By both names that templates have for it, beside the other variables, which it overrules."""
    script = Script(lambda question, before: good("4"))
    _answer(script, ask("q what?"), chat_template_kwargs='{"enable_thinking": true, "a": 1}', enable_thinking="false")
    (seen,) = script.seen
    assert seen.body["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False, "a": 1}


def _asked(question: str, **more: Any) -> Request:
    """A request whose text begins with its id, which the scripted server reads."""
    return ask(question, text=f"{question} What is it?", **more)


def test_fields_can_be_renamed_and_left_out() -> None:
    script = Script(lambda question, before: good())
    _answer(script, _asked("q"), max_tokens_field="max_completion_tokens", omit='["seed", "temperature"]')
    assert set(script.seen[0].body) == {"model", "messages", "max_completion_tokens"}


def test_defaults_of_the_model_are_left_to_it() -> None:
    script = Script(lambda question, before: good())
    _answer(script, _asked("q", temperature=None))
    assert set(script.seen[0].body) == {"model", "messages", "max_tokens", "seed"}


def test_images_arrive_as_data_urls_of_their_very_bytes() -> None:
    images = (picture("red"), picture("blue", form="JPEG"))
    script = Script(lambda question, before: good())
    found = _answer(script, _asked("q", images=images))
    response(found["q"])
    parts = script.seen[0].body["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["image_url", "image_url", "text"]
    for part, image, mime in zip(parts, images, ("image/png", "image/jpeg"), strict=False):
        head, data = part["image_url"]["url"].split(",")
        assert head == f"data:{mime};base64"
        assert base64.b64decode(data) == image.bytes


def test_a_broken_picture_is_never_sent_and_fails_alone() -> None:
    script = Script(lambda question, before: good())
    found = _answer(script, _asked("bad", images=(Image(bytes=b"<html>"),)), _asked("fine"))
    assert "question bad: image 1 of 1 is not a PNG" in failure(found["bad"]).reason
    assert script.attempts() == {"fine": 1}


def test_a_text_only_endpoint_gets_no_images() -> None:
    script = Script(lambda question, before: good())
    found = _answer(script, _asked("seen", images=(picture("red"),)), _asked("read"), images="false")
    assert failure(found["seen"]).state == "unsupported"
    assert script.attempts() == {"read": 1}


BAD = {
    "html": _body(b"<html><body>Bad gateway</body></html>"),
    "half": _body(json.dumps(completion()).encode()[:60]),
    "empty": _body(b""),
    "list": _body([1]),
    "null": _body(None),
    "nochoice": _body(completion() | {"choices": []}),
    "choices": _body(completion() | {"choices": "x"}),
    "message": _body(completion() | {"choices": [{"message": "x"}]}),
    "nocontent": _with(content=None),
    "number": _with(content=4),
    "error": _body({"error": {"message": "overloaded"}}),
    "deep": _body(b"[" * 200_000),
}


@pytest.mark.parametrize("name", BAD)
def test_rubbish_ends_that_request_once_and_for_all(name: str) -> None:
    script = Script(lambda question, before: BAD[name] if question == "q" else good())
    found = _answer(script, _asked("q"), _asked("other"))
    assert failure(found["q"]).state == "failed"
    assert len(failure(found["q"]).reason) <= 300
    assert response(found["other"]).text == "4"
    assert script.attempts() == {"q": 1, "other": 1}


@pytest.mark.parametrize(
    ("reply", "text", "reasoning"),
    [
        (good("4"), "4", None),
        (good(""), "", None),
        (_with(content="4", reasoning_content="2+2"), "4", "2+2"),
        (_with(content="4", reasoning="2+2"), "4", "2+2"),
        (_with(content="<think>2+2</think>4"), "4", "2+2"),
        (_with(content="2+2</think>4"), "4", "2+2"),
        (_with(content=None, reasoning_content="cut off"), "", "cut off"),
        (_with(content=[{"type": "text", "text": "4"}]), "4", None),
        (
            _with(
                content=[
                    {"type": "thinking", "thinking": [{"type": "text", "text": "2+2"}]},
                    {"type": "text", "text": "4"},
                ]
            ),
            "4",
            "2+2",
        ),
        (_with(content=None, refusal="I must not."), "I must not.", None),
        (_with(content=None, tool_calls=[{"id": "1", "function": {"name": "f", "arguments": "{}"}}]), "", None),
        (_with(content="4", tool_calls=[{"id": "1", "function": {"name": "f", "arguments": "{}"}}]), "4", None),
        (_body({"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}), "", None),
        (_with(content="lone \ud800"), "lone ?", None),
    ],
)
def test_thinking_comes_apart_whichever_way_it_is_told(reply: Reply, text: str, reasoning: str | None) -> None:
    found = response(_answer(Script(lambda question, before: reply), _asked("q"))["q"])
    assert (found.text, found.reasoning) == (text, reasoning)


def test_a_template_that_always_opens_thinking_can_be_told() -> None:
    script = Script(lambda question, before: good("still at it"))
    found = response(_answer(script, _asked("q"), think_opened="true")["q"])
    assert (found.text, found.reasoning) == ("", "still at it")


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (None, (None, None, None, None)),
        ({"prompt_tokens": "3", "completion_tokens": -1}, (None, None, None, None)),
        ({"prompt_tokens": True, "completion_tokens": 2.0}, (None, None, None, None)),
        ({"prompt_tokens": 2**53 - 1, "completion_tokens": 2**53}, (2**53 - 1, None, None, None)),
        ({"prompt_tokens": 10**400, "completion_tokens": 10**400}, (None, None, None, None)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 8,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 6},
            },
            (9, 4, 8, 6),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 8, "prompt_cache_hit_tokens": 4}, (9, 4, 8, None)),
        ({"prompt_tokens": 9, "prompt_tokens_details": None, "completion_tokens_details": []}, (9, None, None, None)),
    ],
)
def test_tokens_are_counted_by_the_endpoint_or_not_at_all(usage: Any, counts: tuple[int | None, ...]) -> None:
    script = Script(lambda question, before: _body(completion() | {"usage": usage}))
    got = response(_answer(script, _asked("q"))["q"])
    assert (got.prompt_tokens, got.cached_tokens, got.completion_tokens, got.reasoning_tokens) == counts


def test_the_snapshot_that_answered_is_the_revision() -> None:
    script = Script(lambda question, before: _body(completion() | {"model": "m-2026-01-01"}))
    assert response(_answer(script, _asked("q"))["q"]).model_revision == "m-2026-01-01"


@pytest.mark.parametrize(
    ("said", "kept"),
    [("x\ud800", "x?"), ("x" * 10**6, "x" * 199 + "…"), ("", None), (["x"], None)],
    ids=["half a pair", "long", "empty", "list"],
)
def test_names_from_outside_are_stored_within_bounds(said: Any, kept: str | None) -> None:
    whole = completion() | {"model": said}
    whole["choices"][0]["finish_reason"] = said
    got = response(_answer(Script(lambda question, before: _body(whole)), _asked("q"))["q"])
    assert (got.model_revision, got.finish_reason) == (kept, kept)
    assert type(got).model_validate_json(got.model_dump_json()) == got


@pytest.mark.parametrize(
    "reply",
    [
        _body({"error": "broken \ud800"}),
        _body({"choices": [{"message": {"content": None}, "finish_reason": "\ud800"}]}),
        Reply(400, json.dumps({"error": {"message": "\ud800" * 10**5, "code": "\udfff"}}).encode()),
        Reply(400, json.dumps({"error": "\ud800"}).encode()),
        Reply(400, b"x" * 10**6),
        Reply(200, b"x", {"Content-Encoding": "gzip"}),
    ],
)
def test_what_an_error_says_can_be_stored(reply: Reply) -> None:
    script = Script(lambda question, before: good() if question == "ok" else reply)
    got = failure(_answer(script, _asked("ok"), _asked("q"), concurrency=1, max_retries=0)["q"])
    assert len(got.reason) <= 300
    assert type(got).model_validate_json(got.model_dump_json()) == got


def _moved(status: int, location: str | None) -> Reply:
    return Reply(status, b"elsewhere", {} if location is None else {"Location": location, "Set-Cookie": "a=b"})


@pytest.mark.parametrize(
    ("location", "where"),
    [
        ("https://u:secret@elsewhere.invalid/v1/chat/completions?key=secret", r"https://elsewhere\.invalid/v1"),
        ("/v2/chat/completions", r"http://127\.0\.0\.1:\d+/v2"),
        ("http://[x", "…"),
        (None, "and does not say where"),
    ],
)
@pytest.mark.parametrize("status", [301, 307])
def test_an_endpoint_that_sends_elsewhere_is_not_followed(status: int, location: str | None, where: str) -> None:
    script = Script(lambda question, before: good() if question == "ok" else _moved(status, location))
    said = rf"http://127\.0\.0\.1:\d+/v1 sends elsewhere \({where}\): give the address it really has"
    with serving(script) as address:
        with pytest.raises(UserError, match=f"^{said}$"):
            _run(address, [_asked("q")])
        assert len(script.seen) == 1
        found = by_question(_run(address, [_asked("ok"), _asked("q")], concurrency=1))
    assert re.fullmatch(said, failure(found["q"]).reason)
    assert len(script.seen) == 3


def test_no_cookie_is_kept() -> None:
    script = Script(lambda question, before: Reply(200, good().body, {"Set-Cookie": "a=b; Path=/"}))
    with serving(script) as address:
        named = address.replace("127.0.0.1", "localhost")  # cookies are never kept for a bare number
        for outcome in _run(named, [_asked("a"), _asked("b")], concurrency=1):
            response(outcome)
    assert [seen.headers.get("cookie") for seen in script.seen] == [None, None]


SECRETS = ("http://us:hidden@{host}/v1", "http://{host}/v1?api-key=hidden")


@pytest.mark.parametrize("given", SECRETS)
def test_what_is_secret_in_an_address_is_sent_and_never_said(given: str) -> None:
    def tell(replies: dict[str, Reply]) -> str:
        script = Script(lambda question, before: replies[question])
        with serving(script) as address:
            secret = given.format(host=address.removeprefix("http://").removesuffix("/v1"))
            try:
                outcomes = _run(secret, map(_asked, replies), concurrency=1, max_retries=0)
            except UserError as error:
                return str(error)
            return " ".join(outcome.model_dump_json() for outcome in outcomes)

    assert "does not serve m" in (said := tell({"q": error(401)})) and "hidden" not in said
    assert "nothing answers at" in (said := tell({"q": Reply(cut=True, status=200)})) and "hidden" not in said
    assert "sends elsewhere" in (said := tell({"q": _moved(307, "/x")})) and "hidden" not in said
    assert "500" in (said := tell({"ok": good(), "q": error(500)})) and "hidden" not in said


@pytest.mark.parametrize("address", ["us:hidden@host/v1", "ftp://us:hidden@host/v1", "http://us:hid/den@host/v1"])
def test_an_address_that_is_none_is_not_said_either(address: str) -> None:
    with pytest.raises(UserError, match=r"address") as error:
        make_engine("openai", "m", {"base_url": address})
    assert "hid" not in str(error.value)


@pytest.mark.parametrize(
    "value",
    ["Mon, 01 Jan 99999 00:00:00 GMT", "Mon, 01 Jan 2020 00:00:00 +999999999999999999", "nan", "soon", "", None],
)
def test_a_retry_after_that_says_nothing_is_passed_over(value: str | None) -> None:
    assert retry_after(value) is None


@pytest.mark.parametrize(
    ("value", "seconds"), [("1e999", 300.0), ("-3", 0.0), ("Fri, 31 Dec 9999 23:59:59 GMT", 300.0)]
)
def test_a_retry_after_is_kept_within_bounds(value: str, seconds: float) -> None:
    assert retry_after(value) == seconds


def test_trouble_is_retried_until_it_is_over_and_never_after() -> None:
    """Every kind of passing trouble, for many requests at once: one outcome each, one send after the last trouble."""
    troubles = [error(429), error(500), error(503), error(408), Reply(status=502, body=b"<html>"), Reply(cut=True)]

    def reply(question: str, before: int) -> Reply:
        times = int(question) % 4
        return good(question) if before >= times else troubles[(int(question) + before) % len(troubles)]

    script = Script(reply)
    found = _answer(script, *[_asked(str(n)) for n in range(48)], concurrency=8)
    assert {question: response(o).text for question, o in found.items()} == {str(n): str(n) for n in range(48)}
    assert script.attempts() == {str(n): n % 4 + 1 for n in range(48)}
    assert 2 <= script.most_at_once <= 8


def test_retries_come_to_an_end() -> None:
    script = Script(lambda question, before: error(500, "out of order") if question == "q" else good())
    found = _answer(script, _asked("ok"), _asked("q"), max_retries=3)
    assert failure(found["q"]).reason == "the endpoint answered 500: out of order (given up after 4 attempts)"
    assert script.attempts() == {"ok": 1, "q": 4}


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_another_4xx_is_not_retried(status: int) -> None:
    script = Script(lambda question, before: error(status, "too\nlong") if question == "q" else good())
    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address})
        response(next(engine.generate([_asked("ok")])))
        refused = failure(next(engine.generate([_asked("q")])))
        assert (refused.reason, refused.final) == (f"the endpoint answered {status}: too long", status != 404)
        engine.close()
    assert script.attempts() == {"ok": 1, "q": 1}


@pytest.mark.parametrize("header", ["1", "date"])
def test_retry_after_is_honoured(header: str) -> None:
    def reply(question: str, before: int) -> Reply:
        # A date has whole seconds: two from now is more than one away.
        return (
            good()
            if before
            else error(429, retry_after=header if header == "1" else formatdate(usegmt=True, timeval=_in(2)))
        )

    script = Script(reply)
    response(_answer(script, _asked("q"))["q"])
    assert script.seen[1].at - script.seen[0].at >= 1.0


def _in(seconds: float) -> float:
    import time

    return time.time() + seconds


def test_a_slow_answer_is_given_up_and_asked_for_again() -> None:
    script = Script(lambda question, before: good("late") if before else Reply(wait=2.0))
    assert response(_answer(script, _asked("q"), timeout=0.5)["q"]).text == "late"
    assert script.attempts() == {"q": 2}


def test_an_answer_may_take_as_long_as_its_budget_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes too long, then twice as long, fails alone and for good: others are answered."""
    monkeypatch.setattr(openai_api, "START_SECONDS", 0.25)
    monkeypatch.setattr(openai_api, "SLOWEST", 100.0)
    over = threading.Event()

    def reply(question: str, before: int) -> Reply:
        if question == "small":
            over.wait(60)
        return Reply(wait=1.5 if question == "large" else 0.0, body=good(question).body)

    script = Script(reply)
    asked = [_asked("large", max_tokens=6000), _asked("small"), _asked("quick")]
    found = _answer(script, *asked)
    over.set()
    assert {q: response(found[q]).text for q in ("large", "quick")} == {"large": "large", "quick": "quick"}
    given_up = failure(found["small"])
    assert given_up.reason == "timed out after 0.66 s (given up after 2 attempts)"
    assert given_up.final
    assert script.attempts() == {"large": 1, "small": 2, "quick": 1}


def test_an_endpoint_that_takes_requests_and_answers_nothing_is_said_to_do_so() -> None:
    script = Script(lambda question, before: Reply(wait=5.0))
    with (
        serving(script) as address,
        pytest.raises(UserError, match=rf"^{address} answers nothing \(timed out after 0.4 s\): is the server up"),
    ):
        _run(address, [_asked("a"), _asked("b")], timeout=0.2)


def test_a_dead_host_is_noticed_while_an_answer_is_waited_for() -> None:
    """Its system is asked whether it is there: silence alone is no sign where an answer takes an hour."""
    info = socket.getaddrinfo("127.0.0.1", 9, type=socket.SOCK_STREAM)[0]
    with _watched(info) as made:  # type: ignore[arg-type]
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert made.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == ALIVE["TCP_KEEPIDLE"]
    script = Script(lambda question, before: good())
    with serving(script) as address:
        engine: Any = make_engine("openai", "m", {"base_url": address})
        next(engine.generate([_asked("q")]))
        ((connection, _),) = next(iter(engine._wire._session.connector._conns.values()))
        used = connection.transport.get_extra_info("socket")
        assert used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        engine.close()


def test_no_quota_is_no_passing_trouble() -> None:
    body = json.dumps({"error": {"message": "You exceeded it", "code": "insufficient_quota"}}).encode()
    script = Script(lambda question, before: Reply(429, body) if question == "q" else good())
    assert "You exceeded it" in failure(_answer(script, _asked("ok"), _asked("q"))["q"]).reason
    assert script.attempts()["q"] == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_an_endpoint_that_does_not_serve_us_stops_the_run_at_once(status: int) -> None:
    script = Script(lambda question, before: error(status, "no such model or key"))
    with (
        serving(script) as address,
        pytest.raises(UserError, match=f"does not serve m: the endpoint answered {status}"),
    ):
        _run(address, [_asked(str(n)) for n in range(1000)], concurrency=4)
    assert len(script.seen) <= 8


def test_nobody_there_stops_the_run_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(UserError, match=f"nothing answers at {address}") as error:
        _run(address, (_asked(str(n)) for n in range(1000)))
    assert "\n" not in str(error.value)


def test_an_endpoint_that_goes_away_fails_the_rest_quickly_and_is_used_again_when_back() -> None:
    script = Script(lambda question, before: good(question))
    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address, "backoff": 0.01, "max_retries": 3, "concurrency": 4})
        outcomes = engine.generate(_asked(str(n)) for n in range(10))
        assert all(isinstance(outcome, Response) for outcome in outcomes)
    gone = list(engine.generate(_asked(str(n)) for n in range(10, 2010)))
    assert len({outcome.key.question_id for outcome in gone}) == len(gone) == 2000
    assert all(isinstance(outcome, Failure) for outcome in gone)
    assert "stopped answering: no connection" in failure(gone[-1]).reason
    engine._line._next_probe = 0.0  # type: ignore[attr-defined]  # the seconds until it looks again are over
    with serving(script, port=int(address.split(":")[2].split("/")[0])):
        assert response(next(engine.generate([_asked("back")]))).text == "back"
        assert all(isinstance(outcome, Response) for outcome in engine.generate([_asked("a"), _asked("b")]))
    engine.close()


def test_requests_are_taken_as_they_are_needed() -> None:
    """A long iterable of requests is never ahead of its answers by more than the window."""
    script = Script(lambda question, before: Reply(wait=0.05, body=good().body))
    taken, yielded, ahead = 0, 0, 0

    def requests() -> Iterator[Request]:
        nonlocal taken
        for n in range(60):
            taken += 1
            yield _asked(str(n))

    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address, "concurrency": 4})
        for _ in engine.generate(requests()):
            ahead = max(ahead, taken - yielded)
            yielded += 1
        engine.close()
    assert (taken, yielded) == (60, 60)
    assert ahead <= 8
    assert script.most_at_once == 4


def test_outcomes_come_as_they_finish() -> None:
    hold = threading.Event()

    def reply(question: str, before: int) -> Reply:
        if question == "slow":
            assert hold.wait(30)
        return good(question)

    with serving(Script(reply)) as address:
        engine = make_engine("openai", "m", {"base_url": address, "concurrency": 2})
        outcomes = engine.generate(_asked(question) for question in ("slow", "a", "b"))
        assert [response(next(outcomes)).text for _ in range(2)] == ["a", "b"]
        hold.set()
        assert response(next(outcomes)).text == "slow"
        engine.close()
        engine.close()


def test_a_caller_that_stops_listening_leaves_nothing_running() -> None:
    script = Script(lambda question, before: Reply(wait=0.2, body=json.dumps(completion()).encode()))
    with serving(script) as address:
        engine = make_engine("openai", "m", {"base_url": address, "concurrency": 2})
        outcomes = engine.generate(_asked(str(n)) for n in range(100))
        next(outcomes)
        outcomes.close()  # type: ignore[attr-defined]
        assert response(next(engine.generate([_asked("after")]))).text == "4"
        engine.close()
    assert len(script.seen) < 10
