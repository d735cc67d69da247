"""The batch engine against a loopback provider that misbehaves in every way, and killed at every step."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from livek12.core.errors import UserError
from livek12.core.records import Failure, Request, Response
from livek12.core.run.access import BATCHES
from livek12.engines import Outcome, make_engine
from livek12.engines.batch.ledger import Batch, Ledger, read_batches
from livek12.engines.batch.providers import Http, Lost, cancel
from tests.engines.batch_provider import Facts, Fault, providing, text_for
from tests.engines.helpers import VERDICT, ask, picture

BASE = {"openai": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}
KINDS = tuple(BASE)
QUICK = {"poll": 0.005, "settle": 0.03}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI", "ANTHROPIC", "GEMINI"):
        monkeypatch.setenv(f"{name}_API_KEY", "secret")


def built(kind: str, address: str, state: Path, **args: Any) -> Any:
    own = {"provider": kind, "base_url": address + BASE.get(kind, ""), "state": str(state), **QUICK, **args}
    return make_engine("batch", "m", own)


def questions(count: int = 10) -> list[Request]:
    return [ask(f"q{number}", f"what {number}") for number in range(count)]


def outcomes(engine: Any, requests: list[Request]) -> dict[str, Outcome]:
    every = list(engine.generate(requests))
    engine.close()
    by_question = {outcome.key.question_id: outcome for outcome in every}
    assert len(by_question) == len(every) == len(requests)
    return by_question


def once(*named: tuple[str, int, str]) -> Fault:
    faults = {(step, count): fault for step, count, fault in named}
    return lambda step, count: faults.get((step, count), "")


FAULTS = {
    "none": (),
    "upload refused": (("upload", 0, "refuse"), ("upload", 1, "429")),
    "upload broke": (("upload", 0, "500"), ("upload", 1, "cut")),
    "created without a reply": (("create", 0, "cut"),),
    "nothing created, no reply": (("create", 0, "refuse"), ("create", 2, "500")),
    "too many": (("create", 0, "429"), ("create", 1, "429")),
    "the list fails": (("create", 0, "cut"), ("list", 0, "500"), ("list", 1, "429"), ("list", 2, "refuse")),
    "looks fail": (("poll", 0, "500"), ("poll", 1, "429"), ("poll", 2, "cut")),
    "unknown at first": (("poll", 0, "404"), ("poll", 1, "404")),
    "results fail": (("results", 0, "500"), ("results", 1, "429"), ("results", 2, "refuse")),
    "results torn": (("results", 0, "torn"), ("results", 1, "partial"), ("results", 2, "double")),
    "results out of order": (("results", 0, "shuffle"), ("results", 1, "shuffle"), ("results", 2, "shuffle")),
    "expired": (("end", 0, "expired"), ("end", 1, "late")),
    "lines fail": (("line", 0, "500"), ("line", 3, "500")),
}


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_request_is_answered_and_paid_once(kind: str, faults: str, tmp_path: Path) -> None:
    facts = Facts(once(*FAULTS[faults]))
    with providing(facts) as address:
        engine = built(kind, address, tmp_path, most_requests=4)
        found = outcomes(engine, questions())
    assert all(isinstance(outcome, Response) for outcome in found.values())
    assert set(facts.paid.values()) == set(facts.inputs.values()) == {1}
    assert {response.text for response in found.values() if isinstance(response, Response)} == {
        text_for(line) for line in facts.bodies
    }
    left = {file.name for file in tmp_path.rglob("*") if file.is_file()} - {".lock"}
    assert left == {"batches-0.jsonl"}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_that_a_provider_counts_and_never_gives_are_not_bought_again_unasked(kind: str, tmp_path: Path) -> None:
    """A file that had some lines may be empty at the next look."""
    first = 2 if kind == "openai" else 1
    facts = Facts(lambda step, count: ("partial" if count < first else "empty") if step == "results" else "")
    with providing(facts) as address:
        found = outcomes(built(kind, address, tmp_path), questions())
    assert Counter(type(outcome) for outcome in found.values()) == {Response: 5, Failure: 5}
    assert set(facts.paid.values()) == {1} and len(facts.batches) == 1


def test_answers_that_a_provider_counts_and_gives_late_are_taken(tmp_path: Path) -> None:
    facts = Facts(lambda step, count: "partial" if step == "results" and count < 8 else "")
    with providing(facts) as address:
        found = outcomes(built("gemini", address, tmp_path), questions())
    assert Counter(type(outcome) for outcome in found.values()) == {Response: 10}
    assert set(facts.paid.values()) == {1} and len(facts.batches) == 1


def test_a_batch_that_was_seen_is_not_missed_at_once(tmp_path: Path) -> None:
    """The list lacks it first, then has it, and then its results cannot be read for a moment."""
    facts = Facts(once(("create", 0, "cut"), ("list", 1, "stale"), ("results", 0, "404")), looks=12)
    with providing(facts) as address:
        outcomes(built("anthropic", address, tmp_path, poll=0.05, settle=0.4), questions(3))
    assert len(facts.batches) == 1


def test_a_list_without_an_end_does_not_tell_that_a_batch_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("livek12.engines.batch.providers._MOST_PAGES", 1)
    facts = Facts(once(("create", 0, "cut")))
    with providing(facts) as address:
        engine = built("gemini", address, tmp_path, most_requests=1)
        with pytest.raises(UserError, match="does not answer"):
            list(engine.generate(questions(4)))
        engine.close()
    assert len(facts.batches) == 4


@pytest.mark.parametrize("leases", ["0", "1"])
def test_a_resumed_run_leaves_no_files_of_what_it_stored_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leases: str
) -> None:
    monkeypatch.setenv("LIVEK12_LEASES", leases)
    (tmp_path / "run.json").touch()
    with providing(Facts(looks=2)) as address:
        engine = built("openai", address, tmp_path / BATCHES, wait=0)
        with pytest.raises(UserError, match="wait in 1 batch"):
            list(engine.generate(questions(4)))
        engine.close()
        outcomes(built("openai", address, tmp_path / BATCHES), questions(1))
    assert [batch.state for batch in read_batches(tmp_path)] == ["done"]


def test_a_ledger_of_several_runs_keeps_the_answers_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judges without a run's folder share one; two runs may ask the same."""
    monkeypatch.setenv("LIVEK12_CACHE", str(tmp_path))
    facts = Facts(looks=2)
    with providing(facts) as address:
        args = {"base_url": f"{address}/v1", **QUICK}
        engine = make_engine("batch", "m", {**args, "wait": 0})
        with pytest.raises(UserError, match="wait in 1 batch"):
            list(engine.generate(questions(4)))
        engine.close()
        for asked in (questions(1), questions(4)[1:]):
            outcomes(make_engine("batch", "m", args), asked)
    assert set(facts.paid.values()) == {1} and len(facts.batches) == 1
    assert [path.name for path in tmp_path.rglob("*.ids")] == []


def test_a_failure_that_was_taken_is_asked_again_also_beside_what_others_want(tmp_path: Path) -> None:
    facts = Facts(looks=2)
    with providing(facts) as address:
        engine = built("openai", address, tmp_path, wait=0)
        with pytest.raises(UserError):
            list(engine.generate(questions(4)))
        engine.close()
        facts.batches.clear()
        first, second = (outcomes(built("openai", address, tmp_path), questions(1))["q0"] for _ in range(2))
    assert isinstance(first, Failure) and isinstance(second, Response)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_thinking_and_errors_are_read(kind: str, tmp_path: Path) -> None:
    facts = Facts(once(("line", 0, "400")))
    with providing(facts) as address:
        found = outcomes(built(kind, address, tmp_path), questions(3))
    failed, answered = found["q0"], found["q1"]
    assert isinstance(failed, Failure) and failed.final and "no: 400" in failed.reason
    assert isinstance(answered, Response)
    assert (answered.reasoning, answered.finish_reason) == ("hm", "stop")
    assert (answered.prompt_tokens, answered.completion_tokens, answered.seconds) == (10, 4, None)
    assert (answered.engine, answered.model, answered.prompt_sha256) == ("batch", "m", questions()[1].prompt_sha256)


@pytest.mark.parametrize("kind", KINDS)
def test_requests_carry_everything(kind: str, tmp_path: Path) -> None:
    sampling: Any = {"temperature": 0.5, "top_p": 0.9, "top_k": 5, "seed": 40, "stop": ["#"], "thinking_budget": 6}
    request = ask("q", "what?", (picture("red"),), system="Be brief.", trial=2, schema=VERDICT, **sampling)
    facts = Facts()
    with providing(facts) as address:
        outcomes(built(kind, address, tmp_path, extra_body='{"x": 1}', omit='["top_p"]'), [request])
    (line,) = facts.bodies
    body = line.get("body") or line.get("params") or line["request"]
    text = json.dumps(body)
    config = body.get("generationConfig", body)
    assert config["temperature"] == 0.5 and body["x"] == 1
    assert "Be brief." in text and "what?" in text and "image/png" in text and "iVBOR" in text
    expected = {
        "openai": {"max_tokens": 8, "top_k": 5, "seed": 42, "stop": ["#"], "thinking_token_budget": 6},
        "anthropic": {"max_tokens": 8, "top_k": 5, "stop_sequences": ["#"], "system": "Be brief."},
        "gemini": {"maxOutputTokens": 8, "topK": 5, "seed": 42, "stopSequences": ["#"], "responseJsonSchema": VERDICT},
    }[kind]
    assert {name: config.get(name) for name in expected} == expected
    if kind != "gemini":
        assert "top_p" not in config
    if kind == "anthropic":
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 6}


# ---------------------------------------------------------------- killed


def stored(log: Path) -> Counter[str]:
    return Counter(log.read_text().splitlines() if log.exists() else ())


def run_once(kind: str, address: str, folder: Path, dies_at: int | None) -> int:
    """A process that asks what is not stored yet; it dies at a moment. Returns its exit code."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        moments = 0

        def moment() -> None:
            nonlocal moments
            moments += 1
            if moments == dies_at:
                os._exit(9)

        put, opened = Ledger.put, Http.open

        def noted(self: Ledger, batch: Batch, **changes: Any) -> Batch:
            moment()
            value = put(self, batch, **changes)
            moment()
            return value

        @contextmanager
        def sent(self: Http, *args: Any, **rest: Any) -> Iterator[Any]:
            moment()
            with opened(self, *args, **rest) as reply:
                moment()
                yield reply

        Ledger.put, Http.open = noted, sent  # type: ignore[method-assign]
        log = folder / "stored"
        engine = built(kind, address, folder / "state", most_requests=3)
        done = stored(log)
        for outcome in engine.generate([each for each in questions(7) if each.key.question_id not in done]):
            moment()
            if isinstance(outcome, Response):
                with log.open("a") as lines:
                    lines.write(f"{outcome.key.question_id}\n")
        engine.close()
        code = 0
    finally:
        os._exit(code)


@pytest.mark.parametrize(
    ("kind", "every"),
    [
        *((kind, 19) for kind in KINDS),
        *(pytest.param(kind, 1, marks=pytest.mark.release) for kind in KINDS),
    ],
)
def test_a_kill_at_any_step_loses_nothing_and_pays_nothing_twice(kind: str, every: int, tmp_path: Path) -> None:
    """At every step before a release, else at some."""
    moment, code = every // 2 + 1 - every, 9
    while code == 9:
        moment += every
        folder = tmp_path / str(moment)
        folder.mkdir()
        facts = Facts(once(("end", 0, "expired")))
        with providing(facts) as address:
            code = run_once(kind, address, folder, moment)
            if code == 9:
                assert run_once(kind, address, folder, None) == 0
        assert stored(folder / "stored") == Counter(f"q{number}" for number in range(7)), moment
        assert set(facts.paid.values()) == set(facts.inputs.values()) == {1}, moment
    assert moment > 80 and code == 0


# ---------------------------------------------------------------- other ends


def test_a_command_may_end_before_the_answers_and_fetch_them_later(tmp_path: Path) -> None:
    facts = Facts(looks=3)
    with providing(facts) as address:
        for _ in range(2):
            engine = built("openai", address, tmp_path, wait=0)
            with pytest.raises(UserError, match=r"10 requests wait in 1 batch,.*run the same command again"):
                list(engine.generate(questions()))
            engine.close()
            (half := next(tmp_path.iterdir()) / f".{'a' * 32}.answers.jsonl.{'b' * 32}").write_text("{")  # by a kill
        found = outcomes(built("openai", address, tmp_path, wait=0), questions())
    assert not half.exists()
    assert len(found) == 10 and len(facts.batches) == 1


def test_results_that_are_gone_fail_and_are_not_bought_again_unasked(tmp_path: Path) -> None:
    facts = Facts(looks=2)
    with providing(facts) as address:
        engine = built("openai", address, tmp_path, wait=0)
        with pytest.raises(UserError):
            list(engine.generate(questions(2)))
        engine.close()
        gone = facts.batches.popitem()
        found = outcomes(built("openai", address, tmp_path), questions(2))
        assert all("gone" in outcome.reason for outcome in found.values() if isinstance(outcome, Failure))
        assert not facts.batches and gone
        again = outcomes(built("openai", address, tmp_path), questions(2))
    assert all(isinstance(outcome, Response) for outcome in again.values())


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_cancelled_fails_and_keeps_its_answers(kind: str, tmp_path: Path) -> None:
    tmp_path /= BATCHES
    facts = Facts(looks=99)
    with providing(facts) as address:
        engine = built(kind, address, tmp_path, wait=0)
        with pytest.raises(UserError):
            list(engine.generate(questions(4)))
        engine.close()
        assert cancel(read_batches(tmp_path.parent), None) == 1
        found = outcomes(built(kind, address, tmp_path), questions(4))
    assert Counter(type(outcome) for outcome in found.values()) == {Response: 2, Failure: 2}
    assert not any(outcome.final for outcome in found.values() if isinstance(outcome, Failure))
    assert set(facts.paid.values()) == {1}


def test_two_commands_do_not_share_a_ledger(tmp_path: Path) -> None:
    with providing(Facts(looks=99)) as address:
        first = built("openai", address, tmp_path, wait=0)
        with pytest.raises(UserError, match="wait in 1 batch"):
            list(first.generate(questions(1)))
        with pytest.raises(UserError, match="another command writes it"):
            list(built("openai", address, tmp_path).generate(questions(1)))
        first.close()


def test_a_name_that_no_address_may_have_is_no_traceback() -> None:
    with providing(Facts()) as address, pytest.raises(Lost, match="broke"):
        Http(address, {}).call("GET", "v1/batches/\u00e9\u4e00")


def test_files_for_vllm(tmp_path: Path) -> None:
    def command() -> str:
        engine = built("vllm", "", tmp_path)
        with pytest.raises(UserError, match="vllm run-batch -i") as told:
            list(engine.generate(questions(3)))
        engine.close()
        return str(told.value)

    words = command().partition("run vllm run-batch ")[2].split()
    source, target = Path(words[1]), Path(words[3])
    lines = [json.loads(line) for line in source.read_text().splitlines()]
    message = {"role": "assistant", "content": "4"}
    choice = {"message": message, "finish_reason": "stop"}
    good = [
        json.dumps({"custom_id": line["custom_id"], "response": {"status_code": 200, "body": {"choices": [choice]}}})
        for line in lines
    ]
    target.write_text("\n".join(good)[: len(good[0]) + 20])  # vLLM was killed while it wrote
    assert "vllm run-batch" in command()
    assert source.exists()
    target.write_text("\n".join(good) + "\n")
    found = outcomes(built("vllm", "", tmp_path), questions(3))
    assert all(isinstance(outcome, Response) and outcome.text == "4" for outcome in found.values())


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"base_url": ""}, "needs an address"),
        ({"provider": "mistral"}, "choose one of openai, anthropic, gemini, vllm"),
        ({"price": '{"prompt": 1}'}, "price needs prompt and completion"),
        ({"base_url": "http://user:secret@127.0.0.1/v1"}, "without a password"),
        ({"key_file": "/nowhere"}, "no key can be read"),
        ({"most_requests": 0}, "numbers from 1"),
        ({"api_key": "sk-1"}, "takes no argument api_key"),
    ],
)
def test_wrong_arguments_are_told_at_once(args: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as told:
        make_engine("batch", "m", {"base_url": "http://127.0.0.1:1/v1", **args})
    assert "secret" not in str(told.value) and "sk-1" not in str(told.value)


def test_a_key_comes_from_the_environment_or_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    args = {"provider": "anthropic", "base_url": "http://127.0.0.1:1/v1"}
    with pytest.raises(UserError, match="set ANTHROPIC_API_KEY"):
        make_engine("batch", "m", args)
    file = tmp_path / "key"
    file.write_text("sk-1\n")
    file.chmod(0o644)
    with pytest.raises(UserError, match="chmod 600"):
        make_engine("batch", "m", {**args, "key_file": str(file)})
    file.chmod(0o600)
    make_engine("batch", "m", {**args, "key_file": str(file)}).close()


def test_a_provider_that_refuses_for_good_ends_the_command(tmp_path: Path) -> None:
    with providing(Facts(once(("create", 0, "401")))) as address:
        engine = built("openai", address, tmp_path)
        with pytest.raises(UserError, match="does not serve m by batches: the provider answered 401: fault 401"):
            list(engine.generate(questions(1)))
        engine.close()
        assert len(outcomes(built("openai", address, tmp_path), questions(1))) == 1
