"""The table of what recipients can ask, and how a request finds its own line in it.

The same table stands under `/_delta-sharing` and `/delta-sharing`, each with and without `/v1`.
"""

from lakeshare.http.paths import Found, NoSuchPath, Paths
from lakeshare.sharing.wire import activation, changes, folders, health, listing, oauth, query, tables
from lakeshare.sharing.wire.call import Route

PREFIXES = ("/_delta-sharing", "/delta-sharing")
_VERSION = "/v1"

ROUTES: tuple[Route, ...] = (
    *health.ROUTES,
    *activation.ROUTES,
    *oauth.ROUTES,
    *listing.ROUTES,
    *tables.ROUTES,
    *query.ROUTES,
    *changes.ROUTES,
    *folders.ROUTES,
)

_PATHS: Paths[Route] = Paths("", ((route.method, route.path, route) for route in ROUTES))


def find(method: str, raw_path: str) -> Found[Route]:
    """Return what a request means. Raises NoSuchPath, NoSuchMethod, BadPath."""
    for prefix in PREFIXES:
        if raw_path.startswith(f"{prefix}/"):
            rest = raw_path[len(prefix) :]
            return _PATHS.find(method, rest.removeprefix(_VERSION) if rest.startswith(f"{_VERSION}/") else rest)
    raise NoSuchPath(raw_path)
