"""Removing objects, one or many."""

from collections.abc import Sequence
from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.objects.model.names import object_arn
from lakeshare.objects.room import Room
from lakeshare.storage.port import Delete, Deleted


@dataclass(frozen=True, slots=True)
class DeleteObjects:
    """Keys to remove from one bucket; `quiet` leaves the successes out of the answer."""

    bucket: str
    deletes: tuple[Delete, ...]
    quiet: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed: each key on its own."""
        return tuple(
            Need("s3:DeleteObjectVersion" if item.version else "s3:DeleteObject", object_arn(self.bucket, item.key))
            for item in self.deletes
        )


async def delete_objects(room: Room, call: DeleteObjects) -> Sequence[Deleted | Exception]:
    """Remove every key, and say of each what became of it."""
    await room.store.bucket(call.bucket)
    return await room.store.delete(call.bucket, call.deletes)


async def delete_object(room: Room, call: DeleteObjects) -> Deleted:
    """Remove one key."""
    (done,) = await delete_objects(room, call)
    if isinstance(done, Exception):
        raise done
    return done
