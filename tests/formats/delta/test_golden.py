"""The golden tables of Delta Lake, read as delta-rs reads them, or refused with the reason."""

import pytest

from tests.formats.delta.conformance import examine, tables, unpack
from tests.vectors import DELTA_GOLDEN, needs

pytestmark = needs(DELTA_GOLDEN)
NO_SCHEMA = "no schema"
REFUSED = {
    "canonicalized-paths-normal-a": NO_SCHEMA,
    "canonicalized-paths-normal-b": NO_SCHEMA,
    "canonicalized-paths-special-a": NO_SCHEMA,
    "canonicalized-paths-special-b": NO_SCHEMA,
    "corrupted-last-checkpoint": NO_SCHEMA,
    "data-reader-absolute-paths-escaped-chars": "no metaData",
    "deltalog-commit-info": NO_SCHEMA,
    "deltalog-invalid-protocol-version": "reader version 99",
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": "no metaData",
    "deltalog-state-reconstruction-from-checkpoint-missing-protocol": NO_SCHEMA,
    "deltalog-state-reconstruction-without-metadata": "no metaData",
    "deltalog-state-reconstruction-without-protocol": "no protocol",
    "update-deleted-directory": NO_SCHEMA,
    "versions-not-contiguous": "commit 1 is missing",
}
ROWS_NOT_COMPARED = {
    "basic-with-vacuum-protocol-check-feature": "delta-rs",
    "checkpoint": "missing",
    "delete-re-add-same-file-different-transactions": "missing",
    "log-replay-special-characters-b": "missing",
    "parquet-decimal-dictionaries": "number of rows",
    "parquet-decimal-dictionaries-v1": "missing",
    "parquet-decimal-dictionaries-v2": "number of rows",
    "spark-variant-checkpoint": "number of rows",
    "type-widening": "delta-rs",
    "type-widening-nested": "delta-rs",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder = unpack(tmp_path_factory.mktemp("golden"))
    cache = tmp_path_factory.mktemp("cache")
    return {table: examine(folder, table, cache) for table in tables(folder)}


def test_no_golden_table_is_read_otherwise(outcomes):
    """Version, files, protocol, schema, times and rows of every golden table are those that delta-rs reads."""
    assert len(outcomes) > 100
    assert {table: found.differs for table, found in outcomes.items() if found.differs} == {}


def test_golden_tables_are_refused_with_the_reason(outcomes):
    """Just those tables are refused that are broken on purpose, each for what is broken."""
    refused = {table: found.refused for table, found in outcomes.items() if found.refused}
    assert refused.keys() == REFUSED.keys()
    assert [table for table, reason in REFUSED.items() if reason not in refused[table]] == []


def test_rows_are_compared_wherever_both_can_read_them(outcomes):
    """Rows go uncompared only where a data file is missing from the set, or delta-rs cannot read them."""
    silent = {table: found.oracle for table, found in outcomes.items() if found.oracle and not found.refused}
    assert silent.keys() == ROWS_NOT_COMPARED.keys()
    assert [table for table, reason in ROWS_NOT_COMPARED.items() if reason not in silent[table]] == []
