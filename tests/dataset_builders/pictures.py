"""Pictures for tests, good and bad."""

from __future__ import annotations

import io
import struct
import zlib

from PIL import Image as Pillow


def picture(colour: int = 0, kind: str = "PNG", size: tuple[int, int] = (40, 30)) -> bytes:
    """A whole picture."""
    buffer = io.BytesIO()
    Pillow.effect_mandelbrot(size, (-2, -1.5, 1, 1.5), 40 + colour).convert("RGB").save(buffer, kind)
    return buffer.getvalue()


def huge_png(side: int = 30_000) -> bytes:
    """A few bytes that claim to be a picture of side x side pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


HTML = b"<!DOCTYPE html>\n<html><body>404</body></html>"
BAD = {
    "truncated PNG": (picture()[:-40], "damaged"),
    "PNG with a flipped bit": (bytes([*picture()[:60], picture()[60] ^ 1, *picture()[61:]]), "damaged"),
    "truncated JPEG": (picture(kind="JPEG")[:-40], "damaged"),
    "PNG without a body": (picture()[:30], "damaged: its bytes are no readable picture"),
    "JPEG without a body": (b"\xff\xd8\xff" + bytes(40), "damaged: its bytes are no readable picture"),
    "GIF without a body": (b"GIF89a", "damaged: its bytes are no readable picture"),
    "HTML": (HTML, "HTML page"),
    "huge": (huge_png(), "too large"),
    "large": (huge_png(10_000), "10000 x 10000"),
    "text": (b"not a picture", "not a picture"),
    "nothing": (b"", "is empty"),
}
"""Bytes that are no usable picture, and what is said of them."""
