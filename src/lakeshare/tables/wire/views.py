"""Views on the wire."""

from lakeshare.formats.iceberg.view_creating import parse_create_view
from lakeshare.formats.iceberg.view_updates import parse_view_requirements, parse_view_updates
from lakeshare.http.response import Response
from lakeshare.tables.errors import BadRequest
from lakeshare.tables.model.entries import EntryKind, Pointer
from lakeshare.tables.model.names import Identifier, check_name
from lakeshare.tables.operations import tables, views
from lakeshare.tables.operations.listing import ListEntries
from lakeshare.tables.operations.load import EntryCall
from lakeshare.tables.room import Room
from lakeshare.tables.wire import answers
from lakeshare.tables.wire.asking import by, namespace_of, once_of, paging_of, view_of, warehouse_of
from lakeshare.tables.wire.bodies import identifier_in, listed, read_document, text_in
from lakeshare.tables.wire.call import Call, Route
from lakeshare.tables.wire.tables import (
    answer_drop,
    answer_exists,
    answer_list,
    answer_rename,
    decode_register,
    decode_rename,
    moved,
)

_VIEWS = "/{warehouse}/namespaces/{namespace}/views"
_VIEW = f"{_VIEWS}/{{view}}"


async def _list(call: Call) -> ListEntries:
    return ListEntries(await warehouse_of(call), namespace_of(call), EntryKind.VIEW, paging_of(call))


async def _create(call: Call) -> views.CreateView:
    document = read_document(call.body)
    identifier = Identifier(namespace_of(call), check_name(text_in(document, "name")))
    new = parse_create_view(document)
    return views.CreateView(await warehouse_of(call), identifier, new, by(call), once_of(call))


async def _created(room: Room, call: Call, asked: views.CreateView) -> Response:
    return await moved(_shown(call, (await views.create_view(room, asked)).pointer))


async def _shown(call: Call, pointer: Pointer) -> Response:
    metadata = await call.room.files.shown(pointer)
    return answers.loaded(pointer.metadata_location, metadata, answers.storage_config(call), ())


async def _load(call: Call) -> EntryCall:
    return EntryCall(await view_of(call), "GetView")


async def _loaded(_room: Room, call: Call, asked: EntryCall) -> Response:
    return await _shown(call, asked.target.entry().value)


async def _replace(call: Call) -> views.ReplaceView:
    document, target = read_document(call.body), await view_of(call)
    if document.get("identifier") is not None and identifier_in(document, "identifier") != target.identifier:
        raise BadRequest("the identifier of the request is not the view of its path")
    requirements = parse_view_requirements(listed(document, "requirements"))
    updates = parse_view_updates(listed(document, "updates"))
    return views.ReplaceView(target, requirements, updates, by(call), once_of(call))


async def _replaced(room: Room, call: Call, asked: views.ReplaceView) -> Response:
    return await moved(_shown(call, (await views.replace_view(room, asked)).pointer))


async def _drop(call: Call) -> tables.Drop:
    return tables.Drop(await view_of(call), by(call), once=once_of(call))


async def _rename(call: Call) -> tables.Rename:
    return await decode_rename(call, EntryKind.VIEW)


async def _register(call: Call) -> tables.Register:
    return await decode_register(call, EntryKind.VIEW)


async def _registered(room: Room, call: Call, asked: tables.Register) -> Response:
    made = await tables.register(room, asked, call.admission.authorise)
    return await moved(_shown(call, made.pointer))


ROUTES = (
    Route("ListViews", "GET", _VIEWS, "ListViews", _list, answer_list),
    Route("CreateView", "POST", _VIEWS, "CreateView", _create, _created),
    Route("LoadView", "GET", _VIEW, "GetView", _load, _loaded),
    Route("ViewExists", "HEAD", _VIEW, "GetView", _load, answer_exists),
    Route("ReplaceView", "POST", _VIEW, "UpdateView", _replace, _replaced),
    Route("DropView", "DELETE", _VIEW, "DeleteView", _drop, answer_drop),
    Route("RenameView", "POST", "/{warehouse}/views/rename", "RenameView", _rename, answer_rename),
    Route(
        "RegisterView",
        "POST",
        "/{warehouse}/namespaces/{namespace}/register-view",
        "RegisterView",
        _register,
        _registered,
    ),
)
