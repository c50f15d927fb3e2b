"""What can go wrong with state, whichever implementation keeps it."""

from collections.abc import Sequence

from lakeshare.errors import Kind, LakeshareError


class StateError(LakeshareError):
    """The root of what state refuses."""


class BadKey(StateError):
    """A key that cannot be one."""

    kind = Kind.INVALID

    def __init__(self, key: object, reason: str) -> None:
        super().__init__(f"{key!r:.200} cannot be a key: {reason}")


class BadTransaction(StateError):
    """A transaction or a question that breaks a rule of the port."""

    kind = Kind.INVALID


class OverLimit(StateError):
    """Something is larger than state takes."""

    kind = Kind.TOO_LARGE

    def __init__(self, what: str, found: int, limit: int) -> None:
        super().__init__(f"{what}: {found} is over the limit of {limit}")
        self.limit = limit


class ReceiptReused(StateError):
    """A receipt's key was used before for another request."""

    kind = Kind.CONFLICT

    def __init__(self, owner: str, key: str) -> None:
        super().__init__(f"the idempotency key {key!r} was used before for another request: choose a new one")
        self.owner = owner
        self.key = key


class Contended(StateError):
    """Others kept changing the same facts; nothing was changed."""

    kind = Kind.CONFLICT

    def __init__(self, attempts: int, failed: Sequence[object]) -> None:
        super().__init__(f"others changed the same facts {attempts} times meanwhile: try again")
        self.failed = tuple(failed)


class CorruptValue(StateError):
    """A stored value cannot be read as what it should be."""

    def __init__(self, key: object, reason: str) -> None:
        super().__init__(f"the value of {key!r:.200} cannot be read: {reason}")


class NotEmpty(StateError):
    """An import would overwrite facts."""

    kind = Kind.CONFLICT

    def __init__(self) -> None:
        super().__init__("the state is not empty: import into a new one, or ask to replace it")


class BadExport(StateError):
    """An export that was cut, changed or made by something else."""

    kind = Kind.INVALID

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line} of the export: {reason}")
        self.line = line


class StateUnusable(StateError):
    """The state cannot be opened as it is."""

    kind = Kind.UNSUPPORTED


class StateFull(StateError):
    """No space is left; nothing was changed."""

    kind = Kind.FULL


class StateUnavailable(StateError):
    """State does not answer now; nothing was changed."""

    kind = Kind.UNAVAILABLE


class StateFailed(StateError):
    """State failed; nothing was changed."""


class StateUnknown(StateError):
    """A commit was sent and no answer came: it may have been applied, or not. A receipt makes it safe to repeat."""
