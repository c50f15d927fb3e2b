"""Access keys over the wire: what a user does for itself, what it may not, and what limits a key."""

import time
from collections.abc import Callable
from typing import Any

from tests.admin.client import Client

NOTHING: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::none/*"},
}
KEYS_ONLY: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": {"Effect": "Allow", "Action": "admin:*ServiceAccount*", "Resource": "*"},
}


def signing(server: Any, made: dict[str, Any]) -> Client:
    return Client(server, made["access_key"], made["secret_key"])


def test_a_user_has_its_own_keys(new_user: Callable[..., Client]):
    """A user without any policy makes, sees, changes and removes its own access keys."""
    user = new_user()
    made = user.ok("POST", "/access-keys", {"name": "laptop", "description": "of the spring"})
    key = signing(user.server, made)
    assert key.ok("GET", "/account")["user"] == user.access_key
    shown = user.ok("GET", f"/access-keys/{made['access_key']}")
    assert shown == {name: value for name, value in made.items() if name != "secret_key"}
    assert (shown["user"], shown["parent"], shown["policy"]) == (user.access_key, user.access_key, None)
    assert [each["access_key"] for each in user.ok("GET", "/access-keys")["access_keys"]] == [made["access_key"]]
    changed = user.ok("PATCH", f"/access-keys/{made['access_key']}", {"enabled": False, "name": "desk"})
    assert (changed["enabled"], changed["name"], changed["description"]) == (False, "desk", "of the spring")
    assert key.call("GET", "/account").code == "AccessKeyInactive"
    assert user.ok("DELETE", f"/access-keys/{made['access_key']}") == {"removed": [made["access_key"]]}
    assert key.call("GET", "/account").code == "AccessKeyUnknown"


def test_a_user_does_not_reach_the_keys_of_others(new_user: Callable[..., Client], root: Client):
    """Keys of another user, and keys that do not exist, look the same to whoever may see neither."""
    mine, other = new_user(), new_user()
    key = other.ok("POST", "/access-keys", {})["access_key"]
    for name in (key, "LSAKNOSUCHKEY"):
        for method, body in (("GET", None), ("PATCH", {"enabled": False}), ("DELETE", None)):
            assert mine.call(method, f"/access-keys/{name}", body).code == "AccessDenied"
    assert mine.call("GET", f"/access-keys?user={other.access_key}").code == "AccessDenied"
    assert mine.call("GET", "/access-keys?all=true").code == "AccessDenied"
    assert mine.call("POST", "/access-keys", {"user": other.access_key}).code == "AccessDenied"
    assert mine.call("POST", "/access-keys", {"user": root.access_key}).code == "AccessDenied"
    assert root.call("GET", "/access-keys/LSAKNOSUCHKEY").code == "NoSuchAccessKey"


def test_an_operator_sees_and_makes_keys_for_others(new_user: Callable[..., Client], root: Client):
    """Who may do it for everyone lists all keys, or those of one user, and makes one for a user."""
    user = new_user()
    made = root.ok("POST", "/access-keys", {"user": user.access_key})
    assert (made["user"], made["created_by"]) == (user.access_key, root.access_key)
    assert signing(root.server, made).ok("GET", "/account")["user"] == user.access_key
    listed = root.ok("GET", f"/access-keys?user={user.access_key}")["access_keys"]
    assert [each["access_key"] for each in listed] == [made["access_key"]]
    assert made["access_key"] in [each["access_key"] for each in root.ok("GET", "/access-keys?all=true")["access_keys"]]
    assert root.call("GET", "/access-keys?user=nobody").code == "NoSuchUser"
    assert root.call("GET", f"/access-keys?user={user.access_key}&all=true").code == "BadField"


def test_only_root_makes_keys_for_root(new_user: Callable[..., Client], root: Client):
    """An operator with every right cannot make or change a key that has root's rights."""
    operator = new_user("consoleAdmin")
    refused = operator.call("POST", "/access-keys", {"user": root.access_key})
    assert (refused.status, refused.code) == (403, "AccessDenied")
    made = root.ok("POST", "/access-keys", {})
    assert operator.call("PATCH", f"/access-keys/{made['access_key']}", {"secret_key": "mine-now-123"}).status == 403


def test_a_limited_key_makes_no_wider_one(new_user: Callable[..., Client]):
    """What a key with a policy makes is bound by that policy, whatever it asks for."""
    operator = new_user("consoleAdmin")
    limited = signing(operator.server, operator.ok("POST", "/access-keys", {"policy": KEYS_ONLY}))
    assert limited.call("GET", "/info").code == "AccessDenied"
    child = limited.ok("POST", "/access-keys", {})
    assert child["parent"] == limited.access_key
    assert signing(operator.server, child).call("GET", "/info").code == "AccessDenied"
    other = operator.ok("POST", "/access-keys", {})
    assert limited.call("PATCH", f"/access-keys/{other['access_key']}", {"policy": None}).code == "AccessDenied"
    assert limited.call("PATCH", f"/access-keys/{limited.access_key}", {"policy": None}).code == "AccessDenied"
    gone = operator.ok("DELETE", f"/access-keys/{limited.access_key}")["removed"]
    assert sorted(gone) == sorted([limited.access_key, child["access_key"]])


def test_a_keys_policy_binds_its_own_account_too(new_user: Callable[..., Client]):
    """A key whose policy says nothing of access keys makes none, though its user may."""
    user = new_user("readwrite")
    limited = signing(user.server, user.ok("POST", "/access-keys", {"policy": NOTHING}))
    for method, path in (("POST", "/access-keys"), ("GET", "/access-keys"), ("GET", "/account")):
        assert limited.call(method, path, {} if method == "POST" else None).code == "AccessDenied"
    shown = user.ok("PATCH", f"/access-keys/{limited.access_key}", {"policy": None})
    assert shown["policy"] is None
    assert limited.call("GET", "/account").status == 200


def test_keys_inherit_live(new_user: Callable[..., Client], root: Client):
    """A policy that the user gets later counts for the keys it made before."""
    user = new_user()
    key = signing(user.server, user.ok("POST", "/access-keys", {}))
    assert key.call("GET", "/info").status == 403
    root.ok("PUT", f"/users/{user.access_key}/policies/diagnostics")
    assert key.call("GET", "/info").status == 200


def test_a_key_ends_with_its_time(new_user: Callable[..., Client]):
    """A key that is past its end signs nothing, and does again when the end is taken away."""
    user = new_user()
    made = user.ok("POST", "/access-keys", {"expires_at": int(time.time()) - 1})
    key = signing(user.server, made)
    refused = key.call("GET", "/account")
    assert (refused.status, refused.code) == (401, "AccessKeyInactive")
    assert user.ok("PATCH", f"/access-keys/{made['access_key']}", {"expires_at": None})["expires_at"] is None
    assert key.call("GET", "/account").status == 200


def test_a_user_takes_its_keys_along(new_user: Callable[..., Client], root: Client):
    """With a user go its access keys."""
    user = new_user()
    made = user.ok("POST", "/access-keys", {})
    root.call("DELETE", f"/users/{user.access_key}")
    assert root.call("GET", f"/access-keys/{made['access_key']}").code == "NoSuchAccessKey"
    assert signing(root.server, made).call("GET", "/account").code == "AccessKeyUnknown"


def test_bad_fields_are_named(root: Client):
    """A field that is unknown, of a wrong type or too long is named in the error."""
    for body, field in (
        ({"nmae": "x"}, "nmae"),
        ({"expires_at": "tomorrow"}, "expires_at"),
        ({"description": "x" * 257}, "description"),
        ({"policy": "text"}, "policy"),
        ({"access_key": "a"}, "access_key"),
    ):
        refused = root.call("POST", "/access-keys", body)
        assert (refused.status, refused.code, refused.json["error"]["field"]) == (400, "BadField", field)
    assert root.call("POST", "/access-keys", {"policy": {"Statement": 1}}).code == "MalformedPolicy"
