"""Picture transforms: padding, and inversion with salt-and-pepper noise (MDK12-Bench, "Dynamic evaluation").

Contract: padding keeps all pixels; inversion is 255 minus each channel except under noise. Pictures are as engines show
them: upright, RGB, on white.
"""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from livek12.core.records import Image
from livek12.engines.images import BadImage, check_image

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

LEAST_PADDING, MOST_PADDING = 0.1, 0.2
"""Shares of width (left, right) or height (top, bottom) added to each side."""
COLOURS = {"black": 0, "white": 255, "grey": 128}
LEAST_NOISE, MOST_NOISE = 0.01, 0.05
"""Shares of pixels that become black or white. The article names no bounds: these keep print legible."""
_SMALLEST = 5
"""With fewer pixels, no whole number is within 10 % to 20 %."""


@dataclass(frozen=True)
class Padding:
    """Pixels on each side, and their colour."""

    left: int
    top: int
    right: int
    bottom: int
    colour: str


@dataclass(frozen=True)
class Noise:
    """Noise pixels by row-major index: salt is white, pepper black."""

    density: float
    salt: list[int]
    pepper: list[int]


def padding_of(size: tuple[int, int], random: Random) -> Padding:
    """Draws a padding for a width and height; BadImage if 10 to 20 % is below a pixel."""
    if min(size) < _SMALLEST:
        raise BadImage(f"has {size[0]} x {size[1]} pixels, too few to pad by 10 to 20 %")
    left, top, right, bottom = (_side(length, random) for length in (*size, *size))
    return Padding(left, top, right, bottom, random.choice(list(COLOURS)))


def _side(length: int, random: Random) -> int:
    least, most = math.ceil(length * LEAST_PADDING - 1e-9), math.floor(length * MOST_PADDING + 1e-9)
    return min(max(round(length * random.uniform(LEAST_PADDING, MOST_PADDING)), least), most)


def padded(picture: Picture, padding: Padding) -> Picture:
    """Centres a picture in a padded one."""
    from PIL import Image as PIL

    width, height = picture.size
    size = (width + padding.left + padding.right, height + padding.top + padding.bottom)
    whole = PIL.new("RGB", size, (COLOURS[padding.colour],) * 3)
    whole.paste(picture, (padding.left, padding.top))
    return whole


def noise_of(size: tuple[int, int], random: Random) -> Noise:
    """Draws noise for a width and height: a density, then pixels, each white or black."""
    density = random.uniform(LEAST_NOISE, MOST_NOISE)
    pixels = size[0] * size[1]
    places = random.sample(range(pixels), round(density * pixels))
    white = [random.random() < 0.5 for _ in places]
    salt = [place for place, light in zip(places, white, strict=True) if light]
    return Noise(density, salt, [place for place, light in zip(places, white, strict=True) if not light])


def inverted(picture: Picture, noise: Noise) -> Picture:
    """Negative of the picture under noise."""
    import numpy as np
    from PIL import Image as PIL

    values = 255 - np.asarray(picture, dtype=np.uint8)
    flat = values.reshape(-1, 3)
    flat[noise.salt] = 255
    flat[noise.pepper] = 0
    return PIL.fromarray(flat.reshape(values.shape))


def pad(image: Image, random: Random) -> tuple[Image, str]:
    """Pads a picture and describes the draw; raises BadImage."""
    picture = check_image(image)
    drawn = padding_of(picture.size, random)
    sides = f"left={drawn.left} top={drawn.top} right={drawn.right} bottom={drawn.bottom}"
    return png(padded(picture, drawn)), f"{sides} colour={drawn.colour}"


def invert(image: Image, random: Random) -> tuple[Image, str]:
    """Inverts a picture with noise and describes the draw; raises BadImage."""
    picture = check_image(image)
    drawn = noise_of(picture.size, random)
    return png(inverted(picture, drawn)), f"noise={drawn.density:.6f} pixels={len(drawn.salt) + len(drawn.pepper)}"


def png(picture: Picture) -> Image:
    """Lossless, reproducible encoding."""
    data = io.BytesIO()
    picture.save(data, "PNG")
    return Image(bytes=data.getvalue())
