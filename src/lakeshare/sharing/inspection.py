"""Looking at a table by opening it, as a recipient's first question would."""

from lakeshare.formats.delta.changes import feed_enabled
from lakeshare.formats.delta.errors import DeltaError
from lakeshare.formats.delta.paths import LOG_FOLDER
from lakeshare.formats.delta.protocol import features_of_data
from lakeshare.sharing.errors import NoTableThere, TableBroken, TableUnreadable
from lakeshare.sharing.inspector import LogNames, delta_place
from lakeshare.sharing.model.places import Place
from lakeshare.sharing.model.report import TableReport
from lakeshare.sharing.tables import Tables


class OpenedTables(LogNames):
    """An inspector that opens tables, and so knows their features, their files and whether they can be read at all."""

    def __init__(self, tables: Tables) -> None:
        super().__init__(tables)
        self._tables = tables

    async def inspect(self, place: Place) -> TableReport:
        """Open the newest version. Raises NoTableThere, TableUnreadable, IcebergNotShared, SourceUnreachable."""
        here = delta_place(place)
        if not await self.is_table(here):
            raise NoTableThere(place, f"{LOG_FOLDER} holds nothing, or the bucket is not there")
        try:
            snapshot = await self._tables.of(here).open(here)
        except (TableBroken, DeltaError) as reason:
            raise TableUnreadable(place, reason.message) from None
        protocol, metadata = snapshot.state.protocol, snapshot.state.metadata
        return TableReport(
            version=snapshot.version,
            min_reader_version=protocol.min_reader_version,
            features=tuple(sorted(features_of_data(protocol))),
            files=snapshot.files.num_files,
            size_bytes=snapshot.files.size_bytes,
            rows=await self._tables.of(here).heavy(lambda: snapshot.files.num_records),
            changes_recorded=feed_enabled(metadata),
        )
