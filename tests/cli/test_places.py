"""Places: what is on a server and what is here."""

import pytest

from lakeshare.cli.errors import Missing, Misused
from lakeshare.cli.places import Local, Remote, parse, parse_remote

ALIASES = ("lake", "prod-eu")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("lake", Remote("lake")),
        ("lake/", Remote("lake")),
        ("lake/b", Remote("lake", "b")),
        ("lake/b/", Remote("lake", "b")),
        ("lake/b/k", Remote("lake", "b", "k")),
        ("lake/b//k", Remote("lake", "b", "/k")),
        ("lake/b/a//b/../c/", Remote("lake", "b", "a//b/../c/")),
        ("./lake/b", Local("./lake/b")),
        ("/lake/b", Local("/lake/b")),
        ("lakes/b", Local("lakes/b")),
        ("..", Local("..")),
    ],
)
def test_the_first_word_decides(text: str, place: object):
    """A known alias makes a place remote; a key is kept as it is typed."""
    assert parse(text, ALIASES) == place


@pytest.mark.parametrize("text", ["lake", "lake/b", "lake/b/k", "lake/b//k", "lake/b/k/"])
def test_a_remote_place_is_written_as_it_is_typed(text: str):
    """Reading a place and writing it gives the same text."""
    assert parse_remote(text, ALIASES).text == text


def test_what_is_no_place():
    """An empty place, a key without a bucket, a local path and an alias that is not there are each refused."""
    for text in ("", "lake//k"):
        with pytest.raises(Misused):
            parse(text, ALIASES)
    with pytest.raises(Misused, match="this machine"):
        parse_remote("/", ALIASES)
    with pytest.raises(Missing) as error:
        parse_remote("laek/b", ALIASES)
    assert "Did you mean 'lake'" in error.value.next_step
    with pytest.raises(Missing) as error:
        parse_remote("xyzzy/b", ())
    assert "lakeshare alias set xyzzy" in error.value.next_step
