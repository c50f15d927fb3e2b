"""The supervisor and its workers, as processes."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.patience import until

PATIENCE = 20.0

PROGRAM = """
import asyncio, contextlib, os, sys
from lakeshare.errors import LakeshareError
from lakeshare.http.response import FileSpan, Response
from lakeshare.server.workers import Job, run
from lakeshare.settings import Settings
from lakeshare.telemetry.log import configure

def say(*words):
    os.write(1, (" ".join(str(word) for word in words) + "\\n").encode())  # whole lines, whoever writes beside us

@contextlib.asynccontextmanager
async def make(number):
    async def handler(request):
        if request.raw_path == "/slow":
            await asyncio.sleep(1.5)
        if request.raw_path == "/hang":
            await asyncio.sleep(3600)
        return Response(200, [], b"%d %d" % (number, os.getpid()))
    START
    yield handler
    say("worker", number, "closed")

settings = Settings.read(os.environ, {})
configure(settings)
jobs = [JOBS]
sys.exit(run(settings, make, jobs, lambda ready: say("ready", ready.address, ready.workers)))
"""


class Supervisor:
    """A supervisor in a process of its own."""

    def __init__(self, folder: Path, start: str = "", jobs: str = "", **chosen: str) -> None:
        program = folder / "program.py"
        program.write_text(textwrap.dedent(PROGRAM).replace("START", start).replace("JOBS", jobs))
        settings = {"address": "127.0.0.1:0", "workers": "2", "shutdown_timeout": "5"} | chosen
        env = os.environ | {f"LAKESHARE_{name.upper()}": value for name, value in settings.items()}
        self.log = folder / "log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-W", "error", str(program)], env=env, stdout=subprocess.PIPE, stderr=log
            )
        self.port = 0

    def ready(self) -> "Supervisor":
        line = self.line()
        assert line.startswith("ready "), line + self.log.read_text()
        self.port = int(line.split()[1].rpartition(":")[2])
        return self

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def ask(self, path: str = "/") -> tuple[int, int]:
        """Return the number and the process of the worker that answers a new connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("GET", path)
        number, pid = connection.getresponse().read().split()
        connection.close()
        return int(number), int(pid)

    def workers(self, count: int = 2) -> dict[int, int]:
        """Ask until every worker has answered."""
        found: dict[int, int] = {}
        for _ in range(500):
            number, pid = self.ask()
            found[number] = pid
            if len(found) == count:
                break
        return found


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Supervisor]]:
    made: list[Supervisor] = []

    def start(**given: str) -> Supervisor:
        made.append(Supervisor(tmp_path, **given))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.wait(PATIENCE)
        if each.process.stdout is not None:
            each.process.stdout.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def refuses(port: int) -> bool:
    with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return False
    return True


def test_all_workers_answer_once_the_supervisor_is_ready(supervise: Callable[..., Supervisor]):
    """Readiness is told once, when every worker accepts; connections reach all of them."""
    supervisor = supervise(workers="3").ready()
    workers = supervisor.workers(3)
    assert sorted(workers) == [0, 1, 2]
    assert len(set(workers.values()) | {supervisor.process.pid}) == 4


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all(number: signal.Signals, supervise: Callable[..., Supervisor]):
    """SIGTERM and SIGINT end every worker, run what it closes, and the exit code is 0."""
    supervisor = supervise().ready()
    pids = [*supervisor.workers().values()]
    supervisor.process.send_signal(number)
    assert supervisor.process.wait(PATIENCE) == 0
    assert sorted([supervisor.line(), supervisor.line()]) == ["worker 0 closed", "worker 1 closed"]
    assert not any(alive(pid) for pid in pids)
    assert refuses(supervisor.port)


def test_a_request_in_flight_is_answered_before_the_end(supervise: Callable[..., Supervisor]):
    """A stop waits for an answer under way."""
    supervisor = supervise().ready()
    connection = http.client.HTTPConnection("127.0.0.1", supervisor.port, timeout=PATIENCE)
    connection.request("GET", "/slow")
    time.sleep(0.3)
    supervisor.process.terminate()
    assert connection.getresponse().status == 200
    connection.close()
    assert supervisor.process.wait(PATIENCE) == 0


def test_a_second_signal_does_not_wait(supervise: Callable[..., Supervisor]):
    """An operator who asks twice gets the end at once, whatever hangs."""
    supervisor = supervise(shutdown_timeout="3600").ready()
    connection = http.client.HTTPConnection("127.0.0.1", supervisor.port, timeout=PATIENCE)
    connection.request("GET", "/hang")
    time.sleep(0.3)
    supervisor.process.terminate()
    until(lambda: refuses(supervisor.port))
    assert supervisor.process.poll() is None
    supervisor.process.terminate()
    assert supervisor.process.wait(PATIENCE) == 0
    connection.close()


def test_a_killed_worker_is_restarted(supervise: Callable[..., Supervisor]):
    """Another process takes the dead worker's place and number; the rest go on."""
    supervisor = supervise().ready()
    before = supervisor.workers()
    os.kill(before[0], signal.SIGKILL)
    until(lambda: supervisor.workers().get(0) not in {None, before[0]})
    assert supervisor.workers()[1] == before[1]
    assert "worker ended" in supervisor.log.read_text()


def test_connections_wait_for_a_worker_that_restarts(supervise: Callable[..., Supervisor]):
    """No connection is refused while a worker is away."""
    supervisor = supervise(workers="1").ready()
    for _ in range(3):
        pid = supervisor.ask()[1]
        os.kill(pid, signal.SIGKILL)
        until(lambda dead=pid: not alive(dead))
        assert supervisor.ask()[1] != pid


def test_a_killed_supervisor_leaves_no_orphan(supervise: Callable[..., Supervisor]):
    """Workers and keeper end with their supervisor, and the port is free for the next."""
    supervisor = supervise(jobs='Job("pid", lambda: 0.05, lambda: say("keeper", os.getpid()))').ready()
    pids = [*supervisor.workers().values()]
    while not (line := supervisor.line()).startswith("keeper"):
        pass
    pids.append(int(line.split()[1]))
    assert all(alive(pid) for pid in pids)
    supervisor.process.kill()
    until(lambda: not any(alive(pid) for pid in pids))
    assert refuses(supervisor.port)
    again = supervise(address=f"127.0.0.1:{supervisor.port}").ready()
    assert again.port == supervisor.port


def test_a_worker_notices_by_itself_that_its_supervisor_is_gone(supervise: Callable[..., Supervisor]):
    """Where the kernel does not tell, the end of a pipe does."""
    unset = "import ctypes; ctypes.CDLL(None).prctl(1, 0)"
    supervisor = supervise(start=unset if sys.platform == "linux" else "").ready()
    pids = [*supervisor.workers().values()]
    supervisor.process.kill()
    until(lambda: not any(alive(pid) for pid in pids))


def test_a_worker_that_cannot_start_ends_the_server(supervise: Callable[..., Supervisor]):
    """What fails at the first start is reported, and nothing loops."""
    supervisor = supervise(start='raise LakeshareError("no such disk")')
    assert supervisor.process.wait(PATIENCE) == 1
    assert "no such disk" in supervisor.log.read_text()


def test_an_unforeseen_failure_to_start_is_shown(supervise: Callable[..., Supervisor]):
    """An exception that nobody named is printed with its traceback."""
    supervisor = supervise(start='raise ValueError("surprise")')
    assert supervisor.process.wait(PATIENCE) == 1
    assert "ValueError: surprise" in supervisor.log.read_text()


def test_an_occupied_port_is_reported(supervise: Callable[..., Supervisor]):
    """A second server on a port fails with what to do, and the first goes on."""
    first = supervise().ready()
    second = supervise(address=f"127.0.0.1:{first.port}")
    assert second.process.wait(PATIENCE) == 1
    assert "address in use" in second.log.read_text()
    assert first.ask()


def test_jobs_run_once_for_all_workers_and_survive_their_errors(supervise: Callable[..., Supervisor]):
    """A job is run again and again by one process; one that fails is logged and run again."""
    jobs = 'Job("tick", lambda: 0.05, lambda: say("tick", os.getpid())), Job("bad", lambda: 0.05, lambda: 1 / 0)'
    supervisor = supervise(jobs=jobs).ready()
    ticks = {supervisor.line() for _ in range(5)}
    assert len(ticks) == 1
    assert ticks.pop().split()[1] not in {str(pid) for pid in supervisor.workers().values()}
    until(lambda: supervisor.log.read_text().count('event="job failed" job=bad') >= 2)


def test_a_killed_keeper_is_restarted(supervise: Callable[..., Supervisor]):
    """Jobs go on in another process after theirs was killed."""
    supervisor = supervise(jobs='Job("tick", lambda: 0.05, lambda: say("tick", os.getpid()))').ready()
    keeper = int(supervisor.line().split()[1])
    os.kill(keeper, signal.SIGKILL)
    until(lambda: int(supervisor.line().split()[1]) != keeper)
    assert len(supervisor.workers()) == 2


def test_a_certificate_is_read_again_on_sighup(
    supervise: Callable[..., Supervisor], certificate: tuple[Path, Path, Path], tmp_path: Path
):
    """SIGHUP reaches every worker, and none is restarted."""
    supervisor = supervise(tls_cert=str(certificate[0]), tls_key=str(certificate[1])).ready()
    supervisor.process.send_signal(signal.SIGHUP)
    until(lambda: supervisor.log.read_text().count("certificate reloaded") == 2)
    assert "worker ended" not in supervisor.log.read_text()
    assert supervisor.process.poll() is None


def test_the_supervisor_forks_without_threads(supervise: Callable[..., Supervisor]):
    """The process that forks has one thread, however often a worker was restarted."""
    supervisor = supervise(jobs='Job("tick", lambda: 3600, print)').ready()
    os.kill(supervisor.workers()[0], signal.SIGKILL)
    tasks = Path(f"/proc/{supervisor.process.pid}/task")
    if not tasks.exists():
        pytest.skip("only on Linux are threads counted")
    assert len([*tasks.iterdir()]) == 1
    assert "forking with threads" not in supervisor.log.read_text()
