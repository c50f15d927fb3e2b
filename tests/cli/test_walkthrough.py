"""The object commands of the walkthrough, typed as they stand there with `lakeshare` in place of `mc`."""

import shlex
from pathlib import Path

from tests.cli.conftest import Cli
from tests.live import LiveServer


def typed(cli: Cli, line: str) -> str:
    """Type a line, with `~` as a shell reads it."""
    words = shlex.split(line)
    assert words[0] == "mc"
    return cli(*[str(cli.home / word[2:]) if word.startswith("~/") else word for word in words[1:]]).out


def table(folder: Path) -> None:
    """Lay down a folder with the shape of a Delta table."""
    log = folder / "orders" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text('{"commitInfo":{}}\n')
    (folder / "orders" / "part-00000.snappy.parquet").write_bytes(b"PAR1")


def test_the_walkthrough_works_as_it_is_written(cli: Cli, live_server: LiveServer):
    """The lines of the walkthrough do what it says, with the long dashes that its page has."""
    server = live_server
    table(cli.home / "tpch")
    assert "lakeshare 0." in typed(cli, "mc --version")
    set_alias = f"mc alias set minio {server.endpoint} {server.access_key} {server.secret_key}"
    assert typed(cli, set_alias) == "Added `minio` successfully.\n"

    assert typed(cli, "mc mb minio/testdelta") == "Bucket created successfully `minio/testdelta`.\n"
    typed(cli, "mc cp \u2013recursive ~/tpch minio/testdelta/tpch")
    drawn = typed(cli, "mc tree \u2013files minio/testdelta")
    assert drawn.splitlines() == [
        "minio/testdelta",
        "└─ tpch",
        "   └─ orders",
        "      ├─ part-00000.snappy.parquet",
        "      └─ _delta_log",
        "         └─ 00000000000000000000.json",
    ]
    typed(cli, "mc mb minio/testice")
    assert typed(cli, "mc ls minio/testice") == ""
    assert {line.split()[-1] for line in typed(cli, "mc ls minio").splitlines()} >= {"testdelta/", "testice/"}
    typed(cli, "mc rb --force minio/testdelta")
    typed(cli, "mc rb minio/testice")


def test_a_folder_lands_where_the_walkthrough_needs_it(lake: Cli, bucket: str):
    """`cp --recursive DIR ALIAS/BUCKET/PREFIX` puts what is in DIR below PREFIX, whatever slashes are at the ends."""
    table(lake.home / "tpch")
    (lake.home / "tpch-other").mkdir()
    (lake.home / "tpch-other" / "stray").write_text("stray")
    for number, (source, slash) in enumerate([("tpch", ""), ("tpch/", ""), ("tpch", "/"), ("./tpch/", "/")]):
        lake("cp", "--recursive", source, f"{bucket}/{number}/tpch{slash}")
        listed = lake("ls", "--recursive", "--json", f"{bucket}/{number}/").records
        assert [item["key"] for item in listed] == [
            "tpch/orders/_delta_log/00000000000000000000.json",
            "tpch/orders/part-00000.snappy.parquet",
        ]
