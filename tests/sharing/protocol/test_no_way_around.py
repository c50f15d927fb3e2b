"""No route of the sharing protocol is reached around the gate: whoever has no token of a share sees nothing of it."""

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd
import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lakeshare.sharing.wire.routes import PREFIXES, ROUTES
from tests.live import running
from tests.sharing.protocol.provider import Provider, Recipient, files_of

OPEN = {"CheckSharing", "ShowActivation", "UseActivation", "GetAccessToken"}
QUERIES = {"ReadTableChanges": "?startingVersion=0"}
NAMES = {"share": "walled", "schema": "default", "table": "t"}
BASES = [f"{prefix}{version}" for prefix, version in itertools.product(PREFIXES, ("", "/v1"))]


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request that is right in every way but its token."""

    name: str
    method: str
    path: str
    of_share: bool

    def made(self, base: str, headers: dict[str, str]) -> requests.Response:
        body = b"{}" if self.method == "POST" else b""
        return requests.request(self.method, base + self.path, data=body, headers=headers, timeout=30)


def attempts() -> Iterator[Attempt]:
    """Ask for everything that needs a token."""
    for route in ROUTES:
        if not route.is_open:
            path = route.path.format(**NAMES) + QUERIES.get(route.name, "")
            yield Attempt(route.name, route.method, path, "{share}" in route.path)


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    """A server of its own, whose bad guesses disturb nobody else."""
    rates = {f"LAKESHARE_{name}": "100000" for name in ("AUTH_FAILURE_RATE", "DELTA_SHARING_TOKEN_RATE")}
    with running(tmp_path_factory.mktemp("walls") / "data", environment=rates) as server:
        made = Provider(server, "walled")
        made.write("t", pd.DataFrame({"n": [1]}), configuration={"delta.enableChangeDataFeed": "true"})
        made.share("walled", t="t")
        made.share("other", t="t")
        yield made


def statuses(provider: Provider, headers: dict[str, str], wanted: set[int]) -> list[str]:
    """Return what was answered otherwise than it should be; the spellings of the prefix take turns."""
    found = []
    for attempt, base in zip(attempts(), itertools.cycle(BASES), strict=False):
        answer = attempt.made(provider.server.endpoint + base, headers)
        if answer.status_code not in wanted or "delta-table-version" in answer.headers:
            found.append(f"{attempt.name} {base}: {answer.status_code} {answer.text[:100]}")
    return found


def test_what_is_open_is_named_here():
    """A new route that needs no token has to be added to this list by hand."""
    assert {route.name for route in ROUTES if route.is_open} == OPEN


def test_with_its_token_every_route_answers(provider: Provider):
    """The attempts of this walk are right: with the share's token each of them is granted."""
    mine = provider.token("walled")
    bad = [
        f"{each.name}: {answer.status_code} {answer.text[:200]}"
        for each in attempts()
        if not (answer := each.made(mine.profile["endpoint"], mine.headers)).ok
    ]
    assert bad == []


@pytest.mark.parametrize("base", BASES)
def test_every_spelling_of_the_prefix_is_behind_the_gate(provider: Provider, base: str):
    """Both prefixes, each with a version and without."""
    for attempt in attempts():
        assert attempt.made(provider.server.endpoint + base, {}).status_code == 401, attempt.name


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", "Bearer x", "Basic eDp4", f"Bearer dapi{'0' * 64}", f"Bearer {'a.' * 20}", "bearer null"],
)
def test_without_a_token_nothing_is_answered(provider: Provider, header: str):
    """No token, an empty one, another scheme and guesses of both kinds: 401 everywhere."""
    assert statuses(provider, {"Authorization": header} if header else {}, {401}) == []


def test_an_access_key_is_no_token(provider: Provider):
    """Even root's signature opens nothing here, and a token opens nothing of S3 and of the admin API."""
    server = provider.server
    for attempt in attempts():
        url = f"{server.endpoint}{BASES[1]}{attempt.path}"
        body = b"{}" if attempt.method == "POST" else b""
        digest = {"x-amz-content-sha256": hashlib.sha256(body).hexdigest()}
        signed = AWSRequest(attempt.method, url, data=body, headers=digest)
        SigV4Auth(Credentials(server.access_key, server.secret_key), "s3", "us-east-1").add_auth(signed)
        assert attempt.made(server.endpoint + BASES[1], dict(signed.headers)).status_code == 401
    mine = provider.token("walled")
    for path in ("", "walled", "walled/t/_delta_log/00000000000000000000.json", "_admin/v1/shares", "_admin/v1/users"):
        answer = requests.get(f"{server.endpoint}/{path}", headers=mine.headers, timeout=30)
        assert answer.status_code in {400, 401, 403}, path


def test_a_token_of_another_share_does_not_see_this_one(provider: Provider):
    """Whatever names the share is not found; what names none says nothing of it."""
    other = provider.token("other")
    for attempt in attempts():
        answer = attempt.made(other.profile["endpoint"], other.headers)
        if attempt.of_share:
            assert answer.status_code == 404, (attempt.name, answer.text)
        assert "walled" not in answer.text.replace("'walled'", "").replace("/walled/", ""), attempt.name


def _ended(provider: Provider, name: str) -> tuple[dict[str, str], set[int]]:
    """Make a recipient whose access has ended in some way, and say what it shall be answered."""
    provider.admin("POST", "/recipients", {"name": name, "shares": ["walled"]})
    made = provider.admin("POST", f"/recipients/{name}/tokens", {})
    mine = Recipient(made["profile"], made["id"], "walled")
    assert mine.query("t").status_code == 200
    if name == "revoked":
        provider.admin("DELETE", f"/tokens/{mine.token_id}")
    elif name == "suspended":
        provider.admin("POST", f"/recipients/{name}/suspend")
    elif name == "removed":
        provider.admin("DELETE", f"/recipients/{name}")
    else:
        change = {"oauth_only": True} if name == "by-oauth" else {"ip_list": ["192.0.2.0/24"]}
        provider.admin("PATCH", f"/recipients/{name}", change)
    return mine.headers, {401} if name in {"revoked", "removed"} else {403}


@pytest.mark.parametrize("name", ["revoked", "suspended", "removed", "by-oauth", "far-away"])
def test_access_that_has_ended_has_ended_everywhere(provider: Provider, name: str):
    """A revoked token, a suspended or removed recipient, one that must use OAuth, one at another address."""
    headers, wanted = _ended(provider, name)
    assert statuses(provider, headers, wanted) == []


def test_a_share_that_was_taken_is_gone_from_every_route(provider: Provider):
    """The recipient stays, and what names the share is not found."""
    provider.admin("POST", "/recipients", {"name": "taken", "shares": ["walled", "other"]})
    made = provider.admin("POST", "/recipients/taken/tokens", {})
    mine = Recipient(made["profile"], made["id"], "walled")
    assert len(files_of(mine.lines("t"))) == 1
    provider.admin("DELETE", "/recipients/taken/shares/walled")
    for attempt in attempts():
        answer = attempt.made(mine.profile["endpoint"], mine.headers)
        assert answer.status_code == (404 if attempt.of_share else 200), (attempt.name, answer.text)
