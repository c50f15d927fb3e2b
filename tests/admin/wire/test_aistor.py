"""AIStor's admin API of table sharing, as its clients ask it: plain JSON, an empty region in the signature."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.admin.client import Answer, Client
from tests.admin.tables import make_bucket, make_table

PREFIX = "/minio/admin/v4/delta-sharing"


def ask(client: Client, method: str, path: str, body: Any = None) -> Answer:
    return client.raw(method, PREFIX + path, b"" if body is None else json.dumps(body).encode(), region="")


@pytest.fixture
def bucket(root: Client, fresh: Callable[[str], str]) -> str:
    """A bucket with three tables."""
    name = fresh("aistor")
    make_bucket(root, name)
    for path in ("staff", "pay", "sites"):
        make_table(root, name, path)
    return name


def table(name: str, bucket: str) -> dict[str, str]:
    return {"name": name, "sourceType": "delta", "bucket": bucket, "location": f"{name}/"}


def test_shares_are_managed_in_the_shapes_of_its_clients(root: Client, bucket: str, fresh: Callable[[str], str]):
    """Make, list, show, change by writing back what was read, and remove."""
    name = fresh("share")
    schemas = [{"name": "HR", "description": "people", "tables": [table("staff", bucket)], "unknown": 1}]
    made = ask(root, "POST", "/shares", {"name": name, "description": "text", "schemas": schemas})
    assert made.status == 201
    share = made.json["share"]
    assert (share["name"], share["description"]) == (name, "text")
    assert share["createdAt"].endswith("Z")
    assert share["schemas"] == [
        {
            "name": "HR",
            "description": "people",
            "tables": [{"name": "staff", "sourceType": "delta", "bucket": bucket, "location": "staff"}],
        }
    ]
    assert share in ask(root, "GET", "/shares").json["shares"]
    assert ask(root, "GET", f"/shares/{name}").json == {"share": share}
    ids = root.ok("GET", f"/shares/{name}")["schemas"][0]["tables"][0]["id"]
    share["schemas"][0]["tables"].append(table("pay", bucket))
    share["schemas"].append({"name": "ops", "tables": [table("sites", bucket)]})
    changed = ask(root, "PUT", f"/shares/{name}", {"schemas": share["schemas"]})
    assert changed.status == 200
    tables = {
        schema["name"]: [each["name"] for each in schema["tables"]] for schema in changed.json["share"]["schemas"]
    }
    assert tables == {"HR": ["staff", "pay"], "ops": ["sites"]}
    assert root.ok("GET", f"/shares/{name}")["schemas"][0]["tables"][0]["id"] == ids
    described = ask(root, "PUT", f"/shares/{name}", {"description": "new"}).json["share"]
    assert (described["description"], len(described["schemas"])) == ("new", 2)
    fewer = ask(root, "PUT", f"/shares/{name}", {"schemas": described["schemas"][:1]}).json["share"]
    assert [schema["name"] for schema in fewer["schemas"]] == ["HR"]
    assert ask(root, "DELETE", f"/shares/{name}").status == 204
    assert ask(root, "GET", f"/shares/{name}").status == 404


def test_a_place_shared_whole_survives_being_written_back(root: Client, bucket: str, fresh: Callable[[str], str]):
    """What those clients have no field for is not lost when they write a share back as they read it."""
    name = fresh("share")
    offers = [
        {"schema": "HR", "spec": f"*:delta:{bucket}:"},
        {"schema": "HR", "spec": f"staff:delta:{bucket}:staff", "history": False},
    ]
    root.ok("POST", "/shares", {"name": name, "tables": offers})
    before = root.ok("GET", f"/shares/{name}")
    schemas = ask(root, "GET", f"/shares/{name}").json["share"]["schemas"]
    ask(root, "PUT", f"/shares/{name}", {"schemas": schemas})
    assert root.ok("GET", f"/shares/{name}")["schemas"] == before["schemas"]


def test_tokens_are_managed_in_the_shapes_of_its_clients(root: Client, bucket: str, fresh: Callable[[str], str]):
    """A token is made with its profile, listed and shown without its secret, and revoked."""
    name = fresh("share")
    ask(root, "POST", "/shares", {"name": name, "schemas": [{"name": "HR", "tables": [table("staff", bucket)]}]})
    end = "2030-02-13T10:22:05.123456789-06:00"
    made = ask(root, "POST", f"/shares/{name}/tokens", {"description": "theirs", "expiresAt": end})
    assert made.status == 201
    token = made.json
    assert token["expiresAt"] == "2030-02-13T16:22:05Z"
    assert token["profile"]["bearerToken"] == token["token"]
    (listed,) = ask(root, "GET", f"/shares/{name}/tokens").json["tokens"]
    assert (listed["tokenId"], listed["shareName"], listed["description"]) == (token["tokenId"], name, "theirs")
    assert "token" not in listed
    profile = ask(root, "GET", f"/tokens/{token['tokenId']}/profile")
    assert profile.json["endpoint"] == token["profile"]["endpoint"]
    assert token["token"].encode() not in profile.body
    assert ask(root, "DELETE", f"/tokens/{token['tokenId']}").status == 204
    assert ask(root, "GET", f"/shares/{name}/tokens").json == {"tokens": []}
    never = ask(root, "POST", f"/shares/{name}/tokens", {}).json
    assert "expiresAt" not in never


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/shares/no-such-share", None, 404, "NoSuchShare"),
        ("DELETE", "/tokens/no-such-token", None, 404, "NoSuchToken"),
        ("POST", "/shares", {"name": "x y"}, 400, "BadName"),
        ("POST", "/shares", {"description": "x"}, 400, "BadField"),
        ("POST", "/shares", {"name": "x", "schemas": [{"name": "s", "tables": [{"name": "t"}]}]}, 400, "BadField"),
        ("POST", "/shares", {"name": "x", "schemas": 7}, 400, "BadField"),
        ("POST", "/shares", [1], 400, "BadField"),
        ("POST", "/shares/no-such-share/tokens", {"expiresAt": "soon"}, 400, "BadField"),
        ("PATCH", "/shares", None, 405, "NoSuchMethod"),
        ("GET", "/nothing", None, 404, "NoSuchPath"),
    ],
)
def test_errors_have_a_code_and_a_message(root, method, path, body, status, code):
    """An error is an object with Code and Message."""
    answer = ask(root, method, path, body)
    assert (answer.status, answer.json["Code"]) == (status, code)
    assert answer.json["Message"]


def test_it_is_guarded_like_the_rest(root: Client, new_user: Callable[..., Client]):
    """Nobody, and a user without the rights, is refused."""
    for client in (Client(root.server), new_user("readwrite")):
        answer = ask(client, "GET", "/shares")
        assert (answer.status, answer.json["Code"]) == (403, "AccessDenied")


def test_iceberg_tables_are_read_and_wait(root: Client):
    """A namespace is taken as a text or a list; sharing it waits for the catalog."""
    for namespace in ("a.b", ["a", "b"]):
        tables = [{"name": "t", "sourceType": "uniform", "warehouse": "w", "namespace": namespace, "table": "t"}]
        answer = ask(root, "POST", "/shares", {"name": "uni", "schemas": [{"name": "s", "tables": tables}]})
        assert answer.json["Code"] == "IcebergNotShared"
