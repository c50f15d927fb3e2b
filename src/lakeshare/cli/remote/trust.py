"""Which certificates are trusted: those of a file, of the environment's bundles, or of the system."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lakeshare.cli.errors import ClientError

VARIABLES = ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
"""Environment variables that name a bundle, the one that wins first."""


@dataclass(frozen=True, slots=True)
class Trust:
    """A bundle of authorities and where it was named; no bundle means the system's."""

    bundle: str = ""
    named_by: str = ""
    insecure: bool = False

    @classmethod
    def of(cls, chosen: str, environ: Mapping[str, str], *, insecure: bool) -> "Trust":
        """Find the bundle: the one chosen, or the environment's."""
        if chosen:
            return cls(chosen, "--ca-cert", insecure)
        for name in VARIABLES:
            if environ.get(name):
                return cls(environ[name], name, insecure)
        return cls(insecure=insecure)

    def context(self) -> ssl.SSLContext:
        """Return what TLS connections are made with."""
        if self.insecure:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        if not self.bundle:
            return ssl.create_default_context()
        place = Path(self.bundle).expanduser()
        try:
            if place.is_dir():
                return ssl.create_default_context(capath=str(place))
            return ssl.create_default_context(cafile=str(place))
        except FileNotFoundError:
            raise ClientError(f"{self.named_by} names {self.bundle}, which is not there") from None
        except (ssl.SSLError, OSError) as reason:
            raise ClientError(f"{self.named_by} names {self.bundle}, which holds no certificates: {reason}") from None
