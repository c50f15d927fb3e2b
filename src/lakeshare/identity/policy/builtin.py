"""The policies that every server has, under names that no one can take or change."""

import json
from collections.abc import Mapping
from typing import Any

from lakeshare.identity.policy.compiled import CompiledPolicy, compile_policy
from lakeshare.identity.policy.parse import parse_policy

_S3_EVERYTHING = "arn:aws:s3:::*"
_TABLES_EVERYTHING = "arn:aws:s3tables:::*"

_READ_OBJECTS = ["s3:GetObject*", "s3:GetBucket*", "s3:ListBucket*", "s3:ListMultipartUploadParts", "s3:HeadBucket"]
_READ_TABLES = ["s3tables:Get*", "s3tables:List*", "s3tables:TableMetrics"]
_SHARING = ["admin:DeltaSharing*"]
_DIAGNOSTICS = [
    "admin:ServerInfo",
    "admin:StorageInfo",
    "admin:DataUsageInfo",
    "admin:ServerTrace",
    "admin:ConsoleLog",
    "admin:Profiling",
    "admin:TopLocksInfo",
    "admin:OBDInfo",
    "admin:HealthInfo",
    "admin:BandwidthMonitor",
    "admin:Prometheus",
]


def _allow(actions: list[str], resource: str = "*") -> dict[str, Any]:
    return {"Effect": "Allow", "Action": actions, "Resource": [resource]}


def _text(*statements: dict[str, Any]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)}, indent=2)


BUILT_IN: Mapping[str, str] = {
    "readonly": _text(_allow([*_READ_OBJECTS, "s3:ListAllMyBuckets"], _S3_EVERYTHING)),
    "readwrite": _text(_allow(["s3:*"], _S3_EVERYTHING)),
    "writeonly": _text(
        _allow(["s3:PutObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"], _S3_EVERYTHING)
    ),
    "diagnostics": _text(_allow(_DIAGNOSTICS)),
    "consoleAdmin": _text(
        _allow(["admin:*", "sts:*"]), _allow(["s3:*"], _S3_EVERYTHING), _allow(["s3tables:*"], _TABLES_EVERYTHING)
    ),
    "tablesAdmin": _text(_allow(["s3tables:*"], _TABLES_EVERYTHING)),
    "tablesReadWrite": _text(
        _allow(
            [
                *_READ_TABLES,
                "s3tables:CreateNamespace",
                "s3tables:DeleteNamespace",
                "s3tables:UpdateNamespaceProperties",
                "s3tables:*Table",
                "s3tables:*View",
                "s3tables:*Function",
                "s3tables:PutTableData",
                "s3tables:UpdateTableMetadataLocation",
                "s3tables:*TableAnnotation",
            ],
            _TABLES_EVERYTHING,
        )
    ),
    "tablesReadOnly": _text(_allow(_READ_TABLES, _TABLES_EVERYTHING)),
    "sharingAdmin": _text(
        _allow(_SHARING),
        _allow(["s3:GetObject", "s3:ListBucket", "s3:GetBucketLocation", "s3:ListAllMyBuckets"], _S3_EVERYTHING),
        _allow(_READ_TABLES, _TABLES_EVERYTHING),
    ),
}

# What every user may do for itself. It is a policy like any other, so a Deny, and the policy of a service account or
# a session, bind it: MinIO's CVE-2025-62506 came of asking only whether such actions were denied.
OWN_ACCOUNT = "ownAccount"
_OWN_ACCOUNT_TEXT = _text(
    _allow(
        [
            "admin:CreateServiceAccount",
            "admin:GetServiceAccount",
            "admin:ListServiceAccounts",
            "admin:UpdateServiceAccount",
            "admin:RemoveServiceAccount",
            "admin:GetUser",
            "admin:RevokeSessions",
            "sts:AssumeRole",
            "sts:GetSessionToken",
            "sts:GetCallerIdentity",
        ],
        "arn:aws:iam:::user/${aws:username}",
    )
)


def own_account() -> CompiledPolicy:
    """Return the policy by which a user manages its own keys and sessions."""
    return _OWN_ACCOUNT


_OWN_ACCOUNT = compile_policy(parse_policy(_OWN_ACCOUNT_TEXT), OWN_ACCOUNT)
