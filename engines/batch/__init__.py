"""Batch engine: submits, polls and fetches batches, and resumes them after a kill at any step.

A hash of key and content finds a request in a batch that was submitted before. A batch whose submission got no reply is
submitted again only after the provider's list has lacked it for `settle` seconds. A request that expired or failed for
a while goes into another batch; one whose results are gone, or that was cancelled, is *failed*.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.files import write_atomically
from livek12.core.prices import read_prices
from livek12.core.progress import say
from livek12.core.records import Key, Request, canonical_json
from livek12.core.run.access import BATCHES
from livek12.core.store import cache_folder
from livek12.core.text import public
from livek12.engines.base import Outcome
from livek12.engines.batch.ledger import ANSWERS, ID_BYTES, INPUT, Batch, Ledger, Outbox
from livek12.engines.batch.providers import Busy, Files, Lost, Refused, Result, lines_of, open_provider, vllm_command
from livek12.engines.common import Json, cannot_see, failure, has_images, versions_of
from livek12.engines.images import BadImage, Pictures
from livek12.engines.openai.format import BadCompletion, RequestForm, completion_of, response_of
from livek12.engines.thinking import Thinking

FIRST_POLL, GROWTH = 5.0, 1.6
LOOKS, LOOKS_IF_PAID = 3, 10
"""So often results that lack lines are fetched, and a missing batch is looked at, before they count as lost; so often
results that lack answers which the provider counts."""
PATIENCE = 20
"""So many rounds without any reply end the command."""
_GONE = (404, 410)
_ANSWERED, _TAKEN = 2, 3
_NEVER_SENT = -math.inf
_log = logging.getLogger(__name__)


def _rank(result: Result) -> int:
    return 1 if result.body is None else _ANSWERED


class BatchEngine:
    """Answers by the batch API of a provider, or by files for `vllm run-batch`.

    Args:
        provider: whose form the address speaks: openai, anthropic, gemini, or vllm for files.
        base_url: up to and with the version, such as https://api.openai.com/v1; default OPENAI_BASE_URL for openai.
        key_file: a file of mode 0600 with the key; default OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY.
        state: folder of its ledger; default the run folder's, else the cache's.
        wait: seconds after which the command ends with requests still waiting; default none (for vllm 0).
        poll: most seconds between looks.
        settle: seconds for which the provider's list must lack an unconfirmed batch.
        most_requests: of a batch; default the provider's limit.
        most_bytes: of a batch; default the provider's limit.
        max_retries: more batches for a request that expired or failed for a while.
        extra_body: more fields of a request's body, such as {"reasoning_effort": "low"}.
        max_tokens_field: "max_completion_tokens" for models that refuse "max_tokens".
        omit: body fields not to send, as a JSON list.
        price: of a million tokens asked directly, {"prompt": 1.25, "completion": 10}, for `--dry-run`.
    """

    name = "batch"
    revision: str | None = None

    def __init__(
        self,
        model: str,
        *,
        provider: str = "openai",
        base_url: str | None = None,
        key_file: str | None = None,
        state: str | None = None,
        wait: float | None = None,
        poll: float = 60.0,
        settle: float = 60.0,
        most_requests: int | None = None,
        most_bytes: int | None = None,
        max_retries: int = 2,
        images: bool = True,
        extra_body: dict[str, Any] | None = None,
        max_tokens_field: str = "max_tokens",
        omit: list[str] | None = None,
        price: dict[str, Any] | None = None,
        think_start: str | None = None,
        think_end: str | None = None,
    ) -> None:
        address = base_url or (os.environ.get("OPENAI_BASE_URL", "") if provider == "openai" else "")
        form = RequestForm(model, extra_body or {}, max_tokens_field, "thinking_token_budget", frozenset(omit or []))
        self._provider = open_provider(provider, address, key_file, form)
        read_prices(price, "the batch engine's price")
        self.model, self.images, self.address = model, images, public(address) if address else ""
        self._kind = provider
        self._root = Path(state) if state else cache_folder() / BATCHES
        if isinstance(self._provider, Files):
            wait = wait or 0.0
        self._deadline = None if wait is None else time.monotonic() + wait
        self._poll, self._settle, self._max_retries = poll, settle, max_retries
        own = (self._provider.most_requests, most_requests), (self._provider.most_bytes, most_bytes)
        self._limits = [most if less is None else min(most, less) for most, less in own]
        if min(self._limits) < 1:
            raise UserError("most_requests and most_bytes of the batch engine are numbers from 1")
        self._thinking, self._pictures = Thinking(think_start, think_end), Pictures()
        self._ledger: Ledger | None = None
        self._wanted: dict[bytes, tuple[str, str, int, bytes]] = {}
        """By the hash of a request: its key and the hash of its prompt, without objects for want of room."""

    def generate(self, requests: Iterable[Request]) -> Iterator[Outcome]:
        """Submits all requests, then yields outcomes as batches end."""
        self._open()
        self._outbox = Outbox(self._books, *self._limits)
        self._wanted, self._tries, self._unread = {}, Counter[bytes](), set[str]()
        self._replied, self._pause = False, 0.0
        for request in requests:
            if (refusal := self._take(request)) is not None:
                yield refusal
        self._send_file()
        interval, silent = min(FIRST_POLL, self._poll), 0
        while self._wanted:
            self._replied, self._pause = False, 0.0
            for token in [token for token in self._books.batches if token in self._unread]:
                batch = self._advance(self._books.batches[token])
                if batch.state == "fetched":
                    yield from self._outcomes(batch)
            if not self._unread:
                self._send_file()  # what is asked again goes together, once nothing else waits
            silent = 0 if self._replied else silent + 1
            if self._wanted and self._unread:
                self._rest(max(interval, self._pause), silent)
                interval = min(interval * GROWTH, self._poll)

    def versions(self) -> dict[str, str]:
        """Our version."""
        return versions_of()

    def close(self) -> None:
        """Notes the outcomes that were taken, and leaves the ledger."""
        if self._ledger is None:
            return
        of_a_run = (self._root.parent / "run.json").exists()  # it has stored what it did not ask; others may not
        for batch in [self._ledger.batches[token] for token in self._read]:
            if batch.state == "fetched":
                ids = self._ledger.ids(batch)
                over = of_a_run and self._wanted.keys().isdisjoint(ids)
                self._ledger.note_taken(batch, {*ids} if over else self._taken)
        self._ledger.close()
        self._ledger = None
        self._pictures.close()

    @property
    def _books(self) -> Ledger:
        assert self._ledger is not None, "opened before use"
        return self._ledger

    def _open(self) -> None:
        if self._ledger is None:
            self._ledger = Ledger(self._root, self._kind, self.address, self.model)
            self._places: dict[bytes, str] = {}
            """The batch that holds each request."""
            self._absent: dict[str, float] = {}
            """Since when the provider lacks a batch."""
            self._looks, self._read, self._taken = Counter[str](), set[str](), set[bytes]()
            for batch in self._ledger.batches.values():
                if batch.is_open:
                    self._places.update(dict.fromkeys(self._ledger.ids(batch), batch.token))

    # --- requests ---------------------------------------------------------------------------------------------------

    def _take(self, request: Request) -> Outcome | None:
        if has_images(request) and not self.images:
            return cannot_see(request, self.model)
        try:
            if has_images(request):
                self._pictures.of(request)
            line = self._provider.line("", request)
        except BadImage as error:
            return failure(request, error, final=True)
        content = canonical_json([str(request.key), line]).encode("utf-8", "replace")
        id = hashlib.sha256(content).digest()[:ID_BYTES]
        while id in self._wanted:  # the same request once more
            id = hashlib.sha256(id).digest()[:ID_BYTES]
        token = self._places.get(id)
        if token is None or not self._books.batches[token].is_open:
            if len(content) > self._outbox.most_bytes:
                return failure(request, f"{len(content):,} bytes are more than a batch may have", final=True)
            self._write(id, line)
        else:
            self._unread.add(token)
        key = request.key
        self._wanted[id] = (key.task, key.question_id, key.trial, bytes.fromhex(request.prompt_sha256))
        return None

    def _write(self, id: bytes, line: Json) -> None:
        for _ in range(2):
            text = json.dumps({**line, self._provider.id_field: self._outbox.next_id}, ensure_ascii=False)
            data = text.encode("utf-8", "replace") + b"\n"
            if self._outbox.has_room(len(data)):
                break
            self._send_file()
        self._outbox.add(id, data)

    def _send_file(self) -> None:
        batch = self._outbox.end()
        if batch is not None:
            self._places.update(dict.fromkeys(self._books.ids(batch), batch.token))
            self._unread.add(batch.token)
            self._advance(batch)

    # --- one batch --------------------------------------------------------------------------------------------------

    def _advance(self, batch: Batch) -> Batch:
        try:
            if batch.state == "sending":
                batch = self._submit_unless_there(batch)
            elif batch.state == "waiting":
                batch = self._poll_and_fetch(batch)
            self._replied = True
        except (Busy, Lost) as error:
            self._pause = max(self._pause, (isinstance(error, Busy) and error.wait) or 0.0)
            _log.info("batch %s: %s", batch.token, error)
        except Refused as error:
            if batch.state != "waiting" or error.status not in _GONE:
                raise UserError(f"{self.address} does not serve {self.model} by batches: {error}") from error
            self._looks[batch.token] += 1
            if self._looks[batch.token] >= LOOKS:
                return self._books.put(batch, how="gone", reason=str(error), state="fetched")
        return batch

    def _submit_unless_there(self, batch: Batch) -> Batch:
        token, file = batch.token, self._books.file(batch, INPUT)
        if batch.before is not None and self._absent.get(token) != _NEVER_SENT:
            others = {other.id for other in self._books.batches.values() if other.id}
            if id := self._provider.find(batch, others):
                return self._waiting(batch, id)
            if id is not None:
                self._absent.pop(token, None)
                return batch
            if time.monotonic() - self._absent.setdefault(token, time.monotonic()) < self._settle:
                return batch
        if not all(id in self._wanted for id in self._books.ids(batch)):  # an earlier command wanted more
            self._write_again(batch, self._wanted)
            self._unread.discard(token)
            return self._books.put(batch, state="void")
        if not batch.file:
            batch = self._books.put(batch, file=self._provider.upload(file, token))
        if batch.before is None:
            batch = self._books.put(batch, before=self._provider.newest())
        self._absent.pop(token, None)
        try:
            id = self._provider.create(file, batch)
        except Busy:
            self._absent[token] = _NEVER_SENT
            raise
        except Refused:
            self._books.put(batch, state="void")
            raise
        return self._waiting(batch, id)

    def _waiting(self, batch: Batch, id: str) -> Batch:
        where = vllm_command(batch) if isinstance(self._provider, Files) else f"{self.address} has them as {id}"
        say(f"{self.model}: {batch.requests:,} requests in a batch: {where}")
        return self._books.put(batch, id=id, state="waiting")

    def _poll_and_fetch(self, batch: Batch) -> Batch:
        progress = self._provider.progress(batch)
        if (progress.answered, progress.failed) != (batch.answered, batch.failed):
            batch = self._books.put(batch, answered=progress.answered, failed=progress.failed)
            over = batch.answered + batch.failed
            say(f"{self.model}: {over:,} of {batch.requests:,} requests of {batch.id} are over")
        if not progress.ended:
            return batch
        file = self._books.file(batch, ANSWERS)
        write_atomically(file, chain(lines_of(file), self._provider.results(batch, progress)))
        there = len({number for number, _ in self._results(batch)})
        self._looks[batch.token] += 1
        looks = LOOKS_IF_PAID if there < batch.answered else LOOKS
        if there < batch.requests and progress.ended != "failed" and self._looks[batch.token] < looks:
            return batch
        return self._books.put(batch, state="fetched", how=progress.ended, reason=progress.reason)

    def _results(self, batch: Batch) -> Iterator[tuple[int, Result]]:
        for line in lines_of(self._books.file(batch, ANSWERS)):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            result = self._provider.read(value) if isinstance(value, dict) else None
            token, _, number = result.id.rpartition("-") if result else ("", "", "")
            whole = token == batch.token and number.isdecimal() and len(number) < 10
            if result and whole and int(number) < batch.requests:
                yield int(number), result

    # --- outcomes ---------------------------------------------------------------------------------------------------

    def _outcomes(self, batch: Batch) -> Iterator[Outcome]:
        ids, again = self._books.ids(batch), set[bytes]()
        for number, result in self._each_once(batch):
            id = ids[number]
            if id not in self._wanted:
                continue
            if result.again and batch.how != "cancelled" and self._tries[id] < self._max_retries:
                self._tries[id] += 1
                again.add(id)
                continue
            yield self._outcome(self._wanted[id], result)
            del self._wanted[id]  # now that it was taken
            self._taken.add(id)
        self._write_again(batch, again)
        self._unread.discard(batch.token)
        self._read.add(batch.token)

    def _each_once(self, batch: Batch) -> Iterator[tuple[int, Result]]:
        best = bytearray(batch.requests)
        for number, result in self._results(batch):
            best[number] = max(best[number], _rank(result))
        lost = batch.answered > best.count(_ANSWERED)  # the provider may have been paid for them
        for number, result in self._results(batch):
            if best[number] == _rank(result):
                best[number] = _TAKEN
                yield number, result
        missing = Result("", None, self._why_missing(batch), batch.how in ("completed", "expired") and not lost)
        yield from ((number, missing) for number, rank in enumerate(best) if not rank)

    def _outcome(self, wanted: tuple[str, str, int, bytes], result: Result) -> Outcome:
        key = Key(task=wanted[0], question_id=wanted[1], trial=wanted[2])
        request = Request(key=key, messages=[])
        if result.body is None:
            return failure(request, result.reason, final=bool(result.id) and not result.again)
        try:
            completion = completion_of(result.body)
        except BadCompletion as error:
            return failure(request, error)
        split = self._thinking.split(completion.text)
        return response_of(completion, split, key, wanted[3].hex(), self)

    def _why_missing(self, batch: Batch) -> str:
        if batch.how == "gone":
            return f"the results of {batch.id} are gone; the same command asks again, and pays again"
        return batch.reason or f"{batch.id} has no line for this request (it is {batch.how})"

    def _write_again(self, batch: Batch, chosen: Collection[bytes]) -> None:
        lines = lines_of(self._books.file(batch, INPUT)) if chosen else ()
        for id, line in zip(self._books.ids(batch), lines, strict=False):
            if id in chosen:
                self._write(id, json.loads(line))

    # --- waiting ----------------------------------------------------------------------------------------------------

    def _rest(self, seconds: float, silent: int) -> None:
        batches = [self._books.batches[token] for token in self._unread]
        if silent >= PATIENCE:
            raise UserError(f"{self.address} does not answer; nothing is lost: run the same command again later")
        if self._deadline is not None and time.monotonic() + seconds > self._deadline:
            how = "run the same command again to fetch the answers (`livek12 status RUN` tells how far they are)"
            if isinstance(self._provider, Files):
                how = f"run {'; '.join(vllm_command(batch) for batch in batches)} and then the same command again"
            waiting = f"{len(self._wanted):,} requests wait in {len(batches)} batch{'es' * (len(batches) > 1)}"
            raise UserError(f"{waiting}, and nothing is lost: {how}")
        time.sleep(seconds)
