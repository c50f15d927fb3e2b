"""Questions about one table or view: whether it is there, and what it is."""

from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.tables.model.targets import Target


@dataclass(frozen=True, slots=True)
class LoadTable:
    """A table's metadata, with all snapshots or with those that branches and tags refer to."""

    target: Target
    mode: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need("GetTable"),)


@dataclass(frozen=True, slots=True)
class EntryCall:
    """Any question about one table or view; `action` is what it needs."""

    target: Target
    action: str

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (self.target.need(self.action),)
