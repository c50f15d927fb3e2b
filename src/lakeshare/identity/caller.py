"""Who is asking, and what a request needs: the values that authentication makes and authorisation reads."""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from lakeshare.identity.policy.compiled import NO_POLICY, CompiledPolicy
from lakeshare.identity.policy.principals import ROOT, session_name


class CallerKind(Enum):
    """What sort of identity stands behind a request."""

    ANONYMOUS = "anonymous"
    ROOT = "root"
    USER = "user"
    SERVICE_ACCOUNT = "service account"
    SESSION = "session"
    RECIPIENT = "recipient"


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated identity, or nobody. `name` is the access key that signed.

    `user` is the user whose rights the key has, and `grants` are that user's policies; `limits` are the policies of
    the service accounts and sessions between the user and the key, each of which must allow as well. `of_root` says
    that the rights are root's. `holder` is the long-lived key behind a session, elsewhere the key itself (`:root` for
    root); `session_policies` are the part of the limits that a session brought. `owner` is how what the user makes
    remembers it, `NAME:UID`; empty for root and nobody.
    """

    kind: CallerKind
    name: str = ""
    user: str = ""
    of_root: bool = False
    owner: str = ""
    groups: tuple[str, ...] = ()
    grants: CompiledPolicy = field(default=NO_POLICY, compare=False)
    limits: tuple[CompiledPolicy, ...] = field(default=(), compare=False)
    limit_texts: tuple[str, ...] = field(default=(), repr=False)
    holder: str = ""
    session_policies: tuple[str, ...] = field(default=(), repr=False)
    session: str = ""
    issued_at: int = 0
    expires_at: int | None = None

    @property
    def is_anonymous(self) -> bool:
        """Whether nobody signed."""
        return self.kind is CallerKind.ANONYMOUS

    @property
    def is_unbound(self) -> bool:
        """Whether this is root itself, or a key of root's that nothing limits: policies do not bind it."""
        return (self.kind is CallerKind.ROOT or self.of_root) and not self.limits

    @property
    def principals(self) -> frozenset[str]:
        """The names by which a bucket policy may call this caller."""
        if self.is_anonymous:
            return frozenset()
        names = {self.name, self.user} - {""}
        if self.kind is CallerKind.ROOT or self.of_root:
            names.add(ROOT)
        if self.session:
            names.add(session_name(self.user, self.session))
        return frozenset(names)


ANONYMOUS = Caller(CallerKind.ANONYMOUS)


class Need(NamedTuple):
    """One permission a request needs: an action on a resource, with the facts that policy conditions may ask for."""

    action: str
    resource: str
    facts: tuple[tuple[str, str], ...] = ()
