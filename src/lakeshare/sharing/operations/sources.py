"""Remote sources: other S3 stores whose tables are shared in place."""

from dataclasses import dataclass, field, replace
from uuid import uuid4

from lakeshare.identity.arns import source_arn
from lakeshare.identity.caller import Need
from lakeshare.settings import Secret
from lakeshare.sharing.errors import BadName, NameTaken, SourceInUse, SourceMissing, TooMany
from lakeshare.sharing.model.endpoints import check_endpoint
from lakeshare.sharing.model.names import check_description, check_source
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.model.sources import MAX_SOURCES, RemoteSource, place_of_source
from lakeshare.sharing.operations.offers import SHARING_ACTION
from lakeshare.sharing.records import SOURCES
from lakeshare.sharing.room import Room
from lakeshare.sharing.view import View
from lakeshare.state.epoch import Plan


@dataclass(frozen=True, slots=True)
class SourceCall:
    """Anything that is asked of one source, or of all."""

    source: str = "*"

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(SHARING_ACTION, source_arn(self.source)),)


async def list_sources(room: Room, _call: SourceCall) -> tuple[RemoteSource, ...]:
    """Return every source, by name."""
    return (await room.directory.current()).sources


async def get_source(room: Room, call: SourceCall) -> RemoteSource:
    """Return a source. Raises SourceMissing."""
    return existing(await room.directory.current(), call.source)


@dataclass(frozen=True, slots=True)
class PutSource:
    """A source as it shall be; without a secret it keeps the one it has. `makes` says that it must be new."""

    by: str
    name: str
    endpoint: str
    access_key: str
    secret: Secret | None = field(default=None, repr=False)
    region: str = "us-east-1"
    public_endpoint: str = ""
    path_style: bool = True
    description: str = ""
    makes: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(SHARING_ACTION, source_arn(self.name)),)


async def put_source(room: Room, call: PutSource) -> RemoteSource:
    """Make or change a source. Raises NameTaken, TooMany, BadName, BadEndpoint."""
    now = int(room.clock())
    check_source(call.name)
    check_description(call.description)

    def plan(view: View) -> Plan[RemoteSource]:
        held = view.source(call.name)
        if held is not None and call.makes:
            raise NameTaken("source", held.name)
        if held is None and len(view.sources) >= MAX_SOURCES:
            raise TooMany("sources", MAX_SOURCES)
        uid = str(uuid4()) if held is None else held.uid
        source = RemoteSource(
            call.name,
            uid,
            check_endpoint(call.endpoint),
            call.access_key,
            _sealed(view, call, held, uid),
            region=call.region,
            public_endpoint=check_endpoint(call.public_endpoint) if call.public_endpoint else "",
            path_style=call.path_style,
            description=call.description,
            created_at=now,
            created_by=call.by,
            updated_at=now,
        )
        if held is not None:
            source = replace(source, created_at=held.created_at, created_by=held.created_by)
        return Plan((SOURCES.put(source, source.name),), source)

    return await room.directory.change(plan)


async def remove_source(room: Room, call: SourceCall) -> None:
    """Remove a source that no share has tables of. Raises SourceMissing, SourceInUse."""

    def plan(view: View) -> Plan[None]:
        source = existing(view, call.source)
        if used := _users(view, source.name):
            raise SourceInUse(source.name, used)
        return Plan((SOURCES.delete(source.name),), None)

    await room.directory.change(plan)


def existing(view: View, name: str) -> RemoteSource:
    """Return a source. Raises SourceMissing."""
    source = view.source(name)
    if source is None:
        raise SourceMissing(name)
    return source


def secret_of(view: View, source: RemoteSource) -> Secret:
    """Return the secret that a source is read with."""
    return Secret(view.vault.open(source.sealed_secret, place_of_source(source.name, source.uid)).decode())


def _sealed(view: View, call: PutSource, held: RemoteSource | None, uid: str) -> bytes:
    if call.secret is None:
        if held is None:
            raise BadName("source", call.name, "its secret key, too")
        return held.sealed_secret
    return view.vault.seal(call.secret.reveal().encode(), place_of_source(call.name, uid))


def _users(view: View, source: str) -> list[str]:
    found: list[str] = []
    for share in view.shares:
        places = [place for schema in view.schemas(share) for place in schema.wholes]
        places += [table.place for schema in view.schemas(share) for table in schema.tables]
        if any(isinstance(place, DeltaPlace) and place.source == source for place in places):
            found.append(share.name)
    return found
