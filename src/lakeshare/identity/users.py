"""Users: made, enabled and disabled, given policies, removed. Each function plans a change (`Directory.change`)."""

from dataclasses import replace

from lakeshare.identity.directory_errors import NameTaken, NoSuchPolicy, NoSuchUser, TooMany
from lakeshare.identity.names import check_secret, check_user, new_uid
from lakeshare.identity.records import ACCOUNTS, ROOT, ROOTS, USERS, RootRecord, User, place_of_user
from lakeshare.identity.view import View
from lakeshare.settings import Secret
from lakeshare.state.epoch import Plan

MAX_USERS = 100_000
MAX_POLICIES = 32  # attached to one user or group


def create_user(view: View, name: str, secret: Secret, now: float) -> Plan[User]:
    """Make a user without any policy. Raises BadName, NameTaken, TooMany."""
    check_user(name)
    check_secret(secret)
    if name == view.root.access_key or view.register.is_taken(name):
        raise NameTaken(name)
    if view.register.count(USERS) >= MAX_USERS:
        raise TooMany("users", MAX_USERS)
    uid = new_uid()
    sealed = view.vault.seal(secret.reveal().encode(), place_of_user(name, uid))
    return put(User(name, uid, sealed, created_at=int(now)))


def set_user_secret(view: View, name: str, secret: Secret) -> Plan[User]:
    """Give a user another secret; what it signed before no longer holds, and its sessions end."""
    user = existing(view, name)
    check_secret(secret)
    sealed = view.vault.seal(secret.reveal().encode(), place_of_user(name, user.uid))
    return put(replace(user, sealed_secret=sealed, session_epoch=user.session_epoch + 1))


def set_user_enabled(view: View, name: str, *, enabled: bool) -> Plan[User]:
    """Let a user in or keep it out, with all its access keys and sessions."""
    return put(replace(existing(view, name), enabled=enabled))


def delete_user(view: View, name: str) -> Plan[None]:
    """Remove a user with its access keys; a later user of the same name has nothing of it."""
    existing(view, name)
    accounts = [ACCOUNTS.delete(account.access_key) for account in view.register.accounts(name)]
    return Plan((USERS.delete(name), *accounts), None)


def attach_user_policies(view: View, name: str, policies: tuple[str, ...]) -> Plan[User]:
    """Add policies to those of a user."""
    user = existing(view, name)
    return put(replace(user, policies=joined(view, user.policies, policies)))


def detach_user_policies(view: View, name: str, policies: tuple[str, ...]) -> Plan[User]:
    """Take policies from a user; one that it does not have is no error."""
    user = existing(view, name)
    return put(replace(user, policies=tuple(each for each in user.policies if each not in policies)))


def revoke_sessions(view: View, name: str) -> Plan[None]:
    """End every session of a user, those of its access keys too; root goes by its access key."""
    if view.user_named(name) == ROOT:
        epoch = view.register.root().session_epoch + 1
        return Plan((ROOTS.put(RootRecord(epoch), "root"),), None)
    user = existing(view, name)
    return Plan(put(replace(user, session_epoch=user.session_epoch + 1)).changes, None)


def existing(view: View, name: str) -> User:
    """Return a user. Raises NoSuchUser."""
    user = view.register.user(name)
    if user is None:
        raise NoSuchUser(name)
    return user


def joined(view: View, held: tuple[str, ...], further: tuple[str, ...]) -> tuple[str, ...]:
    """Join names of policies, all of which must exist. Raises NoSuchPolicy, TooMany."""
    for name in further:
        if view.register.policy(name) is None:
            raise NoSuchPolicy(name)
    found = tuple(dict.fromkeys((*held, *further)))
    if len(found) > MAX_POLICIES:
        raise TooMany("policies", MAX_POLICIES)
    return found


def put(user: User) -> Plan[User]:
    """Plan to store a user."""
    return Plan((USERS.put(user, user.name),), user)
