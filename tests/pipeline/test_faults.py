"""What Spark throws, in our words."""

import pytest

from lakeshare.pipeline.errors import (
    Conflict,
    Denied,
    JobFailed,
    NoSource,
    NoTarget,
    PipelineError,
    SchemaMismatch,
    TooManyRejected,
    Unreachable,
)
from lakeshare.pipeline.faults import FAULTS, gist, meaning, translated


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("java.lang.OutOfMemoryError: Java heap space", JobFailed),
        ("java.net.ConnectException: Connection refused", Unreachable),
        ("PKIX path building failed: unable to find valid certification path", Unreachable),
        ("AmazonS3Exception: InvalidAccessKeyId", Denied),
        ("org.apache.iceberg.exceptions.ForbiddenException: Forbidden: no", Denied),
        ("UnknownStoreException: NoSuchBucket", NoTarget),
        ("[PATH_NOT_FOUND] Path does not exist: file:/x", NoSource),
        ("[DELTA_FAILED_TO_MERGE_FIELDS] Failed to merge fields 'id' and 'id'", SchemaMismatch),
        ("org.apache.iceberg.exceptions.CommitFailedException: Requirement failed", Conflict),
        ("java.lang.IllegalStateException: something new", JobFailed),
    ],
)
def test_a_text_has_a_meaning(text: str, error: type[PipelineError]):
    """Each known text is an error of ours, with Spark's words in it and a next step; any other is JobFailed."""
    found = meaning(text, "in.csv", "s3://bucket/out")
    assert type(found) is error
    assert gist(text) in found.message
    assert found.next_step


def test_an_error_whose_java_is_gone_is_told_nevertheless():
    """Java writes the text of its errors; one that ended cannot be asked for it."""
    protocol = pytest.importorskip("py4j.protocol", reason="needs PySpark: run scripts/setup --spark")

    class Gone(protocol.Py4JError):  # type: ignore[misc, name-defined]
        def __str__(self) -> str:
            raise protocol.Py4JNetworkError("no answer")

    with pytest.raises(JobFailed, match="was ended"), translated("in.csv", "out"):
        raise Gone


def test_every_fault_can_be_written():
    """The message of each fault takes the source and the target, and each says what to do next."""
    for fault in FAULTS:
        assert "{" not in fault.message.format(source="in", target="out").replace("{}", "")
        assert fault.next_step


def test_the_gist_leaves_the_stack_out():
    """Of a long text the first lines and the last cause remain."""
    text = "An error occurred while calling o1.save.\n: a.B: it broke\n\tat x.Y\nCaused by: c.D: the disk\n\tat z.Z\n"
    assert gist(text) == ": a.B: it broke Caused by: c.D: the disk Caused by: c.D: the disk"


def test_too_many_rejected_says_where_they_are():
    """The error says how many of how many, that nothing was written, and where the rows are."""
    some, all_of_them = TooManyRejected(3, 10, 2, "/r.csv"), TooManyRejected(10, 10, 9, "/r.csv")
    assert some.message == "3 of 10 rows could not be read, and no more than 2 may be left out; nothing was written"
    assert "--max-rejected 3" in some.next_step
    assert all_of_them.message == "no row could be read; nothing was written"
    assert "/r.csv" in all_of_them.next_step
