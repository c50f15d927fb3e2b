"""Policies under names: made, replaced, removed. Each function plans a change (`Directory.change`)."""

from dataclasses import replace

from lakeshare.identity.directory_errors import NoSuchPolicy, PolicyBuiltIn, PolicyInUse, TooMany
from lakeshare.identity.names import check_policy
from lakeshare.identity.policy.builtin import BUILT_IN
from lakeshare.identity.policy.parse import parse_policy
from lakeshare.identity.records import POLICIES, NamedPolicy
from lakeshare.identity.view import View
from lakeshare.state.epoch import Plan

MAX_POLICIES = 10_000


def put_policy(view: View, name: str, text: str, now: float) -> Plan[tuple[str, ...]]:
    """Make or replace a policy; the answer is what its author should be told.

    Raises BadName, PolicyBuiltIn, MalformedPolicy, PolicyTooLarge, TooMany.
    """
    check_policy(name)
    if name in BUILT_IN:
        raise PolicyBuiltIn(name)
    warnings = parse_policy(text).warnings
    found = view.register.policy(name)
    if found is None and view.register.count(POLICIES) >= MAX_POLICIES:
        raise TooMany("policies", MAX_POLICIES)
    stored = replace(found or NamedPolicy(name, text, int(now)), text=text, updated_at=int(now))
    return Plan((POLICIES.put(stored, name),), warnings)


def delete_policy(view: View, name: str) -> Plan[None]:
    """Remove a policy that nobody has. Raises NoSuchPolicy, PolicyBuiltIn, PolicyInUse."""
    if name in BUILT_IN:
        raise PolicyBuiltIn(name)
    if view.register.policy(name) is None:
        raise NoSuchPolicy(name)
    if holders := holders_of(view, name):
        raise PolicyInUse(name, holders)
    return Plan((POLICIES.delete(name),), None)


def holders_of(view: View, name: str) -> tuple[str, ...]:
    """Name the users and groups that have a policy, such as `user alice`."""
    users = [f"user {user.name}" for user in view.register.users() if name in user.policies]
    groups = [f"group {group.name}" for group in view.register.groups() if name in group.policies]
    return (*users, *groups)
