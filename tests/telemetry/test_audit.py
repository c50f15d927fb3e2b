"""The audit log: every event once, in files that are rotated and private, whatever the disk does."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lakeshare.telemetry import audit
from lakeshare.telemetry.audit import AuditEvent, AuditLog, AuditUnwritable

MOMENT = datetime(2026, 11, 16, 12, 0, 0, 123456, tzinfo=UTC)


def event(number: int = 0, **facts: Any) -> AuditEvent:
    given: dict[str, Any] = {
        "time": MOMENT,
        "request_id": f"{number:016X}",
        "peer": "127.0.0.1",
        "access_key": "AKIA",
        "action": "s3:GetObject",
        "resources": ("arn:aws:s3:::b/k",),
        "decision": "allow",
        "status": 200,
    }
    return AuditEvent(**given | facts)


def lines(folder: Path, worker: int = 0) -> list[dict[str, Any]]:
    """Read every line of a worker, oldest first."""
    files = [*sorted(folder.glob(f"worker-{worker}.*.jsonl")), folder / f"worker-{worker}.jsonl"]
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "new" / "audit"


@pytest.fixture
def log(folder: Path) -> Iterator[AuditLog]:
    log = AuditLog(folder, 0, 1 << 20, 3)
    yield log
    log.close()


def test_an_event_is_a_line_of_json(log: AuditLog, folder: Path):
    """Every fact of an event is in its line, under its name."""
    log.write(event(7, error="NoSuchKey", bytes_in=1, bytes_out=2, duration_ms=0.25, user_agent='a"b\n'))
    log.flush()
    assert lines(folder) == [
        {
            "time": "2026-11-16T12:00:00.123456Z",
            "request_id": "0000000000000007",
            "peer": "127.0.0.1",
            "access_key": "AKIA",
            "action": "s3:GetObject",
            "resources": ["arn:aws:s3:::b/k"],
            "decision": "allow",
            "status": 200,
            "error": "NoSuchKey",
            "bytes_in": 1,
            "bytes_out": 2,
            "duration_ms": 0.25,
            "user_agent": 'a"b\n',
        }
    ]


def test_events_reach_the_file_by_themselves(log: AuditLog, folder: Path):
    """Nobody needs to flush: the thread does."""
    done = threading.Event()
    log.write(event())
    for _ in range(200):
        if (folder / "worker-0.jsonl").read_bytes():
            break
        done.wait(0.05)
    assert len(lines(folder)) == 1


def test_closing_writes_what_is_left(log: AuditLog, folder: Path):
    """No event of a clean stop is missing, and their order is kept."""
    for number in range(5000):
        log.write(event(number))
    log.close()
    assert [int(line["request_id"], 16) for line in lines(folder)] == [*range(5000)]


def test_files_and_folder_are_private(log: AuditLog, folder: Path):
    """Only the server's user may read the audit log."""
    log.write(event())
    log.flush()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "worker-0.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_file_is_set_aside_at_its_size_and_the_newest_are_kept(folder: Path):
    """Rotation bounds the size of a file and the number of files, and cuts no line."""
    log = AuditLog(folder, 0, 10_000, 3)
    for number in range(2000):
        log.write(event(number))
        if number % 20 == 0:
            log.flush()
    log.close()
    rotated = sorted(folder.glob("worker-0.*.jsonl"))
    assert len(rotated) == 3
    assert all(10_000 <= file.stat().st_size < 20_000 for file in rotated)
    numbers = [int(line["request_id"], 16) for line in lines(folder)]
    assert numbers == [*range(numbers[0], 2000)]


def test_workers_have_files_of_their_own(folder: Path):
    """Rotation by one worker leaves the files of another, even of one whose number begins alike."""
    first, other = AuditLog(folder, 1, 1000, 1), AuditLog(folder, 11, 1000, 1)
    for number in range(40):
        for log in (first, other):
            log.write(event(number))
            log.flush()
    first.close()
    other.close()
    assert sorted(file.name.split(".")[0] for file in folder.iterdir()) == ["worker-1"] * 2 + ["worker-11"] * 2


def test_a_restart_goes_on_in_the_same_file(folder: Path):
    """A worker that starts again adds to its file."""
    for number in range(3):
        log = AuditLog(folder, 0, 1 << 20, 3)
        log.write(event(number))
        log.close()
    assert [line["request_id"][-1] for line in lines(folder)] == ["0", "1", "2"]


def test_a_line_cut_by_a_crash_spoils_only_itself(folder: Path):
    """After a half-written line the next event starts a line of its own."""
    folder.mkdir(parents=True)
    (folder / "worker-0.jsonl").write_bytes(b'{"whole":1}\n{"half":')
    log = AuditLog(folder, 0, 1 << 20, 3)
    log.write(event())
    log.close()
    found = (folder / "worker-0.jsonl").read_text().splitlines()
    assert found[:2] == ['{"whole":1}', '{"half":']
    assert json.loads(found[2])["status"] == 200


@pytest.mark.parametrize("how", ["renamed", "removed"])
def test_a_file_that_someone_else_took_away_is_made_again(how: str, log: AuditLog, folder: Path):
    """An operator may rotate or remove the file under a running server."""
    log.write(event(1))
    log.flush()
    file = folder / "worker-0.jsonl"
    if how == "renamed":
        file.rename(folder / "elsewhere")
    else:
        file.unlink()
    log.write(event(2))
    log.flush()
    assert [line["request_id"][-1] for line in lines(folder)] == ["2"]


def test_a_full_queue_is_written_by_whoever_adds_to_it(log: AuditLog, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """A slow disk slows down, and loses nothing."""
    monkeypatch.setattr(audit, "QUEUE_LIMIT", 100)
    for number in range(1050):
        log.write(event(number))
        assert len(log._queue) < 100
    assert log.lost == 0
    log.close()
    assert len(lines(folder)) == 1050


def test_events_that_no_disk_takes_are_counted_aloud(
    log: AuditLog, folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """When the disk refuses, the newest events wait, the others are counted, and log and audit log both say so."""
    monkeypatch.setattr(audit, "QUEUE_LIMIT", 100)

    def refuse(_lines: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(log._file, "append", refuse)
        for number in range(150):
            log.write(event(number))
    assert log.lost == 51
    assert "audit log cannot be written" in caplog.text
    log.close()
    found = lines(folder)
    assert found[0]["events_lost"] == 51
    assert [int(line["request_id"], 16) for line in found[1:]] == [*range(51, 150)]


def test_a_write_that_fails_midway_leaves_whole_lines(log: AuditLog, folder: Path, monkeypatch: pytest.MonkeyPatch):
    """What a full disk took of a batch is taken back before the batch is tried again."""
    log.write(event(1))
    log.flush()
    write = os.write
    calls: list[int] = []

    def partly(fd: int, data: bytes) -> int:
        calls.append(fd)
        if len(calls) == 1:
            return write(fd, bytes(data)[:10])
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(os, "write", partly)
    log.write(event(2))
    log.flush()
    log.flush()
    assert [line["request_id"][-1] for line in lines(folder)] == ["1", "2"]


def test_a_folder_that_cannot_be_written_is_an_error_at_the_start(tmp_path: Path):
    """The server does not start without its audit log, and says what to do."""
    (tmp_path / "file").write_text("")
    with pytest.raises(AuditUnwritable, match=r"cannot write the audit log in .*; choose another folder"):
        AuditLog(tmp_path / "file" / "audit", 0, 1000, 1)


def test_a_link_in_place_of_the_file_is_not_followed(folder: Path, tmp_path: Path):
    """Nobody can point the audit log at another file."""
    folder.mkdir(parents=True)
    (tmp_path / "victim").write_text("precious\n")
    (folder / "worker-0.jsonl").symlink_to(tmp_path / "victim")
    with pytest.raises(AuditUnwritable):
        AuditLog(folder, 0, 1000, 1)
    assert (tmp_path / "victim").read_text() == "precious\n"


def test_an_event_has_no_place_for_a_signature():
    """No field of an event holds a query string or a header that signs."""
    names = set(AuditEvent.__slots__)
    assert names.isdisjoint({"query", "raw_query", "url", "authorization", "headers", "signature", "token"})


def test_a_killed_process_loses_at_most_what_it_had_not_flushed(folder: Path):
    """Lines that were written survive kill -9 whole."""
    program = f"""
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.telemetry.test_audit import event
from lakeshare.telemetry.audit import AuditLog
log = AuditLog(Path({str(folder)!r}), 0, 1 << 20, 3)
for number in range(1000):
    log.write(event(number))
log.flush()
os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == -9
    assert len(lines(folder)) == 1000
