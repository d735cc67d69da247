"""Arrow columns of rows and of packed questions.

Contract: the result of `RecordBatch.from_pylist`, without its many copies of picture columns. `pyarrow.array` is
avoided too: its first call imports pandas, a second of CPU time per build.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from livek12.dataset_builders.reading.images import PictureFile

if TYPE_CHECKING:
    import pyarrow as pa


def to_batch(rows: Sequence[Mapping[str, Any]], columns: pa.Schema) -> pa.RecordBatch:
    """The rows as a record batch, with nested records as rows."""
    import pyarrow as pa

    arrays = [column_of(list(map(itemgetter(field.name), rows)), field.type) for field in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def column_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Values of one of the types of `core.features` as an Arrow array; None is null."""
    import pyarrow as pa

    if is_struct := pa.types.is_struct(kind):
        values = [value if value is None or type(value) is dict else vars(value) for value in values]
    validity = None
    if missing := values.count(None):
        if missing == len(values):
            return pa.nulls(len(values), kind)
        validity = _bits([value is not None for value in values])
    buffers, children = [validity], list[pa.Array]()
    if is_struct:
        if validity:
            nothing = dict.fromkeys(field.name for field in kind)
            values = [nothing if value is None else value for value in values]
        children = [column_of(list(map(itemgetter(field.name), values)), field.type) for field in kind]
    elif pa.types.is_list(kind):
        lists = [value or () for value in values] if validity else values
        buffers.append(_offsets(lists))
        items = list(chain.from_iterable(lists))
        children = [column_of(items, kind.value_type) if items else pa.nulls(0, kind.value_type)]
    elif pa.types.is_boolean(kind):
        buffers.append(_bits(values))
    elif pa.types.is_string(kind):
        texts = [value or "" for value in values] if validity else values
        coded = list(map(str.encode, texts))
        buffers += [_offsets(coded), pa.py_buffer(b"".join(coded))]
    elif pa.types.is_binary(kind):
        pieces = [value or b"" for value in values] if validity else values
        buffers += [_offsets(pieces), _joined(pieces)]
    else:
        numbers = [value or 0 for value in values] if validity else values
        buffers.append(pa.py_buffer(array("q" if pa.types.is_integer(kind) else "d", numbers)))
    return pa.Array.from_buffers(kind, len(values), buffers, children=children)


def _offsets(values: Sequence[Any]) -> pa.Buffer:
    import pyarrow as pa

    return pa.py_buffer(array("i", accumulate(map(len, values), initial=0)))


def _joined(pieces: Sequence[bytes | PictureFile]) -> pa.Buffer:
    import pyarrow as pa

    joined = pa.allocate_buffer(sum(map(len, pieces)))
    places, offset = memoryview(joined).cast("B"), 0
    for piece in pieces:
        place = places[offset : offset + len(piece)]
        if isinstance(piece, PictureFile):
            piece.read_into(place)
        else:
            place[:] = piece
        offset += len(piece)
    return joined


def _bits(values: Sequence[Any]) -> pa.Buffer:
    import pyarrow as pa

    digits = "".join("1" if value else "0" for value in reversed(values))
    return pa.py_buffer(int(digits or "0", 2).to_bytes(-(-len(values) // 8), "little"))


def size_of(row: Mapping[str, Any]) -> int:
    """The approximate bytes of a row in its columns, without small structs."""
    total = 8 * len(row)
    for value in filter(None, row.values()):  # most are empty
        kind = type(value)
        if kind is str:
            total += len(value)
        elif kind is list and value:
            total += sum(map(_item_size, value))
        elif kind is dict:
            total += len(value.get("bytes") or b"")  # the picture of a page
    return total


def _item_size(item: Any) -> int:
    if type(item) is str:
        return len(item)
    parts = item if type(item) is dict else getattr(item, "__dict__", None)
    return 8 if parts is None else sum(len(p) for p in parts.values() if type(p) is str or type(p) is bytes)
