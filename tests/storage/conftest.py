"""A store of each kind, and short ways to write to it and read from it."""

import hashlib
import os
from dataclasses import dataclass

import pytest

from lakeshare.storage.local.layout import prepare
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import (
    ALWAYS,
    LATEST,
    Assembly,
    Checksum,
    Condition,
    Copy,
    Delete,
    Facts,
    Listing,
    ObjectInfo,
    ObjectStore,
    Opened,
    Part,
    Put,
    Upload,
    VersionRef,
)

CHUNK = 200_000


def content_bytes(opened: Opened, start: int = 0, stop: int | None = None) -> bytes:
    """Read what an opened version's spans name."""
    pieces = []
    for span in opened.content.spans(start, opened.info.size if stop is None else stop):
        if isinstance(span, bytes):
            pieces.append(span)
        else:
            descriptor = os.open(span.path, os.O_RDONLY)
            pieces.append(os.pread(descriptor, span.length, span.offset))
            os.close(descriptor)
    return b"".join(pieces)


@dataclass
class World:
    """A store with one bucket, `b`, and verbs that take bytes."""

    store: ObjectStore
    bucket: str = "b"

    async def put(
        self,
        key: str,
        data: bytes,
        *,
        condition: Condition = ALWAYS,
        write_once: bool = False,
        facts: Facts = Facts(),  # noqa: B008 (a frozen value)
        checksum: Checksum | None = None,
        tags: tuple[tuple[str, str], ...] = (),
        bucket: str | None = None,
    ) -> ObjectInfo:
        put = Put(bucket or self.bucket, key, facts, checksum, tags, condition, write_once)
        async with self.store.stage(frozenset(), len(data)) as staging:
            for start in range(0, len(data), CHUNK):
                await staging.write(data[start : start + CHUNK])
            return await self.store.put(put, staging)

    async def read(self, key: str, ref: VersionRef = LATEST) -> bytes:
        return content_bytes(await self.store.open(self.bucket, key, ref))

    async def read_range(self, key: str, start: int, stop: int) -> bytes:
        return content_bytes(await self.store.open(self.bucket, key), start, stop)

    async def delete(self, *keys: str):
        return await self.store.delete(self.bucket, [Delete(key) for key in keys])

    async def copy(self, source: str, target: str, *, condition: Condition = ALWAYS, write_once: bool = False):
        found = await self.store.head(self.bucket, source)
        put = Put(self.bucket, target, found.facts, condition=condition, write_once=write_once)
        return await self.store.copy(Copy(put, self.bucket, source, found.pin))

    async def keys(self, **listing) -> tuple[list[str], list[str], str | None]:
        page = await self.store.list(Listing(self.bucket, **listing))
        return [entry.key for entry in page.objects], list(page.prefixes), page.next_after

    async def begin(self, key: str, algorithm: str | None = None) -> Upload:
        return await self.store.create_upload(Upload(self.bucket, key, "", Facts(), 0, algorithm=algorithm))

    async def part(self, upload: Upload, number: int, data: bytes, checksum: Checksum | None = None) -> Part:
        async with self.store.stage(frozenset()) as staging:
            for start in range(0, len(data), CHUNK):
                await staging.write(data[start : start + CHUNK])
            return await self.store.put_part(upload, number, staging, checksum)

    async def complete(self, upload: Upload, parts: list[Part], **put) -> ObjectInfo:
        return await self.store.complete(upload, assembly(parts), Put(self.bucket, upload.key, upload.facts, **put))


def assembly(parts: list[Part], checksum: Checksum | None = None) -> Assembly:
    """Put parts together as S3 names the whole."""
    digest = hashlib.md5(b"".join(bytes.fromhex(part.etag) for part in parts)).hexdigest()
    return Assembly(tuple(parts), f"{digest}-{len(parts)}", checksum)


async def _opened(kind: str, path) -> ObjectStore:
    if kind == "memory":
        return MemoryStore()
    prepare(path / "data", fanout_digits=1)
    return LocalStore.open_root(path / "data")


@pytest.fixture(params=["memory", "local"])
async def world(request, tmp_path):
    """Give a world for each kind of store."""
    store = await _opened(request.param, tmp_path)
    await store.create_bucket("b")
    yield World(store)
    await store.close()


@pytest.fixture
async def local(tmp_path):
    """Give a world on disk, whose data directory is `tmp_path / "data"`."""
    store = await _opened("local", tmp_path)
    await store.create_bucket("b")
    yield World(store)
    await store.close()


@pytest.fixture
def parts_together():
    """Give the function that names a whole by its parts."""
    return assembly


@pytest.fixture
def bytes_of():
    """Give the function that reads an opened version."""
    return content_bytes


@pytest.fixture
def world_of():
    """Give the class itself, for a test that opens stores of its own."""
    return World
