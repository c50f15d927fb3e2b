"""Golden tables through a share are what delta-rs reads, or are refused with the reason."""

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.formats.delta.conformance import unpack
from tests.live import LiveServer
from tests.sharing.protocol.golden import everything, examine
from tests.sharing.protocol.provider import Provider
from tests.vectors import DELTA_GOLDEN, needs

pytestmark = [
    needs(DELTA_GOLDEN),
    pytest.mark.filterwarnings("default"),
]
SAME = [
    "data-reader-escaped-chars",
    "data-reader-partition-values",
    "data-reader-timestamp_ntz-id-mode",
    "dv-partitioned-with-checkpoint",
    "dv-with-columnmapping",
    "hive/deltatbl-special-chars-in-partition-column",
    "multi-part-checkpoint",
    "only-checkpoint-files",
    "v2-checkpoint-json",
    "v2-checkpoint-parquet",
]
REFUSED = {
    "deltalog-invalid-protocol-version": "the table needs reader version 99",
    "versions-not-contiguous": "commit 1 is missing",
    "type-widening": "typeWidening",
}


def test_tables_of_every_shape_are_read_as_delta_rs_reads_them(
    live_server: LiveServer, bucket_names: Callable[[str], str], tmp_path: Path
):
    """Vectors, column mapping, every sort of checkpoint and names that need encoding: the same rows."""
    warnings.simplefilter("ignore")
    provider = Provider(live_server, bucket_names("golden"))
    found = examine(provider, unpack(tmp_path / "golden"), [*SAME, *REFUSED], tmp_path)
    for each in found:
        if each.table in SAME:
            assert each.verdict == "same rows", each
        else:
            assert each.verdict.startswith("refused"), each
            assert REFUSED[each.table] in each.note


@pytest.mark.long
def test_no_golden_table_is_read_otherwise(tmp_path: Path):
    """Of all golden tables none gives other rows than delta-rs reads."""
    warnings.simplefilter("ignore")
    assert [each for each in everything(tmp_path) if not each.good] == []
