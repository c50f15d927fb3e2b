"""What the tests of S3 on the wire share: a bare client, and a bucket."""

import itertools

import pytest

from tests.raw import RawClient

_numbers = itertools.count()


@pytest.fixture
def raw(live_server):
    """A bare client of the live server."""
    client = RawClient.of(live_server)
    yield client
    client.close()


@pytest.fixture
def bucket(raw):
    """A bucket of the test's own."""
    name = f"wire-{next(_numbers)}"
    assert raw.send("PUT", f"/{name}").status == 200
    return name
