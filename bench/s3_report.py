"""What the samples say: a table, the goals, a plot, and the page in docs/."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from page import BLUE, IMAGES, ORANGE, Bar, draw, image, write_section
from s3_samples import Sample

HEADING = "## The object store"
PLOT = IMAGES / "bench-s3.svg"
OURS, NGINX, MINIO = "Lakeshare", "nginx", "MinIO"


@dataclass(frozen=True, slots=True)
class Unit:
    """How a row's figures are written."""

    what: str
    rate: str
    rate_scale: float
    cpu: str
    cpu_scale: float
    digits: int = 0


_BYTES = ("GB/s", 1e-9, "s/GB", 1e9, 2)
_REQUESTS = ("/s", 1.0, "us", 1e6, 0)
_KEYS = ("keys/s", 1.0, "us/key", 1e6, 0)
UNITS = {
    "get64m": Unit("GET 64 MiB, 4 connections", *_BYTES),
    "get8m": Unit("GET 8 MiB, 8 connections", *_BYTES),
    "range1m": Unit("GET ranges of 1 MiB, 16 connections", *_BYTES),
    "get4k": Unit("GET 4 KiB, presigned, 32 connections", *_REQUESTS),
    "get4kh": Unit("GET 4 KiB, signed in headers, 32 connections", *_REQUESTS),
    "put64m": Unit("PUT 64 MiB, 4 connections", *_BYTES),
    "put4k": Unit("PUT 4 KiB, durable, 32 connections", *_REQUESTS),
    "list": Unit("list of many keys, 16 connections", *_KEYS),
    "list1k": Unit("list of 1 000 keys, 16 connections", *_KEYS),
    "beside": Unit("GET 4 KiB beside 4 downloads of 64 MiB: large", *_BYTES),
}


@dataclass(frozen=True, slots=True)
class Goal:
    """What a figure of ours must be, as a ratio to a peer's or as it is."""

    row: str
    what: str
    figure: Callable[[Sequence[Sample]], float | None]
    bound: float
    at_least: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """A goal, what was found, and whether that is enough; None where it could not be measured."""

    goal: Goal
    found: float | None

    @property
    def met(self) -> bool | None:
        """Say whether the goal holds."""
        if self.found is None:
            return None
        return self.found >= self.goal.bound if self.goal.at_least else self.found <= self.goal.bound

    def __str__(self) -> str:
        sign = "≥" if self.goal.at_least else "≤"
        outcome = {True: "met", False: "MISSED", None: "not measured"}[self.met]
        found = "" if self.found is None else f"{self.found:.2f} "
        return f"{found}{sign} {self.goal.bound:g}: {outcome}"


def ratio(samples: Sequence[Sample], row: str, peer: str, figure: Callable[[Sample], float]) -> float | None:
    """Return the median over the rounds of our figure divided by a peer's."""
    ours = {sample.round: figure(sample) for sample in samples if (sample.row, sample.peer) == (row, OURS)}
    theirs = {sample.round: figure(sample) for sample in samples if (sample.row, sample.peer) == (row, peer)}
    both = [ours[number] / theirs[number] for number in ours if theirs.get(number)]
    return statistics.median(both) if both else None


def _rate(row: str, peer: str) -> Callable[[Sequence[Sample]], float | None]:
    return lambda samples: ratio(samples, row, peer, lambda sample: sample.rate)


def _cpu(row: str, peer: str) -> Callable[[Sequence[Sample]], float | None]:
    return lambda samples: ratio(samples, row, peer, lambda sample: sample.cpu_each)


def _of_ours(figure: Callable[[list[Sample]], float], *rows: str) -> Callable[[Sequence[Sample]], float | None]:
    def find(samples: Sequence[Sample]) -> float | None:
        ours = [sample for sample in samples if sample.peer == OURS and (not rows or sample.row in rows)]
        return figure(ours) if ours else None

    return find


def _flatness(samples: Sequence[Sample]) -> float | None:
    many = [sample.cpu_each for sample in samples if (sample.row, sample.peer) == ("list", OURS)]
    few = [sample.cpu_each for sample in samples if (sample.row, sample.peer) == ("list1k", OURS)]
    return statistics.median(few) / statistics.median(many) if many and few else None


def _p99(ours: list[Sample]) -> float:
    return statistics.median(sample.p99_ms for sample in ours)


def _largest(ours: list[Sample]) -> float:
    return max(sample.pss_mb for sample in ours)


def _growth(ours: list[Sample]) -> float:
    """Return how the largest worker grew from the first round to the last."""
    first = max(sample.pss_mb for sample in ours if sample.round == 0)
    last = max(sample.pss_mb for sample in ours if sample.round == max(one.round for one in ours))
    return last / first


GOALS = (
    Goal("get64m", "rate of nginx's", _rate("get64m", NGINX), 0.9, at_least=True),
    Goal("get64m", "CPU of MinIO's", _cpu("get64m", MINIO), 0.4, at_least=False),
    Goal("get8m", "CPU of MinIO's", _cpu("get8m", MINIO), 0.4, at_least=False),
    Goal("range1m", "CPU of MinIO's", _cpu("range1m", MINIO), 0.4, at_least=False),
    Goal("get4k", "rate of MinIO's", _rate("get4k", MINIO), 3.0, at_least=True),
    Goal("get4kh", "rate of MinIO's", _rate("get4kh", MINIO), 3.0, at_least=True),
    Goal("put64m", "rate of MinIO's", _rate("put64m", MINIO), 1.0, at_least=True),
    Goal("put64m", "CPU of MinIO's", _cpu("put64m", MINIO), 0.7, at_least=False),
    Goal("put4k", "rate of MinIO's", _rate("put4k", MINIO), 3.0, at_least=True),
    Goal("list", "keys/s of MinIO's", _rate("list", MINIO), 8.0, at_least=True),
    Goal("list", "CPU a key, 1 000 keys over many", _flatness, 0.8, at_least=True),
    Goal("beside", "p99 of 4 KiB GETs, ms", _of_ours(_p99, "beside"), 10.0, at_least=False),
    Goal("memory", "largest worker, MB (PSS)", _of_ours(_largest), 200.0, at_least=False),
    Goal("memory", "last round over first", _of_ours(_growth), 1.2, at_least=False),
)


def verdicts(samples: Sequence[Sample]) -> list[Verdict]:
    """Hold what was measured to the goals."""
    rows = {sample.row for sample in samples} | {"memory"}
    return [Verdict(goal, goal.figure(samples)) for goal in GOALS if goal.row in rows]


def table(samples: Sequence[Sample]) -> str:
    """Write two Markdown tables: what was measured, and the goals."""
    return "\n".join([*_figures(samples), "", *_goals(samples)])


def _figures(samples: Sequence[Sample]) -> list[str]:
    lines = [
        "| medians; CPU of the server in brackets | Lakeshare | nginx | MinIO | p99 ms | client, foreign cores |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row, unit in UNITS.items():
        taken = [sample for sample in samples if sample.row == row]
        if not taken:
            continue
        cells = [_cell([sample for sample in taken if sample.peer == peer], unit) for peer in (OURS, NGINX, MINIO)]
        late = [_median([s.p99_ms for s in taken if s.peer == peer]) for peer in (OURS, NGINX, MINIO)]
        p99 = " / ".join("–" if value is None else f"{value:.1f}" for value in late)
        client, foreign = _median([s.client for s in taken]), _median([s.foreign for s in taken])
        lines.append(f"| {unit.what} | {' | '.join(cells)} | {p99} | {client:.2f}, {foreign:.2f} |")
    lines.append(_memory_line(samples))
    return lines


def _memory_line(samples: Sequence[Sample]) -> str:
    cells = []
    for peer in (OURS, NGINX, MINIO):
        held = [sample for sample in samples if sample.peer == peer]
        if not held:
            cells.append("–")
            continue
        first = max(sample.pss_mb for sample in held if sample.round == 0)
        most, rss = max(sample.pss_mb for sample in held), max(sample.rss_mb for sample in held)
        cells.append(f"{first:.0f} → {most:.0f} MB (RSS {rss:.0f})")
    return f"| largest process, first round → most | {' | '.join(cells)} | | |"


def _goals(samples: Sequence[Sample]) -> list[str]:
    lines = ["| goal | | |", "|---|---|---|"]
    for verdict in verdicts(samples):
        what = UNITS[verdict.goal.row].what if verdict.goal.row in UNITS else verdict.goal.row
        lines.append(f"| {what} | {verdict.goal.what} | {verdict} |")
    return lines


def _cell(samples: Sequence[Sample], unit: Unit) -> str:
    if not samples:
        return "–"
    rate = statistics.median(sample.rate for sample in samples) * unit.rate_scale
    cpu = statistics.median(sample.cpu_each for sample in samples) * unit.cpu_scale
    digits = 2 if cpu < 10 else 0
    return f"{rate:,.{unit.digits}f} {unit.rate} ({cpu:.{digits}f} {unit.cpu})"


def _median(values: list[float]) -> float | None:
    return statistics.median(values) if values else None


def plot(samples: Sequence[Sample], path: Path) -> None:
    """Draw each ratio to a peer that is a goal."""
    bars = []
    for verdict in verdicts(samples):
        goal = verdict.goal
        if verdict.found is not None and goal.row in UNITS and "of " in goal.what:
            short = verdict.met is False
            bars.append(
                Bar(f"{UNITS[goal.row].what}: {goal.what}", verdict.found, str(verdict), ORANGE if short else BLUE)
            )
    draw(bars, "ratio; orange misses its goal", path, mark=1)


def write_docs(samples: Sequence[Sample], facts: dict[str, str]) -> None:
    """Write the section about the object store anew."""
    plot(samples, PLOT)
    shown = ", ".join(f"{name}: {value}" for name, value in facts.items())
    write_section(HEADING, _HOW, shown + ".", image(PLOT, "Ratios to nginx and MinIO."), table(samples))


_HOW = """\
`bench/s3 --write`, two workers; the clients share the processors with the servers, which take turns. Requests are
signed beforehand, as boto3 signs them; what is read lies in the page cache; a PUT is durable when it is answered.
Small GETs ask for 256 objects again and again, by presigned URLs or signed in headers. Lakeshare keeps such objects in
memory while nobody writes, and knows a URL again whose signature held; MinIO reads and reckons each time."""
