"""Building a part of a large checkpoint in a process of its own.

The work takes seconds of both processors and hundreds of megabytes, which engines give back late. In a child it takes
nothing from the requests beside it, and all of it is given back when it ends.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lakeshare.columnar.bounds import BoundColumn, TableShape
from lakeshare.columnar.checkpoint import SMALL_BYTES, rows_of_files
from lakeshare.columnar.lean import stay_lean
from lakeshare.columnar.part import write_part
from lakeshare.columnar.predicate import ValueKind
from lakeshare.columnar.source import DESCRIPTORS, Blob, FileGone, Unreadable, local_path, size_of
from lakeshare.errors import Kind, LakeshareError

APART_BYTES = SMALL_BYTES
"""A checkpoint of up to this size is built where it is asked for, which never takes datafusion."""
TIMEOUT_SECONDS = 900


class BuildFailed(LakeshareError):
    """The process that was to read a checkpoint ended without having done so."""

    kind = Kind.UNAVAILABLE

    def __init__(self, reason: str) -> None:
        super().__init__(f"the table's checkpoint could not be read: {reason}")


def build_part(path: Path, blobs: Sequence[Blob], shape: TableShape) -> None:
    """Write the part of a whole checkpoint. Heavy. Raises Unreadable, FileGone, BuildFailed."""
    if sum(size_of(blob) for blob in blobs) <= APART_BYTES:
        write_part(path, rows_of_files(blobs), shape)
    else:
        _build_apart(path, blobs, shape)


def _build_apart(path: Path, blobs: Sequence[Blob], shape: TableShape) -> None:
    with ExitStack() as stack:
        paths = [stack.enter_context(local_path(blob)) for blob in blobs]
        order = {
            "path": str(path),
            "blobs": [{"name": blob.name, "path": place} for blob, place in zip(blobs, paths, strict=True)],
            "columns": [_column_order(column) for column in shape.columns],
        }
        inherited = [int(place.removeprefix(DESCRIPTORS)) for place in paths if place.startswith(DESCRIPTORS)]
        try:
            done = subprocess.run(  # noqa: S603 - this very module, by this very interpreter.
                [sys.executable, "-P", "-m", __name__],
                input=json.dumps(order).encode(),
                capture_output=True,
                pass_fds=inherited,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BuildFailed(f"it took more than {TIMEOUT_SECONDS} seconds") from None
    if done.returncode:
        raise _failure(done)


def _failure(done: "subprocess.CompletedProcess[bytes]") -> LakeshareError:
    try:
        told = json.loads(done.stdout)
    except ValueError:
        last = done.stderr.decode(errors="replace").strip().rsplit("\n", 1)[-1]
        return BuildFailed(f"the process ended with status {done.returncode}: {last}")
    return FileGone(told["name"]) if told["reason"] is None else Unreadable(told["name"], told["reason"])


def _column_order(column: BoundColumn) -> dict[str, Any]:
    return {
        "name": column.name,
        "physical": column.physical,
        "kind": column.kind.value,
        "type_name": column.type_name,
        "partition": column.partition,
    }


def _column(order: dict[str, Any]) -> BoundColumn:
    return BoundColumn(
        name=tuple(order["name"]),
        physical=tuple(order["physical"]),
        kind=ValueKind(order["kind"]),
        type_name=order["type_name"],
        partition=order["partition"],
    )


def main() -> int:
    """Take an order from standard input, and carry it out; what was wrong with a file is told on standard output."""
    stay_lean()
    order = json.load(sys.stdin)
    shape = TableShape(tuple(_column(column) for column in order["columns"]))
    blobs = [Blob(item["name"], path=item["path"]) for item in order["blobs"]]
    try:
        write_part(Path(order["path"]), rows_of_files(blobs), shape)
    except Unreadable as wrong:
        json.dump({"name": wrong.name, "reason": wrong.reason}, sys.stdout)
        return 1
    except FileGone as wrong:
        json.dump({"name": wrong.name, "reason": None}, sys.stdout)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
