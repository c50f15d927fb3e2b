"""Vectors that are too large for the repository: they lie beside it, in ../shared, or tests that need them skip."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "shared" / "vectors"
S3_REQUESTS = FOLDER / "s3-requests"
"""Requests of real clients, as they were sent."""
DELTA_GOLDEN = FOLDER / "delta-golden.tar.xz"
"""Delta tables of many shapes, and what is in them."""
ICEBERG_OPENAPI = FOLDER / "iceberg-rest-open-api.yaml"
"""The catalog's official description."""


def needs(vectors: Path) -> pytest.MarkDecorator:
    """Skip a test where its vectors are not."""
    reason = f"needs {vectors.name} in ../shared/vectors, beside the repository"
    return pytest.mark.skipif(not vectors.exists(), reason=reason)
