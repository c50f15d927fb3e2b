"""Delta logs, written commit by commit into a store in memory."""

import json

from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import Put


async def write(store: MemoryStore, version: int, *actions: object) -> None:
    """Write a commit of the table `t` in the bucket `lake`."""
    async with store.stage(frozenset()) as staging:
        await staging.write("".join(json.dumps(action) + "\n" for action in actions).encode())
        await store.put(Put("lake", f"t/_delta_log/{version:020d}.json"), staging)


def add(path: str, size: int = 1) -> dict[str, dict[str, object]]:
    """Return an action that adds a file."""
    return {"add": {"path": path, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}}
