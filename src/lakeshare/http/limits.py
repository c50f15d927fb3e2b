"""The bounds of one connection: how long, how large, how many."""

from dataclasses import dataclass

from lakeshare.settings import Settings

BODY_HIGH_WATER = 512 * 1024
"""Bytes of a request body held for the application before reading from the socket stops."""

BODY_LOW_WATER = 128 * 1024
"""Bytes of a request body held under which reading goes on."""

DIRECT_BYTES = 64 * 1024
"""A body of a known length from this on goes to the application as it is read, past the parser."""

DRAIN_LIMIT = 64 * 1024
"""Most bytes of an unread body that are read and thrown away to keep a connection."""

LINGER_LIMIT = 8 * 1024 * 1024
"""Most bytes thrown away before closing on a client that still sends, so that it can read its answer."""

LINGER_SECONDS = 5.0
"""Longest wait for such a client to stop sending."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a connection may take, in bytes and seconds."""

    header_bytes: int
    header_seconds: float
    body_seconds: float
    keep_alive_seconds: float

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        """Take the limits out of the settings."""
        return cls(settings.header_limit, settings.header_timeout, settings.body_timeout, settings.keep_alive)
