"""`lakeshare pipeline ingest` as it is typed: what is told before Spark starts, and one job from end to end."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Done
from tests.live import LiveServer, lakeshare
from tests.spark import QUICK, needs_spark

PATIENCE_SECONDS = 800


@pytest.fixture
def cli(tmp_path: Path, live_server: LiveServer, cache: Path) -> Cli:
    """A user with an alias for the plain server, and a file to load."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("a.csv", "a.data"):
        (home / name).write_text("id,name\n1,Ada\nx,Ben\n3,Chi\n")
    user = Cli(home, {"LAKESHARE_CACHE": str(cache)})
    user.use(live_server)
    return user


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["a.csv", "lake/no-such-bucket/t"], 3, "lakeshare mb lake/no-such-bucket"),
        (["absent.csv", "lake/BUCKET/t"], 3, "nothing at absent.csv"),
        (["lake/BUCKET/absent/*.csv", "lake/BUCKET/t"], 3, "lakeshare ls lake/BUCKET"),
        (["a.csv", "nowhere.name.table"], 3, "lakeshare table warehouse create lake nowhere"),
        (["a.csv", "lake/BUCKET"], 2, "WAREHOUSE.NAMESPACE.TABLE"),
        (["a.csv", "other/BUCKET/t"], 3, "there is no alias 'other'"),
        (["a.csv", "lak/BUCKET/t"], 3, "Did you mean 'lake'?"),
        (["a.csv", "s3://BUCKET/t", "--alias", "lak"], 3, "Did you mean 'lake'?"),
        (["a.csv", "lake/BUCKET/t", "--rejects", "there/BUCKET/r", "--conf", "x"], 2, "--conf has 'x'"),
        (["a.csv", "lake/BUCKET/t", "--schema", "@absent.sql"], 3, "absent.sql cannot be read"),
        (["a.csv", "lake/BUCKET/t", "--delimiter", ""], 2, "the delimiter is empty"),
        (["a.data", "lake/BUCKET/t"], 2, "--format csv or parquet"),
        (["absent", "lake/BUCKET/t"], 3, "nothing at absent"),
        (["a.csv", "lake/BUCKET/t", "--mode", "merge"], 2, "'append', 'overwrite'"),
    ],
)
def test_what_cannot_work_is_told_at_once(
    cli: Cli, live_server: LiveServer, bucket: str, arguments: list[str], code: int, said: str
):
    """What can be known without Spark is told with its exit code and a next step, and as JSON where that is asked."""
    typed = ["pipeline", "ingest", *(word.replace("BUCKET", bucket) for word in arguments)]
    told = cli(*typed, code=code).err
    assert said.replace("BUCKET", bucket) in told
    error = json.loads(cli(*typed, "--json", code=code).err)
    assert error["status"] == "error"


def test_a_path_in_a_warehouse_is_not_taken_for_a_delta_table(cli: Cli, bucket: str):
    """Other commands type an Iceberg table as a path; here it would be a Delta table, and the right form is told."""
    cli("table", "warehouse", "create", "lake", bucket)
    told = cli("pipeline", "ingest", "a.csv", f"lake/{bucket}/ns/eu/t", code=2).err
    assert f"Write lake/{bucket}.ns.eu.t for an Iceberg table" in told


def test_keys_and_servers_are_tried_before_spark(cli: Cli, live_server: LiveServer, bucket: str):
    """A wrong secret ends with 4, a server that does not answer with 5, and no or two servers with 2."""
    cli.environment["LAKESHARE_HOST_wrong"] = f"http://{live_server.access_key}:wrong@{live_server.endpoint[7:]}"
    cli.environment["LAKESHARE_HOST_gone"] = "http://key:secret@127.0.0.1:9"
    ingest = ("pipeline", "ingest")
    assert "set the alias again" in cli(*ingest, "a.csv", f"wrong/{bucket}/t", code=4).err.lower()
    assert "nobody listens" in cli(*ingest, "a.csv", f"gone/{bucket}/t", code=5).err
    assert "--alias ALIAS" in cli(*ingest, "a.csv", f"s3://{bucket}/t", code=2).err
    assert "one server" in cli(*ingest, "gone/b/a.csv", f"lake/{bucket}/t", code=2).err


@pytest.mark.spark
@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--master", "somewhere"), "Master must either be yarn or start with spark, k8s, or local"),
        (("--driver-memory", "lots"), "Invalid maximum heap size: -Xmxlots"),
    ],
)
def test_a_spark_that_cannot_start_is_told_in_a_line(
    cli: Cli, bucket: str, java: Path, flags: tuple[str, str], said: str
):
    """What Spark's log says of the cause is told, and where that log is."""
    cli.environment |= {"JAVA_HOME": str(java), "PATH": os.environ["PATH"]}
    told = cli("pipeline", "ingest", "a.csv", f"lake/{bucket}/t", *flags, code=1).err
    assert said in told
    assert "spark.log" in told
    assert len(told.splitlines()) == 2


@pytest.mark.spark
@pytest.mark.timeout(900)
def test_a_job_from_end_to_end_over_tls(
    cli: Cli, live_tls_server: LiveServer, bucket_names: Callable[[str], str], java: Path
):
    """Rows go over TLS with an authority of its own; the report says what was done, a warning what was left out."""
    needs_spark()
    cli.use(live_tls_server, "safe")
    bucket = bucket_names("tls")
    cli("mb", f"safe/{bucket}")
    quick = [word for name, value in QUICK.items() for word in ("--conf", f"{name}={value}")]
    words = [
        "pipeline", "ingest", "a.csv", f"safe/{bucket}/t", "--schema", "id INT, name STRING", "--master", "local[2]",
        "--rejects", "aside", *quick, "--json",
    ]  # fmt: skip
    done = subprocess.run(
        [lakeshare(), *words], env=cli.env | {"JAVA_HOME": str(java), "PATH": os.environ["PATH"]}, cwd=cli.home,
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    told = Done(done.returncode, done.stdout, done.stderr)
    assert told.code == 0, told.err
    report = told.record
    assert (report["rows_in"], report["rows_written"], report["rows_rejected"]) == (3, 2, 1)
    assert (report["version"], report["snapshot_id"], report["created"]) == (0, None, True)
    assert report["format"] == "delta"
    assert Path(report["rejected_to"]).read_text() == "id,name\nx,Ben\n"
    assert Path(report["rejected_to"]).parent == cli.home / "aside"
    assert live_tls_server.secret_key not in told.out + told.err
    listed = [item["key"] for item in cli("ls", "--recursive", "--json", f"safe/{bucket}/").records]
    assert any(key.startswith("t/part-") for key in listed)
    assert "t/_delta_log/00000000000000000000.json" in listed
