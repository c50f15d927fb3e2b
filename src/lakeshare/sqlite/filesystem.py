"""Which file systems can hold a database that several processes share.

WAL keeps its index in shared memory, so every process must be on one host and see one page cache.
"""

from pathlib import Path

from lakeshare.sqlite.errors import NetworkFileSystem

MOUNTS = Path("/proc/self/mountinfo")
NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.glusterfs", "fuse.sshfs", "lustre"}
)


def refuse_network(path: Path, mounts: str | None = None) -> None:
    """Raise NetworkFileSystem when `path` lies on one; where mounts cannot be listed, believe in the disk."""
    if mounts is None:
        if not MOUNTS.exists():
            return
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape")
    found = file_system_of(path.resolve(), mounts)
    if found in NETWORK_TYPES:
        raise NetworkFileSystem(path, found)


def file_system_of(path: Path, mounts: str) -> str:
    """Find the type of the file system that holds `path`: the deepest mount wins, the later of equals."""
    best, kind = -1, ""
    for line in mounts.splitlines():
        head, separator, tail = line.partition(" - ")
        fields = head.split(" ")
        if not separator or len(fields) < 5:
            continue
        point = Path(fields[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\"))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), tail.split(" ")[0]
    return kind
