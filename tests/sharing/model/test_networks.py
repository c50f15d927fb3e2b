"""Where a recipient may come from."""

import pytest

from lakeshare.sharing.errors import BadName
from lakeshare.sharing.model.recipients import Recipient, check_networks


def coming(*networks: str) -> Recipient:
    return Recipient("id", "acme", networks=networks)


@pytest.mark.parametrize(
    ("networks", "peer", "admitted"),
    [
        ((), "198.51.100.1", True),
        (("192.0.2.0/24",), "192.0.2.7", True),
        (("192.0.2.0/24",), "192.0.3.7", False),
        (("192.0.2.7/32", "2001:db8::/32"), "2001:db8::9", True),
        (("192.0.2.0/24",), "::ffff:192.0.2.7", True),
        (("2001:db8::/32",), "192.0.2.7", False),
        (("fe80::/10",), "fe80::1%eth0", True),
        (("192.0.2.0/24",), "", False),
        (("192.0.2.0/24",), "unix", False),
    ],
)
def test_a_list_of_networks_decides(networks: tuple[str, ...], peer: str, admitted: bool):
    """Without a list anyone may come; with one, only from within it, and an address that is none never."""
    assert coming(*networks).admits(peer) is admitted


def test_networks_are_kept_in_one_form():
    """Addresses and networks are kept as networks, each once."""
    assert check_networks((" 192.0.2.7 ", "192.0.2.9/24", "192.0.2.0/24")) == ("192.0.2.7/32", "192.0.2.0/24")


@pytest.mark.parametrize("bad", [("nowhere",), ("192.0.2.0/33",), tuple(f"192.0.2.{n}" for n in range(101))])
def test_other_lists_are_refused(bad: tuple[str, ...]):
    """What is no network, and too many of them, is refused."""
    with pytest.raises(BadName):
        check_networks(bad)
