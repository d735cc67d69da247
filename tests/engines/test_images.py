"""Pictures checked before an engine sees them."""

from __future__ import annotations

import io
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Iterator

import pytest
from PIL import Image as PIL

from livek12.core.records import Image, Request
from livek12.engines import images
from livek12.engines.images import LOOK_AHEAD, BadImage, Pictures, check_image, mime_of
from tests.engines.helpers import ask, picture


def _png_header(width: int, height: int) -> bytes:
    """A PNG that only claims its size."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    size = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + size + chunk(b"IDAT", zlib.compress(b"\0" * 64)) + chunk(b"IEND", b"")


def _saved(image: PIL.Image, form: str) -> Image:
    stream = io.BytesIO()
    image.save(stream, form)
    return Image(bytes=stream.getvalue())


WHOLE = picture("red", 200, 200).bytes or b""
NOISE = PIL.effect_noise((64, 64), 90)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (None, "has no bytes"),
        (b"", "has no bytes"),
        (b"<!doctype html><p>404", "is not a PNG/JPEG"),
        (WHOLE[: len(WHOLE) // 2], "cannot be decoded"),
        (WHOLE[:60], "cannot be decoded: its bytes are no readable picture"),
        (WHOLE[:30], "its bytes are no readable one"),
        (b"\xff\xd8\xff" + bytes(40), "its bytes are no readable one"),
        ((_saved(NOISE, "JPEG").bytes or b"")[:700], "cannot be decoded"),
        (_png_header(30_000, 5_000), "is too large: 30000 x 5000"),
        (_png_header(60_000, 60_000), "is too large"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n", "is not a PNG/JPEG"),
        (_saved(NOISE, "TIFF").bytes, "is not a PNG/JPEG"),
    ],
    ids=[
        "absent",
        "empty",
        "html",
        "half a png",
        "png head",
        "png name",
        "jpeg name",
        "half a jpeg",
        "large",
        "bomb",
        "eps",
        "tiff",
    ],
)
def test_what_is_no_picture_says_why(data: bytes | None, says: str) -> None:
    with pytest.raises(BadImage, match=says) as error:
        check_image(Image(bytes=data))
    assert "\n" not in str(error.value)
    assert "object at 0x" not in str(error.value)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_usual_formats_are_read_with_their_type(form: str) -> None:
    image = picture("red", 30, 20, form)
    assert check_image(image).size == (30, 20)
    assert mime_of(image) == f"image/{form.lower()}"


def test_transparent_ground_becomes_white_and_16_bit_grey_stays_grey() -> None:
    clear = check_image(_saved(PIL.new("RGBA", (4, 4), (255, 0, 0, 0)), "PNG"))
    assert clear.getpixel((0, 0)) == (255, 255, 255)
    deep = PIL.new("I;16", (4, 4), 0x8000)
    assert check_image(_saved(deep, "PNG")).getpixel((0, 0)) == (128, 128, 128)


def test_a_broken_picture_is_named_by_question_and_place() -> None:
    request = ask("q7", images=(picture("red"), Image(bytes=b"junk")))
    with pytest.raises(BadImage, match=r"question q7: image 2 of 2 is not a"):
        Pictures().of(request)
    lost = ask("q8", images=(picture("red"),)).model_copy(update={"images": {}})
    with pytest.raises(BadImage, match=r"question q8: image 1 of 1 is missing"):
        Pictures().of(lost)


def test_a_page_shared_by_questions_is_decoded_once_and_memory_is_bounded() -> None:
    page, other = picture("red", 100, 100), picture("blue", 100, 100)
    pictures = Pictures(kept_pixels=10_000)
    first = pictures.of(ask("a", images=(page,)))[page.sha256]
    assert pictures.of(ask("b", images=(page,)))[page.sha256] is first
    pictures.of(ask("c", images=(other,)))
    assert pictures.of(ask("d", images=(page,)))[page.sha256] is not first


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[str, bool]]:
    """How often each picture is decoded, by its name and whether a thread of `Pictures` does it."""
    counted: Counter[tuple[str, bool]] = Counter()
    here = threading.current_thread()

    def counting(image: Image, *limits: int) -> PIL.Image:
        counted[image.sha256, threading.current_thread() is not here] += 1
        return check_image(image, *limits)

    monkeypatch.setattr(images, "check_image", counting)
    return counted


def test_pictures_of_later_requests_are_decoded_meanwhile(decoded: Counter[tuple[str, bool]]) -> None:
    """Each once, in threads, while the first is not yet asked for; requests keep their order."""
    pages = [picture(colour, 300, 300) for colour in ("red", "green", "blue", "white", "black")]
    asked = [[ask(str(n), images=(pages[n // 10],))] for n in range(50)]
    pictures = Pictures()
    seen = []
    for (request,) in pictures.decoding(asked):
        seen.append(request.key.question_id)
        assert len(pictures.of(request)) == 1
    assert seen == [str(n) for n in range(50)]
    assert decoded == {(page.sha256, True): 1 for page in pages}
    pictures.close()


def test_what_is_decoded_ahead_is_bounded(decoded: Counter[tuple[str, bool]]) -> None:
    """By prompts and by pixels; what had no room ahead is decoded when it is asked for."""
    taken = 0

    def endless() -> Iterator[list[Request]]:
        nonlocal taken
        while True:
            taken += 1
            yield [ask(str(taken), images=(picture(f"#{taken:06x}", 100, 100),))]

    pictures = Pictures(kept_pixels=80_000)
    for done, (request,) in enumerate(pictures.decoding(endless()), start=1):
        assert taken - done <= LOOK_AHEAD
        assert sum(decoded.values()) - done < 4  # half of what is kept: four of them
        pictures.of(request)
        if done == 40:
            break
    assert max(decoded.values()) == 1
    pictures.close()


def test_text_is_not_held_back_and_bad_pictures_fail_in_their_turn() -> None:
    taken = 0

    def mixed() -> Iterator[list[Request]]:
        nonlocal taken
        for n in range(6):
            taken += 1
            yield [ask(str(n), images=(Image(bytes=b"junk"),) if n == 3 else ())]

    pictures = Pictures()
    for done, (request,) in enumerate(pictures.decoding(mixed()), start=1):
        if done < 4:
            assert taken == done
            assert pictures.of(request) == {}
        elif done == 4:
            with pytest.raises(BadImage, match="question 3: image 1 of 1 is not a"):
                pictures.of(request)
