"""Users over the wire."""

from collections.abc import Callable

from tests.admin.client import Client

NEW_SECRET = "another/secret+42"


def test_a_user_is_made_shown_and_removed(root: Client, fresh: Callable[[str], str]):
    """A user is there between its making and its removal, and what is shown of it holds no secret."""
    name = fresh("user")
    made = root.ok("POST", "/users", {"name": name, "policies": ["readonly"]})
    shown = root.ok("GET", f"/users/{name}")
    assert made == shown | {"secret_key": made["secret_key"]}
    assert (shown["name"], shown["enabled"], shown["policies"], shown["groups"]) == (name, True, ["readonly"], [])
    assert name in [user["name"] for user in root.ok("GET", "/users")["users"]]
    assert "secret" not in root.call("GET", "/users").body.decode()
    assert root.call("DELETE", f"/users/{name}").status == 204
    assert root.call("GET", f"/users/{name}").code == "NoSuchUser"


def test_a_name_is_taken_once(root: Client, new_user: Callable[..., Client]):
    """Neither a user nor root can be made twice, and an access key's name is taken too."""
    user = new_user()
    assert root.call("POST", "/users", {"name": user.access_key}).code == "NameTaken"
    assert root.call("POST", "/users", {"name": root.access_key}).code == "NameTaken"
    key = root.ok("POST", "/access-keys", {})["access_key"]
    assert root.call("POST", "/users", {"name": key}).code == "NameTaken"


def test_users_come_in_pages(root: Client, fresh: Callable[[str], str]):
    """Pages of two, each after the one before, hold every user once and in order."""
    stem = fresh("zz-page")
    names = [f"{stem}-{number}" for number in range(5)]
    for name in names:
        root.ok("POST", "/users", {"name": name})
    found: list[str] = []
    after = stem
    for _ in range(4):
        page = root.ok("GET", f"/users?limit=2&after={after}")
        found += [user["name"] for user in page["users"] if user["name"].startswith(stem)]
        if "next" not in page:
            break
        after = page["next"]
    assert found == names


def test_a_new_secret_ends_the_old_one(root: Client, new_user: Callable[..., Client]):
    """After another secret is given the old one signs nothing, and the new one does."""
    user = new_user()
    answer = root.ok("PUT", f"/users/{user.access_key}/secret", {"secret_key": NEW_SECRET})
    assert answer == {"name": user.access_key, "secret_key": NEW_SECRET}
    assert user.call("GET", "/account").code == "SignatureDoesNotMatch"
    assert Client(root.server, user.access_key, NEW_SECRET).ok("GET", "/account")["user"] == user.access_key


def test_a_secret_is_made_where_none_is_given(root: Client, new_user: Callable[..., Client]):
    """Without a body a secret is made, and it is good for signing."""
    user = new_user()
    made = root.ok("PUT", f"/users/{user.access_key}/secret")["secret_key"]
    assert made != user.secret_key
    assert Client(root.server, user.access_key, made).call("GET", "/account").status == 200


def test_a_disabled_user_is_kept_out(root: Client, new_user: Callable[..., Client]):
    """A disabled user cannot sign in with its own key or another of its keys, until it is enabled."""
    user = new_user()
    made = user.ok("POST", "/access-keys", {})
    key = Client(root.server, made["access_key"], made["secret_key"])
    assert root.ok("POST", f"/users/{user.access_key}/disable")["enabled"] is False
    assert [each.call("GET", "/account").code for each in (user, key)] == ["AccessKeyInactive"] * 2
    assert root.ok("POST", f"/users/{user.access_key}/enable")["enabled"] is True
    assert [each.call("GET", "/account").status for each in (user, key)] == [200] * 2


def test_policies_are_attached_and_detached(root: Client, new_user: Callable[..., Client]):
    """A policy counts from the request after it was attached to that after it was detached; both can be repeated."""
    user = new_user()
    path = f"/users/{user.access_key}/policies/diagnostics"
    assert user.call("GET", "/info").code == "AccessDenied"
    for _ in range(2):
        assert root.ok("PUT", path)["policies"] == ["diagnostics"]
    assert user.call("GET", "/info").status == 200
    for _ in range(2):
        assert root.ok("DELETE", path)["policies"] == []
    assert user.call("GET", "/info").code == "AccessDenied"
    assert root.call("PUT", f"/users/{user.access_key}/policies/nosuch").code == "NoSuchPolicy"


def test_whoever_attaches_needs_the_right_over_the_policy(
    root: Client, new_user: Callable[..., Client], fresh: Callable[[str], str]
):
    """A helper who may attach one policy cannot attach another, nor make a user with it."""
    policy = fresh("helper")
    allowed = ["arn:aws:iam:::user/*", "arn:aws:iam:::policy/readonly"]
    statement = {
        "Effect": "Allow",
        "Action": ["admin:AttachUserOrGroupPolicy", "admin:CreateUser"],
        "Resource": allowed,
    }
    root.ok("PUT", f"/policies/{policy}", {"Version": "2012-10-17", "Statement": [statement]})
    helper, user = new_user(policy), new_user()
    assert helper.call("PUT", f"/users/{user.access_key}/policies/readonly").status == 200
    assert helper.call("PUT", f"/users/{user.access_key}/policies/consoleAdmin").code == "AccessDenied"
    assert helper.call("POST", "/users", {"name": fresh("made"), "policies": ["consoleAdmin"]}).code == "AccessDenied"
    assert helper.call("POST", "/users", {"name": fresh("made"), "policies": ["readonly"]}).status == 201


def test_root_is_no_user(root: Client):
    """Root can be neither changed nor removed over the wire."""
    for method, path in (("DELETE", ""), ("PUT", "/secret"), ("POST", "/disable"), ("PUT", "/policies/readonly")):
        assert root.call(method, f"/users/{root.access_key}{path}").code == "NoSuchUser"
