"""Every metric that the server has, by name, and how Prometheus is told of them. Pure.

Numbers are kept in `board.py`, in memory that the workers share, and summed over them when they are asked for.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Kind(Enum):
    """What Prometheus may do with a number."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric: its name and unit, what it says, its labels, and the upper bounds of a histogram."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()

    @property
    def width(self) -> int:
        """Return how many numbers one series of it has: a histogram's buckets, the one without bound, and the sum."""
        return len(self.bounds) + 2 if self.kind is Kind.HISTOGRAM else 1


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a metric: the values of its labels, and its numbers."""

    metric: Metric
    labels: tuple[str, ...]
    numbers: tuple[float, ...]


SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)

REQUESTS = Metric(
    "lakeshare_requests_total",
    Kind.COUNTER,
    "Requests answered, by protocol, operation and status.",
    ("family", "operation", "status"),
)
ERRORS = Metric(
    "lakeshare_errors_total", Kind.COUNTER, "Requests refused or failed, by the error's code.", ("family", "code")
)
LATENCY = Metric(
    "lakeshare_request_seconds",
    Kind.HISTOGRAM,
    "Time from a request's head to the last byte of its answer.",
    ("family", "operation"),
    SECONDS,
)
IN_FLIGHT = Metric("lakeshare_requests_in_flight", Kind.GAUGE, "Requests being answered now.")
RECEIVED = Metric("lakeshare_received_bytes_total", Kind.COUNTER, "Bytes of request bodies, as declared.", ("family",))
SENT = Metric("lakeshare_sent_bytes_total", Kind.COUNTER, "Bytes of answers' bodies.", ("family",))
SIGNATURES = Metric(
    "lakeshare_signatures_total",
    Kind.COUNTER,
    "Requests by what came of asking who it is: signed, anonymous, or refused.",
    ("outcome",),
)
DECISIONS = Metric(
    "lakeshare_authorisations_total", Kind.COUNTER, "Requests by whether they were allowed.", ("decision",)
)
CACHE = Metric("lakeshare_cache_total", Kind.COUNTER, "Look-ups in a cache, by what they found.", ("cache", "outcome"))
BATCHES = Metric("lakeshare_commit_batches_total", Kind.COUNTER, "Transactions of the group committers.", ("database",))
COMMITS = Metric("lakeshare_commits_total", Kind.COUNTER, "Operations that those transactions carried.", ("database",))
AUDIT_LOST = Metric("lakeshare_audit_lost_total", Kind.COUNTER, "Audit events that no disk would take.")
AUDIT_WAITING = Metric("lakeshare_audit_waiting", Kind.GAUGE, "Audit events on their way to the disk.")
WEBHOOK_SENT = Metric("lakeshare_audit_webhook_sent_total", Kind.COUNTER, "Audit events that the webhook took.")
WEBHOOK_DROPPED = Metric(
    "lakeshare_audit_webhook_dropped_total", Kind.COUNTER, "Audit events that the webhook did not take in time."
)
WEBHOOK_FAILURES = Metric(
    "lakeshare_audit_webhook_failures_total", Kind.COUNTER, "Posts to the webhook that failed, retries included."
)
WEBHOOK_WAITING = Metric("lakeshare_audit_webhook_waiting", Kind.GAUGE, "Audit events on their way to the webhook.")
OVERFLOW = Metric("lakeshare_metrics_overflow_total", Kind.COUNTER, "Series for which the table had no room.")
WORKERS = Metric("lakeshare_workers", Kind.GAUGE, "Worker processes.")
STARTED = Metric("lakeshare_start_time_seconds", Kind.GAUGE, "When the server started, in Unix time.")
DISK_FREE = Metric("lakeshare_disk_free_bytes", Kind.GAUGE, "Free bytes on the data disk.")
DISK_TOTAL = Metric("lakeshare_disk_total_bytes", Kind.GAUGE, "Size of the data disk.")
SHARED_QUERIES = Metric(
    "lakeshare_sharing_queries_total",
    Kind.COUNTER,
    "Queries of shared tables, by who asked.",
    ("recipient", "share", "table"),
)
SHARED_FILES = Metric(
    "lakeshare_sharing_files_total",
    Kind.COUNTER,
    "Files that answers to those queries named.",
    ("recipient", "share", "table"),
)
SHARED_BYTES = Metric(
    "lakeshare_sharing_bytes_total", Kind.COUNTER, "Bytes of those files.", ("recipient", "share", "table")
)
BUILD = Metric("lakeshare_build_info", Kind.GAUGE, "The version, as a label.", ("version",))

METRICS = (
    REQUESTS,
    ERRORS,
    LATENCY,
    IN_FLIGHT,
    RECEIVED,
    SENT,
    SIGNATURES,
    DECISIONS,
    CACHE,
    BATCHES,
    COMMITS,
    AUDIT_LOST,
    AUDIT_WAITING,
    WEBHOOK_SENT,
    WEBHOOK_DROPPED,
    WEBHOOK_FAILURES,
    WEBHOOK_WAITING,
    OVERFLOW,
    WORKERS,
    STARTED,
    DISK_FREE,
    DISK_TOTAL,
    SHARED_QUERIES,
    SHARED_FILES,
    SHARED_BYTES,
    BUILD,
)
BY_NAME: Mapping[str, Metric] = {metric.name: metric for metric in METRICS}


def exposed(series: Iterable[Series]) -> bytes:
    """Write series in Prometheus' text format, in the order of the metrics."""
    by_metric: dict[str, list[Series]] = {}
    for each in series:
        by_metric.setdefault(each.metric.name, []).append(each)
    lines: list[str] = []
    for metric in METRICS:
        found = by_metric.get(metric.name, [])
        if found:
            lines += [f"# HELP {metric.name} {metric.help}", f"# TYPE {metric.name} {metric.kind.value}"]
        for each in sorted(found, key=lambda one: one.labels):
            lines += _lines(each)
    return ("\n".join(lines) + "\n").encode()


def _lines(series: Series) -> list[str]:
    metric, labels = series.metric, list(zip(series.metric.labels, series.labels, strict=True))
    if metric.kind is not Kind.HISTOGRAM:
        return [f"{metric.name}{_labels(labels)} {_number(series.numbers[0])}"]
    *buckets, total = series.numbers
    names = [*(_number(bound) for bound in metric.bounds), "+Inf"]
    counts = list(accumulate(buckets))
    lines = [
        f"{metric.name}_bucket{_labels([*labels, ('le', name)])} {_number(count)}"
        for name, count in zip(names, counts, strict=True)
    ]
    lines.append(f"{metric.name}_sum{_labels(labels)} {_number(total)}")
    lines.append(f"{metric.name}_count{_labels(labels)} {_number(counts[-1])}")
    return lines


def _labels(pairs: list[tuple[str, str]]) -> str:
    if not pairs:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
