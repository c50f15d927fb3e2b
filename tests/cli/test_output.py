"""What is printed holds nothing that a terminal would act on, and lines up."""

from hypothesis import given
from hypothesis import strategies as st

from lakeshare.cli.main import straight
from lakeshare.cli.output import printable, table


@given(st.text())
def test_nothing_unprintable_is_printed(name: str):
    """Whatever a key holds, what is printed is printable."""
    assert printable(name).isprintable()


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="\u3000\xa0")))
def test_what_is_printable_is_left(name: str):
    """A name of letters, digits, signs and plain spaces is printed as it is."""
    if name.isprintable():
        assert printable(name) == name


def test_a_table_lines_up():
    """Columns are as wide as their widest cell, and an empty table has no heading."""
    rows = [(("a", "1"), {"n": 1}), (("long", "22"), {"n": 2})]
    lines = "\n".join(record.text for record in table(("Name", "Size"), rows)).splitlines()
    assert [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in lines] == [
        "Name  Size", "a     1", "long  22",
    ]  # fmt: skip
    assert list(table(("Name",), [])) == []


def test_long_dashes_are_made_straight():
    """A flag with the dash of a word processor is a flag; other arguments are left."""
    assert straight("\u2013recursive") == "--recursive"
    assert straight("\u2014older-than=7d") == "--older-than=7d"
    for argument in ("-r", "--recursive", "\u2013", "\u2013 x", "a\u2013b", "", "lake/\u2013x", "\u2013Upper"):
        assert straight(argument) == argument
