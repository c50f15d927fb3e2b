"""Profile files."""

from lakeshare.settings import Secret
from lakeshare.sharing.model.endpoints import choose
from lakeshare.sharing.model.profiles import BearerProfile, OAuthProfile

ENDPOINT = choose("https://shares.example.net:9000", "", "")


def test_a_bearer_profile_is_version_1():
    """A bearer token is handed over in a profile of version 1, with its end if it has one."""
    document = BearerProfile(ENDPOINT, Secret("dapi1"), 1_700_000_000).document()
    assert document == {
        "shareCredentialsVersion": 1,
        "endpoint": "https://shares.example.net:9000/_delta-sharing/v1",
        "bearerToken": "dapi1",
        "expirationTime": "2023-11-14T22:13:20.000Z",
    }


def test_a_token_that_never_ends_says_nothing_of_its_end():
    """Without an end there is no expirationTime."""
    assert "expirationTime" not in BearerProfile(ENDPOINT, Secret("dapi1")).document()


def test_an_oauth_profile_is_version_2_with_its_type():
    """OAuth client credentials are handed over in a profile of version 2, whose type clients need."""
    document = OAuthProfile(ENDPOINT, "id", Secret("s3cret")).document()
    assert document == {
        "shareCredentialsVersion": 2,
        "type": "oauth_client_credentials",
        "endpoint": "https://shares.example.net:9000/_delta-sharing/v1",
        "tokenEndpoint": "https://shares.example.net:9000/_delta-sharing/v1/oauth/token",
        "clientId": "id",
        "clientSecret": "s3cret",
        "scope": "delta-sharing:read",
    }


def test_a_profile_is_shown_without_its_secret():
    """A profile that is shown later has all but the secret, and its secret is not printed."""
    assert "bearerToken" not in BearerProfile(ENDPOINT).document()
    assert "clientSecret" not in OAuthProfile(ENDPOINT, "id").document()
    assert "dapi1" not in repr(BearerProfile(ENDPOINT, Secret("dapi1")))


def test_the_python_client_reads_both():
    """The delta-sharing package takes both profiles."""
    import pytest

    protocol = pytest.importorskip("delta_sharing.protocol", reason="needs the delta-sharing package")
    import json

    bearer = protocol.DeltaSharingProfile.from_json(json.dumps(BearerProfile(ENDPOINT, Secret("dapi1"), 1).document()))
    assert (bearer.bearer_token, bearer.endpoint) == ("dapi1", "https://shares.example.net:9000/_delta-sharing/v1")
    oauth = protocol.DeltaSharingProfile.from_json(json.dumps(OAuthProfile(ENDPOINT, "id", Secret("s")).document()))
    assert (oauth.client_id, oauth.client_secret, oauth.type) == ("id", "s", "oauth_client_credentials")
