"""Peers on the same machine or in the same hall: they are sent to from a small buffer.

The kernel lets a connection's send buffer grow to megabytes, which only a far peer needs. For a near one what was
prepared long ago has left the processor's cache when it is sent: a bound made large downloads a third cheaper, and
twice as fast over loopback. A far peer's buffer is the kernel's to choose, so that long ways stay full.
"""

import math
import socket
import struct

from lakeshare.http.connection import borrowed

NEAR_MICROSECONDS = 500
"""A peer whose quickest answer came within this is near."""

SEND_BYTES = 256 * 1024
"""What may be on its way to a near peer, doubled by the kernel: a gigabyte a second at the largest such distance."""

_INFO_BYTES = 152
_MIN_RTT = struct.Struct("I")
_MIN_RTT_AT = 148
"""Where Linux's tcp_info has the shortest round trip so far, which the handshake has measured."""


def bound_buffer(socket_fd: int) -> None:
    """Bound the send buffer of a connection if its peer is near; where that cannot be known, leave it."""
    with borrowed(socket_fd) as sock:
        if _min_rtt(sock) < NEAR_MICROSECONDS:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)


def _min_rtt(sock: socket.socket) -> float:
    if not hasattr(socket, "TCP_INFO"):
        return math.inf
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except OSError:
        return math.inf  # Not TCP, or the peer is gone already.
    return int(_MIN_RTT.unpack_from(info, _MIN_RTT_AT)[0]) if len(info) == _INFO_BYTES else math.inf
