"""What lies in each server before the clock starts: the same objects in all, and keys to list."""

import base64
import hashlib
import random
import time
import zlib

import apsw
from s3_load import Wire
from s3_peers import Peer
from s3_requests import Requests

from lakeshare.sqlite.committer import GroupCommitter
from lakeshare.storage.laws import Content
from lakeshare.storage.local import layout as layouts
from lakeshare.storage.local.index import objects
from lakeshare.storage.local.index.objects import SmallPayload
from lakeshare.storage.local.index.schema import INDEX
from lakeshare.storage.port import Checksum, Facts, Put

MIB = 1024 * 1024
BUCKET = "bench"
LARGE, MEDIUM, SMALL = 64 * MIB, 8 * MIB, 4096
LARGE_KEYS = [f"large-{number}" for number in range(4)]
MEDIUM_KEYS = [f"medium-{number}" for number in range(8)]
SMALL_KEYS = [f"small-{number:04}" for number in range(256)]
FEW_KEYS, FEW = "few", 1000
MANY_KEYS = "many"
_KEYS_A_TRANSACTION = 5000


def payload(size: int) -> bytes:
    """Return bytes that do not compress, the same in every run."""
    return random.Random(size).randbytes(size)


def digests(body: bytes) -> dict[str, str]:
    """Return what a client says of a body."""
    crc = base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()
    return {"sha256": hashlib.sha256(body).hexdigest(), "crc32": crc}


def key_name(number: int) -> str:
    """Return a key such as tables have: a folder for each thousand files."""
    return f"warehouse/sales/orders/day={number // 1000:05}/part-{number:08}.snappy.parquet"


def fill_objects(peer: Peer) -> None:
    """Put the objects that are read, and read each once: servers write past the page cache, and all begin alike."""
    groups = ((LARGE_KEYS, LARGE), (MEDIUM_KEYS, MEDIUM), (SMALL_KEYS, SMALL))
    folder = peer.folder / "www" / BUCKET
    if peer.name == "nginx":
        folder.mkdir()
    else:
        make_bucket(peer, BUCKET)
    for keys, size in groups:
        if peer.name == "nginx":
            for key in keys:
                (folder / key).write_bytes(payload(size))
        else:
            put_all(peer, BUCKET, keys, payload(size))
        get_all(peer, BUCKET, keys)


def make_bucket(peer: Peer, bucket: str) -> None:
    """Make a bucket."""
    wire = Wire(peer.port)
    wire.socket.sendall(Requests(**peer.signing(bucket)).make_bucket())
    wire.answer()
    wire.socket.close()


def put_all(peer: Peer, bucket: str, keys: list[str], body: bytes) -> None:
    """Put a body under each key."""
    said = digests(body)
    requests, wire = Requests(**peer.signing(bucket)), Wire(peer.port)
    for key in keys:
        wire.socket.sendall(requests.put(key, said, len(body)))
        wire.socket.sendall(body)
        wire.answer()
    wire.socket.close()


def get_all(peer: Peer, bucket: str, keys: list[str]) -> None:
    """Read the object under each key."""
    requests, wire = Requests(**peer.signing(bucket)), Wire(peer.port)
    for key in keys:
        wire.socket.sendall(requests.presigned_get(key, {}))
        for _ in wire.drop(wire.answer()[0]):
            pass
    wire.socket.close()


def fill_keys_over_http(peer: Peer, bucket: str, count: int) -> None:
    """Put small objects by sixteen connections, which take turns."""
    make_bucket(peer, bucket)
    body = b"x" * 64
    said, requests = digests(body), Requests(**peer.signing(bucket))
    wires = [Wire(peer.port) for _ in range(16)]
    for first in range(0, count, len(wires)):
        turn = list(zip(wires, range(first, min(first + len(wires), count)), strict=False))
        for wire, number in turn:
            wire.socket.sendall(requests.put(key_name(number), said, len(body)) + body)
        for wire, _ in turn:
            wire.answer()
    for wire in wires:
        wire.socket.close()


def fill_keys_in_index(peer: Peer, bucket: str, count: int) -> None:
    """Write rows as the server's own transactions do, many in each, beside the running server."""
    make_bucket(peer, bucket)
    committer = GroupCommitter(layouts.prepare(peer.folder).index, INDEX)
    try:
        for first in range(0, count, _KEYS_A_TRANSACTION):
            numbers = range(first, min(first + _KEYS_A_TRANSACTION, count))
            committer.submit(lambda cursor, numbers=numbers: _publish(cursor, bucket, numbers)).result()  # type: ignore[misc]
    finally:
        committer.close()


def _publish(cursor: apsw.Cursor, bucket: str, numbers: range) -> None:
    body = b"x" * 64
    content = Content(len(body), hashlib.md5(body).hexdigest(), 0)
    checksum = Checksum("CRC32", digests(body)["crc32"])
    for number in numbers:
        put = Put(bucket, key_name(number), Facts(), checksum)
        objects.publish(cursor, put, SmallPayload(content, body), time.time_ns())
