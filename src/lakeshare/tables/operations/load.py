"""Questions about one table or view: whether it is there, and what it is."""

from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.tables.model.targets import Target


class LoadTable:
    """A table's metadata, with all snapshots or with those that branches and tags refer to.

    It is asked often, and remembered with what it needs; `told` is room for the ETag of its last answer without
    credentials, behind what the answer said of the way to S3.
    """

    __slots__ = ("_needs", "mode", "target", "told")

    def __init__(self, target: Target, mode: str) -> None:
        self.target = target
        self.mode = mode
        self.told = ("", "")
        self._needs = (target.need("GetTable"),)

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self._needs


@dataclass(frozen=True, slots=True)
class EntryCall:
    """Any question about one table or view; `action` is what it needs."""

    target: Target
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need(self.action),)
