"""AWS's own semantics, as a table: what a policy says, what is asked, and what the answer is."""

import json

import pytest

from lakeshare.identity.authorise import Authoriser, Reason
from lakeshare.identity.caller import ANONYMOUS, Caller, CallerKind, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.policy.bucket import compile_bucket_policy
from lakeshare.identity.policy.compiled import NO_POLICY, compile_policy
from lakeshare.identity.policy.parse import parse_policy

NOW = 1_700_000_000
HERE = Circumstances(at=NOW, source_ip="10.1.2.3", secure=True, user_agent="agent/1", referer="http://example.com/x")
B = "arn:aws:s3:::b"


def document(*statements, version="2012-10-17"):
    return json.dumps({"Version": version, "Statement": list(statements)})


def st(effect="Allow", action="s3:*", resource="*", **more):
    found = {"Effect": effect, "Action": action, "Resource": resource, **more}
    return {name: value for name, value in found.items() if value is not None}


def compiled(*statements):
    return compile_policy(parse_policy(document(*statements)), "p") if statements else NO_POLICY


def user(*statements, limits=(), name="alice", groups=()):
    return Caller(CallerKind.USER, name, user=name, groups=groups, grants=compiled(*statements), limits=tuple(limits))


def asked(caller, action, resource, facts=(), bucket=None, here=HERE):
    policies = {} if bucket is None else {"b": compile_bucket_policy(document(*bucket), "b")}
    return Authoriser(caller, here, policies).decide(Need(action, resource, tuple(facts)))


STATEMENTS = [
    ([], "s3:GetObject", f"{B}/k", False),
    ([st()], "s3:GetObject", f"{B}/k", True),
    ([st(), st("Deny", "s3:DeleteObject")], "s3:DeleteObject", f"{B}/k", False),
    ([st("Deny", "s3:DeleteObject"), st()], "s3:DeleteObject", f"{B}/k", False),
    ([st("Deny", "s3:DeleteObject"), st()], "s3:GetObject", f"{B}/k", True),
    ([st("Deny")], "s3:GetObject", f"{B}/k", False),
    # actions: case does not count, wildcards do
    ([st(action="S3:getobject")], "s3:GetObject", f"{B}/k", True),
    ([st(action="s3:Get*")], "s3:GetObjectTagging", f"{B}/k", True),
    ([st(action="s3:Get*")], "s3:PutObject", f"{B}/k", False),
    ([st(action="s3:?etObject")], "s3:GetObject", f"{B}/k", True),
    ([st(action="s3:GetObject")], "s3:GetObjectVersion", f"{B}/k", False),
    ([st(action="*")], "s3tables:CreateTable", "arn:aws:s3tables:::bucket/w", True),
    ([st(action="s3:*")], "s3tables:CreateTable", "arn:aws:s3tables:::bucket/w", False),
    ([st(action=["s3:PutObject", "s3:GetObject"])], "s3:GetObject", f"{B}/k", True),
    # resources: case counts, a star crosses slashes, a bucket is not its keys
    ([st(resource=B)], "s3:ListBucket", B, True),
    ([st(resource=B)], "s3:GetObject", f"{B}/k", False),
    ([st(resource=f"{B}/*")], "s3:ListBucket", B, False),
    ([st(resource=f"{B}/*")], "s3:GetObject", f"{B}/a/b/c", True),
    ([st(resource=f"{B}/*")], "s3:GetObject", "arn:aws:s3:::bb/a", False),
    ([st(resource=f"{B}*")], "s3:GetObject", "arn:aws:s3:::bb/a", True),
    ([st(resource=f"{B}/A")], "s3:GetObject", f"{B}/a", False),
    ([st(resource=f"{B}/a?c")], "s3:GetObject", f"{B}/abc", True),
    ([st(resource=f"{B}/a?c")], "s3:GetObject", f"{B}/ac", False),
    ([st(resource=f"{B}/*/data/*.parquet")], "s3:GetObject", f"{B}/x/y/data/z.parquet", True),
    ([st(resource=f"{B}/*/data/*.parquet")], "s3:GetObject", f"{B}/x/y/data/z.csv", False),
    ([st(resource=f"{B}/a[b].(c)+")], "s3:GetObject", f"{B}/a[b].(c)+", True),
    ([st(resource=f"{B}/a\nb*")], "s3:GetObject", f"{B}/a\nb\nc", True),
    # prefixes end where their slash is
    ([st(resource=f"{B}/t1/*")], "s3:GetObject", f"{B}/t1/x", True),
    ([st(resource=f"{B}/t1/*")], "s3:GetObject", f"{B}/t10/x", False),
    # NotAction, NotResource
    ([st(action=None, NotAction="s3:Delete*")], "s3:GetObject", f"{B}/k", True),
    ([st(action=None, NotAction="s3:Delete*")], "s3:DeleteObject", f"{B}/k", False),
    ([st(), st("Deny", action=None, NotAction=["s3:Get*", "s3:List*"])], "s3:PutObject", f"{B}/k", False),
    ([st(), st("Deny", action=None, NotAction=["s3:Get*", "s3:List*"])], "s3:GetObject", f"{B}/k", True),
    ([st(resource=None, NotResource=f"{B}/secret/*")], "s3:GetObject", f"{B}/k", True),
    ([st(resource=None, NotResource=f"{B}/secret/*")], "s3:GetObject", f"{B}/secret/k", False),
    ([st(), st("Deny", resource=None, NotResource=f"{B}/home/*")], "s3:GetObject", f"{B}/k", False),
    ([st(), st("Deny", resource=None, NotResource=f"{B}/home/*")], "s3:GetObject", f"{B}/home/k", True),
    # the two spellings of a warehouse
    ([st(action="s3tables:CreateTableBucket")], "s3tables:CreateWarehouse", "arn:aws:s3tables:::bucket/w", True),
    ([st(action="s3tables:CreateWarehouse")], "s3tables:CreateTableBucket", "arn:aws:s3tables:::bucket/w", True),
    ([st(action="s3tables:*TableB*")], "s3tables:GetWarehouse", "arn:aws:s3tables:::bucket/w", True),
    ([st(action="s3tables:GetTable")], "s3tables:GetWarehouse", "arn:aws:s3tables:::bucket/w", False),
    # the umbrella over sharing
    ([st(action="admin:DeltaSharing")], "admin:DeltaSharingCreateShare", "*", True),
    ([st(), st("Deny", "admin:DeltaSharing"), st(action="admin:*")], "admin:DeltaSharingGetShare", "*", False),
    # admin actions are no bucket's
    ([st(action="admin:*", resource=None)], "admin:CreateUser", "arn:aws:iam:::user/bob", True),
    ([st(action="admin:*", resource="arn:aws:s3:::*")], "admin:CreateUser", "arn:aws:iam:::user/bob", True),
    ([st(action="admin:*", resource="arn:aws:s3:::b/*")], "admin:CreateUser", "arn:aws:iam:::user/bob", False),
    ([st(action="admin:*", resource="arn:aws:iam:::user/b*")], "admin:CreateUser", "arn:aws:iam:::user/bob", True),
    ([st(action="admin:*", resource="arn:aws:iam:::user/b*")], "admin:CreateUser", "arn:aws:iam:::user/carol", False),
    ([st(action="*", resource="arn:aws:s3:::*")], "admin:CreateUser", "arn:aws:iam:::user/bob", False),
    ([st(action=None, NotAction="s3:Get*", resource="arn:aws:s3:::*")], "admin:CreateUser", "*", False),
    ([st(action="s3:*", resource="arn:aws:s3:::*")], "admin:CreateUser", "*", False),
    # variables
    ([st(resource=f"{B}/home/${{aws:username}}/*")], "s3:GetObject", f"{B}/home/alice/x", True),
    ([st(resource=f"{B}/home/${{aws:username}}/*")], "s3:GetObject", f"{B}/home/bob/x", False),
    ([st(resource=f"{B}/home/${{AWS:UserName}}/*")], "s3:GetObject", f"{B}/home/alice/x", True),
    ([st(resource=f"{B}/${{aws:tokenissuetime, 'none'}}/*")], "s3:GetObject", f"{B}/none/x", True),
    ([st(resource=f"{B}/${{*}}${{?}}${{$}}")], "s3:GetObject", f"{B}/*?$", True),
    ([st(resource=f"{B}/${{*}}")], "s3:GetObject", f"{B}/anything", False),
    ([st(resource=f"{B}/${{aws:tokenissuetime}}*")], "s3:GetObject", f"{B}/x", False),
    ([st(resource=None, NotResource=f"{B}/${{aws:tokenissuetime}}*")], "s3:GetObject", f"{B}/x", False),
    ([st(), st("Deny", resource=None, NotResource=f"{B}/${{aws:tokenissuetime}}")], "s3:GetObject", f"{B}/x", False),
]


@pytest.mark.parametrize(("statements", "action", "resource", "allowed"), STATEMENTS)
def test_identity_policies(statements, action, resource, allowed):
    """Deny comes first, then allow, and what nothing speaks of is denied."""
    assert asked(user(*statements), action, resource).allowed is allowed


def test_a_variable_in_the_older_language_is_plain_text():
    """Under version 2008-10-17 `${…}` stands for itself, and the author is told."""
    policy = parse_policy(document(st(resource=f"{B}/${{aws:username}}"), version="2008-10-17"))
    caller = Caller(CallerKind.USER, "alice", user="alice", grants=compile_policy(policy))
    assert not asked(caller, "s3:GetObject", f"{B}/alice").allowed
    assert asked(caller, "s3:GetObject", f"{B}/${{aws:username}}").allowed
    assert any("variable" in warning for warning in policy.warnings)


def test_a_star_in_a_variables_value_is_no_wildcard():
    """A user who is called `*` has the home of `*`, not everyone's."""
    caller = user(st(resource=f"{B}/home/${{aws:username}}/*"), name="*")
    assert asked(caller, "s3:GetObject", f"{B}/home/*/x").allowed
    assert not asked(caller, "s3:GetObject", f"{B}/home/bob/x").allowed


EVERYONE = {"Principal": "*"}
ALICE = {"Principal": {"AWS": "arn:aws:iam:::user/alice"}}
COMBINED = [
    ([], [st(resource=f"{B}/*", **EVERYONE)], "user", True, Reason.BUCKET_ALLOWS),
    ([], [st(resource=f"{B}/*", **EVERYONE)], "anonymous", True, Reason.BUCKET_ALLOWS),
    ([], [st(resource=f"{B}/*", Principal={"AWS": ["*"]})], "anonymous", True, Reason.BUCKET_ALLOWS),
    ([], [st(resource=f"{B}/*", **ALICE)], "user", True, Reason.BUCKET_ALLOWS),
    ([], [st(resource=f"{B}/*", **ALICE)], "anonymous", False, Reason.NOT_ALLOWED),
    ([], [st(resource=f"{B}/*", Principal={"AWS": "alice"})], "user", True, Reason.BUCKET_ALLOWS),
    ([], [st(resource=f"{B}/*", Principal={"AWS": "arn:aws:iam::123456789012:user/alice"})], "user", True, None),
    ([], [st(resource=f"{B}/*", Principal={"CanonicalUser": "alice"})], "user", True, None),
    ([], [st(resource=f"{B}/*", Principal={"AWS": "arn:aws:iam:::user/bob"})], "user", False, Reason.NOT_ALLOWED),
    ([], [st(resource=f"{B}/*", Principal={"AWS": "arn:aws:iam::1:root"})], "user", False, Reason.NOT_ALLOWED),
    ([], [], "anonymous", False, Reason.NOT_ALLOWED),
    ([st()], [], "user", True, Reason.IDENTITY_ALLOWS),
    ([st()], [st("Deny", resource=f"{B}/*", **EVERYONE)], "user", False, Reason.DENIED),
    ([st("Deny")], [st(resource=f"{B}/*", **EVERYONE)], "user", False, Reason.DENIED),
    ([st()], [st("Deny", resource=f"{B}/*", NotPrincipal={"AWS": "alice"})], "user", True, Reason.IDENTITY_ALLOWS),
    ([st()], [st("Deny", resource=f"{B}/*", NotPrincipal={"AWS": "bob"})], "user", False, Reason.DENIED),
    ([st()], [st("Deny", resource=f"{B}/*", **EVERYONE)], "root", True, Reason.ROOT),
]


@pytest.mark.parametrize(("identity", "bucket", "kind", "allowed", "reason"), COMBINED)
def test_bucket_policies_join_the_callers(identity, bucket, kind, allowed, reason):
    """What the identity's policies or the bucket's allow is allowed, unless either denies it."""
    callers = {"user": user(*identity), "anonymous": ANONYMOUS, "root": Caller(CallerKind.ROOT, "root")}
    decision = asked(callers[kind], "s3:GetObject", f"{B}/k", bucket=bucket or None)
    assert decision.allowed is allowed
    assert reason is None or decision.reason is reason


def test_a_bucket_policy_speaks_of_its_own_bucket_only():
    """A star in the resource of one bucket's policy opens no other bucket."""
    bucket = [st(resource="arn:aws:s3:::*", **EVERYONE)]
    assert asked(ANONYMOUS, "s3:GetObject", f"{B}/k", bucket=bucket).allowed
    assert not asked(ANONYMOUS, "s3:GetObject", "arn:aws:s3:::other/k", bucket=bucket).allowed


READ = compile_policy(parse_policy(document(st(action="s3:Get*"))))
KEYS = compile_policy(parse_policy(document(st(resource=f"{B}/a/*"))))
NO_DELETE = compile_policy(parse_policy(document(st("Deny", "s3:Delete*"), st())))
LIMITED = [
    ([st()], [READ], "s3:GetObject", f"{B}/a/k", True),
    ([st()], [READ], "s3:PutObject", f"{B}/a/k", False),
    ([st(action="s3:Put*")], [READ], "s3:GetObject", f"{B}/a/k", False),
    ([st()], [READ, KEYS], "s3:GetObject", f"{B}/a/k", True),
    ([st()], [READ, KEYS], "s3:GetObject", f"{B}/b/k", False),
    ([st()], [READ, KEYS], "s3:PutObject", f"{B}/a/k", False),
    ([st()], [NO_DELETE], "s3:DeleteObject", f"{B}/a/k", False),
    ([st()], [NO_DELETE], "s3:PutObject", f"{B}/a/k", True),
    ([], [READ], "s3:GetObject", f"{B}/a/k", False),
    ([st()], [NO_POLICY], "s3:GetObject", f"{B}/a/k", False),
]


@pytest.mark.parametrize(("statements", "limits", "action", "resource", "allowed"), LIMITED)
def test_sessions_have_the_intersection(statements, limits, action, resource, allowed):
    """A session or a limited service account may do what its parent and each policy between them allow."""
    assert asked(user(*statements, limits=limits), action, resource).allowed is allowed


def test_a_limit_binds_what_the_bucket_grants_too():
    """A bucket policy that admits everyone does not widen a session."""
    bucket = [st(resource=f"{B}/*", **EVERYONE)]
    assert asked(user(limits=[READ]), "s3:GetObject", f"{B}/k", bucket=bucket).allowed
    assert not asked(user(limits=[READ]), "s3:PutObject", f"{B}/k", bucket=bucket).allowed


def test_root_is_bound_by_the_limits_of_its_keys():
    """A limited key of root's has root's rights within its policy, and a bucket's deny binds it."""
    limited = Caller(CallerKind.SERVICE_ACCOUNT, "AK", user="root", of_root=True, limits=(READ,))
    free = Caller(CallerKind.SERVICE_ACCOUNT, "AK", user="root", of_root=True)
    deny = [st("Deny", resource=f"{B}/*", **EVERYONE)]
    assert asked(limited, "s3:GetObject", f"{B}/k").reason is Reason.ROOT
    assert asked(limited, "s3:PutObject", f"{B}/k").reason is Reason.NOT_WITHIN_LIMIT
    assert asked(limited, "admin:CreateServiceAccount", "arn:aws:iam:::user/root").reason is Reason.NOT_WITHIN_LIMIT
    assert asked(limited, "s3:GetObject", f"{B}/k", bucket=deny).reason is Reason.DENIED
    assert asked(free, "s3:PutObject", f"{B}/k", bucket=deny).allowed


def test_a_decision_names_the_statement():
    """What decided is told by policy and Sid, or by number where there is no Sid."""
    assert asked(user(st(Sid="ReadAll")), "s3:GetObject", f"{B}/k").origin == "p#ReadAll"
    assert asked(user(st("Deny", "s3:X"), st("Deny")), "s3:GetObject", f"{B}/k").origin == "p#1"
    assert asked(user(), "s3:GetObject", f"{B}/k").origin == ""
