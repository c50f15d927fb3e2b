"""Counting failed signatures."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakeshare.identity.throttle import NAMES_REMEMBERED, REMEMBERED_SECONDS, Throttle

NOW = 1_790_000_000.25
LIMIT = 5


@pytest.fixture
def throttle() -> Iterator[Throttle]:
    made = Throttle.in_memory(LIMIT)
    yield made
    made.close()


def fail(throttle: Throttle, times: int, now: float = NOW, key: str = "key", peer: str = "192.0.2.1") -> None:
    for _ in range(times):
        throttle.failed(now, key, peer)


def test_nobody_is_blocked_at_first(throttle: Throttle) -> None:
    """A table without failures blocks nobody."""
    assert not throttle.blocked(NOW, "key", "192.0.2.1")


def test_an_address_is_blocked_at_the_limit(throttle: Throttle) -> None:
    """An address may fail so often a second, and is then blocked, whatever key it tries."""
    fail(throttle, LIMIT - 1)
    assert not throttle.blocked(NOW, "key", "192.0.2.1")
    fail(throttle, 1)
    assert throttle.blocked(NOW, "key", "192.0.2.1")
    assert throttle.blocked(NOW, "another key", "192.0.2.1")


def test_the_next_second_is_a_new_try(throttle: Throttle) -> None:
    """A block ends with its second."""
    fail(throttle, LIMIT)
    assert throttle.blocked(NOW + 0.7, "key", "192.0.2.1")
    assert not throttle.blocked(NOW + 1, "key", "192.0.2.1")


def test_a_key_is_blocked_for_every_address_that_failed_lately(throttle: Throttle) -> None:
    """Guesses at one key from many addresses count together against those addresses."""
    for host in range(LIMIT):
        throttle.failed(NOW, "key", f"192.0.2.{host}")
    assert throttle.blocked(NOW, "key", "192.0.2.0")
    assert not throttle.blocked(NOW, "another key", "192.0.2.0")


def test_nobody_can_lock_a_key_out_from_elsewhere(throttle: Throttle) -> None:
    """An address that has not failed lately is not blocked, however often others fail with its key."""
    fail(throttle, 100)
    assert not throttle.blocked(NOW, "key", "198.51.100.7")


def test_a_failure_is_forgotten(throttle: Throttle) -> None:
    """An address that failed long ago is one that has not failed."""
    throttle.failed(NOW, "other", "192.0.2.9")
    fail(throttle, LIMIT, NOW + REMEMBERED_SECONDS + 1)
    assert not throttle.blocked(NOW + REMEMBERED_SECONDS + 1, "key", "192.0.2.9")


def test_a_client_of_ipv6_is_its_network(throttle: Throttle) -> None:
    """A client with a whole network of addresses is counted as one; one in IPv4's guise as itself."""
    for host in range(LIMIT):
        throttle.failed(NOW, f"k{host}", f"2001:db8::{host}")
        throttle.failed(NOW, f"m{host}", "::ffff:192.0.2.1")
    assert throttle.blocked(NOW, "x", "2001:db8::ffff:1%eth0")
    assert not throttle.blocked(NOW, "x", "2001:db8:0:1::1")
    assert throttle.blocked(NOW, "x", "192.0.2.1")


@pytest.mark.parametrize("name", ["", "x" * 100_000, "\udcff", "::zz", "unix:"])
def test_any_name_can_be_counted(throttle: Throttle, name: str) -> None:
    """Names are bytes to the table: none is too long or too odd."""
    fail(throttle, LIMIT, key=name, peer=name)
    assert throttle.blocked(NOW, name, name)


def test_a_clock_that_goes_back_is_borne(throttle: Throttle) -> None:
    """A clock set back neither blocks nor breaks."""
    fail(throttle, LIMIT)
    assert not throttle.blocked(NOW - 3600, "key", "192.0.2.1")
    fail(throttle, LIMIT, NOW - 3600)
    assert throttle.blocked(NOW - 3600, "key", "192.0.2.1")


def test_memory_is_bounded(throttle: Throttle) -> None:
    """A flood of names leaves no more behind than the table and a bounded memory of places."""
    for number in range(NAMES_REMEMBERED + 10):
        throttle.failed(NOW, f"key{number}", "192.0.2.1")
    assert len(throttle._places) <= NAMES_REMEMBERED


def _fail_elsewhere(path: Path) -> None:
    fail(Throttle.open(path, LIMIT), LIMIT)


def test_processes_share_a_file(tmp_path: Path) -> None:
    """What one worker counts the others see."""
    path = tmp_path / "throttle"
    mine = Throttle.create(path, LIMIT)
    worker = multiprocessing.get_context("spawn").Process(target=_fail_elsewhere, args=(path,))
    worker.start()
    worker.join(60)
    assert worker.exitcode == 0
    assert mine.blocked(NOW, "key", "192.0.2.1")
    assert path.stat().st_mode & 0o777 == 0o600
    mine.close()


def test_a_new_table_forgets(tmp_path: Path) -> None:
    """A table made again starts empty, and leaves no draft behind."""
    path = tmp_path / "throttle"
    first = Throttle.create(path, LIMIT)
    fail(first, LIMIT)
    first.close()
    second = Throttle.create(path, LIMIT)
    assert not second.blocked(NOW, "key", "192.0.2.1")
    assert list(tmp_path.iterdir()) == [path]
    second.close()


@pytest.mark.parametrize("content", [b"", b"short", b"\0" * 262_208])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """A file that is no table is not written to."""
    path = tmp_path / "throttle"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a table"):
        Throttle.open(path, LIMIT)
