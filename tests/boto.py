"""boto3 clients of a live server, which send each request once, so that no retry hides a failure."""

from typing import Any

import boto3
from botocore.config import Config

from tests.live import LiveServer


def boto_client(
    server: LiveServer, access_key: str = "", secret_key: str = "", token: str | None = None, *, service: str = "s3",
    **more: Any,
) -> Any:  # fmt: skip
    """Make a client with a key, root's if none is given; `more` are options of botocore's `Config`."""
    options = {"retries": {"total_max_attempts": 1}, "s3": {"addressing_style": "path"}} | more
    return boto3.client(
        service,
        endpoint_url=server.endpoint,
        aws_access_key_id=access_key or server.access_key,
        aws_secret_access_key=secret_key or server.secret_key,
        aws_session_token=token,
        region_name="us-east-1",
        verify=str(server.ca_file) if server.ca_file else None,
        config=Config(**options),
    )
