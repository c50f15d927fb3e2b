"""The table of the admin API: every operation there is, and how a request finds its own."""

from lakeshare.admin.wire import access_keys, groups, policies, recipients, server, shares, sources, users
from lakeshare.admin.wire.route import Route
from lakeshare.http.paths import Paths

PREFIX = "/_admin/v1"

ROUTES: tuple[Route, ...] = (
    *access_keys.ROUTES,
    *users.ROUTES,
    *groups.ROUTES,
    *policies.ROUTES,
    *server.ROUTES,
    *shares.ROUTES,
    *recipients.ROUTES,
    *sources.ROUTES,
)

PATHS: Paths[Route] = Paths(PREFIX, ((route.method, route.path, route) for route in ROUTES))
