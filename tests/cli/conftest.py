"""What the tests of the command line share: commands typed as a user types them, against a live server."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lakeshare.cli.main import run as run_here
from tests.live import LiveServer, clean_environment, lakeshare

PATIENCE_SECONDS = 120


def is_of_the_user(name: str) -> bool:
    """Say whether a variable is about how whoever runs the tests reaches servers, or runs Python."""
    theirs = (
        "REQUESTS_CA_BUNDLE",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "CURL_CA_BUNDLE",
        "NO_COLOR",
        "PYTHONDONTWRITEBYTECODE",
    )
    ours = name.startswith(("LAKESHARE_", "MC_")) and name != "LAKESHARE_CONFIG_DIR"
    return ours or name in theirs or name.lower().endswith("_proxy")


@dataclass(frozen=True)
class Done:
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every line as the JSON object that it must be."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def record(self) -> dict[str, Any]:
        (one,) = self.records
        return one


Typed = Callable[..., Done]
"""Runs a command in this process."""


@dataclass
class Cli:
    """Types commands as one user, with aliases of its own, in a folder of its own."""

    home: Path
    environment: dict[str, str] = field(default_factory=dict)
    bytecode: Path | None = None

    @property
    def config(self) -> Path:
        return self.home / "config" / "config.json"

    @property
    def env(self) -> dict[str, str]:
        paths = {"HOME": str(self.home), "LAKESHARE_CONFIG_DIR": str(self.home / "config"), "TZ": "UTC"}
        if self.bytecode:
            paths["PYTHONPYCACHEPREFIX"] = str(self.bytecode)
        kept = {name: value for name, value in clean_environment(**paths).items() if not is_of_the_user(name)}
        return kept | self.environment

    def __call__(
        self, *arguments: str | Path, code: int = 0, stdin: str | bytes = b"", cwd: Path | None = None
    ) -> Done:
        """Run a command in a process of its own."""
        done = subprocess.run(
            [lakeshare(), *map(str, arguments)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            env=self.env,
            cwd=cwd or self.home,
            capture_output=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        told = Done(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
        assert told.code == code, f"{arguments} ended with {told.code}\n{told.out}\n{told.err}"
        assert "Traceback" not in told.err, told.err
        return told

    def start(self, *arguments: str | Path) -> "subprocess.Popen[bytes]":
        """Start a command, and let it run."""
        return subprocess.Popen(
            [lakeshare(), *map(str, arguments)],
            env=self.env,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def use(self, server: LiveServer, alias: str = "lake") -> None:
        """Give a server an alias."""
        more = ["--ca-cert", str(server.ca_file)] if server.ca_file else []
        self("alias", "set", alias, server.endpoint, server.access_key, server.secret_key, *more)


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for bytecode, so that only the first command has to compile."""
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def cli(tmp_path: Path, bytecode: Path) -> Cli:
    """A user without aliases."""
    home = tmp_path / "home"
    home.mkdir()
    return Cli(home, bytecode=bytecode)


@pytest.fixture
def lake(cli: Cli, live_server: LiveServer) -> Cli:
    """A user with the alias `lake` for the plain server."""
    cli.use(live_server)
    return cli


@pytest.fixture
def bucket(lake: Cli, bucket_names: Callable[[str], str]) -> str:
    """A bucket of its own, as it is typed."""
    name = f"lake/{bucket_names('cli')}"
    lake("mb", name)
    return name


@pytest.fixture
def quick(lake: Cli, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Typed]:
    """Run commands in this process, for tests of many small cases."""
    before = signal.getsignal(signal.SIGTERM)
    for name in [name for name in os.environ if is_of_the_user(name)]:
        monkeypatch.delenv(name)
    for name, value in lake.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(lake.home)

    def run(*arguments: str | Path, code: int = 0) -> Done:
        ended = run_here([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        told = Done(ended, out.decode(), err.decode())
        assert told.code == code, f"{arguments} ended with {told.code}\n{told.out}\n{told.err}"
        return told

    yield run
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def warehouse(quick: Typed, bucket_names: Callable[[str], str]) -> str:
    """A warehouse by its name, with the namespace `ns`."""
    name = bucket_names("cli-wh")
    quick("table", "warehouse", "create", "lake", name)
    quick("table", "namespace", "create", "lake", name, "ns")
    return name
