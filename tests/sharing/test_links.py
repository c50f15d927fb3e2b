"""URLs of many files at once."""

import pyarrow as pa
import pytest

from lakeshare.columnar.source import FileGone
from lakeshare.columnar.text import join
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.settings import Secret
from lakeshare.sharing.links import Links, own_presigner
from lakeshare.sharing.model.places import DeltaPlace

PATHS = ["day=2024-01-01/part-0.parquet", "a", "b~c_d-e.f/g", "day=x/day=y/z"]


def links(prefix="t", missing=()):
    """Links to a table, whose pins are made of their keys."""

    def pins(bucket, keys):
        assert bucket == "lake"
        found = [None if key in missing else key.encode().hex()[:32].ljust(32, "0") for key in keys]
        return lambda: found

    credentials = Credentials("LSDKEXAMPLE", Secret("secret"))
    place = DeltaPlace("lake", prefix)
    return Links(place, pins, own_presigner(credentials, "https://h:9000", "lake", 1_700_000_000.0, 60))


def written(pieces):
    """Join pieces as lines do."""
    return join(*pieces).to_pylist()


@pytest.mark.parametrize("prefix", ["t", "deep/er=1/t", "with space/t", "ünï/t"])
def test_columns_of_urls_are_the_urls(prefix):
    """A column of paths has the URLs that its paths have one by one, whatever the table's own name."""
    made = links(prefix)
    assert written(made.plain(pa.array(PATHS))()) == list(made.relative(PATHS))


def test_a_slice_of_a_column_has_the_urls_of_its_own_rows():
    """Rows before and after a slice take no part in it."""
    made = links()
    column = pa.array(["before", *PATHS, "after"]).slice(1, len(PATHS))
    assert written(made.plain(column)()) == list(made.relative(PATHS))


def test_pins_of_unequal_length_stay_their_own():
    """Pins need not be equally long."""
    credentials = Credentials("LSDKEXAMPLE", Secret("secret"))
    presigner = own_presigner(credentials, "https://h:9000", "lake", 1_700_000_000.0, 60)
    made = Links(DeltaPlace("lake", "t"), lambda _, keys: lambda: [key[:3] for key in keys], presigner)
    paths = ["a", "bc"]
    assert written(made.plain(pa.array(paths))()) == list(made.relative(paths))


def test_a_file_that_is_gone_is_named():
    """A column with one file that is not there has no URLs."""
    with pytest.raises(FileGone) as gone:
        links(missing={"t/a"}).plain(pa.array(PATHS))()
    assert gone.value.name == "t/a"
