"""The official OpenAPI file: every operation of it is served or named as not served, and what is served keeps to it."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
import yaml
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from lakeshare.tables.wire.routes import ENDPOINTS
from tests.live import LiveServer, running
from tests.tables.lake import PREFIX, SCHEMA, Lake
from tests.vectors import ICEBERG_OPENAPI as FILE
from tests.vectors import needs

pytestmark = needs(FILE)
METHODS = ("get", "head", "post", "delete", "put")
UNLISTED = {"GET /v1/config", "POST /v1/oauth/tokens"}
"""Served, and never in the list of endpoints."""
NOT_SERVED = {
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}",
    "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan/{plan-id}",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/tasks",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/sign",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/unregister",
    "GET /v1/{prefix}/namespaces/{namespace}/functions",
    "GET /v1/{prefix}/namespaces/{namespace}/functions/{function}",
}
STAND_IN = {"openapi": "3.1.1", "paths": {"/v1/config": {"get": {"responses": {"200": {"description": "any"}}}}}}
"""For want of the file: a document without operations is an error, and stops all tests before any is skipped."""
KNOWN = {"prefix": "lake", "namespace": "ns", "table": "t", "view": "v"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def _mend(found: dict[str, Any]) -> None:
    """Put right where the file contradicts itself, or every client.

    Errors of views are an object with an error in it, as all others are: the kit and every client read them so. A
    namespace that is made below none is a 404, as in most catalogs; the file has no word for it.
    """
    for item in found["paths"].values():
        for name in METHODS:
            for answer in item.get(name, {}).get("responses", {}).values():
                schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
                if schema.get("$ref", "").endswith("/ErrorModel"):
                    schema["$ref"] = "#/components/schemas/IcebergErrorResponse"
    if making := found["paths"].get("/v1/{prefix}/namespaces", {}).get("post"):
        making["responses"][404] = making["responses"][409]


def document() -> dict[str, Any]:
    """Read the file, leaving out what is not served."""
    found: dict[str, Any] = yaml.safe_load(FILE.read_text()) if FILE.is_file() else STAND_IN
    kept = {}
    for path, item in found["paths"].items():
        rest = {name: part for name, part in item.items() if f"{name.upper()} {path}" not in NOT_SERVED}
        if rest.keys() & set(METHODS):
            kept[path] = rest
    _mend(found)
    found.pop("security", None)
    found.pop("servers", None)
    return found | {"paths": kept, "info": found.get("info", {"title": "none", "version": "0"})}


def test_every_operation_is_served_or_named():
    """What the file has is in the list of endpoints, or stands among what is not served; and nothing else is listed."""
    found = yaml.safe_load(FILE.read_text())["paths"]
    operations = {f"{name.upper()} {path}" for path, item in found.items() for name in item if name in METHODS}
    assert operations == set(ENDPOINTS) | UNLISTED | NOT_SERVED
    assert not set(ENDPOINTS) & NOT_SERVED


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LiveServer, str]]:
    """A server of its own, since anything may be asked of it, and a token for it."""
    with running(tmp_path_factory.mktemp("openapi") / "data") as live:
        lake = Lake.made(live)
        lake = Lake(lake.client, KNOWN["prefix"])
        lake.ok("POST", "/warehouses", {"name": KNOWN["prefix"]})
        lake.table(lake.namespace(KNOWN["namespace"]), KNOWN["table"])
        form = {"content-type": "application/x-www-form-urlencoded"}
        secret = "tests%2Fsecret%2Bkey%3D0123456789"
        grant = f"grant_type=client_credentials&client_id={live.access_key}&client_secret={secret}"
        answer = lake.client.send("POST", f"{PREFIX}/oauth/tokens", grant.encode(), form)
        yield live, answer.json["access_token"]


schema = schemathesis.openapi.from_dict(document())


@schema.parametrize()
@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_every_operation_keeps_to_the_file(case: Any, served: tuple[LiveServer, str]):
    """Whatever is sent, the answer has a status, a type and a shape that the file names, and no failure of ours."""
    server, token = served
    if case.path_parameters:
        case.path_parameters = {name: KNOWN.get(name, value) for name, value in case.path_parameters.items()}
    headers = {"Authorization": f"Bearer {token}"}
    case.call_and_validate(base_url=f"{server.endpoint}/_iceberg", headers=headers, checks=CHECKS)


def test_the_table_that_was_asked_about_is_there(served: tuple[LiveServer, str]):
    """After all that the server still answers, and makes a table."""
    server, token = served
    lake = Lake.made(server, "after")
    assert token
    assert lake.table(lake.namespace("ns"), "t", schema=SCHEMA)["metadata"]["format-version"] == 2
