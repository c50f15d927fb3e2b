"""Groups: users together, and the policies they share. Each function plans a change (`Directory.change`)."""

from dataclasses import replace

from lakeshare.identity.directory_errors import GroupNotEmpty, NoSuchGroup, TooMany
from lakeshare.identity.names import check_group
from lakeshare.identity.records import GROUPS, USERS, Group, User
from lakeshare.identity.users import existing as existing_user
from lakeshare.identity.users import joined
from lakeshare.identity.view import View
from lakeshare.state.epoch import Plan

MAX_GROUPS = 10_000
MAX_GROUPS_OF_USER = 32
MAX_MEMBERS_AT_ONCE = 500  # changes of one commit


def create_group(view: View, name: str, now: float) -> Plan[Group]:
    """Make a group, or leave it as it is. Raises BadName, TooMany."""
    check_group(name)
    found = view.register.group(name)
    if found is None and view.register.count(GROUPS) >= MAX_GROUPS:
        raise TooMany("groups", MAX_GROUPS)
    return _put(found or Group(name, created_at=int(now)))


def set_group_enabled(view: View, name: str, *, enabled: bool) -> Plan[Group]:
    """Let a group's policies count for its members, or not."""
    return _put(replace(existing(view, name), enabled=enabled))


def delete_group(view: View, name: str) -> Plan[None]:
    """Remove a group that has no members. Raises NoSuchGroup, GroupNotEmpty."""
    existing(view, name)
    if members(view, name):
        raise GroupNotEmpty(name)
    return Plan((GROUPS.delete(name),), None)


def members(view: View, name: str) -> tuple[str, ...]:
    """Name the users in a group."""
    return tuple(user.name for user in view.register.users() if name in user.groups)


def add_members(view: View, name: str, users: tuple[str, ...]) -> Plan[None]:
    """Put users into a group. Raises NoSuchGroup, NoSuchUser, TooMany."""
    existing(view, name)
    return _members_plan([_with_group(existing_user(view, user), name) for user in _distinct(users)])


def remove_members(view: View, name: str, users: tuple[str, ...]) -> Plan[None]:
    """Take users out of a group; one that is not in it is no error."""
    existing(view, name)
    return _members_plan([_without_group(existing_user(view, user), name) for user in _distinct(users)])


def attach_group_policies(view: View, name: str, policies: tuple[str, ...]) -> Plan[Group]:
    """Add policies to those of a group."""
    group = existing(view, name)
    return _put(replace(group, policies=joined(view, group.policies, policies)))


def detach_group_policies(view: View, name: str, policies: tuple[str, ...]) -> Plan[Group]:
    """Take policies from a group; one that it does not have is no error."""
    group = existing(view, name)
    return _put(replace(group, policies=tuple(each for each in group.policies if each not in policies)))


def existing(view: View, name: str) -> Group:
    """Return a group. Raises NoSuchGroup."""
    group = view.register.group(name)
    if group is None:
        raise NoSuchGroup(name)
    return group


def _distinct(users: tuple[str, ...]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(users))
    if len(found) > MAX_MEMBERS_AT_ONCE:
        raise TooMany("users at once", MAX_MEMBERS_AT_ONCE)
    return found


def _with_group(user: User, name: str) -> User:
    groups = tuple(dict.fromkeys((*user.groups, name)))
    if len(groups) > MAX_GROUPS_OF_USER:
        raise TooMany(f"groups of {user.name}", MAX_GROUPS_OF_USER)
    return replace(user, groups=groups)


def _without_group(user: User, name: str) -> User:
    return replace(user, groups=tuple(each for each in user.groups if each != name))


def _members_plan(users: list[User]) -> Plan[None]:
    return Plan(tuple(USERS.put(user, user.name) for user in users), None)


def _put(group: Group) -> Plan[Group]:
    return Plan((GROUPS.put(group, group.name),), group)
