"""Heads: fields as values, and heads that two parsers could read in two ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.http.head import (
    BadField,
    Refusal,
    fields_of,
    plain_response,
    refuse,
    response_head,
    response_lines,
    size_bytes,
)

HOST = {"host": "a"}


def test_repeated_fields_are_joined_with_a_comma():
    """Fields of the same name become one value, in their order."""
    raw = [(b"host", b"a"), (b"x", b"1"), (b"y", b"2"), (b"x", b"3")]
    assert fields_of(raw) == {"host": "a", "x": "1,3", "y": "2"}


def test_bytes_beyond_ascii_survive():
    """A value can be turned back into the bytes that crossed the wire."""
    assert fields_of([(b"x", b"\xc3\xa9")])["x"].encode("latin-1") == b"\xc3\xa9"


@pytest.mark.parametrize(
    ("version", "fields", "status"),
    [
        ("2.0", HOST, 505),
        ("1.1", {}, 400),
        ("1.1", {"host": "a,b"}, 400),
        ("1.1", HOST | {"transfer-encoding": "chunked", "content-length": "3"}, 400),
        ("1.0", HOST | {"transfer-encoding": "chunked"}, 400),
        ("1.1", HOST | {"transfer-encoding": "gzip, chunked"}, 501),
        ("1.1", HOST | {"transfer-encoding": "identity"}, 501),
    ],
)
def test_ambiguous_heads_are_refused(version: str, fields: dict[str, str], status: int):
    """What two parsers could read in two ways is not served."""
    found = refuse(version, b"/", fields)
    assert found is not None
    assert found.status == status


@pytest.mark.parametrize(
    ("version", "fields"),
    [
        ("1.1", HOST),
        ("1.0", {}),
        ("1.1", HOST | {"transfer-encoding": "Chunked"}),
        ("1.1", HOST | {"content-length": "3"}),
    ],
)
def test_plain_heads_are_served(version: str, fields: dict[str, str]):
    """What can be read in one way only is served."""
    assert refuse(version, b"/a?b", fields) is None


def test_a_fragment_is_refused():
    """A target with a fragment is not one that a client may send."""
    assert refuse("1.1", b"/a#b", HOST) == Refusal(400, "A request target has no fragment.")


@given(st.lists(st.tuples(st.sampled_from(["etag", "x-amz-meta-a"]), st.text(max_size=40)), max_size=4))
def test_no_value_can_start_a_line_of_its_own(headers: list[tuple[str, str]]):
    """Either every field is one line, or the response is refused."""
    try:
        lines = response_lines(headers)
    except (BadField, UnicodeEncodeError):
        return
    assert lines.count(b"\n") == lines.count(b"\r\n") == len(headers)
    assert lines.split(b"\r\n")[:-1] == [f"{name}: {value}".encode("latin-1") for name, value in headers]


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\0b"])
def test_a_line_break_in_an_asgi_field_is_refused(value: bytes):
    """A field that would end its line raises."""
    with pytest.raises(BadField):
        response_head(200, b"", [(b"x", value)])


def test_an_asgi_head_says_what_its_fields_say():
    """Content-length and connection are read out of the fields; framing is left to the connection."""
    raw = [(b"content-length", b"7"), (b"connection", b"close"), (b"transfer-encoding", b"chunked"), (b"x", b"y")]
    head = response_head(200, b"server: s\r\n", raw)
    assert (head.length, head.close) == (7, True)
    assert head.lines == b"HTTP/1.1 200 OK\r\nserver: s\r\ncontent-length: 7\r\nx: y\r\n"


def test_a_refusal_is_a_whole_answer():
    """A refusal has a length and ends the connection."""
    text = plain_response(Refusal(400, "No."), b"server: s\r\n")
    assert text.endswith(b"content-length: 4\r\nconnection: close\r\n\r\nNo.\n")


def test_the_size_of_a_head_counts_every_field():
    """The size is that of the target and of all names and values."""
    assert size_bytes(b"/" + b"a" * 99, [(b"x" * 10, b"y" * 86)]) == 100 + 16 + 100
