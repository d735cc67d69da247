"""A deterministic OpenAI-compatible endpoint on loopback: the same prompt always gets the same answer.

Run as a program (`python -m tests.endpoint LOG`) it prints its base URL and logs one line a request, so that a
test can kill and restart whatever talks to it and count what was asked.
"""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

SECONDS_AN_ANSWER = 0.02


def answer(prompt: str) -> dict[str, Any]:
    """A chat completion whose text and token counts follow from the prompt alone."""
    digest = hashlib.sha256(prompt.encode()).digest()
    kinds = [rf"So \boxed{{{'ABCD'[digest[1] % 4]}}}.", rf"\boxed{{{digest[1] % 10}}}", "I do not know.", "答案是 B"]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "oracle",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": kinds[digest[0] % 4]},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": digest[2], "total_tokens": 10 + digest[2]},
    }


class Oracle(BaseHTTPRequestHandler):
    """Answers every chat completion and logs a hash of what was asked."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement of its head
    log: ClassVar[Path]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = json.dumps([body["messages"], body.get("seed")], sort_keys=True)
        with self.log.open("a") as log:
            log.write(hashlib.sha256(prompt.encode()).hexdigest() + "\n")
        time.sleep(SECONDS_AN_ANSWER)
        self._send(answer(prompt))

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "oracle", "object": "model", "created": 0, "owned_by": "us"}]})

    def _send(self, value: dict[str, Any]) -> None:
        payload = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing on stderr."""


def cut(completion: dict[str, Any], prompt: str, max_tokens: int) -> dict[str, Any]:
    """The completion as the end of a long answer of which no more than `max_tokens` came.

    Its length (up to 32,641 tokens) and the place where it says what it comes to follow from the prompt alone.
    """
    digest = hashlib.sha256(f"length of {prompt}".encode()).digest()
    length = 1 + 128 * digest[0]
    came = min(length, max_tokens)
    choice = completion["choices"][0]
    said = choice["message"]["content"] + (" Let me check that again" if came < length else "")
    choice["message"] |= {
        "reasoning_content": "Let me see.",
        "content": said if came > length * digest[1] // 256 else "",
    }
    choice["finish_reason"] = "length" if came < length else "stop"
    completion["usage"] |= {"completion_tokens": came, "total_tokens": 10 + came}
    return completion


class Rambler(Oracle):
    """Gives long answers, cuts them at `max_tokens`, and logs that limit behind the hash of what was asked."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = json.dumps([body["messages"], body.get("seed")], sort_keys=True)
        with self.log.open("a") as log:
            log.write(f"{hashlib.sha256(prompt.encode()).hexdigest()} {body['max_tokens']}\n")
        self._send(cut(answer(prompt), prompt, body["max_tokens"]))


class Server(ThreadingHTTPServer):
    """Takes as many connections at once as an engine opens; with five waiting at most, others are reset."""

    request_queue_size = 256


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server in a thread of this process; gives its address on loopback."""
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def oracle_at(log: Path, handler: type[Oracle] = Oracle) -> Iterator[str]:
    """The endpoint in this process, up to and with `/v1`; what is asked is logged."""
    handler.log = log
    with serving(handler) as address:
        yield f"{address}/v1"


if __name__ == "__main__":
    Oracle.log = Path(sys.argv[1])
    server = Server(("127.0.0.1", 0), Oracle)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
