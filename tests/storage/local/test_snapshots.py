"""Reads let go of what they read."""

import contextlib

import apsw
import pytest

from lakeshare.storage.errors import NoSuchBucket, NoSuchKey, StorageError
from lakeshare.storage.local.store import LocalStore
from lakeshare.storage.port import Delete, Facts, Listing, Put, Upload, VersionListing, VersionRef


@pytest.fixture
async def store(tmp_path):
    opened = LocalStore.open_root(tmp_path)
    await opened.create_bucket("bucket")
    async with opened.stage(frozenset()) as staging:
        await staging.write(b"small")
        await opened.put(Put("bucket", "key"), staging)
    yield opened
    await opened.close()


async def test_no_read_keeps_a_snapshot(store):
    """After any read, found or not, the connection is in no transaction: one that stayed would keep the whole log."""
    upload = await store.create_upload(Upload("bucket", "key", "", Facts(), 0))
    info = await store.head("bucket", "key")
    for read in (
        lambda: store.open("bucket", "key"),
        lambda: store.open("bucket", "key", VersionRef(pin=info.pin)),
        lambda: store.open("bucket", "key", VersionRef(version="null")),
        lambda: store.open("bucket", "key", VersionRef(pin="00" * 16)),
        lambda: store.head("bucket", "missing"),
        lambda: store.bucket("bucket"),
        lambda: store.document("bucket", "policy"),
        lambda: store.upload("bucket", "key", upload.id),
        lambda: store.list(Listing("bucket")),
        lambda: store.list(Listing("bucket", delimiter="/", limit=1)),
        lambda: store.list_versions(VersionListing("bucket", after_key="key", after_version="null")),
    ):
        with contextlib.suppress(StorageError):
            await read()
        assert store._readers.cursor().connection.txn_state("main") == apsw.SQLITE_TXN_NONE


async def test_a_bucket_made_anew_elsewhere_is_read_as_it_is_now(store, tmp_path):
    """A worker that knew a bucket finds what is in the one that another made in its place, and nothing of the old."""
    assert (await store.head("bucket", "key")).size == 5
    other = LocalStore.open_root(tmp_path)
    await other.delete("bucket", [Delete("key")])
    await other.delete_bucket("bucket")
    with pytest.raises(NoSuchBucket):
        await store.open("bucket", "key")
    await other.create_bucket("bucket")
    with pytest.raises(NoSuchKey):
        await store.open("bucket", "key")
    async with other.stage(frozenset()) as staging:
        await staging.write(b"another")
        await other.put(Put("bucket", "key"), staging)
    assert (await store.open("bucket", "key")).content.spans(0, 7) == (b"another",)
    await other.close()
