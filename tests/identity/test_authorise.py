"""Authorisation over everything a request requires, claims of tables, and facts that no request can forge."""

import json

import pytest

from lakeshare.identity.authorise import Authoriser, Reason, authorise
from lakeshare.identity.caller import ANONYMOUS, Caller, CallerKind, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.claims import Claim, Claims
from lakeshare.identity.errors import AccessDenied
from lakeshare.identity.policy.bucket import compile_bucket_policy
from lakeshare.identity.policy.compiled import compile_stored

HERE = Circumstances(at=1_700_000_000, source_ip="10.1.2.3")


def policy(*statements):
    found = [dict(zip(("Effect", "Action", "Resource", "Condition"), each, strict=False)) for each in statements]
    return compile_stored(json.dumps({"Version": "2012-10-17", "Statement": found}), "p")


def user(*statements, limits=()):
    return Caller(CallerKind.USER, "alice", user="alice", grants=policy(*statements), limits=tuple(limits))


def test_everything_required_is_authorised():
    """A copy needs its source and its target: one refused need refuses the request, and the error names it."""
    caller = user(("Allow", "s3:PutObject", "*"), ("Allow", "s3:GetObject", "arn:aws:s3:::b/public/*"))
    target = Need("s3:PutObject", "arn:aws:s3:::b/copy")
    assert authorise(caller, [target, Need("s3:GetObject", "arn:aws:s3:::b/public/x")], HERE, {}).allowed
    with pytest.raises(AccessDenied) as caught:
        authorise(caller, [target, Need("s3:GetObject", "arn:aws:s3:::b/secret/x")], HERE, {})
    assert caught.value.resource == "arn:aws:s3:::b/secret/x"


def test_versions_need_their_own_action():
    """The right to read an object is not the right to read its older versions."""
    caller = user(("Allow", "s3:GetObject", "*"))
    assert not Authoriser(caller, HERE, {}).decide(Need("s3:GetObjectVersion", "arn:aws:s3:::b/k")).allowed


def test_each_key_of_a_bulk_delete_is_decided_by_itself():
    """A bulk delete learns for each key whether it may."""
    caller = user(("Allow", "s3:DeleteObject", "arn:aws:s3:::b/mine/*"))
    decide = Authoriser(caller, HERE, {}).decide
    keys = ["mine/1", "theirs/1", "mine/2"]
    decisions = [decide(Need("s3:DeleteObject", f"arn:aws:s3:::b/{key}")).allowed for key in keys]
    assert decisions == [True, False, True]


def test_what_requires_nothing_is_allowed():
    """A request without needs is one that anyone may make."""
    assert authorise(ANONYMOUS, [], HERE, {}).reason is Reason.NOTHING_NEEDED


@pytest.mark.parametrize(
    ("key", "forged"),
    [
        ("aws:username", "root"),
        ("AWS:UserName", "root"),
        ("aws:SourceIp", "192.0.2.1"),
        ("aws:SecureTransport", "true"),
        ("aws:PrincipalArn", "arn:aws:iam:::user/root"),
        ("aws:groups", "admins"),
        ("aws:CurrentTime", "2000-01-01T00:00:00Z"),
        ("s3:authType", "REST-HEADER"),
        ("jwt:sub", "root"),
    ],
)
def test_a_request_cannot_set_what_the_server_knows(key, forged):
    """A fact that comes with the request never stands in for one of the server's, known or not."""
    caller = user(("Allow", "s3:*", "*", {"StringEquals": {key: forged}}))
    need = Need("s3:GetObject", "arn:aws:s3:::b/k", ((key, forged),))
    assert not Authoriser(caller, HERE, {}).decide(need).allowed


def test_the_servers_facts_reach_conditions():
    """Address, time, transport, signature, session and name are there to be asked for."""
    conditions = {
        "IpAddress": {"aws:SourceIp": "192.0.2.0/24"},
        "Bool": {"aws:SecureTransport": "true"},
        "DateGreaterThan": {"aws:CurrentTime": "2023-01-01T00:00:00Z", "aws:TokenIssueTime": "2001-01-01T00:00:00Z"},
        "NumericEquals": {"aws:EpochTime": "1700000000"},
        "StringEquals": {
            "aws:UserAgent": "agent",
            "aws:Referer": "there",
            "aws:username": "alice",
            "aws:userid": "alice:s1",
            "aws:PrincipalType": "AssumedRole",
            "s3:authType": "REST-HEADER",
            "s3:signatureversion": "AWS4-HMAC-SHA256",
        },
        "NumericLessThan": {"s3:signatureAge": "1000"},
        "ForAnyValue:StringEquals": {"aws:groups": "staff"},
        "ArnEquals": {"aws:PrincipalArn": "arn:aws:iam:::user/alice"},
    }
    grants = policy(("Allow", "s3:*", "*", conditions))
    caller = Caller(
        CallerKind.SESSION, "AK", user="alice", groups=("staff",), grants=grants, session="s1", issued_at=1_600_000_000
    )
    here = Circumstances(1_700_000_000, "192.0.2.7", True, "agent", "there", "REST-HEADER", "AWS4-HMAC-SHA256", 5)
    assert Authoriser(caller, here, {}).decide(Need("s3:GetObject", "arn:aws:s3:::b/k")).allowed


def test_a_session_can_be_a_principal():
    """A bucket policy can name one session of a user, and the user for all of them."""

    def admits(principal, caller):
        statement = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "s3:*", "Resource": "*"}
        bucket = compile_bucket_policy(json.dumps({"Statement": statement}), "b")
        return Authoriser(caller, HERE, {"b": bucket}).decide(Need("s3:GetObject", "arn:aws:s3:::b/k")).allowed

    one = Caller(CallerKind.SESSION, "AK1", user="alice", session="one")
    two = Caller(CallerKind.SESSION, "AK2", user="alice", session="two")
    assert admits("arn:aws:sts:::assumed-role/alice/one", one)
    assert not admits("arn:aws:sts:::assumed-role/alice/one", two)
    assert admits("arn:aws:iam:::user/alice", one)
    assert admits("arn:aws:iam:::user/alice", two)
    assert admits("AK2", two)


T1 = Claim("wh", "t1", "arn:aws:s3tables:::bucket/wh/table/1", (("s3tables:tableName", "t1"),))
T1_INNER = Claim("wh", "t1/inner/", "arn:aws:s3tables:::bucket/wh/table/2")
CLAIMS = Claims([T1, T1_INNER])


@pytest.mark.parametrize(
    ("bucket", "key", "claim"),
    [
        ("wh", "t1/x", T1),
        ("wh", "t1/", T1),
        ("wh", "t1/a/b/c", T1),
        ("wh", "t1/inner/x", T1_INNER),
        ("wh", "t1", None),
        ("wh", "t10/x", None),
        ("wh", "/t1/x", None),
        ("wh", "", None),
        ("other", "t1/x", None),
    ],
)
def test_claims_end_at_their_slash(bucket, key, claim):
    """A key belongs to the claim with its longest prefix, and `t1` is no prefix of `t10`."""
    assert CLAIMS.covering(bucket, key) is claim


def test_a_claim_without_a_prefix_takes_the_whole_bucket():
    """An empty prefix covers every key that no other claim covers."""
    whole = Claim("wh", "", "arn:aws:s3tables:::bucket/wh")
    claims = Claims([T1, whole])
    assert claims.covering("wh", "anything") is whole
    assert claims.covering("wh", "t10/x") is whole
    assert claims.covering("wh", "t1/x") is T1


def decided(caller, action, key, *, bucket_policies=None, prefix=None):
    resource = "arn:aws:s3:::wh" if prefix is not None else f"arn:aws:s3:::wh/{key}"
    facts = () if prefix is None else (("s3:prefix", prefix),)
    return Authoriser(caller, HERE, bucket_policies or {}, CLAIMS).decide(Need(action, resource, facts))


def test_direct_writes_follow_table_permissions():
    """Under a claim S3 rights do not suffice to write; the right to put the table's data does."""
    s3_only = user(("Allow", "s3:*", "*"))
    writer = user(("Allow", "s3tables:PutTableData", T1.table))
    reader = user(("Allow", "s3tables:GetTableData", T1.table))
    assert decided(s3_only, "s3:PutObject", "t1/x").reason is Reason.NOT_THE_TABLE
    assert decided(s3_only, "s3:DeleteObject", "t1/x").reason is Reason.NOT_THE_TABLE
    assert decided(s3_only, "s3:PutObject", "t10/x").allowed
    assert decided(s3_only, "s3:GetObject", "t1/x").allowed
    assert decided(writer, "s3:PutObject", "t1/x").allowed
    assert not decided(writer, "s3:PutObject", "t10/x").allowed
    assert not decided(writer, "s3:PutObject", "t1/inner/x").allowed
    assert not decided(writer, "s3:GetObject", "t1/x").allowed
    assert decided(reader, "s3:GetObject", "t1/x").allowed
    assert not decided(reader, "s3:PutObject", "t1/x").allowed
    assert decided(Caller(CallerKind.ROOT, "root"), "s3:PutObject", "t1/x").allowed


def test_listing_inside_a_claim_is_reading_the_table():
    """A reader of the table may list below its location, and not beside it."""
    reader = user(("Allow", "s3tables:GetTableData", T1.table))
    assert decided(reader, "s3:ListBucket", "", prefix="t1/").allowed
    assert decided(reader, "s3:ListBucket", "", prefix="t1/data/").allowed
    for prefix in ("t1", "t10/", "", "t"):
        assert not decided(reader, "s3:ListBucket", "", prefix=prefix).allowed


def test_denials_hold_on_both_sides_of_a_claim():
    """A deny of the key and a deny of the table each refuse; conditions on the table's name are read."""
    table = ("Allow", "s3tables:*", "*")
    assert not decided(user(table, ("Deny", "s3:PutObject", "*")), "s3:PutObject", "t1/x").allowed
    assert not decided(user(table, ("Deny", "s3tables:PutTableData", "*")), "s3:PutObject", "t1/x").allowed
    named = {"StringEquals": {"s3tables:tableName": "t1"}}
    assert decided(user((*table, named)), "s3:PutObject", "t1/x").allowed
    assert not decided(user((*table, named)), "s3:PutObject", "t1/inner/x").allowed


def test_a_bucket_policy_opens_no_table_to_writes():
    """Whoever a bucket policy admits may read under a claim, never write."""
    statement = {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::wh/*"}
    policies = {"wh": compile_bucket_policy(json.dumps({"Statement": statement}), "wh")}
    assert decided(ANONYMOUS, "s3:GetObject", "t1/x", bucket_policies=policies).allowed
    assert not decided(ANONYMOUS, "s3:PutObject", "t1/x", bucket_policies=policies).allowed
    assert decided(ANONYMOUS, "s3:PutObject", "t10/x", bucket_policies=policies).allowed


def test_limits_hold_under_a_claim():
    """A session's policy may speak of the key or of the table, and must speak of one of them."""
    writer = ("Allow", "s3tables:*", "*")
    on_keys, on_table = policy(("Allow", "s3:*", "arn:aws:s3:::wh/t1/*")), policy(("Allow", "s3tables:*", T1.table))
    elsewhere = policy(("Allow", "s3:*", "arn:aws:s3:::wh/t2/*"))
    assert decided(user(writer, limits=[on_keys]), "s3:PutObject", "t1/x").allowed
    assert decided(user(writer, limits=[on_table]), "s3:PutObject", "t1/x").allowed
    assert decided(user(writer, limits=[elsewhere]), "s3:PutObject", "t1/x").reason is Reason.NOT_WITHIN_LIMIT
    assert not decided(user(writer, limits=[on_keys, elsewhere]), "s3:PutObject", "t1/x").allowed
    root = Caller(CallerKind.SESSION, "AK", user="root", of_root=True, limits=(on_keys,))
    assert decided(root, "s3:PutObject", "t1/x").reason is Reason.ROOT
    assert not decided(root, "s3:PutObject", "t10/x").allowed
