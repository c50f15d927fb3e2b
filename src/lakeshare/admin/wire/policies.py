"""Policies on the wire."""

from typing import Any

import orjson

from lakeshare.admin.errors import BadField
from lakeshare.admin.model.paging import Taken
from lakeshare.admin.operations import policies
from lakeshare.admin.operations.policies import HeldPolicy, ListPolicies, PolicyCall, PutPolicy
from lakeshare.admin.wire import names
from lakeshare.admin.wire.call import PAGING, Call
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.shapes import Document, Field, Flag, Many, Record
from lakeshare.admin.wire.users import page_of
from lakeshare.identity.policy.builtin import BUILT_IN
from lakeshare.identity.records import NamedPolicy

DOCUMENT = Document("A policy in AWS's syntax")
POLICY = Record(
    (
        Field("name", names.PLAIN, required=True),
        Field("built_in", Flag(), "Whether every server has it, and nobody can change it.", required=True),
        Field("created_at", names.TIME),
        Field("updated_at", names.TIME),
    )
)
HELD = POLICY.plus(
    Field("policy", DOCUMENT, required=True),
    Field("users", names.NAMES, "The users that have it.", required=True),
    Field("groups", names.NAMES, "The groups that have it.", required=True),
)
POLICIES = Record((Field("policies", Many(POLICY, 1000), required=True), Field("next", names.PLAIN)))
PUT = Record(
    (
        Field("name", names.PLAIN, required=True),
        Field("warnings", Many(names.ANY, 100_000), "What its author should know.", required=True),
    )
)


def document_text(document: Any) -> str:
    """Write a policy that came inside another body as the text it is kept as."""
    try:
        return orjson.dumps(document).decode()
    except (orjson.JSONEncodeError, UnicodeEncodeError):
        raise BadField("policy", "it has a number or a text that cannot be written") from None


def _policy(policy: NamedPolicy) -> dict[str, Any]:
    if policy.name in BUILT_IN:
        return {"name": policy.name, "built_in": True}
    times = {"created_at": policy.created_at, "updated_at": policy.updated_at}
    return {"name": policy.name, "built_in": False} | times


def _policies(found: Taken[NamedPolicy]) -> dict[str, Any]:
    return page_of("policies", [_policy(policy) for policy in found.items], found.next)


def _held(found: HeldPolicy) -> dict[str, Any]:
    shown = _policy(found.policy)
    return shown | {"policy": orjson.Fragment(found.policy.text), "users": found.users, "groups": found.groups}


def _put(done: tuple[str, tuple[str, ...]]) -> dict[str, Any]:
    return {"name": done[0], "warnings": done[1]}


def _text(call: Call) -> PutPolicy:
    try:
        return PutPolicy(call.names["policy"], call.text.decode())
    except UnicodeDecodeError:
        raise BadField("", "the body is not UTF-8") from None


def _asking(action: str) -> Any:
    return lambda call: PolicyCall(call.names["policy"], action)


_LIST, _GET, _CREATE, _DELETE = "admin:ListPolicies", "admin:GetPolicy", "admin:CreatePolicy", "admin:DeletePolicy"

# fmt: off
ROUTES = (
    Route("ListPolicies", "GET", "/policies", _LIST, "List policies, the built-in ones too.",
          lambda call: ListPolicies(call.page), policies.list_policies, _policies, POLICIES, query=PAGING),
    Route("GetPolicy", "GET", "/policies/{policy}", _GET, "Show a policy and who has it.",
          _asking(_GET), policies.get_policy, _held, HELD),
    Route("PutPolicy", "PUT", "/policies/{policy}", _CREATE, "Make or replace a policy; the body is the policy.",
          _text, policies.put_policy, _put, PUT, body=DOCUMENT, takes=Takes.TEXT),
    Route("DeletePolicy", "DELETE", "/policies/{policy}", _DELETE, "Remove a policy that nobody has.",
          _asking(_DELETE), policies.delete_policy, status=204, gives=Gives.NOTHING),
)
# fmt: on
