"""Commits on the wire: of one table, and of several in one transaction."""

from lakeshare.formats.iceberg.requirements import parse_requirements
from lakeshare.formats.iceberg.updates import parse_updates
from lakeshare.http.response import Response
from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model.entries import EntryKind
from lakeshare.tables.model.targets import Target
from lakeshare.tables.operations.commit import MAX_TABLES, Commit, TableChange, commit
from lakeshare.tables.room import Room
from lakeshare.tables.wire import answers
from lakeshare.tables.wire.asking import by, once_of, table_of, warehouse_of
from lakeshare.tables.wire.bodies import Document, documents_in, identifier_in, listed, read_document
from lakeshare.tables.wire.call import Call, Route
from lakeshare.tables.wire.tables import changed


def _change(target: Target, document: Document) -> TableChange:
    requirements = parse_requirements(listed(document, "requirements"))
    return TableChange(target, requirements, parse_updates(listed(document, "updates")))


async def _commit(call: Call) -> Commit:
    document, target = read_document(call.body), await table_of(call)
    if document.get("identifier") is not None and identifier_in(document, "identifier") != target.identifier:
        raise BadRequest("the identifier of the request is not the table of its path")
    return Commit((_change(target, document),), by(call), once_of(call))


async def _committed(room: Room, call: Call, asked: Commit) -> Response:
    (step,) = await commit(room, asked)
    return await changed(call, asked.changes[0].target.warehouse, step.uuid, step.pointer)


async def _transact(call: Call) -> Commit:
    warehouse = await warehouse_of(call)
    changes: list[TableChange] = []
    for document in documents_in(read_document(call.body), "table-changes", MAX_TABLES):
        identifier = identifier_in(document, "identifier")
        changes.append(_change(await call.room.catalog.target(warehouse, identifier, EntryKind.TABLE), document))
    if not changes:
        raise BadRequest("a commit changes at least one table")
    return Commit(tuple(changes), by(call), once_of(call))


async def _transacted(room: Room, _call: Call, asked: Commit) -> Response:
    await commit(room, asked)
    return answers.nothing()


ROUTES = (
    Route(
        "CommitTable",
        "POST",
        "/{warehouse}/namespaces/{namespace}/tables/{table}",
        "UpdateTableMetadataLocation",
        _commit,
        _committed,
    ),
    Route(
        "CommitTransaction",
        "POST",
        "/{warehouse}/transactions/commit",
        "UpdateTableMetadataLocation",
        _transact,
        _transacted,
    ),
)
