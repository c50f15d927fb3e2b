"""Settings that were changed while the server ran, as they lie in state."""

from dataclasses import dataclass

from lakeshare.state.keyspace import Keyspace


@dataclass(frozen=True, slots=True)
class Override:
    """The text of a setting in place of its default, and who set it when."""

    text: str
    changed_at: int = 0
    changed_by: str = ""


SETTINGS = ("settings",)
OVERRIDES = Keyspace(SETTINGS, Override)
