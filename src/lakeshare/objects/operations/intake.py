"""Taking a body in: every byte counted and every promise about it checked before anything is published."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lakeshare.http.request import Block, Sink
from lakeshare.identity.errors import PayloadMismatch
from lakeshare.objects.errors import BadDigest, EntityTooLarge, IncompleteBody, InvalidRequest
from lakeshare.objects.model.checksums import Declared, digest_of, encoded
from lakeshare.storage.port import Checksum, Staging

PUT_LIMIT_BYTES = 5 * 1024**3
DEFAULT_ALGORITHM = "CRC64NVME"
SIGNED_SHA256 = "x-amz-content-sha256"
"""The name under which a digest that was signed is declared."""


@dataclass(frozen=True, slots=True)
class Body:
    """A body on its way in: its decoded bytes, and what was promised about them.

    `trailers` may be asked once the bytes are through; `algorithm` is the checksum that the object will carry. Where
    there is `pour`, it has a thread hand over the bytes, and is called in place of reading `chunks`.
    """

    chunks: AsyncIterator[bytes]
    size: int | None = None
    declared: tuple[Declared, ...] = ()
    algorithm: str = DEFAULT_ALGORITHM
    trailer: str | None = None
    trailers: Callable[[], Mapping[str, str]] = field(default=dict)
    pour: Callable[[Sink], Awaitable[None]] | None = None

    @property
    def algorithms(self) -> frozenset[str]:
        """Name the digests that must be reckoned while the bytes pass."""
        return frozenset({self.algorithm, *(item.algorithm for item in self.declared)})


async def take(body: Body, staging: Staging) -> Checksum:
    """Write a body to a staging place, and return its checksum once every promise holds."""
    if body.size is not None and body.size > PUT_LIMIT_BYTES:
        raise EntityTooLarge(PUT_LIMIT_BYTES)
    if body.pour is not None:
        await body.pour(lambda blocks: _write_now(staging, blocks))
    else:
        async for chunk in body.chunks:
            await staging.write(chunk)
            if staging.size > PUT_LIMIT_BYTES:
                raise EntityTooLarge(PUT_LIMIT_BYTES)
    if body.size is not None and staging.size != body.size:
        raise IncompleteBody(body.size, staging.size)
    for item in (*body.declared, *_trailing(body)):
        found = await staging.digest(item.algorithm)
        if found != item.value:
            raise PayloadMismatch(item.value.hex(), found.hex()) if item.name == SIGNED_SHA256 else BadDigest(item.name)
    return Checksum(body.algorithm, encoded(await staging.digest(body.algorithm)))


def _write_now(staging: Staging, blocks: Sequence[Block]) -> None:
    staging.write_now(blocks)
    if staging.size > PUT_LIMIT_BYTES:
        raise EntityTooLarge(PUT_LIMIT_BYTES)


def _trailing(body: Body) -> tuple[Declared, ...]:
    if body.trailer is None:
        return ()
    text = body.trailers().get(body.trailer)
    if text is None:
        raise InvalidRequest(f"the trailer {body.trailer} was announced and did not come")
    return (Declared(body.trailer, body.algorithm, digest_of(body.trailer, body.algorithm, text)),)
