"""How many requests recipients may send."""

import os

import pytest

from lakeshare.sharing.errors import RateLimited
from lakeshare.sharing.rates import ENTRIES, PROBES, Limits, Rates

NOW = 1_700_000_000.0


def taken(rates: Rates, name: str, count: int, now: float = NOW) -> int:
    """Send requests, and return how many were let through."""
    passed = 0
    for _ in range(count):
        try:
            rates.take(name, now)
        except RateLimited:
            continue
        passed += 1
    return passed


def test_a_burst_of_one_second_is_borne():
    """A token may send a second's requests at once, and then one each time a place comes free."""
    rates = Rates.in_memory(Limits(100, 0))
    assert taken(rates, "token", 150) == 100
    assert taken(rates, "token", 10, NOW + 0.05) == 5
    assert taken(rates, "token", 500, NOW + 5) == 100


def test_tokens_do_not_count_for_each_other():
    """What one token sends takes nothing from another."""
    rates = Rates.in_memory(Limits(10, 0))
    assert taken(rates, "one", 20) == 10
    assert taken(rates, "two", 20) == 10


def test_all_together_are_limited():
    """All tokens together are limited too, and a refused request counts for nobody."""
    rates = Rates.in_memory(Limits(10, 25))
    assert [taken(rates, f"token{number}", 10) for number in range(4)] == [10, 10, 5, 0]
    assert taken(rates, "token3", 10, NOW + 1) == 10


def test_nothing_is_limited_by_zero():
    """A limit of 0 is none."""
    rates = Rates.in_memory(Limits(0, 0))
    assert taken(rates, "token", 5_000) == 5_000


def test_a_limit_changes_while_it_counts():
    """A new limit counts from the next request on."""
    rates = Rates.in_memory(Limits(10, 0))
    assert taken(rates, "token", 20) == 10
    rates.limits = Limits(100, 0)
    assert taken(rates, "token", 200, NOW + 1) == 100


def test_a_refusal_says_when_to_come_again():
    """Whoever is refused is told how many seconds to wait, and whose limit it was."""
    rates = Rates.in_memory(Limits(1, 0))
    rates.take("token", NOW)
    with pytest.raises(RateLimited, match="one token may send 1 requests a second") as refused:
        rates.take("token", NOW)
    assert refused.value.retry_after_seconds == 1
    shared = Rates.in_memory(Limits(0, 1))
    shared.take("token", NOW)
    with pytest.raises(RateLimited, match="all recipients together"):
        shared.take("other", NOW)


def test_processes_count_together():
    """What a forked worker counts is counted for all."""
    rates = Rates.in_memory(Limits(100, 0))
    child = os.fork()
    if child == 0:
        os._exit(taken(rates, "token", 60))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 60
    assert taken(rates, "token", 100) == 40


def test_more_tokens_than_the_table_has_room_for():
    """When the table is full the token that rested longest gives way, and nothing breaks."""
    rates = Rates.in_memory(Limits(5, 0))
    for number in range(ENTRIES + 100 * PROBES):
        rates.take(f"token{number}", NOW)
    assert taken(rates, "one more", 10) == 5


@pytest.mark.parametrize("limit", [1, 3, 7, 1_000, 1_000_000])
def test_over_a_long_time_the_rate_is_the_limit(limit: int):
    """Over ten seconds no more pass than the limit allows, plus one burst, and nearly as many do."""
    rates = Rates.in_memory(Limits(limit, 0))
    steps = 40
    passed = sum(taken(rates, "token", min(limit, 500) + 1, NOW + step / 4) for step in range(steps))
    offered = (min(limit, 500) + 1) * steps
    assert passed <= min(offered, limit * 11)
    assert passed >= min(offered, limit * 9)
