"""When a transaction cannot be made durable, nobody in it is told anything else."""

import asyncio

import apsw
import pytest

from lakeshare.storage.errors import ConditionFailed, StoreFailed
from lakeshare.storage.local.fsck import check
from lakeshare.storage.port import Condition


class FailingDisk(apsw.VFS):
    """A disk on which syncs of the log fail while it is told to."""

    failing = False

    def __init__(self):
        self.below = apsw.vfs_names()[0]
        super().__init__("failing disk", self.below, makedefault=True)

    def xOpen(self, name, flags):  # noqa: N802 (SQLite's name)
        return FailingFile(self.below, name, flags)


class FailingFile(apsw.VFSFile):
    def __init__(self, base, name, flags):
        super().__init__(base, name, flags)
        self.name = name.filename() if isinstance(name, apsw.URIFilename) else str(name)

    def xSync(self, flags):  # noqa: N802 (SQLite's name)
        if FailingDisk.failing and self.name.endswith("-wal"):
            raise apsw.IOError("Input/output error")
        super().xSync(flags)


@pytest.fixture
def failing_disk():
    disk = FailingDisk()
    yield FailingDisk
    FailingDisk.failing = False
    disk.unregister()


async def test_a_commit_that_fails_fails_all_of_it(failing_disk, local, tmp_path):
    """Racers for a key whose winner could not be made durable are all told that the disk failed, not that they lost."""
    await local.put("before", b"x")
    failing_disk.failing = True
    racers = [local.put("k", b"%d" % number, condition=Condition(absent=True)) for number in range(8)]
    done = await asyncio.gather(*racers, return_exceptions=True)
    assert [type(one) for one in done] == [StoreFailed] * 8
    failing_disk.failing = False
    await local.put("k", b"after", condition=Condition(absent=True))
    with pytest.raises(ConditionFailed):
        await local.put("k", b"again", condition=Condition(absent=True))
    assert await local.read("before") == b"x"
    assert check(tmp_path / "data", deep=True).clean
