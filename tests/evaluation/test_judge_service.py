"""`livek12 serve-judge` as a process of its own: its verdicts, many at once, and what it refuses."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import aiohttp
import pytest

from tests.conftest import ROOT
from tests.engines.scripted_server import serving as serving_model
from tests.judges.llm.judge_server import replying
from tests.scripts.command import COMMAND
from tests.test_docs import fences, printed

pytest.importorskip("fastapi", reason="the serve extra is not installed")
from livek12 import UserError, Verifier
from livek12.core.serving import Idlers, bounded
from livek12.evaluation.judge_service import (
    DEEPEST,
    LARGEST_BODY,
    MOST_IN_BODY,
    MOST_ROWS,
    MOST_VALUES,
    Gate,
    Health,
    PairRow,
    Turns,
)
from livek12.evaluation.workers import FIELDS

JSON = {"Content-Type": "application/json"}
ROWS: list[dict[str, Any]] = [
    {"gold": "1/2", "response": r"So \boxed{0.5}."},
    {"gold": "1/2", "response": r"\boxed{0.6}"},
    {"gold": "x^2-1", "response": r"\boxed{(x-1)(x+1)}"},
    {"gold": "B", "response": "故选B。", "question_type": "单选题", "options": {"A": "甲", "B": "乙"}},
    {"gold": ["1", "2"], "response": r"\boxed{1}, \boxed{3}", "question_type": "fill_in_blank"},
    {"gold": "5 m", "response": "\\boxed{500\\text{ cm}}"},
    {"gold": 12, "response": "words, and nothing else"},
    {"gold": "7", "response": ""},
    # keys of each type of JSON, as they are printed
    {"gold": 25, "response": "25.04"},
    {"gold": 25, "response": "25.0"},
    {"gold": 2.5, "response": "2.50"},
    {"gold": 3, "response": "3.04"},
    {"gold": 9007199254740993, "response": "9007199254740992"},
    {"gold": 10**400, "response": "1" + "0" * 400},
    {"gold": True, "response": "1"},
    {"gold": True, "response": "true"},
    {"gold": False, "response": "0"},
    {"gold": [1, True, "x", 0.5], "response": r"\boxed{1}, \boxed{true}, \boxed{x}, \boxed{1/2}"},
    # the fields of judge-pairs, and null as none
    {"id": 7, "question_type": "单选题", "gold": "B", "response": "… 故选B。"},
    {"id": "", "gold": "1", "response": "1", **dict.fromkeys(FIELDS[2:])},
    {"gold": "5", "response": "5 m", "part_units": ["m"], "subject": "physics", "finish_reason": "length"},
    {"gold": "5", "response": "5", "images": ["data:image/png;base64,AAAA", {"bytes": "AAAA"}], "language": "en"},
    {"response": "So $m a = F$.", "scheme": [[{"points": 2, "text": "the law", "expression": "F = m a"}]]},
]
HOSTILE: list[dict[str, Any]] = [
    {"gold": "7", "response": "\ud800\ud800 \\boxed{7}"},
    {"gold": "1", "response": "9^{9^{9^{9^{9^{9}}}}}"},
    {"gold": "1", "response": "\\boxed{" * 20_000},
    {"gold": "1", "response": "\\frac{" * 20_000 + "1"},
    {"gold": "x", "response": "\x00\x1b[2J" + "(" * 50_000},
    {"gold": "1", "response": "__import__('os').system('true')"},
]
UNREADABLE: list[Any] = [
    {"gold": "1"},
    {"response": "1"},
    {"gold": "1", "response": 1},
    {"gold": {"a": 1}, "response": "1"},
    {"gold": None, "response": "1"},
    {"gold": "1", "response": "1", "images": ["/etc/passwd"]},
    {"gold": "1", "response": "1", "language": "xx"},
    {"gold": "1", "response": "1", "options": 3},
    None,
    [],
    "row",
]


@dataclass(frozen=True)
class Served:
    """A running server."""

    process: subprocess.Popen[str]
    port: int
    judge: str

    def ask(
        self, path: str, body: bytes | None = None, headers: dict[str, str] | None = None, method: str = ""
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request(
                method or ("GET" if body is None else "POST"), path, body, JSON if headers is None else headers
            )
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def post(self, path: str, said: Any) -> tuple[int, Any]:
        return self.ask(path, json.dumps(said).encode())


@contextmanager
def serving(*words: str, codes: tuple[int, ...] = (0,)) -> Iterator[Served]:
    command = [*COMMAND, "serve-judge", "--port", "0", "--json", "--workers", "2", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            said = json.loads(process.stdout.readline())
            yield Served(process, int(said["url"].rpartition(":")[2]), said["judge"])
        finally:
            process.terminate()
        _, told = process.communicate(timeout=60)
        assert process.returncode in codes and told == "", "it ends well, and nothing of any request is logged"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as made:
        yield made


@pytest.fixture(scope="module")
def verdicts() -> list[dict[str, Any]]:
    with Verifier(workers=2) as verifier:
        rows = [*ROWS, *HOSTILE, *UNREADABLE]
        return [asdict(judgement) for judgement in asyncio.run(verifier.abatch(rows, quiet=True))]


def test_each_row_gets_the_verdict_of_verify(served: Served, verdicts: list[dict[str, Any]]) -> None:
    assert [served.post("/verify", row) for row in ROWS] == [(200, verdict) for verdict in verdicts[: len(ROWS)]]
    assert {verdict["decision"] for verdict in verdicts} == {"accept", "reject", "undecided"}


def test_commas_in_a_text_are_no_values(served: Served) -> None:
    row = {"gold": "1", "question": '\\"," ' * MOST_IN_BODY, "response": "1"}
    assert served.post("/verify", row)[1]["decision"] == "accept"


def test_a_batch_keeps_its_order_and_survives_hostile_rows(served: Served, verdicts: list[dict[str, Any]]) -> None:
    status, said = served.post("/verify/batch", {"rows": [*ROWS, *HOSTILE, *UNREADABLE]})
    assert (status, said["judgements"]) == (200, verdicts)
    assert served.post("/verify/batch", {"rows": []}) == (200, {"judgements": []})


def test_many_ask_at_once(served: Served, verdicts: list[dict[str, Any]]) -> None:
    async def all_at_once() -> list[Any]:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{served.port}") as session:

            async def ask(number: int) -> Any:
                async with session.post("/verify", json=ROWS[number % len(ROWS)]) as answer:
                    return await answer.json()

            return await asyncio.gather(*map(ask, range(64)))

    assert asyncio.run(all_at_once()) == [verdicts[number % len(ROWS)] for number in range(64)]


def test_the_snippet_of_the_page_works(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = fences(ROOT / "docs" / "verify.md", "python", "Over HTTP")
    exec(compile(snippet.replace(":7870/", f":{served.port}/"), "verify.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == printed([snippet])


def test_health_names_the_judge(served: Served, verdicts: list[dict[str, Any]]) -> None:
    assert served.ask("/health") == (200, {"judge": served.judge, "models": [], "workers": 2, "waiting": 0})
    assert served.judge == verdicts[0]["judge"]


def test_what_can_be_asked_is_described(served: Served) -> None:
    _, told = served.ask("/openapi.json")
    assert set(told["paths"]) == {"/verify", "/verify/batch", "/health"}
    assert set(told["components"]["schemas"]["PairRow"]["properties"]) == {"id", *FIELDS} == set(PairRow.model_fields)
    for path, model in {"/verify": "PairRow", "/verify/batch": "PairRows"}.items():
        body = told["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body == {"$ref": f"#/components/schemas/{model}"}
    assert set(told["components"]["schemas"]["Judgement"]["properties"]) >= {"decision", "score", "reason"}


def deep(lists: int) -> list[Any]:
    made: list[Any] = []
    for _ in range(lists):
        made = [made]
    return made


@pytest.mark.parametrize(
    ("path", "said", "status", "why"),
    [
        ("/verify", b"{", 422, "the body is no JSON"),
        ("/verify", b"\xff\xfe", 422, "the body is no JSON"),
        ("/verify", json.dumps(ROWS[0]).encode("utf-16"), 422, "the body is no JSON in UTF-8"),
        ("/verify", b"[" * 100_000, 400, ""),
        ("/verify", b"1" * 9_000, 400, ""),
        ("/verify", b"", 422, "the body is empty"),
        ("/verify", {"gold": "1"}, 422, "has no response (a text)"),
        ("/verify", {"response": "1"}, 422, "has no gold"),
        ("/verify", {"gold": "1", "response": 1}, 422, "has no response (a text)"),
        ("/verify", {"gold": {"a": 1}, "response": "1"}, 422, "has no gold (a text, a number, or a list of them)"),
        ("/verify", [ROWS[0]], 422, "is no JSON object"),
        ("/verify", {"gold": "1", "response": "1", "answr": "1"}, 422, "answr: there is no such field"),
        ("/verify", {"gold": "1", "response": "1", "images": ["/etc/passwd"]}, 422, "is no file beside the input"),
        ("/verify", {"gold": "1", "response": "1", "language": "xx"}, 422, "language 'xx' is none of"),
        ("/verify", {"gold": [1] * MOST_VALUES, "response": "1"}, 422, f"a row has {MOST_VALUES} values at most"),
        ("/verify", {"gold": [{}] * 200_000, "response": "1"}, 422, f"a row has {MOST_VALUES} values at most"),
        ("/verify", dict.fromkeys(map(str, range(4_000)), 1), 422, "0: there is no such field"),
        ("/verify", {"gold": "1", "response": "1", "variables": deep(DEEPEST + 1)}, 422, f"more than {DEEPEST} lists"),
        ("/verify", {"response": "1", "gold": [0] * (MOST_IN_BODY + 1)}, 413, f"{MOST_IN_BODY} values at most"),
        ("/verify", b'["",' + b'"",' * 2**21, 413, f"{MOST_IN_BODY} values at most"),
        ("/verify", b'{"a": "' + b'\\"' * 2**20 + b"," * (MOST_IN_BODY + 1), 422, "the body is no JSON"),
        ("/verify/batch", {"rows": [ROWS[0], {**ROWS[0], "answr": 1}]}, 422, "rows.1.answr: there is no such field"),
        ("/verify/batch", {"rows": [ROWS[0]] * (MOST_ROWS + 1)}, 422, f"rows: {MOST_ROWS + 1} of them"),
        ("/verify/batch", {"rows": [], "workers": 3}, 422, "a batch is an object with nothing but a list of rows"),
        ("/verify/batch", ROWS, 422, "a batch is an object with nothing but a list of rows"),
        ("/verify", b" " * (LARGEST_BODY + 1), 413, f"a body has {LARGEST_BODY} bytes at most"),
        ("/nothing", {}, 404, "Not Found"),
    ],
)
def test_what_is_refused_says_why_in_one_line(served: Served, path: str, said: Any, status: int, why: str) -> None:
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    got, told = served.ask(path, body)
    assert got == status, told
    assert set(told) == {"error"} and why in told["error"]
    assert told["error"] and "\n" not in told["error"] and len(told["error"]) <= 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({**JSON, "Host": "attacker.example"}, 421),
        ({**JSON, "Content-Length": str(10**12)}, 413),
    ],
)
def test_whose_request_passes(served: Served, headers: dict[str, str], status: int) -> None:
    assert served.ask("/verify", b"{}", headers)[0] == status


def test_a_body_without_a_length_is_bounded_too(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=120)
    pieces = (b" " * 2**20 for _ in range(LARGEST_BODY // 2**20 + 1))
    connection.request("POST", "/verify", pieces, JSON, encode_chunked=True)
    assert connection.getresponse().status == 413
    connection.close()
    assert served.post("/verify", ROWS[0])[0] == 200


def test_a_model_is_asked_what_the_rules_leave_open() -> None:
    with (
        serving_model(replying()) as address,
        serving("--judge", f"a/judge@openai:base_url={address},api_key=s3") as made,
    ):
        assert made.ask("/health")[1]["models"] == ["a/judge"]
        judged = [made.post("/verify", row)[1] for row in (ROWS[0], ROWS[6])]
    assert [one["decided_by"] for one in judged] == ["number", "llm"]


def test_it_ends_with_what_is_in_hand_however_often_it_is_told() -> None:
    # A signal that meets the interpreter's own end finds no handler any more.
    with serving("--undecided", "0.25", codes=(0, -signal.SIGTERM)) as made:
        assert made.post("/verify", ROWS[6])[1]["score"] == 0.25
        body = json.dumps({"rows": [ROWS[6]]}).encode()
        with socket.create_connection(("127.0.0.1", made.port), timeout=120) as line:
            head = "POST /verify/batch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            line.sendall(f"{head}Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode())
            assert line.recv(100).startswith(b"HTTP/1.1 100"), "the request is in hand"
            made.process.send_signal(signal.SIGINT)
            line.sendall(body)
            answer = http.client.HTTPResponse(line)
            answer.begin()
            assert answer.status == 200 and json.loads(answer.read())["judgements"][0]["score"] == 0.25
        while made.process.poll() is None:
            made.process.terminate()
            time.sleep(0.001)


def test_what_is_in_hand_is_bounded_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livek12.evaluation.judge_service.IN_HAND", 100)
    held: list[bytes] = []
    told: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        held.append((await receive())["body"])
        if len(held) == 1:  # while this one is in hand, another comes
            await gate(scope, pieces(80), sending)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    def pieces(size: int) -> Any:
        left = iter([b"x" * (size // 2), b"x" * (size - size // 2)])

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": next(left), "more_body": left.__length_hint__() > 0}

        return receive

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    gate = Gate(app, "127.0.0.1")
    headers = [(b"host", b"127.0.0.1:7870"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "headers": headers}
    for _ in range(2):
        asyncio.run(gate(scope, pieces(80), sending))
    assert told == [503, 200, 200]
    assert held == [b"x" * 80] * 2


def test_a_body_that_does_not_come_is_waited_for_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livek12.evaluation.judge_service.BODY_SECONDS", 0.05)
    monkeypatch.setattr("livek12.evaluation.judge_service.IN_HAND", 100)
    told: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    def begins(more: bool) -> Any:
        left = [b"x" * 80]

        async def receive() -> dict[str, Any]:
            if left:
                return {"type": "http.request", "body": left.pop(), "more_body": more}
            return await asyncio.Future()

        return receive

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append(message["status"])

    gate = Gate(app, "127.0.0.1")
    headers = [(b"host", b"127.0.0.1:7870"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "headers": headers}
    for more in (True, True, False):
        asyncio.run(gate(scope, begins(more), sending))
    assert told == [408, 408, 200], "and what was in hand is given back"


def posted(declared: int) -> dict[str, Any]:
    headers = [(b"host", b"127.0.0.1:7870"), (b"content-type", b"application/json")]
    return {"type": "http", "method": "POST", "headers": [*headers, (b"content-length", str(declared).encode())]}


def test_a_declared_body_has_its_room_before_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thirty that come at once, those that fit are read to their end."""
    monkeypatch.setattr("livek12.evaluation.judge_service.IN_HAND", 100)
    told: list[tuple[int, bool]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append((message["status"], b"retry-after" in dict(message["headers"])))

    async def body() -> Any:
        left = [b"x" * 10] * 3

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(0)
            return {"type": "http.request", "body": left.pop(), "more_body": bool(left)} if left else await forever()

        return receive

    async def forever() -> Any:
        return await asyncio.Future()

    async def all_at_once() -> None:
        gate = Gate(app, "127.0.0.1")
        await asyncio.gather(*[gate(posted(30), await body(), sending) for _ in range(30)])
        await gate(posted(30), await body(), sending)

    asyncio.run(all_at_once())
    assert sorted(told) == [(200, False)] * 4 + [(503, True)] * 27


def test_the_work_for_a_client_that_has_gone_is_cancelled() -> None:
    told: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        try:
            await asyncio.Future()
        except asyncio.CancelledError:
            told.append("cancelled")
            raise

    messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.01)
        return messages.pop()

    asyncio.run(asyncio.wait_for(Gate(app, "127.0.0.1")(posted(2), receive, receive), 5))
    assert told == ["cancelled"]


class Slow:
    """A verifier whose rows take a while; notes the rows of each slice."""

    def __init__(self) -> None:
        self.slices: list[list[str]] = []

    async def abatch(self, rows: list[str], quiet: bool, spent: Any) -> list[str]:
        self.slices.append(rows)
        await asyncio.sleep(0.12)
        for _ in rows:
            spent(1.0)
        return rows


def slow_turns(verifier: Any, quick: Any) -> Turns:
    return Turns(verifier, quick, Health(judge="rules", models=[], workers=2))


def test_a_request_has_so_many_seconds_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("livek12.evaluation.judge_service.REQUEST_SECONDS", 3)
    turns = slow_turns(Slow(), Slow())
    assert len(asyncio.run(turns.judge(["a", "b", "c", "d", "e"]))) == 5, "one slice more ends it"
    with pytest.raises(UserError, match=r"^5 of 6 rows took 3 s of workers: send fewer$"):
        asyncio.run(turns.judge(["a"] * 6))
    assert asyncio.run(turns.judge(["a"])) == ["a"], "and the next request has its own"


def test_small_requests_overtake_large_ones() -> None:
    verifier = Slow()
    turns = slow_turns(verifier, None)

    async def ask() -> None:
        batches = [asyncio.ensure_future(turns.judge([f"{name}{n}" for n in range(9)])) for name in "abcd"]
        await asyncio.sleep(0.2)
        assert turns.waiting == 2
        gone = asyncio.ensure_future(turns.judge(["gone"]))
        await asyncio.sleep(0)
        gone.cancel()
        assert await turns.judge(["small"]) == ["small"]
        assert sum(map(len, verifier.slices)) <= 2 * 2 * 3, "of 36 rows"
        assert [len(judged) for judged in await asyncio.gather(*batches)] == [9] * 4
        assert [len(judged) for judged in await asyncio.gather(*(turns.judge(["x"]) for _ in range(5)))] == [1] * 5

    asyncio.run(ask())
    assert ["gone"] not in verifier.slices
    assert max(map(len, verifier.slices)) == 2, "slices of rows that take long stay short"
    assert turns.waiting == 0


def test_connections_on_which_nothing_is_asked_are_closed() -> None:
    uvicorn = pytest.importorskip("uvicorn")
    asked = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asked.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def run() -> tuple[bytes, bytes]:
        server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_level="error", ws="none"))
        connections = server.server_state.connections
        idlers = Idlers(connections)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving_all = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            lines = [await asyncio.open_connection(*listening.getsockname()) for _ in range(2)]
            lines[0][1].write(b"GET / HTTP/1.1\r\nHost: a\r\n")  # and no more
            lines[1][1].write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            while len(connections) < 2 or not any(one.cycle for one in connections):
                await asyncio.sleep(0.01)
            await idlers.close()
            assert len(connections) == 2, "each may be about to ask"
            await idlers.close()
            nothing = await lines[0][0].read()
            asked.set()
            answer = await lines[1][0].readline()
            for _, line in lines:
                line.close()
            server.should_exit = True
            await serving_all
        return nothing, answer

    assert asyncio.run(run()) == (b"", b"HTTP/1.1 204 No Content\r\n")


def test_so_many_connections_are_open_at_once() -> None:
    uvicorn = pytest.importorskip("uvicorn")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def run() -> int:
        config = uvicorn.Config(app, lifespan="off", log_level="error", ws="none")
        config.load()
        config.http_protocol_class = bounded(config.http_protocol_class, 4)
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serving_all = asyncio.create_task(server.serve(sockets=[listening]))
            while not server.started:
                await asyncio.sleep(0.01)
            silent = [await asyncio.open_connection(*listening.getsockname()) for _ in range(12)]
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert b"204" in await reader.readline(), "who asks is answered, however many are silent"
            most = len(server.server_state.connections)
            for _, line in [*silent, (reader, writer)]:
                line.close()
            server.should_exit = True
            await serving_all
        return most

    assert asyncio.run(run()) <= 4
