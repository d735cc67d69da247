"""Redraws pictures at an OpenAI-compatible endpoint: POST `/images/edits`, one picture in, one out.

Valid replies are one decodable picture, encoded anew as PNG and cached under model, prompt, seed and picture.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import json
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from livek12.core.records import Image, canonical_json
from livek12.core.store import Store
from livek12.core.text import one_line
from livek12.engines.images import BadImage, check_image
from livek12.engines.openai.transport import BrokenOff, Garbled, HttpReply, NoAnswer, TooLong, Wire

MAX_BYTES = 64 * 2**20
AT_ONCE = 4
ATTEMPTS = 3
SECONDS = 600.0
BACKOFF = 1.0
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class NoPicture(Exception):
    """No picture came; `failed`: a later retry may help."""

    def __init__(self, reason: str, failed: bool = False) -> None:
        super().__init__(reason)
        self.failed = failed


@dataclass(frozen=True)
class Edit:
    """One picture to redraw."""

    image: Image
    seed: int


class PictureEditor:
    """Redraws pictures by one prompt; arguments as of `OpenAIEngine`."""

    def __init__(
        self,
        model: str,
        prompt: str,
        store: Store,
        *,
        base_url: str = "",
        api_key: str | None = None,
        backoff: float = BACKOFF,
        extra_body: dict[str, Any] | None = None,
    ) -> None:
        self.model, self._prompt, self._store = model, prompt, store
        self._boundary = f"livek12-{secrets.token_hex(16)}"
        self._backoff, self._fields = backoff, {name: str(value) for name, value in (extra_body or {}).items()}
        kind = f"multipart/form-data; boundary={self._boundary}"
        address = base_url or os.environ.get("OPENAI_BASE_URL") or ""
        self._wire_args: Any = (address, api_key, AT_ONCE, MAX_BYTES, "images/edits", kind)
        Wire(*self._wire_args)

    def redraw(self, edits: Iterable[Edit]) -> Iterator[tuple[Edit, Image | NoPicture]]:
        """Redrawn pictures or reasons, in order."""
        waiting: list[Edit] = []
        for edit in edits:
            waiting.append(edit)
            if len(waiting) == AT_ONCE:
                yield from zip(waiting, asyncio.run(self._all(waiting)), strict=True)
                waiting = []
        yield from zip(waiting, asyncio.run(self._all(waiting)) if waiting else [], strict=True)

    def known(self, edit: Edit) -> Image | None:
        """The cached picture, if any."""
        text = self._store.get(self._name(edit))
        try:
            return Image(bytes=base64.b64decode(text)) if text else None
        except binascii.Error:
            return None

    def close(self) -> None:
        """Closes the store."""
        self._store.close()

    async def _all(self, edits: list[Edit]) -> list[Image | NoPicture]:
        wire = Wire(*self._wire_args)
        await wire.open()
        try:
            return list(await asyncio.gather(*(self._one(wire, edit) for edit in edits)))
        finally:
            await wire.close()

    async def _one(self, wire: Wire, edit: Edit) -> Image | NoPicture:
        if (remembered := self.known(edit)) is not None:
            return remembered
        try:
            image = _picture(await self._answer(wire, self._body(edit)))
        except NoPicture as error:
            return error
        self._store.put(self._name(edit), base64.b64encode(image.bytes or b"").decode())
        return image

    async def _answer(self, wire: Wire, body: bytes) -> bytes:
        reason = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                await asyncio.sleep(self._backoff * 2 ** (attempt - 1))
            try:
                reply = await asyncio.wait_for(wire.post(body), SECONDS)
            except TooLong:
                raise NoPicture(f"the reply has more than {MAX_BYTES // 2**20} MiB") from None
            except (NoAnswer, Garbled, BrokenOff, TimeoutError) as error:
                reason = one_line(str(error) or "no answer in time", 200)
                continue
            if reply.good:
                return reply.data
            reason = _refusal(reply)
            if reply.status not in _AGAIN:
                raise NoPicture(reason)
        raise NoPicture(reason, failed=True)

    def _body(self, edit: Edit) -> bytes:
        fields = {"model": self.model, "prompt": self._prompt, "n": "1", "seed": str(edit.seed), **self._fields}
        fields["response_format"] = "b64_json"
        lines = bytearray()
        for name, value in fields.items():
            lines += f'--{self._boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        lines += (
            f'--{self._boundary}\r\nContent-Disposition: form-data; name="image"; filename="figure.png"\r\n'
            "Content-Type: image/png\r\n\r\n"
        ).encode()
        return bytes(lines) + _as_png(edit.image) + f"\r\n--{self._boundary}--\r\n".encode()

    def _name(self, edit: Edit) -> str:
        return canonical_json(["images/edits", self.model, self._prompt, self._fields, edit.seed, edit.image.sha256])


def _picture(data: bytes) -> Image:
    try:
        (entry,) = json.loads(data)["data"]
        image = Image(bytes=base64.b64decode(entry["b64_json"], validate=True))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NoPicture("the reply holds no picture (data with one b64_json)") from None
    try:
        return Image(bytes=_as_png(image))
    except BadImage as error:
        raise NoPicture(f"the picture in the reply {error}") from None


def _as_png(image: Image) -> bytes:
    data = io.BytesIO()
    check_image(image).save(data, "PNG")
    return data.getvalue()


def _refusal(reply: HttpReply) -> str:
    text = reply.data.decode("utf-8", "replace")
    return f"the endpoint answered {reply.status}: {one_line(text, 160) or 'nothing'}"
