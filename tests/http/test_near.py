"""The send buffers of near and far peers."""

import socket
import sys
from collections.abc import Iterator

import pytest

from lakeshare.http import near
from lakeshare.http.near import SEND_BYTES, bound_buffer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how near a peer is as read here")


@pytest.fixture
def accepted() -> Iterator[socket.socket]:
    """Give the server's end of a connection over loopback."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_connection(listening.getsockname()):
        sock, _ = listening.accept()
        with sock:
            yield sock


def buffer_of(sock: socket.socket) -> int:
    """Return the size of a send buffer, which Linux doubles when it is set."""
    return sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)


def test_a_near_peer_is_sent_to_from_a_small_buffer(accepted, monkeypatch):
    """A peer within the bound of nearness has its buffer bounded."""
    monkeypatch.setattr(near, "NEAR_MICROSECONDS", 60_000_000)
    bound_buffer(accepted.fileno())
    assert buffer_of(accepted) <= 2 * SEND_BYTES
    before = buffer_of(accepted)
    accepted.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
    assert buffer_of(accepted) == before


def test_a_far_peer_keeps_the_kernels_buffer(accepted, monkeypatch):
    """A peer beyond the bound of nearness has its buffer left alone."""
    monkeypatch.setattr(near, "NEAR_MICROSECONDS", 0)
    before = buffer_of(accepted)
    bound_buffer(accepted.fileno())
    assert buffer_of(accepted) == before


def test_a_socket_that_is_not_tcp_is_left_alone():
    """A socket whose distance cannot be asked for keeps its buffer, and nothing fails."""
    first, second = socket.socketpair()
    with first, second:
        before = buffer_of(first)
        bound_buffer(first.fileno())
        assert buffer_of(first) == before
