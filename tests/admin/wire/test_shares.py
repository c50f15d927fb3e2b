"""Shares, recipients, tokens and sources over the wire, on a server of two workers."""

import json
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.admin.client import Answer, Client
from tests.admin.tables import make_bucket, make_table

SHARING = "/_delta-sharing/v1"


@pytest.fixture
def bucket(root: Client, fresh: Callable[[str], str]) -> str:
    """A bucket with two tables, `hr/staff` and `hr/pay`."""
    name = fresh("shares")
    make_bucket(root, name)
    for path in ("hr/staff", "hr/pay"):
        make_table(root, name, path)
    return name


@pytest.fixture
def share(root: Client, bucket: str, fresh: Callable[[str], str]) -> str:
    """A share with one table."""
    name = fresh("share")
    root.ok("POST", "/shares", {"name": name, "tables": [{"schema": "HR", "spec": f"staff:delta:{bucket}:hr/staff"}]})
    return name


def bearing(root: Client, token: str, path: str = "/shares") -> Answer:
    """Ask as a recipient; each time over a connection of its own, so that either worker may answer."""
    return root.send("GET", SHARING + path, headers={"authorization": f"Bearer {token}"})


def test_a_share_is_made_shown_changed_and_removed(root: Client, bucket: str, fresh: Callable[[str], str]):
    """A share is what was asked for, each table of it looked at, until it is removed."""
    name = fresh("Share")
    made = root.ok(
        "POST",
        "/shares",
        {
            "name": name,
            "description": "Numbers",
            "tables": [{"schema": "HR", "spec": f"staff:delta:{bucket}:hr/staff/", "start_version": 0}],
            "schemas": [{"name": "empty", "description": "later"}],
        },
    )
    assert [schema["name"] for schema in made["schemas"]] == ["empty", "HR"]
    table = made["schemas"][1]["tables"][0]
    assert (table["name"], table["kind"], table["bucket"], table["path"]) == ("staff", "delta", bucket, "hr/staff")
    assert table["spec"] == f"staff:delta:{bucket}:hr/staff"
    assert made["reports"][0]["version"] == 0
    shown = root.ok("GET", f"/shares/{name.upper()}")
    assert shown == {key: value for key, value in made.items() if key not in {"reports", "warnings"}}
    changed = root.ok(
        "POST",
        f"/shares/{name}/tables",
        {
            "add": [{"schema": "HR", "spec": f"pay:delta:{bucket}:hr/pay", "history": False}],
            "remove": [{"schema": "HR", "table": "staff"}],
        },
    )
    assert [(each["name"], each["history"]) for each in changed["schemas"][1]["tables"]] == [("pay", False)]
    assert root.ok("PATCH", f"/shares/{name}/schemas/hr", {"name": "People"})["schemas"][1]["name"] == "People"
    assert [each["name"] for each in root.ok("DELETE", f"/shares/{name}/schemas/empty")["schemas"]] == ["People"]
    assert root.ok("PATCH", f"/shares/{name}", {"description": ""})["description"] == ""
    line = next(each for each in root.ok("GET", "/shares")["shares"] if each["name"] == name)
    assert (line["schemas"], line["tables"]) == (1, 1)
    assert root.ok("DELETE", f"/shares/{name}") == {"name": name, "tokens": 0}
    assert root.call("GET", f"/shares/{name}").code == "NoSuchShare"


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("t:delta:BUCKET:nothing", "NoTableThere"),
        ("t:delta:no-such-bucket-here:x", "NoTableThere"),
        ("t:uniform:wh:ns:t", "IcebergNotShared"),
        ("t:remote:nowhere:b:p", "NoSuchSource"),
        ("t:parquet:b:p", "BadSpec"),
        ("bad name:delta:BUCKET:hr/staff", "BadName"),
    ],
)
def test_what_cannot_be_shared_is_refused_by_name(root: Client, bucket: str, spec: str, code: str):
    """A table that is not there, of a kind that waits, or that is written wrongly is refused, and nothing is made."""
    body = {"name": "never-made", "tables": [{"schema": "HR", "spec": spec.replace("BUCKET", bucket)}]}
    assert root.call("POST", "/shares", body).code == code
    assert root.call("GET", "/shares/never-made").code == "NoSuchShare"


def test_the_creator_must_be_able_to_read(
    root: Client, bucket: str, fresh: Callable[[str], str], new_user: Callable[..., Client]
):
    """Who may make shares and may not read a table cannot share it, nor add it, and can share what it may read."""
    policy = fresh("share-maker")
    statement = [
        {"Effect": "Allow", "Action": ["admin:DeltaSharing*"], "Resource": ["*"]},
        {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": [f"arn:aws:s3:::{bucket}/hr/pay/*"]},
        {
            "Effect": "Allow",
            "Action": ["s3:ListBucket"],
            "Resource": [f"arn:aws:s3:::{bucket}"],
            "Condition": {"StringLike": {"s3:prefix": "hr/pay/*"}},
        },
    ]
    root.ok("PUT", f"/policies/{policy}", {"Version": "2012-10-17", "Statement": statement})
    user, name = new_user(policy), fresh("share")
    staff = {"schema": "HR", "spec": f"staff:delta:{bucket}:hr/staff"}
    pay = {"schema": "HR", "spec": f"pay:delta:{bucket}:hr/pay"}
    assert user.call("POST", "/shares", {"name": name, "tables": [staff]}).code == "AccessDenied"
    assert user.call("POST", "/shares", {"name": name, "tables": [pay]}).status == 201
    assert user.call("POST", f"/shares/{name}/tables", {"add": [staff]}).code == "AccessDenied"
    whole = {"schema": "HR", "spec": f"*:delta:{bucket}:hr"}
    assert user.call("POST", f"/shares/{name}/tables", {"add": [whole]}).code == "AccessDenied"


@pytest.mark.parametrize(
    ("action", "method", "path", "body"),
    [
        ("CreateShare", "POST", "/shares", {"name": "x"}),
        ("GetShare", "GET", "/shares/x", None),
        ("ListShares", "GET", "/shares", None),
        ("UpdateShare", "PATCH", "/shares/x", {"description": ""}),
        ("DeleteShare", "DELETE", "/shares/x", None),
        ("CreateToken", "POST", "/shares/x/tokens", {}),
        ("ListTokens", "GET", "/shares/x/tokens", None),
        ("DeleteToken", "DELETE", "/tokens/x", None),
    ],
)
def test_each_action_guards_its_own(root, fresh, new_user, action, method, path, body):
    """A user with every action of sharing but one is refused where that one is needed, and one with it is not."""
    others = fresh("all-but-one")
    actions = ["CreateShare", "GetShare", "ListShares", "UpdateShare", "DeleteShare"]
    actions += ["CreateToken", "ListTokens", "DeleteToken"]
    allowed = [f"admin:DeltaSharing{each}" for each in actions if each != action]
    statement = {"Effect": "Allow", "Action": allowed, "Resource": "*"}
    root.ok("PUT", f"/policies/{others}", {"Version": "2012-10-17", "Statement": statement})
    assert new_user(others).call(method, path, body).code == "AccessDenied"
    assert new_user("sharingAdmin").call(method, path, body).status != 403


def test_a_token_works_at_once_and_never_again_once_revoked(root: Client, share: str):
    """Every worker knows a new token in its first request, and refuses it in the first after it was revoked."""
    for _ in range(5):
        made = root.ok("POST", f"/shares/{share}/tokens", {"expires": "90d", "description": "theirs"})
        assert {bearing(root, made["secret"]).status for _ in range(6)} == {200}
        assert root.call("DELETE", f"/tokens/{made['id']}").status == 204
        refused = [bearing(root, made["secret"]) for _ in range(6)]
        assert {answer.status for answer in refused} == {401}
        assert refused[0].json["errorCode"] == "UNAUTHENTICATED"


def test_removing_a_share_ends_its_tokens_on_every_worker(root: Client, share: str, fresh: Callable[[str], str]):
    """The tokens of a removed share are refused at once; a recipient with other shares keeps its token."""
    other, acme = fresh("share"), fresh("acme")
    root.ok("POST", "/shares", {"name": other})
    root.ok("POST", "/recipients", {"name": acme, "shares": [share, other]})
    bound = root.ok("POST", f"/shares/{share}/tokens", {})["secret"]
    wide = root.ok("POST", f"/recipients/{acme}/tokens", {})["secret"]
    assert root.ok("DELETE", f"/shares/{share}")["tokens"] == 1
    assert {bearing(root, bound).status for _ in range(6)} == {401}
    for _ in range(6):
        answer = bearing(root, wide)
        assert (answer.status, [each["name"] for each in answer.json["items"]]) == (200, [other])


def test_a_profile_says_where_and_until_when(root: Client, share: str):
    """A profile has the endpoint, the token and its end; without an endpoint that is set, the fallback is warned of."""
    made = root.ok("POST", f"/shares/{share}/tokens", {"expires": "24h"})
    profile = made["profile"]
    assert (profile["shareCredentialsVersion"], profile["bearerToken"]) == (1, made["secret"])
    assert profile["endpoint"] == f"{root.server.endpoint}/_delta-sharing/v1"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z", profile["expirationTime"])
    assert any(root.server.endpoint in text for text in made["warnings"])
    never = root.ok("POST", f"/shares/{share}/tokens", {"endpoint": "https://shares.example.net"})
    assert never["profile"]["endpoint"] == "https://shares.example.net/_delta-sharing/v1"
    assert "expirationTime" not in never["profile"]
    assert (never["expires_at"], never["warnings"]) == (None, [])


def test_the_endpoint_is_a_live_setting(root: Client, share: str):
    """A new endpoint is in the next profile, whichever worker makes it."""
    root.ok("PUT", "/settings/delta_sharing_endpoint", {"value": "https://lake.example.net:9000"})
    try:
        for _ in range(6):
            made = root.ok("POST", f"/shares/{share}/tokens", {})
            assert made["profile"]["endpoint"] == "https://lake.example.net:9000/_delta-sharing/v1"
            assert made["warnings"] == []
    finally:
        root.ok("DELETE", "/settings/delta_sharing_endpoint")
    assert root.call("PUT", "/settings/delta_sharing_endpoint", {"value": "lake"}).code == "BadSetting"


def test_no_secret_is_ever_listed(root: Client, share: str, fresh: Callable[[str], str]):
    """Neither a list, nor a single token, nor its profile, nor an export of state shows a secret that was made."""
    acme = fresh("acme")
    root.ok("POST", "/recipients", {"name": acme, "shares": [share]})
    bearer = root.ok("POST", f"/shares/{share}/tokens", {"recipient": acme})
    client = root.ok("POST", f"/recipients/{acme}/tokens", {"kind": "oauth"})
    link = root.ok("POST", f"/recipients/{acme}/activations", {})
    source = fresh("source")
    body = {"name": source, "endpoint": "https://s3.example.net", "access_key": "k", "secret_key": "very-secret-key"}
    root.ok("POST", "/sources", body)
    secrets = [bearer["secret"], client["secret"], link["url"].rsplit("/", 1)[1], "very-secret-key"]
    for path in (
        "/shares",
        f"/shares/{share}",
        f"/shares/{share}/tokens",
        "/tokens",
        f"/tokens/{bearer['id']}",
        f"/tokens/{bearer['id']}/profile",
        f"/tokens/{client['id']}/profile",
        f"/recipients/{acme}",
        f"/recipients/{acme}/tokens",
        f"/recipients/{acme}/activations",
        "/sources",
        f"/sources/{source}",
        "/sharing/usage",
        "/state/export",
        "/audit",
    ):
        answer = root.call("GET", path)
        assert answer.status == 200, path
        assert not [secret for secret in secrets if secret in answer.body.decode()], path
    assert root.call("DELETE", f"/sources/{source}").status == 204


def test_tokens_rotate_with_overlap(root: Client, share: str):
    """Both tokens work after a rotation; without overlap the old one is refused at once."""
    old = root.ok("POST", f"/shares/{share}/tokens", {"expires": "90d", "description": "theirs"})
    new = root.ok("POST", f"/tokens/{old['id']}/rotate", {"overlap": "1h"})
    assert (new["description"], new["share"]) == ("theirs", share)
    assert bearing(root, old["secret"]).status == bearing(root, new["secret"]).status == 200
    listed = {each["id"]: each for each in root.ok("GET", f"/shares/{share}/tokens")["tokens"]}
    assert listed[old["id"]]["expires_at"] <= time.time() + 3600
    newest = root.ok("POST", f"/tokens/{new['id']}/rotate", {"overlap": "0m", "expires": "never"})
    assert newest["expires_at"] is None
    assert (bearing(root, new["secret"]).status, bearing(root, newest["secret"]).status) == (401, 200)


def test_recipients_are_suspended_limited_and_let_in(root: Client, share: str, fresh: Callable[[str], str]):
    """Suspension, a list of addresses and a requirement of OAuth keep a recipient out at once, and say why."""
    acme = fresh("acme")
    root.ok("POST", "/recipients", {"name": acme, "shares": [share], "description": "theirs"})
    token = root.ok("POST", f"/recipients/{acme}/tokens", {})["secret"]
    for change, back, text in (
        (("POST", f"/recipients/{acme}/suspend", None), ("POST", f"/recipients/{acme}/resume", None), "suspended"),
        (
            ("PATCH", f"/recipients/{acme}", {"ip_list": ["192.0.2.0/24"]}),
            ("PATCH", f"/recipients/{acme}", {"ip_list": []}),
            "not allowed",
        ),
        (
            ("PATCH", f"/recipients/{acme}", {"oauth_only": True}),
            ("PATCH", f"/recipients/{acme}", {"oauth_only": False}),
            "OAuth",
        ),
    ):
        root.ok(*change)
        answers = [bearing(root, token) for _ in range(4)]
        assert {answer.status for answer in answers} == {403}
        assert answers[0].json["errorCode"] == "PERMISSION_DENIED"
        assert text in answers[0].json["message"]
        root.ok(*back)
        assert {bearing(root, token).status for _ in range(4)} == {200}
    assert root.call("DELETE", f"/recipients/{acme}/shares/{share}").json["shares"] == []
    assert bearing(root, token).json == {"items": []}
    assert root.call("DELETE", f"/recipients/{acme}").status == 204
    assert bearing(root, token).status == 401


def test_when_a_token_was_last_used_is_known(root: Client, share: str):
    """A while after its use it is shown when a token was last used."""
    made = root.ok("POST", f"/shares/{share}/tokens", {})
    before = int(time.time())
    assert bearing(root, made["secret"]).status == 200
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (used := root.ok("GET", f"/tokens/{made['id']}")["last_used_at"]) is not None:
            break
        time.sleep(0.5)
    assert used >= before - 1


def test_requests_are_limited_over_all_workers(root: Client, share: str):
    """Together the workers let through what one token may send, and tell it when to come again."""
    token = root.ok("POST", f"/shares/{share}/tokens", {})["secret"]
    root.ok("PUT", "/settings/delta_sharing_token_rate", {"value": "5"})
    try:
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: bearing(root, token), range(200)))
    finally:
        root.ok("DELETE", "/settings/delta_sharing_token_rate")
    refused = [answer for answer in answers if answer.status == 429]
    assert refused
    assert {answer.status for answer in answers} == {200, 429}
    assert refused[0].headers["retry-after"] == "1"
    assert refused[0].json["errorCode"] == "RESOURCE_EXHAUSTED"


def test_sources_are_kept_and_changed(root: Client, fresh: Callable[[str], str]):
    """A source is made, changed without its secret, and removed; URLs that are none are refused."""
    name = fresh("source")
    body = {"name": name, "endpoint": "https://s3.example.net/", "access_key": "k", "secret_key": "s3cret-key"}
    made = root.ok("POST", "/sources", body)
    assert (made["endpoint"], made["path_style"]) == ("https://s3.example.net", True)
    assert root.call("POST", "/sources", body).code == "NameTaken"
    rest = {"endpoint": "https://s3.example.org", "access_key": "k2", "public_endpoint": "https://data.example.org"}
    assert root.ok("PUT", f"/sources/{name}", rest)["public_endpoint"] == "https://data.example.org"
    assert root.call("PUT", f"/sources/{name}", rest | {"endpoint": "s3"}).code == "BadEndpoint"
    assert root.call("DELETE", f"/sources/{name}").status == 204
    assert root.call("GET", f"/sources/{name}").code == "NoSuchSource"


def test_what_is_wrong_with_sharing_is_found(root: Client, share: str, bucket: str):
    """The checks name the endpoint that is not set, and a shared table that is gone."""
    found = root.ok("GET", "/sharing/checks")
    assert found["endpoint"] == root.server.endpoint
    levels = {each["subject"]: each["level"] for each in found["checks"]}
    assert levels[f"{share}.HR.staff"] == "ok"
    assert levels[root.server.endpoint] == "warning"
    assert root.raw("DELETE", f"/{bucket}/hr/staff/_delta_log/{0:020d}.json").status == 204
    again = {each["subject"]: each["level"] for each in root.ok("GET", "/sharing/checks")["checks"]}
    assert again[f"{share}.HR.staff"] == "error"
    root.ok("DELETE", f"/shares/{share}")


def test_lists_come_in_pages(root: Client, share: str):
    """Tokens come in pages that together hold each once."""
    made = {root.ok("POST", f"/shares/{share}/tokens", {})["id"] for _ in range(5)}
    found: list[str] = []
    after = ""
    for _ in range(4):
        page = root.ok("GET", f"/shares/{share}/tokens?limit=2" + (f"&after={after}" if after else ""))
        found += [each["id"] for each in page["tokens"]]
        if not (after := page.get("next", "")):
            break
    assert (set(found), len(found)) == (made, 5)


def test_bodies_are_read_strictly(root: Client, share: str):
    """A lifetime, an end or a field that cannot be is refused, and the field is named."""
    for body, code in (
        ({"expires": "tomorrow"}, "BadField"),
        ({"expires": "0d"}, "BadLifetime"),
        ({"expires": "1d", "expires_at": 1}, "BadField"),
        ({"expires_at": 1}, "BadLifetime"),
        ({"unknown": 1}, "BadField"),
        ({"recipient": "nobody-here"}, "NoSuchRecipient"),
        ({"endpoint": "nowhere"}, "BadEndpoint"),
    ):
        assert root.call("POST", f"/shares/{share}/tokens", body).code == code, json.dumps(body)


def test_what_is_read_is_counted(root: Client, share: str, fresh: Callable[[str], str]):
    """A query is counted for its recipient, share and table, in the admin API and in the metrics."""
    acme = fresh("acme")
    root.ok("POST", "/recipients", {"name": acme, "shares": [share]})
    token = root.ok("POST", f"/recipients/{acme}/tokens", {})["secret"]
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    for _ in range(3):
        path = f"{SHARING}/shares/{share}/schemas/HR/tables/staff/query"
        assert root.send("POST", path, b"{}", headers).status == 200
    label = f'{{recipient="{acme}",share="{share}",table="HR.staff"}}'
    assert f"lakeshare_sharing_queries_total{label} 3\n" in root.raw("GET", "/metrics").body.decode()
    deadline = time.monotonic() + 30
    rows: list[dict] = []
    while time.monotonic() < deadline and sum(row["queries"] for row in rows) < 3:
        time.sleep(0.5)
        rows = root.ok("GET", f"/sharing/usage?recipient={acme}")["usage"]
    assert [(row["share"], row["table"], row["queries"], row["files"]) for row in rows] == [(share, "HR.staff", 3, 0)]
