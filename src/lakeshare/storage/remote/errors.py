"""What can go wrong with another store."""

from lakeshare.errors import Kind
from lakeshare.storage.errors import StorageError


class RemoteFailed(StorageError):
    """The other store does not answer, refuses our key, or answers what S3 would not.

    The reason names no address: recipients read it too.
    """

    kind = Kind.UNAVAILABLE

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
