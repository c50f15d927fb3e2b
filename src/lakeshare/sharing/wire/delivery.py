"""What answers with files have in common: the URLs, the word that they may go on, and the count of what was read."""

from collections.abc import Awaitable, Callable

from lakeshare.http.request import Request
from lakeshare.sharing.data_keys import data_credentials
from lakeshare.sharing.errors import SourceUnreachable, Unrecognised
from lakeshare.sharing.links import Links, Presigns, own_presigner
from lakeshare.sharing.model.endpoints import choose
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.operations.catalog import Located
from lakeshare.sharing.operations.opening import tables_of
from lakeshare.sharing.remotes import SourcePresigner
from lakeshare.sharing.room import Room
from lakeshare.sharing.usage import Counts, Subject
from lakeshare.sharing.wire.call import Call


def origin_of(request: Request) -> str:
    """Return the server's URL as this request reached it."""
    return f"{request.scheme}://{request.headers.get('host', '')}"


def links_for(room: Room, call: Call, located: Located, place: DeltaPlace) -> Links:
    """Make ready to sign URLs for a table's files. Raises BadEndpoint, Unrecognised, SourceUnreachable."""
    presigner = _elsewhere(room, call, place) if place.source else _here(room, call, located, place)
    return Links(place, tables_of(room, place).files(place).pins, presigner)


def _here(room: Room, call: Call, located: Located, place: DeltaPlace) -> Presigns:
    credentials = data_credentials(call.view, call.access.credential, located.share)
    if credentials is None:
        raise Unrecognised
    endpoint = choose("", room.endpoint, origin_of(call.request)).url
    return own_presigner(credentials, endpoint, place.bucket, room.clock(), room.url_seconds)


def _elsewhere(room: Room, call: Call, place: DeltaPlace) -> Presigns:
    """Sign for another store, which knows nothing of tokens: no longer than the token itself lives."""
    source = call.view.source(place.source)
    if source is None:
        raise SourceUnreachable(place.source, "it was removed")
    now, end = room.clock(), call.access.credential.expires_at
    seconds = room.url_seconds if end is None else max(1, min(room.url_seconds, int(end - now)))
    return SourcePresigner(call.view, source, place.bucket, now, seconds)


def still_admitted(room: Room, call: Call, share: str) -> Callable[[], Awaitable[None]]:
    """Return what asks, in the middle of an answer, whether the recipient may still have it.

    It raises what a new request would: once a token is revoked, no further line leaves.
    """
    credential, peer = call.access.credential, call.request.peer

    async def still() -> None:
        view = await room.directory.current()
        if view is call.view:
            return
        held = view.token(credential.id) or view.client(credential.id)
        if held is None:
            raise Unrecognised
        view.share_for(view.admit(held, room.clock(), peer), share)

    return still


def count_read(room: Room, call: Call, located: Located, files: int, size_bytes: int) -> None:
    """Count what a recipient was told of."""
    if room.count is not None:
        subject = Subject(call.access.recipient.id, located.share.id, located.table.id)
        table = f"{located.schema.name}.{located.table.name}"
        names = (table, located.share.name, call.access.recipient.name)
        room.count(subject, Counts(1, files, size_bytes, int(room.clock()), *names))
