"""Namespaces on the wire."""

from urllib.parse import unquote

from lakeshare.http.response import Response
from lakeshare.tables.model.names import split
from lakeshare.tables.operations import namespaces
from lakeshare.tables.room import Room
from lakeshare.tables.wire import answers
from lakeshare.tables.wire.asking import namespace_of, once_of, paging_of, warehouse_of
from lakeshare.tables.wire.bodies import namespace_in, properties_in, read_document, texts_in
from lakeshare.tables.wire.call import Call, Route

_NAMESPACES = "/{warehouse}/namespaces"
_NAMESPACE = f"{_NAMESPACES}/{{namespace}}"


async def _list(call: Call) -> namespaces.ListNamespaces:
    warehouse, text = await warehouse_of(call), call.query.get("parent", "")
    parent = split(text) if text else ()
    if "%" in text and await call.room.catalog.namespace(warehouse, parent) is None:
        # PyIceberg encodes what is special in a parent twice (iceberg.md 1.1).
        parent = split(unquote(text))
    return namespaces.ListNamespaces(warehouse, parent, paging_of(call))


async def _listed(room: Room, _call: Call, asked: namespaces.ListNamespaces) -> Response:
    found, token = await namespaces.list_namespaces(room, asked)
    return answers.json_answer({"namespaces": found, "next-page-token": token})


async def _create(call: Call) -> namespaces.CreateNamespace:
    document = read_document(call.body)
    properties = properties_in(document, "properties")
    return namespaces.CreateNamespace(await warehouse_of(call), namespace_in(document), properties, once_of(call))


async def _created(room: Room, _call: Call, asked: namespaces.CreateNamespace) -> Response:
    properties = await namespaces.create_namespace(room, asked)
    return answers.json_answer({"namespace": asked.namespace, "properties": properties})


async def _load(call: Call) -> namespaces.NamespaceCall:
    return namespaces.NamespaceCall(await warehouse_of(call), namespace_of(call))


async def _loaded(room: Room, _call: Call, asked: namespaces.NamespaceCall) -> Response:
    properties = await namespaces.load_namespace(room, asked)
    return answers.json_answer({"namespace": asked.namespace, "properties": properties})


async def _exists(room: Room, _call: Call, asked: namespaces.NamespaceCall) -> Response:
    await namespaces.load_namespace(room, asked)
    return answers.nothing()


async def _drop(call: Call) -> namespaces.DropNamespace:
    return namespaces.DropNamespace(await warehouse_of(call), namespace_of(call), once_of(call))


async def _dropped(room: Room, _call: Call, asked: namespaces.DropNamespace) -> Response:
    await namespaces.drop_namespace(room, asked)
    return answers.nothing()


async def _update(call: Call) -> namespaces.UpdateProperties:
    document = read_document(call.body)
    removals, updates = texts_in(document, "removals"), properties_in(document, "updates")
    return namespaces.UpdateProperties(await warehouse_of(call), namespace_of(call), removals, updates, once_of(call))


async def _updated(room: Room, _call: Call, asked: namespaces.UpdateProperties) -> Response:
    done = await namespaces.update_properties(room, asked)
    return answers.json_answer({"updated": done.updated, "removed": done.removed, "missing": done.missing})


ROUTES = (
    Route("ListNamespaces", "GET", _NAMESPACES, "ListNamespaces", _list, _listed),
    Route("CreateNamespace", "POST", _NAMESPACES, "CreateNamespace", _create, _created),
    Route("LoadNamespace", "GET", _NAMESPACE, "GetNamespace", _load, _loaded),
    Route("NamespaceExists", "HEAD", _NAMESPACE, "GetNamespace", _load, _exists),
    Route("DropNamespace", "DELETE", _NAMESPACE, "DeleteNamespace", _drop, _dropped),
    Route("UpdateProperties", "POST", f"{_NAMESPACE}/properties", "UpdateNamespaceProperties", _update, _updated),
)
