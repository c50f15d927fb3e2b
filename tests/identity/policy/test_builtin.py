"""The built-in policies: what each allows and, more to the point, what it does not."""

import pytest

from lakeshare.identity.authorise import Authoriser
from lakeshare.identity.caller import Caller, CallerKind, Need
from lakeshare.identity.circumstances import Circumstances
from lakeshare.identity.policy.actions import KNOWN_ACTIONS
from lakeshare.identity.policy.builtin import BUILT_IN, own_account
from lakeshare.identity.policy.compiled import compile_stored
from lakeshare.identity.policy.parse import parse_policy

OBJECT, TABLE, SERVER = "arn:aws:s3:::b/k", "arn:aws:s3tables:::bucket/w/table/1", "*"


def allowed(policy, action, resource=None):
    grants = compile_stored(BUILT_IN[policy], policy)
    resource = resource or {"s3": OBJECT, "s3tables": TABLE}.get(action.partition(":")[0], SERVER)
    caller = Caller(CallerKind.USER, "alice", user="alice", grants=grants)
    return Authoriser(caller, Circumstances(at=0), {}).decide(Need(action, resource)).allowed


MAY = {
    "readonly": ["s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "s3:ListAllMyBuckets", "s3:GetBucketLocation"],
    "readwrite": ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:CreateBucket", "s3:ListBucket"],
    "writeonly": ["s3:PutObject", "s3:AbortMultipartUpload"],
    "diagnostics": ["admin:ServerInfo", "admin:Prometheus"],
    "consoleAdmin": [
        "admin:CreateUser",
        "s3:DeleteBucket",
        "s3tables:DeleteWarehouse",
        "admin:DeltaSharingCreateShare",
    ],
    "tablesAdmin": ["s3tables:CreateWarehouse", "s3tables:PutTablePolicy", "s3tables:PutTableData"],
    "tablesReadWrite": [
        "s3tables:CreateTable",
        "s3tables:PutTableData",
        "s3tables:GetTableData",
        "s3tables:UpdateView",
    ],
    "tablesReadOnly": ["s3tables:GetTable", "s3tables:GetTableData", "s3tables:ListTables", "s3tables:GetConfig"],
    "sharingAdmin": ["admin:DeltaSharingCreateShare", "admin:DeltaSharingDeleteToken", "s3:GetObject", "s3:ListBucket"],
}
MAY_NOT = {
    "readonly": ["s3:PutObject", "s3:DeleteObject", "s3:PutBucketPolicy", "admin:ServerInfo", "s3tables:GetTable"],
    "readwrite": ["admin:ServerInfo", "s3tables:GetTable", "sts:AssumeRole"],
    "writeonly": ["s3:GetObject", "s3:ListBucket", "s3:DeleteObject"],
    "diagnostics": ["s3:GetObject", "admin:CreateUser", "admin:ConfigUpdate"],
    "consoleAdmin": [],
    "tablesAdmin": ["s3:GetObject", "admin:ServerInfo"],
    "tablesReadWrite": [
        "s3tables:CreateWarehouse",
        "s3tables:DeleteWarehouse",
        "s3tables:PutTablePolicy",
        "s3:PutObject",
    ],
    "tablesReadOnly": ["s3tables:CreateTable", "s3tables:PutTableData", "s3tables:UpdateTable", "s3:GetObject"],
    "sharingAdmin": ["s3:PutObject", "admin:CreateUser", "s3tables:PutTableData"],
}


@pytest.mark.parametrize("policy", sorted(BUILT_IN))
def test_built_in_policies(policy):
    """Each built-in policy is sound and allows its own work and no more."""
    assert parse_policy(BUILT_IN[policy]).warnings == ()
    assert [action for action in MAY[policy] if not allowed(policy, action)] == []
    assert [action for action in MAY_NOT[policy] if allowed(policy, action)] == []
    named = {*MAY[policy], *MAY_NOT[policy]}
    assert named <= KNOWN_ACTIONS


def test_read_only_policies_change_nothing():
    """Of all known actions the read-only policies allow none that writes, deletes, creates or tags."""
    writing = ("Put", "Delete", "Create", "Update", "Rename", "Register", "Tag", "Untag", "Abort", "Restore", "Bypass")
    for policy in ("readonly", "tablesReadOnly", "diagnostics"):
        for action in KNOWN_ACTIONS:
            assert not (action.partition(":")[2].startswith(writing) and allowed(policy, action)), action


def test_a_user_may_manage_its_own_account_and_no_others():
    """The rights over one's own keys end at one's own name."""
    caller = Caller(CallerKind.USER, "alice", user="alice", grants=own_account())
    decide = Authoriser(caller, Circumstances(at=0), {}).decide
    for action in ("admin:CreateServiceAccount", "sts:AssumeRole"):
        assert decide(Need(action, "arn:aws:iam:::user/alice")).allowed
        assert not decide(Need(action, "arn:aws:iam:::user/alice2")).allowed
        assert not decide(Need(action, "*")).allowed
    assert not decide(Need("admin:DeleteUser", "arn:aws:iam:::user/alice")).allowed
