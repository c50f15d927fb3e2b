"""Failed signatures counted for each access key and each client address, by all workers together.

A table of fixed size in shared memory; a cell holds the second of the last failure and how many fell into it.
Counting takes no lock: two workers that count at the same instant may count once, and two names that share a cell
share its count, which the table's random seed keeps anyone from arranging.

Laws: an address that has not failed lately is never blocked, whatever others do with its access key, so nobody can
lock an identity out from elsewhere; a blocked one may try again in the next second.
"""

import mmap
import os
import secrets
import struct
from hashlib import blake2b
from ipaddress import IPv6Address, IPv6Network
from pathlib import Path

SLOTS = 32_768
"""Counters in the table: a quarter of a megabyte."""
REMEMBERED_SECONDS = 60
"""How long an address that failed counts as one that failed lately."""
NAMES_REMEMBERED = 8192
"""Names whose place in the table a worker keeps at hand."""
NAME_LIMIT = 512
"""Longest name counted on its own, in characters; the rest of a longer one is left out."""

_MAGIC = int.from_bytes(b"LSTHRTL1", "little")
_LAST = 3
_HEADER = 8
_CELLS = _HEADER + SLOTS
_SIZE = _CELLS * 8
_COUNT_BITS = 32
_COUNT_MASK = (1 << _COUNT_BITS) - 1
_V6_PREFIX = 64


class Throttle:
    """One worker's hold on the table. `limit` is how many failures a second are borne."""

    def __init__(self, memory: mmap.mmap, limit: int) -> None:
        self._memory = memory
        self._cells = memoryview(memory).cast("Q")
        self._seed = bytes(memory[8:24])
        self._limit = limit
        self._places: dict[str, int] = {}

    @classmethod
    def in_memory(cls, limit: int) -> "Throttle":
        """Make a table that this process and those it forks share."""
        memory = mmap.mmap(-1, _SIZE)
        memory[:24] = _header()
        return cls(memory, limit)

    @classmethod
    def create(cls, path: Path, limit: int) -> "Throttle":
        """Make a table in a file, in place of any that is there."""
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.truncate(descriptor, _SIZE)
            os.pwrite(descriptor, _header(), 0)
            memory = mmap.mmap(descriptor, _SIZE)
            draft.replace(path)
        finally:
            os.close(descriptor)
            draft.unlink(missing_ok=True)
        return cls(memory, limit)

    @classmethod
    def open(cls, path: Path, limit: int) -> "Throttle":
        """Take hold of the table that the supervisor made."""
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_size != _SIZE or os.pread(descriptor, 8, 0) != _MAGIC.to_bytes(8, "little"):
                raise ValueError(f"{path} is not a table of failed signatures")
            return cls(mmap.mmap(descriptor, _SIZE), limit)
        finally:
            os.close(descriptor)

    def set_limit(self, limit: int) -> None:
        """Bear another number of failures a second from now on, in this worker."""
        self._limit = limit

    def blocked(self, now: float, access_key: str, peer: str) -> bool:
        """Say whether a request is to be refused before its signature is looked at."""
        cells = self._cells
        second = int(now)
        if second - cells[_LAST] > REMEMBERED_SECONDS:
            return False
        cell = cells[self._place("p" + peer)]
        if second - (cell >> _COUNT_BITS) > REMEMBERED_SECONDS:
            return False
        return self._full(cell, second) or self._full(cells[self._place("k" + access_key)], second)

    def failed(self, now: float, access_key: str, peer: str) -> None:
        """Count a failed signature."""
        cells = self._cells
        second = int(now)
        cells[_LAST] = second
        for name in ("p" + peer, "k" + access_key):
            place = self._place(name)
            count = cells[place] & _COUNT_MASK if cells[place] >> _COUNT_BITS == second else 0
            cells[place] = second << _COUNT_BITS | min(count + 1, _COUNT_MASK)

    def close(self) -> None:
        """Let go of the table."""
        self._cells.release()
        self._memory.close()

    def _full(self, cell: int, second: int) -> bool:
        return cell >> _COUNT_BITS == second and cell & _COUNT_MASK >= self._limit

    def _place(self, name: str) -> int:
        place = self._places.get(name)
        if place is None:
            place = self._find(name[:NAME_LIMIT])
            if len(self._places) >= NAMES_REMEMBERED:
                self._places.clear()
            if len(name) <= NAME_LIMIT:
                self._places[name] = place
        return place

    def _find(self, name: str) -> int:
        text = "p" + _network(name[1:]) if name.startswith("p") else name
        digest = blake2b(text.encode("utf-8", "replace"), digest_size=8, key=self._seed).digest()
        return _HEADER + int.from_bytes(digest, "little") % SLOTS


def _header() -> bytes:
    return struct.pack("<Q16s", _MAGIC, secrets.token_bytes(16))


def _network(peer: str) -> str:
    """Return an address, or for IPv6 the network of which one client can have every address."""
    if ":" not in peer:
        return peer
    try:
        address = IPv6Address(peer.partition("%")[0])
    except ValueError:
        return peer
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address), _V6_PREFIX), strict=False))
