"""What is taken in as an image, and what is refused."""

from __future__ import annotations

import base64
import pickle
from pathlib import Path

import pytest

from livek12.dataset_builders.base import BadRow
from livek12.dataset_builders.reading.images import FileBytes, ImageLoader, check_image, look_of, read_again
from tests.dataset_builders.pictures import BAD, picture

PNG = picture()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A source folder with pictures, beside a secret one."""
    root = tmp_path / "source"
    (root / "rows").mkdir(parents=True)
    (root / "a.png").write_bytes(PNG)
    (root / "rows" / "b.png").write_bytes(picture(1))
    (tmp_path / "secret.png").write_bytes(picture(2))
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    return root


@pytest.mark.parametrize(
    "ref",
    [
        "a.png",
        "../a.png",  # from rows/, still inside
        base64.b64encode(PNG).decode(),
        base64.encodebytes(PNG).decode(),
        "data:image/png;base64," + base64.b64encode(PNG).decode(),
        PNG,
        {"bytes": PNG, "path": "x/a.png"},
        {"bytes": base64.b64encode(PNG).decode(), "path": "a.png"},
        {"bytes": None, "path": "../a.png"},
        {"path": "a.png"},
    ],
)
def test_every_form_of_a_reference(root: Path, ref: object) -> None:
    image = ImageLoader(root).load(ref, root / "rows")
    assert image.bytes == PNG
    assert image.path in ("a.png", "image")


def test_path_of_the_rows_file_goes_first(root: Path) -> None:
    assert ImageLoader(root).load("b.png", root / "rows").bytes == picture(1)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_formats(root: Path, kind: str) -> None:
    data = picture(kind=kind)
    assert ImageLoader(root).load(data, root).bytes == data


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        ("../../secret.png", "outside"),
        ("link.png", "outside"),
        ("/etc/passwd", "outside"),
        ("none.png", "missing"),
        ("rows", "missing"),
        ("a\0.png", "not a path"),
        ("x" * 5000, "cannot be read"),
        ("https://example.org/other.png", "an address on another host"),
        ("", "not str"),
        (None, "not NoneType"),
        (7, "not int"),
        ({}, "not NoneType"),
        ({"bytes": [1, 2]}, "not NoneType"),
        ("data:image/png;base64,@@@@", "damaged"),
    ],
)
def test_refused_references(root: Path, ref: object, said: str) -> None:
    with pytest.raises(BadRow, match=said) as caught:
        ImageLoader(root).load(ref, root)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", BAD)
def test_bad_pictures(root: Path, name: str) -> None:
    data, said = BAD[name]
    (root / "bad.png").write_bytes(data)
    loader = ImageLoader(root)
    for _ in range(2):  # nothing bad is remembered as good
        with pytest.raises(BadRow, match=rf"bad\.png.*{said}"):
            loader.load("bad.png", root)
    with pytest.raises(BadRow, match=said) as caught:
        check_image(data, "bad.png", decode=True)
    assert "object at 0x" not in str(caught.value)


def test_snapshot_of_the_hub_cache(tmp_path: Path) -> None:
    """Its files are links into `blobs`, which is theirs; links that lead elsewhere are not followed."""
    cache = tmp_path / "datasets--org--name"
    snapshot = cache / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (cache / "blobs").mkdir()
    (cache / "blobs" / "0").write_bytes(PNG)
    (cache / "other.png").write_bytes(PNG)
    (snapshot / "a.png").symlink_to("../../blobs/0")
    (snapshot / "b.png").symlink_to("../../other.png")
    loader = ImageLoader(snapshot)
    assert loader.load("a.png", snapshot).bytes == PNG
    with pytest.raises(BadRow, match="outside"):
        loader.load("b.png", snapshot)


def test_a_picture_is_known_by_its_path_while_its_file_is_the_same(root: Path) -> None:
    loader = ImageLoader(root)
    loader.by_name = True
    first = loader.load("a.png", root)
    assert loader.load("a.png", root) is first
    (root / "a.png").write_bytes(picture(3))
    assert read_again(str(root / "a.png"), look_of(loader.load("a.png", root)).size) == picture(3)
    (root / "a.png").write_bytes(b"<html>")
    with pytest.raises(BadRow, match="HTML page"):
        loader.load("a.png", root)
    (root / "a.png").unlink()
    with pytest.raises(BadRow, match=r"a\.png is missing"):
        loader.load("a.png", root)
    (root / "a.png").symlink_to(root.parent / "secret.png")
    with pytest.raises(BadRow, match="outside"):
        loader.load("a.png", root)


def test_what_a_loader_knows_does_not_travel_as_bytes(root: Path) -> None:
    loader = ImageLoader(root)
    loader.by_name = True
    loader.load("a.png", root)
    (root / "a.png").write_bytes(picture(3))  # reading it for what was known would fail
    other = pickle.loads(pickle.dumps(loader))
    assert isinstance(other.load("a.png", root).bytes, FileBytes)
    assert isinstance(other.load("a.png", root).bytes, FileBytes)
