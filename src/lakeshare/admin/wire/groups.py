"""Groups on the wire."""

from typing import Any

from lakeshare.admin.model.paging import Taken
from lakeshare.admin.operations import groups
from lakeshare.admin.operations.groups import GroupCall, GroupPolicy, ListGroups, Membership, WholeGroup
from lakeshare.admin.operations.users import ATTACH
from lakeshare.admin.wire import names
from lakeshare.admin.wire.call import PAGING, Call
from lakeshare.admin.wire.route import Gives, Route
from lakeshare.admin.wire.shapes import Field, Flag, Many, Record
from lakeshare.admin.wire.users import page_of
from lakeshare.identity.records import Group

GROUP = Record(
    (
        Field("name", names.PLAIN, required=True),
        Field("enabled", Flag(), "Whether its policies count for its members.", required=True),
        Field("policies", names.NAMES, "The policies attached to it.", required=True),
        Field("created_at", names.TIME, required=True),
    )
)
WHOLE = GROUP.plus(Field("members", names.NAMES, "The users in it.", required=True))
GROUPS = Record((Field("groups", Many(GROUP, 1000), required=True), Field("next", names.PLAIN)))


def _group(group: Group) -> dict[str, Any]:
    return {
        "name": group.name,
        "enabled": group.enabled,
        "policies": group.policies,
        "created_at": group.created_at,
    }


def _groups(found: Taken[Group]) -> dict[str, Any]:
    return page_of("groups", [_group(group) for group in found.items], found.next)


def _whole(found: WholeGroup) -> dict[str, Any]:
    return _group(found.group) | {"members": found.members}


def _policy(call: Call) -> GroupPolicy:
    return GroupPolicy(call.names["group"], call.names["policy"])


def _asking(action: str) -> Any:
    return lambda call: GroupCall(call.names["group"], action)


def _member(action: str) -> Any:
    return lambda call: Membership(call.names["group"], call.names["user"], action)


_LIST, _GET, _ENABLE, _DISABLE = "admin:ListGroups", "admin:GetGroup", "admin:EnableGroup", "admin:DisableGroup"
_ADD, _REMOVE = "admin:AddUserToGroup", "admin:RemoveUserFromGroup"

# fmt: off
ROUTES = (
    Route("ListGroups", "GET", "/groups", _LIST, "List groups.",
          lambda call: ListGroups(call.page), groups.list_groups, _groups, GROUPS, query=PAGING),
    Route("GetGroup", "GET", "/groups/{group}", _GET, "Show a group and its members.",
          _asking(_GET), groups.get_group, _whole, WHOLE),
    Route("CreateGroup", "PUT", "/groups/{group}", _ADD, "Make a group, or leave it as it is.",
          _asking(_ADD), groups.create_group, _whole, WHOLE),
    Route("DeleteGroup", "DELETE", "/groups/{group}", _REMOVE, "Remove a group that has no members.",
          _asking(_REMOVE), groups.delete_group, status=204, gives=Gives.NOTHING),
    Route("EnableGroup", "POST", "/groups/{group}/enable", _ENABLE, "Let a group's policies count.",
          _asking(_ENABLE), groups.enable_group, _whole, WHOLE),
    Route("DisableGroup", "POST", "/groups/{group}/disable", _DISABLE, "Let a group's policies not count.",
          _asking(_DISABLE), groups.disable_group, _whole, WHOLE),
    Route("AddMember", "PUT", "/groups/{group}/members/{user}", _ADD, "Put a user into a group.",
          _member(_ADD), groups.add_member, _whole, WHOLE),
    Route("RemoveMember", "DELETE", "/groups/{group}/members/{user}", _REMOVE, "Take a user out of a group.",
          _member(_REMOVE), groups.remove_member, _whole, WHOLE),
    Route("AttachGroupPolicy", "PUT", "/groups/{group}/policies/{policy}", ATTACH, "Attach a policy to a group.",
          _policy, groups.attach_policy, _whole, WHOLE),
    Route("DetachGroupPolicy", "DELETE", "/groups/{group}/policies/{policy}", ATTACH, "Detach a policy from a group.",
          _policy, groups.detach_policy, _whole, WHOLE),
)
# fmt: on
