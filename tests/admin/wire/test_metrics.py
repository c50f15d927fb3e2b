"""Who reads the metrics without a signature, and how often a wrong token may be tried."""

from collections.abc import Iterator

import pytest

from lakeshare.admin.errors import WrongToken
from lakeshare.admin.wire.metrics import MetricsDoor, MetricsFamily
from lakeshare.http.request import Request
from lakeshare.identity.errors import TooManyFailures
from lakeshare.identity.throttle import Throttle
from lakeshare.settings import Secret

NOW = 1_790_000_000.25
LIMIT = 3
TOKEN = "a-token-that-is-long-enough"
PEER, OTHER = "192.0.2.1", "198.51.100.7"


@pytest.fixture
def throttle() -> Iterator[Throttle]:
    made = Throttle.in_memory(LIMIT)
    yield made
    made.close()


async def no_body() -> bytes:
    return b""


def asked(authorization: str = "", peer: str = PEER) -> Request:
    headers = {"authorization": authorization} if authorization else {}
    return Request("1", "GET", "/metrics", "", headers, "http", peer, no_body)


def door(throttle: Throttle, *, now: float = NOW, token: str = TOKEN, public: bool = False) -> MetricsDoor:
    return MetricsDoor(Secret(token), public, throttle, lambda: now)


def refuse(throttle: Throttle, times: int, now: float = NOW) -> None:
    family = MetricsFamily(lambda: b"", door(throttle, now=now))
    for _ in range(times):
        with pytest.raises(WrongToken):
            family.find(asked("Bearer guess"))


def test_the_token_opens_and_no_other_does(throttle: Throttle):
    """The token is let in, public or not; another, none, and any token where none is set are not."""
    assert door(throttle).admits(asked(f"Bearer {TOKEN}"))
    assert door(throttle, public=True).admits(asked(f"Bearer {TOKEN}"))
    assert not door(throttle).admits(asked(f"Bearer {TOKEN}x"))
    assert not door(throttle).admits(asked())
    assert not door(throttle, token="").admits(asked("Bearer "))
    assert not door(throttle, public=True).admits(asked("Bearer guess"))
    assert door(throttle, public=True).admits(asked())


def test_wrong_tokens_are_borne_so_often_a_second(throttle: Throttle):
    """Past the limit an address is refused before its token is looked at, even the right one, until the next second."""
    refuse(throttle, LIMIT)
    with pytest.raises(TooManyFailures):
        MetricsFamily(lambda: b"", door(throttle)).find(asked("Bearer guess"))
    assert not door(throttle).admits(asked(f"Bearer {TOKEN}"))
    with pytest.raises(TooManyFailures):
        MetricsFamily(lambda: b"", door(throttle)).find(asked(f"Bearer {TOKEN}"))
    assert door(throttle, now=NOW + 1).admits(asked(f"Bearer {TOKEN}"))


def test_guessing_elsewhere_locks_nobody_out(throttle: Throttle):
    """An address that has not failed reads on, however often others guess."""
    refuse(throttle, LIMIT)
    assert door(throttle).admits(asked(f"Bearer {TOKEN}", peer=OTHER))


def test_guesses_count_with_failed_signatures(throttle: Throttle):
    """An address that guesses tokens is blocked for signatures too: it is one budget."""
    refuse(throttle, LIMIT)
    assert throttle.blocked(NOW, "any-access-key", PEER)
    assert not throttle.blocked(NOW, "any-access-key", OTHER)


def test_who_sends_no_token_is_not_counted(throttle: Throttle):
    """A request to be judged by its signature passes on without a failure."""
    for _ in range(LIMIT + 1):
        MetricsFamily(lambda: b"", door(throttle)).find(asked())
    assert not throttle.blocked(NOW, "any-access-key", PEER)
