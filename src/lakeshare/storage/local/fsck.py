"""`lakeshare fsck`: check a data directory, in use or not."""

import contextlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import apsw

from lakeshare.sqlite.backup import check_database
from lakeshare.sqlite.connection import open_reader
from lakeshare.sqlite.errors import DatabaseError
from lakeshare.sqlite.readers import snapshot
from lakeshare.storage.local.check.files import FileCheck
from lakeshare.storage.local.check.ledger import Ledger
from lakeshare.storage.local.check.report import CheckReport, ProblemKind, Progress, silent
from lakeshare.storage.local.check.rows import check_rows
from lakeshare.storage.local.layout import Layout, existing
from lakeshare.storage.local.segments import unpack

MAX_AFFECTED = 1_000
"""Keys named that have lost content."""


def check(root: Path, *, deep: bool = False, progress: Progress = silent) -> CheckReport:
    """Check a data directory; `deep` reads every payload and compares its checksum. Raises WrongLayout."""
    layout = existing(root)
    report = CheckReport()
    progress("index", 0, 1)
    try:
        for fault in check_database(layout.index):
            report.add(ProblemKind.INDEX, layout.index.name, fault)
        progress("index", 1, 1)
        _compare(layout, report, progress, deep=deep)
    except (apsw.Error, DatabaseError) as error:
        report.add(ProblemKind.INDEX, layout.index.name, f"cannot be read on: {error}")
    return report


def _compare(layout: Layout, report: CheckReport, progress: Progress, *, deep: bool) -> None:
    """Compare the rows with each other, then with the files."""
    with contextlib.closing(open_reader(layout.index)) as reader, contextlib.closing(Ledger()) as ledger:
        cursor = reader.cursor()
        with snapshot(cursor):
            check_rows(cursor, ledger, report, progress, deep=deep)
        lost = FileCheck(layout, cursor, ledger, report, deep).run(progress)
        if lost:
            report.affected.extend(islice(_affected(cursor, lost), MAX_AFFECTED))


def _affected(cursor: apsw.Cursor, lost: set[bytes]) -> Iterator[str]:
    """Name the keys that read from blobs whose bytes are lost."""
    found = cursor.execute("SELECT name || '/' || key, size, content FROM object JOIN bucket ON bucket.id = bucket_id")
    for label, size, content in found:
        if any(segment.source in lost for segment in unpack(content, size)):
            yield label
