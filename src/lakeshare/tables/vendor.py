"""Credentials for the files of one table, made by the server's own STS and used again for a part of their life."""

from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256

from lakeshare.identity.caller import Caller
from lakeshare.identity.directory import Directory
from lakeshare.identity.session_tokens import TemporaryCredentials
from lakeshare.identity.sts import vend
from lakeshare.identity.vending import Scope
from lakeshare.identity.view import View
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
        self._view: View | None = None
        self._kept: OrderedDict[tuple[str, tuple[Place, ...], bool], TemporaryCredentials] = OrderedDict()

    async def credentials(self, caller: Caller, places: tuple[Place, ...], *, writable: bool) -> TemporaryCredentials:
        """Return credentials that reach the keys below some places and nothing else. Raises what `vend` raises.

        They reach them with the caller's own rights: what the caller may not do there, they may not.
        """
        now = self._clock()
        view = self._directory.at_hand() or await self._directory.current()
        if view is not self._view:
            # Whatever changed may have ended sessions: those that were handed out may be of no use any more.
            self._view = view
            self._kept.clear()
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

    def mark(self, caller: Caller) -> str:
        """Return what is another once the credentials of a caller were revoked."""
        view = self._directory.at_hand()
        standing = None if view is None else view.register.standing(caller.holder)
        keys = None if view is None else view.register.session_keys()
        epoch = "" if standing is None else f"{standing.uid} {standing.session_epoch}"
        return epoch if keys is None else f"{epoch} {sha256(keys.sealed_keys[0]).hexdigest()}"
