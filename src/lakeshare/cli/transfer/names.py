"""Keys as file names: a key never leads outside the folder that was named as the target."""

import os
from collections.abc import Iterator
from pathlib import Path

from lakeshare.cli.errors import ClientError


class NoFileName(ClientError):
    """A key cannot be the name of a file below the target."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(
            f"{key!r} is no name for a file here: {reason}",
            "Copy it by itself, to a file that you name: lakeshare cp ALIAS/BUCKET/KEY FILE",
        )


def inside(folder: str, relative: str, key: str) -> str:
    """Return the path of a key below a folder; raises NoFileName where it would lie elsewhere or share a name."""
    segments = relative.split("/")
    if "\0" in relative:
        raise NoFileName(key, "it holds a zero byte")
    if "" in segments:
        raise NoFileName(key, "two slashes follow each other, or it begins or ends with one")
    if "." in segments or ".." in segments:
        raise NoFileName(key, "`.` and `..` lead to other folders")
    path = os.path.join(folder, *segments)  # noqa: PTH118 - a folder as it was typed
    root, parent = os.path.realpath(folder), os.path.realpath(os.path.dirname(path))  # noqa: PTH120
    if parent != root and not parent.startswith(root.rstrip("/") + "/"):
        raise NoFileName(key, f"a symbolic link leads to {parent}, outside the target")
    return path


def walk(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files below a folder, relative to it, in the order in which S3 lists keys.

    A link to a file is read as the file; a link to a folder is not followed, since it may lead in circles.
    """
    yield from _walk(Path(folder), "")


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(folder) as found:
            entries = [(entry, entry.is_dir(follow_symlinks=False)) for entry in found]
    except OSError as reason:
        raise ClientError(f"{folder} cannot be read: {reason.strerror}") from None
    entries.sort(key=lambda item: os.fsencode(item[0].name + ("/" if item[1] else "")))
    for entry, is_folder in entries:
        if is_folder:
            yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")
        elif entry.is_file():
            yield prefix + entry.name, entry.stat()
