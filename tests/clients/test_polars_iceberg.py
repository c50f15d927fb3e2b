"""Polars over tables of the catalog of a live server, by PyIceberg's catalog with a token."""

import polars as pl
import pyarrow as pa
import pytest

from tests.live import LiveServer
from tests.tables.lake import Lake

pytestmark = pytest.mark.filterwarnings("ignore:Iceberg scan planning", "ignore::polars.exceptions.UnstableWarning")
ROWS = pa.table({"id": pa.array(range(10), pa.int64()), "name": [f"bear {number}" for number in range(10)]})


def test_a_table_is_read_and_added_to(live_server: LiveServer):
    """Polars reads with the credentials that came with the table, as the docs have it, and appends."""
    lake = Lake.made(live_server, "polars")
    lake.namespace("ice")
    catalog = lake.by_oauth()
    catalog.create_table(("ice", "bears"), ROWS.schema).append(ROWS)
    table = catalog.load_table("ice.bears")
    keys = {name: value for name, value in table.io.properties.items() if name.startswith("s3.")}
    assert pl.scan_iceberg(table, storage_options=keys).filter(pl.col("id") > 6).collect().height == 3
    pl.DataFrame({"id": [10], "name": ["bear 10"]}).write_iceberg(table, mode="append")
    assert catalog.load_table("ice.bears").scan().to_arrow().num_rows == 11
