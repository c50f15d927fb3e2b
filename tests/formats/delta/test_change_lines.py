"""Lines of change feeds and streams."""

import hashlib
import json

from lakeshare.formats.delta.actions import AddFile, ChangeFile, RemoveFile
from lakeshare.formats.delta.change_lines import FILES_A_CHUNK, delta_change_lines, parquet_change_lines
from lakeshare.formats.delta.changes import CommitChanges
from lakeshare.formats.delta.lines import LineShape
from lakeshare.formats.delta.vectors import DeletionVector, Storage
from tests.formats.delta.test_lines import Urls

VECTOR = DeletionVector(Storage.RELATIVE, "^-aqEH.-t@S}K{vb[*k^", 4, 40, 6)
INLINE = DeletionVector(Storage.INLINE, "00000", None, 4, 1)
NAME = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
ADDED = AddFile("a", {"p": None}, 5, 6, data_change=True, stats="{}", deletion_vector=VECTOR)
REMOVED = RemoveFile("a", data_change=True, deletion_timestamp=8, deletion_vector=INLINE)
BARE = RemoveFile("b", data_change=True)
CHANGED = ChangeFile("_change_data/c%20c", {"p": "x"}, 9)


def read(chunks):
    data = b"".join(chunks)
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def test_changes_in_the_delta_format():
    """Each file has its id, version, times and action; vectors are sent by URL, with the ids of their files."""
    changes = CommitChanges(3, (ADDED, REMOVED, BARE, CHANGED))
    added, removed, bare, changed = read(delta_change_lines(changes, 77, Urls(), LineShape("sha256", 99)))
    assert added["file"] == {
        "id": hashlib.sha256(b"a").hexdigest(),
        "version": 3,
        "timestamp": 77,
        "expirationTimestamp": 99,
        "deletionVectorFileId": hashlib.sha256(NAME.encode()).hexdigest(),
        "deltaSingleAction": {
            "add": {
                "path": "https://h/a?X-Amz-Signature=1",
                "partitionValues": {"p": None},
                "size": 5,
                "modificationTime": 6,
                "dataChange": True,
                "stats": "{}",
                "deletionVector": {
                    "storageType": "p",
                    "pathOrInlineDv": f"https://h/{NAME}?X-Amz-Signature=1",
                    "offset": 4,
                    "sizeInBytes": 40,
                    "cardinality": 6,
                },
            }
        },
    }
    action = removed["file"]["deltaSingleAction"]["remove"]
    assert action["deletionTimestamp"] == 8
    assert action["deletionVector"] == {
        "storageType": "i",
        "pathOrInlineDv": "00000",
        "sizeInBytes": 4,
        "cardinality": 1,
    }
    assert "deletionVectorFileId" not in removed["file"]
    assert bare["file"]["deltaSingleAction"]["remove"]["size"] == 0
    assert changed["file"]["deltaSingleAction"]["cdc"] == {
        "path": "https://h/_change_data/c%20c?X-Amz-Signature=1",
        "partitionValues": {"p": "x"},
        "size": 9,
        "dataChange": False,
    }


def test_changes_in_the_parquet_format():
    """Files are lines of their own kind, and only added ones have statistics."""
    plain = AddFile("a", {}, 5, 6, data_change=True, stats="{}")
    lines = read(parquet_change_lines(CommitChanges(3, (plain, BARE, CHANGED)), 77, Urls(), LineShape("md5", 99)))
    assert [next(iter(line)) for line in lines] == ["add", "remove", "cdf"]
    assert lines[0]["add"] == {
        "url": "https://h/a?X-Amz-Signature=1",
        "id": hashlib.md5(b"a").hexdigest(),
        "partitionValues": {},
        "size": 5,
        "version": 3,
        "timestamp": 77,
        "expirationTimestamp": 99,
        "stats": "{}",
    }
    assert "stats" not in lines[2]["cdf"]


def test_many_changes_come_in_chunks():
    """A large commit is written some files at a time."""
    files = tuple(AddFile(f"f{number}", {}, 1, 1, data_change=True) for number in range(FILES_A_CHUNK + 1))
    chunks = list(parquet_change_lines(CommitChanges(0, files), 1, Urls(), LineShape("md5", 1)))
    assert [chunk.count(b"\n") for chunk in chunks] == [FILES_A_CHUNK, 1]
