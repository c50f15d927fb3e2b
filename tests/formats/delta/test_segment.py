"""Choosing what to read of a log."""

import pytest

from lakeshare.columnar.source import Entry
from lakeshare.formats.delta.errors import MissingCommit, NoDeltaLog, VersionAhead, VersionGone
from lakeshare.formats.delta.paths import commit_name
from lakeshare.formats.delta.segment import LastCheckpoint, read_last_checkpoint, read_listing

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def entry(name, size=1, etag="e"):
    return Entry(name if name.startswith("_delta_log/") else "_delta_log/" + name, size, etag, 0)


def commits(*versions):
    return [entry(commit_name(version)) for version in versions]


def classic(version, size=1):
    return entry(f"{version:020d}.checkpoint.parquet", size)


def part(version, number, count):
    return entry(f"{version:020d}.checkpoint.{number:010d}.{count:010d}.parquet")


def compacted(first, last):
    return entry(f"{first:020d}.{last:020d}.compacted.json")


def names(files):
    return [item.entry.name.removeprefix("_delta_log/") for item in files]


def test_a_young_table_is_its_commits():
    """Without a checkpoint a version is made of every commit from the first on."""
    segment = read_listing(commits(0, 1, 2)).segment()
    assert (segment.version, segment.checkpoint) == (2, None)
    assert [item.version for item in segment.commits] == [0, 1, 2]


def test_the_newest_checkpoint_not_after_the_version_is_taken():
    """Time travel never begins at a checkpoint that is newer than what is asked for."""
    log = read_listing([*commits(*range(25)), classic(10), classic(20)])
    assert log.segment().checkpoint.version == 20
    assert log.segment(19).checkpoint.version == 10
    assert [item.version for item in log.segment(12).commits] == [11, 12]


def test_a_checkpoint_with_parts_missing_is_passed_over():
    """A multi-part checkpoint counts only when all of its parts are there."""
    log = read_listing([*commits(*range(8)), part(5, 1, 2), classic(3)])
    assert log.segment().checkpoint.version == 3
    whole = read_listing([*commits(*range(8)), part(5, 1, 2), part(5, 2, 2), classic(3)])
    assert len(whole.segment().checkpoint.files) == 2


def test_an_empty_checkpoint_is_passed_over():
    """A checkpoint without a byte was never written whole."""
    log = read_listing([*commits(*range(8)), classic(5, size=0), classic(3)])
    assert log.segment().checkpoint.version == 3


def test_a_classic_checkpoint_is_preferred():
    """Of several checkpoints at one version the one that is a single file is read."""
    log = read_listing(
        [*commits(5), part(5, 1, 2), part(5, 2, 2), classic(5), entry(f"{5:020d}.checkpoint.{UUID}.json")]
    )
    assert names(log.segment().checkpoint.files) == [f"{5:020d}.checkpoint.parquet"]


def test_a_torn_checkpoint_can_be_left_out():
    """The next best checkpoint is chosen when one turned out to be unreadable."""
    log = read_listing([*commits(*range(8)), classic(5), classic(3)])
    torn = log.segment().checkpoint.files[0].entry.name
    assert log.segment(without={torn}).checkpoint.version == 3


def test_a_gap_is_named():
    """A commit missing in the middle is an error that names it."""
    with pytest.raises(MissingCommit, match="commit 1 is missing"):
        read_listing(commits(0, 2)).segment()


def test_a_cleaned_version_names_the_earliest_available():
    """Versions cleaned away are told from versions that never were."""
    log = read_listing([*commits(8, 9, 10, 11), classic(10)])
    with pytest.raises(VersionGone, match="earliest available version is 10"):
        log.segment(9)
    with pytest.raises(VersionAhead, match="latest version is 11"):
        log.segment(12)
    assert log.segment(10).commits == ()


def test_an_empty_log_is_no_table():
    """A folder without commits and checkpoints is no Delta table."""
    with pytest.raises(NoDeltaLog):
        read_listing([entry("_last_checkpoint")]).segment()


def test_compacted_commits_replace_the_commits_they_hold():
    """The longest compacted range that fits is read instead of its commits."""
    log = read_listing([*commits(*range(8)), compacted(1, 3), compacted(1, 5), compacted(6, 9)])
    assert names(log.segment().commits) == [
        f"{0:020d}.json",
        f"{1:020d}.{5:020d}.compacted.json",
        f"{6:020d}.json",
        f"{7:020d}.json",
    ]
    assert names(log.segment(4).commits)[1] == f"{1:020d}.{3:020d}.compacted.json"


def test_the_digest_follows_the_etags():
    """Two tables at one path with the same names have other digests."""
    one = read_listing([entry(commit_name(0), etag="a")]).segment()
    other = read_listing([entry(commit_name(0), etag="b")]).segment()
    assert one.digest != other.digest
    assert one.digest == read_listing([entry(commit_name(0), etag="a")]).segment().digest


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"version":"x"}', b'{"version":-1}', b'{"version":true}'])
def test_a_broken_hint_is_no_hint(data):
    """_last_checkpoint may hold anything; what makes no sense is ignored."""
    assert read_last_checkpoint(data) is None


def test_a_hint_is_read():
    """_last_checkpoint gives a version, and the number of parts if there are several."""
    assert read_last_checkpoint(b'{"version":10,"size":13,"parts":2}') == LastCheckpoint(10, 2)
