"""Errors in S3's dialect."""

import importlib
import pkgutil

import pytest

import lakeshare
from lakeshare.errors import Kind, LakeshareError
from lakeshare.http.request import BodyTooLarge, ClientGone
from lakeshare.identity import errors as identity
from lakeshare.objects import errors as objects
from lakeshare.objects.wire.faults import FAULTS, encode_fault, fault_of
from lakeshare.storage import errors as storage


def errors_in(module):
    return [
        item
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, LakeshareError) and item.__module__ == module.__name__
    ]


@pytest.mark.parametrize("module", [objects, storage, identity], ids=lambda module: module.__name__)
def test_every_error_of_a_room_has_its_code(module):
    """The map from errors to S3's codes is complete for the rooms that S3 meets."""
    roots = {objects.ObjectsError, storage.StorageError, identity.IdentityError, identity.RootCredentialsUnusable}
    missing = [item.__name__ for item in errors_in(module) if item not in FAULTS and item not in roots]
    assert missing == []


def test_every_error_of_the_product_can_be_said():
    """An error that the table does not name is said by its kind, so that none becomes a bare 500."""
    for info in pkgutil.walk_packages(lakeshare.__path__, "lakeshare."):
        if "__main__" not in info.name:
            importlib.import_module(info.name)
    pending, seen = [LakeshareError], set()
    while pending:
        error = pending.pop()
        seen.add(error)
        pending += error.__subclasses__()
        assert isinstance(error.kind, Kind)
    assert len(seen) > len(FAULTS)


def test_an_error_is_written_as_s3_does():
    """An error is XML with a code, a message, what it is about, and the request's id."""
    error = storage.NoSuchKey("bucket", "a<b")
    answer = encode_fault(error, fault_of(error), "/bucket/a%3Cb", "ID", "GET")
    assert answer.status == 404
    assert ("content-type", "application/xml") in answer.headers
    assert isinstance(answer.body, bytes)
    for piece in (
        b"<Code>NoSuchKey</Code>",
        b"<Key>a&lt;b</Key>",
        b"<BucketName>bucket</BucketName>",
        b"<RequestId>ID<",
    ):
        assert piece in answer.body


def test_head_and_not_modified_have_no_body():
    """A HEAD and a 304 are answered by their heads alone."""
    error = storage.NoSuchKey("bucket", "k")
    assert encode_fault(error, fault_of(error), "/", "ID", "HEAD").body == b""
    unmodified = objects.NotModified("e", 0)
    answer = encode_fault(unmodified, fault_of(unmodified), "/", "ID", "GET")
    assert (answer.status, answer.body) == (304, b"")
    assert ("etag", '"e"') in answer.headers


def test_a_range_error_says_the_size():
    """An unsatisfiable range is answered with the object's size."""
    error = objects.InvalidRange("bytes=9-", 5)
    assert ("content-range", "bytes */5") in encode_fault(error, fault_of(error), "/", "ID", "GET").headers


@pytest.mark.parametrize(
    ("error", "code"), [(ClientGone(), "IncompleteBody"), (BodyTooLarge(1), "MaxMessageLengthExceeded")]
)
def test_errors_of_the_edge_are_said_too(error, code):
    """What goes wrong while a body arrives has S3's word."""
    assert fault_of(error).code == code


def test_the_delta_guard_says_what_log_stores_look_for():
    """Spark's log stores look for this text in a refusal; a person finds the next step."""
    error = objects.DeltaCommitExists("b", "t/_delta_log/00000000000000000001.json")
    assert "412 Precondition Failed" in error.message
    assert "delete the target first" in error.message
    assert fault_of(error).status == 412
