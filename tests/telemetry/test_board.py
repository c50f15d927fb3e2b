"""The board: numbers of several processes, in memory that they share."""

import os

from lakeshare.telemetry import board
from lakeshare.telemetry.board import NAME_BYTES, SLOTS, Board
from lakeshare.telemetry.metrics import ERRORS, IN_FLIGHT, LATENCY, OVERFLOW, REQUESTS, WEBHOOK_SENT, Series
from lakeshare.telemetry.requests import RequestMeter


def values(found: list[Series]) -> dict[tuple[str, ...], float]:
    return {(series.metric.name, *series.labels): series.numbers[0] for series in found}


def test_processes_are_summed():
    """A series that two processes count is their sum; one that one of them has is there too."""
    shared = Board(3)
    first, second = shared.meter(0), shared.meter(1)
    first.add(ERRORS, "s3", "A")
    second.add(ERRORS, "s3", "A", amount=4)
    second.add(ERRORS, "s3", "B")
    found = values(shared.read())
    assert (found[ERRORS.name, "s3", "A"], found[ERRORS.name, "s3", "B"]) == (5, 1)


def test_a_fork_counts_into_the_same_board():
    """What a child counts is read by its parent, after it has ended too."""
    shared = Board(2)
    if not (child := os.fork()):
        shared.meter(-1).add(ERRORS, "s3", "A", amount=7)
        os._exit(0)
    os.waitpid(child, 0)
    assert values(shared.read())[ERRORS.name, "s3", "A"] == 7


def test_a_new_process_goes_on_where_the_old_one_was():
    """Counters go on, gauges begin anew: what was in flight died with the process."""
    shared = Board(1)
    old = shared.meter(0)
    old.add(ERRORS, "s3", "A")
    old.add(IN_FLIGHT)
    old.observe(LATENCY, "s3", "GetObject", value=0.3)
    new = shared.meter(0)
    new.add(ERRORS, "s3", "A")
    new.observe(LATENCY, "s3", "GetObject", value=0.3)
    found = values(shared.read())
    assert (found[ERRORS.name, "s3", "A"], found[IN_FLIGHT.name,]) == (2, 0)
    (series,) = [each for each in shared.read() if each.metric is LATENCY]
    assert (sum(series.numbers[:-1]), series.numbers[-1]) == (2, 0.6)


def test_a_full_region_keeps_what_it_has():
    """Series without room are counted as overflow, and disturb no other number."""
    shared = Board(2)
    meter = shared.meter(0)
    meter.add(ERRORS, "s3", "first")
    for number in range(SLOTS):
        meter.observe(LATENCY, "s3", f"operation{number}", value=200.0)
    meter.add(ERRORS, "s3", "x" * NAME_BYTES)
    found = values(shared.read())
    kept = (SLOTS - 2) // LATENCY.width
    assert found[ERRORS.name, "s3", "first"] == 1
    assert found[OVERFLOW.name,] == SLOTS - kept + 1
    assert all(each.numbers[-1] == 200.0 for each in shared.read() if each.metric is LATENCY)
    assert values(Board(1).read()) == {}


def test_samples_are_taken_over():
    """A number that something else keeps is set, not added, each time it is looked at."""
    shared = Board(1)
    meter = shared.meter(0)
    kept = iter((3.0, 5.0))
    meter.watch(lambda: [(WEBHOOK_SENT, (), next(kept))])
    meter.sample()
    meter.sample()
    assert values(shared.read())[WEBHOOK_SENT.name,] == 5


def test_a_request_is_counted_in_every_way():
    """One call counts the request, its time, its bytes, who it was and what was decided, and takes it out of flight."""
    shared = Board(1)
    meter = RequestMeter(shared.meter(0))
    meter.began()
    assert values(shared.read())[IN_FLIGHT.name,] == 1
    meter.ended(
        "s3", "", 403, error="AccessDenied", outcome="signed", decision="deny", seconds=0.002, bytes_in=3, bytes_out=4
    )
    found = values(shared.read())
    assert found[IN_FLIGHT.name,] == 0
    assert found[REQUESTS.name, "s3", "none", "403"] == 1
    assert found[ERRORS.name, "s3", "AccessDenied"] == 1
    assert found["lakeshare_received_bytes_total", "s3"] == 3
    assert found["lakeshare_sent_bytes_total", "s3"] == 4
    assert found["lakeshare_signatures_total", "signed"] == 1
    assert found["lakeshare_authorisations_total", "deny"] == 1
    (series,) = [each for each in shared.read() if each.metric is LATENCY]
    assert series.numbers[1] == 1


def test_a_region_fits_its_numbers():
    """The memory of a process is whole numbers of eight bytes, so that none is torn."""
    assert board._NAMES_AT % 8 == 0
    assert board._REGION_BYTES % 8 == 0
