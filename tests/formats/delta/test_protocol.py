"""What a table asks of its readers."""

import pytest

from lakeshare.formats.delta.actions import Protocol
from lakeshare.formats.delta.errors import UnsupportedTable
from lakeshare.formats.delta.protocol import check_readable, features_of_data, has_reader_feature


def test_an_unknown_reader_feature_is_refused_by_name():
    """The error names every feature that is not known, and none that is."""
    with pytest.raises(UnsupportedTable, match="catalogManaged, wonder") as caught:
        check_readable(Protocol(3, 7, ("wonder", "deletionVectors", "catalogManaged"), ()))
    assert caught.value.features == ("catalogManaged", "wonder")


def test_an_unknown_reader_version_is_refused():
    """A reader version past 3 is refused, whatever it lists."""
    with pytest.raises(UnsupportedTable, match="99"):
        check_readable(Protocol(99, 7, (), ()))


def test_unknown_writer_features_do_not_matter():
    """Writer features bind writers alone."""
    check_readable(Protocol(1, 7, None, ("wonder",)))
    check_readable(Protocol(3, 7, ("v2Checkpoint",), ("v2Checkpoint", "wonder")))


def test_features_of_the_log_are_not_asked_of_clients():
    """Whoever gets the files needs no V2 checkpoints; reader version 2 is column mapping by another name."""
    assert features_of_data(Protocol(3, 7, ("v2Checkpoint", "deletionVectors", "vacuumProtocolCheck"), ())) == {
        "deletionVectors"
    }
    assert features_of_data(Protocol(2, 5)) == {"columnMapping"}
    assert features_of_data(Protocol(1, 2)) == frozenset()


def test_a_feature_is_had_by_name_or_by_version():
    """Column mapping comes with reader version 2, and by name with version 3."""
    assert has_reader_feature(Protocol(2, 5), "columnMapping")
    assert has_reader_feature(Protocol(3, 7, ("v2Checkpoint",), ()), "v2Checkpoint")
    assert not has_reader_feature(Protocol(3, 7, (), ()), "columnMapping")
