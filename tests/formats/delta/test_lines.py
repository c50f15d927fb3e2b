"""Lines of NDJSON."""

import hashlib
import json

import pyarrow as pa
import pytest

from lakeshare.columnar.folder import Folder
from lakeshare.formats.delta.errors import BrokenLog
from lakeshare.formats.delta.lines import LineShape, delta_lines, is_plain, parquet_lines
from lakeshare.formats.delta.opening import Engine, list_log, open_snapshot
from tests.formats.delta.logs import LogWriter, add, field, metadata, protocol, vector


class Urls:
    def plain(self, paths):
        return lambda: ("https://h/", paths, "?X-Amz-Signature=1")

    def relative(self, keys):
        return [f"https://h/{key.replace(' ', '%20')}?X-Amz-Signature=1" for key in keys]

    def absolute(self, places):
        return [f"https://h/{place.scheme}/{place.authority}/{place.key}" for place in places]


@pytest.fixture
def selection(tmp_path):
    def make(*adds):
        writer = LogWriter(tmp_path / "t")
        writer.commit(0, protocol(), metadata(field("id", "long"), field("p", "string"), partitions=["p"]), *adds)
        files = Folder(writer.root)
        return open_snapshot(Engine(tmp_path / "cache"), "t", files, list_log(files)).files.everything()

    return make


def read(chunks):
    data = b"".join(chunks)
    assert data == b"" or data.endswith(b"\n")
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def test_lines_of_the_parquet_format(selection):
    """A file has a URL, an id, partition values, a size, statistics, and when its URL ends."""
    chosen = selection(add("a b.parquet".replace(" ", "%20"), 5, {"numRecords": 1}, {"p": 'x"\n'}), add("b", 6))
    shape = LineShape("md5", 99, version=3, timestamp_ms=77)
    first, second = read(parquet_lines(chosen, Urls(), shape))
    assert first == {
        "file": {
            "url": "https://h/a%20b.parquet?X-Amz-Signature=1",
            "id": hashlib.md5(b"a%20b.parquet").hexdigest(),
            "partitionValues": {"p": 'x"\n'},
            "size": 5,
            "stats": '{"numRecords": 1}',
            "version": 3,
            "timestamp": 77,
            "expirationTimestamp": 99,
        }
    }
    assert second["file"]["partitionValues"] == {}
    assert "stats" not in second["file"]


def test_lines_of_the_delta_format(selection):
    """A file is its add action with a URL for a path; one without a deletion vector says nothing of any."""
    chosen = selection(add("a", 5, {"numRecords": 1}, {"p": None}, data_change=False))
    (line,) = read(delta_lines(chosen, Urls(), LineShape("sha256", 99)))
    assert line == {
        "file": {
            "id": hashlib.sha256(b"a").hexdigest(),
            "expirationTimestamp": 99,
            "deltaSingleAction": {
                "add": {
                    "path": "https://h/a?X-Amz-Signature=1",
                    "partitionValues": {"p": None},
                    "size": 5,
                    "stats": '{"numRecords": 1}',
                    "modificationTime": 7,
                    "dataChange": False,
                }
            },
        }
    }


def test_deletion_vectors_are_sent_by_url(selection):
    """A vector in a file is sent as an absolute one, with the id of its file; an inline one as it is."""
    inline = vector("wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", storage="i", offset=None)
    far = vector("s3://b/dv.bin", storage="p", offset=4)
    chosen = selection(add("a"), add("b", dv=vector()), add("c", dv=inline), add("d", dv=far))
    lines = {
        line["file"]["deltaSingleAction"]["add"]["path"]: line["file"]
        for line in read(delta_lines(chosen, Urls(), LineShape("sha256", 99)))
    }
    plain, relative, inlined, absolute = (lines[f"https://h/{name}?X-Amz-Signature=1"] for name in "abcd")
    name = "deletion_vector_37d10da3-70a1-4730-bc58-3b44f9617505.bin"
    assert "deletionVectorFileId" not in plain
    assert "deletionVector" not in plain["deltaSingleAction"]["add"]
    assert relative["deletionVectorFileId"] == hashlib.sha256(_name(relative).encode()).hexdigest()
    assert _name(relative).startswith("deletion_vector_")
    assert len(_name(relative)) == len(name)
    assert relative["deltaSingleAction"]["add"]["deletionVector"] == {
        "storageType": "p",
        "pathOrInlineDv": f"https://h/{_name(relative)}?X-Amz-Signature=1",
        "offset": 1,
        "sizeInBytes": 34,
        "cardinality": 1,
    }
    assert inlined["deltaSingleAction"]["add"]["deletionVector"] == inline
    assert "deletionVectorFileId" not in inlined
    assert absolute["deltaSingleAction"]["add"]["deletionVector"]["pathOrInlineDv"] == "https://h/s3/b/dv.bin"


def _name(line):
    url = line["deltaSingleAction"]["add"]["deletionVector"]["pathOrInlineDv"]
    return url.removeprefix("https://h/").split("?")[0]


def test_absolute_paths_are_signed_apart(selection):
    """Files elsewhere are handed to the maker of URLs as such, and the order of lines is kept."""
    chosen = selection(add("a"), add("s3://b/k%20k"), add("c"))
    urls = [line["file"]["url"] for line in read(parquet_lines(chosen, Urls(), LineShape("md5", 1)))]
    assert urls == ["https://h/a?X-Amz-Signature=1", "https://h/s3/b/k k", "https://h/c?X-Amz-Signature=1"]


@pytest.mark.parametrize("path", ["../other/x", "a/../../x"])
def test_a_path_that_climbs_out_is_never_signed(selection, path):
    """A table cannot hand out files beside it."""
    with pytest.raises(BrokenLog, match="climbs out"):
        read(parquet_lines(selection(add(path), add("b")), Urls(), LineShape("md5", 1)))


def test_no_files_are_no_lines(selection):
    """An empty table streams nothing, not even a blank line."""
    assert read(delta_lines(selection(), Urls(), LineShape("sha256", 1))) == []


def test_lines_come_in_chunks(selection):
    """Each chunk is some whole lines."""
    chosen = selection(*(add(f"f{number}") for number in range(10)))
    chunks = list(parquet_lines(chosen, Urls(), LineShape("md5", 1), rows=4))
    assert [chunk.count(b"\n") for chunk in chunks] == [4, 4, 2]


@pytest.mark.parametrize(
    ("paths", "plain"),
    [
        (["day=2024-01-01/part-0.parquet", "a_b~c-d.e"], True),
        (["a", "/b"], False),
        (["a", "s3://b/c"], False),
        (["a", "b%20c"], False),
        (["a", "../b"], False),
        (["a", "ü"], False),
        (["a", None], False),
        ([], False),
    ],
)
def test_paths_that_need_no_look_each(paths, plain):
    """Paths are taken by the column only when all of them mean themselves, and lie in the table."""
    assert is_plain(pa.array(["/before", *paths, "/after"], pa.string()).slice(1, len(paths))) is plain
