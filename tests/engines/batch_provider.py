"""A loopback provider with the batch APIs of OpenAI, Anthropic and Gemini, which misbehaves as it is told.

Its batches end after a number of looks. It counts how often each request was answered for money, and how many batches
were made of each input. As a program (`python -m tests.engines.batch_provider SEED`) it prints its address and faults
at random; `/facts` gives its counts.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
Fault = Callable[[str, int], str]
"""Of a step (upload, create, list, poll, results, cancel) and its count so far: what goes wrong, "" for nothing.

Steps: a status ("429", "500"), or "cut" (the act is done, and the connection closed before a reply) or "refuse" (closed
before the act). Lines of results: "shuffle", "double", "partial" (the file of this look lacks lines), "empty", "torn"
(the file ends early). Lists: "stale" (lacks the newest batch). Ends of a batch (step "end"): "expired" (half of it),
"late" (expired, its answers at the second look), "cancelled", "failed". Lines (step "line"): "500" (an error, once),
"400" (an error for good).
"""


@dataclass
class Made:
    """A batch."""

    id: str
    kind: str
    token: str
    lines: list[Json]
    looks: int = 0
    end: str = ""
    results: list[Json] = field(default_factory=list)


class Facts:
    """What the provider has, did and counted."""

    def __init__(
        self, fault: Fault = lambda step, count: "", looks: int = 1, say: Callable[[Json], str] | None = None
    ) -> None:
        self.fault, self.looks, self.say = fault, looks, say or text_for
        self.lock = threading.RLock()
        self.files: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.batches: dict[str, Made] = {}
        self.steps: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        """Answers by content of the request."""
        self.inputs: Counter[str] = Counter()
        """Batches by the ids of their requests."""
        self.bodies: list[Json] = []

    def next_fault(self, step: str) -> str:
        """Counts a step and says what is to go wrong."""
        count = self.steps[step]
        self.steps[step] += 1
        return self.fault(step, count)

    def make(self, kind: str, token: str, lines: list[Json]) -> Made:
        """A new batch."""
        made = Made(f"batches/{len(self.batches) + 1:04}x", kind, token, lines)
        if kind != "gemini":
            made.id = made.id.replace("/", "_")
        self.batches[made.id] = made
        self.inputs[json.dumps(sorted(id_of(line) for line in lines))] += 1
        return made

    def look(self, made: Made) -> None:
        """A look, which may end the batch."""
        made.looks += 1
        if not made.end and made.looks >= self.looks:
            self.finish(made, self.next_fault("end") or "completed")

    def finish(self, made: Made, end: str) -> None:
        """Answers the batch as far as it comes."""
        made.end = "expired" if end == "late" else end
        lines = made.lines[: len(made.lines) // 2] if end in ("expired", "cancelled") else made.lines
        for line in [] if end == "failed" else lines:
            if error := self.next_fault("line"):
                made.results.append(as_error(made.kind, line, error))
            else:
                self.paid[content_of(line)] += 1
                self.bodies.append(line)
                made.results.append(as_result(made.kind, line, self.say(line)))
        rest = made.lines[len(lines) :]
        made.results += [as_error(made.kind, line, end) for line in rest]
        made.looks = 0 if end == "late" else made.looks

    def as_json(self) -> Json:
        """The counts."""
        with self.lock:
            return {
                "paid": dict(self.paid),
                "inputs": dict(self.inputs),
                "batches": len(self.batches),
                "steps": dict(self.steps),
            }


def id_of(line: Json) -> str:
    """Id of a request."""
    return str(line.get("custom_id") or line.get("key"))


def content_of(line: Json) -> str:
    """The request without its id."""
    return json.dumps(line.get("body") or line.get("params") or line.get("request"), sort_keys=True)


def text_for(line: Json) -> str:
    """The answer, which follows from the request alone."""
    return "A" + hashlib.sha256(content_of(line).encode()).hexdigest()[:8]


def as_result(kind: str, line: Json, text: str) -> Json:
    """An answered line."""
    if kind == "anthropic":
        message = {
            "model": line["params"]["model"],
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": 4},
        }
        return {"custom_id": id_of(line), "result": {"type": "succeeded", "message": message}}
    if kind == "gemini":
        parts = [{"text": "hm", "thought": True}, {"text": text}]
        response = {
            "candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 1},
            "modelVersion": "m",
        }
        return {"key": id_of(line), "response": response}
    message = {"role": "assistant", "content": text, "reasoning_content": "hm"}
    body = {
        "model": "m",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 4},
    }
    return {"id": "r", "custom_id": id_of(line), "response": {"status_code": 200, "body": body}, "error": None}


def as_error(kind: str, line: Json, error: str) -> Json:
    """A line that was not answered: expired, cancelled, or with a status."""
    if kind == "anthropic":
        kinds = {"expired": "expired", "cancelled": "canceled"}
        name = "invalid_request_error" if error == "400" else "overloaded_error"
        told = {"type": "error", "error": {"type": name, "message": f"no: {error}"}}
        result = {"type": kinds[error]} if error in kinds else {"type": "errored", "error": told}
        return {"custom_id": id_of(line), "result": result}
    if kind == "gemini":
        codes = {"expired": 4, "cancelled": 1, "400": 3, "500": 13}
        return {"key": id_of(line), "error": {"code": codes[error], "message": f"no: {error}"}}
    if error in ("expired", "cancelled"):
        told = {"code": f"batch_{error}", "message": "no"}
        return {"id": "r", "custom_id": id_of(line), "response": None, "error": told}
    response = {"status_code": int(error), "body": {"error": {"message": f"no: {error}"}}}
    return {"id": "r", "custom_id": id_of(line), "response": response, "error": None}


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    facts: Facts

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, facts = urlsplit(self.path).path, self.facts
        with facts.lock:
            if path == "/v1/files" or path.startswith("/upload/"):
                self._act("upload", lambda: self._upload(path, data))
            elif match := re.fullmatch(r"/v1/(?:messages/)?batches/(\w+)/cancel|/v1beta/(batches/\w+):cancel", path):
                self._act("cancel", lambda: self._cancel(facts.batches[match[1] or match[2]]))
            else:
                self._act("create", lambda: self._create(path, json.loads(data)))

    def do_GET(self) -> None:
        url, facts = urlsplit(self.path), self.facts
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        with facts.lock:
            if url.path == "/facts":
                self._send(facts.as_json())
            elif match := re.search(r"/(?:files|batches)/(\w+)(?:/content|/results|:download)$", url.path):
                name = match[1]
                made = facts.batches.get(name.removesuffix("e")) or facts.batches.get(name.replace("_", "/", 1))
                self._act("results", lambda: None, lambda fault: self._results(made, fault, name.endswith("e")))
            elif url.path in ("/v1/batches", "/v1/messages/batches", "/v1beta/batches"):
                self._act("list", lambda: None, lambda fault: self._send(self._list(url.path, query, fault == "stale")))
            else:
                own = re.sub(r"^/v1beta/|^/v1/(messages/)?batches/", "", url.path)
                self._act("poll", lambda: self._poll(facts.batches.get(own)))

    def _act(self, step: str, act: Callable[[], Any], send: Callable[[str], None] | None = None) -> None:
        fault = self.facts.next_fault(step)
        if fault == "refuse":
            self.close_connection = True
            return
        if fault.isdecimal():
            self._send({"error": {"message": f"fault {fault}"}}, int(fault))
            return
        value = act()
        if fault == "cut":
            self.close_connection = True
        elif send is not None:
            send(fault)
        elif value is None:
            self._send({"error": {"message": "there is none"}}, 404)
        else:
            self._send(*value) if isinstance(value, tuple) else self._send(value)

    def _upload(self, path: str, data: bytes) -> Any:
        facts = self.facts
        if path.startswith("/upload/") and self.headers.get("X-Goog-Upload-Command") == "start":
            name = f"f{len(facts.files)}"
            facts.files[name] = b""
            host = self.headers["Host"]
            return {}, 200, {"X-Goog-Upload-URL": f"http://{host}/upload/v1beta/files?id={name}"}
        if path.startswith("/upload/"):
            name = parse_qs(urlsplit(self.path).query)["id"][0]
            facts.files[name] = data
            return {"file": {"name": f"files/{name}"}}
        boundary = self.headers["Content-Type"].partition("boundary=")[2].encode()
        name = f"f{len(facts.files)}"
        (part,) = (p for p in data.split(b"--" + boundary) if b'name="file"' in p)
        facts.files[name] = part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        return {"id": name}

    def _create(self, path: str, body: Json) -> Any:
        facts = self.facts
        if path == "/v1/messages/batches":
            return self._shown(facts.make("anthropic", "", body["requests"]))
        if path.endswith(":batchGenerateContent"):
            told = body["batch"]
            name = told["input_config"]["file_name"].removeprefix("files/")
            return self._shown(facts.make("gemini", told["display_name"], _lines(facts.files[name])))
        token = body["metadata"]["livek12"]
        return self._shown(facts.make("openai", token, _lines(facts.files[body["input_file_id"]])))

    def _cancel(self, made: Made) -> Json:
        if not made.end:
            self.facts.finish(made, "cancelled")
        return self._shown(made)

    def _list(self, path: str, query: Json, stale: bool) -> Json:
        kind = {"/v1/batches": "openai", "/v1beta/batches": "gemini"}.get(path, "anthropic")
        for made in self.facts.batches.values():
            self.facts.look(made)
        newest = [made for made in reversed(self.facts.batches.values()) if made.kind == kind][stale:]
        if kind == "gemini":
            start = int(query.get("pageToken", "0+/=").removesuffix("+/="))
            more = {"nextPageToken": f"{start + 2}+/="} if start + 2 < len(newest) else {}
            return {"operations": [self._shown(made) for made in newest[start : start + 2]], **more}
        after = query.get("after") or query.get("after_id")
        start = [made.id for made in newest].index(after) + 1 if after else 0
        limit = min(2, int(query["limit"]))
        page = [self._shown(made) for made in newest[start : start + limit]]
        return {"data": page, "has_more": start + limit < len(newest)}

    def _poll(self, made: Made | None) -> Any:
        if made is None:
            return None
        self.facts.look(made)
        return self._shown(made)

    def _shown(self, made: Made) -> Json:
        done = sum("error" not in line or line["error"] is None for line in made.results)
        if made.kind == "anthropic":
            done = sum(line["result"]["type"] == "succeeded" for line in made.results)
            counts = {"succeeded": done, "canceled" if made.end == "cancelled" else "errored": len(made.results) - done}
            counts["processing"] = len(made.lines) - len(made.results) if made.looks > 2 else 0  # counted late
            status = "ended" if made.end else "in_progress"
            return {"id": made.id, "processing_status": status, "request_counts": counts}
        file = made.id.replace("/", "_")
        if made.kind == "gemini":
            state = {"": "RUNNING", "completed": "SUCCEEDED"}.get(made.end, made.end.upper())
            stats = {"requestCount": str(len(made.lines)), "successfulRequestCount": str(done)}
            metadata = {"state": f"BATCH_STATE_{state}", "displayName": made.token, "batchStats": stats}
            response = {"response": {"responsesFile": f"files/{file}"}} if made.end and made.end != "failed" else {}
            return {"name": made.id, "metadata": metadata, "done": bool(made.end), **response}
        files = {"output_file_id": made.id, "error_file_id": f"{made.id}e"}
        files = files if made.end and made.end != "failed" and made.looks else {}
        errors = {"errors": {"data": [{"code": "bad", "message": "bad input"}]}} if made.end == "failed" else {}
        counts = {"total": len(made.lines), "completed": done, "failed": len(made.results) - done}
        return {
            "id": made.id,
            "status": made.end or "in_progress",
            "metadata": {"livek12": made.token},
            "request_counts": counts,
            **files,
            **errors,
        }

    def _results(self, made: Made | None, fault: str, errors: bool) -> None:
        if made is None:
            self._send({"error": {"message": "gone"}}, 404)
            return
        whole = [made.kind != "openai" or (line["response"] or {}).get("status_code") == 200 for line in made.results]
        lines = [json.dumps(line) for line, good in zip(made.results, whole, strict=True) if good is not errors]
        if fault == "shuffle":
            random.Random(1).shuffle(lines)
            lines += [re.sub(r'-\d+"', f'-{"9" * 5000}"', line, count=1) for line in lines[:1]]
        if fault == "double":
            lines = [line for line in lines for _ in range(2)]
        if fault == "empty":
            lines = []
        if fault == "partial":
            lines = lines[::2]
        data = "\n".join(lines).encode()
        self._send_bytes(data[: len(data) // 2] if fault == "torn" else data, 200, {}, len(data))

    def _send(self, value: Json, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self._send_bytes(data, status, headers or {}, len(data))

    def _send_bytes(self, data: bytes, status: int, headers: dict[str, str], length: int) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = self.close_connection or length != len(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing on stderr."""


def _lines(data: bytes) -> list[Json]:
    return [json.loads(line) for line in data.splitlines()]


class Server(ThreadingHTTPServer):
    """Of many connections."""

    request_queue_size = 64
    daemon_threads = True


@contextmanager
def providing(facts: Facts) -> Iterator[str]:
    """The provider in a thread; gives its address without a version."""
    server = Server(("127.0.0.1", 0), type("Own", (Handler,), {"facts": facts}))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def at_random(seed: int) -> Fault:
    """A fault at a sixth of all steps; a line fails once in twenty."""
    dice = random.Random(seed)
    kinds = {
        "results": ("500", "429", "torn", "shuffle", "double", "partial"),
        "end": ("expired", "late"),
        "line": ("500",),
        "list": ("500", "429", "cut", "refuse", "stale"),
    }

    def fault(step: str, count: int) -> str:
        rare = 0.05 if step == "line" else 0.17
        return dice.choice(kinds.get(step, ("500", "429", "cut", "refuse"))) if dice.random() < rare else ""

    return fault


if __name__ == "__main__":
    with providing(Facts(at_random(int(sys.argv[1])), looks=2)) as address:
        print(address, flush=True)
        threading.Event().wait()
