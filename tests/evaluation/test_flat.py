"""Which questions one answer decides, and several pictures as one."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from PIL import Image as Pillow

from livek12.core.errors import UserError
from livek12.core.records import Image, Option, Question, Variable
from livek12.evaluation.flat import MOST_PIXELS, one_picture, target_of

ABC = [Option(label=label, text=f"text {label}") for label in "ABC"]


def asked(kind: str, *answer: str, **more: Any) -> Question:
    """A question with that key."""
    fields = {"id": "q", "benchmark": "livek12", "language": "en", "subject": "math", "question": "?", **more}
    return Question(question_type=kind, answer=list(answer), **fields)


@pytest.mark.parametrize(
    ("question", "target"),
    [
        (asked("single_choice", "B", options=ABC), "B"),
        (asked("single_choice", " B ", options=ABC), "B"),
        (asked("single_choice", "4"), "4"),
        (asked("multiple_choice", "AC", options=ABC), "AC"),
        (asked("single_choice", "D", options=ABC), ""),
        (asked("single_choice", "text B", options=ABC), ""),
        (asked("single_choice", "A", "B", options=ABC), ""),
        (asked("single_choice"), ""),
        (asked("fill_in_blank", "12"), "12"),
        (asked("fill_in_blank", r"$\frac{1}{2}$"), r"\frac{1}{2}"),
        (asked("fill_in_blank", r"\(\sqrt[3]{2}\)"), r"\sqrt[3]{2}"),
        (asked("short_answer", r"2x\sin(3t)"), r"2x\sin(3t)"),
        (asked("short_answer", "-7"), "-7"),
        (asked("fill_in_blank", "0.97"), ""),
        (asked("fill_in_blank", "0. 98."), ""),
        (asked("fill_in_blank", "12 cm"), ""),
        (asked("fill_in_blank", r"12\,\mathrm{cm}"), ""),
        (asked("fill_in_blank", "1, 2"), ""),
        (asked("fill_in_blank", "$1$ or $2$"), ""),
        (asked("fill_in_blank", "1", "2"), ""),
        (asked("fill_in_blank", "1/2", part_points=[2.0, 3.0]), ""),
        (asked("fill_in_blank", "减小"), ""),
        (asked("fill_in_blank", "the sun"), ""),
        (asked("fill_in_blank", r"2 \pm 1"), ""),
        (asked("fill_in_blank", "x = 3"), ""),
        (asked("fill_in_blank", "--"), ""),
        (asked("fill_in_blank", "1" * 121), ""),
        (asked("true_false", "True"), ""),
        (asked("open_ended", "7"), ""),
        (asked("proof", "7"), ""),
        (asked("fill_in_blank", "7", answer_images=[Image(path="key.png")]), ""),
        (asked("short_answer", "3x", variables=[Variable(name="v", type="formula", value="$3x$")]), "3x"),
        (asked("short_answer", "stable", variables=[Variable(name="v", type="other", value="3")]), ""),
        (asked("short_answer", "3", "4", variables=[Variable(name=n, type="numeric", value="3") for n in "ab"]), ""),
        (asked("short_answer", variables=[Variable(name="v", type="numeric", value="")]), ""),
    ],
)
def test_what_one_answer_decides(question: Question, target: str) -> None:
    assert target_of(question) == target


def drawn(width: int, height: int, colour: str = "red") -> Image:
    out = io.BytesIO()
    Pillow.new("RGB", (width, height), colour).save(out, "PNG")
    return Image(bytes=out.getvalue(), path="a.png")


def opened(address: str) -> Any:
    kind, data = address.split(",")
    assert kind == "data:image/png;base64"
    return Pillow.open(io.BytesIO(base64.b64decode(data)))


def test_one_picture_goes_out_as_it_is_and_several_below_each_other() -> None:
    one, other = drawn(40, 30), drawn(60, 20, "blue")
    assert one_picture([]) == ""
    assert base64.b64decode(one_picture([one]).split(",")[1]) == one.bytes
    both = opened(one_picture([one, other]))
    assert both.width == 60 and both.height > 50
    colours = [both.getpixel((30, y)) for y in range(both.height)]
    assert colours.count((255, 0, 0)) == 30 and colours.count((0, 0, 255)) == 20
    assert colours.index((255, 0, 0)) < colours.index((0, 0, 255))
    assert one_picture([one, other]) == one_picture([one, other])


def test_what_would_be_too_large_is_made_smaller_and_what_is_no_picture_is_told() -> None:
    assert max(opened(one_picture([drawn(10, 5_000)] * 2)).size) <= MOST_PIXELS
    for pictures in ([Image(bytes=b"no picture")], [drawn(5, 5), Image(path="gone.png")]):
        with pytest.raises(UserError, match=r"a picture (is not|has no bytes)"):
            one_picture(pictures)
