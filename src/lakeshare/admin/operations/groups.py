"""Groups, as an operator has them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lakeshare.admin.model.paging import Page, Taken, take
from lakeshare.admin.operations.users import attach_needs
from lakeshare.admin.room import Room
from lakeshare.identity import groups
from lakeshare.identity.arns import group_arn, user_arn
from lakeshare.identity.caller import Need
from lakeshare.identity.records import Group
from lakeshare.identity.view import View
from lakeshare.state.epoch import Plan


@dataclass(frozen=True, slots=True)
class WholeGroup:
    """A group and the users in it."""

    group: Group
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ListGroups:
    """A page of groups."""

    page: Page

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:ListGroups", group_arn("*")),)


async def list_groups(room: Room, call: ListGroups) -> Taken[Group]:
    """Return a page of groups by name."""
    view = await room.directory.current()
    return take(view.register.groups(), lambda group: group.name, call.page)


@dataclass(frozen=True, slots=True)
class GroupCall:
    """Anything that is asked of one group; `action` is what it needs."""

    group: str
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, group_arn(self.group)),)


async def get_group(room: Room, call: GroupCall) -> WholeGroup:
    """Return a group with its members."""
    view = await room.directory.current()
    return WholeGroup(groups.existing(view, call.group), groups.members(view, call.group))


async def create_group(room: Room, call: GroupCall) -> WholeGroup:
    """Make a group, or leave it as it is."""
    return await _changed(room, call.group, lambda view: groups.create_group(view, call.group, room.clock()))


async def delete_group(room: Room, call: GroupCall) -> None:
    """Remove a group that has no members."""
    await room.directory.change(lambda view: groups.delete_group(view, call.group))


async def enable_group(room: Room, call: GroupCall) -> WholeGroup:
    """Let a group's policies count."""
    return await _changed(room, call.group, lambda view: groups.set_group_enabled(view, call.group, enabled=True))


async def disable_group(room: Room, call: GroupCall) -> WholeGroup:
    """Let a group's policies not count."""
    return await _changed(room, call.group, lambda view: groups.set_group_enabled(view, call.group, enabled=False))


@dataclass(frozen=True, slots=True)
class Membership:
    """A user and the group that it shall be in, or not; `action` is what it needs, of both."""

    group: str
    user: str
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed, of the group and of the user."""
        return Need(self.action, group_arn(self.group)), Need(self.action, user_arn(self.user))


async def add_member(room: Room, call: Membership) -> WholeGroup:
    """Put a user into a group."""
    return await _changed(room, call.group, lambda view: groups.add_members(view, call.group, (call.user,)))


async def remove_member(room: Room, call: Membership) -> WholeGroup:
    """Take a user out of a group."""
    return await _changed(room, call.group, lambda view: groups.remove_members(view, call.group, (call.user,)))


@dataclass(frozen=True, slots=True)
class GroupPolicy:
    """A policy and the group that shall have it, or not."""

    group: str
    policy: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed, of the group and of the policy."""
        return attach_needs(group_arn(self.group), (self.policy,))


async def attach_policy(room: Room, call: GroupPolicy) -> WholeGroup:
    """Attach a policy to a group."""
    return await _changed(room, call.group, lambda view: groups.attach_group_policies(view, call.group, (call.policy,)))


async def detach_policy(room: Room, call: GroupPolicy) -> WholeGroup:
    """Detach a policy from a group."""
    return await _changed(room, call.group, lambda view: groups.detach_group_policies(view, call.group, (call.policy,)))


async def _changed(room: Room, group: str, plan: Callable[[View], Plan[Any]]) -> WholeGroup:
    await room.directory.change(plan)
    return await get_group(room, GroupCall(group, ""))
