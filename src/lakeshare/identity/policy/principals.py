"""Whom a bucket policy speaks of: the ways to write a principal, brought to one name each.

A user, an access key and a service account share one name space, so each is its bare name; the account's root is
`:root`, and one named session of a user is `:session/USER/SESSION`. No user's name has a colon.
"""

import re
from typing import Any

from lakeshare.identity.policy.errors import MalformedPolicy
from lakeshare.identity.policy.model import Principals

ROOT = ":root"
MAX_PRINCIPALS = 500

_ARN = re.compile(r"arn:aws:(iam|sts)::([^:]*):(.+)\Z", re.DOTALL)
_ACCOUNT = re.compile(r"\d{12}\Z")
_KINDS = frozenset({"AWS", "CanonicalUser"})


def session_name(user: str, session: str) -> str:
    """Name one session of a user."""
    return f":session/{user}/{session}"


def read_principals(value: Any, place: str, *, inverted: bool) -> Principals:
    """Read what stands under Principal or NotPrincipal."""
    if value == "*":
        return Principals(everyone=True, inverted=inverted)
    if not isinstance(value, dict) or not value:
        raise MalformedPolicy(place, 'write "*" or {"AWS": [...]}')
    names: set[str] = set()
    for kind, given in value.items():
        if kind not in _KINDS:
            raise MalformedPolicy(place, f"{kind[:64]} principals are not supported: write AWS")
        names |= _names(given, f"{place}.{kind}")
    everyone = "*" in names
    return Principals(everyone=everyone, names=frozenset(names - {"*"}), inverted=inverted)


def concerns(principals: Principals, caller_names: frozenset[str]) -> bool:
    """Whether a statement speaks of a caller who goes by these names; a caller without names is anonymous."""
    named = principals.everyone or not principals.names.isdisjoint(caller_names)
    return named != principals.inverted


def _names(given: Any, place: str) -> set[str]:
    values = given if isinstance(given, list) else [given]
    if not values or len(values) > MAX_PRINCIPALS:
        raise MalformedPolicy(place, f"write one to {MAX_PRINCIPALS} principals")
    return {_name(value, place) for value in values}


def _name(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise MalformedPolicy(place, "a principal is a string")
    if value == "*":
        return value
    if "*" in value or "?" in value:
        raise MalformedPolicy(place, "a principal has no wildcards, other than * alone")
    if _ACCOUNT.match(value):
        return ROOT
    if not value.startswith("arn:"):
        return _bare(value, place)
    if not (match := _ARN.match(value)):
        raise MalformedPolicy(place, "write a principal as arn:aws:iam:::user/NAME")
    return _from_arn(match[3], place)


def _from_arn(resource: str, place: str) -> str:
    kind, _, rest = resource.partition("/")
    if resource == "root":
        return ROOT
    if kind in ("user", "role") and rest:
        return _bare(rest.rpartition("/")[2], place)
    if kind == "assumed-role" and rest:
        user, _, session = rest.partition("/")
        return session_name(user, session) if session else _bare(user, place)
    if kind == "group":
        raise MalformedPolicy(place, "a group cannot be a principal: name its users, or attach a policy to the group")
    raise MalformedPolicy(place, "write a principal as arn:aws:iam:::user/NAME")


def _bare(name: str, place: str) -> str:
    if ":" in name or not name:
        raise MalformedPolicy(place, "write a principal as arn:aws:iam:::user/NAME")
    return name
