"""Policies that are refused, and what authors are warned of."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from lakeshare.errors import Kind
from lakeshare.identity.policy.compiled import closed, compile_policy, compile_stored
from lakeshare.identity.policy.document import MAX_DEPTH, MAX_POLICY_BYTES, MAX_SESSION_POLICY_BYTES
from lakeshare.identity.policy.errors import MalformedPolicy, PolicyError, PolicyTooLarge
from lakeshare.identity.policy.parse import MAX_STATEMENTS, MAX_VALUES, parse_policy, parse_resource_policy

GOOD = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}


def text(statement=None, **more):
    return json.dumps({"Version": "2012-10-17", "Statement": [GOOD if statement is None else statement], **more})


def altered(**changes):
    return {name: value for name, value in (GOOD | changes).items() if value is not ...}


MALFORMED = [
    ("", "line 1 column 1"),
    ("{", "line 1 column 2"),
    ("[]", ""),
    ("null", ""),
    ('"x"', ""),
    (b"\xff", ""),
    ('{"Statement": NaN}', ""),
    ('{"Statement": ' + "1" * 5000 + "}", ""),
    ('{"Version": "2012-10-17", "Version": "2012-10-17"}', "Version"),
    ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), ""),
    ('{"a":' * 2000 + "1" + "}" * 2000, ""),
    ("{}", "Statement"),
    ('{"Statement": []}', "Statement"),
    ('{"Statement": "x"}', "Statement"),
    ('{"Statement": [1]}', "Statement[0]"),
    (text(Version="2020-01-01"), "Version"),
    (text(Version=2012), "Version"),
    (text(Extra=1), ""),
    (text(Id=["x"]), "Id"),
    (text(altered(Effect="allow")), "Statement[0].Effect"),
    (text(altered(Effect=...)), "Statement[0].Effect"),
    (text(altered(Effect=["Allow"])), "Statement[0].Effect"),
    (text(altered(Efect="Allow")), "Statement[0]"),
    (text(altered(Action=...)), "Statement[0]"),
    (text(altered(NotAction="s3:*")), "Statement[0]"),
    (text(altered(NotResource="*")), "Statement[0]"),
    (text(altered(Action=[])), "Statement[0].Action"),
    (text(altered(Action="")), "Statement[0].Action[0]"),
    (text(altered(Action=["s3:GetObject", 5])), "Statement[0].Action[1]"),
    (text(altered(Action="GetObject")), "Statement[0].Action[0]"),
    (text(altered(Action="s3:")), "Statement[0].Action[0]"),
    (text(altered(Action="s3*:Get*")), "Statement[0].Action[0]"),
    (text(altered(Action={"s3": "Get"})), "Statement[0].Action[0]"),
    (text(altered(Action=["s3:x"] * (MAX_VALUES + 1))), "Statement[0].Action"),
    (text(altered(Resource=...)), "Statement[0]"),
    (text(altered(Action=["s3:Get*", "admin:*"], Resource=...)), "Statement[0]"),
    (text(altered(Resource="b/*")), "Statement[0].Resource[0]"),
    (text(altered(Resource=["*", "s3:::b"])), "Statement[0].Resource[1]"),
    (text(altered(Resource="arn:aws:s3:::${user}")), "Statement[0].Resource[0]"),
    (text(altered(Resource="arn:aws:s3:::\ud800")), "Statement[0].Resource[0]"),
    (text(altered(Sid=5)), "Statement[0].Sid"),
    (text(altered(Sid="x" * 300)), "Statement[0].Sid"),
    (text(altered(Principal="*")), "Statement[0].Principal"),
    (text(altered(Condition=[])), "Statement[0].Condition"),
    (text(altered(Condition={"StringEquals": "x"})), "Statement[0].Condition.StringEquals"),
    (text(altered(Condition={"StringEquals": {}})), "Statement[0].Condition.StringEquals"),
    (json.dumps({"Statement": [GOOD] * (MAX_STATEMENTS + 1)}), "Statement"),
    (json.dumps({"Statement": [altered(Sid="a"), altered(Sid="a")]}), "Statement[1].Sid"),
]


@pytest.mark.parametrize(("document", "place"), MALFORMED)
def test_malformed_policies_are_refused_with_their_place(document, place):
    """Whatever breaks the grammar is refused, and the error says where."""
    with pytest.raises(MalformedPolicy) as caught:
        parse_policy(document)
    assert caught.value.place == place
    assert caught.value.kind is Kind.INVALID


def test_oversized_policies_are_refused():
    """A policy has at most 20 KiB, the policy of a session at most 2048 bytes."""
    exact = text() + " " * (MAX_POLICY_BYTES - len(text()))
    assert parse_policy(exact).statements
    with pytest.raises(PolicyTooLarge) as caught:
        parse_policy(exact + " ")
    assert caught.value.kind is Kind.TOO_LARGE
    with pytest.raises(PolicyTooLarge):
        parse_policy(text() + " " * MAX_SESSION_POLICY_BYTES, MAX_SESSION_POLICY_BYTES)


@pytest.mark.parametrize(
    "statement",
    [
        GOOD,
        altered(Principal={}),
        altered(Principal="alice"),
        altered(Principal=["*"]),
        altered(Principal={"Service": "x"}),
        altered(Principal={"AWS": []}),
        altered(Principal={"AWS": [5]}),
        altered(Principal={"AWS": "arn:aws:iam:::user/*"}),
        altered(Principal={"AWS": "arn:aws:iam:::group/g"}),
        altered(Principal={"AWS": "arn:aws:s3:::b"}),
        altered(Principal={"AWS": "a:b"}),
        altered(NotPrincipal={"AWS": "alice"}),
        altered(Principal="*", NotPrincipal="*"),
    ],
)
def test_bucket_policies_name_their_principals(statement):
    """A bucket policy says whom it is about, in a form that can be told; NotPrincipal never admits anyone."""
    with pytest.raises(MalformedPolicy):
        parse_resource_policy(text(statement))


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (altered(Action="s3:GetObjekt"), "s3:GetObjekt"),
        (altered(Action="ec2:RunInstances"), "ec2:RunInstances"),
        (altered(Action=["s3:Get*", "s3:Frobnicate*"]), "Action[1]"),
        (altered(Condition={"StringEquals": {"aws:SuorceIp": "x"}}), "aws:suorceip"),
        (altered(Condition={"ForAllValues:StringEquals": {"s3:RequestObjectTagKeys": "x"}}), "ForAllValues"),
        (altered(Action="admin:ServerInfo"), "admin:ServerInfo"),
    ],
)
def test_suspicious_policies_are_kept_with_a_warning(statement, said):
    """What the server does not know is no error, and never silent."""
    warnings = parse_policy(text(statement)).warnings
    assert len(warnings) == 1
    assert said in warnings[0]


def test_a_sound_policy_has_no_warnings():
    """A policy of known actions and keys is taken without a word."""
    condition = {"StringLike": {"s3:ExistingObjectTag/team": "a*"}, "IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}
    assert (
        parse_policy(text(altered(Action=["s3:Get*", "s3tables:ListTableBuckets"], Condition=condition))).warnings == ()
    )


def test_a_stored_policy_that_cannot_be_read_denies_everything():
    """What was stored and no longer parses fails closed: it denies, and so it overrules other policies too."""

    class NoFacts:
        def values(self, key):
            return ()

    for broken in ("", "{", '{"Statement": []}', "x" * (MAX_POLICY_BYTES + 1)):
        rule = compile_stored(broken, "old").decisive("s3:GetObject", "arn:aws:s3:::b/k", NoFacts())
        assert rule is not None
        assert rule.denies
        assert "cannot be read" in rule.origin
    assert closed("x").decisive("admin:CreateUser", "*", NoFacts()).denies


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ELEMENTS = some.dictionaries(
    some.sampled_from(
        [
            "Sid",
            "Effect",
            "Action",
            "NotAction",
            "Resource",
            "NotResource",
            "Principal",
            "NotPrincipal",
            "Condition",
            "x",
        ]
    ),
    some.sampled_from(
        [
            "Allow",
            "Deny",
            "*",
            "s3:*",
            "arn:aws:s3:::${aws:username}",
            ["s3:Get*"],
            {"AWS": "*"},
            "${",
            "arn:${a:b,'c'}",
        ]
    )
    | JSON
    | some.dictionaries(
        some.sampled_from(["StringLike", "Bool", "ForAnyValue:IpAddress", "NumericEqualsIfExists", "Null", "Date"]),
        some.dictionaries(some.text(max_size=8), JSON, max_size=2) | JSON,
        max_size=2,
    ),
    max_size=6,
)
DOCUMENTS = some.fixed_dictionaries({"Version": some.just("2012-10-17"), "Statement": ELEMENTS | some.lists(ELEMENTS)})


class AnyFacts:
    def values(self, key):
        return ("x",) if "name" in key else ()


@given(DOCUMENTS | JSON)
def test_documents_of_any_shape_are_read_or_refused(document):
    """A policy of any JSON is either legal, and then it can be asked, or refused with a policy error."""
    encoded = json.dumps(document)
    for parse in (parse_policy, parse_resource_policy):
        try:
            policy = parse(encoded)
        except PolicyError:
            continue
        for action in ("s3:GetObject", "admin:CreateUser"):
            compile_policy(policy).decisive(action, "arn:aws:s3:::b/k", AnyFacts(), frozenset({"x"}))


@given(some.binary(max_size=200) | some.text(max_size=200))
def test_bytes_of_any_kind_are_refused_cleanly(document):
    """What is no JSON object at all is refused with a policy error and nothing else."""
    with pytest.raises(PolicyError):
        parse_policy(document)
