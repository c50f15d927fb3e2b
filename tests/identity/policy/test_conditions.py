"""Condition operators, as a table: the condition, the facts of the request, and whether an Allow and a Deny apply."""

import json

import pytest

from lakeshare.identity.policy.compiled import compile_policy
from lakeshare.identity.policy.errors import MalformedPolicy
from lakeshare.identity.policy.parse import parse_policy

RESOURCE = "arn:aws:s3:::b/k"


class Facts:
    def __init__(self, facts):
        self.facts = {key: (value,) if isinstance(value, str) else tuple(value) for key, value in facts.items()}

    def values(self, key):
        return self.facts.get(key, ())


def applies(effect, condition, facts):
    statement = {"Effect": effect, "Action": "s3:*", "Resource": "*", "Condition": condition}
    policy = parse_policy(json.dumps({"Version": "2012-10-17", "Statement": statement}))
    return compile_policy(policy).decisive("s3:GetObject", RESOURCE, Facts(facts)) is not None


K = "s3:prefix"
TABLE = [
    ("StringEquals", "a", "a", True),
    ("StringEquals", "a", "A", False),
    ("StringEquals", ["a", "b"], "b", True),
    ("StringEquals", "a*", "ab", False),
    ("StringEquals", "a*", "a*", True),
    ("StringEquals", "a", None, False),
    ("StringEqualsIfExists", "a", None, True),
    ("StringEqualsIfExists", "a", "b", False),
    ("StringNotEquals", "a", "b", True),
    ("StringNotEquals", ["a", "b"], "b", False),
    ("StringNotEquals", "a", None, True),
    ("StringEqualsIgnoreCase", "aB", "Ab", True),
    ("StringNotEqualsIgnoreCase", "aB", "Ab", False),
    ("StringLike", "t1/*", "t1/x", True),
    ("StringLike", "t1/*", "t10/x", False),
    ("StringLike", "t1/*", "t1", False),
    ("StringLike", "a?c", "abc", True),
    ("StringLike", ["x", "a*c*e"], "abcde", True),
    ("StringLike", "${aws:username}/*", "alice/x", True),
    ("StringLike", "${aws:username}/*", "bob/x", False),
    ("StringLike", "${*}", "x", False),
    ("StringNotLike", "t1/*", "t1/x", False),
    ("StringNotLike", "t1/*", "t10/x", True),
    ("StringNotLike", "t1/*", None, True),
    ("StringNotLikeIfExists", "t1/*", None, True),
    ("NumericEquals", "10", "10.0", True),
    ("NumericEquals", 10, "10", True),
    ("NumericNotEquals", "10", "11", True),
    ("NumericLessThan", "10", "9", True),
    ("NumericLessThan", "10", "10", False),
    ("NumericLessThanEquals", "10", "10", True),
    ("NumericGreaterThan", "10", "9", False),
    ("NumericGreaterThan", "9", "10", True),
    ("NumericGreaterThanEquals", "10", "10", True),
    ("NumericLessThan", "10", None, False),
    ("DateLessThan", "2030-01-01T00:00:00Z", "2029-12-31T23:59:59Z", True),
    ("DateGreaterThan", "2030-01-01T00:00:00Z", "2029-12-31T23:59:59+00:00", False),
    ("DateGreaterThan", "2030-01-01", "2030-01-01T00:00:01Z", True),
    ("DateEquals", "2030-01-01T01:00:00+01:00", "2030-01-01T00:00:00Z", True),
    ("DateNotEquals", "2030-01-01T00:00:00Z", "2030-01-01T00:00:00Z", False),
    ("DateLessThanEquals", "1700000000", "2023-11-14T22:13:20Z", True),
    ("DateGreaterThanEquals", 1700000000, "1700000000", True),
    ("Bool", "true", "true", True),
    ("Bool", True, "true", True),
    ("Bool", "TRUE", "true", True),
    ("Bool", "false", "true", False),
    ("Bool", "true", None, False),
    ("BoolIfExists", "true", None, True),
    ("IpAddress", "10.0.0.0/8", "10.255.0.1", True),
    ("IpAddress", "10.0.0.0/8", "11.0.0.1", False),
    ("IpAddress", ["192.0.2.1", "2001:db8::/32"], "2001:db8:1::1", True),
    ("IpAddress", "192.0.2.1", "192.0.2.1", True),
    ("IpAddress", "10.0.0.0/8", "::ffff:10.0.0.1", True),
    ("NotIpAddress", "10.0.0.0/8", "::ffff:10.0.0.1", False),
    ("NotIpAddress", "10.0.0.0/8", "11.0.0.1", True),
    ("NotIpAddress", "10.0.0.0/8", "2001:db8::1", True),
    ("ArnEquals", "arn:aws:iam:::user/a*", "arn:aws:iam:::user/alice", True),
    ("ArnLike", "arn:aws:*:::user/*", "arn:aws:iam:::user/alice", True),
    ("ArnLike", "arn:*:user/alice", "arn:aws:iam:::user/alice", None),
    ("ArnLike", "arn:aws:i*::x", "arn:aws:iam:y::x", None),
    ("ArnLike", "arn:aws:i*:::x", "arn:aws:iam:y::x", False),
    ("ArnNotEquals", "arn:aws:iam:::user/a", "arn:aws:iam:::user/b", True),
    ("ArnNotLike", "arn:aws:iam:::user/*", "arn:aws:iam:::user/b", False),
    ("Null", "true", None, True),
    ("Null", "true", "x", False),
    ("Null", "false", "x", True),
    ("Null", False, None, False),
    ("ForAnyValue:StringEquals", ["a", "b"], ["x", "b"], True),
    ("ForAnyValue:StringEquals", ["a", "b"], ["x", "y"], False),
    ("ForAnyValue:StringEquals", "a", None, False),
    ("ForAnyValue:StringNotEquals", "a", ["a", "b"], True),
    ("ForAnyValue:StringNotEquals", "a", ["a"], False),
    ("ForAnyValue:StringNotEquals", "a", None, False),
    ("ForAllValues:StringEquals", ["a", "b"], ["a", "b", "a"], True),
    ("ForAllValues:StringEquals", ["a", "b"], ["a", "c"], False),
    ("ForAllValues:StringEquals", ["a", "b"], None, True),
    ("ForAllValues:StringNotEquals", ["a", "b"], ["c", "d"], True),
    ("ForAllValues:StringNotEquals", ["a", "b"], ["c", "a"], False),
    ("ForAllValues:StringLike", "a*", ["ab", "ac"], True),
    ("ForAnyValue:StringLikeIfExists", "a*", None, True),
]


@pytest.mark.parametrize(("operator", "values", "fact", "expected"), TABLE)
def test_operators(operator, values, fact, expected):
    """Each operator compares as AWS's does, an absent key among the cases; None marks a value that is refused."""
    facts = {"aws:username": "alice"} | ({} if fact is None else {K: fact})
    if expected is None:
        with pytest.raises(MalformedPolicy):
            applies("Allow", {operator: {K: values}}, facts)
        return
    assert applies("Allow", {operator: {K: values}}, facts) is expected
    assert applies("Deny", {operator: {K: values}}, facts) is expected


UNSURE = [
    ("NumericLessThan", "10", "abc"),
    ("NumericNotEquals", "10", "abc"),
    ("NumericGreaterThan", "10", "NaN"),
    ("NumericLessThan", "10", "9" * 100),
    ("DateLessThan", "2030-01-01T00:00:00Z", "soon"),
    ("DateNotEquals", "2030-01-01T00:00:00Z", "9" * 30),
    ("Bool", "true", "maybe"),
    ("IpAddress", "10.0.0.0/8", "unix:"),
    ("NotIpAddress", "10.0.0.0/8", ""),
    ("StringEquals", "${aws:userid}", "x"),
    ("StringNotEquals", "${aws:userid}", "x"),
    ("StringNotLike", "${aws:userid}/*", "x"),
    ("IpAddress", "${aws:username}", "10.0.0.1"),
]


@pytest.mark.parametrize(("operator", "value", "fact"), UNSURE)
def test_what_cannot_be_judged_never_helps_the_caller(operator, value, fact):
    """A fact of the wrong kind or a variable without a value keeps an Allow from applying, and lets a Deny apply."""
    facts = {"aws:username": "alice", K: fact}
    assert not applies("Allow", {operator: {K: value}}, facts)
    assert applies("Deny", {operator: {K: value}}, facts)


def test_every_condition_must_hold():
    """Operators and keys are joined by and, the values of one key by or."""
    condition = {"StringEquals": {"s3:prefix": ["a", "b"], "s3:delimiter": "/"}, "Bool": {"aws:SecureTransport": True}}
    full = {"s3:prefix": "b", "s3:delimiter": "/", "aws:securetransport": "true"}
    assert applies("Allow", condition, full)
    for key in full:
        assert not applies("Allow", condition, full | {key: "other" if key != "aws:securetransport" else "false"})


def test_condition_keys_ignore_case_but_in_a_tags_name():
    """`AWS:SourceIp` is `aws:sourceip`; the name of a tag is as it was written."""
    assert applies("Allow", {"StringEquals": {"S3:Prefix": "a"}}, {"s3:prefix": "a"})
    tag = {"StringEquals": {"S3:ExistingObjectTag/Team": "a"}}
    assert applies("Allow", tag, {"s3:existingobjecttag/Team": "a"})
    assert not applies("Allow", tag, {"s3:existingobjecttag/team": "a"})


@pytest.mark.parametrize(
    ("operator", "value"),
    [
        ("StringSame", "a"),
        ("StringequalS", "a"),
        ("ForSomeValues:StringEquals", "a"),
        ("IfExists", "a"),
        ("NumericEquals", "ten"),
        ("DateEquals", "someday"),
        ("Bool", "yes"),
        ("IpAddress", "10.0.0.0/33"),
        ("Null", "maybe"),
        ("ArnEquals", "alice"),
        ("StringEquals", []),
        ("StringEquals", {"a": "b"}),
        ("StringEquals", None),
        ("StringEquals", [["a"]]),
        ("StringLike", "${username}"),
        ("StringLike", "${aws:username, none}"),
    ],
)
def test_conditions_that_cannot_be(operator, value):
    """An unknown operator, or a value that it could never compare, is refused with its place."""
    with pytest.raises(MalformedPolicy) as caught:
        applies("Allow", {operator: {K: value}}, {})
    assert caught.value.place.startswith("Statement[0].Condition")
