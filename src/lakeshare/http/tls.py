"""The server's certificate: a context for TLS 1.2 and newer, replaced while connections go on.

New connections are moved to the newest context when their handshake begins; a pair of files that does not fit
together is reported and leaves the one in use alone.
"""

import logging
import ssl
from pathlib import Path
from typing import Any

from lakeshare.errors import Kind, LakeshareError
from lakeshare.settings import Settings

_log = logging.getLogger("lakeshare.http")

Stamp = tuple[tuple[int, int, int], ...]


class BadCertificate(LakeshareError):
    """The certificate and key files cannot be used."""

    kind = Kind.INVALID

    def __init__(self, cert: str, key: str, reason: str) -> None:
        super().__init__(f"cannot use the certificate {cert} with the key {key}: {reason}")


class Tls:
    """A certificate chain and its key, in files that may be replaced at any time."""

    def __init__(self, cert: str, key: str) -> None:
        self._cert = cert
        self._key = key
        self._stamp = self._look()
        self._newest = self._load()
        self.context = self._load()
        self.context.sni_callback = self._move

    @classmethod
    def of(cls, settings: Settings) -> "Tls | None":
        """Return the TLS that the settings ask for, if any."""
        if not settings.tls_cert and not settings.tls_key:
            return None
        if not settings.tls_cert or not settings.tls_key:
            raise BadCertificate(settings.tls_cert or "(none)", settings.tls_key or "(none)", "both are needed")
        return cls(settings.tls_cert, settings.tls_key)

    def reload(self) -> bool:
        """Read the files again, and say whether they are in use now."""
        stamp = self._look()
        try:
            self._newest = self._load()
        except BadCertificate as error:
            _log.error("certificate not reloaded", extra={"reason": error.message})
            return False
        finally:
            self._stamp = stamp
        _log.info("certificate reloaded", extra={"file": self._cert})
        return True

    def reload_if_changed(self) -> None:
        """Read the files again if either is another than before."""
        if self._look() != self._stamp:
            self.reload()

    def _move(self, connection: Any, _name: str | None, _context: ssl.SSLContext) -> None:
        connection.context = self._newest

    def _look(self) -> Stamp:
        return tuple(_stamp(path) for path in (self._cert, self._key))

    def _load(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(self._cert, self._key)
        except (OSError, ssl.SSLError) as reason:
            raise BadCertificate(self._cert, self._key, str(reason)) from None
        return context


def _stamp(path: str) -> tuple[int, int, int]:
    try:
        found = Path(path).stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)
