"""Listening sockets: `host:port`, `:port` and `[v6]:port`, bound for several workers, with errors that help.

Each worker has sockets of its own (SO_REUSEPORT). On Linux the kernel then deals connections out by their hash;
with one shared socket the worker that wakes first takes a whole burst.
"""

import errno
import os
import socket
import sys
from dataclasses import dataclass

from lakeshare.errors import Kind, LakeshareError

BACKLOG = 2048
SPREAD = sys.platform == "linux"
"""Whether SO_REUSEPORT spreads connections; elsewhere one socket would get them all, so workers share it."""


class BadAddress(LakeshareError):
    """An address cannot be listened on as it is written."""

    kind = Kind.INVALID


class AddressInUse(LakeshareError):
    """Another process listens on the address."""

    kind = Kind.CONFLICT

    def __init__(self, address: "Address") -> None:
        super().__init__(
            f"address in use: {address}; another process listens there: stop it, or choose another with --address"
        )
        self.address = address


@dataclass(frozen=True, slots=True)
class Address:
    """A host, empty for every interface, and a port, 0 for any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `127.0.0.1:9000`, `localhost:9000`, `:9000` or `[::1]:9000`."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise BadAddress(f"{text!r} is no address: write host:port, :port or [v6]:port")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise BadAddress(f"{text!r} is ambiguous: write an IPv6 address in brackets, such as [::1]:9000")
        return cls(host, int(port))

    def __str__(self) -> str:
        """Write the address as `parse` reads it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Listeners:
    """The sockets of each worker, and the address they ended up on."""

    address: Address
    each: tuple[tuple[socket.socket, ...], ...]

    def close(self) -> None:
        """Close every socket."""
        for sockets in self.each:
            for sock in sockets:
                sock.close()


def listen(address: Address, workers: int, *, spread: bool = SPREAD) -> Listeners:
    """Bind an address for a number of workers."""
    claims = _claim(address)
    port = claims[0].getsockname()[1]
    found = Address(address.host, port)
    if not spread:
        for sock in claims:
            sock.listen(BACKLOG)
        return Listeners(found, (tuple(claims),) * workers)
    names = [(sock.family, sock.getsockname()) for sock in claims]
    for sock in claims:
        sock.close()
    return Listeners(found, tuple(tuple(_own(family, name, found) for family, name in names) for _ in range(workers)))


def _own(family: int, name: tuple[object, ...], address: Address) -> socket.socket:
    sock = _bound(family, name, address, reuse_port=True)
    sock.listen(BACKLOG)
    return sock


def _claim(address: Address) -> list[socket.socket]:
    """Bind each place of an address for ourselves alone: it fails where any other process listens."""
    sockets: list[socket.socket] = []
    port = address.port
    for family, host in _places(address):
        sockets.append(_bound(family, (host, port), address, reuse_port=False))
        port = port or sockets[0].getsockname()[1]
    return sockets


def _places(address: Address) -> list[tuple[int, str]]:
    if not address.host:
        everywhere: list[tuple[int, str]] = [(socket.AF_INET, "0.0.0.0")]  # noqa: S104 - asked for by the operator
        return [*everywhere, (socket.AF_INET6, "::")] if _has_ipv6() else everywhere
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as reason:
        raise BadAddress(f"cannot find {address.host!r}: {reason.strerror}") from None
    return [*dict.fromkeys((int(family), str(name[0])) for family, _, _, _, name in found)]


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


def _bound(family: int, name: tuple[object, ...], address: Address, *, reuse_port: bool) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if reuse_port:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(name)
    except OSError as reason:
        sock.close()
        if reason.errno == errno.EADDRINUSE:
            raise AddressInUse(address) from None
        raise BadAddress(f"cannot listen on {address}: {os.strerror(reason.errno or 0)}") from None
    sock.settimeout(0)
    return sock
