"""Copies decide by what the key has when they are published, not by what was read before."""

import pytest

from lakeshare.objects.errors import DeltaCommitExists
from lakeshare.objects.model.names import Source
from lakeshare.objects.operations.intake import Body
from lakeshare.objects.operations.write import CopyObject, PutObject, copy_object, put_object
from lakeshare.objects.room import Owner, Room
from lakeshare.storage.errors import ConditionFailed
from lakeshare.storage.memory import MemoryStore
from lakeshare.storage.port import ALWAYS, Condition, Delete, Facts

COMMIT = "t/_delta_log/00000000000000000000.json"


class Hurried(MemoryStore):
    """A store where somebody else is always quicker: what waits is done once a head was read."""

    waiting = None

    async def head(self, *args):
        """Read a head, then let the other go on."""
        info = await super().head(*args)
        waiting, self.waiting = self.waiting, None
        if waiting is not None:
            await waiting
        return info


async def put(room, data):
    async def chunks():
        yield data

    await put_object(room, PutObject("b", COMMIT, Facts("text/plain")), Body(chunks(), len(data)))


async def anew(room, data):
    await room.store.delete("b", [Delete(COMMIT)])
    await put(room, data)


@pytest.fixture
async def room():
    """A room with one commit in it."""
    store = Hurried()
    await store.create_bucket("b")
    made = Room(store, Owner("id", "name"), "us-east-1")
    await put(made, b"first")
    return made


def onto_itself(condition=ALWAYS):
    return CopyObject("b", COMMIT, Source("b", COMMIT), facts=Facts("application/json"), condition=condition)


async def test_a_commit_may_get_other_metadata(room):
    """A copy of a commit onto itself changes what is said of it, and no byte."""
    assert (await copy_object(room, onto_itself())).facts.content_type == "application/json"


@pytest.mark.parametrize("condition", [ALWAYS, Condition(etag="*")])
async def test_metadata_never_brings_an_older_commit_back(room, condition):
    """A commit that is made anew while a copy onto itself is under way stays as the other made it."""
    room.store.waiting = anew(room, b"second")
    with pytest.raises(ConditionFailed):
        await copy_object(room, onto_itself(condition))
    assert (await room.store.head("b", COMMIT)).size == len(b"second")
    assert (await room.store.head("b", COMMIT)).facts.content_type == "text/plain"


async def test_a_commit_is_not_overwritten(room):
    """Other bytes under a commit's name are refused."""
    with pytest.raises(DeltaCommitExists):
        await put(room, b"second")
