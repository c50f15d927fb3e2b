"""Measure how long commands take that answer at once, beside `python -c pass` in the same run.

Bytecode is cached, as it is wherever a package is installed; the first round, which writes it, does not count.
Samples alternate, so that whatever else the machine does weighs on all alike. What counts is that a command takes less
than 0.3 s, Python included, and the ratio of the processor's time, which other work on the machine changes least.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from tests.live import LiveServer, running  # noqa: E402 - the tree is no package

GOAL_SECONDS = 0.3
COMMANDS = (
    ("--version",),
    ("--help",),
    ("cp", "--help"),
    ("alias", "list"),
    ("ls", "lake"),
    ("stat", "lake/bench/small"),
    ("cp", "lake/bench/small", "small"),
    ("admin", "info", "lake"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: medians of time and of the processor's time in seconds, and the latter's ratio."""

    command: str
    seconds: float
    least_seconds: float
    cpu_seconds: float
    cpu_ratio: float
    within_goal: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """How long one run took, and how much of that the processor worked for it."""

    seconds: float
    cpu_seconds: float


def timed(line: list[str], folder: Path, environment: dict[str, str]) -> Sample:
    """Run a command line once."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(line, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Sample(seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(server: LiveServer, folder: Path, rounds: int) -> list[Row]:
    """Sample every command and bare Python in turn."""
    program = str(Path(sys.executable).with_name("lakeshare"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"LAKESHARE_CONFIG_DIR": str(folder / "config"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    prepare(program, server, folder, environment)
    lines = {"python -c pass": [sys.executable, "-c", "pass"]}
    lines |= {f"lakeshare {' '.join(words)}": [program, *words] for words in COMMANDS}
    samples: dict[str, list[Sample]] = {name: [] for name in lines}
    for _ in range(rounds + 1):
        for name, line in lines.items():
            samples[name].append(timed(line, folder, environment))
    bare = statistics.median(sample.cpu_seconds for sample in samples["python -c pass"][1:])
    return [row(name, taken[1:], bare) for name, taken in samples.items()]


def row(name: str, taken: list[Sample], bare: float) -> Row:
    """Sum up the samples of one command."""
    seconds = statistics.median(sample.seconds for sample in taken)
    cpu = statistics.median(sample.cpu_seconds for sample in taken)
    return Row(name, seconds, min(sample.seconds for sample in taken), cpu, cpu / bare, seconds < GOAL_SECONDS)


def prepare(program: str, server: LiveServer, folder: Path, environment: dict[str, str]) -> None:
    """Give the server an alias and an object."""
    key = (server.endpoint, server.access_key, server.secret_key)
    (folder / "small").write_text("small\n")
    for words in (("alias", "set", "lake", *key), ("mb", "lake/bench"), ("cp", "small", "lake/bench/small")):
        subprocess.run([program, *words], cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, running(Path(name) / "data") as server:
        rows = measure(server, Path(name), chosen.rounds)
    if chosen.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    width = max(len(row.command) for row in rows)
    print(f"{'command':{width}}  {'median':>8}  {'least':>8}  {'CPU':>8}  {'ratio':>5}  under {GOAL_SECONDS} s")
    for one in rows:
        times = (one.seconds, one.least_seconds, one.cpu_seconds)
        told = "  ".join(f"{seconds * 1000:5.0f} ms" for seconds in times)
        print(f"{one.command:{width}}  {told}  {one.cpu_ratio:5.1f}  {'yes' if one.within_goal else 'no'}")


if __name__ == "__main__":
    main()
