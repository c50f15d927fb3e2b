"""What each connection of bench/catalog asks, one request after the other."""

import socket
import time
from collections.abc import Callable, Iterator
from itertools import chain, cycle
from typing import Any

import catalog_requests as ask
from catalog_requests import WORK, Speaker

VARIANTS = 64
"""Bodies of a writer, one after the other: each commit changes something."""
TABLES_OF_ONE_COMMIT = 4
APPENDS = 800
_WAIT_SECONDS = 60
_HEAD_BYTES = 256 * 1024


def load(speaker: Speaker, namespace: str, count: int, connections: int) -> list[Iterator[bytes]]:
    """Load tables one after the other."""
    asked = [speaker.request("GET", speaker.table(namespace, f"t{place:05}")) for place in range(count)]
    return _spread(asked, connections)


def cached(speaker: Speaker, namespace: str, count: int, connections: int) -> list[Iterator[bytes]]:
    """Load tables that the client has already."""
    asked = []
    for place in range(count):
        path = speaker.table(namespace, f"t{place:05}")
        asked.append(speaker.request("GET", path, None, {"if-none-match": _etag(speaker, path)}))
    return _spread(asked, connections)


def list_tables(speaker: Speaker, namespace: str, connections: int) -> list[Iterator[bytes]]:
    """List a namespace."""
    return _spread([speaker.request("GET", speaker.catalog(f"/namespaces/{namespace}/tables"))], connections)


def commit(speaker: Speaker, connections: int) -> list[Iterator[bytes]]:
    """Commit properties, each connection to a table of its own."""
    return [cycle(_changes(speaker, f"c{place}", "round")) for place in range(connections)]


def one(speaker: Speaker, connections: int) -> list[Iterator[bytes]]:
    """Commit properties, all connections to one table."""
    return [cycle(_changes(speaker, "one", f"writer-{place}")) for place in range(connections)]


def append(speaker: Speaker, connections: int) -> list[Iterator[bytes]]:
    """Commit snapshots, each connection to a table of its own."""
    return [iter(_appends(speaker, f"a{place}")) for place in range(connections)]


def multi(speaker: Speaker, connections: int) -> list[Iterator[bytes]]:
    """Commit to several tables at once, each connection to tables of its own."""
    return [cycle(_transactions(speaker, f"m{place}")) for place in range(connections)]


def _transactions(speaker: Speaker, group: str) -> list[bytes]:
    names = [f"{group}-{each}" for each in range(TABLES_OF_ONE_COMMIT)]
    uuids = [_metadata(speaker, name)["table-uuid"] for name in names]
    tables = list(zip(names, uuids, strict=True))
    path = speaker.catalog("/transactions/commit")
    return [speaker.request("POST", path, {"table-changes": _all(tables, value)}) for value in range(VARIANTS)]


def _all(tables: list[tuple[str, str]], value: int) -> list[dict[str, Any]]:
    return [
        {"identifier": ask.identifier(WORK, name), **ask.property_commit(uuid, "round", value)} for name, uuid in tables
    ]


def _changes(speaker: Speaker, name: str, property_name: str) -> list[bytes]:
    uuid, path = _metadata(speaker, name)["table-uuid"], speaker.table(WORK, name)
    bodies = [ask.property_commit(uuid, property_name, value) for value in range(VARIANTS)]
    return [speaker.request("POST", path, body) for body in bodies]


def _appends(speaker: Speaker, name: str) -> list[bytes]:
    metadata, path = _metadata(speaker, name), speaker.table(WORK, name)
    first, at_ms = metadata["last-sequence-number"] + 1, int(time.time() * 1000)
    uuid, location = metadata["table-uuid"], metadata["location"]
    bodies = [ask.append(uuid, first + place, location, at_ms + place) for place in range(APPENDS)]
    return [speaker.request("POST", path, body) for body in bodies]


def _metadata(speaker: Speaker, name: str) -> Any:
    return speaker.ask("GET", speaker.table(WORK, name))["metadata"]


def _etag(speaker: Speaker, path: str) -> str:
    with socket.create_connection(("127.0.0.1", speaker.port), _WAIT_SECONDS) as wire:
        wire.sendall(speaker.request("GET", path))
        head = b""
        while b"\r\n\r\n" not in head:
            head += wire.recv(_HEAD_BYTES)
    lines = dict(line.split(": ", 1) for line in head.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:])
    return next(value for name, value in lines.items() if name.lower() == "etag")


def _spread(asked: list[bytes], connections: int) -> list[Iterator[bytes]]:
    """Let every connection ask all, each from another place on."""
    step = max(1, len(asked) // connections)
    starts = [place * step % len(asked) for place in range(connections)]
    return [chain(asked[start:], cycle(asked)) for start in starts]


SCRIPTS: dict[str, Callable[..., list[Iterator[bytes]]]] = {
    "load": load,
    "cached": cached,
    "load_aged": load,
    "cached_aged": cached,
    "list": list_tables,
    "list_long": list_tables,
    "commit": commit,
    "one": one,
    "append": append,
    "multi": multi,
}
