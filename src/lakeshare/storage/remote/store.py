"""A TableStore over another S3 store. It has no verb that writes.

ETags are made unlike those of any other key, since not every store's are reckoned from the bytes alone.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

from lakeshare.http.response import FileSpan, Spans
from lakeshare.storage.errors import NoSuchKey
from lakeshare.storage.port import NULL_VERSION, Entry, Facts, Listing, ObjectInfo, Opened, Page
from lakeshare.storage.remote.answers import MAX_PAGE_BYTES, error_of, etag_of, modified_of, read_page
from lakeshare.storage.remote.connections import MAX_ERROR_BYTES, Connections, Reply, Sign
from lakeshare.storage.remote.errors import RemoteFailed
from lakeshare.storage.remote.kept import Kept

T = TypeVar("T")

THREADS = 8
"""Requests to one store at a time."""
IN_MEMORY_BYTES = 4 * 1024**2
MAX_FILE_BYTES = 8 * 1024**3
"""Of a file of a log; a checkpoint of some million files has less than one."""
MAX_PINS = 50_000
"""Versions that are remembered: they never change."""
_LAST = "\U0010ffff"
"""Sorts after every key of a folder: S3 goes on after a key, not after a folder."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is, and whether a bucket stands in the path or in the name of the host."""

    endpoint: str
    path_style: bool = True

    def origin(self, bucket: str) -> str:
        """Return the origin that serves a bucket."""
        if self.path_style:
            return self.endpoint
        parts = urlsplit(self.endpoint)
        return f"{parts.scheme}://{bucket}.{parts.netloc}"

    def path(self, bucket: str) -> str:
        """Return what the paths of a bucket begin with."""
        return f"/{quote(bucket)}/" if self.path_style else "/"


@dataclass(frozen=True, slots=True)
class _Content:
    data: bytes | FileSpan

    def spans(self, start: int, stop: int) -> Spans:
        """Return the bytes from `start` up to `stop`."""
        if isinstance(self.data, bytes):
            return (self.data[start:stop],)
        return (FileSpan(self.data.path, self.data.offset + start, stop - start),)


class RemoteStore:
    """One other store, as one worker reads it. Close it."""

    def __init__(self, address: Address, sign: Sign, kept: Kept, name: str) -> None:
        """Take an address, what signs, where large files are kept, and a name that no other store has."""
        self._address = address
        self._sign = sign
        self._kept = kept
        self._name = name
        self._connections: dict[str, Connections] = {}
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="lakeshare-remote")
        self._pinning: dict[str, bool] = {}
        self._pins: dict[tuple[str, str], str] = {}

    async def list(self, listing: Listing) -> Page:
        """List the latest objects. Raises NoSuchBucket, RemoteFailed."""
        return await self._run(lambda: self._list(listing))

    async def open(self, bucket: str, key: str) -> Opened:
        """Read an object, a large one into a file. Raises NoSuchBucket, NoSuchKey, RemoteFailed."""
        return await self._run(lambda: self._open(bucket, key))

    async def pins(self, bucket: str, keys: Sequence[str], limit: int = MAX_PINS) -> Sequence[str | None]:
        """Return the version of each key, where the bucket keeps versions that our key may read; else nothing.

        At most `limit` of them are asked for: who is not asked about has no pin. Raises NoSuchBucket, RemoteFailed.
        """
        if not keys:
            return []
        here = await self._run(partial(self._pins_here, bucket, keys[0]))
        if not here:
            return [None if here is None else "", *[""] * (len(keys) - 1)]
        unknown = [key for key in keys if (bucket, key) not in self._pins][: max(0, limit)]
        if len(self._pins) > MAX_PINS:
            self._pins.clear()
        found = await asyncio.gather(*(self._run(partial(self._version, bucket, key)) for key in unknown))
        told = dict(zip(unknown, found, strict=True))
        self._pins |= {(bucket, key): version for key, version in told.items() if version}
        return [told[key] if key in told else self._pins.get((bucket, key), "") for key in keys]

    def close(self) -> None:
        """Let go of the connections; what is under way is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for connections in self._connections.values():
            connections.close()

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _list(self, listing: Listing) -> Page:
        after = listing.after + _LAST if listing.delimiter and listing.after.endswith("/") else listing.after
        asked = {
            "list-type": "2",
            "encoding-type": "url",
            "max-keys": str(listing.limit),
            "prefix": listing.prefix,
            "delimiter": listing.delimiter,
            "start-after": after,
        }
        query = urlencode({name: value for name, value in sorted(asked.items()) if value}, quote_via=quote, safe="")
        target = f"{self._address.path(listing.bucket)}?{query}"
        with self._to(listing.bucket).ask("GET", target) as reply:
            _check(reply, listing.bucket, listing.prefix)
            page = read_page(reply.read(MAX_PAGE_BYTES))
        objects = [self._own(listing.bucket, entry) for entry in page.objects]
        return Page(objects, page.prefixes, page.next_after)

    def _open(self, bucket: str, key: str) -> Opened:
        with self._to(bucket).ask("GET", self._target(bucket, key)) as reply:
            _check(reply, bucket, key)
            etag, size = self._etag(bucket, key, etag_of(reply.headers)), reply.size
            if size > MAX_FILE_BYTES:
                raise RemoteFailed(f"{key} has more than {MAX_FILE_BYTES} bytes")
            content = _Content(reply.read(size) if size <= IN_MEMORY_BYTES else self._downloaded(etag, size, reply))
            version = reply.headers.get("x-amz-version-id", "")
            modified = modified_of(reply.headers)
        return Opened(ObjectInfo(bucket, key, version, version, size, etag, modified, Facts()), content)

    def _downloaded(self, etag: str, size: int, reply: Reply) -> FileSpan:
        path = self._kept.find(etag, size) or self._kept.add(etag, reply.chunks(size), size)
        if path is None:
            raise RemoteFailed("its answer was cut short")
        return FileSpan(str(path), 0, size)

    def _pins_here(self, bucket: str, key: str) -> bool | None:
        """Say, and remember, whether versions of a bucket can be named and read; None where the key is not there."""
        known = self._pinning.get(bucket)
        if known is None:
            version = self._version(bucket, key)
            if version is None:
                return None
            known = bool(version) and self._readable(bucket, key, version)
            self._pinning[bucket] = known
        return known

    def _version(self, bucket: str, key: str) -> str | None:
        """Return the version of a key: None where the key is not there, empty where there are no versions."""
        try:
            with self._to(bucket).ask("HEAD", self._target(bucket, key)) as reply:
                _check(reply, bucket, key)
        except NoSuchKey:
            return None
        version = reply.headers.get("x-amz-version-id", "")
        return "" if version == NULL_VERSION else version

    def _readable(self, bucket: str, key: str, version: str) -> bool:
        target = f"{self._target(bucket, key)}?versionId={quote(version, safe='')}"
        with self._to(bucket).ask("HEAD", target) as reply:
            return reply.status == 200

    def _own(self, bucket: str, entry: Entry) -> Entry:
        return Entry(entry.key, entry.size, self._etag(bucket, entry.key, entry.etag), entry.modified_at_ns)

    def _etag(self, bucket: str, key: str, etag: str) -> str:
        mark = blake2b(f"{self._name}\0{bucket}\0{key}".encode(), digest_size=8).hexdigest()
        return f"{etag}@{mark}"

    def _target(self, bucket: str, key: str) -> str:
        return self._address.path(bucket) + quote(key, safe="/~")

    def _to(self, bucket: str) -> Connections:
        origin = self._address.origin(bucket)
        found = self._connections.get(origin)
        if found is None:
            found = self._connections.setdefault(origin, Connections(origin, self._sign))
        return found


def _check(reply: Reply, bucket: str, key: str) -> None:
    if reply.status != 200:
        body = b"" if reply.body.isclosed() else reply.body.read(MAX_ERROR_BYTES)
        raise error_of(reply.status, body, bucket, key)
