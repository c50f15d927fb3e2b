"""Metrics: what Prometheus is told, and who may ask."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakeshare.telemetry import metrics
from lakeshare.telemetry.board import SINK_WIDTH
from lakeshare.telemetry.metrics import METRICS, Kind, Series, exposed
from tests.admin.client import Answer, Client
from tests.live import LiveServer, running
from tests.patience import until

TOKEN = "a-token-of-the-metrics"
ROW = re.compile(r"^\| `(lakeshare_\w+)` \| (\w+) \| (.*?) ?\| (.+) \|$", re.MULTILINE)
REQUEST_NAMES = (
    'lakeshare_requests_total{family="s3",operation="CreateBucket",status="200"}',
    'lakeshare_requests_total{family="s3",operation="PutObject",status="200"}',
    'lakeshare_requests_total{family="s3",operation="GetObject",status="200"}',
    'lakeshare_requests_total{family="s3",operation="GetObject",status="404"}',
)
SAMPLE = re.compile(r'^(\w+)(?:\{((?:\w+="(?:[^"\\]|\\.)*",?)*)\})? (-?[0-9.e+-]+|\+Inf)$')


def test_every_metric_is_documented(repository: Path):
    """The page about metrics has a line for each metric, with its type, labels and help, and no other."""
    page = (repository / "docs/metrics.md").read_text()
    expected = [
        (metric.name, metric.kind.value, ", ".join(f"`{label}`" for label in metric.labels), metric.help)
        for metric in METRICS
    ]
    assert ROW.findall(page) == expected


def test_names_follow_prometheus():
    """A counter ends in _total, nothing else does; every metric fits the room past the slots."""
    assert all(metric.name.endswith("_total") == (metric.kind is Kind.COUNTER) for metric in METRICS)
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert all(metric.width <= SINK_WIDTH for metric in METRICS)


def test_series_are_written_in_the_text_format():
    """Counters stand with their labels, escaped; a metric without a series is left out."""
    text = exposed(
        [
            Series(metrics.ERRORS, ("s3", 'a"b\\c\nd'), (2.0,)),
            Series(metrics.ERRORS, ("admin", "X"), (0.5,)),
            Series(metrics.IN_FLIGHT, (), (3.0,)),
        ]
    ).decode()
    assert text == (
        "# HELP lakeshare_errors_total Requests refused or failed, by the error's code.\n"
        "# TYPE lakeshare_errors_total counter\n"
        'lakeshare_errors_total{family="admin",code="X"} 0.5\n'
        'lakeshare_errors_total{family="s3",code="a\\"b\\\\c\\nd"} 2\n'
        "# HELP lakeshare_requests_in_flight Requests being answered now.\n"
        "# TYPE lakeshare_requests_in_flight gauge\n"
        "lakeshare_requests_in_flight 3\n"
    )


def test_a_histogram_is_cumulative():
    """Each bucket counts what lies under its bound, the last one everything; sum and count stand beside them."""
    numbers = (1.0, 2.0, *[0.0] * (len(metrics.SECONDS) - 2), 4.0, 9.5)
    lines = exposed([Series(metrics.LATENCY, ("s3", "GetObject"), numbers)]).decode().splitlines()
    labels = 'family="s3",operation="GetObject"'
    assert f'lakeshare_request_seconds_bucket{{{labels},le="0.001"}} 1' in lines
    assert f'lakeshare_request_seconds_bucket{{{labels},le="0.0025"}} 3' in lines
    assert f'lakeshare_request_seconds_bucket{{{labels},le="120"}} 3' in lines
    assert f'lakeshare_request_seconds_bucket{{{labels},le="+Inf"}} 7' in lines
    assert f"lakeshare_request_seconds_sum{{{labels}}} 9.5" in lines
    assert f"lakeshare_request_seconds_count{{{labels}}} 7" in lines


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server whose requests are those of this module."""
    folder = tmp_path_factory.mktemp("metrics")
    with running(folder / "data", environment={"LAKESHARE_METRICS_TOKEN": TOKEN}) as live:
        yield live


def scraped(server: LiveServer) -> dict[str, float]:
    answer = bearing(server, TOKEN)
    assert (answer.status, answer.headers["content-type"]) == (200, metrics.CONTENT_TYPE)
    found: dict[str, float] = {}
    for line in answer.body.decode().splitlines():
        if not line.startswith("#"):
            assert SAMPLE.match(line), line
            name, _, number = line.rpartition(" ")
            found[name] = float(number)
    return found


def since(before: dict[str, float], server: LiveServer) -> dict[str, float]:
    return {name: value - before.get(name, 0.0) for name, value in scraped(server).items()}


def bearing(server: LiveServer, token: str) -> Answer:
    return Client(server).send("GET", "/metrics", headers={"authorization": f"Bearer {token}"})


def test_requests_are_counted_over_all_workers(server: LiveServer):
    """Each request counts once, whichever worker answered it and whichever is asked."""
    root = Client.root(server)
    before = scraped(server)
    root.raw("PUT", "/counted")
    for _ in range(10):
        assert root.raw("PUT", "/counted/key", b"12345").status == 200
        assert root.raw("GET", "/counted/key").body == b"12345"
        assert root.raw("GET", "/counted/none").status == 404
    until(lambda: sum(since(before, server).get(name, 0.0) for name in REQUEST_NAMES) >= 31)
    for _ in range(4):
        grown = since(before, server)
        assert grown['lakeshare_requests_total{family="s3",operation="PutObject",status="200"}'] == 10
        assert grown['lakeshare_requests_total{family="s3",operation="GetObject",status="200"}'] == 10
        assert grown['lakeshare_requests_total{family="s3",operation="GetObject",status="404"}'] == 10
        assert grown['lakeshare_errors_total{family="s3",code="NoSuchKey"}'] == 10
        assert grown['lakeshare_request_seconds_count{family="s3",operation="GetObject"}'] == 20
        assert grown['lakeshare_received_bytes_total{family="s3"}'] == 50
        assert grown['lakeshare_sent_bytes_total{family="s3"}'] >= 50
        assert grown['lakeshare_signatures_total{outcome="signed"}'] == 31
        assert grown['lakeshare_authorisations_total{decision="allow"}'] == 31
        assert scraped(server)["lakeshare_requests_in_flight"] == 0


def test_what_was_refused_is_counted(server: LiveServer):
    """A signature that does not hold, a caller that is nobody, and a denial are told apart."""
    before = scraped(server)
    Client(server, server.access_key, "wrong-secret").raw("GET", "/")
    Client(server).send("GET", "/")
    for name in (
        'lakeshare_signatures_total{outcome="refused"}',
        'lakeshare_signatures_total{outcome="anonymous"}',
        'lakeshare_authorisations_total{decision="deny"}',
        'lakeshare_errors_total{family="s3",code="SignatureDoesNotMatch"}',
    ):
        until(lambda name=name: since(before, server).get(name) == 1)


def test_the_server_as_a_whole_is_told(server: LiveServer):
    """Workers, version, disk, caches and commits are there, and nothing overflowed or was lost."""
    Client.root(server).ok("PUT", "/settings/region", {"value": "us-east-1"})
    found = scraped(server)
    assert found["lakeshare_workers"] == 2
    assert 0 < found["lakeshare_disk_free_bytes"] <= found["lakeshare_disk_total_bytes"]
    assert any(name.startswith("lakeshare_build_info{") for name in found)
    assert found['lakeshare_cache_total{cache="identity",outcome="hit"}'] > 0
    assert found['lakeshare_commits_total{database="state"}'] >= 0
    assert found["lakeshare_metrics_overflow_total"] == found["lakeshare_audit_lost_total"] == 0


def test_metrics_are_not_for_everybody(server: LiveServer):
    """Nobody, a wrong token, a presigned URL and a user without the right are refused; the right and the token do."""
    root, nobody = Client.root(server), Client(server)
    made = root.ok("POST", "/users", {"name": "scraper"})
    user = Client(server, "scraper", made["secret_key"])
    assert nobody.send("GET", "/metrics").status == 403
    assert bearing(server, TOKEN + "x").code == "WrongToken"
    assert bearing(server, "").status == 401
    assert user.raw("GET", "/metrics").status == 403
    root.ok("PUT", "/users/scraper/policies/diagnostics")
    assert user.raw("GET", "/metrics").status == 200
    assert nobody.send("HEAD", "/metrics").status == 405


def test_metrics_can_be_made_public(server: LiveServer):
    """The setting opens them for everyone, on either worker, and closes them again."""
    root, nobody = Client.root(server), Client(server)
    root.ok("PUT", "/settings/metrics_public", {"value": "true"})
    assert {nobody.send("GET", "/metrics").status for _ in range(8)} == {200}
    root.ok("DELETE", "/settings/metrics_public")
    assert {nobody.send("GET", "/metrics").status for _ in range(8)} == {403}


def test_a_short_token_is_refused(tmp_path: Path):
    """A token that could be guessed stops the server at its start, and is not shown."""
    with (
        pytest.raises(AssertionError, match="at least 16 characters") as refused,
        running(tmp_path / "data", environment={"LAKESHARE_METRICS_TOKEN": "short-token"}),
    ):
        pass
    assert "short-token" not in str(refused.value).partition("it said")[2]
