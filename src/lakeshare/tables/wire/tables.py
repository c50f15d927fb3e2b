"""Tables on the wire: listing, creating, loading, dropping, renaming, registering, and their credentials."""

from collections.abc import Awaitable

import orjson

from lakeshare.errors import LakeshareError
from lakeshare.formats.iceberg.creating import parse_create_table
from lakeshare.formats.iceberg.table import encode_table
from lakeshare.http.response import Response
from lakeshare.tables.errors import BadRequest, CommitStateUnknown
from lakeshare.tables.model.entries import EntryKind, Pointer, Warehouse
from lakeshare.tables.model.names import Identifier, check_name
from lakeshare.tables.model.places import folders_beside
from lakeshare.tables.model.targets import Found
from lakeshare.tables.operations import tables
from lakeshare.tables.operations.listing import ListEntries, list_entries
from lakeshare.tables.operations.load import EntryCall, LoadTable
from lakeshare.tables.room import Room
from lakeshare.tables.territory import STAGED
from lakeshare.tables.wire import answers
from lakeshare.tables.wire.asking import by, namespace_of, once_of, paging_of, table_of, wants_credentials, warehouse_of
from lakeshare.tables.wire.bodies import flag_in, identifier_in, read_document, text_in
from lakeshare.tables.wire.call import Call, Route, flag

ALL, REFS = "all", "refs"
_TABLES = "/{warehouse}/namespaces/{namespace}/tables"
_TABLE = f"{_TABLES}/{{table}}"


async def _list(call: Call) -> ListEntries:
    return ListEntries(await warehouse_of(call), namespace_of(call), EntryKind.TABLE, paging_of(call))


async def answer_list(room: Room, _call: Call, asked: ListEntries) -> Response:
    """Answer the names of tables or views."""
    names, token = await list_entries(room, asked)
    return answers.identifiers(asked.namespace, names, token)


async def _create(call: Call) -> tables.CreateTable:
    document = read_document(call.body)
    identifier = Identifier(namespace_of(call), check_name(text_in(document, "name")))
    new = parse_create_table(document)
    return tables.CreateTable(await warehouse_of(call), identifier, new, by(call), once_of(call))


async def _created(room: Room, call: Call, asked: tables.CreateTable) -> Response:
    made = await tables.create_table(room, asked)
    if isinstance(made, tables.Made):
        return await changed(call, asked.warehouse, made.uuid, made.pointer)
    return await _staged(call, asked, made)


async def _staged(call: Call, asked: tables.CreateTable, draft: tables.Draft) -> Response:
    """Answer a draft, with credentials for the place where it is to lie."""
    metadata = draft.metadata
    where = metadata.location, asked.identifier
    folders = folders_beside(metadata.location, metadata.properties, asked.warehouse.bucket)
    delegation = answers.Delegation(call, asked.warehouse, STAGED, EntryKind.TABLE, where, folders=folders)
    config = answers.storage_config(call)
    vended = await delegation.credentials()
    if vended is None:
        return answers.loaded(None, (encode_table(metadata),), config, ())
    config |= answers.vended_config(vended)
    return answers.loaded(None, (encode_table(metadata),), config, delegation.entries(config))


async def loaded(  # noqa: PLR0913 - the table, and what for
    call: Call, warehouse: Warehouse, uuid: str, pointer: Pointer, mode: str = ALL, *, after_change: bool = False
) -> Response:
    """Answer a table as its pointer has it; 304 where the client has that already.

    After a change that is made, credentials that cannot be had are left out: the client can ask for them again.
    """
    identifier = Identifier(pointer.namespace, pointer.name)
    where = pointer.location, identifier
    delegation = answers.Delegation(call, warehouse, uuid, EntryKind.TABLE, where, folders=pointer.folders)
    etag = answers.etag_of(uuid, pointer, mode, delegation.mark, answers.storage_mark(call))
    if call.request.method == "GET" and _has(call.header("if-none-match"), etag):
        return _unchanged(etag)
    files = call.room.files
    metadata = await files.shown(pointer) if mode == ALL else (await files.referenced(pointer),)
    config = answers.storage_config(call)
    vended = await delegation.credentials(may_fail=after_change)
    if vended is None:
        return answers.loaded(pointer.metadata_location, metadata, config, (), etag)
    config |= answers.vended_config(vended)
    config["client.refresh-credentials-endpoint"] = answers.refresh_path(warehouse.name, identifier)
    return answers.loaded(pointer.metadata_location, metadata, config, delegation.entries(config), etag)


async def changed(call: Call, warehouse: Warehouse, uuid: str, pointer: Pointer) -> Response:
    """Answer a table that was made or changed."""
    return await moved(loaded(call, warehouse, uuid, pointer, after_change=True))


async def moved(answer: Awaitable[Response]) -> Response:
    """Answer a change that is made already: whatever goes wrong with the answer is no refusal any more."""
    try:
        return await answer
    except LakeshareError as error:
        raise CommitStateUnknown from error


def _has(header: str, etag: str) -> bool:
    """Say whether an If-None-Match names an ETag; `*` names every one."""
    if header == etag:
        return True
    named = [each.strip().removeprefix("W/") for each in header.split(",")] if header else []
    return etag in named or "*" in named


def _unchanged(etag: str) -> Response:
    return Response(304, [("etag", etag)])


async def _load(call: Call) -> LoadTable:
    path = call.request.raw_path
    if call.request.raw_query:
        mode = call.query.get("snapshots", ALL) or ALL
        if mode not in (ALL, REFS):
            raise BadRequest("snapshots must be all or refs")
        return LoadTable(await table_of(call), mode)
    # What is asked often is remembered until anything is committed, by any worker.
    memory = await call.room.catalog.memory()
    if isinstance(held := memory.asked.get(path), LoadTable):
        return held
    asked = LoadTable(await table_of(call), ALL)
    if asked.target.found is not None:
        memory.ask(path, asked)
    return asked


async def _loaded(_room: Room, call: Call, asked: LoadTable) -> Response:
    found = asked.target.entry()
    if (header := call.header("if-none-match")) and not wants_credentials(call):
        etag = _etag(answers.storage_mark(call), asked, found)
        if _has(header, etag):
            return _unchanged(etag)
    return await loaded(call, found.warehouse, found.uuid, found.value, asked.mode)


def _etag(mark: str, asked: LoadTable, found: Found) -> str:
    """Return the ETag of an answer without credentials, as long as it is the same from memory."""
    if asked.told[0] != mark:
        asked.told = mark, answers.etag_of(found.uuid, found.value, asked.mode, "", mark)
    return asked.told[1]


async def _exists(call: Call) -> EntryCall:
    return EntryCall(await table_of(call), "GetTable")


async def answer_exists(_room: Room, _call: Call, asked: EntryCall) -> Response:
    """Answer that a table or view is there."""
    asked.target.entry()
    return answers.nothing()


async def _drop(call: Call) -> tables.Drop:
    return tables.Drop(await table_of(call), by(call), flag(call.query, "purgeRequested"), once_of(call))


async def answer_drop(room: Room, _call: Call, asked: tables.Drop) -> Response:
    """Drop a table or view."""
    await tables.drop(room, asked)
    return answers.nothing()


async def decode_rename(call: Call, kind: EntryKind) -> tables.Rename:
    """Read the request to rename a table or view."""
    document = read_document(call.body)
    source, to = identifier_in(document, "source"), identifier_in(document, "destination")
    target = await call.room.catalog.target(await warehouse_of(call), source, kind)
    return tables.Rename(target, to, by(call), once_of(call))


async def _rename(call: Call) -> tables.Rename:
    return await decode_rename(call, EntryKind.TABLE)


async def answer_rename(room: Room, _call: Call, asked: tables.Rename) -> Response:
    """Rename a table or view."""
    await tables.rename(room, asked)
    return answers.nothing()


async def decode_register(call: Call, kind: EntryKind) -> tables.Register:
    """Read the request to register a table or view."""
    document = read_document(call.body)
    identifier = Identifier(namespace_of(call), check_name(text_in(document, "name")))
    target = await call.room.catalog.target(await warehouse_of(call), identifier, kind)
    overwrite = kind is EntryKind.TABLE and flag_in(document, "overwrite")
    return tables.Register(target, text_in(document, "metadata-location"), by(call), overwrite, once_of(call))


async def _register(call: Call) -> tables.Register:
    return await decode_register(call, EntryKind.TABLE)


async def _registered(room: Room, call: Call, asked: tables.Register) -> Response:
    made = await tables.register(room, asked, call.admission.authorise)
    return await changed(call, asked.target.warehouse, made.uuid, made.pointer)


async def _credentials(call: Call) -> EntryCall:
    return EntryCall(await table_of(call), "GetTable")


async def _vended(_room: Room, call: Call, asked: EntryCall) -> Response:
    found = asked.target.entry()
    where = found.value.location, asked.target.identifier
    folders = found.value.folders
    delegation = answers.Delegation(
        call, found.warehouse, found.uuid, EntryKind.TABLE, where, folders=folders, always=True
    )
    vended = await delegation.credentials()
    if vended is None:
        return answers.json_answer({"storage-credentials": []}, answers.NO_STORE)
    config = answers.storage_config(call) | answers.vended_config(vended)
    body = {"storage-credentials": delegation.entries(config)}
    return Response(200, [answers.JSON, answers.NO_STORE], orjson.dumps(body))


ROUTES = (
    Route("ListTables", "GET", _TABLES, "ListTables", _list, answer_list),
    Route("CreateTable", "POST", _TABLES, "CreateTable", _create, _created),
    Route("LoadTable", "GET", _TABLE, "GetTable", _load, _loaded),
    Route("TableExists", "HEAD", _TABLE, "GetTable", _exists, answer_exists),
    Route("DropTable", "DELETE", _TABLE, "DeleteTable", _drop, answer_drop),
    Route("RenameTable", "POST", "/{warehouse}/tables/rename", "RenameTable", _rename, answer_rename),
    Route(
        "RegisterTable",
        "POST",
        "/{warehouse}/namespaces/{namespace}/register",
        "RegisterTable",
        _register,
        _registered,
    ),
    Route("LoadCredentials", "GET", f"{_TABLE}/credentials", "GetTable", _credentials, _vended),
)
