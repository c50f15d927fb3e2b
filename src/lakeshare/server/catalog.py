"""The Iceberg catalog in the server: what a worker keeps of it, and its room by the settings of the moment."""

import time
from dataclasses import dataclass

from lakeshare.identity.directory import Directory
from lakeshare.identity.throttle import Throttle
from lakeshare.settings import Settings
from lakeshare.state.port import State
from lakeshare.storage.port import ObjectStore
from lakeshare.tables.catalog import Catalog
from lakeshare.tables.files import MetadataFiles
from lakeshare.tables.room import Room
from lakeshare.tables.territory import CatalogTerritory
from lakeshare.tables.vendor import Vendor

LABEL = "iceberg"
"""The label of the catalog's family."""


@dataclass(frozen=True, slots=True)
class OpenedCatalog:
    """What one worker keeps of the catalog for as long as it lives."""

    catalog: Catalog
    files: MetadataFiles
    vendor: Vendor
    territory: CatalogTerritory

    @classmethod
    def of(cls, state: State, store: ObjectStore, directory: Directory) -> "OpenedCatalog":
        """Begin with nothing remembered."""
        catalog = Catalog(state)
        return cls(catalog, MetadataFiles(store), Vendor(directory, time.time), CatalogTerritory(state, catalog))

    def room(self, store: ObjectStore, directory: Directory, throttle: Throttle, settings: Settings) -> Room:
        """Put the catalog's room together."""
        return Room(
            self.catalog.state,
            store,
            self.catalog,
            self.files,
            self.vendor,
            directory,
            throttle,
            time.time,
            region=settings.region,
            endpoint=settings.iceberg_endpoint,
            token_seconds=settings.iceberg_oauth_expiry,
        )
