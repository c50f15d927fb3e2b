"""S3's XML as a client reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.cli.remote.xml import escape, parse


def test_a_document_is_read():
    """Names lose their prefix, and texts are whole."""
    node = parse(b'<?xml version="1.0"?><a xmlns="urn:x"><b>1 &amp; 2</b><s:b xmlns:s="urn:s">3</s:b></a>', "a")
    assert [child.text for child in node.all("b")] == ["1 & 2", "3"]
    assert node.text_of("c", "none") == "none"


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"<a>",
        b"<b/>",
        b"text",
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a>" * 40 + b"</a>" * 40,
    ],
)
def test_what_is_no_answer_is_refused(document: bytes):
    """What is broken, named otherwise, nested without end or has a document type is not read."""
    with pytest.raises(ValueError, match=r"."):
        parse(document, "a")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")))
def test_text_survives(text: str):
    """What is escaped is read as itself."""
    assert parse(f"<a>{escape(text)}</a>".encode()).text == text
