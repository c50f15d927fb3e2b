"""The obvious sharing server: delta-rs for the list of files, botocore to sign, `json` for the lines, `http.server`.

It keeps each table open and asks it for news with each query, and sends each line as soon as it is written. It reads
logs from the local disk, and checks no token: both are in its favour.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pyarrow as pa
from botocore.config import Config
from deltalake import DeltaTable

EXPIRES_SECONDS = 3600
_GROUPS = {"null_count": "nullCount", "min": "minValues", "max": "maxValues"}


class Handler(BaseHTTPRequestHandler):
    """Answers `POST /NAME/query`."""

    protocol_version = "HTTP/1.1"
    tables: ClassVar[dict[str, DeltaTable]] = {}
    logs: ClassVar[Path]
    signer: ClassVar[Any]

    def do_GET(self) -> None:
        """Say that it is there."""
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        """Write a line for each file."""
        self.rfile.read(int(self.headers.get("content-length", 0)))
        lines = self.lines(self.path.split("/")[1])
        first = next(lines)
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self._chunk(first)
        for line in lines:
            self._chunk(line)
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, line: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line))

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the protocol, the metadata and the files of a table."""
        table = self.tables.get(name)
        if table is None:
            table = self.tables[name] = DeltaTable(str(self.logs / name))
        else:
            table.update_incremental()
        yield _line({"protocol": {"minReaderVersion": 1}})
        schema = table.schema().to_json()
        yield _line({"metaData": {"id": str(table.metadata().id), "schemaString": schema, "partitionColumns": ["day"]}})
        for batch in pa.table(table.get_add_actions()).to_batches():
            for action in batch.to_pylist():
                yield _line(self._file(name, action))

    def _file(self, name: str, action: dict[str, Any]) -> dict[str, Any]:
        key = f"{name}/{action['path']}"
        url = self.signer.generate_presigned_url(
            "get_object", {"Bucket": "lake", "Key": key}, ExpiresIn=EXPIRES_SECONDS
        )
        stats = {"numRecords": action["num_records"]} | {ours: action[theirs] for theirs, ours in _GROUPS.items()}
        return {
            "file": {
                "url": url,
                "id": hashlib.md5(action["path"].encode()).hexdigest(),
                "partitionValues": {each: str(value) for each, value in action["partition"].items()},
                "size": action["size_bytes"],
                "stats": json.dumps(stats, default=str),
            }
        }

    def log_message(self, *_: object) -> None:
        """Say nothing of each request."""


def _line(said: dict[str, Any]) -> bytes:
    return json.dumps(said).encode() + b"\n"


def main() -> None:
    """Serve the logs in a folder on a port."""
    Handler.logs = Path(sys.argv[1])
    Handler.signer = boto3.client(
        "s3",
        endpoint_url="http://127.0.0.1:9000",
        aws_access_key_id="benchmark",
        aws_secret_access_key="only-for-this-run-0123456789",
        region_name="us-east-1",
        config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
    )
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()


if __name__ == "__main__":
    main()
