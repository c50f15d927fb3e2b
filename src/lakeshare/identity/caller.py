"""Who is asking, and what a request needs: the values that authentication makes and authorisation reads."""

from dataclasses import dataclass, field
from enum import Enum


class CallerKind(Enum):
    """What sort of identity stands behind a request."""

    ANONYMOUS = "anonymous"
    ROOT = "root"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated identity, or nobody. `name` is the access key that signed."""

    kind: CallerKind
    name: str = ""


ANONYMOUS = Caller(CallerKind.ANONYMOUS)


@dataclass(frozen=True, slots=True)
class Need:
    """One permission a request needs: an action on a resource, with the facts that policy conditions may ask for."""

    action: str
    resource: str
    facts: tuple[tuple[str, str], ...] = field(default=())
