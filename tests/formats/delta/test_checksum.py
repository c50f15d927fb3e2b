"""Version checksums."""

import pytest

from lakeshare.formats.delta.actions import Metadata, Protocol
from lakeshare.formats.delta.checksum import Checksum, check_state, check_sums, parse_checksum
from lakeshare.formats.delta.errors import BrokenLog


def test_a_checksum_is_read():
    """Sums, protocol, metadata and the in-commit timestamp are taken from the file."""
    found = parse_checksum(
        b'{"tableSizeBytes":10,"numFiles":2,"inCommitTimestampOpt":5,"protocol":{"minReaderVersion":1,"minWriterVersion":2},'
        b'"metadata":{"id":"i","schemaString":"{}","partitionColumns":[],"format":{"provider":"parquet"}}}'
    )
    assert (found.num_files, found.table_size_bytes, found.in_commit_timestamp) == (2, 10, 5)
    assert found.protocol.min_reader_version == 1
    assert found.metadata.id == "i"


@pytest.mark.parametrize("data", [b"", b"[]", b'{"numFiles":1}', b'{"numFiles":-1,"tableSizeBytes":1}'])
def test_a_broken_checksum_is_none(data):
    """Reading goes on without a checksum that cannot be read."""
    assert parse_checksum(data) is None


def test_sums_that_differ_are_a_broken_log():
    """What was read must be what the writer said."""
    check_sums(Checksum(10, 2), 5, 2, 10)
    with pytest.raises(BrokenLog, match="version 5 has 3 files"):
        check_sums(Checksum(10, 2), 5, 3, 10)


def test_a_state_that_differs_is_a_broken_log():
    """The protocol and the metadata must be those that the writer said, in whatever order features stand."""
    one = Protocol(3, 7, ("a", "b"), ("a", "b"))
    table = Metadata("i", "{}", ("p",), {"k": "v"})
    said = Checksum(10, 2, table, Protocol(3, 7, ("b", "a"), ("b", "a")))
    check_state(said, 5, one, table)
    check_state(Checksum(10, 2), 5, one, table)
    with pytest.raises(BrokenLog, match="version 5 has another protocol"):
        check_state(said, 5, Protocol(3, 7, ("a",), ("a",)), table)
    for other in (Metadata("j", "{}", ("p",), {"k": "v"}), Metadata("i", "{}", ("p",), {"k": "w"})):
        with pytest.raises(BrokenLog, match="version 5 has other metadata"):
            check_state(said, 5, one, other)
