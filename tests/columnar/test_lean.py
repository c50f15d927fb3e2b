"""Processes of the server's own load no pandas."""

import subprocess
import sys

PROGRAM = """
import sys
from lakeshare.columnar.lean import stay_lean
stay_lean()
stay_lean()
import pyarrow as pa
from datafusion import SessionContext
assert pa.array(["a", None]).null_count == 1
assert [batch.to_pyarrow().num_rows for batch in SessionContext().sql("select 1").execute_stream()] == [1]
assert "pandas" not in sys.modules
import csv
"""


def test_pandas_is_not_loaded():
    """Where it is told to, a process makes arrays and queries without pandas, and loads everything else."""
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
