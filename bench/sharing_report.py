"""What bench/sharing found: tables, the goals, a plot, and the section of docs/benchmarks.md."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from page import BLUE, GREY, IMAGES, ORANGE, Bar, Goal, cores, draw, goal_lines, image, write_section
from sharing_pandas import Pandas

PLOT = IMAGES / "bench-sharing.svg"
HEADING = "## Sharing"
MIB = 1024 * 1024 / 1_000_000
_LARGE = "1 000 000 files"
_REFERENCE = (
    ("1 000 files", "3.6–4.0", "0.12–0.18", "31–36"),
    ("100 000 files", "11.4–11.9", "7.3–9.1", "36–41"),
)
"""Seconds cold and warm, and versions or metadata a second with eight clients, of the reference server 1.4.1."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One query: when its first byte came, when its last, and what it cost the server."""

    row: str
    table: str
    first_ms: float
    seconds: float
    files: int
    bytes: int
    cpu_seconds: float
    peak_mb: float
    idle_mb: float


@dataclass(slots=True)
class Figures:
    """All that was found."""

    middle_files: int
    foreign: dict[str, float] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)
    listings: dict[str, dict[str, float]] = field(default_factory=dict)
    many: dict[str, float] = field(default_factory=dict)
    rates: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    pandas: list[Pandas] = field(default_factory=list)

    @property
    def middle(self) -> str:
        """The table of which many queries run at once."""
        return f"{self.middle_files:,} files".replace(",", " ")

    def of(self, row: str, table: str) -> list[Sample]:
        """Return the samples of a row."""
        return [sample for sample in self.samples if (sample.row, sample.table) == (row, table)]

    def median(self, row: str, table: str, figure: Callable[[Sample], float]) -> float | None:
        """Return the median of a figure, or None where nothing was measured."""
        found = [figure(sample) for sample in self.of(row, table)]
        return statistics.median(found) if found else None


def _times(figures: Figures) -> float | None:
    obvious = figures.median("obvious warm", figures.middle, lambda sample: sample.seconds)
    ours = figures.median("warm", figures.middle, lambda sample: sample.seconds)
    return obvious / ours if obvious and ours else None


def _large(row: str, figure: Callable[[Sample], float]) -> Callable[[Figures], float | None]:
    return lambda figures: figures.median(row, _LARGE, figure)


def _listing(row: str) -> Callable[[Figures], float | None]:
    return lambda figures: figures.listings.get(row, {}).get("most_ms")


def _rate(call: str) -> Callable[[Figures], float | None]:
    def found(figures: Figures) -> float | None:
        taken = figures.rates.get(call)
        return statistics.median(one["rate"] for one in taken) if taken else None

    return found


def _by_kernel(figures: Figures) -> float | None:
    return next((one.ratio for one in figures.pandas if one.way == "kernel"), None)


def _cold_listings(figures: Figures) -> float | None:
    return max((told["most_ms"] for row, told in figures.listings.items() if row.startswith("cold")), default=None)


GOALS: tuple[Goal[Figures], ...] = (
    Goal("warm, beside the obvious implementation", _times, 20, "times as fast", at_least=True),
    Goal("eight queries at once: answered", lambda figures: figures.many.get("answered"), 8, "", at_least=True),
    Goal("a listing beside the eight, the slowest", _listing("many"), 50, "ms"),
    Goal("a listing beside a cold query, the slowest", _cold_listings, 50, "ms"),
    Goal("1 000 000 files, warm: first byte", _large("warm", lambda one: one.first_ms), 50, "ms"),
    Goal(
        "1 000 000 files, warm", _large("warm", lambda one: one.files / one.seconds), 150_000, "lines/s", at_least=True
    ),
    Goal("1 000 000 files, cold: first byte", _large("cold", lambda one: one.first_ms / 1000), 6, "s"),
    Goal("1 000 000 files, cold: most memory", _large("cold", lambda one: one.peak_mb), 1536, "MiB"),
    Goal(
        "1 000 000 files, warm: most memory above idle",
        _large("warm", lambda one: (one.peak_mb - one.idle_mb) * MIB),
        600,
        "MB",
    ),
    Goal(
        "1 000 000 files, a statistics predicate",
        _large("statistics predicate", lambda one: one.seconds * 1000),
        100,
        "ms",
    ),
    Goal(
        "1 000 000 files, a partition predicate, first byte",
        _large("partition predicate", lambda one: one.first_ms),
        100,
        "ms",
    ),
    Goal("version", _rate("version"), 2000, "/s", at_least=True),
    Goal("metadata", _rate("metadata"), 2000, "/s", at_least=True),
    Goal("pandas over the share, beside the local disk", _by_kernel, 1.3, "times the time"),
)


def missed(figures: Figures) -> bool:
    """Say whether a goal was measured and missed."""
    return any(goal.verdict(figures)[1] is False for goal in GOALS)


def table_of(figures: Figures) -> str:
    """Write all as Markdown tables."""
    blocks = [
        _busy(figures),
        _queries(figures.samples),
        _beside(figures),
        _small(figures),
        _pandas(figures),
        goal_lines(GOALS, figures, _number),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _busy(figures: Figures) -> list[str]:
    told = ", ".join(f"{cores:.2f} before {part}" for part, cores in figures.foreign.items())
    return [f"Processors that other work took: {told}."]


def _queries(samples: Sequence[Sample]) -> list[str]:
    if not samples:
        return []
    lines = [
        "| query, one worker; medians | files answered | first byte | total | lines/s | CPU a line | most memory |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for key in dict.fromkeys((sample.table, sample.row) for sample in samples):
        taken = [sample for sample in samples if (sample.table, sample.row) == key]
        first, seconds, cpu = (
            statistics.median(each)
            for each in zip(*((one.first_ms, one.seconds, one.cpu_seconds) for one in taken), strict=True)
        )
        files, peak = taken[0].files, max(one.peak_mb for one in taken)
        each = f"{cpu / files * 1e6:.1f} us" if files > _FEW else ""
        rate = f"{files / seconds:,.0f}" if files > _FEW else ""
        lines.append(
            f"| {key[0]}, {key[1]} | {files:,} | {first:.0f} ms | {_time(seconds)} | {rate} | {each} | {peak:.0f} MiB |"
        )
    return lines


_FEW = 999


def _beside(figures: Figures) -> list[str]:
    lines = []
    if figures.many:
        told = figures.many
        lines.append(
            f"Eight queries of {figures.middle} at once, two workers: {told['answered']:.0f} answered in "
            f"{told['seconds']:.2f} s, the last first byte after {told['first_ms']:.0f} ms, "
            f"largest worker {told['peak_mb']:.0f} MiB."
        )
    if figures.listings:
        lines += ["", "| a listing every 20 ms beside | calls | median | p99 | slowest |", "|---|---:|---:|---:|---:|"]
    for row, told in figures.listings.items():
        times = " | ".join(f"{told[name]:.1f} ms" for name in ("p50_ms", "p99_ms", "most_ms"))
        lines.append(f"| {row} | {told['count']:.0f} | {times} |")
    return lines


def _small(figures: Figures) -> list[str]:
    if not figures.rates:
        return []
    lines = ["| call, two workers, 16 connections | a second | p99 | CPU each |", "|---|---:|---:|---:|"]
    for call, taken in figures.rates.items():
        rate, late, cpu = (statistics.median(one[name] for one in taken) for name in ("rate", "p99_ms", "cpu_us"))
        lines.append(f"| {call} | {rate:,.0f} | {late:.1f} ms | {cpu:.0f} us |")
    return lines


def _pandas(figures: Figures) -> list[str]:
    if not figures.pandas:
        return []
    lines = ["| a table of Parquet into pandas | shared | local disk | ratio |", "|---|---:|---:|---:|"]
    ways = {"kernel": "delta format, by the kernel", "plain": "parquet format, by pyarrow"}
    return lines + [
        f"| {ways[one.way]} | {one.shared:.2f} s | {one.local:.2f} s | {one.ratio:.2f} |" for one in figures.pandas
    ]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"


def plot(figures: Figures, path: Path) -> None:
    """Draw the total of each query."""
    draw(_bars(figures), "seconds to the last line (grey: the reference server, as it was measured elsewhere)", path)


def _bars(figures: Figures) -> list[Bar]:
    found: list[Bar] = []
    for table, row in dict.fromkeys((sample.table, sample.row) for sample in figures.samples):
        seconds = figures.median(row, table, lambda sample: sample.seconds) or 0.0
        theirs = row.startswith("obvious")
        name = row if theirs else f"Lakeshare {row}"
        found.append(Bar(f"{table}: {name}", seconds, _time(seconds), ORANGE if theirs else BLUE))
    reference = {"1 000 files": (3.8, 0.15), "100 000 files": (11.6, 8.2)}
    for table, (cold, warm) in reference.items():
        if any(sample.table == table for sample in figures.samples):
            found.append(Bar(f"{table}: reference cold", cold, _time(cold), GREY))
            found.append(Bar(f"{table}: reference warm", warm, _time(warm), GREY))
    return sorted(found, key=lambda each: int(each.name.partition(" files")[0].replace(" ", "")))


def write_docs(figures: Figures) -> None:
    """Write the section about sharing anew, and leave the rest of the page as it is."""
    plot(figures, PLOT)
    quoted = ["| the reference server 1.4.1 | cold, s | warm, s | version or metadata, /s |", "|---|---:|---:|---:|"]
    quoted += [f"| {' | '.join(row)} |" for row in _REFERENCE]
    shown = image(PLOT, "Seconds to the last line of each query.")
    write_section(HEADING, _HOW.format(cores=cores()), shown, table_of(figures), _QUOTED, "\n".join(quoted))


_HOW = """\
`bench/sharing --write`, {cores} processors that the clients share with the server. Tables are synthetic logs, a
checkpoint and two commits, with 570 bytes of statistics a file and a hundred partitions. Cold is a server that has just
started and kept nothing of the table. The obvious implementation is delta-rs for the list of files, botocore's
presigner and `json`, in the same run."""
_QUOTED = """\
Figures of the reference server, quoted: a JVM with 2 GB of heap on the same kind of machine in an earlier run, over
logs alike. Of eight queries of 100 000 files at once it answered five, and a listing beside them took 46 s."""
