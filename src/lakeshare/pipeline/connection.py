"""How a job reaches a server: a value, made from an alias by whoever starts the job."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from lakeshare.settings import Secret

NO_SECRET = Secret("")
CATALOG_PATH = "/_iceberg"


@dataclass(frozen=True, slots=True)
class Connection:
    """A server, and the key that requests to it are signed with."""

    endpoint: str
    access_key: str
    secret: Secret
    session_token: Secret = NO_SECRET
    region: str = "us-east-1"
    ca_file: str = ""

    @property
    def is_encrypted(self) -> bool:
        """Say whether the server is reached over TLS."""
        return urlsplit(self.endpoint).scheme == "https"

    @property
    def catalog(self) -> str:
        """The URL of the Iceberg REST catalog."""
        return self.endpoint.rstrip("/") + CATALOG_PATH
