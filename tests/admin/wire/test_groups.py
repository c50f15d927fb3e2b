"""Groups over the wire."""

from collections.abc import Callable

from tests.admin.client import Client


def test_a_group_gives_its_members_its_policies(
    root: Client, new_user: Callable[..., Client], fresh: Callable[[str], str]
):
    """A member has the group's policies while it is a member and the group is enabled."""
    group, user = fresh("group"), new_user()
    assert root.ok("PUT", f"/groups/{group}")["members"] == []
    root.ok("PUT", f"/groups/{group}/policies/diagnostics")
    assert root.ok("PUT", f"/groups/{group}/members/{user.access_key}")["members"] == [user.access_key]
    assert root.ok("GET", f"/users/{user.access_key}")["groups"] == [group]
    assert user.ok("GET", "/account")["policies"] == ["diagnostics"]
    assert user.call("GET", "/info").status == 200
    assert root.ok("POST", f"/groups/{group}/disable")["enabled"] is False
    assert user.call("GET", "/info").status == 403
    root.ok("POST", f"/groups/{group}/enable")
    assert user.call("GET", "/info").status == 200
    assert root.ok("DELETE", f"/groups/{group}/members/{user.access_key}")["members"] == []
    assert user.call("GET", "/info").status == 403


def test_a_group_goes_only_when_it_is_empty(root: Client, new_user: Callable[..., Client], fresh: Callable[[str], str]):
    """A group with a member stays; without, it goes."""
    group, user = fresh("group"), new_user()
    root.ok("PUT", f"/groups/{group}")
    root.ok("PUT", f"/groups/{group}/members/{user.access_key}")
    assert root.call("DELETE", f"/groups/{group}").code == "GroupNotEmpty"
    root.ok("DELETE", f"/groups/{group}/members/{user.access_key}")
    assert root.call("DELETE", f"/groups/{group}").status == 204
    assert root.call("GET", f"/groups/{group}").code == "NoSuchGroup"


def test_a_group_is_made_once_and_listed(root: Client, fresh: Callable[[str], str]):
    """Making a group again leaves it as it is, with the policies it has."""
    group = fresh("group")
    root.ok("PUT", f"/groups/{group}")
    root.ok("PUT", f"/groups/{group}/policies/readonly")
    again = root.ok("PUT", f"/groups/{group}")
    assert again["policies"] == ["readonly"]
    listed = {each["name"]: each for each in root.ok("GET", "/groups")["groups"]}
    assert listed[group] == {name: value for name, value in again.items() if name != "members"}
    assert root.ok("DELETE", f"/groups/{group}/policies/readonly")["policies"] == []


def test_what_is_missing_is_named(root: Client, new_user: Callable[..., Client], fresh: Callable[[str], str]):
    """A group or a user that does not exist is said by name, and a bad name is refused."""
    group, user = fresh("group"), new_user()
    assert root.call("PUT", f"/groups/{group}/members/{user.access_key}").code == "NoSuchGroup"
    root.ok("PUT", f"/groups/{group}")
    assert root.call("PUT", f"/groups/{group}/members/nobody").code == "NoSuchUser"
    assert root.call("PUT", "/groups/no%20such%2Fname").code == "BadName"
