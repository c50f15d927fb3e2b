"""The first step of the quickstart that users of table sharing know, typed as they type it."""

import subprocess
import sys
from pathlib import Path

from tests.live import clean_environment, running

CREATE_TABLE = """\
import pandas as pd
from deltalake import write_deltalake
from minio import Minio

ENDPOINT = "localhost:9000"
ACCESS_KEY = "minioadmin"
SECRET_KEY = "minioadmin"

client = Minio(ENDPOINT, access_key=ACCESS_KEY, secret_key=SECRET_KEY, secure=False)
if not client.bucket_exists("analytics"):
    client.make_bucket("analytics")

data = {
    "id": [1, 2, 3, 4, 5],
    "name": ["Alice", "Bob", "Carol", "David", "Eve"],
    "department": ["Engineering", "Sales", "Engineering", "Marketing", "Sales"],
    "salary": [95000, 65000, 110000, 72000, 68000],
}

write_deltalake(
    "s3://analytics/employees/",
    pd.DataFrame(data),
    mode="overwrite",
    storage_options={
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_ENDPOINT_URL": f"http://{ENDPOINT}",
        "AWS_ALLOW_HTTP": "true",
    },
)
print("Delta table created at s3://analytics/employees/")
"""

READ_TABLE = """
from deltalake import DeltaTable
options = {
    "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
    "AWS_ENDPOINT_URL": f"http://{ENDPOINT}", "AWS_ALLOW_HTTP": "true",
}
print(sum(DeltaTable("s3://analytics/employees/", storage_options=options).to_pandas()["salary"]))
"""


def test_the_first_step_works_as_it_is_written(tmp_path: Path):
    """A bucket and a table are made by the script of the quickstart, twice, with its own well-known keys."""
    settings = {"MINIO_ROOT_USER": "minioadmin", "MINIO_ROOT_PASSWORD": "minioadmin"}
    with running(tmp_path / "data", credentials=None, environment=settings) as server:
        script = (CREATE_TABLE + READ_TABLE).replace("localhost:9000", f"localhost:{server.port}")
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", script], env=clean_environment(), capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout.splitlines() == ["Delta table created at s3://analytics/employees/", "410000"]
        assert "minioadmin" in server.log_since(0), "the well-known pair is used without a warning"
