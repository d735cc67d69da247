"""The batch APIs: limits, requests and replies of each; `engine` has all that they share.

A batch carries a token of ours: in its metadata, its display name, or (Anthropic, which lists neither) in the ids of
its requests, which are readable once it has ended.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from livek12.core.errors import UserError
from livek12.core.records import Image, Request
from livek12.core.text import one_line
from livek12.engines.batch.http import Busy, Http, Lost, Refused
from livek12.engines.batch.ledger import Batch
from livek12.engines.common import Json, content_parts, seed_of
from livek12.engines.images import mime_of
from livek12.engines.openai.format import RequestForm, data_url

RESULTS = ".results.jsonl"
"""Ending of what `vllm run-batch` writes."""
_TOKEN = "livek12"
_AGAIN = frozenset({408, 409, 425, 429})
_BLOCK = 1 << 20
_MOST_PAGES = 1000


class Undecided(Exception):
    """A batch that may be ours has not ended."""


@dataclass(frozen=True)
class Progress:
    """State of a batch: counts, and once it has ended how (completed, expired, cancelled, failed) and its files."""

    answered: int = 0
    failed: int = 0
    ended: str = ""
    files: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Result:
    """One line of the results: a chat completion or a reason; `again`: a retry may help."""

    id: str
    body: Json | None
    reason: str = ""
    again: bool = False


class Provider:
    """One batch API; this one is OpenAI's, which many speak.

    `create` may raise `Lost`; then `find` looks for the batch in the provider's list.
    """

    key_variable: ClassVar[str] = "OPENAI_API_KEY"
    example: ClassVar[str] = "https://api.openai.com/v1"
    most_requests: ClassVar[int] = 50_000
    most_bytes: ClassVar[int] = 200_000_000
    id_field: ClassVar[str] = "custom_id"

    def __init__(self, http: Http, form: RequestForm) -> None:
        self.http, self.form = http, form

    @classmethod
    def headers(cls, key: str) -> dict[str, str]:
        """Headers of every request."""
        return {"Authorization": f"Bearer {key or 'EMPTY'}"}

    def line(self, id: str, request: Request) -> Json:
        """The request as a line of the input."""
        body = self.form.as_json(request, request.sampling.max_tokens)
        return {"custom_id": id, "method": "POST", "url": "/v1/chat/completions", "body": body}

    def upload(self, file: Path, token: str) -> str:
        """Uploads the input; returns its name there."""
        boundary = f"livek12-{token}"
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{boundary}\r\n'
            f'Content-Disposition: form-data; name="file"; filename="{token}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        ).encode()
        tail = f"\r\n--{boundary}--\r\n".encode()
        headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "Content-Length": str(len(head) + file.stat().st_size + len(tail)),
        }
        return _text(self.http.call("POST", "files", _joined(head, file, tail), headers), "id")

    def newest(self) -> str:
        """The newest batch of the list, for providers whose list has no token."""
        return ""

    def create(self, file: Path, batch: Batch) -> str:
        """Submits the batch; returns its name there."""
        body = {
            "input_file_id": batch.file,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {_TOKEN: batch.token},
        }
        return _text(self._post("batches", body), "id")

    def find(self, batch: Batch, others: Collection[str]) -> str | None:
        """The batch in the provider's list; None if it is not there.

        Raises:
            Undecided: this cannot be told yet.
        """
        for entry in self._pages("batches", "after"):
            if _object(entry, "metadata").get(_TOKEN) == batch.token or entry.get("input_file_id") == batch.file:
                return _text(entry, "id")
        return None

    def progress(self, batch: Batch) -> Progress:
        """The state of a batch."""
        entry = self.http.call("GET", f"batches/{batch.id}")
        counts, status = _object(entry, "request_counts"), entry.get("status")
        told = _object(entry, "errors").get("data")
        errors = [error for error in (told if isinstance(told, list) else ()) if isinstance(error, dict)]
        if any(error.get("code") == "token_limit_exceeded" for error in errors):
            status = "expired"  # nothing was asked, and may be once other batches have ended
        files = [entry.get(name) for name in ("output_file_id", "error_file_id")]
        return Progress(
            _count(counts, "completed"),
            _count(counts, "failed"),
            str(status) if status in ("completed", "expired", "cancelled", "failed") else "",
            tuple(file for file in files if isinstance(file, str) and file),
            one_line("; ".join(map(_message, errors)), 200),
        )

    def results(self, batch: Batch, progress: Progress) -> Iterator[bytes]:
        """The lines of the results, as far as there are any."""
        for file in progress.files:
            yield from self.http.lines(f"files/{file}/content")

    def cancel(self, batch: Batch) -> None:
        """Asks the provider to stop."""
        self._post(f"batches/{batch.id}/cancel", {})

    def read(self, line: Json) -> Result:
        """One line of the results."""
        reply, error = _object(line, "response"), line.get("error")
        body, status = _object(reply, "body"), _count(reply, "status_code")
        if body and status == 200 and not error:
            return Result(str(line.get("custom_id")), body)
        error = error or body.get("error") or body
        code = error.get("code") if isinstance(error, dict) else ""
        again = status in _AGAIN or status >= 500 or code == "batch_expired"
        return Result(str(line.get("custom_id")), None, _message(error) or f"status {status}", again)

    def _post(self, path: str, body: Json) -> Json:
        return self.http.call("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def _pages(self, path: str, cursor: str) -> Iterator[Json]:
        query: Json = {"limit": 100}
        for _ in range(_MOST_PAGES):
            page = self.http.call("GET", path, query=query)
            entries = [entry for entry in page.get("data") or () if isinstance(entry, dict)]
            yield from entries
            if not page.get("has_more") or not entries:
                return
            query[cursor] = _text(entries[-1], "id")

    def _merged(self, body: Json) -> Json:
        """The body with `extra_body`, one level deep, and without `omit`."""
        for name, value in self.form.fields.items():
            own = body.get(name)
            body[name] = {**own, **value} if isinstance(own, dict) and isinstance(value, dict) else value
        return {name: value for name, value in body.items() if value is not None and name not in self.form.omit}


class Anthropic(Provider):
    """The Message Batches API."""

    key_variable = "ANTHROPIC_API_KEY"
    example = "https://api.anthropic.com/v1"
    most_requests = 100_000
    most_bytes = 255_000_000

    @classmethod
    def headers(cls, key: str) -> dict[str, str]:
        """Headers of every request."""
        return {"x-api-key": key, "anthropic-version": "2023-06-01"}

    def line(self, id: str, request: Request) -> Json:
        """The request as an entry of the body."""
        sampling, budget = request.sampling, request.sampling.thinking_budget

        def picture(sha256: str) -> Json:
            mime, data = _base64(request.images[sha256])
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}

        system, turns = _turns(request)
        params: Json = {
            "model": self.form.model,
            "max_tokens": sampling.max_tokens,
            "system": system or None,
            "messages": [{"role": turn.role, "content": content_parts(turn, picture)} for turn in turns],
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k,
            "stop_sequences": sampling.stop or None,
            "thinking": {"type": "enabled", "budget_tokens": budget} if budget else None,
        }
        return {"custom_id": id, "params": self._merged(params)}

    def upload(self, file: Path, token: str) -> str:
        """The requests travel with the batch."""
        return ""

    def newest(self) -> str:
        """The newest batch: those after it may be ours."""
        entries = self.http.call("GET", "messages/batches", query={"limit": 1}).get("data")
        return _text(entries[0], "id") if entries else ""

    def create(self, file: Path, batch: Batch) -> str:
        """Submits the batch with its requests."""
        head, tail = b'{"requests":[', b"]}"
        # Lines end with a newline each, and have a comma between them.
        length = len(head) + file.stat().st_size + batch.requests - 1 + len(tail)
        headers = {"Content-Type": "application/json", "Content-Length": str(length)}
        return _text(self.http.call("POST", "messages/batches", _listed(head, file, tail), headers), "id")

    def find(self, batch: Batch, others: Collection[str]) -> str | None:
        """Searches the batches that are newer than the list was before the submission, by their first result."""
        undecided = False
        for entry in self._pages("messages/batches", "after_id"):
            id = _text(entry, "id")
            if id == batch.before:
                break
            counts = _object(entry, "request_counts")
            if id in others or sum(_count(counts, name) for name in counts) != batch.requests:
                continue
            if entry.get("processing_status") != "ended":
                undecided = True
            elif self._is_ours(id, batch.token):
                return id
        if undecided:
            raise Undecided
        return None

    def _is_ours(self, id: str, token: str) -> bool:
        lines = self.http.lines(f"messages/batches/{id}/results")
        try:
            return str(_parsed(next(lines, b"")).get("custom_id")).startswith(f"{token}-")
        except Refused:  # its results are gone, or another key's
            return False

    def progress(self, batch: Batch) -> Progress:
        """The state of a batch."""
        entry = self.http.call("GET", f"messages/batches/{batch.id}")
        counts = _object(entry, "request_counts")
        failed = sum(_count(counts, name) for name in ("errored", "canceled", "expired"))
        ended = "completed" if entry.get("processing_status") == "ended" else ""
        return Progress(_count(counts, "succeeded"), failed, ended, ("results",) if ended else ())

    def results(self, batch: Batch, progress: Progress) -> Iterator[bytes]:
        """The lines of the results."""
        yield from self.http.lines(f"messages/batches/{batch.id}/results")

    def cancel(self, batch: Batch) -> None:
        """Asks the provider to stop."""
        self._post(f"messages/batches/{batch.id}/cancel", {})

    def read(self, line: Json) -> Result:
        """One line of the results."""
        id, result = str(line.get("custom_id")), _object(line, "result")
        kind, message = result.get("type"), _object(result, "message")
        if kind == "succeeded" and message:
            return Result(id, _from_anthropic(message))
        error = _object(result, "error")
        error = _object(error, "error") or error
        final = error.get("type") in ("invalid_request_error", "not_found_error", "request_too_large")
        again = kind == "expired" or (kind == "errored" and not final)
        return Result(id, None, _message(error) or str(kind), again)


class Gemini(Provider):
    """The Gemini Batch API, with input files."""

    key_variable = "GEMINI_API_KEY"
    example = "https://generativelanguage.googleapis.com/v1beta"
    most_bytes = 2_000_000_000
    id_field = "key"

    @classmethod
    def headers(cls, key: str) -> dict[str, str]:
        """Headers of every request."""
        return {"x-goog-api-key": key}

    def line(self, id: str, request: Request) -> Json:
        """The request as a line of the input."""
        sampling, budget = request.sampling, request.sampling.thinking_budget

        def picture(sha256: str) -> Json:
            mime, data = _base64(request.images[sha256])
            return {"inlineData": {"mimeType": mime, "data": data}}

        system, turns = _turns(request)
        config = {
            "temperature": sampling.temperature,
            "topP": sampling.top_p,
            "topK": sampling.top_k,
            "maxOutputTokens": sampling.max_tokens,
            "seed": seed_of(request),
            "stopSequences": sampling.stop or None,
            "thinkingConfig": None if budget is None else {"thinkingBudget": budget, "includeThoughts": True},
            "responseMimeType": "application/json" if request.answer_schema else None,
            "responseJsonSchema": request.answer_schema,
        }
        body: Json = {
            "systemInstruction": {"parts": [{"text": system}]} if system else None,
            "contents": [
                {
                    "role": "model" if turn.role == "assistant" else "user",
                    "parts": [{"text": p["text"]} if "text" in p else p for p in content_parts(turn, picture)],
                }
                for turn in turns
            ],
            "generationConfig": {name: value for name, value in config.items() if value is not None},
        }
        return {"key": id, "request": self._merged(body)}

    def upload(self, file: Path, token: str) -> str:
        """Uploads the input in one piece of a resumable upload."""
        size = str(file.stat().st_size)
        headers = {
            "X-Goog-Upload-Protocol": "resumable",
            "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Length": size,
            "X-Goog-Upload-Header-Content-Type": "application/jsonl",
            "Content-Type": "application/json",
        }
        body = json.dumps({"file": {"display_name": token}}).encode()
        with self.http.open("POST", self._beside("upload", "files"), body, headers) as reply:
            place = self.http.path_of(reply.headers.get("X-Goog-Upload-URL") or "")
        headers = {
            "X-Goog-Upload-Offset": "0",
            "X-Goog-Upload-Command": "upload, finalize",
            "Content-Length": size,
            "Content-Type": "application/jsonl",
        }
        return _text(_object(self.http.call("POST", place, _joined(b"", file, b""), headers), "file"), "name")

    def create(self, file: Path, batch: Batch) -> str:
        """Submits the batch."""
        body = {"batch": {"display_name": batch.token, "input_config": {"file_name": batch.file}}}
        return _text(self._post(f"models/{self.form.model}:batchGenerateContent", body), "name")

    def find(self, batch: Batch, others: Collection[str]) -> str | None:
        """Searches the list for the display name."""
        query: Json = {"pageSize": 100}
        for _ in range(_MOST_PAGES):
            page = self.http.call("GET", "batches", query=query)
            for entry in page.get("operations") or ():
                if _object(entry, "metadata").get("displayName") == batch.token:
                    return _text(entry, "name")
            if not (following := page.get("nextPageToken")):
                return None
            query["pageToken"] = following
        return None

    def progress(self, batch: Batch) -> Progress:
        """The state of a batch."""
        entry = self.http.call("GET", batch.id)
        metadata = _object(entry, "metadata")
        counts, state = _object(metadata, "batchStats"), str(metadata.get("state")).rpartition("_STATE_")[2].lower()
        output = _object(entry, "response") or _object(metadata, "output")
        file = output.get("responsesFile")
        return Progress(
            _count(counts, "successfulRequestCount"),
            _count(counts, "failedRequestCount"),
            {"succeeded": "completed"}.get(state, state)
            if state in ("succeeded", "failed", "cancelled", "expired")
            else "",
            (file,) if isinstance(file, str) else (),
            _message(entry.get("error")),
        )

    def results(self, batch: Batch, progress: Progress) -> Iterator[bytes]:
        """The lines of the results, as far as there are any."""
        for file in progress.files:
            yield from self.http.lines(self._beside("download", f"{file}:download"), {"alt": "media"})

    def cancel(self, batch: Batch) -> None:
        """Asks the provider to stop."""
        self._post(f"{batch.id}:cancel", {})

    def read(self, line: Json) -> Result:
        """One line of the results."""
        id, response, error = str(line.get("key")), _object(line, "response"), _object(line, "error")
        if response.get("candidates"):
            return Result(id, _from_gemini(response))
        if blocked := _object(response, "promptFeedback").get("blockReason"):
            return Result(id, None, f"blocked: {one_line(blocked, 60)}")
        final = error.get("code") in (3, 5, 7, 400, 403, 404)  # numbers of gRPC or HTTP
        return Result(id, None, _message(error) or "no candidate", not final)

    def _beside(self, service: str, path: str) -> str:
        return f"/{service}/{self.http.path}/{path}"


class Files(Provider):
    """Files for `vllm run-batch`, which somebody runs."""

    key_variable = example = ""
    most_bytes = 1 << 40

    def upload(self, file: Path, token: str) -> str:
        """The file lies where it is."""
        return str(file)

    def create(self, file: Path, batch: Batch) -> str:
        """Nothing is submitted."""
        return batch.token

    def find(self, batch: Batch, others: Collection[str]) -> str | None:
        """Nothing is submitted."""
        return batch.token

    def progress(self, batch: Batch) -> Progress:
        """Counts the whole lines; vLLM writes all of them at its end."""
        lines = sum(line.endswith(b"\n") for line in self.results(batch, Progress()))
        return Progress(lines, 0, "completed" if lines >= batch.requests else "")

    def results(self, batch: Batch, progress: Progress) -> Iterator[bytes]:
        """The lines that are there."""
        try:
            with results_of(batch).open("rb") as lines:
                yield from lines
        except FileNotFoundError:
            return
        except OSError as error:
            raise UserError(f"{results_of(batch)}: cannot be read ({error.strerror})") from error

    def cancel(self, batch: Batch) -> None:
        """Nothing is submitted."""


PROVIDERS: Mapping[str, type[Provider]] = {
    "openai": Provider,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "vllm": Files,
}


def open_provider(name: str, address: str, key_file: str | None, form: RequestForm) -> Provider:
    """The provider; UserError without its address or key."""
    if name not in PROVIDERS:
        raise UserError(f"provider={name}: choose one of {', '.join(PROVIDERS)}")
    kind = PROVIDERS[name]
    if kind is Files:
        return Files(Http("http://localhost", {}), form)
    if not address.startswith(("http://", "https://")):
        raise UserError(f"the batch engine needs an address: --engine-args base_url={kind.example}")
    key = _read_key(Path(key_file)) if key_file else os.environ.get(kind.key_variable, "")
    if not key and kind is not Provider:  # servers of one's own speak OpenAI's form, and want no key
        raise UserError(f"provider {name} needs a key: set {kind.key_variable}, or key_file= to a file of mode 0600")
    return kind(Http(address, kind.headers(key)), form)


def cancel(batches: Iterable[Batch], key_file: str | None) -> int:
    """Asks the providers to stop the batches that wait there; returns their number."""
    form, number = RequestForm("", {}, "", "", ()), 0
    for batch in batches:
        if batch.state == "waiting":
            try:
                open_provider(batch.provider, batch.address, key_file, form).cancel(batch)
            except (Busy, Lost, Refused) as error:
                raise UserError(f"{batch.id} at {batch.address} cannot be cancelled: {error}; try again") from error
            number += 1
    return number


def _read_key(file: Path) -> str:
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise UserError(f"{file}: others may read this key; run chmod 600 on it")
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: no key can be read from it ({one_line(error, 100)})") from error


def results_of(batch: Batch) -> Path:
    """The file that `vllm run-batch` is to write."""
    return Path(batch.file).with_suffix(RESULTS)


def vllm_command(batch: Batch) -> str:
    """The command that answers a file."""
    return shlex.join(["vllm", "run-batch", "-i", batch.file, "-o", str(results_of(batch)), "--model", batch.model])


def _from_anthropic(message: Json) -> Json:
    reasons = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}
    usage, stopped = _object(message, "usage"), message.get("stop_reason")
    kinds = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    choice = {"message": {"content": message.get("content") or []}, "finish_reason": reasons.get(str(stopped), "stop")}
    counts: Json = {
        "prompt_tokens": sum(_count(usage, kind) for kind in kinds) if "input_tokens" in usage else None,
        "completion_tokens": usage.get("output_tokens"),
        "prompt_tokens_details": {"cached_tokens": usage.get("cache_read_input_tokens")},
    }
    return {"model": message.get("model"), "choices": [choice], "usage": counts}


def _from_gemini(response: Json) -> Json:
    candidates = response["candidates"]
    candidate = candidates[0] if isinstance(candidates, list) and isinstance(candidates[0], dict) else {}
    parts = _object(candidate, "content").get("parts")
    content = [
        {"type": "thinking", "thinking": part.get("text")}
        if part.get("thought")
        else {"type": "text", "text": part.get("text")}
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict)
    ]
    reasons = {"STOP": "stop", "MAX_TOKENS": "length"}
    usage, thoughts = _object(response, "usageMetadata"), _object(response, "usageMetadata").get("thoughtsTokenCount")
    written = usage.get("candidatesTokenCount")
    counts: Json = {
        "prompt_tokens": usage.get("promptTokenCount"),
        "completion_tokens": _count(usage, "candidatesTokenCount") + _count(usage, "thoughtsTokenCount")
        if written is not None or thoughts is not None
        else None,
        "prompt_tokens_details": {"cached_tokens": usage.get("cachedContentTokenCount")},
        "completion_tokens_details": {"reasoning_tokens": thoughts},
    }
    reason = reasons.get(str(candidate.get("finishReason")), "content_filter")
    return {
        "model": response.get("modelVersion"),
        "choices": [{"message": {"content": content}, "finish_reason": reason}],
        "usage": counts,
    }


def _turns(request: Request) -> tuple[str, list[Any]]:
    """The system's text, and the other messages."""
    system = [part.text or "" for message in request.messages if message.role == "system" for part in message.content]
    return "".join(system), [message for message in request.messages if message.role != "system"]


def _base64(image: Image) -> tuple[str, str]:
    return mime_of(image), data_url(image).partition(",")[2]


def _joined(head: bytes, file: Path, tail: bytes) -> Iterator[bytes]:
    yield head
    with file.open("rb") as stream:
        while block := stream.read(_BLOCK):
            yield block
    yield tail


def _listed(head: bytes, file: Path, tail: bytes) -> Iterator[bytes]:
    yield head
    with file.open("rb") as lines:
        for number, line in enumerate(lines):
            yield b"," + line if number else line
    yield tail


def _parsed(line: bytes) -> Json:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _object(value: Any, name: str) -> Json:
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _text(value: Any, name: str) -> str:
    text = value.get(name) if isinstance(value, dict) else None
    if not isinstance(text, str) or not text:
        raise Lost(f"the reply has no {name}")
    return text


def _count(counts: Json, name: str) -> int:
    """A count; Gemini's are texts."""
    value = counts.get(name)
    return int(value) if isinstance(value, int | str) and str(value).isdecimal() else 0


def _message(error: Any) -> str:
    text = error.get("message") or error.get("code") if isinstance(error, dict) else error
    return one_line(text, 200) if text else ""
