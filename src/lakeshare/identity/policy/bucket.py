"""Bucket policies: what one may say, whether it makes the bucket public, and the compiled form of a stored one."""

from functools import lru_cache

from lakeshare.identity.policy.actions import service_of
from lakeshare.identity.policy.compiled import CompiledPolicy, closed, compile_policy
from lakeshare.identity.policy.conditions import is_fixed
from lakeshare.identity.policy.errors import MalformedPolicy, PolicyError
from lakeshare.identity.policy.model import Condition, Effect, Policy, Quantifier, Statement
from lakeshare.identity.policy.operators import read_network
from lakeshare.identity.policy.parse import parse_resource_policy
from lakeshare.identity.policy.pattern import has_variables, matches, tokens_of

_S3 = "arn:aws:s3:::"
_POLICIES_KEPT = 1024

# What AWS counts as narrowing a grant to everyone: fixed values of these keys.
_NARROWING_KEYS = frozenset(
    {"aws:username", "aws:userid", "aws:principalarn", "aws:principalaccount", "aws:groups", "aws:sourceip"}
)
_NARROWING_OPERATORS = frozenset(
    {"StringEquals", "StringEqualsIgnoreCase", "StringLike", "ArnEquals", "ArnLike", "IpAddress"}
)
_BROADEST_IPV4 = 8  # a network broader than these is the public: AWS, "The meaning of public"
_BROADEST_IPV6 = 32
_IPV4 = 4


def parse_bucket_policy(text: str | bytes, bucket: str) -> Policy:
    """Read a policy for this bucket: every resource must lie in it and every action be one of S3's."""
    policy = parse_resource_policy(text)
    for n, statement in enumerate(policy.statements):
        place = f"Statement[{n}]"
        for action in statement.actions:
            if action != "*" and service_of(action) != "s3":
                raise MalformedPolicy(f"{place}.Action", f"{action[:64]!r} is not an action on a bucket")
        for resource in statement.resources:
            if not _reaches(resource, bucket, policy):
                raise MalformedPolicy(f"{place}.Resource", f"{resource[:128]!r} is not in bucket {bucket!r}")
    return policy


@lru_cache(maxsize=_POLICIES_KEPT)
def compile_bucket_policy(text: str, bucket: str) -> CompiledPolicy:
    """Compile the stored policy of a bucket; one that cannot be read any more denies everything."""
    name = f"bucket policy of {bucket}"
    try:
        return compile_policy(parse_bucket_policy(text, bucket), name)
    except PolicyError:
        return closed(name)


def is_public(policy: Policy) -> bool:
    """Whether the policy grants something to everyone, as GetBucketPolicyStatus reports it."""
    return any(_admits_everyone(statement, policy) for statement in policy.statements)


def _reaches(resource: str, bucket: str, policy: Policy) -> bool:
    if resource == "*":
        return True
    if not resource.startswith(_S3):
        return False
    named = tokens_of(resource.removeprefix(_S3).partition("/")[0], variables=policy.has_variables)
    return not has_variables(named) and matches(named, bucket)


def _admits_everyone(statement: Statement, policy: Policy) -> bool:
    if statement.effect is Effect.DENY or statement.principals is None or not statement.principals.everyone:
        return False
    return not any(_narrows(condition, policy) for condition in statement.conditions)


def _narrows(condition: Condition, policy: Policy) -> bool:
    if condition.key not in _NARROWING_KEYS or condition.operator not in _NARROWING_OPERATORS:
        return False
    if condition.if_exists or condition.quantifier is Quantifier.ALL:
        return False
    if not is_fixed(condition, variables=policy.has_variables):
        return False
    return condition.operator != "IpAddress" or all(_is_narrow(value) for value in condition.values)


def _is_narrow(text: str) -> bool:
    network = read_network(text)
    if network is None:
        return False
    return network.prefixlen >= (_BROADEST_IPV4 if network.version == _IPV4 else _BROADEST_IPV6)
