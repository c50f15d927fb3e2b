"""JSON text made of columns, whole columns at a time."""

import json
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_BACKSLASH = 92
_FIRST_PRINTABLE = 32


def join(*pieces: "pa.Array | str") -> pa.Array:
    """Join columns and constants row by row; a row in which any piece is null is null."""
    return pc.binary_join_element_wise(*pieces, "", null_handling="emit_null")


def join_present(*pieces: "pa.Array | str") -> pa.Array:
    """Join columns and constants row by row, leaving out what is null.

    One piece must be a constant: Arrow loses a row of which every piece is null.
    """
    return pc.binary_join_element_wise(*pieces, "", null_handling="skip")


def letters(column: pa.Array) -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    """Return the bytes of all strings of a column, one after the other."""
    data = column.buffers()[2]
    if data is None or not len(column):
        return np.empty(0, dtype=np.uint8)
    offsets = np.frombuffer(column.buffers()[1], dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]]


def pieces_of(column: pa.Array, separator: bytes) -> list[bytes]:
    """Return the strings of a column, each of which ends in a separator that it has nowhere else, without it."""
    found = letters(column).tobytes().split(separator)
    del found[-1]
    return found


def equally_long(text: bytes, count: int) -> pa.Array:
    """Cut text into a column of so many strings of one length."""
    length = len(text) // count if count else 0
    offsets = np.arange(0, length * count + 1, length or 1, dtype=np.int32)[: count + 1]
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(text)])


def escaped(column: pa.Array) -> pa.Array:
    """Write each string as it stands between the quotes of JSON."""
    raw = letters(column)
    if (raw < _FIRST_PRINTABLE).any():
        return pa.array(
            [None if item is None else json.dumps(item, ensure_ascii=False)[1:-1] for item in column.to_pylist()],
            pa.string(),
        )
    if (raw == _BACKSLASH).any():
        column = pc.replace_substring(column, "\\", "\\\\")
    return pc.replace_substring(column, '"', '\\"')


def quoted(column: pa.Array) -> pa.Array:
    """Write each string as JSON, and null as nothing at all."""
    return join('"', escaped(column), '"')


def json_of_maps(column: pa.Array) -> pa.Array:
    """Write maps of strings as JSON objects; a null map is an empty one, a null value is JSON's."""
    values = pc.fill_null(quoted(column.items), "null")
    entries = join(quoted(column.keys), ":", values)
    offsets = pc.fill_null(column.offsets, 0) if column.offsets.null_count else column.offsets
    listed = pa.ListArray.from_arrays(offsets, entries)
    return join("{", pc.binary_join(listed, ","), "}")


def json_of(column: pa.Array) -> pa.Array:
    """Write a column of any type that statistics can have as JSON text; null stays null, and is left out of objects."""
    for matches, write in _WRITERS:
        if matches(column.type):
            return write(column)
    return pa.nulls(len(column), pa.string())


def _json_of_times(column: pa.Array) -> pa.Array:
    """Write timestamps cut down to milliseconds, as writers of statistics do."""
    zone = column.type.tz
    cut = pc.cast(pc.floor_temporal(column, unit="millisecond"), pa.timestamp("ms", zone))
    return join('"', pc.strftime(cut, "%Y-%m-%dT%H:%M:%S"), 'Z"' if zone else '"')


def _json_of_reals(column: pa.Array) -> pa.Array:
    """Write floats; JSON knows no infinities and no NaN."""
    return pc.cast(pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type)), pa.string())


def _json_of_struct(column: pa.Array) -> pa.Array:
    pieces: list[pa.Array] = []
    for place in range(column.type.num_fields):
        name = json.dumps(column.type.field(place).name)
        pieces.append(join(f",{name}:", json_of(pc.struct_field(column, place))))
    if not pieces:
        return pa.nulls(len(column), pa.string())
    inner = pc.utf8_slice_codeunits(join_present("", *pieces), 1)
    return pc.if_else(column.is_valid(), join("{", inner, "}"), pa.scalar(None, pa.string()))


_WRITERS: Sequence[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.Array]]] = (
    (pa.types.is_struct, _json_of_struct),
    (pa.types.is_boolean, lambda column: pc.if_else(column, "true", "false")),
    (pa.types.is_timestamp, _json_of_times),
    (pa.types.is_date, lambda column: join('"', pc.cast(column, pa.string()), '"')),
    (pa.types.is_string, quoted),
    (pa.types.is_floating, _json_of_reals),
    (pa.types.is_integer, lambda column: pc.cast(column, pa.string())),
    (pa.types.is_decimal, lambda column: pc.cast(column, pa.string())),
)
