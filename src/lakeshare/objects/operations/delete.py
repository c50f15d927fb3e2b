"""Removing objects, one or many."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lakeshare.identity.caller import Need
from lakeshare.identity.errors import AccessDenied
from lakeshare.objects.model.names import object_arn
from lakeshare.objects.room import Room
from lakeshare.storage.port import Delete, Deleted


@dataclass(frozen=True, slots=True)
class DeleteObjects:
    """Keys to remove from one bucket; `quiet` leaves the successes out of the answer.

    `denied` is what the caller may not have of what is required: those keys stay, and are told of as denied.
    """

    bucket: str
    deletes: tuple[Delete, ...]
    quiet: bool = False
    denied: frozenset[Need] = frozenset()

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: each key on its own."""
        return tuple(
            Need("s3:DeleteObjectVersion" if item.version else "s3:DeleteObject", object_arn(self.bucket, item.key))
            for item in self.deletes
        )

    def sparing(self, denied: Iterable[Need]) -> "DeleteObjects":
        """Return the same without what is denied: S3 removes the other keys."""
        return replace(self, denied=frozenset(denied))


async def delete_objects(room: Room, call: DeleteObjects) -> Sequence[Deleted | Exception]:
    """Remove every key that may be, and say of each what became of it."""
    await room.store.bucket(call.bucket)
    if not call.denied:
        return await room.store.delete(call.bucket, call.deletes)
    asked = list(zip(call.requires(), call.deletes, strict=True))
    allowed = [item for need, item in asked if need not in call.denied]
    done = iter(await room.store.delete(call.bucket, allowed))
    return [AccessDenied(need.action, need.resource) if need in call.denied else next(done) for need, _ in asked]


async def delete_object(room: Room, call: DeleteObjects) -> Deleted:
    """Remove one key."""
    (done,) = await delete_objects(room, call)
    if isinstance(done, Exception):
        raise done
    return done
