"""Files that hold a secret: readable by their owner alone, or refused; written whole and durably, or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lakeshare.errors import LakeshareError

_OTHERS = 0o077


def read_private(path: Path, limit_bytes: int, unusable: type[LakeshareError]) -> bytes | None:
    """Return a file's first bytes, one more than the limit at most; None where there is none. Raises `unusable`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as reason:
        raise unusable(f"{path} cannot be read: {reason.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(descriptor).st_mode & _OTHERS:
            raise unusable(f"others may read {path}: run chmod 600 {path}")
        return file.read(limit_bytes + 1)


def create_private(path: Path, content: bytes, unusable: type[LakeshareError]) -> bool:
    """Make a file, and say so; if another process was first, its file stays. Raises `unusable`."""
    with _draft(path, content, unusable) as draft:
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return False
        _sync_folder(path)
        return True


def replace_private(path: Path, content: bytes, unusable: type[LakeshareError]) -> None:
    """Put a file in place of the one that is there. Raises `unusable`."""
    with _draft(path, content, unusable) as draft:
        draft.replace(path)
        _sync_folder(path)


@contextmanager
def _draft(path: Path, content: bytes, unusable: type[LakeshareError]) -> Iterator[Path]:
    """Write a file beside the path durably; it is gone afterwards."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        yield draft
    except OSError as reason:
        raise unusable(f"{path} cannot be written: {reason.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
