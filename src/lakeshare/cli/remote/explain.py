"""Why a server cannot be reached, in words, with what to do about it."""

import http.client
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass

from lakeshare.cli.errors import Unreachable


@dataclass(frozen=True, slots=True)
class Where:
    """Whom a connection was for."""

    host: str
    port: int
    tls: bool
    proxy: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}" + (f" (by the proxy {self.proxy})" if self.proxy else "")


def explain(reason: Exception, where: Where) -> Unreachable:
    """Say why a server cannot be reached."""
    for kind, say in _CAUSES:
        if isinstance(reason, kind) and (said := say(reason, where)) is not None:
            return said
    return Unreachable(f"{where} cannot be reached: {reason}")


def _untrusted(reason: Exception, where: Where) -> Unreachable:
    said = getattr(reason, "verify_message", "") or str(reason)
    return Unreachable(
        f"the certificate of {where} is not trusted: {said}",
        "Name its authority with --ca-cert FILE or REQUESTS_CA_BUNDLE; --insecure skips the check.",
    )


def _tls(reason: Exception, where: Where) -> Unreachable:
    if "WRONG_VERSION_NUMBER" in str(reason) or "HTTP_REQUEST" in str(reason):
        return Unreachable(f"{where} does not speak TLS", "Set the alias again with http:// in place of https://.")
    return Unreachable(f"TLS with {where} failed: {getattr(reason, 'reason', None) or reason}")


def _refused(reason: Exception, where: Where) -> Unreachable:
    del reason
    step = "Start the server (lakeshare server FOLDER), or set the alias again."
    return Unreachable(f"nobody listens at {where}", step)


def _unknown(reason: Exception, where: Where) -> Unreachable:
    del reason
    return Unreachable(f"the host {where.proxy or where.host} is not known", "Check the URL in `lakeshare alias list`.")


def _late(reason: Exception, where: Where) -> Unreachable:
    del reason
    return Unreachable(f"{where} did not answer in time", "Check that a firewall lets you through, and try again.")


def _silent(reason: Exception, where: Where) -> Unreachable:
    del reason
    step = "" if where.tls else "If the server speaks TLS, set the alias again with https://."
    return Unreachable(f"{where} closed the connection without an answer", step)


def _garbled(reason: Exception, where: Where) -> Unreachable:
    return Unreachable(f"{where} does not answer in HTTP: {type(reason).__name__}")


_CAUSES: tuple[tuple[type[Exception], Callable[[Exception, Where], Unreachable | None]], ...] = (
    (ssl.SSLCertVerificationError, _untrusted),
    (ssl.SSLError, _tls),
    (ConnectionRefusedError, _refused),
    (socket.gaierror, _unknown),
    (TimeoutError, _late),
    (http.client.BadStatusLine, _silent),
    (ConnectionResetError, _silent),
    (BrokenPipeError, _silent),
    (http.client.HTTPException, _garbled),
)
"""Causes in the order in which they are tried: the narrower before the wider."""
