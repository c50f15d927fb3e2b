"""Access keys (service accounts) and the caller's own account."""

from dataclasses import dataclass, field

from lakeshare.admin.model.paging import Page, Taken, take
from lakeshare.admin.room import Room
from lakeshare.identity import accounts
from lakeshare.identity.accounts import AccountUpdate, MadeAccount, NewAccount
from lakeshare.identity.arns import user_arn
from lakeshare.identity.caller import Caller, Need
from lakeshare.identity.directory_errors import NoSuchAccessKey, NoSuchUser
from lakeshare.identity.records import ROOT, ServiceAccount
from lakeshare.identity.view import View
from lakeshare.state.epoch import Plan

ANYONE = "*"
"""Stands for the owner of a key that does not exist: only who may see everyone's keys learns that."""


@dataclass(frozen=True, slots=True)
class ShownAccount:
    """A service account, its user and its parent by the names they go by outside."""

    account: ServiceAccount
    user: str
    parent: str


@dataclass(frozen=True, slots=True)
class ListAccessKeys:
    """A page of the access keys of one user, or of all (`*`)."""

    user: str
    page: Page

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:ListServiceAccounts", user_arn(self.user)),)


async def list_access_keys(room: Room, call: ListAccessKeys) -> Taken[ShownAccount]:
    """Return a page of access keys by name. Raises NoSuchUser."""
    view = await room.directory.current()
    user = None if call.user == ANYONE else view.user_named(call.user)
    if user not in {None, ROOT} and view.register.user(user or "") is None:
        raise NoSuchUser(call.user)
    found = take(view.register.accounts(user), lambda account: account.access_key, call.page)
    return Taken(tuple(_shown(view, account) for account in found.items), found.next)


@dataclass(frozen=True, slots=True)
class CreateAccessKey:
    """A new access key, for the caller or whom it names."""

    caller: Caller
    new: NewAccount

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.new.requires(self.caller)


async def create_access_key(room: Room, call: CreateAccessKey) -> tuple[ShownAccount, MadeAccount]:
    """Make an access key."""
    now = room.clock()

    def plan(view: View) -> Plan[tuple[ShownAccount, MadeAccount]]:
        made = accounts.create_account(view, call.caller, call.new, now)
        return Plan(made.changes, (_shown(view, made.answer.account), made.answer))

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class AccessKeyCall:
    """Anything that is asked of one access key, which belongs to `owner`; `action` is what it needs."""

    caller: Caller
    access_key: str
    owner: str
    action: str
    update: AccountUpdate = field(default_factory=AccountUpdate)

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, user_arn(self.owner)),)


def owner_of(view: View, access_key: str) -> str:
    """Name the user that an access key belongs to."""
    account = view.register.account(access_key)
    return ANYONE if account is None else view.name_of(account.user)


async def get_access_key(room: Room, call: AccessKeyCall) -> ShownAccount:
    """Return an access key."""
    view = await room.directory.current()
    return _shown(view, _owned(view, call))


async def update_access_key(room: Room, call: AccessKeyCall) -> ShownAccount:
    """Change an access key."""

    def plan(view: View) -> Plan[ShownAccount]:
        _owned(view, call)
        changed = accounts.update_account(view, call.caller, call.access_key, call.update)
        return Plan(changed.changes, _shown(view, changed.answer))

    return await room.directory.change(plan)


async def remove_access_key(room: Room, call: AccessKeyCall) -> tuple[str, ...]:
    """Remove an access key and those below it; the answer names them."""

    def plan(view: View) -> Plan[tuple[str, ...]]:
        _owned(view, call)
        return accounts.remove_account(view, call.caller, call.access_key)

    return await room.directory.change(plan)


@dataclass(frozen=True, slots=True)
class GetAccount:
    """Who the caller is."""

    caller: Caller

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("admin:GetUser", user_arn(self.caller.user)),)


@dataclass(frozen=True, slots=True)
class Account:
    """The caller, and the policies of its user and of its groups."""

    caller: Caller
    policies: tuple[str, ...]


async def get_account(room: Room, call: GetAccount) -> Account:
    """Return who the caller is."""
    register = (await room.directory.current()).register
    user = register.user(call.caller.user)
    groups = [group for name in call.caller.groups if (group := register.group(name)) is not None]
    held = [*(user.policies if user else ()), *(policy for group in groups for policy in group.policies)]
    return Account(call.caller, tuple(dict.fromkeys(held)))


def _owned(view: View, call: AccessKeyCall) -> ServiceAccount:
    """Return the account, if it is still the one that the caller was allowed."""
    account = accounts.existing(view, call.access_key)
    if view.name_of(account.user) != call.owner:
        raise NoSuchAccessKey(call.access_key)
    return account


def _shown(view: View, account: ServiceAccount) -> ShownAccount:
    return ShownAccount(account, view.name_of(account.user), view.name_of(account.parent))
