"""What can be wrong with Iceberg metadata, or with a change that is asked of it.

The four say how a caller goes on: mend the request, use another feature, load the table again, or simply repeat.
"""

from lakeshare.errors import Kind, LakeshareError

MAX_MESSAGE = 4_000
"""How long an error may be: it repeats names that a request chose."""


class IcebergError(LakeshareError):
    """The root of what Iceberg metadata refuses."""

    def __init__(self, message: str) -> None:
        super().__init__(message[:MAX_MESSAGE])


class InvalidMetadata(IcebergError):
    """The document, or what a change would make of it, breaks the specification."""

    kind = Kind.INVALID


class Unsupported(IcebergError):
    """It may be right, but needs something that is not known here."""

    kind = Kind.UNSUPPORTED


class RequirementFailed(IcebergError):
    """The table is not what the commit was made for: load it again, and commit on top of what it is now."""

    kind = Kind.CONFLICT

    def __init__(self, reason: str) -> None:
        super().__init__(f"Requirement failed: {reason}")
        self.reason = reason


class Stale(IcebergError):
    """The snapshot was numbered for an older table: refresh the numbers and commit again."""

    kind = Kind.CONFLICT

    def __init__(self, reason: str) -> None:
        super().__init__(f"Validation failed, please retry: {reason}")
        self.reason = reason
