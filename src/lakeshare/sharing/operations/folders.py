"""Credentials to read the folder of a table, for clients that read it themselves."""

from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.sharing.errors import HistoryNotShared, InvalidParameter, UnsupportedTable
from lakeshare.sharing.folder_keys import FolderKey, issue_folder_key
from lakeshare.sharing.model.asking import TableName
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.operations.opening import found_at
from lakeshare.sharing.room import Room
from lakeshare.sharing.view import Access, View

LIFETIME_SECONDS = 3_600
_SCHEMES = ("s3://", "s3a://", "s3n://")


@dataclass(frozen=True, slots=True)
class GetFolderKey:
    """A key for a table's folder; `location` may name it, or a folder in it."""

    name: TableName
    location: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return self.name.needs("sharing:GetTableCredentials")


async def get_folder_key(room: Room, view: View, access: Access, asked: GetFolderKey) -> tuple[DeltaPlace, FolderKey]:
    """Make a key. Whoever reads the folder reads all of its history, so that all of it must be shared.

    Raises NoSuchResource, HistoryNotShared, InvalidParameter.
    """
    located, place = await found_at(room, access, asked.name)
    if place.source:
        raise UnsupportedTable("credentials for a folder are given for tables that lie in this server: query this one")
    if not located.table.history or located.table.start_version:
        raise HistoryNotShared(located.full_name)
    if asked.location and not _is_within(asked.location, place):
        raise InvalidParameter(f"the location must be s3://{place.bucket}/{place.path}, or lie in it")
    end = int(room.clock()) + LIFETIME_SECONDS
    if access.credential.expires_at is not None:
        end = min(end, access.credential.expires_at)
    return place, issue_folder_key(view, access.credential, located, place, end)


def _is_within(location: str, place: DeltaPlace) -> bool:
    for scheme in _SCHEMES:
        if location.startswith(scheme):
            inside = location[len(scheme) :].rstrip("/") + "/"
            return inside.startswith(f"{place.bucket}/{place.prefix}") and ".." not in inside.split("/")
    return False
