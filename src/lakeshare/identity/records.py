"""Identities as they lie in state. Secrets are sealed (`vault.py`); root itself is never stored."""

from dataclasses import dataclass

from lakeshare.state.epoch import Epoch
from lakeshare.state.keyspace import Keyspace

EPOCH = Epoch(("identity",), ("identity", "epoch"))
"""Written by every change of identities, so that each change knows that no other came between."""

ROOT = ":root"
"""Root's name as a parent: its access key is the operator's to change."""


@dataclass(frozen=True, slots=True)
class User:
    """A user; its name is its access key. `uid` tells it from an earlier user of the same name."""

    name: str
    uid: str
    sealed_secret: bytes
    enabled: bool = True
    policies: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    session_epoch: int = 0
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """A group; users say which groups they are in."""

    name: str
    enabled: bool = True
    policies: tuple[str, ...] = ()
    created_at: int = 0


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """A policy under a name, its text as it was given."""

    name: str
    text: str
    created_at: int = 0
    updated_at: int = 0


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """An access key that has its parent's rights, live, within its own policy if it has one.

    The parent is a user, root, or another service account; `user` is the user at the end of that line. `limits` are
    further policies that bind it for good, taken from whoever made it on another's behalf.
    """

    access_key: str
    uid: str
    user: str
    parent: str
    parent_uid: str
    sealed_secret: bytes
    enabled: bool = True
    policy: str | None = None
    limits: tuple[str, ...] = ()
    expires_at: int | None = None
    name: str = ""
    description: str = ""
    session_epoch: int = 0
    created_at: int = 0
    created_by: str = ""


@dataclass(frozen=True, slots=True)
class RootRecord:
    """What is kept of root: how often its sessions were revoked."""

    session_epoch: int = 0


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """The keys of session tokens, sealed, the newest first."""

    sealed_keys: tuple[bytes, ...]
    created_at: int = 0


USERS = Keyspace(("identity", "user"), User)
GROUPS = Keyspace(("identity", "group"), Group)
POLICIES = Keyspace(("identity", "policy"), NamedPolicy)
ACCOUNTS = Keyspace(("identity", "account"), ServiceAccount)
ROOTS = Keyspace(("identity", "root"), RootRecord)
SESSION_KEYS = Keyspace(("identity", "sts"), SessionKeys)


def place_of_user(name: str, uid: str) -> str:
    """Name the place that a user's secret is sealed for."""
    return f"user/{name}/{uid}"


def place_of_account(access_key: str, uid: str) -> str:
    """Name the place that a service account's secret is sealed for."""
    return f"account/{access_key}/{uid}"


PLACE_OF_SESSION_KEYS = "sts"
