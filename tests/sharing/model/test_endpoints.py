"""The endpoint that recipients are given."""

import pytest

from lakeshare.sharing.errors import BadEndpoint
from lakeshare.sharing.model.endpoints import Chosen, check_endpoint, choose, is_loopback


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://shares.example.net:9000", "https://shares.example.net:9000"),
        ("https://shares.example.net/", "https://shares.example.net"),
        ("https://Shares.Example.net/_delta-sharing/v1/", "https://shares.example.net"),
        ("http://[2001:db8::1]:9000", "http://[2001:db8::1]:9000"),
        ("https://x/delta-sharing", "https://x"),
    ],
)
def test_a_url_is_kept_without_a_path(given: str, kept: str):
    """The server's URL is kept; the paths under which sharing lies may follow it."""
    assert check_endpoint(given) == kept


@pytest.mark.parametrize(
    "given",
    [
        "",
        "shares.example.net",
        "ftp://x",
        "https://",
        "https://x/other",
        "https://u:p@x",
        "https://x?a=b",
        "https://x:no",
    ],
)
def test_other_endpoints_are_refused(given: str):
    """What is no URL of a server is refused."""
    with pytest.raises(BadEndpoint):
        check_endpoint(given)


def test_the_one_given_wins_then_the_setting_then_the_origin():
    """An endpoint given for one token wins over the setting, which wins over how the operator came."""
    assert choose("https://a", "https://b", "https://c").chosen is Chosen.GIVEN
    assert choose("", "https://b", "https://c").url == "https://b"
    fallback = choose("", "", "http://127.0.0.1:9000")
    assert (fallback.chosen, fallback.url) == (Chosen.FALLBACK, "http://127.0.0.1:9000")
    assert fallback.sharing == "http://127.0.0.1:9000/_delta-sharing/v1"


def test_what_will_not_work_is_said():
    """An endpoint that is not set is warned of with the fallback, and so is plain http anywhere but here."""
    (unset,) = choose("", "", "http://127.0.0.1:9000").warnings
    assert "http://127.0.0.1:9000" in unset
    assert choose("", "https://shares.example.net", "").warnings == ()
    (plain,) = choose("", "http://shares.example.net", "").warnings
    assert "plain http" in plain
    assert choose("", "http://localhost:9000", "").warnings == ()


@pytest.mark.parametrize("url", ["http://localhost:9000", "http://127.8.9.1", "http://[::1]:9", "http://a.localhost"])
def test_loopback_is_known(url: str):
    """The names of this machine are known as such."""
    assert is_loopback(url)
    assert not is_loopback("http://example.net")
