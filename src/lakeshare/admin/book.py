"""The settings as they count now: flags, then the environment, then what was changed here, then defaults.

What was changed lies in state. A worker hears of a change by a bell that all workers share, so that its next request
has it; `server` decides how often state is asked besides.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields
from typing import Any

from lakeshare.admin.errors import NoSuchSetting, SettingNotLive, SettingPinned
from lakeshare.admin.model.overrides import OVERRIDES, Override
from lakeshare.settings import BadSetting, Settings
from lakeshare.state.port import State, Transaction

_log = logging.getLogger("lakeshare.admin")
_FIELDS: Mapping[str, "Field[Any]"] = {item.name: item for item in fields(Settings)}


@dataclass(frozen=True, slots=True)
class Entry:
    """One setting: its field, its value now, and where that comes from (`default` and `state` are words, not names)."""

    field: "Field[Any]"
    value: Any
    source: str


class Book:
    """All settings of a server, and the changes of those that are live."""

    def __init__(
        self, state: State, given: Settings, sources: Mapping[str, str], ring: Callable[[], None] = lambda: None
    ) -> None:
        """Take the settings that were given at the start, and the flag or variable that gave each."""
        self._state = state
        self._given = given
        self._sources = sources
        self.ring = ring

    async def current(self) -> Settings:
        """Return the settings as of the newest commit."""
        return self._settled(await self._overrides())

    async def entries(self) -> tuple[Entry, ...]:
        """Return every setting, in the order of their definition."""
        overrides = await self._overrides()
        settings = self._settled(overrides)
        return tuple(
            Entry(
                item, getattr(settings, name), self._sources.get(name) or ("state" if name in overrides else "default")
            )
            for name, item in _FIELDS.items()
        )

    async def entry(self, name: str) -> Entry:
        """Return one setting. Raises NoSuchSetting."""
        field_named(name)
        return next(each for each in await self.entries() if each.field.name == name)

    async def change(self, name: str, override: Override) -> None:
        """Set a live setting for all workers. Raises NoSuchSetting, SettingNotLive, SettingPinned, BadSetting."""
        self._check(name)
        self._given.changed({name: override.text})
        await self._state.commit(Transaction(changes=(OVERRIDES.put(override, name),)))
        self.ring()
        _log.info("setting changed", extra={"setting": name, "value": override.text, "by": override.changed_by})

    async def take_back(self, name: str, by: str) -> None:
        """Let a live setting have its default again. Raises as `change` does."""
        self._check(name)
        await self._state.commit(Transaction(changes=(OVERRIDES.delete(name),)))
        self.ring()
        _log.info("setting taken back", extra={"setting": name, "by": by})

    def _check(self, name: str) -> None:
        item = field_named(name)
        if not item.metadata["live"]:
            raise SettingNotLive(name)
        if name in self._sources:
            raise SettingPinned(name, self._sources[name])

    async def _overrides(self) -> dict[str, str]:
        """Return the changes that count: of live settings that nothing else gives, with texts that can be read."""
        found: dict[str, str] = {}
        async for stored in OVERRIDES.all(self._state):
            name = str(stored.name)
            item = _FIELDS.get(name)
            if (
                item is not None
                and item.metadata["live"]
                and name not in self._sources
                and self._readable(name, stored.value)
            ):
                found[name] = stored.value.text
        return found

    def _readable(self, name: str, override: Override) -> bool:
        try:
            self._given.changed({name: override.text})
        except BadSetting as reason:
            _log.warning("setting in state is not used", extra={"setting": name, "reason": reason.message})
            return False
        return True

    def _settled(self, overrides: Mapping[str, str]) -> Settings:
        return self._given.changed(overrides) if overrides else self._given


def field_named(name: str) -> "Field[Any]":
    """Return the field of a setting. Raises NoSuchSetting."""
    if name not in _FIELDS:
        raise NoSuchSetting(name)
    return _FIELDS[name]
