"""Laws of evaluation that hold for any policies: a deny never widens, an intersection is never wider than its parts."""

import json

from hypothesis import given
from hypothesis import strategies as some

from lakeshare.identity.authorise import Authoriser, Reason
from lakeshare.identity.caller import ANONYMOUS, Caller, CallerKind, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.policy.bucket import compile_bucket_policy
from lakeshare.identity.policy.compiled import NO_POLICY, compile_policy
from lakeshare.identity.policy.parse import parse_policy

HERE = Circumstances(at=1_700_000_000, source_ip="10.1.2.3")
ACTIONS = ["*", "s3:*", "s3:Get*", "s3:GetObject", "s3:PutObject", "s3:ListBucket", "s3:?utObject"]
RESOURCES = [
    "arn:aws:s3:::*",
    "arn:aws:s3:::b",
    "arn:aws:s3:::b/*",
    "arn:aws:s3:::b/t1/*",
    "arn:aws:s3:::b/t1*",
    "arn:aws:s3:::b/${aws:username}/*",
    "arn:aws:s3:::b/${aws:tokenissuetime}/*",
]
CONDITIONS = [
    {},
    {"StringLike": {"s3:prefix": "t1/*"}},
    {"StringNotLike": {"s3:prefix": "t1/*"}},
    {"StringEqualsIfExists": {"s3:prefix": "t1/"}},
    {"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}},
    {"NotIpAddress": {"aws:SourceIp": "10.0.0.0/8"}},
    {"NumericLessThan": {"s3:max-keys": "10"}},
    {"Null": {"s3:prefix": "true"}},
    {"StringEquals": {"s3:prefix": "${aws:tokenissuetime}"}},
]


def _statement(effect, action, resource, condition, *, except_actions, except_resources):
    found = {
        "Effect": effect,
        "NotAction" if except_actions else "Action": action,
        "NotResource" if except_resources else "Resource": resource,
    }
    return found | ({"Condition": condition} if condition else {})


def statements(effects=("Allow", "Deny")):
    return some.builds(
        _statement,
        some.sampled_from(effects),
        some.lists(some.sampled_from(ACTIONS), min_size=1, max_size=2),
        some.lists(some.sampled_from(RESOURCES), min_size=1, max_size=2),
        some.sampled_from(CONDITIONS),
        except_actions=some.booleans(),
        except_resources=some.booleans(),
    )


policies = some.lists(statements(), max_size=3)
needs = some.builds(
    Need,
    some.sampled_from(["s3:GetObject", "s3:PutObject", "s3:ListBucket", "s3:DeleteObject", "admin:CreateUser"]),
    some.sampled_from(["arn:aws:s3:::b", "arn:aws:s3:::b/t1/x", "arn:aws:s3:::b/t10/x", "arn:aws:s3:::c/alice/x", "*"]),
    some.sampled_from([(), (("s3:prefix", "t1/x"),), (("s3:prefix", "t10/"),), (("s3:max-keys", "abc"),)]),
)


def compiled(found):
    if not found:
        return NO_POLICY
    return compile_policy(parse_policy(json.dumps({"Version": "2012-10-17", "Statement": found})))


def of_bucket(found):
    if not found:
        return {}
    document = {"Version": "2012-10-17", "Statement": [{**each, "Principal": "*"} for each in found]}
    document["Statement"] = [each for each in document["Statement"] if _in_bucket(each)]
    return {"b": compile_bucket_policy(json.dumps(document), "b")} if document["Statement"] else {}


def _in_bucket(statement):
    named = statement.get("Resource") or statement.get("NotResource")
    return all(each.startswith(("arn:aws:s3:::b", "arn:aws:s3:::*")) for each in named)


def allowed(grants, need, limits=(), bucket=()):
    caller = Caller(
        CallerKind.USER,
        "alice",
        user="alice",
        grants=compiled(grants),
        limits=tuple(compiled(limit) for limit in limits),
    )
    return Authoriser(caller, HERE, of_bucket(list(bucket))).decide(need).allowed


@given(policies, statements(("Deny",)), needs, policies, some.lists(policies, max_size=2))
def test_adding_a_deny_never_widens(grants, deny, need, bucket, limits):
    """Wherever a deny is added, nothing becomes allowed that was not."""
    before = allowed(grants, need, limits, bucket)
    assert before or not allowed([*grants, deny], need, limits, bucket)
    assert before or not allowed(grants, need, [*limits[:-1], [*limits[-1], deny]] if limits else limits, bucket)
    assert before or not allowed(grants, need, limits, [*bucket, deny])


@given(policies, statements(("Allow",)), needs)
def test_adding_an_allow_never_narrows(grants, allow, need):
    """An allow that is added takes nothing away."""
    assert not allowed(grants, need) or allowed([*grants, allow], need)


@given(policies, policies, needs, policies)
def test_an_intersection_is_never_wider_than_its_parts(grants, limit, need, bucket):
    """What a limited key may do, its parent may, and the limit by itself would allow too."""
    if allowed(grants, need, [limit], bucket):
        assert allowed(grants, need, (), bucket)
        assert allowed(limit, need)


@given(policies, some.lists(policies, max_size=3), policies, needs)
def test_a_further_limit_never_widens(grants, limits, further, need):
    """A key made by a limited key may do no more than the key that made it."""
    assert allowed(grants, need, limits) or not allowed(grants, need, [*limits, further])


@given(policies, needs)
def test_the_order_of_statements_does_not_matter(grants, need):
    """Statements turned round decide the same."""
    assert allowed(grants, need) == allowed(grants[::-1], need)


@given(policies, needs)
def test_anonymous_has_the_buckets_policy_only(bucket, need):
    """Nobody is allowed by anything but the bucket's own policy."""
    decision = Authoriser(ANONYMOUS, HERE, of_bucket(bucket)).decide(need)
    assert not decision.allowed or decision.reason is Reason.BUCKET_ALLOWS
    assert not Authoriser(ANONYMOUS, HERE, {}).decide(need).allowed
