"""The tour of scripts/demo: TPC-H into Delta and Iceberg by Spark, one share, and readers of each kind.

Each step that writes is done once, and again only where what it was made from has changed.
"""

import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from demo import Demo

BUCKET = "testdelta"
WAREHOUSE = "testice"
NAMESPACE = "tpch"
SHARE = "test"
TOKEN_LIFE = "90d"  # noqa: S105 - how long one is good for
ORDERS = (
    "orderkey BIGINT, custkey BIGINT, orderstatus STRING, totalprice DECIMAL(15,2), orderdate DATE, "
    "orderpriority STRING, clerk STRING, shippriority INT, comment STRING"
)
CUSTOMER = (
    "custkey BIGINT, name STRING, address STRING, nationkey INT, phone STRING, acctbal DECIMAL(15,2), "
    "mktsegment STRING, comment STRING"
)
PREFIXES = {"orders": "o_", "customer": "c_"}
# Short jobs: the second compiler of Java would cost more than it saves.
QUICK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
BEST_CUSTOMERS = """
    SELECT c.custkey, c.name, sum(o.totalprice) AS sum_order_price
    FROM lakeshare.{namespace}.customer c JOIN delta.`s3a://{bucket}/tpch/orders` o ON c.custkey = o.custkey
    GROUP BY c.custkey, c.name ORDER BY sum_order_price DESC, c.custkey LIMIT 5
"""


class TourFailed(Exception):
    """A step of the tour did not work."""


def tour(demo: "Demo") -> None:
    """Do each step, or find it done."""
    run = Steps(demo)
    rows = f"scale {demo.scale:g}"
    lakeshare(demo, "alias", "set", "demo", demo.endpoint, typed=f"{demo.access_key}\n{demo.secret_key}\n")
    run.once("rows", rows, f"generating TPC-H orders and customer, {rows}", lambda: generate(demo))
    run.once("bucket", BUCKET, f"making the bucket {BUCKET}", lambda: lakeshare(demo, "mb", "-p", f"demo/{BUCKET}"))
    run.once("orders", rows, "loading orders into a Delta table by Spark", lambda: load_orders(demo))
    run.once("warehouse", WAREHOUSE, f"making the warehouse {WAREHOUSE}", lambda: make_warehouse(demo))
    run.once("customer", rows, "loading customer into an Iceberg table by Spark", lambda: load_customer(demo))
    run.once("share", SHARE, f"sharing orders as {SHARE}.{NAMESPACE}.orders", lambda: make_share(demo))
    if not has_token(demo):
        step("making a token, and a profile for whoever is to read")
        make_token(demo)
    step("reading orders through the share, with pandas and nothing but the profile")
    read_share(demo)
    step("reading customer from the Iceberg catalog, with PyIceberg")
    read_catalog(demo)
    run.once("join", rows, "joining both tables by Spark: the customers with the largest orders", lambda: join(demo))


class Steps:
    """Which steps were done, and from what."""

    def __init__(self, demo: "Demo") -> None:
        self._demo = demo

    def once(self, name: str, made_from: str, text: str, work: Callable[[], object]) -> None:
        """Do a step, unless it was done from the same."""
        if self._demo.done.get(name) == made_from:
            return
        started = time.monotonic()
        step(f"{text} ...")
        work()
        self._demo.done[name] = made_from
        self._demo.remember()
        if (took := time.monotonic() - started) > 1:
            print(f"      {took:.0f} s", flush=True)


def step(text: str) -> None:
    """Show progress."""
    print(f"demo: {text}", flush=True)


def lakeshare(demo: "Demo", *arguments: str, show: bool = False, typed: str = "") -> str:
    """Run a command of Lakeshare, and return what it printed; its errors and its bars go where the demo's go."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(("LAKESHARE_HOST_", "MC_"))}
    done = subprocess.run(
        [Path(sys.executable).with_name("lakeshare"), *arguments],
        env=others | {"LAKESHARE_CONFIG_DIR": str(demo.folder / "config")},
        input=typed, stdout=subprocess.PIPE, text=True, check=False, cwd=demo.folder,
    )  # fmt: skip
    if done.returncode:
        raise TourFailed(f"`lakeshare {' '.join(arguments[:3])} ...` ended with {done.returncode}")
    if show:
        indented(done.stdout)
    return done.stdout


def indented(text: str) -> None:
    """Print lines below the step that they belong to."""
    print("\n".join(f"      {line}" for line in text.rstrip().splitlines()), flush=True)


def generate(demo: "Demo") -> None:
    """Write the rows as CSV, with columns named as in the walkthrough: `orderkey` for TPC-H's `o_orderkey`."""
    raw = demo.folder / "tpch"
    command = [
        Path(sys.executable).with_name("tpchgen-cli"),
        "csv",
        "-s",
        f"{demo.scale:f}",
        "--tables=orders,customer",
    ]
    done = subprocess.run([*command, "--overwrite", "--quiet", "-o", raw], check=False)
    if done.returncode:
        raise TourFailed("tpchgen-cli could not generate rows")
    for name, prefix in PREFIXES.items():
        with (raw / f"{name}.csv").open() as source, (raw / f"{name}.new").open("w") as target:
            target.write(",".join(column.removeprefix(prefix) for column in source.readline().split(",")))
            while chunk := source.read(1024**2):
                target.write(chunk)
        (raw / f"{name}.new").replace(raw / f"{name}.csv")


def ingest(demo: "Demo", file: str, target: str, schema: str) -> None:
    """Load a file into a table."""
    settings = [word for name, value in QUICK.items() for word in ("--conf", f"{name}={value}")]
    lakeshare(
        demo, "pipeline", "ingest", str(demo.folder / "tpch" / file), target, "--mode", "overwrite", "--schema", schema,
        "--rejects", str(demo.folder / "rejected"), *settings, show=True,
    )  # fmt: skip


def load_orders(demo: "Demo") -> None:
    """Orders become a Delta table."""
    ingest(demo, "orders.csv", f"demo/{BUCKET}/tpch/orders", ORDERS)


def make_warehouse(demo: "Demo") -> None:
    """Iceberg tables live in a warehouse, which is a bucket, and in a namespace of it."""
    lakeshare(demo, "table", "warehouse", "create", "demo", WAREHOUSE, "--ignore-existing")


def load_customer(demo: "Demo") -> None:
    """Customers become an Iceberg table."""
    ingest(demo, "customer.csv", f"{WAREHOUSE}.{NAMESPACE}.customer", CUSTOMER)


def make_share(demo: "Demo") -> None:
    """A share names tables for those who are outside."""
    shares = lakeshare(demo, "table", "share", "list", "demo", "--json")
    if f'"{SHARE}"' not in shares:
        lakeshare(demo, "table", "share", "create", f"demo/{SHARE}", NAMESPACE, f"orders:delta:{BUCKET}:tpch/orders")


def has_token(demo: "Demo") -> bool:
    """Say whether there is a profile that is good for this server, today."""
    try:
        profile = json.loads((demo.folder / "profile.share").read_text())
        until = datetime.fromisoformat(profile["expirationTime"])
    except (OSError, ValueError, KeyError):
        return False
    return until > datetime.now(UTC) and profile["endpoint"].startswith(demo.endpoint)


def make_token(demo: "Demo") -> None:
    """Whoever has the profile reads what the share names, and nothing else."""
    said = json.loads(
        lakeshare(
            demo,
            "table",
            "share",
            "token",
            "create",
            f"demo/{SHARE}",
            "--expires",
            TOKEN_LIFE,
            "--endpoint",
            demo.endpoint,
            "--json",
        )
    )
    profile = said["profile"]
    path = demo.folder / "profile.share"
    path.touch(mode=0o600)
    path.write_text(profile if isinstance(profile, str) else json.dumps(profile))


def read_share(demo: "Demo") -> None:
    """Read as a recipient does."""
    import delta_sharing  # noqa: PLC0415 - loads slowly, and only this step needs it

    frame = delta_sharing.load_as_pandas(f"{demo.folder / 'profile.share'}#{SHARE}.{NAMESPACE}.orders")
    indented(f"{len(frame)} rows; the first:\n" + table(frame.sort_values("orderkey").head(5), 5))


def read_catalog(demo: "Demo") -> None:
    """Read as an Iceberg client does, signed with an access key."""
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415 - loads slowly, and only this step needs it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        catalog = load_catalog(
            "demo",
            **{
                "type": "rest",
                "uri": f"{demo.endpoint}/_iceberg",
                "warehouse": WAREHOUSE,
                "rest.sigv4-enabled": "true",
                "rest.signing-name": "s3tables",
                "rest.signing-region": "local",
                "client.access-key-id": demo.access_key,
                "client.secret-access-key": demo.secret_key,
                "s3.access-key-id": demo.access_key,
                "s3.secret-access-key": demo.secret_key,
                "s3.endpoint": demo.endpoint,
                "s3.region": "local",
            },
        )
        frame = catalog.load_table((NAMESPACE, "customer")).scan().to_pandas()
    indented(f"{len(frame)} rows; the first:\n" + table(frame.sort_values("custkey").head(5), 5))


def join(demo: "Demo") -> None:
    """One Spark session reads both: Delta by its path, Iceberg by its name."""
    from lakeshare.pipeline.conf import Wanted  # noqa: PLC0415 - only this step needs Spark
    from lakeshare.pipeline.connection import Connection  # noqa: PLC0415
    from lakeshare.pipeline.session import spark_session  # noqa: PLC0415
    from lakeshare.settings import Secret  # noqa: PLC0415

    server = Connection(demo.endpoint, demo.access_key, Secret(demo.secret_key))
    with spark_session(server, Wanted(warehouse=WAREHOUSE, more=QUICK)) as spark:
        found = spark.sql(BEST_CUSTOMERS.format(namespace=NAMESPACE, bucket=BUCKET)).collect()
    indented("\n".join(f"{row.custkey:>6}  {row['name']}  {row.sum_order_price:>13}" for row in found))


def table(frame: Any, columns: int) -> str:
    """Lay out the first columns of a frame."""
    text: str = frame.iloc[:, :columns].to_string(index=False)
    return text
