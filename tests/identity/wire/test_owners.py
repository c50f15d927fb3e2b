"""Whose a bucket is, and what follows from it: by policies that ask, and in no other way."""

import json
from collections.abc import Callable, Iterator

import pytest

from tests.admin.client import Client
from tests.live import LiveServer, running

OWN_BUCKETS = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": ["s3:CreateBucket", "s3:ListAllMyBuckets"], "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": "s3:*",
            "Resource": "*",
            "Condition": {"StringEquals": {"lakeshare:BucketOwner": "${aws:username}"}},
        },
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with running(tmp_path_factory.mktemp("owners") / "data") as live:
        Client.root(live).ok("PUT", "/policies/own-buckets", OWN_BUCKETS)
        yield live


@pytest.fixture
def tenant(server: LiveServer) -> Callable[..., Client]:
    """Make a user with policies, and return a client that signs as it."""

    def make(name: str, *policies: str) -> Client:
        root = Client.root(server)
        made = root.ok("POST", "/users", {"name": name})
        for policy in policies:
            root.ok("PUT", f"/users/{name}/policies/{policy}")
        return Client(server, name, made["secret_key"])

    return make


def statement(effect: str, principal: object, *actions: str, resource: str, **condition: object) -> bytes:
    found = {"Effect": effect, "Principal": principal, "Action": list(actions), "Resource": resource}
    found |= {"Condition": condition} if condition else {}
    return json.dumps({"Version": "2012-10-17", "Statement": [found]}).encode()


def test_who_makes_a_bucket_has_it_where_a_policy_says_so(tenant: Callable[..., Client]):
    """Under a policy that asks for the owner, each has its own buckets and nothing of the other's."""
    una, ivo = tenant("una", "own-buckets"), tenant("ivo", "own-buckets")
    assert una.raw("PUT", "/of-una").status == 200
    assert ivo.raw("PUT", "/of-ivo").status == 200
    assert una.raw("PUT", "/of-una/key", b"una's").status == 200
    assert una.raw("GET", "/of-una/key").body == b"una's"
    assert una.raw("GET", "/of-una").status == 200
    for method, path in (("GET", "/of-una/key"), ("PUT", "/of-una/key"), ("DELETE", "/of-una/key"), ("GET", "/of-una")):
        assert ivo.raw(method, path).status == 403, (method, path)
    copied = ivo.raw("PUT", "/of-ivo/key", headers={"x-amz-copy-source": "/of-una/key"})
    assert copied.status == 403
    assert una.raw("DELETE", "/of-ivo").status == 403
    assert una.raw("DELETE", "/of-una/key").status == 204
    assert una.raw("DELETE", "/of-una").status == 204


def test_a_service_account_of_the_owner_has_its_buckets(server: LiveServer, tenant: Callable[..., Client]):
    """A key that inherits is its user; what it makes is the user's."""
    eve = tenant("eve", "own-buckets")
    made = eve.ok("POST", "/access-keys", {})
    key = Client(server, made["access_key"], made["secret_key"])
    assert key.raw("PUT", "/of-eve").status == 200
    assert eve.raw("PUT", "/of-eve/key", b"x").status == 200
    assert key.raw("GET", "/of-eve/key").status == 200


def test_without_such_a_policy_making_a_bucket_gives_no_right(server: LiveServer, tenant: Callable[..., Client]):
    """Who may only make buckets can neither read nor write in one that it made; nothing is implied."""
    document = {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Action": "s3:CreateBucket", "Resource": "*"}],
    }
    Client.root(server).ok("PUT", "/policies/makes-only", document)
    max_ = tenant("max", "makes-only")
    assert max_.raw("PUT", "/of-max").status == 200
    assert max_.raw("PUT", "/of-max/key", b"x").status == 403
    assert max_.raw("GET", "/of-max").status == 403


def test_what_root_made_is_nobodys(server: LiveServer, tenant: Callable[..., Client]):
    """A bucket of root's has no owner: no user is taken for it, whatever it is called."""
    root, pia = Client.root(server), tenant("pia", "own-buckets")
    assert root.raw("PUT", "/of-root").status == 200
    assert pia.raw("GET", "/of-root").status == 403
    assert pia.raw("PUT", "/of-root/key", b"x").status == 403


def test_a_bucket_made_anew_has_its_new_owner(tenant: Callable[..., Client]):
    """With a bucket its owner goes: who makes one of that name later has it, and the first has nothing of it."""
    leo, zoe = tenant("leo", "own-buckets"), tenant("zoe", "own-buckets")
    assert leo.raw("PUT", "/handed-on").status == 200
    assert leo.raw("DELETE", "/handed-on").status == 204
    assert zoe.raw("PUT", "/handed-on").status == 200
    assert zoe.raw("PUT", "/handed-on/key", b"zoe's").status == 200
    assert leo.raw("GET", "/handed-on/key").status == 403


def test_a_later_user_of_the_name_inherits_nothing(server: LiveServer, tenant: Callable[..., Client]):
    """Who is made under the name of a user that was removed does not have that one's buckets, but has its own."""
    root, first = Client.root(server), tenant("again", "own-buckets")
    assert first.raw("PUT", "/of-the-first").status == 200
    assert first.raw("PUT", "/of-the-first/key", b"secret").status == 200
    root.ok("DELETE", "/users/again")
    second = tenant("again", "own-buckets")
    for method, path in (("GET", "/of-the-first/key"), ("GET", "/of-the-first"), ("PUT", "/of-the-first/key")):
        assert second.raw(method, path).status == 403, (method, path)
    assert second.raw("PUT", "/of-the-second").status == 200
    assert second.raw("PUT", "/of-the-second/key", b"x").status == 200


def test_a_denial_by_owner_holds_too(server: LiveServer, tenant: Callable[..., Client]):
    """A Deny for all but the owner keeps out users that another policy lets in."""
    guard = {
        "Version": "2012-10-17",
        "Statement": {
            "Effect": "Deny",
            "Action": "s3:DeleteObject",
            "Resource": "*",
            "Condition": {"StringNotEquals": {"lakeshare:BucketOwner": "${aws:username}"}},
        },
    }
    Client.root(server).ok("PUT", "/policies/guard-others", guard)
    ann, bob = tenant("anna", "readwrite", "guard-others"), tenant("bobby", "readwrite", "guard-others")
    assert ann.raw("PUT", "/of-anna").status == 200
    assert bob.raw("PUT", "/of-anna/key", b"x").status == 200
    assert bob.raw("DELETE", "/of-anna/key").status == 403
    assert ann.raw("DELETE", "/of-anna/key").status == 204


def test_a_name_that_is_taken_is_told_and_no_more(server: LiveServer, tenant: Callable[..., Client]):
    """Who may see a bucket may make it again; who may not learns that the name is taken, and gets nothing."""
    first, other, reader = tenant("first", "own-buckets"), tenant("other", "own-buckets"), tenant("third", "readwrite")
    assert first.raw("PUT", "/taken").status == 200
    assert first.raw("PUT", "/taken").status == 200
    assert reader.raw("PUT", "/taken").status == 200
    assert Client.root(server).raw("PUT", "/taken").status == 200
    refused = other.raw("PUT", "/taken")
    assert refused.status == 409
    assert b"<Code>BucketAlreadyExists</Code>" in refused.body
    assert other.raw("GET", "/taken").status == 403
    assert first.raw("PUT", "/taken/key", b"still first's").status == 200


def test_who_may_list_learns_that_a_key_is_missing(server: LiveServer, tenant: Callable[..., Client]):
    """Who may list a prefix, and not read, is told 404 of keys under it that are not there, and 403 of all others."""
    root, lister = Client.root(server), tenant("lister")
    root.raw("PUT", "/listed")
    root.raw("PUT", "/listed/public/there", b"x")
    prefix = {"s3:prefix": "public/*"}
    policy = statement("Allow", {"AWS": "lister"}, "s3:ListBucket", resource="arn:aws:s3:::listed", StringLike=prefix)
    assert root.raw("PUT", "/listed?policy", policy).status == 204
    for method in ("GET", "HEAD"):
        assert lister.raw(method, "/listed/public/missing").status == 404
        assert lister.raw(method, "/listed/public/there").status == 403
        assert lister.raw(method, "/listed/private/missing").status == 403
        assert Client(server).send(method, "/listed/public/missing").status == 403
    assert lister.raw("DELETE", "/listed/public/missing").status == 403
    assert lister.raw("PUT", "/listed/public/missing", b"x").status == 403
    denied = lister.raw("GET", "/listed/public/there")
    assert b"<Code>AccessDenied</Code>" in denied.body


def test_root_undoes_a_policy_that_locks_everyone_out(server: LiveServer, tenant: Callable[..., Client]):
    """A policy may lock out its own author, confirmed or not, as in S3; root still reads, replaces and removes it."""
    root, author = Client.root(server), tenant("author", "readwrite", "consoleAdmin")
    root.raw("PUT", "/locked")
    policy = statement(
        "Deny", "*", "s3:PutBucketPolicy", "s3:GetBucketPolicy", "s3:DeleteBucketPolicy", resource="arn:aws:s3:::locked"
    )
    for headers in ({}, {"x-amz-confirm-remove-self-bucket-access": "true"}):
        assert author.raw("PUT", "/locked?policy", policy, headers=headers).status == 204
        assert author.raw("GET", "/locked?policy").status == 403
        assert author.raw("DELETE", "/locked?policy").status == 403
        assert author.raw("PUT", "/locked?policy", policy).status == 403
        assert root.raw("GET", "/locked?policy").body == policy
        assert root.raw("DELETE", "/locked?policy").status == 204
    assert author.raw("GET", "/locked?policy").status == 404


def test_a_tag_that_a_policy_asks_of_a_write_must_come_with_it(server: LiveServer, tenant: Callable[..., Client]):
    """A grant of writing under a condition on the request's tags takes the tag with the write, and the right to tag."""
    root, tagger = Client.root(server), tenant("tagger")
    root.raw("PUT", "/tagged")
    wanted = {"s3:RequestObjectTag/security": "public"}
    policy = statement(
        "Allow",
        {"AWS": "tagger"},
        "s3:PutObject",
        "s3:PutObjectTagging",
        resource="arn:aws:s3:::tagged/*",
        StringEquals=wanted,
    )
    assert root.raw("PUT", "/tagged?policy", policy).status == 204
    assert tagger.raw("PUT", "/tagged/key", b"x").status == 403
    assert tagger.raw("PUT", "/tagged/key", b"x", headers={"x-amz-tagging": "security=private"}).status == 403
    assert tagger.raw("PUT", "/tagged/key", b"x", headers={"x-amz-tagging": "security=public"}).status == 200
