"""Batch APIs: limits, requests and replies of each; the package has all that they share.

A batch carries a token of ours: in its metadata, its display name, or (Anthropic, which lists neither) in the ids of
its requests, which are readable once it has ended. No request is repeated and no redirect followed; proxies and
certificates are those of the environment. Messages omit the address, which may hold credentials.
"""

from __future__ import annotations

import http.client
import json
import os
import shlex
import socket
import stat
import urllib.request
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit

from livek12.core.errors import UserError
from livek12.core.records import Message, Request
from livek12.core.text import one_line, public
from livek12.core.version import __version__
from livek12.engines.batch.ledger import Batch
from livek12.engines.common import Json, content_parts, seed_of
from livek12.engines.images import mime_of
from livek12.engines.openai import retry_after
from livek12.engines.openai.format import RequestForm, data_url, said_by_error
from livek12.engines.openai.transport import LONGEST_ERROR

_AGAIN = (408, 409, 425, 429)
_ENDS = {"succeeded": "completed"} | {state: state for state in ("completed", "expired", "failed", "cancelled")}
_BLOCK = 1 << 20
_MOST_PAGES = 1000
_Reply = tuple[Json | None, str, bool]
"""A chat completion or a reason, and if a retry may help."""


SECONDS = 600.0
LONGEST_REPLY, LONGEST_LINE = 64 * 2**20, 16 * 2**20
_NOT_TAKEN = (425, 429)
_PERHAPS_TAKEN = (408, 409)


class Busy(Exception):
    """The server did not take the request; `wait`: stated seconds until it may."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


class Lost(Exception):
    """No whole reply came: the server may have taken the request."""


class Refused(Exception):
    """The server refused the request for good."""

    def __init__(self, reason: str, status: int = 0) -> None:
        super().__init__(reason)
        self.status = status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *redirect: Any) -> None: ...


class Http:
    """Requests below one address, with its headers."""

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(address)
        if public(address) == "…" or "@" in parts.netloc:
            raise UserError("base_url is no address without a password: give one such as http://localhost:8000/v1")
        self.origin, self.path, self._query = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/"), parts.query
        self._headers = {"User-Agent": f"livek12/{__version__}", "Accept-Encoding": "identity", **headers}
        self._opener = urllib.request.build_opener(_NoRedirect())

    def call(self, method: str, path: str, body: Json | Iterable[bytes] | None = None, **headers: str) -> Json:
        """JSON object of a reply; `headers` with _ for -."""
        with self.open(method, path, body, **headers) as reply:
            data = reply.read(LONGEST_REPLY + 1)
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Lost("the reply is no whole JSON object")
        return value

    def lines(self, path: str) -> Iterator[bytes]:
        """Lines of a file; longer ones than `LONGEST_LINE` come in pieces."""
        with self.open("GET", path) as reply:
            size, length = 0, reply.headers.get("Content-Length")
            while line := reply.readline(LONGEST_LINE):
                size += len(line)
                yield line
            if length is not None and size < int(length):
                raise Lost("the file broke off")

    @contextmanager
    def open(
        self, method: str, path: str, body: Json | Iterable[bytes] | None = None, **headers: str
    ) -> Iterator[http.client.HTTPResponse]:
        """Open reply; a `path` from the root of the host begins with a slash."""
        url = self.origin + (path if path.startswith("/") else f"{self.path}/{path}")
        if self._query:
            url += ("&" if "?" in url else "?") + self._query
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        request = urllib.request.Request(url, data=data, method=method)
        for name, value in {**self._headers, "Content-Type": "application/json", **headers}.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with self._opener.open(request, timeout=SECONDS) as reply:
                yield reply
        except HTTPError as error:
            raise _refusal(error) from None
        except URLError as error:
            never_there = isinstance(error.reason, ConnectionRefusedError | socket.gaierror)
            raise (Busy if never_there else Lost)(f"no connection: {one_line(error.reason, 120)}") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Lost(f"the connection broke: {one_line(error, 120)}") from None


def _refusal(error: HTTPError) -> Exception:
    with error:
        try:
            message = said_by_error(error.read(LONGEST_ERROR))
        except (OSError, http.client.HTTPException):
            message = ""
    reason = f"the provider answered {error.code}: {message}"
    if error.code in _NOT_TAKEN and "insufficient_quota" not in message:
        return Busy(reason, retry_after(error.headers.get("Retry-After")))
    return Lost(reason) if error.code >= 500 or error.code in _PERHAPS_TAKEN else Refused(reason, error.code)


@dataclass(frozen=True)
class BatchProgress:
    """State of a batch: counts and, once ended, how (completed, expired, cancelled, failed) and its files."""

    answered: int = 0
    failed: int = 0
    ended: str = ""
    files: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Result:
    """Line of the results: a chat completion or a reason; `again`: a retry may help."""

    id: str
    body: Json | None
    reason: str = ""
    again: bool = False


class Provider:
    """One batch API; this one is OpenAI's, which many speak."""

    key_variable, headers = "OPENAI_API_KEY", {"Authorization": "Bearer {key}"}
    example = "https://api.openai.com/v1"
    most_requests, most_bytes = 50_000, 200_000_000
    id_field, name_field, token_field = "custom_id", "id", "livek12"
    place, first_page, cursor, stop = "batches", "limit=100", "after", "/cancel"

    def __init__(self, http: Http, form: RequestForm) -> None:
        self.http, self.form = http, form

    def line(self, id: str, request: Request) -> Json:
        """Request as a line of the input."""
        body = self.form.as_json(request, request.sampling.max_tokens)
        return {"custom_id": id, "method": "POST", "url": "/v1/chat/completions", "body": body}

    def upload(self, file: Path, token: str) -> str:
        """Uploads the input; returns its name there."""
        part = f'--{token}\r\nContent-Disposition: form-data; name="'
        head = f'{part}purpose"\r\n\r\nbatch\r\n{part}file"; filename="{token}.jsonl"\r\n\r\n'.encode()
        tail = f"\r\n--{token}--\r\n".encode()
        size, kind = str(len(head) + file.stat().st_size + len(tail)), f"multipart/form-data; boundary={token}"
        body = _joined(head, file, tail)
        return _text(self.http.call("POST", "files", body, Content_Type=kind, Content_Length=size), "id")

    def newest(self) -> str:
        """Newest batch of the list, where the list has no token; "" else."""
        return ""

    def create(self, file: Path, batch: Batch) -> str:
        """Submits the batch; returns its name there. After `Lost`, `find` looks for it."""
        body = {"input_file_id": batch.file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        return self._id(self.http.call("POST", self.place, {**body, "metadata": {self.token_field: batch.token}}))

    def find(self, batch: Batch, others: Collection[str]) -> str | None:
        """Batch in the provider's list; None if missing, "" if unknown yet."""
        for entry in self._listed():
            token = _object(entry, "metadata").get(self.token_field)
            if token == batch.token or entry.get("input_file_id") == batch.file:
                return self._id(entry)
        return None

    def progress(self, batch: Batch) -> BatchProgress:
        """State of a batch."""
        return self._progress(self.http.call("GET", f"{self.place}/{batch.id}"))

    def results(self, batch: Batch, progress: BatchProgress) -> Iterator[bytes]:
        """Available lines of the results."""
        for file in progress.files:
            yield from self.http.lines(file)
            yield b"\n"  # its last line may lack one

    def cancel(self, batch: Batch) -> None:
        """Asks the provider to stop."""
        self.http.call("POST", f"{self.place}/{batch.id}{self.stop}", {})

    def read(self, line: Json) -> Result:
        """Line of the results."""
        return Result(str(line.get(self.id_field)), *self._read(line))

    def _read(self, line: Json) -> _Reply:
        reply, error = _object(line, "response"), line.get("error")
        body, status = _object(reply, "body"), _count(reply, "status_code")
        if body and status == 200 and not error:
            return body, "", False
        error = error or body.get("error") or body
        unasked = isinstance(error, dict) and error.get("code") in ("batch_expired", "batch_cancelled")
        return None, _message(error) or f"status {status}", unasked or status in _AGAIN or status >= 500

    def _id(self, entry: Json) -> str:
        return _text(entry, self.name_field).removeprefix("batches/")

    def _progress(self, entry: Json) -> BatchProgress:
        counts, state = _object(entry, "request_counts"), str(entry.get("status"))
        errors = _objects(_object(entry, "errors").get("data"))
        if any(error.get("code") == "token_limit_exceeded" for error in errors):
            state = "expired"  # nothing was asked, and may be once other batches have ended
        files = [file for name in ("output_file_id", "error_file_id") if isinstance(file := entry.get(name), str)]
        done = _count(counts, "completed"), _count(counts, "failed"), _ENDS.get(state, "")
        paths = tuple(f"files/{file}/content" for file in files if file)
        return BatchProgress(*done, paths, one_line("; ".join(map(_message, errors)), 200))

    def _listed(self) -> Iterator[Json]:
        page = self.first_page
        for _ in range(_MOST_PAGES):
            reply = self.http.call("GET", f"{self.place}?{page}")
            entries = _objects(reply.get("data") or reply.get("operations"))
            yield from entries
            following = self._id(entries[-1]) if reply.get("has_more") and entries else reply.get("nextPageToken")
            if not following:
                return
            page = f"{self.first_page}&{self.cursor}={quote(str(following), safe='')}"
        raise Lost("the list of batches has no end")

    def _merged(self, body: Json) -> Json:
        """Body with `extra_body`, one level deep, and without `omit` and what is not set."""
        for name, value in self.form.fields.items():
            own = body.get(name)
            body[name] = {**own, **value} if isinstance(own, dict) and isinstance(value, dict) else value
        return {name: value for name, value in body.items() if value is not None and name not in self.form.omit}


class Anthropic(Provider):
    """The Message Batches API."""

    key_variable, headers = "ANTHROPIC_API_KEY", {"x-api-key": "{key}", "anthropic-version": "2023-06-01"}
    example = "https://api.anthropic.com/v1"
    most_requests, most_bytes = 100_000, 255_000_000
    place, cursor = "messages/batches", "after_id"

    def line(self, id: str, request: Request) -> Json:
        """Request as an entry of the body."""

        def picture(mime: str, data: str) -> Json:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}

        sampling, budget = request.sampling, request.sampling.thinking_budget
        system, turns = _turns(request, picture)
        params: Json = {
            "model": self.form.model,
            "system": system or None,
            "messages": [{"role": role, "content": parts} for role, parts in turns],
            **{name: getattr(sampling, name) for name in ("max_tokens", "temperature", "top_p", "top_k")},
            "stop_sequences": sampling.stop or None,
            "thinking": {"type": "enabled", "budget_tokens": budget} if budget else None,
        }
        return {"custom_id": id, "params": self._merged(params)}

    def upload(self, file: Path, token: str) -> str:
        """The requests travel with the batch."""
        return ""

    def newest(self) -> str:
        """Newest batch: those after it may be ours."""
        entries = _objects(self.http.call("GET", f"{self.place}?limit=1").get("data"))
        return self._id(entries[0]) if entries else ""

    def create(self, file: Path, batch: Batch) -> str:
        """Submits the requests."""
        body = _joined(b'{"requests":[', file, b"]}", b",")
        size = file.stat().st_size + len('{"requests":[]}') + batch.requests - 1
        return self._id(self.http.call("POST", self.place, body, Content_Length=str(size)))

    def find(self, batch: Batch, others: Collection[str]) -> str | None:
        """Searches the batches newer than the list before the submission, by their first result."""
        missing = None
        for entry in self._listed():
            id, counts = self._id(entry), _object(entry, "request_counts")
            if id == batch.before:
                break
            total = sum(_count(counts, name) for name in counts)
            if id in others or total not in (0, batch.requests):  # it may count later
                continue
            if entry.get("processing_status") != "ended":
                missing = ""
            elif self._is_ours(id, batch.token):
                return id
        return missing

    def _is_ours(self, id: str, token: str) -> bool:
        try:
            return f'"{token}-'.encode() in next(self.http.lines(f"{self.place}/{id}/results"), b"")
        except Refused:  # its results are gone, or another key's
            return False

    def _progress(self, entry: Json) -> BatchProgress:
        counts, ended = _object(entry, "request_counts"), entry.get("processing_status") == "ended"
        failed = sum(_count(counts, name) for name in ("errored", "canceled", "expired"))
        files = (f"{self.place}/{_text(entry, 'id')}/results",) if ended else ()
        how = "cancelled" if _count(counts, "canceled") else "completed"
        return BatchProgress(_count(counts, "succeeded"), failed, how if ended else "", files)

    def _read(self, line: Json) -> _Reply:
        result = _object(line, "result")
        kind, message, error = result.get("type"), _object(result, "message"), _object(result, "error")
        if kind == "succeeded" and message:
            return _from_anthropic(message), "", False
        error = _object(error, "error") or error
        final = error.get("type") in ("invalid_request_error", "not_found_error", "request_too_large")
        return None, _message(error) or str(kind), not final


class Gemini(Provider):
    """Gemini Batch API, with input files."""

    key_variable, headers = "GEMINI_API_KEY", {"x-goog-api-key": "{key}"}
    example = "https://generativelanguage.googleapis.com/v1beta"
    most_bytes = 2_000_000_000
    id_field, name_field, token_field = "key", "name", "displayName"
    first_page, cursor, stop = "pageSize=100", "pageToken", ":cancel"

    def line(self, id: str, request: Request) -> Json:
        """Request as a line of the input."""

        def picture(mime: str, data: str) -> Json:
            return {"inlineData": {"mimeType": mime, "data": data}}

        sampling, budget = request.sampling, request.sampling.thinking_budget
        system, turns = _turns(request, picture)
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
                    "role": "model" if role == "assistant" else "user",
                    "parts": [{"text": part["text"]} if "text" in part else part for part in parts],
                }
                for role, parts in turns
            ],
            "generationConfig": {name: value for name, value in config.items() if value is not None},
        }
        return {"key": id, "request": self._merged(body)}

    def upload(self, file: Path, token: str) -> str:
        """Uploads the input in one piece of a resumable upload."""
        size, kind = str(file.stat().st_size), "application/jsonl"
        start = {"Protocol": "resumable", "Command": "start"}
        start |= {"Header_Content_Length": size, "Header_Content_Type": kind}
        own = {f"X_Goog_Upload_{name}": value for name, value in start.items()}
        entry = {"file": {"display_name": token}}
        with self.http.open("POST", f"/upload{self.http.path}/files", entry, **own) as reply:
            url = reply.headers.get("X-Goog-Upload-URL") or ""
        if not url.startswith(f"{self.http.origin}/"):
            raise Refused(f"the upload leads to another host ({one_line(url, 100)})")
        own = {"X_Goog_Upload_Offset": "0", "X_Goog_Upload_Command": "upload, finalize", "Content_Length": size}
        path = url.removeprefix(self.http.origin)
        stored = self.http.call("POST", path, _joined(b"", file, b""), Content_Type=kind, **own)
        return _text(_object(stored, "file"), "name")

    def create(self, file: Path, batch: Batch) -> str:
        """Submits the batch."""
        body = {"batch": {"display_name": batch.token, "input_config": {"file_name": batch.file}}}
        return self._id(self.http.call("POST", f"models/{self.form.model}:batchGenerateContent", body))

    def _progress(self, entry: Json) -> BatchProgress:
        metadata = _object(entry, "metadata")
        counts, state = _object(metadata, "batchStats"), str(metadata.get("state")).rpartition("_STATE_")[2].lower()
        file = (_object(entry, "response") or _object(metadata, "output")).get("responsesFile")
        files = (f"/download{self.http.path}/{file}:download?alt=media",) if isinstance(file, str) else ()
        done = _count(counts, "successfulRequestCount"), _count(counts, "failedRequestCount"), _ENDS.get(state, "")
        return BatchProgress(*done, files, _message(entry.get("error")))

    def _read(self, line: Json) -> _Reply:
        response, error = _object(line, "response"), _object(line, "error")
        if candidates := _objects(response.get("candidates")):
            return _from_gemini(response, candidates[0]), "", False
        if blocked := _object(response, "promptFeedback").get("blockReason"):
            return None, f"blocked: {one_line(blocked, 60)}", False
        final = error.get("code") in (3, 5, 7, 400, 403, 404)  # numbers of gRPC or HTTP
        return None, _message(error) or "no candidate", not final


class Files(Provider):
    """Files for `vllm run-batch`, run by the user."""

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

    def progress(self, batch: Batch) -> BatchProgress:
        """Counts the whole lines; vLLM writes all of them at its end."""
        lines = sum(line.endswith(b"\n") for line in lines_of(_results_of(batch)))
        return BatchProgress(lines, 0, "completed" if lines >= batch.requests else "")

    def results(self, batch: Batch, progress: BatchProgress) -> Iterator[bytes]:
        """The lines that are there."""
        return lines_of(_results_of(batch))

    def cancel(self, batch: Batch) -> None:
        """Nothing is submitted."""


PROVIDERS: Mapping[str, type[Provider]] = {"openai": Provider, "anthropic": Anthropic, "gemini": Gemini, "vllm": Files}


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
    return kind(Http(address, {name: text.format(key=key or "EMPTY") for name, text in kind.headers.items()}), form)


def _read_key(file: Path) -> str:
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise UserError(f"{file}: others may read this key; run chmod 600 on it")
        return file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: no key can be read from it ({one_line(error, 100)})") from error


def cancel(batches: Iterable[Batch], key_file: str | None) -> int:
    """Cancels waiting batches; returns their number."""
    waiting = [batch for batch in batches if batch.state == "waiting"]
    for batch in waiting:
        try:
            form = RequestForm(batch.model, {}, "", "", ())
            open_provider(batch.provider, batch.address, key_file, form).cancel(batch)
        except (Busy, Lost, Refused) as error:
            raise UserError(f"{batch.id} at {batch.address} cannot be cancelled: {error}; try again") from error
    return len(waiting)


def lines_of(file: Path) -> Iterator[bytes]:
    """Lines of a file that may be missing."""
    if file.exists():
        with file.open("rb") as lines:
            yield from lines


def _results_of(batch: Batch) -> Path:
    return Path(batch.file).with_suffix(".results.jsonl")


def vllm_command(batch: Batch) -> str:
    """The command that answers a file."""
    return shlex.join(["vllm", "run-batch", "-i", batch.file, "-o", str(_results_of(batch)), "--model", batch.model])


def _from_anthropic(message: Json) -> Json:
    reasons = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}
    usage = _object(message, "usage")
    read = [_count(usage, f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
    ended = reasons.get(str(message.get("stop_reason")), "stop")
    counts = sum(read) if usage else None, usage.get("cache_read_input_tokens"), usage.get("output_tokens"), None
    return _chat(message.get("model"), message.get("content") or [], ended, *counts)


def _from_gemini(response: Json, candidate: Json) -> Json:
    reasons = {"STOP": "stop", "MAX_TOKENS": "length"}
    usage, content = _object(response, "usageMetadata"), []
    for part in _objects(_object(candidate, "content").get("parts")):
        kind = "thinking" if part.get("thought") else "text"
        content.append({"type": kind, kind: part.get("text")})
    written = _count(usage, "candidatesTokenCount") + _count(usage, "thoughtsTokenCount") if usage else None
    read, cached, thought = (usage.get(f"{kind}TokenCount") for kind in ("prompt", "cachedContent", "thoughts"))
    ended = reasons.get(str(candidate.get("finishReason")), "content_filter")
    return _chat(response.get("modelVersion"), content, ended, read, cached, written, thought)


def _chat(model: Any, content: Any, ended: str, read: Any, cached: Any, written: Any, thought: Any) -> Json:
    usage: Json = {"prompt_tokens": read, "prompt_tokens_details": {"cached_tokens": cached}}
    usage |= {"completion_tokens": written, "completion_tokens_details": {"reasoning_tokens": thought}}
    return {"model": model, "choices": [{"message": {"content": content}, "finish_reason": ended}], "usage": usage}


def _turns(request: Request, picture: Callable[[str, str], Json]) -> tuple[str, list[tuple[str, list[Json]]]]:
    """The system's text, and the role and parts of the other messages; `picture` converts a type and its base64."""

    def shown(sha256: str) -> Json:
        image = request.images[sha256]
        return picture(mime_of(image), data_url(image).partition(",")[2])

    def is_system(message: Message) -> bool:
        return message.role == "system"

    system = "".join(part.text or "" for message in filter(is_system, request.messages) for part in message.content)
    return system, [(turn.role, content_parts(turn, shown)) for turn in request.messages if not is_system(turn)]


def _joined(head: bytes, file: Path, tail: bytes, between: bytes = b"") -> Iterator[bytes]:
    yield head
    with file.open("rb", buffering=_BLOCK) as lines:
        for number, line in enumerate(lines):
            yield between + line if number else line
    yield tail


def _object(value: Any, name: str) -> Json:
    inner = value.get(name) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}


def _objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Any, name: str) -> str:
    text = value.get(name) if isinstance(value, dict) else None
    if not isinstance(text, str) or not text:
        raise Lost(f"the reply has no {name}")
    return text


def _count(counts: Json, name: str) -> int:
    value = str(counts.get(name))
    return int(value) if value.isdecimal() and len(value) < 10 else 0


def _message(error: Any) -> str:
    text = error.get("message") or error.get("code") if isinstance(error, dict) else error
    return one_line(text, 200) if text else ""
