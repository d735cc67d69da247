"""An image processor that does each picture once, where what it makes of a picture does not depend on its neighbours.

Whether that holds is tried, not believed: unlike pictures are processed together and apart (`remembering`). Models
whose processor pads or packs the pictures of a batch together do each picture as often as it is shown.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

KEPT_BYTES = 1 << 30
"""Of processed pictures: a page at 200 dpi has about 50 MB, so this holds the pages of one paper."""
_NAME = "livek12"
_TRIED = ((96, 64), (160, 224), (900, 90))


class _Apart(Exception):
    """Pictures that have to be padded to each other."""


def named(picture: Any, name: str) -> Any:
    """The picture with its name on it (over whatever its file said), by which it is recognised."""
    picture.info[_NAME] = name
    return picture


def remembering(image_processor: Any, kept_bytes: int = KEPT_BYTES) -> Any:
    """The image processor, remembering if it may; else itself."""
    from PIL import Image as PIL

    one, two, wide = (named(PIL.effect_noise(size, 64).convert("RGB"), str(size)) for size in _TRIED)
    memo = _Remembering(image_processor, kept_bytes)
    try:
        for shown in ([one, two, wide], [[one], [two, one]]):
            whole = image_processor(shown, return_tensors="pt")
            if not _equal(whole, memo.apart(list(_flat(shown)), {"return_tensors": "pt"})):
                return image_processor
    except Exception:  # it wants its pictures otherwise
        return image_processor
    memo.forget()
    return memo


class _Remembering:
    """Stands for an image processor in everything, and keeps what it made of the latest pictures."""

    def __init__(self, image_processor: Any, kept_bytes: int) -> None:
        self._image_processor = image_processor
        self._limit = kept_bytes
        self._joins = True
        self.forget()

    def forget(self) -> None:
        """Lets go of everything."""
        self._kept: OrderedDict[tuple[str, str], Mapping[str, Any]] = OrderedDict()
        self._bytes = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._image_processor, name)

    def __call__(self, images: Any, *args: Any, **options: Any) -> Any:
        """What the image processor makes of these pictures, nested as they may be."""
        pictures = list(_flat(images))
        known = pictures and all(map(_name_of, pictures)) and options.get("return_tensors") == "pt"
        if args or not known or not self._joins:
            return self._image_processor(images, *args, **options)
        made = [self._made(picture, options) for picture in pictures]
        try:
            return _joined(made)
        except _Apart:
            self._joins = False
            return self._image_processor(images, *args, **options)

    def apart(self, pictures: list[Any], options: dict[str, Any]) -> Any:
        """What is made of each picture alone, one after the other along the first dimension.

        Raises:
            _Apart: that cannot be joined.
        """
        return _joined([self._made(picture, options) for picture in pictures])

    def _made(self, picture: Any, options: dict[str, Any]) -> Any:
        key = (_name_of(picture), repr(sorted(options.items(), key=str)))
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        made = self._image_processor([picture], **options)
        self._kept[key] = made
        self._bytes += _size(made)
        while self._bytes > self._limit and len(self._kept) > 1:
            self._bytes -= _size(self._kept.popitem(last=False)[1])
        return made


def _name_of(picture: Any) -> str:
    return str(getattr(picture, "info", {}).get(_NAME, ""))


def _flat(images: Any) -> Iterator[Any]:
    if isinstance(images, (list, tuple)):
        for image in images:
            yield from _flat(image)
    else:
        yield images


def _joined(made: list[Any]) -> Any:
    """What was made of each picture, along the first dimension of each part.

    Raises:
        _Apart: it cannot be joined.
    """
    import torch

    joined: dict[str, Any] = {}
    for key in made[0]:
        values = [one.get(key) for one in made]
        if all(isinstance(value, list) for value in values):
            joined[key] = [item for value in values for item in value]
        elif all(isinstance(value, torch.Tensor) and value.shape[1:] == values[0].shape[1:] for value in values):
            joined[key] = torch.cat(values)
        else:
            raise _Apart
    return type(made[0])(data=joined)


def _equal(one: Any, other: Any) -> bool:
    import torch

    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and bool(torch.equal(one, other))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return set(one) == set(other) and all(_equal(one[key], other[key]) for key in one)
    return type(one) is type(other) and bool(one == other)


def _size(made: Mapping[str, Any]) -> int:
    return sum(int(getattr(value, "nbytes", 0)) for value in made.values())
