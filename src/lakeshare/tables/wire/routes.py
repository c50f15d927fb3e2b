"""The table of what the catalog's clients can ask, and how a request finds its own line in it."""

from functools import lru_cache

from lakeshare.http.paths import Found, Paths
from lakeshare.tables.wire import commits, maintenance, namespaces, oauth, reports, tables, views, warehouses
from lakeshare.tables.wire.call import Route
from lakeshare.tables.wire.config import config_route

PREFIX = "/_iceberg/v1"

_ROUTES: tuple[Route, ...] = (
    *warehouses.ROUTES,
    *oauth.ROUTES,
    *namespaces.ROUTES,
    *tables.ROUTES,
    *commits.ROUTES,
    *reports.ROUTES,
    *views.ROUTES,
    *maintenance.ROUTES,
)

ENDPOINTS = tuple(
    f"{route.method} /v1{route.path.replace('{warehouse}', '{prefix}')}" for route in _ROUTES if route.endpoint
)
"""What clients are told of, each exactly as the specification writes it (iceberg.md 1.2)."""

ROUTES = (config_route(ENDPOINTS), *_ROUTES)

_PATHS: Paths[Route] = Paths(PREFIX, ((route.method, route.path, route) for route in ROUTES))


PATHS_KEPT = 4_096
"""Paths whose route is remembered."""
PATH_CHARACTERS_KEPT = 512
"""Longest of them."""


def find(method: str, raw_path: str) -> Found[Route]:
    """Return what a request means. Raises NoSuchPath, NoSuchMethod, BadPath."""
    return _known(method, raw_path) if len(raw_path) <= PATH_CHARACTERS_KEPT else _read(method, raw_path)


def _read(method: str, raw_path: str) -> Found[Route]:
    # Java writes a space in a name as a plus; a plus itself is always percent-encoded (iceberg.md 1.1).
    return _PATHS.find(method, raw_path.replace("+", "%20"))


_known = lru_cache(PATHS_KEPT)(_read)
