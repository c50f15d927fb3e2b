"""The table of routes: each operation asks for its action, is documented, and is described as it is."""

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import meta

from lakeshare.admin.wire import openapi
from lakeshare.admin.wire.call import Call
from lakeshare.admin.wire.route import Gives, Route, Takes
from lakeshare.admin.wire.routes import PATHS, PREFIX, ROUTES
from lakeshare.identity.caller import Caller, CallerKind
from lakeshare.identity.policy.actions import KNOWN_ACTIONS
from lakeshare.identity.register import Register
from lakeshare.identity.vault import Vault
from lakeshare.identity.view import RootKey, View
from lakeshare.settings import Secret
from tests.admin.client import Client
from tests.admin.names import NAMES

BODIES: dict[str, dict[str, Any]] = {
    "CreateUser": {"name": "annie", "policies": ("reader",)},
    "PutSetting": {"value": "x"},
}
ROW = re.compile(r"^\| (GET|PUT|POST|PATCH|DELETE) \| `([^`]+)` \| `([^`]+)` \| (.+) \|$", re.MULTILINE)


def decoded(route: Route) -> Any:
    view = View(Register({}, None), Vault((bytes(32),)), RootKey("root", Secret("root-secret")), None)
    caller = Caller(CallerKind.USER, "annie", user="annie")
    return route.decode(Call(caller, view, NAMES, {}, BODIES.get(route.name, {}), b"{}"))


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_asks_for_its_action(route: Route):
    """What a route decodes requires something, and first of all the route's action, which policies can name."""
    needs = decoded(route).requires()
    assert needs[0].action == route.action
    assert {need.action for need in needs} <= KNOWN_ACTIONS
    assert all(need.resource for need in needs)


def test_every_route_is_documented(repository: Path):
    """The page about the admin API has a line for each route, with its action and what it does, and no other."""
    page = (repository / "docs/admin-api.md").read_text()
    assert ROW.findall(page) == [(route.method, route.path, route.action, route.summary) for route in in_order(page)]
    assert {(route.method, route.path) for route in ROUTES} == {row[:2] for row in ROW.findall(page)}


def in_order(page: str) -> list[Route]:
    by_place = {(route.method, route.path): route for route in ROUTES}
    return [by_place[row[0], row[1]] for row in ROW.findall(page) if (row[0], row[1]) in by_place]


def test_names_are_unique():
    """No two routes share a name, or a method and a path."""
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_is_found(route: Route):
    """A request with a route's method and path finds that route, with the names of its path."""
    found = PATHS.find(route.method, PREFIX + route.path.format(**NAMES))
    assert found.target is route
    assert found.names == {name: NAMES[name] for name in re.findall(r"{(\w+)}", route.path)}


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_every_route_is_whole(route: Route):
    """A route that gives JSON says how and in which shape; one that takes JSON says which."""
    assert (route.gives is Gives.JSON) == (route.answer is not None) == (route.encode is not None)
    assert (route.takes in {Takes.JSON, Takes.TEXT}) == (route.body is not None)
    assert (route.status == 204) == (route.gives is Gives.NOTHING)


def test_the_document_describes_every_route():
    """Each route is an operation of the OpenAPI document, and every schema in it is JSON Schema."""
    document = openapi.document()
    found = {(method.upper(), path.removeprefix(PREFIX)) for path, item in document["paths"].items() for method in item}
    assert found == {(route.method, route.path) for route in ROUTES}
    for item in document["paths"].values():
        for operation in item.values():
            for schema in schemas(operation):
                meta.validate(schema | {"$schema": "https://json-schema.org/draft/2020-12/schema"})


def schemas(operation: dict[str, Any]) -> list[dict[str, Any]]:
    found = [parameter["schema"] for parameter in operation["parameters"]]
    parts = [*operation["responses"].values(), operation.get("requestBody", {})]
    return found + [media["schema"] for part in parts for media in part.get("content", {}).values()]


def test_the_document_is_served_to_anyone(root: Client):
    """The document needs no signature, and is what the table says."""
    answer = Client(root.server).send("GET", f"{PREFIX}/openapi.json")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json == openapi.document()
