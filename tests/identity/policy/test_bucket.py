"""What a bucket policy may say, and when it makes a bucket public."""

import json

import pytest

from lakeshare.identity.policy.bucket import compile_bucket_policy, is_public, parse_bucket_policy
from lakeshare.identity.policy.errors import MalformedPolicy


class NoFacts:
    def values(self, key):
        return ()


def text(**changes):
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}
    found = {name: value for name, value in (statement | changes).items() if value is not None}
    return json.dumps({"Version": "2012-10-17", "Statement": [found]})


@pytest.mark.parametrize(
    "resource",
    ["arn:aws:s3:::b", "arn:aws:s3:::b/*", "arn:aws:s3:::b/k", "arn:aws:s3:::*", "arn:aws:s3:::*/*", "*"],
)
def test_resources_of_the_bucket_are_taken(resource):
    """A bucket policy may name the bucket, its keys, and patterns that cover it."""
    assert parse_bucket_policy(text(Resource=["arn:aws:s3:::b", resource]), "b").statements


@pytest.mark.parametrize(
    "resource",
    [
        "arn:aws:s3:::c",
        "arn:aws:s3:::bb/*",
        "arn:aws:s3:::c/b/*",
        "arn:aws:s3:::a*",
        "arn:aws:s3:::${aws:username}/*",
        "arn:aws:s3tables:::bucket/b",
        "arn:aws:iam:::user/alice",
    ],
)
def test_resources_of_other_buckets_are_refused(resource):
    """A bucket policy that names something outside its bucket is malformed, in NotResource too."""
    with pytest.raises(MalformedPolicy):
        parse_bucket_policy(text(Resource=["arn:aws:s3:::b/*", resource]), "b")
    with pytest.raises(MalformedPolicy):
        parse_bucket_policy(text(Resource=None, NotResource=resource), "b")


@pytest.mark.parametrize("action", ["admin:CreateUser", "s3tables:GetTable", "sts:AssumeRole"])
def test_actions_of_other_services_are_refused(action):
    """A bucket policy grants what can be done with a bucket."""
    with pytest.raises(MalformedPolicy):
        parse_bucket_policy(text(Action=["s3:GetObject", action]), "b")


def test_a_stored_bucket_policy_that_cannot_be_read_denies_everyone():
    """A broken policy closes its bucket instead of opening it."""
    for broken in ("{", text(Resource="arn:aws:s3:::other/*")):
        rule = compile_bucket_policy(broken, "b").decisive("s3:GetObject", "arn:aws:s3:::b/k", NoFacts(), frozenset())
        assert rule is not None
        assert rule.denies


PUBLIC = [
    ({}, True),
    ({"Principal": {"AWS": "*"}}, True),
    ({"Principal": {"AWS": ["alice", "*"]}}, True),
    ({"Principal": {"AWS": "arn:aws:iam::s3tenant1:root"}}, False),
    ({"Effect": "Deny"}, False),
    ({"Effect": "Deny", "Principal": None, "NotPrincipal": {"AWS": "alice"}}, False),
    ({"Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/32"}}}, False),
    ({"Condition": {"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "2001:db8::/32"]}}}, False),
    ({"Condition": {"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "0.0.0.0/1"]}}}, True),
    ({"Condition": {"IpAddress": {"aws:SourceIp": "::/0"}}}, True),
    ({"Condition": {"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}}}, True),
    ({"Condition": {"IpAddressIfExists": {"aws:SourceIp": "10.0.0.0/8"}}}, True),
    ({"Condition": {"StringEquals": {"aws:username": "alice"}}}, False),
    ({"Condition": {"StringLike": {"aws:username": "*"}}}, True),
    ({"Condition": {"StringLike": {"aws:username": "${aws:userid}"}}}, True),
    ({"Condition": {"ForAllValues:StringEquals": {"aws:groups": "g"}}}, True),
    ({"Condition": {"StringEquals": {"aws:Referer": "http://example.com/"}}}, True),
    ({"Condition": {"Bool": {"aws:SecureTransport": "true"}}}, True),
]


@pytest.mark.parametrize(("changes", "public"), PUBLIC)
def test_public_status(changes, public):
    """A bucket is public when a statement allows everyone something, and no fixed user or network narrows it."""
    assert is_public(parse_bucket_policy(text(**changes), "b")) is public
