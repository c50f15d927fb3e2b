"""Policy documents as commands read them: from a file, or from standard input."""

import json
import sys
from pathlib import Path
from typing import Any

from lakeshare.cli.errors import ClientError, Missing

DOCUMENT_LIMIT_BYTES = 1024**2
"""Largest document that is read; the server's own limit is far lower."""


def read_document(name: str) -> dict[str, Any]:
    """Read a JSON object from a file; `-` is standard input."""
    try:
        if name == "-":
            text = sys.stdin.read(DOCUMENT_LIMIT_BYTES)
        else:
            with Path(name).expanduser().open(encoding="utf-8") as file:
                text = file.read(DOCUMENT_LIMIT_BYTES)
    except FileNotFoundError:
        raise Missing(f"there is no file {name}") from None
    except (OSError, UnicodeDecodeError) as reason:
        raise ClientError(f"{name} cannot be read: {reason}") from None
    try:
        document = json.loads(text)
    except ValueError as reason:
        raise ClientError(f"{name} is not JSON: {reason}", "docs/identity.md shows how a policy is written.") from None
    if not isinstance(document, dict):
        raise ClientError(f"{name} is no policy: it is not a JSON object")
    return document
