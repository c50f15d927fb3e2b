"""Names of buckets and keys."""

import pytest

from lakeshare.objects.errors import InvalidArgument, InvalidBucketName, InvalidUri, KeyTooLong
from lakeshare.objects.model.names import Source, bucket_name, object_key


@pytest.mark.parametrize("name", ["abc", "a-b.c", "0ab", "a" * 63, "analytics", "my.bucket.name"])
def test_a_legal_name_is_taken(name):
    """A name that keeps S3's rules is returned as it is."""
    assert bucket_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "ab",
        "a" * 64,
        "Abc",
        "a_b",
        "-ab",
        "ab-",
        ".ab",
        "ab.",
        "a..b",
        "a.-b",
        "a-.b",
        "192.168.5.4",
        "xn--abc",
        "abc-s3alias",
        "_abc",
        "a b",
        "ä-bucket",
        "abc\n",
    ],
)
def test_an_illegal_name_is_refused(name):
    """A name that breaks a rule is refused with the reason."""
    with pytest.raises(InvalidBucketName):
        bucket_name(name)


@pytest.mark.parametrize("name", ["delta-sharing", "metrics", "minio"])
def test_names_of_the_servers_own_paths_are_refused(name):
    """No bucket can have the name of one of the server's own paths."""
    with pytest.raises(InvalidBucketName, match="reserved"):
        bucket_name(name)


@pytest.mark.parametrize("key", ["a", "a//b", "/a", "../../etc/passwd", "a/./b", "ä", "a\x01b", "k" * 1024, "é" * 512])
def test_keys_are_plain_text(key):
    """Dots and slashes in a key mean nothing, since keys never become paths."""
    assert object_key(key) == key


def test_keys_are_bounded_in_bytes():
    """A key has at most 1024 bytes of UTF-8, and no NUL."""
    with pytest.raises(KeyTooLong):
        object_key("é" * 513)
    with pytest.raises(InvalidUri):
        object_key("a\0b")


def test_a_copy_source_may_start_with_a_slash():
    """`bucket/key` and `/bucket/key` name the same source; less than that names none."""
    assert Source.parse("b/k/l") == Source.parse("/b/k/l") == Source("b", "k/l")
    for text in ("", "b", "b/", "/b", "//k"):
        with pytest.raises(InvalidArgument):
            Source.parse(text)
