"""Connections are durable, and the library is one we can trust."""

from pathlib import Path

import pytest

from lakeshare.sqlite.connection import check_library, connect, make_durable, open_reader
from lakeshare.sqlite.errors import DatabaseError, LibraryTooOld, NetworkFileSystem
from lakeshare.sqlite.filesystem import file_system_of, refuse_network


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.7.17"])
def test_a_library_that_may_lose_commits_is_refused(version: str) -> None:
    """Versions before 3.51.3 are refused with what to install."""
    with pytest.raises(LibraryTooOld, match=r"3\.51\.3"):
        check_library(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.52.0", "4.0.0", None])
def test_a_newer_library_is_taken(version: str | None) -> None:
    """3.51.3 and newer are taken, and so is the one in use."""
    check_library(version)


def test_a_writer_is_durable(tmp_path: Path) -> None:
    """Each commit is synced, the log is a WAL, and checkpoints happen only when asked for."""
    connection = connect(tmp_path / "x.db")
    make_durable(connection)
    assert connection.pragma("journal_mode") == "wal"
    assert connection.pragma("synchronous") == 2
    assert connection.pragma("wal_autocheckpoint") == 0
    connection.close()


def test_a_reader_writes_nothing_and_makes_no_file(tmp_path: Path) -> None:
    """A reader refuses to write, and to open what is not there."""
    with pytest.raises(DatabaseError):
        open_reader(tmp_path / "x.db")
    assert not (tmp_path / "x.db").exists()
    made = connect(tmp_path / "x.db")
    make_durable(made)
    made.close()
    reader = open_reader(tmp_path / "x.db")
    with pytest.raises(Exception, match="readonly"):
        reader.execute("CREATE TABLE t(a)")
    reader.close()


MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:25 / /mnt/share rw - nfs4 server:/export rw
31 30 254:1 / /mnt/share/local rw - xfs /dev/vdb rw
32 22 0:26 / /mnt/my\\040disk rw - cifs //server/disk rw
33 22 0:27 / /over rw - cifs //server/x rw
34 22 0:28 / /over rw - tmpfs tmpfs rw
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/lib/lakeshare", "ext4"),
        ("/mnt/share/data", "nfs4"),
        ("/mnt/share", "nfs4"),
        ("/mnt/shared", "ext4"),
        ("/mnt/share/local/data", "xfs"),
        ("/mnt/my disk/data", "cifs"),
        ("/over/data", "tmpfs"),
    ],
)
def test_the_deepest_mount_holds_a_path(path: str, kind: str) -> None:
    """A path lies on the file system mounted nearest above it, the newest of those on one point."""
    assert file_system_of(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused() -> None:
    """WAL needs memory that all processes share, so a database on NFS is refused with a reason."""
    with pytest.raises(NetworkFileSystem, match="nfs4"):
        refuse_network(Path("/mnt/share/data"), MOUNTS)
    refuse_network(Path("/var/lib"), MOUNTS)


def test_this_disk_is_taken(tmp_path: Path) -> None:
    """The file system that tests run on is a local one, or the test would be in vain."""
    refuse_network(tmp_path)
