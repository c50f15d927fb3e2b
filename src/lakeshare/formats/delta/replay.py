"""Replay as a pure fold, for logs that are small; the vectorised one over columns must agree with it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lakeshare.formats.delta.actions import (
    Action,
    AddFile,
    CommitInfo,
    DomainMetadata,
    FileAction,
    FileKey,
    Metadata,
    Protocol,
    RemoveFile,
    Transaction,
)


def live_files(newest_first: Iterable[FileAction]) -> Iterator[AddFile]:
    """Yield each file the table holds, once."""
    settled: set[FileKey] = set()
    for action in newest_first:
        if action.key in settled:
            continue
        settled.add(action.key)
        match action:
            case AddFile():
                yield action
            case RemoveFile():
                pass


@dataclass(slots=True)
class State:
    """The state of a table as actions fold into it, oldest first."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    files: dict[FileKey, AddFile] = field(default_factory=dict)
    transactions: dict[str, Transaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    commit: CommitInfo | None = None

    def apply(self, action: Action) -> None:
        """Fold one action in (PROTOCOL, Action Reconciliation): the newest of each key wins."""
        match action:
            case AddFile():
                self.files[action.key] = action
            case RemoveFile():
                self.files.pop(action.key, None)
            case Protocol():
                self.protocol = action
            case Metadata():
                self.metadata = action
            case Transaction():
                self.transactions[action.app_id] = action
            case DomainMetadata():
                self._settle(action)
            case CommitInfo():
                self.commit = action
            case _:
                pass

    def _settle(self, action: DomainMetadata) -> None:
        if action.removed:
            self.domains.pop(action.domain, None)
        else:
            self.domains[action.domain] = action


def fold(oldest_first: Iterable[Action]) -> State:
    """Fold a whole log into the state it leaves."""
    state = State()
    for action in oldest_first:
        state.apply(action)
    return state
