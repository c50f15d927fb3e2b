"""Writes Avro files as Iceberg's writers do, from a schema and values, for the tests that read them."""

import io
import json
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

Schema = Any
MAGIC = b"Obj\x01"
SYNC = bytes(range(16))


def avro_file(
    schema: Schema,
    records: Iterable[Mapping[str, Any]],
    metadata: Mapping[str, str] | None = None,
    codec: str = "deflate",
    block_rows: int = 1_000,
) -> bytes:
    """Write a whole object container file."""
    out = io.BytesIO()
    out.write(MAGIC)
    facts = {"avro.schema": json.dumps(schema), "avro.codec": codec, **(metadata or {})}
    out.write(_long(len(facts)))
    for name, value in facts.items():
        out.write(_bytes(name.encode()) + _bytes(value.encode()))
    out.write(_long(0) + SYNC)
    rows = list(records)
    for start in range(0, len(rows), block_rows):
        block = rows[start : start + block_rows]
        packed = _packed(codec, b"".join(_value(schema, row) for row in block))
        out.write(_long(len(block)) + _long(len(packed)) + packed + SYNC)
    return out.getvalue()


def _packed(codec: str, data: bytes) -> bytes:
    match codec:
        case "null":
            return data
        case "deflate":
            deflater = zlib.compressobj(wbits=-15)
            return deflater.compress(data) + deflater.flush()
        case "zstandard":
            return bytes(pa.Codec("zstd").compress(data))
        case "snappy":
            return bytes(pa.Codec("snappy").compress(data)) + struct.pack(">I", zlib.crc32(data))
        case _:
            raise ValueError(codec)


def _long(number: int) -> bytes:
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value & ~0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes(data: bytes) -> bytes:
    return _long(len(data)) + data


def _value(schema: Schema, value: Any) -> bytes:
    if isinstance(schema, list):
        branch = next(at for at, each in enumerate(schema) if (each == "null") == (value is None))
        return _long(branch) + (b"" if value is None else _value(schema[branch], value))
    if isinstance(schema, dict):
        return _complex(schema, value)
    return _primitive(schema, value)


def _complex(schema: Mapping[str, Any], value: Any) -> bytes:
    match schema["type"]:
        case "record":
            fields: Sequence[Mapping[str, Any]] = schema["fields"]
            return b"".join(_value(field["type"], value.get(field["name"], field.get("default"))) for field in fields)
        case "array":
            items = b"".join(_value(schema["items"], item) for item in value)
            return (_long(len(value)) + items if value else b"") + _long(0)
        case "map":
            pairs = b"".join(_bytes(key.encode()) + _value(schema["values"], each) for key, each in value.items())
            return (_long(len(value)) + pairs if value else b"") + _long(0)
        case "fixed":
            return bytes(value)
        case plain:
            return _primitive(plain, value)


def _primitive(kind: str, value: Any) -> bytes:
    writers: dict[str, Callable[[Any], bytes]] = {
        "int": _long,
        "long": _long,
        "string": lambda text: _bytes(text.encode()),
        "bytes": _bytes,
        "boolean": lambda flag: bytes([flag]),
        "float": lambda number: struct.pack("<f", number),
        "double": lambda number: struct.pack("<d", number),
    }
    return writers[kind](value)
