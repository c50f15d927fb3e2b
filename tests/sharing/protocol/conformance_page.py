"""Reads golden tables and tables of Spark through a share, and writes `docs/delta-conformance.md`."""

import os
import sys
import tempfile
import warnings
from pathlib import Path

from lakeshare.pipeline.errors import NoSpark
from lakeshare.pipeline.java import find_java
from tests.formats.delta.conformance import tables, unpack
from tests.live import running
from tests.sharing.protocol.golden import UNLIMITED, examine, report
from tests.sharing.protocol.provider import Provider
from tests.sharing.protocol.spark_conformance import examine_spark, page
from tests.vectors import DELTA_GOLDEN

ROOT = Path(__file__).parents[3]


def main() -> int:
    """Write the page, and fail where a table is read otherwise."""
    cache = Path(os.environ.get("LAKESHARE_CACHE") or ROOT / ".cache").resolve()
    if not DELTA_GOLDEN.exists():
        sys.stderr.write("this needs the golden tables beside the repository\n")
        return 1
    try:
        java = find_java(cache)
    except NoSpark as missing:
        sys.stderr.write(f"{missing.message}. {missing.next_step}\n")
        return 1
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        folder = unpack(work / "golden")
        with running(work / "data", environment=UNLIMITED) as server:
            found = list(examine(Provider(server, "golden"), folder, tables(folder), work))
            sys.stderr.write(f"{len(found)} golden tables are read; Spark comes next\n")
            spark = examine_spark(Provider(server, "spark"), work, cache, java, ROOT)
    where = ROOT / "docs" / "delta-conformance.md"
    where.write_text(report(found) + "\n".join(page(spark)) + "\n")
    bad = [f"  {each.table}\n" for each in (*found, *spark) if not each.good]
    sys.stderr.write("".join([f"{len(found) + len(spark)} tables, {len(bad)} differ: {where}\n", *bad]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
