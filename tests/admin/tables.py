"""Delta tables of one commit, put into a live server's buckets by hand, for tests of what is done around them."""

import json

from tests.admin.client import Client

SCHEMA = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}
COMMIT = (
    {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
    {
        "metaData": {
            "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(SCHEMA),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": 1,
        }
    },
)


def make_bucket(root: Client, bucket: str) -> None:
    """Make a bucket."""
    answer = root.raw("PUT", f"/{bucket}")
    assert answer.status == 200, answer.body


def make_table(root: Client, bucket: str, path: str) -> None:
    """Write an empty table."""
    body = "".join(json.dumps(action) + "\n" for action in COMMIT).encode()
    answer = root.raw("PUT", f"/{bucket}/{path}/_delta_log/{0:020d}.json", body)
    assert answer.status == 200, answer.body
