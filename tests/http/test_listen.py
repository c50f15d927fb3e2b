"""Addresses, and sockets bound to them."""

import socket

import pytest

from lakeshare.http.listen import Address, AddressInUse, BadAddress, listen


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("127.0.0.1:9000", "127.0.0.1", 9000),
        (":9000", "", 9000),
        ("[::1]:9000", "::1", 9000),
        ("localhost:0", "localhost", 0),
    ],
)
def test_addresses_are_read_and_written_alike(text: str, host: str, port: int):
    """What is parsed prints as it was written."""
    address = Address.parse(text)
    assert (address.host, address.port) == (host, port)
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "9000", "host:", "host:port", "host:70000", "::1:9000", "host:-1", "host:٣"])
def test_bad_addresses_say_what_to_write(text: str):
    """An address that cannot be meant is refused with the forms that can."""
    with pytest.raises(BadAddress, match=r"write"):
        Address.parse(text)


def test_an_unknown_host_is_reported():
    """A name that nobody knows is an error that names it."""
    with pytest.raises(BadAddress, match=r"no-such-host\.invalid"):
        listen(Address("no-such-host.invalid", 0), 1)


@pytest.mark.parametrize("spread", [True, False])
def test_each_worker_gets_sockets_on_one_port(spread: bool):
    """All workers listen on the port that was found for port 0."""
    listeners = listen(Address("127.0.0.1", 0), 3, spread=spread)
    ports = {sock.getsockname()[1] for sockets in listeners.each for sock in sockets}
    listeners.close()
    assert len(listeners.each) == 3
    assert ports == {listeners.address.port}


@pytest.mark.parametrize("spread", [True, False])
def test_an_address_in_use_is_an_error_that_says_what_to_do(spread: bool):
    """A second server on the same port fails, even as the same user with the same options."""
    first = listen(Address("127.0.0.1", 0), 2, spread=spread)
    with pytest.raises(AddressInUse, match=r"address in use: 127\.0\.0\.1:\d+; .* --address"):
        listen(first.address, 2, spread=spread)
    first.close()


def test_a_port_is_free_as_soon_as_its_sockets_are_closed():
    """A restart need not wait for old connections to be forgotten."""
    first = listen(Address("127.0.0.1", 0), 1)
    client = socket.create_connection(("127.0.0.1", first.address.port))
    accepted = first.each[0][0].accept()[0]
    accepted.close()
    first.close()
    second = listen(first.address, 1)
    second.close()
    client.close()


def test_every_interface_means_both_families():
    """An empty host listens on IPv4 and, where there is one, on IPv6."""
    listeners = listen(Address("", 0), 1)
    families = {sock.family for sock in listeners.each[0]}
    listeners.close()
    assert socket.AF_INET in families
    assert families <= {socket.AF_INET, socket.AF_INET6}
