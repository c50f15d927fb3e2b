"""Credentials for the files of one table, made by the server's own STS and used again for a part of their life."""

from collections import OrderedDict
from collections.abc import Callable

from lakeshare.identity.caller import Caller
from lakeshare.identity.directory import Directory
from lakeshare.identity.session_tokens import TemporaryCredentials
from lakeshare.identity.sts import vend
from lakeshare.identity.vending import Scope
from lakeshare.tables.model.places import Place

LIFE_SECONDS = 3_600
FRESH_SECONDS = LIFE_SECONDS // 2
"""Credentials are handed out again while at least this much of their life is left."""
KEPT = 4_096


class Vendor:
    """The credentials that one worker has handed out."""

    def __init__(self, directory: Directory, clock: Callable[[], float]) -> None:
        self._directory = directory
        self._clock = clock
        self._kept: OrderedDict[tuple[str, tuple[Place, ...], bool], TemporaryCredentials] = OrderedDict()

    async def credentials(self, caller: Caller, places: tuple[Place, ...], *, writable: bool) -> TemporaryCredentials:
        """Return credentials that reach the keys below some places and nothing else. Raises what `vend` raises.

        They reach them with the caller's own rights: what the caller may not do there, they may not.
        """
        now = self._clock()
        key = caller.name, places, writable
        held = self._kept.get(key)
        if held is not None and held.expires_at - now >= FRESH_SECONDS:
            return held
        scopes = tuple(Scope(place.bucket, place.key, writable) for place in places)
        made = await vend(self._directory, caller, scopes, LIFE_SECONDS, now)
        self._kept[key] = made
        self._kept.move_to_end(key)
        if len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return made
