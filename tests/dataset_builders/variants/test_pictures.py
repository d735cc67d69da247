"""Padding and inversion: what is drawn lies within its bounds, and every pixel is where it belongs."""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as PIL

from livek12.core.records import Image
from livek12.dataset_builders.proposals.variants import (
    COLOURS,
    LEAST_NOISE,
    MOST_NOISE,
    invert,
    inverted,
    noise_of,
    pad,
    padded,
    padding_of,
)
from livek12.engines.images import BadImage, check_image
from tests.conftest import ROOT

GAOKAO_MM = ROOT.parent / "shared" / "data" / "gaokao_mm" / "Data"
FIGURES = sorted((ROOT / "dataset_builders" / "sample" / "figures").glob("*.png"))


def check_padding(file: Path, random: Random) -> str:
    """Padding of one picture: widths, colour, and the original inside; gives the colour."""
    picture = check_image(Image(bytes=file.read_bytes()))
    drawn = padding_of(picture.size, random)
    width, height = picture.size
    for share in (drawn.left / width, drawn.right / width, drawn.top / height, drawn.bottom / height):
        assert 0.1 <= share <= 0.2, (file, share)
    whole = np.asarray(padded(picture, drawn))
    inside = np.zeros(whole.shape[:2], dtype=bool)
    inside[drawn.top : drawn.top + height, drawn.left : drawn.left + width] = True
    assert whole.shape == (height + drawn.top + drawn.bottom, width + drawn.left + drawn.right, 3)
    assert (whole[inside].reshape(height, width, 3) == np.asarray(picture)).all()
    assert (whole[~inside] == COLOURS[drawn.colour]).all()
    return drawn.colour


def check_inversion(file: Path, random: Random) -> float:
    """Inversion of one picture: exact but where noise was drawn, and so much noise; gives its density."""
    picture = check_image(Image(bytes=file.read_bytes()))
    drawn = noise_of(picture.size, random)
    pixels = picture.width * picture.height
    places = [*drawn.salt, *drawn.pepper]
    assert LEAST_NOISE <= drawn.density <= MOST_NOISE
    assert len(set(places)) == len(places) == round(drawn.density * pixels)
    negative = np.asarray(inverted(picture, drawn)).reshape(-1, 3)
    exact = 255 - np.asarray(picture).reshape(-1, 3)
    clean = np.ones(pixels, dtype=bool)
    clean[places] = False
    assert (negative[clean] == exact[clean]).all()
    assert (negative[drawn.salt] == 255).all() and (negative[drawn.pepper] == 0).all()
    return drawn.density


def test_pictures_of_the_sample_exam() -> None:
    random = Random(1)
    for file in FIGURES[:6]:
        check_padding(file, random)
        check_inversion(file, random)


@pytest.mark.release
def test_every_picture_of_gaokao_mm() -> None:
    files = sorted(GAOKAO_MM.rglob("*.png"))
    if not files:
        pytest.skip("../shared/data has no gaokao_mm")
    assert len(files) == 519
    random = Random(0)
    colours = Counter(check_padding(file, random) for file in files)
    densities = [check_inversion(file, random) for file in files]
    # even draws: 3 colours of 519 (standard deviation 10.7), densities with mean 3 %
    assert set(colours) == set(COLOURS) and all(130 < count < 216 for count in colours.values())
    assert 0.028 < float(np.mean(densities)) < 0.032


@settings(max_examples=200, deadline=None)
@given(st.integers(5, 4000), st.integers(5, 4000), st.integers(0, 2**32))
def test_padding_lies_within_a_tenth_and_a_fifth_of_any_size(width: int, height: int, seed: int) -> None:
    drawn = padding_of((width, height), Random(seed))
    assert all(10 * side >= width and 5 * side <= width for side in (drawn.left, drawn.right))
    assert all(10 * side >= height and 5 * side <= height for side in (drawn.top, drawn.bottom))


def encoded(mode: str, size: tuple[int, int], value: object, kind: str = "PNG") -> Image:
    data = io.BytesIO()
    PIL.new(mode, size, value).save(data, kind)  # type: ignore[arg-type]
    return Image(bytes=data.getvalue())


@pytest.mark.parametrize(
    ("image", "negative"),
    [
        (encoded("L", (40, 30), 10), (245, 245, 245)),
        (encoded("RGBA", (40, 30), (0, 0, 0, 0)), (0, 0, 0)),  # what is transparent is shown as white
        (encoded("1", (40, 30), 1), (0, 0, 0)),
        (encoded("P", (40, 30), 0), (255, 255, 255)),
        (encoded("RGB", (40, 30), (1, 2, 3), "BMP"), (254, 253, 252)),
    ],
)
def test_pictures_of_any_mode_are_inverted_as_they_are_shown(image: Image, negative: tuple[int, ...]) -> None:
    changed, told = invert(image, Random(3))
    ((commonest, _),) = Counter(map(tuple, np.asarray(check_image(changed)).reshape(-1, 3).tolist())).most_common(1)
    assert commonest == negative and told.startswith("noise=0.0")


def test_equal_draws_give_equal_bytes() -> None:
    image = Image(bytes=FIGURES[0].read_bytes())
    assert pad(image, Random(7)) == pad(image, Random(7)) != pad(image, Random(8))
    assert invert(image, Random(7)) == invert(image, Random(7)) != invert(image, Random(8))


def test_what_cannot_be_padded_or_read_is_said() -> None:
    with pytest.raises(BadImage, match="4 x 90 pixels, too few"):
        pad(encoded("L", (4, 90), 0), Random(0))
    for change in (pad, invert):
        with pytest.raises(BadImage, match="no readable one"):
            change(Image(bytes=b"<svg onload=alert(1)>"), Random(0))
