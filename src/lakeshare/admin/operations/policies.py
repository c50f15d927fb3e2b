"""Policies, as an operator has them."""

from dataclasses import dataclass

from lakeshare.admin.model.paging import Page, Taken, take
from lakeshare.admin.room import Room
from lakeshare.identity import policies
from lakeshare.identity.arns import policy_arn
from lakeshare.identity.caller import Need
from lakeshare.identity.directory_errors import NoSuchPolicy
from lakeshare.identity.records import NamedPolicy


@dataclass(frozen=True, slots=True)
class ListPolicies:
    """A page of policies."""

    page: Page

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:ListPolicies", policy_arn("*")),)


async def list_policies(room: Room, call: ListPolicies) -> Taken[NamedPolicy]:
    """Return a page of policies by name, the built-in ones among them."""
    view = await room.directory.current()
    return take(sorted(view.register.policies(), key=_name), _name, call.page)


@dataclass(frozen=True, slots=True)
class PolicyCall:
    """Anything that is asked of one policy; `action` is what it needs."""

    policy: str
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, policy_arn(self.policy)),)


@dataclass(frozen=True, slots=True)
class HeldPolicy:
    """A policy, and the users and groups that have it."""

    policy: NamedPolicy
    users: tuple[str, ...]
    groups: tuple[str, ...]


async def get_policy(room: Room, call: PolicyCall) -> HeldPolicy:
    """Return a policy and who has it."""
    register = (await room.directory.current()).register
    policy = register.policy(call.policy)
    if policy is None:
        raise NoSuchPolicy(call.policy)
    users = tuple(user.name for user in register.users() if call.policy in user.policies)
    groups = tuple(group.name for group in register.groups() if call.policy in group.policies)
    return HeldPolicy(policy, users, groups)


async def delete_policy(room: Room, call: PolicyCall) -> None:
    """Remove a policy that nobody has."""
    await room.directory.change(lambda view: policies.delete_policy(view, call.policy))


@dataclass(frozen=True, slots=True)
class PutPolicy:
    """A policy's text under a name."""

    policy: str
    text: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:CreatePolicy", policy_arn(self.policy)),)


async def put_policy(room: Room, call: PutPolicy) -> tuple[str, tuple[str, ...]]:
    """Make or replace a policy; the answer is its name, and what its author should be told."""
    now = room.clock()
    warnings = await room.directory.change(lambda view: policies.put_policy(view, call.policy, call.text, now))
    return call.policy, warnings


def _name(policy: NamedPolicy) -> str:
    return policy.name
