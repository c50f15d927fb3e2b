"""What bench/catalog found: a table, the goals, a plot, and the section of docs/benchmarks.md."""

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from page import IMAGES, Bar, Goal, cores, draw, goal_lines, image, write_section

PLOT = IMAGES / "bench-catalog.svg"
HEADING = "## The Iceberg catalog"
OURS, FIXTURE = "Lakeshare", "fixture"
_CONFLICT = "409"
_GOOD = ("200", "204", "304")


@dataclass(frozen=True, slots=True)
class Sample:
    """What one server did with one call for some seconds."""

    call: str
    server: str
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    statuses: Mapping[str, int]


@dataclass(slots=True)
class Figures:
    """All that was found."""

    long_listing: int
    samples: list[Sample] = field(default_factory=list)
    copies: list[dict[str, Any]] = field(default_factory=list)
    foreign: list[float] = field(default_factory=list)
    """Processors that other work took before each round."""

    def of(self, call: str, server: str) -> list[Sample]:
        """Return the samples of a call."""
        return [sample for sample in self.samples if (sample.call, sample.server) == (call, server)]

    def titles(self) -> dict[str, str]:
        """Return the calls in words."""
        many = f"{self.long_listing:,}".replace(",", " ")
        return {
            "load": "loadTable, 10 snapshots, 16 connections",
            "cached": "the same, 304",
            "load_aged": "loadTable, 120 snapshots, 16 connections",
            "cached_aged": "the same, 304",
            "list": "list of 1 000 tables, 8 connections",
            "list_long": f"list of {many} tables, 8 connections",
            "commit": "commit, 16 tables and writers",
            "append": "commit of a snapshot, 16 tables and writers",
            "one": "commit, one table and 8 writers",
            "multi": "commit of four tables at once, 8 writers",
            "warp_read": "`warp iceberg catalog-read`, 8 clients",
            "warp_commits": "`warp iceberg catalog-commits`, 8 clients",
            "warp_mixed": "`warp iceberg catalog-mixed`, 8 clients",
        }


def _beside(call: str) -> Callable[[Figures], float | None]:
    return lambda figures: _ratio(figures.of(call, OURS), figures.of(call, FIXTURE))


def _ratio(ours: list[Sample], theirs: list[Sample]) -> float | None:
    """Return the median of the ratios of samples that were taken after one another."""
    found = [mine.rate / other.rate for mine, other in zip(ours, theirs, strict=False) if other.rate]
    return statistics.median(found) if found else None


def _unchanged(figures: Figures) -> float | None:
    return _ratio(figures.of("cached_aged", OURS), figures.of("load_aged", OURS))


def _refused(figures: Figures) -> float | None:
    taken = figures.of("one", OURS)
    return sum(sample.statuses.get(_CONFLICT, 0) for sample in taken) if taken else None


def _failed(figures: Figures) -> float | None:
    taken = [sample for sample in figures.samples if sample.server == OURS]
    bad = [count for one in taken for status, count in one.statuses.items() if status not in (*_GOOD, _CONFLICT)]
    return sum(bad) if taken else None


def _copied(figures: Figures) -> float | None:
    found = [one["load"] / one["copy"] for one in figures.copies if one["server"] == OURS]
    return statistics.median(found) if found else None


GOALS = (
    Goal("loadTable, beside the fixture", _beside("load"), 2, "times", at_least=True),
    Goal("durable commits over 16 tables, beside the fixture", _beside("commit"), 4, "times", at_least=True),
    Goal("commits on one table from 8 writers: 409s", _refused, 0, ""),
    Goal("list of 1 000 tables, beside the fixture", _beside("list"), 5, "times", at_least=True),
    Goal("304, beside our own loadTable of 120 snapshots", _unchanged, 1.5, "times", at_least=True),
    Goal("10 000 snapshots: a load beside copying its bytes", _copied, 3, "times the time"),
    Goal("answers of Lakeshare that are errors", _failed, 0, ""),
)


def missed(figures: Figures) -> bool:
    """Say whether a goal was measured and missed."""
    return any(goal.verdict(figures)[1] is False for goal in GOALS)


def table_of(figures: Figures) -> str:
    """Write all as Markdown tables."""
    blocks = [
        _busy(figures),
        _calls(figures),
        _copies(figures),
        goal_lines(GOALS, figures, lambda value: f"{value:.3g}"),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _busy(figures: Figures) -> list[str]:
    told = ", ".join(f"{cores:.2f}" for cores in figures.foreign)
    return [f"Processors that other work took before each round: {told}."]


def _calls(figures: Figures) -> list[str]:
    if not figures.samples:
        return []
    lines = [
        "| call; medians | Lakeshare | p99 | CPU each | 409 | fixture | p99 | CPU each | 409 | ratio | of CPU |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for call, title in figures.titles().items():
        ours, theirs = figures.of(call, OURS), figures.of(call, FIXTURE)
        if not ours:
            continue
        ratio = _ratio(ours, theirs)
        last = " | " if ratio is None else f"{ratio:.1f} | {_cheaper(ours, theirs):.1f}"
        lines.append(f"| {title} | {_cells(ours)} | {_cells(theirs)} | {last} |")
    return lines


def _cheaper(ours: list[Sample], theirs: list[Sample]) -> float:
    """Return how many times as much processor time the other takes for an answer: that says most on a busy machine."""
    return statistics.median(other.cpu_us / mine.cpu_us for mine, other in zip(ours, theirs, strict=False))


def _cells(taken: list[Sample]) -> str:
    if not taken:
        return " | | | "
    rate, late, cpu = (
        statistics.median(each) for each in zip(*((one.rate, one.p99_ms, one.cpu_us) for one in taken), strict=True)
    )
    refused = sum(one.statuses.get(_CONFLICT, 0) for one in taken)
    return f"{rate:,.0f}/s | {late:.1f} ms | {cpu:,.0f} us | {refused}"


def _copies(figures: Figures) -> list[str]:
    if not figures.copies:
        return []
    lines = ["| 10 000 snapshots, one connection | bytes | load | copy | as an object |", "|---|---:|---:|---:|---:|"]
    for server in dict.fromkeys(one["server"] for one in figures.copies):
        taken = [one for one in figures.copies if one["server"] == server]
        times = [
            f"{statistics.median(one[way] for one in taken):.2f} ms" if way in taken[0] else ""
            for way in ("load", "copy", "object")
        ]
        lines.append(f"| {server} | {taken[0]['bytes']:,} | {' | '.join(times)} |")
    return lines


def plot(figures: Figures, path: Path) -> None:
    """Draw how many times the fixture's rate each call has."""
    found = [(title, _beside(call)(figures)) for call, title in figures.titles().items()]
    bars = [Bar(title, ratio, f"{ratio:.1f}") for title, ratio in found if ratio is not None]
    draw(bars, "times the rate of Iceberg's REST fixture", path, mark=1)


def write_docs(figures: Figures) -> None:
    """Write the section about the catalog anew, and leave the rest of the page as it is."""
    plot(figures, PLOT)
    shown = image(PLOT, "Times the rate of the fixture, for each call.")
    write_section(HEADING, _HOW.format(cores=cores()), shown, table_of(figures))


_HOW = """\
`bench/catalog --write`, {cores} processors that the client shares with the servers; both servers run, and are asked in
turns. Tables have twelve columns, and ten snapshots or as many as an hourly commit leaves in five days. Lakeshare has
two workers, checks a SigV4 signature on every request, and a commit is durable when it is answered. The fixture is
Apache Iceberg's own test server over a SQLite file and metadata files on disk, which it does not sync; it asks nobody
who they are. The 10 000 snapshots are copied from the memory of a bare process over a socket of the same kind. warp is
MinIO's load client, which takes turns among reads, or sets properties of 16 tables and 16 views from half of its
clients each; it is a Go program that signs as it goes, so that it takes more of the processors than our own client."""
