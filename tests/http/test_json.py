"""Bodies of JSON are read strictly."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.http.json import DEPTH_LIMIT, BadJson, read_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(VALUES)
def test_json_is_read(value: object):
    """What JSON writes is read as it was."""
    assert read_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"a":1,"a":2}',
        b"NaN",
        b"[Infinity]",
        b"1" * 5000,
        b'"\\ud800"',
        b'{"\\udc00":1}',
        b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1),
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_what_is_not_json_is_refused(body: bytes):
    """Cut text, other encodings, a key twice, numbers that JSON lacks and deep nesting are refused."""
    with pytest.raises(BadJson):
        read_json(body)


def test_nesting_up_to_the_bound_is_taken():
    """A body may be as deep as the bound says."""
    body = b"[" * DEPTH_LIMIT + b"]" * DEPTH_LIMIT
    assert json.dumps(read_json(body)).encode() == body
