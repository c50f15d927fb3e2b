"""What needs no token, over the wire: activation links, OAuth's token endpoint, health."""

import base64
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.admin.client import Answer, Client
from tests.live import LiveServer

_numbers = itertools.count(1)
TOKEN = "/_delta-sharing/v1/oauth/token"
FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.fixture
def root(live_server: LiveServer) -> Client:
    """Root, on the plain server."""
    return Client.root(live_server)


@pytest.fixture
def acme(root: Client) -> str:
    """A recipient with a share."""
    name = f"open-acme-{os.getpid()}-{next(_numbers)}"
    root.ok("POST", "/shares", {"name": f"{name}-share"})
    root.ok("POST", "/recipients", {"name": name, "shares": [f"{name}-share"]})
    return name


def link(root: Client, acme: str, **body: object) -> str:
    return urlsplit(root.ok("POST", f"/recipients/{acme}/activations", body)["url"]).path


def grant(root: Client, client: dict, basic: bool = True, **form: str) -> Answer:
    headers = dict(FORM)
    form = {"grant_type": "client_credentials"} | form
    if basic:
        given = base64.b64encode(f"{client['id']}:{client['secret']}".encode()).decode()
        headers["authorization"] = f"Basic {given}"
    else:
        form |= {"client_id": client["id"], "client_secret": client["secret"]}
    return root.send("POST", TOKEN, urlencode(form).encode(), headers)


def test_a_page_is_shown_and_the_button_gives_the_profile_once(root: Client, acme: str):
    """Opening a link shows a page and uses nothing up; posting gives the profile as a file, once."""
    path = link(root, acme, expires="30d")
    for accept in ("text/html,application/xhtml+xml", "*/*", ""):
        page = root.send("GET", path, headers={"accept": accept})
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert acme.encode() in page.body
        assert b"<script" not in page.body
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in page.headers["content-security-policy"]
    given = root.send("POST", path)
    assert given.headers["content-disposition"] == 'attachment; filename="profile.share"'
    profile = given.json
    answer = root.send(
        "GET", "/_delta-sharing/v1/shares", headers={"authorization": f"Bearer {profile['bearerToken']}"}
    )
    assert [each["name"] for each in answer.json["items"]] == [f"{acme}-share"]
    for method in ("GET", "POST"):
        again = root.send(method, path)
        assert (again.status, again.json["errorCode"]) == (404, "RESOURCE_DOES_NOT_EXIST")


def test_a_program_asks_for_json(root: Client, acme: str):
    """A GET that asks for JSON by name gets the profile, and uses the link up."""
    path = link(root, acme, kind="oauth")
    profile = root.send("GET", path, headers={"accept": "application/json"}).json
    assert (profile["shareCredentialsVersion"], profile["type"]) == (2, "oauth_client_credentials")
    assert root.send("GET", path, headers={"accept": "application/json"}).status == 404


def test_of_many_at_once_one_gets_the_profile(root: Client, acme: str):
    """When many use a link at the same moment, over both workers, exactly one has the profile."""
    path = link(root, acme)
    with ThreadPoolExecutor(12) as pool:
        statuses = sorted(answer.status for answer in pool.map(lambda _: root.send("POST", path), range(12)))
    assert statuses == [200] + [404] * 11
    assert len(root.ok("GET", f"/recipients/{acme}/tokens")["tokens"]) == 1


def test_codes_that_are_none_find_nothing(root: Client):
    """A code that was never given is answered like one that was used."""
    for code in ("x", "A" * 43, "%00", "a%2Fb"):
        assert root.send("GET", f"/_delta-sharing/activate/{code}").status == 404


@pytest.mark.parametrize("basic", [True, False])
def test_client_credentials_give_an_access_token(root: Client, acme: str, basic: bool):
    """A client with its secret, in the header or in the form, gets a token that lets it in for an hour."""
    client = root.ok("POST", f"/recipients/{acme}/tokens", {"kind": "oauth"})
    assert client["profile"]["tokenEndpoint"] == root.server.endpoint + TOKEN
    answer = grant(root, client, basic, scope="delta-sharing:read")
    assert answer.status == 200
    assert (answer.json["token_type"], answer.json["expires_in"]) == ("Bearer", 3600)
    assert answer.headers["cache-control"] == "no-store"
    for prefix in ("/_delta-sharing/v1", "/_delta-sharing", "/delta-sharing/v1", "/delta-sharing"):
        listed = root.send(
            "GET", f"{prefix}/shares", headers={"authorization": f"Bearer {answer.json['access_token']}"}
        )
        assert [each["name"] for each in listed.json["items"]] == [f"{acme}-share"]


def test_oauth_is_the_way_in_where_it_is_required(root: Client, acme: str):
    """Where a recipient requires OAuth a bearer token is refused, and a client is let in."""
    bearer = root.ok("POST", f"/recipients/{acme}/tokens", {})
    client = root.ok("POST", f"/recipients/{acme}/tokens", {"kind": "oauth"})
    root.ok("PATCH", f"/recipients/{acme}", {"oauth_only": True})
    refused = root.send("GET", "/_delta-sharing/v1/shares", headers={"authorization": f"Bearer {bearer['secret']}"})
    assert (refused.status, refused.json["errorCode"]) == (403, "PERMISSION_DENIED")
    token = grant(root, client).json["access_token"]
    headers = {"authorization": f"Bearer {token}"}
    assert root.send("GET", "/_delta-sharing/v1/shares", headers=headers).status == 200
    assert root.call("DELETE", f"/tokens/{client['id']}").status == 204
    assert {root.send("GET", "/_delta-sharing/v1/shares", headers=headers).status for _ in range(4)} == {401}


def test_the_token_endpoint_refuses_in_oauths_words(root: Client, acme: str):
    """A wrong secret, grant, scope, method or body is refused as RFC 6749 says."""
    client = root.ok("POST", f"/recipients/{acme}/tokens", {"kind": "oauth"})
    wrong = grant(root, client | {"secret": "wrong"})
    assert (wrong.status, wrong.json["error"]) == (401, "invalid_client")
    assert wrong.headers["www-authenticate"].startswith("Basic")
    assert grant(root, client, grant_type="password").json["error"] == "unsupported_grant_type"
    assert grant(root, client, scope="all").json["error"] == "invalid_scope"
    assert root.send("GET", TOKEN).status == 405
    assert root.send("POST", TOKEN, b"\xff=1", FORM).json["error"] == "invalid_request"
    assert root.send("POST", TOKEN, b"a=" + b"x" * 20_000, FORM).status == 413
    assert root.send("POST", TOKEN, b"", FORM | {"authorization": "Basic %%%"}).status == 401
    query = root.send("POST", f"{TOKEN}?client_id={client['id']}&client_secret={client['secret']}", b"", FORM)
    assert query.status == 400


def test_health_is_open(root: Client):
    """Whether sharing answers can be asked by anyone."""
    assert root.send("GET", "/_delta-sharing/v1/health").json == {"status": "ok"}


def test_no_code_and_no_secret_is_logged(root: Client, acme: str, live_server: LiveServer):
    """Neither the server's log nor its audit log holds a code or a secret."""
    path = link(root, acme)
    secret = root.send("POST", path).json["bearerToken"]
    events = root.call("GET", "/audit").body.decode()
    for text in (path.rsplit("/", 1)[1], secret):
        assert text not in events
        assert text not in live_server.log_since(0)


def test_the_python_client_comes_with_oauth(root: Client, acme: str, tmp_path: Path):
    """The delta-sharing package changes client credentials for an access token by itself, and lists what is shared."""
    delta_sharing = pytest.importorskip("delta_sharing", reason="needs the delta-sharing package")
    root.ok("PATCH", f"/recipients/{acme}", {"oauth_only": True})
    profile = tmp_path / "profile.share"
    profile.write_bytes(root.send("POST", link(root, acme, kind="oauth", expires="90d")).body)
    shares = delta_sharing.SharingClient(str(profile)).list_shares()
    assert [share.name for share in shares] == [f"{acme}-share"]
