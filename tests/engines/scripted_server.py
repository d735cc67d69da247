"""A real HTTP server on loopback whose answers a test writes: busy, broken, slow, rubbish, gone."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass
class Reply:
    """What the server does with one attempt."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    cut: bool = False
    """Promise more bytes than are sent, and hang up."""


@dataclass
class Seen:
    """One attempt, as it arrived."""

    question: str
    at: float
    body: Json
    headers: dict[str, str]


def completion(text: str | None = "4", **message: Any) -> Json:
    """A well-formed chat completion."""
    return {
        "id": "x",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def good(text: str | None = "4", **message: Any) -> Reply:
    """A 200 with a completion."""
    return Reply(body=json.dumps(completion(text, **message)).encode())


def error(status: int, message: str = "no", **headers: str) -> Reply:
    """An error as OpenAI words it."""
    body = json.dumps({"error": {"message": message, "type": "t", "code": None}}).encode()
    return Reply(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


class Script:
    """Decides every reply by the question asked and by how often it was asked before."""

    def __init__(self, reply: Callable[[str, int], Reply]) -> None:
        self.reply = reply
        self.seen: list[Seen] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()

    def attempts(self) -> dict[str, int]:
        """How often each question arrived."""
        counts: dict[str, int] = defaultdict(int)
        for seen in self.seen:
            counts[seen.question] += 1
        return dict(counts)

    def take(self, body: Json, headers: dict[str, str]) -> Reply:
        """Notes an attempt and finds its reply; the question's id is the first word of the last message."""
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else next(p["text"] for p in content if p["type"] == "text")
        question = text.split()[0]
        with self._lock:
            before = self.attempts().get(question, 0)
            self.seen.append(Seen(question, time.monotonic(), body, headers))
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        return self.reply(question, before)

    def done(self) -> None:
        """An attempt has been answered."""
        with self._lock:
            self._at_once -= 1


@contextlib.contextmanager
def serving(script: Script, port: int = 0) -> Iterator[str]:
    """Runs the server; yields its base_url. Leaving the block takes it down, connections and all."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement of its head

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if server.closing:  # a connection kept alive from before
                self.close_connection = True
                return
            reply = script.take(body, {name.lower(): value for name, value in self.headers.items()})
            time.sleep(reply.wait)
            script.done()
            with contextlib.suppress(OSError):
                self.send_response(reply.status)
                for name, value in {"content-type": "application/json", **reply.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body) + 100 * reply.cut))
                self.end_headers()
                self.wfile.write(reply.body)
            self.close_connection = self.close_connection or reply.cut

        def log_message(self, format: str, *args: Any) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False
        request_queue_size = 128
        closing = False

    server = Server(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.closing = True
        server.shutdown()
        server.server_close()
        thread.join()
