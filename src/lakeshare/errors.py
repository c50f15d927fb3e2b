"""The root of every error Lakeshare raises, and the kinds a dialect maps.

A room names what can go wrong in its protocol's words; each error says its kind, so that any dialect
can answer an error that it has no word of its own for.
"""

from enum import Enum


class Kind(Enum):
    """What sort of failure this is, whatever the protocol."""

    INVALID = "invalid"
    UNAUTHENTICATED = "unauthenticated"
    DENIED = "denied"
    MISSING = "missing"
    CONFLICT = "conflict"
    PRECONDITION = "precondition"
    TOO_LARGE = "too large"
    UNSUPPORTED = "unsupported"
    THROTTLED = "throttled"
    TIMEOUT = "timeout"
    FULL = "full"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


class LakeshareError(Exception):
    """Something that a caller can be told about."""

    kind: Kind = Kind.INTERNAL

    @property
    def message(self) -> str:
        """Say what is wrong and, where there is one, the next step."""
        return str(self)
