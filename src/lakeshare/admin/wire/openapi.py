"""The OpenAPI 3.1 document of the admin API, made from the table of routes. Pure."""

import re
from typing import Any

import orjson

from lakeshare.admin.wire import names, sharing_shapes
from lakeshare.admin.wire.faults import STATUSES
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.routes import PREFIX, ROUTES
from lakeshare.admin.wire.shapes import Field, Record, Schema, described

API_VERSION = "1"
PATH = f"{PREFIX}/openapi.json"

_NAME = re.compile(r"{([a-z_]+)}")
_PATH_SHAPES = {
    "user": names.USER,
    "access_key": names.USER,
    "share": sharing_shapes.NAME,
    "schema": sharing_shapes.NAME,
    "recipient": sharing_shapes.NAME,
    "source": sharing_shapes.SOURCE_NAME,
    "token": sharing_shapes.ID,
    "activation": sharing_shapes.ID,
}
_ERROR = Record(
    (
        Field("code", names.ANY, "What is wrong, in one word.", required=True),
        Field("message", names.ANY, "What is wrong, and where there is one the next step.", required=True),
        Field("request_id", names.ANY, "The id under which the audit log has the request.", required=True),
        Field("field", names.ANY, "The field of the body or the query that is at fault."),
    )
)
_LINES = {"type": "string", "description": "One JSON object a line."}


def document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(PREFIX + route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Lakeshare admin API",
            "version": API_VERSION,
            "summary": "Everything an operator does.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {"Error": Record((Field("error", _ERROR, required=True),)).schema()},
            "securitySchemes": {
                "sigv4": {
                    "type": "http",
                    "scheme": "AWS4-HMAC-SHA256",
                    "description": "AWS signature version 4, service s3, any region.",
                }
            },
            "responses": {"Error": {"description": "It was refused.", "content": _json(_ref("schemas", "Error"))}},
        },
        "security": [{"sigv4": []}],
    }


def document_bytes() -> bytes:
    """Return the document as it is served."""
    return orjson.dumps(document(), option=orjson.OPT_INDENT_2)


def _operation(route: Route) -> Schema:
    found: Schema = {
        "operationId": route.name,
        "summary": route.summary,
        "description": f"Needs `{route.action}`.",
        "tags": [route.path.split("/")[1]],
        "parameters": _parameters(route),
        "responses": {str(route.status): _answer(route)}
        | {str(status): _ref("responses", "Error") for status in STATUSES},
    }
    return found | ({} if (body := _body(route)) is None else {"requestBody": body})


def _parameters(route: Route) -> list[Schema]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SHAPES.get(name, names.PLAIN).schema()}
        for name in _NAME.findall(route.path)
    ]
    in_query = [
        {"name": field.name, "in": "query", "required": field.required, "schema": described(field)}
        for field in route.query
    ]
    return [*in_path, *in_query]


def _body(route: Route) -> Schema | None:
    if route.takes is Takes.STREAM:
        return {"required": True, "content": {"application/x-ndjson": {"schema": _LINES}}}
    if route.body is None:
        return None
    schema = route.body.schema()
    required = route.takes is Takes.TEXT or bool(schema.get("required"))
    return {"required": required, "content": _json(schema)}


def _answer(route: Route) -> Schema:
    if route.gives is Gives.LINES:
        return {"description": route.summary, "content": {"application/x-ndjson": {"schema": _LINES}}}
    if route.answer is None:
        return {"description": "It is done."}
    return {"description": route.summary, "content": _json(route.answer.schema())}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _ref(kind: str, name: str) -> Schema:
    return {"$ref": f"#/components/{kind}/{name}"}
