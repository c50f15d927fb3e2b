"""A request whose signature holds: who signed it, and what they said of its body."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from lakeshare.identity.sigv4.chunks import Decoder
from lakeshare.identity.sigv4.payload import Payload
from lakeshare.settings import Secret

KeyLookup = Callable[[str], Secret | None]
"""Finds the secret of an access key. It is called once, before any signature is reckoned, and may raise:
a caller that counts failures refuses there."""

DECOY = Secret("no identity has this secret")
"""Signed with where an access key is unknown, so that its refusal takes as long as any other."""


class Verified(NamedTuple):
    """Who signed, for what, and how. `version` is 4 or 2; `expires_at` is set for presigned URLs.

    `session_token` is what the request carries, unchecked. `hoisted` holds the x-amz-* parameters of a presigned
    URL that stand for headers, by lower-case name. A tuple, since one is made for every request: a third of the cost
    of a frozen dataclass.
    """

    access_key: str
    service: str
    region: str
    payload: Payload
    presigned: bool = False
    version: int = 4
    session_token: Secret | None = None
    expires_at: float | None = None
    hoisted: Mapping[str, str] = MappingProxyType({})

    def decoder(self) -> Decoder:
        """Return a decoder for the body, good for one use."""
        return self.payload.decoder()
