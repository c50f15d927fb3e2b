"""Service accounts: access keys with their parent's rights, live, within a policy of their own if they have one.

A key never makes a wider one. A key made by a service account hangs below it, so that its policies bind the new key
and its end is the new key's end. Whoever is limited has power over the keys below itself, and over no others; a
session makes keys that end with it, and changes none. That the caller may do any of this at all is asked first, as of
every request (`requires`). Each function plans a change (`Directory.change`).
"""

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from lakeshare.identity.arns import user_arn
from lakeshare.identity.caller import Caller, CallerKind, Need
from lakeshare.identity.directory_errors import Escalation, NameTaken, NoSuchAccessKey, NoSuchUser, TooMany
from lakeshare.identity.names import (
    ACCOUNT_PREFIX,
    check_secret,
    check_text,
    check_user,
    new_access_key,
    new_secret,
    new_uid,
)
from lakeshare.identity.policy.parse import parse_policy
from lakeshare.identity.records import ACCOUNTS, ROOT, ServiceAccount, place_of_account
from lakeshare.identity.register import MAX_LINE, Standing, earliest
from lakeshare.identity.view import View
from lakeshare.settings import Secret
from lakeshare.state.epoch import Plan

T = TypeVar("T")
MAX_ACCOUNTS_OF_USER = 500


@dataclass(frozen=True, slots=True)
class NewAccount:
    """A service account to make; what is not given is made at random. `user` is whose it shall be, the caller's own."""

    user: str = ""
    access_key: str = ""
    secret: Secret | None = None
    policy: str | None = None
    expires_at: int | None = None
    name: str = ""
    description: str = ""

    def requires(self, caller: Caller) -> tuple[Need, ...]:
        """Say what is needed to make it."""
        return (Need("admin:CreateServiceAccount", user_arn(self.user or caller.user)),)


@dataclass(frozen=True, slots=True)
class MadeAccount:
    """A service account and its secret, which is told this once."""

    account: ServiceAccount
    secret: Secret = field(repr=False)


class Keep(Enum):
    """Stands for what an update leaves as it is."""

    KEEP = "keep"


@dataclass(frozen=True, slots=True)
class AccountUpdate:
    """What to change of a service account."""

    policy: str | Keep | None = Keep.KEEP
    secret: Secret | Keep = Keep.KEEP
    enabled: bool | Keep = Keep.KEEP
    expires_at: int | Keep | None = Keep.KEEP
    name: str | Keep = Keep.KEEP
    description: str | Keep = Keep.KEEP


def requires(action: str, view: View, access_key: str) -> tuple[Need, ...]:
    """Say what is needed to see, change or remove a service account. Raises NoSuchAccessKey."""
    return (Need(action, user_arn(view.name_of(existing(view, access_key).user))),)


def create_account(view: View, caller: Caller, new: NewAccount, now: float) -> Plan[MadeAccount]:
    """Make a service account. Raises Escalation, NoSuchUser, BadName, NameTaken, TooMany and policy errors."""
    parent, limits = _parent(view, caller, new)
    standing = view.register.standing(parent)
    if standing is None or standing.flaw:
        raise NoSuchUser(new.user or caller.user)
    if len(standing.line) >= MAX_LINE:
        raise TooMany("access keys above this one", MAX_LINE)
    _check_room(view, standing)
    account, secret = _make(view, new, now)
    account = replace(
        account,
        user=standing.user,
        parent=parent,
        parent_uid=standing.uid,
        limits=limits,
        expires_at=earliest(new.expires_at, caller.expires_at if caller.kind is CallerKind.SESSION else None),
        created_by=caller.name,
    )
    return Plan((ACCOUNTS.put(account, account.access_key),), MadeAccount(account, secret))


def update_account(view: View, caller: Caller, access_key: str, update: AccountUpdate) -> Plan[ServiceAccount]:
    """Change a service account; a new secret or policy ends its sessions. Raises as `create_account` does."""
    account = existing(view, access_key)
    if caller.kind is CallerKind.SESSION:
        raise Escalation("a session cannot change access keys, which last longer than it: sign with a lasting key")
    _check_power(view, caller, account, itself=False)
    changed = _updated(view, account, update)
    return Plan((ACCOUNTS.put(changed, access_key),), changed)


def remove_account(view: View, caller: Caller, access_key: str) -> Plan[tuple[str, ...]]:
    """Remove a service account and those below it; the answer names them."""
    account = existing(view, access_key)
    _check_power(view, caller, account, itself=True)
    gone = [each.access_key for each in view.register.accounts(account.user) if access_key in _line(view, each)]
    return Plan(tuple(ACCOUNTS.delete(each) for each in gone), tuple(gone))


def existing(view: View, access_key: str) -> ServiceAccount:
    """Return a service account. Raises NoSuchAccessKey."""
    account = view.register.account(access_key)
    if account is None:
        raise NoSuchAccessKey(access_key)
    return account


def _parent(view: View, caller: Caller, new: NewAccount) -> tuple[str, tuple[str, ...]]:
    """Choose whom a new key hangs below, and the policies that it takes from its maker besides."""
    if caller.is_anonymous:
        raise Escalation("nobody signed the request")
    target = view.user_named(new.user or caller.user)
    if target == view.user_named(caller.user):
        return caller.holder or target, caller.session_policies
    if target == ROOT and not caller.is_unbound:
        raise Escalation("only root makes access keys for root")
    if view.register.user(target) is None:
        raise NoSuchUser(new.user)
    return target, caller.limit_texts


def _check_power(view: View, caller: Caller, account: ServiceAccount, *, itself: bool) -> None:
    if account.user == ROOT and not (caller.of_root or caller.kind is CallerKind.ROOT):
        raise Escalation("only root changes the access keys of root")
    if not caller.limits:
        return
    line = _line(view, account)
    below = caller.holder in line and (itself or caller.holder != account.access_key)
    if not below or caller.session_policies:
        raise Escalation("a limited access key has power over the keys that it made, and no others")


def _line(view: View, account: ServiceAccount) -> tuple[str, ...]:
    standing = view.register.standing(account.access_key)
    return standing.line if standing is not None and standing.line else (account.access_key,)


def _check_room(view: View, standing: Standing) -> None:
    if sum(1 for _ in view.register.accounts(standing.user)) >= MAX_ACCOUNTS_OF_USER:
        raise TooMany(f"access keys of {view.name_of(standing.user)}", MAX_ACCOUNTS_OF_USER)


def _make(view: View, new: NewAccount, now: float) -> tuple[ServiceAccount, Secret]:
    access_key = check_user(new.access_key or new_access_key(ACCOUNT_PREFIX))
    if access_key == view.root.access_key or view.register.is_taken(access_key):
        raise NameTaken(access_key)
    if new.policy is not None:
        parse_policy(new.policy)
    secret, uid = check_secret(new.secret or new_secret()), new_uid()
    account = ServiceAccount(
        access_key,
        uid,
        user="",
        parent="",
        parent_uid="",
        sealed_secret=view.vault.seal(secret.reveal().encode(), place_of_account(access_key, uid)),
        policy=new.policy,
        name=check_text("name", new.name),
        description=check_text("description", new.description),
        created_at=int(now),
    )
    return account, secret


def _updated(view: View, account: ServiceAccount, update: AccountUpdate) -> ServiceAccount:
    if isinstance(update.policy, str):
        parse_policy(update.policy)
    sealed = account.sealed_secret
    if not isinstance(update.secret, Keep):
        place = place_of_account(account.access_key, account.uid)
        sealed = view.vault.seal(check_secret(update.secret).reveal().encode(), place)
    ends_sessions = not (isinstance(update.policy, Keep) and isinstance(update.secret, Keep))
    return replace(
        account,
        policy=_chosen(update.policy, account.policy),
        sealed_secret=sealed,
        enabled=_chosen(update.enabled, account.enabled),
        expires_at=_chosen(update.expires_at, account.expires_at),
        name=check_text("name", _chosen(update.name, account.name)),
        description=check_text("description", _chosen(update.description, account.description)),
        session_epoch=account.session_epoch + ends_sessions,
    )


def _chosen(given: T | Keep, held: T) -> T:
    return held if isinstance(given, Keep) else given
