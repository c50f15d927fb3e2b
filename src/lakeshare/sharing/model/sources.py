"""Remote sources: other S3 stores whose tables are shared in place, read only."""

from dataclasses import dataclass

MAX_SOURCES = 100


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """Another S3 store under a name of ours: its endpoint, and a key that may read there. The secret is sealed.

    `public_endpoint` is where recipients reach the store, if that is another address than ours to it.
    """

    name: str
    uid: str
    endpoint: str
    access_key: str
    sealed_secret: bytes
    region: str = "us-east-1"
    public_endpoint: str = ""
    path_style: bool = True
    description: str = ""
    created_at: int = 0
    created_by: str = ""
    updated_at: int = 0


def place_of_source(name: str, uid: str) -> str:
    """Name the place that a source's secret is sealed for."""
    return f"source/{name}/{uid}"
