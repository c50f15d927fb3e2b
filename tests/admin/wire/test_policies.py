"""Policies over the wire."""

import json
from collections.abc import Callable

from tests.admin.client import PREFIX, Client

READER = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::b/*"]}],
}


def test_a_policy_is_kept_as_it_was_given(root: Client, fresh: Callable[[str], str]):
    """A policy comes back as the document it was, with whom it is attached to."""
    name = fresh("policy")
    assert root.ok("PUT", f"/policies/{name}", READER) == {"name": name, "warnings": []}
    shown = root.ok("GET", f"/policies/{name}")
    assert shown["policy"] == READER
    assert (shown["built_in"], shown["users"], shown["groups"]) == (False, [], [])
    assert name in [policy["name"] for policy in root.ok("GET", "/policies")["policies"]]


def test_the_author_is_told_of_what_is_not_known(root: Client, fresh: Callable[[str], str]):
    """An action that the server does not know is kept, and said."""
    odd = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:Gett", "Resource": "*"}}
    warnings = root.ok("PUT", f"/policies/{fresh('policy')}", odd)["warnings"]
    assert any("s3:Gett" in warning for warning in warnings)


def test_a_policy_in_use_stays(root: Client, new_user: Callable[..., Client], fresh: Callable[[str], str]):
    """A policy goes only when nobody has it."""
    name = fresh("policy")
    root.ok("PUT", f"/policies/{name}", READER)
    user = new_user(name)
    assert root.ok("GET", f"/policies/{name}")["users"] == [user.access_key]
    refused = root.call("DELETE", f"/policies/{name}")
    assert (refused.status, refused.code) == (409, "PolicyInUse")
    assert user.access_key in refused.json["error"]["message"]
    root.ok("DELETE", f"/users/{user.access_key}/policies/{name}")
    assert root.call("DELETE", f"/policies/{name}").status == 204
    assert root.call("GET", f"/policies/{name}").code == "NoSuchPolicy"


def test_built_in_policies_stay_as_they_are(root: Client):
    """A built-in policy can be read, and neither replaced nor removed."""
    assert root.ok("GET", "/policies/readonly")["built_in"] is True
    assert root.call("PUT", "/policies/readonly", READER).code == "PolicyBuiltIn"
    assert root.call("DELETE", "/policies/readonly").code == "PolicyBuiltIn"


def test_bad_policies_are_refused_with_their_place(root: Client, fresh: Callable[[str], str]):
    """A policy that is too large, not JSON or outside the grammar is refused, and what is wrong is said."""
    path = f"{PREFIX}/policies/{fresh('policy')}"
    large = json.dumps(READER | {"Id": "x" * 200}).encode() + b" " * 21_000
    answer = root.raw("PUT", path, large)
    assert (answer.status, answer.code) == (413, "PolicyTooLarge")
    for body in (b"", b"{", b"[]", b'{"Version":"2012-10-17","Statement":[{"Effect":"Maybe"}]}', b"\xff"):
        answer = root.raw("PUT", path, body)
        assert answer.status == 400
    twice = b'{"Version":"2012-10-17","Statement":[],"Statement":[]}'
    assert "twice" in root.raw("PUT", path, twice).json["error"]["message"]


def test_a_change_counts_in_the_next_request(
    root: Client, new_user: Callable[..., Client], fresh: Callable[[str], str]
):
    """A policy that is replaced counts for everyone who has it, at once."""
    name = fresh("policy")
    allow = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "admin:ServerInfo", "Resource": "*"}}
    root.ok("PUT", f"/policies/{name}", allow)
    user = new_user(name)
    for _ in range(4):
        assert user.call("GET", "/info").status == 200
    root.ok("PUT", f"/policies/{name}", READER)
    for _ in range(4):
        assert user.call("GET", "/info").status == 403
