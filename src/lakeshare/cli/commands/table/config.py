"""table config: what an engine must be told to use a warehouse."""

import re

import click

from lakeshare.cli.commands.arguments import BUCKET
from lakeshare.cli.commands.table import engines
from lakeshare.cli.commands.table.places import warehouse_of
from lakeshare.cli.commands.table.shown import Json
from lakeshare.cli.errors import Misused
from lakeshare.cli.flags import command
from lakeshare.cli.output import Record
from lakeshare.cli.session import Session

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HIDDEN_KEY, _HIDDEN_SECRET = "ACCESS_KEY", "SECRET_KEY"


@command()
@click.argument("words", metavar="ALIAS WAREHOUSE", nargs=-1, required=True, type=BUCKET)
@click.option("--spark", "named", multiple=True, flag_value="spark", help="For Spark, as a file of properties.")
@click.option(
    "--trino", "named", multiple=True, flag_value="trino", help="For Trino, as a catalog's file of properties."
)
@click.option("--pyiceberg", "named", multiple=True, flag_value="pyiceberg", help="For PyIceberg, as Python.")
@click.option("--duckdb", "named", multiple=True, flag_value="duckdb", help="For DuckDB, as SQL.")
@click.option("--engine-version", default="", metavar="VERSION", help="Of Spark (3.5, 4.0, 4.1) or Trino (476, 481).")
@click.option("--name", default="lakeshare", metavar="NAME", help="What the engine calls the catalog.")
@click.option("--no-secrets", is_flag=True, help="Write words where the key and its secret belong.")
def config(
    session: Session,
    words: tuple[str, ...],
    *,
    named: tuple[str, ...],
    engine_version: str,
    name: str,
    no_secrets: bool,
) -> Record:
    r"""Print the configuration by which an engine uses a warehouse, with the alias's own key.

    \b
    lakeshare table config lake analytics --spark > lake.conf && spark-sql --properties-file lake.conf
    lakeshare table config lake/analytics --trino --engine-version 476 > etc/catalog/lake.properties
    lakeshare table config lake analytics --pyiceberg
    lakeshare table config lake analytics --duckdb --name lake | duckdb
    """
    engine = _one(named)
    if not _NAME.fullmatch(name):
        raise Misused(f"--name {name!r} is no name for a catalog", "Use letters, digits and underscores.")
    spot = warehouse_of(session, words)
    spot.catalog.get("config", query=(("warehouse", spot.warehouse),))
    alias = spot.catalog.server.alias
    access = engines.Access(
        alias.url,
        spot.warehouse,
        _HIDDEN_KEY if no_secrets else alias.access_key,
        _HIDDEN_SECRET if no_secrets else alias.secret.reveal(),
        "" if no_secrets or not alias.session_token else alias.session_token.reveal(),
        alias.region or engines.REGION,
        name,
    )
    text = _text(engine, access, engine_version)
    if access.session_token and engine in ("trino", "duckdb"):
        session.output.warn(f"{engine} takes no session token here: use an alias with a key that lasts")
    facts: Json = {"engine": engine, "config": text}
    if engine == "spark":
        facts["properties"] = engines.spark_properties(access, engine_version or engines.SPARK)
    return Record(facts, text)


def _one(named: tuple[str, ...]) -> str:
    """Return the engine that is named; a file is for one."""
    if len(set(named)) == 1:
        return named[0]
    said = f"more than one engine is named: {', '.join(named)}" if named else "no engine is named"
    raise Misused(said, "Say --spark, --trino, --pyiceberg or --duckdb.")


def _text(engine: str, access: engines.Access, version: str) -> str:
    match engine:
        case "spark":
            if version and version not in engines.SPARK_JARS:
                raise Misused(f"Spark {version} is not known", f"There are {', '.join(engines.SPARK_JARS)}.")
            return engines.spark(access, version or engines.SPARK)
        case "trino":
            if version and not version.isdigit():
                raise Misused(f"Trino {version} is not known", "Its versions are numbers, such as 476.")
            if version and int(version) < engines.TRINO_SIGV4_SINCE:
                step = f"Take {engines.TRINO_SIGV4_SINCE} or newer."
                raise Misused(f"Trino {version} cannot sign what it asks the catalog for", step)
            return engines.trino(access, int(version or engines.TRINO))
        case "pyiceberg":
            return engines.pyiceberg(access)
    return engines.duckdb(access)
