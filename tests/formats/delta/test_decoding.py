"""JSON into actions."""

import pytest

from lakeshare.formats.delta.actions import (
    AddFile,
    ChangeFile,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    Transaction,
)
from lakeshare.formats.delta.decoding import decode_line
from lakeshare.formats.delta.errors import BrokenLog
from lakeshare.formats.delta.vectors import DeletionVector, Storage

ADD_WITH_VECTOR = (
    b'{"add":{"path":"p","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true,"stats":"{}",'
    b'"deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":1,"sizeInBytes":3,"cardinality":2}}}'
)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            b'{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["a"],"writerFeatures":[]}}',
            Protocol(3, 7, ("a",), ()),
        ),
        (b'{"txn":{"appId":"a","version":4}}', Transaction("a", 4)),
        (b'{"domainMetadata":{"domain":"d","configuration":"{}","removed":true}}', DomainMetadata("d", "{}", True)),
        (
            b'{"remove":{"path":"p","dataChange":false,"deletionTimestamp":3}}',
            RemoveFile("p", data_change=False, deletion_timestamp=3),
        ),
        (
            b'{"cdc":{"path":"_change_data/c","partitionValues":{"d":null},"size":5,"dataChange":false}}',
            ChangeFile("_change_data/c", {"d": None}, 5),
        ),
        (
            b'{"commitInfo":{"timestamp":1,"inCommitTimestamp":2,"operation":"MERGE","operationMetrics":{"n":"0"}}}',
            CommitInfo(1, 2, "MERGE", {"n": "0"}),
        ),
        (
            ADD_WITH_VECTOR,
            AddFile(
                "p",
                {},
                1,
                2,
                data_change=True,
                stats="{}",
                deletion_vector=DeletionVector(Storage.RELATIVE, "x", 1, 3, 2),
            ),
        ),
        (b'{"checkpointMetadata":{"version":2}}', None),
        (b'{"somethingNew":{"a":1}}', None),
    ],
)
def test_actions_are_decoded(line, expected):
    """Each action becomes its value, and one that is not known is passed over."""
    assert decode_line(line) == expected


def test_metadata_is_kept_letter_for_letter():
    """The schema string is carried as it stands."""
    line = (
        rb'{"metaData":{"id":"i","format":{"provider":"parquet"},"partitionColumns":["a"],'
        rb'"schemaString":"{\"type\":\"struct\",\"fields\":[ ]}"}}'
    )
    assert decode_line(line) == Metadata("i", '{"type":"struct","fields":[ ]}', ("a",))


def test_unknown_fields_and_odd_parameters_are_ignored():
    """Whatever else an action carries does not matter."""
    line = b'{"commitInfo":{"timestamp":1,"operationParameters":{"a":[1,{"b":null}]},"operationMetrics":3,"x":{}}}'
    assert decode_line(line) == CommitInfo(1)


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b'{"add":{"partitionValues":{},"size":1}}',
        b'{"add":{"path":"p","partitionValues":{},"size":"1"}}',
        b'{"add":{"path":"p","partitionValues":{"a":1},"size":1}}',
        b'{"add":{"path":"p","partitionValues":{},"size":1,"deletionVector":{"storageType":"z"}}}',
        b'{"metaData":{"id":"i","format":{"provider":"parquet"},"partitionColumns":[]}}',
        b'{"protocol":{"minReaderVersion":true,"minWriterVersion":1}}',
        b'{"add":7}',
    ],
)
def test_broken_actions_are_refused(line):
    """What is not JSON, or lacks what the protocol requires, is a broken log."""
    with pytest.raises(BrokenLog):
        decode_line(line)
