"""obstore, the Rust object_store in Python, against a live server: conditions, parts, copies, lists."""

import concurrent.futures
import os
import urllib.request
from datetime import timedelta

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import S3Store

from tests.live import LiveServer

MIB = 1024**2


def store_of(server: LiveServer, bucket: str) -> S3Store:
    return S3Store(
        bucket,
        endpoint=server.endpoint,
        access_key_id=server.access_key,
        secret_access_key=server.secret_key,
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True, "allow_invalid_certificates": server.ca_file is not None},
        retry_config={"max_retries": 0},
    )


@pytest.fixture
def store(any_server: LiveServer, any_bucket: str) -> S3Store:
    return store_of(any_server, any_bucket)


def test_a_key_is_created_once(store: S3Store):
    """A second create-only put is told that the key exists."""
    obstore.put(store, "k", b"first", mode="create")
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "k", b"second", mode="create")
    assert obstore.get(store, "k").bytes() == b"first"


def test_exactly_one_racer_creates_a_key(live_server: LiveServer, bucket: str):
    """Of eight stores that create the same ten keys each key has one winner, whose bytes are there."""
    stores = [store_of(live_server, bucket) for _ in range(8)]

    def create(job: tuple[int, int]) -> tuple[int, int] | None:
        number, key = job
        try:
            obstore.put(stores[number], f"race/{key}", str(number).encode(), mode="create")
        except AlreadyExistsError:
            return None
        return key, number

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        jobs = [(number, key) for key in range(10) for number in range(8)]
        winners = [won for won in pool.map(create, jobs) if won]
    assert sorted(key for key, _ in winners) == list(range(10))
    for key, number in winners:
        assert obstore.get(stores[0], f"race/{key}").bytes() == str(number).encode()


def test_compare_and_swap_counts_right(live_server: LiveServer, bucket: str):
    """Four threads that add to a counter by compare-and-swap lose no addition."""
    stores = [store_of(live_server, bucket) for _ in range(4)]
    obstore.put(stores[0], "counter", b"0")

    def add(number: int) -> None:
        done = 0
        for _ in range(10_000):
            got = obstore.get(stores[number], "counter")
            value, etag = int(got.bytes().to_bytes()), got.meta["e_tag"]
            try:
                obstore.put(stores[number], "counter", str(value + 1).encode(), mode={"e_tag": etag})
            except PreconditionError:
                continue
            done += 1
            if done == 10:
                return

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(add, range(4)))
    assert obstore.get(stores[0], "counter").bytes() == b"40"


def test_large_objects_go_up_in_parts_and_down_in_ranges(store: S3Store):
    """An upload in parts is whole, and ranges of it are what they should be."""
    body = os.urandom(12 * MIB)
    obstore.put(store, "large", body, use_multipart=True, chunk_size=5 * MIB, max_concurrency=3)
    assert obstore.get(store, "large").bytes() == body
    assert obstore.get_range(store, "large", start=6 * MIB, end=6 * MIB + 9) == body[6 * MIB : 6 * MIB + 9]
    first, second = obstore.get_ranges(store, "large", starts=[0, 11 * MIB], lengths=[3, 4])
    assert (first, second) == (body[:3], body[11 * MIB : 11 * MIB + 4])


def test_objects_are_copied_renamed_listed_and_deleted(store: S3Store):
    """Copy, rename, both listings and bulk delete do what they say."""
    for key in ("a/1", "a/2", "a/b/3", "c"):
        obstore.put(store, key, key.encode())
    obstore.copy(store, "a/1", "d/1")
    obstore.rename(store, "c", "d/c")
    assert obstore.get(store, "d/c").bytes() == b"c"
    names = sorted(item["path"] for page in obstore.list(store, "a") for item in page)
    assert names == ["a/1", "a/2", "a/b/3"]
    level = obstore.list_with_delimiter(store, "a")
    assert list(level["common_prefixes"]) == ["a/b"]
    after = sorted(item["path"] for page in obstore.list(store, offset="a/b/3") for item in page)
    assert after == ["d/1", "d/c"]
    obstore.delete(store, [*names, "d/1", "d/c"])
    assert [item for page in obstore.list(store) for item in page] == []


def test_signed_urls_work(live_server: LiveServer, bucket: str):
    """A URL that the client signed is read without a key."""
    store = store_of(live_server, bucket)
    obstore.put(store, "k", b"bytes")
    url = obstore.sign(store, "GET", "k", timedelta(minutes=1))
    with urllib.request.urlopen(url) as answer:
        assert answer.read() == b"bytes"
