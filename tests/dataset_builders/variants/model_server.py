"""A writer, a judge and a painter behind a real HTTP endpoint, whose replies a test scripts.

Run as a program (`python -m tests.dataset_builders.variants.model_server LOG`) it prints its address and logs one line
a request, so that a test can kill whatever talks to it and count what was asked.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import re
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image as PIL
from PIL import ImageOps


class Models:
    """What the models say.

    Attributes:
        asked: a hash of each body, in order.
        texts: the text of each chat request.
        dropped: numbers of the items that the judge finds changed.
        said: replies of the writer for items by number, instead of a sound one.
        paints: the painter's reply: "" for a sound one.
    """

    def __init__(self, log: Path | None = None, wait: float = 0.0) -> None:
        self.asked: list[str] = []
        self.texts: list[str] = []
        self.dropped: set[int] = set()
        self.said: dict[int, str] = {}
        self.judged: dict[int, str] = {}
        self.paints = b""
        self.status = 200
        self.log, self.wait = log, wait
        self._lock = threading.Lock()

    def note(self, body: bytes) -> None:
        name = hashlib.sha256(body).hexdigest()
        with self._lock:
            self.asked.append(name)
            if self.log:
                with self.log.open("a") as log:
                    log.write(name + "\n")
        time.sleep(self.wait)

    def chat(self, body: Any) -> str:
        contents = [message["content"] for message in body["messages"]]
        text = "\n".join(
            part if isinstance(part, str) else part.get("text", "")
            for content in contents
            for part in ([content] if isinstance(content, str) else content)
        )
        self.texts.append(text)
        item = int(found[1]) if (found := re.search(r"Item (\d+)", text)) else 0
        if "same_meaning" in text:
            stays = item not in self.dropped
            sound = json.dumps({"same_meaning": stays, "key_holds": True, "why": "" if stays else "another boat"})
            return self.judged.get(item, sound)
        return self.said.get(item) if item in self.said else self._written(contents[1], text)

    def _written(self, shown: str, text: str) -> str:
        fields = json.loads(shown)
        if "wrong options" in text:
            return json.dumps({"wrong": ["wrong one", "wrong two", "wrong three"]})
        if "one blank to fill in" in text:
            figures = "".join(re.findall(r"\[\[figure-\d+\]\]", fields["question"]))
            return json.dumps({"question": f"What moves in it is the ____. {figures}", "answer": "wind"})
        return json.dumps({name: value.replace("boat", "vessel") for name, value in fields.items()})

    def painted(self, body: bytes) -> bytes:
        """The picture in the form, its colours inverted, as an images reply."""
        if self.paints:
            return self.paints
        start = body.index(b"\x89PNG")
        picture = PIL.open(io.BytesIO(body[start:]))
        data = io.BytesIO()
        ImageOps.invert(picture.convert("RGB")).save(data, "PNG")
        return json.dumps({"data": [{"b64_json": base64.b64encode(data.getvalue()).decode()}]}).encode()


@contextlib.contextmanager
def serving(models: Models) -> Iterator[str]:
    """Runs the server; yields its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits 40 ms for an acknowledgement of its head

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path.endswith("/images/edits"):
                models.note(re.sub(rb"livek12-[0-9a-f]{32}", b"", body))
                self._send(models.painted(body))
                return
            models.note(body)
            message = {"role": "assistant", "content": models.chat(json.loads(body))}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            self._send(json.dumps({"object": "chat.completion", "model": "m", "choices": [choice]}).encode())

        def _send(self, payload: bytes) -> None:
            with contextlib.suppress(OSError):
                self.send_response(models.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None: ...

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


if __name__ == "__main__":
    with serving(Models(Path(sys.argv[1]), wait=0.03)) as address:
        print(address, flush=True)
        sys.stdin.read()
