"""A Delta table at one version, opened: what it is, and its live files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import orjson

from lakeshare.columnar.bounds import TableShape
from lakeshare.columnar.fileset import FileSet
from lakeshare.columnar.source import Entry
from lakeshare.formats.delta.actions import CommitInfo, DomainMetadata, Metadata, Protocol, Transaction
from lakeshare.formats.delta.decoding import decode_action
from lakeshare.formats.delta.errors import BrokenLog, UnsupportedTable
from lakeshare.formats.delta.protocol import check_consistent, check_readable
from lakeshare.formats.delta.schema import Struct, parse_schema
from lakeshare.formats.delta.segment import digest_of


@dataclass(frozen=True, slots=True)
class TableState:
    """What a version says besides its files."""

    protocol: Protocol
    metadata: Metadata
    transactions: Mapping[str, Transaction] = field(default_factory=dict)
    domains: Mapping[str, DomainMetadata] = field(default_factory=dict)
    commit: CommitInfo | None = None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Snapshot:
    """A table at one version.

    `lineage` holds the ETag of every log file that it was made of, `since` the version of the oldest of them.
    """

    version: int
    state: TableState
    shape: TableShape
    files: FileSet
    lineage: Mapping[str, str]
    since: int

    @property
    def key(self) -> tuple[str, int, str]:
        """Tell this snapshot from any other, also of a table that was deleted and made again at its path."""
        entries = (Entry(name, 0, self.lineage[name], 0) for name in sorted(self.lineage))
        return self.state.metadata.id, self.version, digest_of(entries)

    @property
    def memory_bytes(self) -> int:
        """Return how much memory the snapshot holds."""
        return self.files.memory_bytes

    def schema(self) -> Struct:
        """Parse the table's schema."""
        return parse_schema(self.state.metadata.schema_string)


def settled(lines: Iterable[bytes], before: TableState | None = None) -> TableState:
    """Let the newest of each action win, over lines that are given oldest first. Raises BrokenLog, UnsupportedTable.

    A metadata or protocol that a newer one replaces is never looked into.
    """
    newest: dict[str, object] = {}
    transactions = {} if before is None else dict(before.transactions)
    domains = {} if before is None else dict(before.domains)
    for line in lines:
        whole = orjson.loads(line)
        name = next((key for key, value in whole.items() if value is not None), "")
        if name in {"metaData", "protocol", "commitInfo"}:
            newest[name] = whole[name]
            continue
        match decode_action(whole):
            case Transaction() as transaction:
                transactions[transaction.app_id] = transaction
            case DomainMetadata() as domain:
                domains[domain.domain] = domain
            case _:
                pass
    live = {name: domain for name, domain in domains.items() if not domain.removed}
    return _checked(newest, before, transactions, live)


def _checked(
    newest: Mapping[str, object],
    before: TableState | None,
    transactions: Mapping[str, Transaction],
    domains: Mapping[str, DomainMetadata],
) -> TableState:
    found = {name: decode_action({name: fields}) for name, fields in newest.items()}
    protocol = found.get("protocol") or (before and before.protocol)
    if not isinstance(protocol, Protocol):
        raise BrokenLog("the Delta log has no protocol action")
    check_readable(protocol)
    check_consistent(protocol)
    metadata = found.get("metaData") or (before and before.metadata)
    if not isinstance(metadata, Metadata):
        raise BrokenLog("the Delta log has no metaData action")
    if metadata.provider.lower() != "parquet":
        raise UnsupportedTable(f"the table's files are {metadata.provider!r}, and only Parquet is read")
    commit = found.get("commitInfo")
    return TableState(protocol, metadata, transactions, domains, commit if isinstance(commit, CommitInfo) else None)
