"""All identities at one moment, and the standing of each: whose rights a key has, and within which limits. No I/O."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from lakeshare.identity.policy.builtin import BUILT_IN, own_account
from lakeshare.identity.policy.compiled import NO_POLICY, CompiledPolicy, closed, compile_stored, union
from lakeshare.identity.records import (
    ACCOUNTS,
    EPOCH,
    GROUPS,
    POLICIES,
    ROOT,
    ROOTS,
    SESSION_KEYS,
    USERS,
    Group,
    NamedPolicy,
    RootRecord,
    ServiceAccount,
    SessionKeys,
    User,
)
from lakeshare.state.keys import Key
from lakeshare.state.keyspace import Keyspace
from lakeshare.state.port import Absent, At, Record

T = TypeVar("T")
MAX_LINE = 4  # service accounts between a key and its user
ROOT_UID = "root"


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands behind a long-lived key. `flaw` says why the key does not count now, and is empty if it does.

    `owner` is the user as what it makes remembers it, `NAME:UID`: a later user of the same name is another.
    """

    user: str
    uid: str
    of_root: bool = False
    groups: tuple[str, ...] = ()
    grants: CompiledPolicy = field(default=NO_POLICY, repr=False)
    limit_texts: tuple[str, ...] = field(default=(), repr=False)
    line: tuple[str, ...] = ()
    session_epoch: str = ""
    expires_at: int | None = None
    flaw: str = ""
    owner: str = ""


class Register:
    """Identities, decoded as they are asked for."""

    __slots__ = ("_decoded", "_epoch", "_records", "_standings")

    def __init__(self, records: Mapping[Key, Record], epoch: Record | None) -> None:
        self._records = records
        self._epoch = epoch
        self._decoded: dict[Key, object] = {}
        self._standings: dict[str, Standing] = {}

    @property
    def unchanged(self) -> At | Absent:
        """Expect that no identity has changed since."""
        return EPOCH.unchanged(self._epoch)

    def user(self, name: str) -> User | None:
        """Return a user."""
        return self._one(USERS, name)

    def group(self, name: str) -> Group | None:
        """Return a group."""
        return self._one(GROUPS, name)

    def policy(self, name: str) -> NamedPolicy | None:
        """Return a policy, built in or not."""
        if name in BUILT_IN:
            return NamedPolicy(name, BUILT_IN[name])
        return self._one(POLICIES, name)

    def account(self, access_key: str) -> ServiceAccount | None:
        """Return a service account."""
        return self._one(ACCOUNTS, access_key)

    def users(self) -> Iterator[User]:
        """Yield users by name."""
        return self._all(USERS)

    def groups(self) -> Iterator[Group]:
        """Yield groups by name."""
        return self._all(GROUPS)

    def policies(self) -> Iterator[NamedPolicy]:
        """Yield policies, the built-in ones first."""
        yield from (NamedPolicy(name, text) for name, text in BUILT_IN.items())
        yield from self._all(POLICIES)

    def accounts(self, user: str | None = None) -> Iterator[ServiceAccount]:
        """Yield service accounts by access key, of one user or all."""
        return (each for each in self._all(ACCOUNTS) if user is None or each.user == user)

    def root(self) -> RootRecord:
        """Return what is kept of root."""
        return self._one(ROOTS, "root") or RootRecord()

    def session_keys(self) -> SessionKeys | None:
        """Return the sealed keys of session tokens."""
        return self._one(SESSION_KEYS, "keys")

    def count(self, space: Keyspace[T]) -> int:
        """Count users, groups, policies or service accounts without reading them."""
        return sum(1 for key in self._records if key[: len(space.prefix)] == space.prefix)

    def is_taken(self, name: str) -> bool:
        """Whether a user or a service account has this name."""
        return self.user(name) is not None or self.account(name) is not None

    def standing(self, name: str) -> Standing | None:
        """Return what stands behind a user, a service account or root (`:root`); None where there is no such key."""
        found = self._standings.get(name)
        if found is None and (found := self._reckon(name)) is not None:
            self._standings[name] = found
        return found

    def _reckon(self, name: str, depth: int = 0) -> Standing | None:
        if name == ROOT:
            return Standing(ROOT, ROOT_UID, of_root=True, session_epoch=str(self.root().session_epoch))
        if (user := self.user(name)) is not None:
            return self._of_user(user)
        if (account := self.account(name)) is not None:
            return self._of_account(account, depth)
        return None

    def _of_user(self, user: User) -> Standing:
        groups = [group for name in user.groups if (group := self.group(name)) is not None and group.enabled]
        names = dict.fromkeys([*user.policies, *(policy for group in groups for policy in group.policies)])
        return Standing(
            user=user.name,
            uid=user.uid,
            groups=tuple(group.name for group in groups),
            grants=union([*(self._compiled(name) for name in names), own_account()]),
            session_epoch=str(user.session_epoch),
            flaw="" if user.enabled else "the user is disabled",
            owner=f"{user.name}:{user.uid}",
        )

    def _of_account(self, account: ServiceAccount, depth: int) -> Standing:
        parent = self._reckon(account.parent, depth + 1) if depth < MAX_LINE else None
        if parent is None or parent.uid != account.parent_uid:
            return Standing(account.user, account.uid, flaw="the identity that the key belonged to is gone")
        own = () if account.policy is None else (account.policy,)
        return Standing(
            user=parent.user,
            uid=account.uid,
            of_root=parent.of_root,
            groups=parent.groups,
            grants=parent.grants,
            limit_texts=(*parent.limit_texts, *account.limits, *own),
            line=(*parent.line, account.access_key),
            session_epoch=f"{parent.session_epoch}.{account.session_epoch}",
            expires_at=earliest(parent.expires_at, account.expires_at),
            flaw=parent.flaw or ("" if account.enabled else "the access key is disabled"),
            owner=parent.owner,
        )

    def _compiled(self, name: str) -> CompiledPolicy:
        policy = self.policy(name)
        return closed(name) if policy is None else compile_stored(policy.text, name)

    def _one(self, space: Keyspace[T], name: str) -> T | None:
        key = space.key(name)
        record = self._records.get(key)
        return None if record is None else self._read(space, key, record)

    def _all(self, space: Keyspace[T]) -> Iterator[T]:
        depth = len(space.prefix)
        keys = sorted(key for key in self._records if key[:depth] == space.prefix)
        return (self._read(space, key, self._records[key]) for key in keys)

    def _read(self, space: Keyspace[T], key: Key, record: Record) -> T:
        found = self._decoded.get(key)
        if not isinstance(found, space.kind):
            found = self._decoded[key] = space.read(record).value
        return found


def earliest(*moments: int | None) -> int | None:
    """Return the first of moments, of which some may be never."""
    given = [moment for moment in moments if moment is not None]
    return min(given) if given else None
