"""The tail of the audit log: the newest events over all workers' files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lakeshare.telemetry import tail as tails
from lakeshare.telemetry.audit import AuditEvent, AuditLog
from lakeshare.telemetry.tail import EVENTS_LOST, Wanted, tail

START = datetime(2026, 11, 16, 12, tzinfo=UTC)


def event(number: int, **facts: Any) -> AuditEvent:
    given: dict[str, Any] = {
        "time": START + timedelta(seconds=number),
        "request_id": str(number),
        "peer": "127.0.0.1",
        "access_key": "annie",
        "action": "GetObject",
        "resources": ("arn:aws:s3:::b/k",),
        "decision": "allow",
        "status": 200,
    }
    return AuditEvent(**given | facts)


def written(folder: Path, worker: int, events: list[AuditEvent], rotate_bytes: int = 1 << 20) -> None:
    log = AuditLog(folder, worker, rotate_bytes, 100)
    for each in events:
        log.write(each)
        log.flush()
    log.close()


def ids(folder: Path, **wanted: Any) -> list[str]:
    return [each.request_id for each in tail(folder, Wanted(**{"limit": 100} | wanted)).events]


def test_events_of_all_workers_come_newest_first(tmp_path: Path):
    """Two workers' events are merged by time, and the newest are kept."""
    written(tmp_path, 0, [event(number) for number in (1, 3, 5)])
    written(tmp_path, 1, [event(number) for number in (2, 4)])
    assert ids(tmp_path) == ["5", "4", "3", "2", "1"]
    assert ids(tmp_path, limit=2) == ["5", "4"]


def test_events_come_back_as_they_were(tmp_path: Path):
    """Every fact of an event is read again."""
    given = event(7, error="NoSuchKey", bytes_in=1, bytes_out=2, duration_ms=0.5, user_agent="a\nb")
    written(tmp_path, 0, [given])
    assert tail(tmp_path, Wanted(limit=1)).events == (given,)


def test_rotated_files_belong_to_the_tail(tmp_path: Path):
    """Events are found in files that were set aside, in order."""
    written(tmp_path, 0, [event(number) for number in range(30)], rotate_bytes=1000)
    assert len(list(tmp_path.glob("worker-0.*.jsonl"))) > 3
    assert ids(tmp_path) == [str(number) for number in reversed(range(30))]


def test_filters_choose(tmp_path: Path):
    """Each filter leaves what it names; since and until are seconds, both included."""
    written(
        tmp_path,
        0,
        [
            event(1, access_key="bob"),
            event(2, action="PutObject"),
            event(3, status=404, error="NoSuchKey"),
            event(4, peer="192.0.2.1"),
        ],
    )
    assert ids(tmp_path, access_key="bob") == ["1"]
    assert ids(tmp_path, action="PutObject") == ["2"]
    assert ids(tmp_path, status=404, error="NoSuchKey") == ["3"]
    assert ids(tmp_path, peer="192.0.2.1") == ["4"]
    assert ids(tmp_path, request_id="2") == ["2"]
    at = START.timestamp()
    assert ids(tmp_path, since=at + 2, until=at + 3) == ["3", "2"]


def test_lost_events_are_told(tmp_path: Path):
    """A line that says how many events were lost is an event of its own; a line that was cut is none."""
    written(tmp_path, 0, [event(1)])
    with (tmp_path / "worker-0.jsonl").open("ab") as file:
        file.write(b'{"time":"2026-11-16T12:00:05Z","events_lost":3}\n{"time":"2026-11-16T12:0')
    found = tail(tmp_path, Wanted(limit=10)).events
    assert [(each.action, each.error) for each in found] == [
        (EVENTS_LOST, "3 events were lost"),
        ("GetObject", ""),
    ]


def test_lines_longer_than_a_block_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Reading in blocks cuts no line, wherever the blocks end."""
    events = [event(number, user_agent="x" * (number * 7)) for number in range(20)]
    written(tmp_path, 0, events)
    for size in (1, 7, 100, 301):
        monkeypatch.setattr(tails, "BLOCK_BYTES", size)
        assert tail(tmp_path, Wanted(limit=100)).events == tuple(reversed(events))


def test_a_search_is_bounded_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """When there is too much to look through, the answer is not complete, and is the newest part."""
    written(tmp_path, 0, [event(number) for number in range(50)])
    assert tail(tmp_path, Wanted(limit=100)).complete
    monkeypatch.setattr(tails, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(tails, "SCAN_LIMIT_BYTES", 3000)
    found = tail(tmp_path, Wanted(limit=100))
    assert not found.complete
    assert found.events[0].request_id == "49"
    assert 0 < len(found.events) < 50


def test_an_empty_folder_has_no_events(tmp_path: Path):
    """Where nothing was written, nothing is found."""
    assert tail(tmp_path / "none", Wanted(limit=5)).events == ()
