"""No operation of the catalog is reached around the check, and under a table's location S3 follows the table."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from lakeshare.identity.session_tokens import MAX_SESSION_POLICIES
from lakeshare.tables.wire.routes import PREFIX, ROUTES
from tests.admin.client import Client
from tests.boto import boto_client
from tests.live import LiveServer, running
from tests.tables.lake import SCHEMA, VIEW, Lake

SOURCE = {"namespace": ["ns"], "name": "t"}
RENAME = {"source": SOURCE, "destination": {"namespace": ["ns"], "name": "u"}}
COMMIT = {"requirements": [], "updates": [{"action": "set-properties", "updates": {"a": "b"}}]}
BODIES: dict[str, Any] = {
    "CreateWarehouse": {"name": "intruder"},
    "CreateNamespace": {"namespace": ["intruder"]},
    "UpdateProperties": {"updates": {"a": "b"}},
    "CreateTable": {"name": "intruder", "schema": SCHEMA},
    "RenameTable": RENAME,
    "RegisterTable": {"name": "u", "metadata-location": "s3://walls/x.metadata.json"},
    "CommitTable": COMMIT,
    "CommitTransaction": {"table-changes": [COMMIT | {"identifier": SOURCE}]},
    "ReportMetrics": {"report-type": "scan-report"},
    "CreateView": VIEW | {"name": "intruder"},
    "ReplaceView": COMMIT,
    "RenameView": RENAME | {"source": {"namespace": ["ns"], "name": "v"}},
    "RegisterView": {"name": "u", "metadata-location": "s3://walls/x.metadata.json"},
}
MAINTENANCE = {"value": {"status": "enabled", "settings": {"icebergSnapshotManagement": {"minSnapshotsToKeep": 1}}}}
NAMES = {
    "warehouse": "walls",
    "namespace": "ns",
    "table": "t",
    "view": "v",
    "type": "icebergSnapshotManagement",
}
CLOSED = [route for route in ROUTES if not route.is_open]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with a warehouse that has a table and a view."""
    with running(tmp_path_factory.mktemp("walls") / "data") as live:
        lake = Lake(Client.root(live), "walls")
        lake.ok("POST", "/warehouses", {"name": "walls"})
        where = lake.namespace("ns")
        lake.table(where, "t")
        lake.ok("POST", f"{where}/views", VIEW)
        yield live


@pytest.fixture(scope="module")
def lake(server: LiveServer) -> Lake:
    return Lake(Client.root(server), "walls")


def user(server: LiveServer, name: str, *policies: str) -> Client:
    made = Client.root(server).ok("POST", "/users", {"name": name, "policies": list(policies)})
    return Client(server, made["name"], made["secret_key"])


def allowed(server: LiveServer, name: str, *statements: dict[str, Any]) -> Client:
    """Make a user with a policy of one's own."""
    document = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow"} | each for each in statements]}
    Client.root(server).ok("PUT", f"/policies/{name}", document)
    return user(server, name, name)


def ask(client: Client, route: Any) -> int:
    path = PREFIX + route.path.format(**NAMES) + ("?warehouse=walls" if route.name == "GetConfig" else "")
    body = BODIES.get(route.name, MAINTENANCE if route.method == "PUT" else None)
    data = b"" if body is None else json.dumps(body).encode()
    return client.raw(route.method, path, data, service="s3tables").status


def test_nobody_gets_in(server: LiveServer):
    """Every operation of the catalog but the token endpoint asks who it is."""
    assert {route.name: ask(Client(server), route) for route in CLOSED} == dict.fromkeys(
        [route.name for route in CLOSED], 401
    )


def test_a_user_without_policies_gets_nowhere(server: LiveServer):
    """A user that nothing was granted is refused every operation of the catalog."""
    stranger = user(server, "stranger")
    assert {route.name: ask(stranger, route) for route in CLOSED} == dict.fromkeys(
        [route.name for route in CLOSED], 403
    )


def answers(client: Client, **names: str) -> dict[str, tuple[int, str]]:
    """Ask every route, with some names changed, and return status and message of each."""
    found = {}
    for route in CLOSED:
        path = PREFIX + route.path.format(**NAMES | names)
        path += f"?warehouse={names.get('warehouse', 'walls')}" if route.name == "GetConfig" else ""
        body = BODIES.get(route.name, MAINTENANCE if route.method == "PUT" else None)
        data = b"" if body is None else json.dumps(body).encode()
        answer = client.raw(route.method, path, data, service="s3tables")
        found[route.name] = answer.status, answer.json["error"]["message"] if answer.body else ""
    return found


def test_a_refusal_tells_nobody_what_is_there(server: LiveServer):
    """Whoever may do nothing hears the same of a warehouse, a table and a view, whether or not they are there."""
    curious = user(server, "curious")
    there = answers(curious)
    assert {status for status, _ in there.values()} == {403}
    assert answers(curious, warehouse="ghost") == there
    assert answers(curious, namespace="ghost") == there
    assert answers(curious, table="ghost", view="ghost") == there
    for path in ("/walls/namespaces/%00", "/ghost/namespaces/%00", "/walls/namespaces?pageSize=-1"):
        assert curious.raw("GET", PREFIX + path, service="s3tables").status == 400
    assert curious.raw("GET", f"{PREFIX}/config", service="s3tables").status == 400


def test_the_only_warehouse_of_a_caller_needs_no_name(server: LiveServer, lake: Lake):
    """Who leaves the warehouse out means the one that is open to it, however many there are."""
    lake.ok("POST", "/warehouses", {"name": "second-walls"})
    only = {"Action": "s3tables:GetConfig", "Resource": "arn:aws:s3tables:::bucket/walls"}
    of_one = allowed(server, "of-one", only).raw("GET", f"{PREFIX}/config", service="s3tables")
    assert of_one.json["overrides"] == {"prefix": "walls"}
    assert lake.client.raw("GET", f"{PREFIX}/config", service="s3tables").status == 400
    lake.ok("DELETE", "/warehouses/second-walls")


def test_whoever_may_is_told_that_a_warehouse_is_missing(server: LiveServer):
    """A user with a right over a warehouse that is not there is told so, and a right over another tells nothing."""
    tables = "arn:aws:s3tables:::bucket/ghost"
    known = allowed(server, "of-ghost", {"Action": "s3tables:*", "Resource": [tables, f"{tables}/*"]})
    found = answers(known, warehouse="ghost")
    of_warehouses = {route.name for route in CLOSED if "{warehouse}" in route.path or route.name == "GetConfig"}
    assert {name: found[name][0] for name in of_warehouses} == dict.fromkeys(of_warehouses, 404)
    assert {status for status, _ in answers(known).values()} <= {403}


def test_s3_alone_opens_no_table(server: LiveServer, lake: Lake):
    """A user with every right over S3 may read a table's files and write none of them, in or out of its location."""
    writer = user(server, "s3-writer", "readwrite")
    assert {ask(writer, route) for route in CLOSED} == {403}
    key = lake.ok("GET", "/{w}/namespaces/ns/tables/t")["metadata-location"].removeprefix("s3:/")
    assert writer.raw("GET", key).status == 200
    assert writer.raw("PUT", key.rpartition("/")[0] + "/other.json", b"x").status == 403
    assert writer.raw("PUT", "/walls/elsewhere", b"x").status == 403
    assert writer.raw("DELETE", "/walls").status == 403


def test_a_table_is_allowed_by_its_uuid(server: LiveServer, lake: Lake):
    """A policy on one table's UUID opens that table, its files and its new name, and no other table."""
    where = lake.namespace("by-uuid")
    mine, other = lake.table(where, "mine"), lake.table(where, "other")
    arn = f"arn:aws:s3tables:::bucket/walls/table/{mine['metadata']['table-uuid']}"
    client = allowed(server, "one-table", {"Action": "s3tables:*", "Resource": arn})
    seen = lake.seen_by(client)
    assert seen.call("GET", f"{where}/tables/mine").status == 200
    assert seen.call("GET", f"{where}/tables/other").status == 403
    assert seen.call("GET", f"{where}/tables/nothing").status == 403
    inside = mine["metadata"]["location"].removeprefix("s3:/")
    outside = other["metadata"]["location"].removeprefix("s3:/")
    assert client.raw("PUT", f"{inside}/data/a.parquet", b"x").status == 200
    assert client.raw("GET", f"{inside}/data/a.parquet").body == b"x"
    assert client.raw("PUT", f"{outside}/data/a.parquet", b"x").status == 403
    lake.ok("POST", "/{w}/tables/rename", rename("by-uuid", "mine", "renamed"))
    assert seen.call("GET", f"{where}/tables/renamed").status == 200


def rename(namespace: str, old: str, new: str) -> dict[str, Any]:
    return {
        "source": {"namespace": [namespace], "name": old},
        "destination": {"namespace": [namespace], "name": new},
    }


def test_conditions_bound_a_namespace(server: LiveServer, lake: Lake):
    """A policy with a condition on the namespace opens what lies in it, and follows the names of tables."""
    for name in ("team-a", "team-b"):
        lake.table(lake.namespace(name), "t")
    condition = {"StringEquals": {"s3tables:namespace": "team-a"}}
    client = allowed(
        server, "team-a", {"Action": "s3tables:*", "Resource": "arn:aws:s3tables:::*", "Condition": condition}
    )
    seen = lake.seen_by(client)
    assert seen.call("GET", "/{w}/namespaces/team-a/tables").status == 200
    assert seen.call("GET", "/{w}/namespaces/team-b/tables").status == 403
    assert seen.call("POST", "/{w}/namespaces/team-a/tables/t", COMMIT).status == 200
    assert seen.call("POST", "/{w}/namespaces/team-b/tables/t", COMMIT).status == 403
    body = {
        "table-changes": [COMMIT | {"identifier": {"namespace": [team], "name": "t"}} for team in ("team-a", "team-b")]
    }
    assert seen.call("POST", "/{w}/transactions/commit", body).status == 403
    assert "a" not in lake.ok("GET", "/{w}/namespaces/team-b/tables/t")["metadata"]["properties"]


def test_vended_credentials_reach_one_table(server: LiveServer, lake: Lake):
    """Vended credentials read and write one table's location, nothing beside it, and not the current metadata file."""
    where = lake.namespace("vended")
    mine, other = lake.table(where, "mine"), lake.table(where, "mine2")
    found = lake.ok("GET", f"{where}/tables/mine", x_iceberg_access_delegation="vended-credentials")
    (entry,) = found["storage-credentials"]
    config = entry["config"]
    assert entry["prefix"] == mine["metadata"]["location"] + "/"
    assert {"s3.endpoint", "s3.region", "client.region", "s3.path-style-access"} <= config.keys() & found[
        "config"
    ].keys()
    assert int(config["s3.session-token-expires-at-ms"]) > 0
    keys = config["s3.access-key-id"], config["s3.secret-access-key"], config["s3.session-token"]
    client = Client(server, *keys)
    inside = mine["metadata"]["location"].removeprefix("s3:/")
    assert client.raw("PUT", f"{inside}/data/a.parquet", b"x").status == 200
    assert client.raw("GET", f"{inside}/data/a.parquet").status == 200
    assert client.raw("PUT", other["metadata"]["location"].removeprefix("s3:/") + "/a", b"x").status == 403
    assert client.raw("PUT", "/walls/a", b"x").status == 403
    current = found["metadata-location"].removeprefix("s3:/")
    for each in (client, Client.root(server)):
        assert each.raw("PUT", current, b"{}").status == 403
        assert each.raw("DELETE", current).status == 403
    lake.ok("POST", f"{where}/tables/mine", COMMIT)
    assert client.raw("DELETE", current).status == 204
    assert lake.call("GET", f"{where}/tables/mine").status == 200


def test_a_commit_stands_though_no_credentials_can_be_vended(server: LiveServer, lake: Lake):
    """A session that can have no session of its own is told of its commit all the same, and vended nothing."""
    where = lake.namespace("deep")
    lake.table(where, "t")
    keys: tuple[str, ...] = ()
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]})
    for _ in range(MAX_SESSION_POLICIES):
        sts = boto_client(server, *keys, service="sts")
        answer = sts.assume_role(RoleArn="arn:aws:iam:::role/anything", RoleSessionName="deep", Policy=policy)
        made = answer["Credentials"]
        keys = made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"]
    deep = lake.seen_by(Client(server, *keys))
    delegation = {"x_iceberg_access_delegation": "vended-credentials"}
    assert deep.ok("POST", f"{where}/tables/t", COMMIT, **delegation)["metadata"]["properties"]["a"] == "b"
    assert "storage-credentials" not in deep.ok("GET", f"{where}/tables/t", **delegation)
    assert deep.ok("GET", f"{where}/tables/t/credentials") == {"storage-credentials": []}


def test_a_reader_is_vended_reading(server: LiveServer, lake: Lake):
    """Who may read a table's data and not write it is vended credentials that read; who may do neither, none."""
    where = lake.namespace("readers")
    inside = lake.table(where, "t")["metadata"]["location"].removeprefix("s3:/")
    assert Client.root(server).raw("PUT", f"{inside}/data/a", b"x").status == 200
    reader = lake.seen_by(user(server, "table-reader", "tablesReadOnly"))
    (entry,) = reader.ok("GET", f"{where}/tables/t/credentials")["storage-credentials"]
    config = entry["config"]
    keys = config["s3.access-key-id"], config["s3.secret-access-key"], config["s3.session-token"]
    assert Client(server, *keys).raw("GET", f"{inside}/data/a").status == 200
    assert Client(server, *keys).raw("PUT", f"{inside}/data/a", b"x").status == 403
    blind = allowed(server, "blind", {"Action": "s3tables:GetTable", "Resource": "arn:aws:s3tables:::*"})
    assert lake.seen_by(blind).ok("GET", f"{where}/tables/t/credentials") == {"storage-credentials": []}


def test_tokens_stand_for_their_key(server: LiveServer, lake: Lake):
    """A token has the rights of its key, is exchanged for another, and ends with its key; a session's is none."""
    holder = user(server, "token-holder", "tablesReadOnly")
    form = {"content-type": "application/x-www-form-urlencoded"}
    grant = f"grant_type=client_credentials&client_id={holder.access_key}&client_secret={holder.secret_key}"
    answer = holder.send("POST", f"{PREFIX}/oauth/tokens", grant.encode(), form)
    assert (answer.status, answer.json["token_type"]) == (200, "bearer")
    token = answer.json["access_token"]
    assert bearer(server, token, "GET", "/walls/namespaces") == 200
    assert bearer(server, token, "DELETE", "/walls/namespaces/ns") == 403
    exchange = f"grant_type=urn:ietf:params:oauth:grant-type:token-exchange&subject_token={token}"
    again = holder.send("POST", f"{PREFIX}/oauth/tokens", exchange.encode(), form).json["access_token"]
    assert bearer(server, again, "GET", "/walls/namespaces") == 200
    found = lake.seen_by(holder).ok("GET", "/{w}/namespaces/ns/tables/t/credentials")["storage-credentials"][0]
    assert bearer(server, found["config"]["s3.session-token"], "GET", "/walls/namespaces") == 401
    Client.root(server).ok("DELETE", "/users/token-holder")
    assert bearer(server, token, "GET", "/walls/namespaces") == 401
    assert holder.send("POST", f"{PREFIX}/oauth/tokens", grant.encode(), form).json["error"] == "invalid_client"
    wrong = holder.send("POST", f"{PREFIX}/oauth/tokens", b"grant_type=password", form)
    assert (wrong.status, wrong.json["error"]) == (400, "unsupported_grant_type")


def bearer(server: LiveServer, token: str, method: str, path: str) -> int:
    return Client(server).send(method, PREFIX + path, headers={"authorization": f"Bearer {token}"}).status
