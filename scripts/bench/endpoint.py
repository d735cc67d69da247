"""Measures what `livek12 generate` costs over a served endpoint that answers at once: requests, memory, linearity.

The endpoint runs on loopback in a process of its own and is as light as it can be: one constant chat completion with
usage over kept-alive connections. Each line of the table is a process of its own against it:

- livek12: the whole command `livek12 generate` on a new run folder (claims, journals, versions, progress), for every
  number in `--requests`; the questions are texts of the sample that ships inside, repeated under other ids, and
  trials make up the number.
- sockets: bare asyncio streams that send one prepared request over and over, and read its answer as JSON.
- aiohttp, openai: the same through these clients, where they are installed, with the same concurrency.

Requests a second are counted by the endpoint, from the first request to the last, so that start-up is left out;
the whole wall time stands beside it. Processor time a request is that of the process less that of the same process
with one request. Peak memory is what the kernel says of the process when it has ended.

Run it with the Python that livek12 is installed in: `python scripts/bench/endpoint.py --requests 1000,10000,100000`.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

TASK = "livek12_text_only"
MODEL = "fake"
CARD = """---
configs:
- config_name: text_only
  data_files:
  - split: en
    path: ["text_only/en-*.parquet"]
---
"""
ANSWER = json.dumps(
    {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "So \\boxed{B}."}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
    }
).encode()
REPLY = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER) + ANSWER
BOUNDS = ("sockets", "aiohttp", "openai")


@dataclass(frozen=True)
class EndpointFigures:
    """What one process did.

    Attributes:
        who: livek12 or the name of a bound.
        requests: answered by the endpoint.
        rate: requests a second, from the first to the last.
        seconds: the whole process.
        micros: processor microseconds a request, start-up left out.
        mib: peak memory.
    """

    who: str
    requests: int
    rate: float
    seconds: float
    micros: float
    mib: float


def main() -> None:
    """Prints a line a process, and the ratios."""
    options = _options()
    if options.serve:
        asyncio.run(serve())
    elif options.make:
        make_data(options.make, options.questions)
    elif options.client:
        who, address, requests = options.client
        asyncio.run(_CLIENTS[who](address, int(requests), options.concurrency))
    else:
        report(list(measure(options)), options.json)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--requests", default="1000,10000", help="numbers of requests, comma-separated")
    parser.add_argument("--questions", type=int, default=200, help="distinct questions; trials make up the rest")
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--bound-requests", type=int, default=5000, help="requests of each bare client at most")
    parser.add_argument("--json", action="store_true", help="the figures as JSON")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()), help="where run folders go")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--client", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def report(found: list[EndpointFigures], as_json: bool) -> None:
    """Prints the figures and their ratios."""
    ours = [figures for figures in found if figures.who == "livek12"]
    ratios = {f"livek12 rate / {f.who} rate": round(ours[-1].rate / f.rate, 3) for f in found if f.who != "livek12"}
    ratios |= {
        f"seconds a request, {more.requests} / {ours[0].requests}": round(ours[0].rate / more.rate, 3)
        for more in ours[1:]
    }
    ratios |= {
        f"processor time a request, {more.requests} / {ours[0].requests}": round(more.micros / ours[0].micros, 3)
        for more in ours[1:]
    }
    ratios |= {
        f"peak memory, {more.requests} / {ours[0].requests}": round(more.mib / ours[0].mib, 3) for more in ours[1:]
    }
    if as_json:
        print(json.dumps({"figures": [asdict(figures) for figures in found], "ratios": ratios}, indent=1))
        return
    print(f"{'':10}{'requests':>10}{'a second':>10}{'wall s':>9}{'cpu µs a request':>18}{'peak MiB':>10}")
    for f in found:
        print(f"{f.who:10}{f.requests:10}{f.rate:10.0f}{f.seconds:9.2f}{f.micros:18.0f}{f.mib:10.0f}")
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.3f}")


def measure(options: argparse.Namespace) -> Iterator[EndpointFigures]:
    """Runs every process against one endpoint."""
    me = [sys.executable, str(Path(__file__).resolve())]
    with (
        tempfile.TemporaryDirectory(prefix="bench_endpoint.", dir=options.work) as work,
        subprocess.Popen([*me, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdin is not None and server.stdout is not None
        address = server.stdout.readline().strip()
        wanted = [int(number) for number in options.requests.split(",")]
        questions = min(options.questions, *wanted)
        # In a process of its own: the kernel counts the memory of a child from the fork on.
        data = f"{work}/data"
        subprocess.run([*me, "--make", data, "--questions", str(questions)], check=True)

        def ours(requests: int) -> list[str]:
            given: dict[str, object] = {"--task": TASK, "--model": MODEL, "--engine": "openai", "--data": data}
            given |= {"--engine-args": f"base_url={address},concurrency={options.concurrency}"}
            given |= {"--out": f"{work}/run-{requests}", "--trials": max(1, requests // questions)}
            given |= {"--limit": 1} if requests == 1 else {}
            flat = [str(word) for pair in given.items() for word in pair]
            return [sys.executable, "-m", "livek12.scripts.cli", "generate", *flat]

        def bound(who: str, requests: int) -> list[str]:
            return [*me, "--concurrency", str(options.concurrency), "--client", who, address, str(requests)]

        try:
            least = {"livek12": run(ours(1), server).micros}
            for number in wanted:
                yield _named("livek12", run(ours(number), server), least["livek12"])
            for who in BOUNDS:
                if who == "sockets" or importlib.util.find_spec(who):
                    alone = run(bound(who, 1), server).micros
                    yield _named(who, run(bound(who, min(max(wanted), options.bound_requests)), server), alone)
        finally:
            server.stdin.close()


def _named(who: str, figures: EndpointFigures, start: float) -> EndpointFigures:
    each = (figures.micros * figures.requests - start) / max(1, figures.requests - 1)
    return EndpointFigures(who, figures.requests, figures.rate, figures.seconds, each, figures.mib)


def run(command: list[str], server: subprocess.Popen[str]) -> EndpointFigures:
    """Runs one process to its end; its processor time is all of it, start-up too.

    Raises:
        SystemExit: it failed; what it said is shown.
    """
    assert server.stdin is not None and server.stdout is not None
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{' '.join(command)} failed:\n{said.read().decode(errors='replace')}")
    server.stdin.write("\n")
    server.stdin.flush()
    requests, between = json.loads(server.stdout.readline())
    micros = 1e6 * (used.ru_utime + used.ru_stime) / max(1, requests)
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return EndpointFigures("", requests, requests / max(between, 1e-6), seconds, micros, used.ru_maxrss / scale)


def make_data(folder: Path, questions: int) -> None:
    """A data set of so many text questions: those of the sample, again and again under other ids."""
    from livek12.dataset_builders import sample
    from livek12.dataset_builders.writing.parquet import TableWriters

    folder.mkdir()
    texts = [question for question in sample.load("livek12_en") if not question.images]
    with TableWriters(folder) as tables:
        for number in range(questions):
            question = texts[number % len(texts)]
            tables.write("text_only", "en", question.model_copy(update={"id": f"{question.id}-{number}"}))
    (folder / "README.md").write_text(CARD)


# --- the endpoint -------------------------------------------------------------------------------------------------


class _Answering(asyncio.Protocol):
    """Reads requests by their content-length and answers each with the same bytes."""

    answered = 0
    first = last = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._held = b""

    def data_received(self, data: bytes) -> None:
        held = self._held + data
        while (end := held.find(b"\r\n\r\n")) >= 0:
            head = held[:end].lower() + b"\r\n"
            at = head.find(b"content-length:") + len(b"content-length:")
            whole = end + 4 + int(head[at : head.find(b"\r\n", at)])
            if len(held) < whole:
                break
            held = held[whole:]
            self._transport.write(REPLY)
            _Answering.last = time.perf_counter()
            _Answering.first = _Answering.first or _Answering.last
            _Answering.answered += 1
        self._held = held


async def serve() -> None:
    """Prints the address; then, for every line on stdin, how many requests came since the last, over how long."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Answering, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps([_Answering.answered, _Answering.last - _Answering.first]), flush=True)
        _Answering.answered, _Answering.first = 0, 0.0


# --- the bounds ---------------------------------------------------------------------------------------------------


def _body() -> dict[str, Any]:
    """What each bare client asks: of the length of a short question with its instructions."""
    text = "What is the current through the second resistor? " * 20
    return {"model": MODEL, "messages": [{"role": "user", "content": text}], "max_tokens": 2048, "seed": 0}


async def _shared(requests: int, concurrency: int, ask: Callable[[], Awaitable[None]]) -> None:
    """Asks so many times, so many at once."""
    numbers = iter(range(requests))

    async def some() -> None:
        for _ in numbers:
            await ask()

    await asyncio.gather(*(some() for _ in range(concurrency)))


async def sockets(address: str, requests: int, concurrency: int) -> None:
    """Bare asyncio streams, a prepared request, no HTTP library."""
    host, port = address.split("/")[2].split(":")
    payload = json.dumps(_body()).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\ncontent-length: {len(payload)}\r\n\r\n"
    numbers = iter(range(requests))

    async def some() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in numbers:
            writer.write(head.encode() + payload)
            lines = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(lines.partition(b"content-length:")[2].split(b"\r\n")[0])
            json.loads(await reader.readexactly(length))
        writer.close()

    await asyncio.gather(*(some() for _ in range(concurrency)))


async def with_aiohttp(address: str, requests: int, concurrency: int) -> None:
    """The same over aiohttp."""
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=concurrency)) as session:

        async def ask() -> None:
            headers = {"content-type": "application/json"}
            body = json.dumps(_body()).encode()
            async with session.post(f"{address}/chat/completions", data=body, headers=headers) as answer:
                json.loads(await answer.read())

        await _shared(requests, concurrency, ask)


async def with_openai(address: str, requests: int, concurrency: int) -> None:
    """The openai client as its documentation shows it."""
    import openai

    async with openai.AsyncOpenAI(base_url=address, api_key="EMPTY", max_retries=0) as client:

        async def ask() -> None:
            await client.chat.completions.create(**_body())

        await _shared(requests, concurrency, ask)


_CLIENTS = {"sockets": sockets, "aiohttp": with_aiohttp, "openai": with_openai}


if __name__ == "__main__":
    main()
