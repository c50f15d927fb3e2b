"""Which names there can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.sharing.errors import BadName
from lakeshare.sharing.model.names import (
    check_description,
    check_recipient,
    check_schema,
    check_share,
    check_source,
    check_table,
    folded,
    is_table_name,
)

LEGAL = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="/.:,*?#%\\&+"), min_size=1
)


@given(LEGAL.filter(lambda name: len(name) <= 255))
def test_what_clients_can_write_is_a_name(name: str):
    """A name without spaces and without what ends a name in a URL or a specification is taken as it is."""
    assert check_share(name) == check_schema(name) == check_table(name) == name
    assert is_table_name(name)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a.b", "a:b", "a,b", "*", "a#b", "a%20b", "a\n", "x" * 256, "a?b"])
@pytest.mark.parametrize("check", [check_share, check_schema, check_table])
def test_what_ends_a_name_is_refused(check, name: str):
    """A character at which a client or a specification would end the name is refused, and so is an empty name."""
    with pytest.raises(BadName):
        check(name)


def test_case_does_not_count():
    """Two spellings that differ in case fold to the same text."""
    assert folded("HR") == folded("hr") == folded("Hr")
    assert folded("STRASSE") == folded("straße")


@pytest.mark.parametrize("name", ["acme", "ACME.eu", "a_b-c@d", "7"])
def test_recipients_have_plain_names(name: str):
    """A recipient's name is of letters, digits and a few marks."""
    assert check_recipient(name) == name


@pytest.mark.parametrize("name", ["", "~acme", "a b", "a/b", "-x", "é"])
def test_other_recipient_names_are_refused(name: str):
    """A name that nobody could type, or that is kept for recipients without a name, is refused."""
    with pytest.raises(BadName):
        check_recipient(name)


def test_sources_and_descriptions():
    """A source's name is short and plain, and a description may have lines but no control characters."""
    assert check_source("archive-2") == "archive-2"
    assert check_description("two\nlines") == "two\nlines"
    for bad in ("Archive", "-a", "a:b", ""):
        with pytest.raises(BadName):
            check_source(bad)
    with pytest.raises(BadName):
        check_description("\x1b[31m")
    with pytest.raises(BadName):
        check_description("x" * 4097)
