"""S3's XML."""

import contextlib
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.objects.errors import MalformedXml
from lakeshare.objects.wire import xml


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"x",
        b"<Delete>",
        b"<Other/>",
        b'<!DOCTYPE Delete [<!ENTITY a "b">]><Delete>&a;</Delete>',
        b'<!DOCTYPE Delete SYSTEM "file:///etc/passwd"><Delete/>',
        b"\xff\xfe\x00",
        b'<?xml version="1.0" encoding="nonsense"?><Delete/>',
    ],
)
def test_what_is_not_the_document_is_refused(document):
    """Malformed documents, other roots and every DTD are refused."""
    with pytest.raises(MalformedXml):
        xml.parse(document, "Delete")


def test_a_namespace_may_be_there_or_not():
    """Documents with S3's namespace and without any are the same."""
    for attribute in ("", f' xmlns="{xml.NAMESPACE}"'):
        root = xml.parse(f"<Delete{attribute}><Quiet>true</Quiet></Delete>".encode(), "Delete")
        assert xml.child_text(root, "Quiet") == "true"


@given(st.text(st.characters(min_codepoint=32, exclude_categories=("Cs",)), max_size=50))
def test_text_survives_xml(text):
    """What is written as an element is read back the same."""
    if "\x7f" in text or "\ufffe" in text or "\uffff" in text:
        return
    assert (fromstring(xml.element("Key", text)).text or "") == text


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(document):
    """Any bytes are a document or malformed."""
    with contextlib.suppress(MalformedXml):
        xml.parse(document, "Delete")


def test_times_have_milliseconds():
    """A time is written as S3 writes it."""
    assert xml.timestamp(1_700_000_000_123_456_789) == "2023-11-14T22:13:20.123Z"


_ODD_TEXTS = st.lists(
    st.text("ab/%&=<>\"';+ \0\x01\x7fé\uffff", max_size=8) | st.text("ab/%&=<>\"';+ \x01\x7f", max_size=8), max_size=6
)


@given(_ODD_TEXTS)
def test_many_texts_are_written_as_each_is(texts):
    """Writing many texts at once gives what writing each of them gives, for XML and for URLs."""
    assert list(xml.escape_all(texts)) == [xml.escape(text) for text in texts]
    assert list(xml.url_encoded_all(texts)) == [xml.url_encoded(text) for text in texts]
