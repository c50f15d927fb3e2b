"""Users, as an operator has them."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lakeshare.admin.model.paging import Page, Taken, take
from lakeshare.admin.room import Room
from lakeshare.identity import users
from lakeshare.identity.arns import policy_arn, user_arn
from lakeshare.identity.caller import Need
from lakeshare.identity.names import new_secret
from lakeshare.identity.records import User
from lakeshare.identity.view import View
from lakeshare.settings import Secret
from lakeshare.state.epoch import Plan

ATTACH = "admin:AttachUserOrGroupPolicy"


@dataclass(frozen=True, slots=True)
class ListUsers:
    """A page of users."""

    page: Page

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:ListUsers", user_arn("*")),)


async def list_users(room: Room, call: ListUsers) -> Taken[User]:
    """Return a page of users by name."""
    view = await room.directory.current()
    return take(view.register.users(), lambda user: user.name, call.page)


@dataclass(frozen=True, slots=True)
class UserCall:
    """Anything that is asked of one user; `action` is what it needs."""

    user: str
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, user_arn(self.user)),)


async def get_user(room: Room, call: UserCall) -> User:
    """Return a user."""
    return users.existing(await room.directory.current(), call.user)


async def delete_user(room: Room, call: UserCall) -> None:
    """Remove a user with its access keys."""
    await room.directory.change(lambda view: users.delete_user(view, call.user))


async def enable_user(room: Room, call: UserCall) -> User:
    """Let a user in."""
    return await room.directory.change(lambda view: users.set_user_enabled(view, call.user, enabled=True))


async def disable_user(room: Room, call: UserCall) -> User:
    """Keep a user out."""
    return await room.directory.change(lambda view: users.set_user_enabled(view, call.user, enabled=False))


async def revoke_sessions(room: Room, call: UserCall) -> None:
    """End every session of a user."""
    await room.directory.change(lambda view: users.revoke_sessions(view, call.user))


@dataclass(frozen=True, slots=True)
class MadeUser:
    """A user and its secret, which is told this once."""

    user: User
    secret: Secret = field(repr=False)


@dataclass(frozen=True, slots=True)
class CreateUser:
    """A new user; a secret that is not given is made."""

    name: str
    secret: Secret | None = field(default=None, repr=False)
    policies: tuple[str, ...] = ()

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: to attach each policy too, if there are any."""
        return (Need("admin:CreateUser", user_arn(self.name)), *attach_needs(user_arn(self.name), self.policies))


async def create_user(room: Room, call: CreateUser) -> MadeUser:
    """Make a user with its policies, at one moment."""
    secret, now = call.secret or new_secret(), room.clock()

    def plan(view: View) -> Plan[User]:
        made = users.create_user(view, call.name, secret, now).answer
        return users.put(replace(made, policies=users.joined(view, (), call.policies)))

    return MadeUser(await room.directory.change(plan), secret)


@dataclass(frozen=True, slots=True)
class SetSecret:
    """Another secret for a user; one that is not given is made."""

    user: str
    secret: Secret | None = field(default=None, repr=False)

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:CreateUser", user_arn(self.user)),)


async def set_secret(room: Room, call: SetSecret) -> MadeUser:
    """Give a user another secret; its sessions end."""
    secret = call.secret or new_secret()
    user = await room.directory.change(lambda view: users.set_user_secret(view, call.user, secret))
    return MadeUser(user, secret)


@dataclass(frozen=True, slots=True)
class UserPolicy:
    """A policy and the user that shall have it, or not."""

    user: str
    policy: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed, of the user and of the policy."""
        return attach_needs(user_arn(self.user), (self.policy,))


async def attach_policy(room: Room, call: UserPolicy) -> User:
    """Attach a policy to a user."""
    return await _with_policy(room, call, users.attach_user_policies)


async def detach_policy(room: Room, call: UserPolicy) -> User:
    """Detach a policy from a user."""
    return await _with_policy(room, call, users.detach_user_policies)


async def _with_policy(
    room: Room, call: UserPolicy, change: Callable[[View, str, tuple[str, ...]], Plan[User]]
) -> User:
    return await room.directory.change(lambda view: change(view, call.user, (call.policy,)))


def attach_needs(holder: str, policies: tuple[str, ...]) -> tuple[Need, ...]:
    """Say what is needed to give policies to a holder, or to take them: the right over both."""
    if not policies:
        return ()
    return (Need(ATTACH, holder), *(Need(ATTACH, policy_arn(policy)) for policy in policies))
