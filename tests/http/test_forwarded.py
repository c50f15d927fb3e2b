"""Who a request comes from, when proxies stand in front."""

import pytest

from lakeshare.http.forwarded import Proxies
from lakeshare.settings import BadSetting

PROXIES = Proxies(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "origin"),
    [
        ("203.0.113.5", "1.2.3.4", "203.0.113.5"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "1.2.3.4", "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4", "1.2.3.4"),
        ("10.0.0.1", "6.6.6.6, 1.2.3.4, 10.9.9.9, 192.0.2.7", "1.2.3.4"),
        ("10.0.0.1", "10.1.1.1, 10.2.2.2", "10.1.1.1"),
        ("10.0.0.1", "1.2.3.4, unknown", "10.0.0.1"),
        ("10.0.0.1", "1.2.3.4:5678", "1.2.3.4"),
        ("2001:db8::1", "[2001:db9::5]:443", "2001:db9::5"),
        ("10.0.0.1", "::ffff:1.2.3.4", "1.2.3.4"),
        ("10.0.0.1", "1.2.3.4, <script>", "10.0.0.1"),
    ],
)
def test_the_first_stranger_from_the_right_is_the_client(peer: str, forwarded: str, origin: str):
    """Addresses are believed from the right, as far as trusted proxies wrote them."""
    assert PROXIES.origin(peer, "http", {"x-forwarded-for": forwarded})[0] == origin


@pytest.mark.parametrize(
    ("peer", "told", "scheme"),
    [("10.0.0.1", "https", "https"), ("10.0.0.1", "gopher", "http"), ("1.2.3.4", "https", "http")],
)
def test_the_scheme_is_taken_from_trusted_proxies_alone(peer: str, told: str, scheme: str):
    """A stranger cannot claim that it came by TLS."""
    assert PROXIES.origin(peer, "http", {"x-forwarded-proto": told})[1] == scheme


def test_a_long_list_of_hops_is_bounded():
    """Only the last hops of a list are looked at."""
    hops = ", ".join(["10.0.0.2"] * 100_000)
    assert PROXIES.origin("10.0.0.1", "http", {"x-forwarded-for": hops})[0] == "10.0.0.2"


def test_no_proxies_are_falsy():
    """An empty list costs a request nothing."""
    assert not Proxies([])


def test_a_bad_network_names_the_setting():
    """A typo in the settings is reported with what to write."""
    with pytest.raises(BadSetting, match=r"trusted_proxies cannot be '10\.0\.0': write an address"):
        Proxies(["10.0.0"])
