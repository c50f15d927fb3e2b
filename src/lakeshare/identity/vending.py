"""Policies for credentials that reach one place only: the keys below a prefix of a bucket, and their listing."""

import json
from dataclasses import dataclass

from lakeshare.identity.arns import S3, folder_of
from lakeshare.identity.policy.pattern import escaped

MAX_VENDED_POLICY_BYTES = 16 * 1024

_READ = ["s3:GetObject", "s3:GetObjectVersion"]
_WRITE = ["s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"]
_LIST = ["s3:ListBucket"]
_LIST_UPLOADS = ["s3:ListBucketMultipartUploads"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The keys below a prefix. A prefix ends with a slash, so `t1` never reaches `t10`; empty is the whole bucket."""

    bucket: str
    prefix: str
    writable: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", folder_of(self.prefix))


def policy_for(scopes: tuple[Scope, ...]) -> str:
    """Write the policy that allows what the scopes name and nothing else."""
    statements = [statement for scope in scopes for statement in _statements(scope)]
    return json.dumps({"Version": "2012-10-17", "Statement": statements}, separators=(",", ":"))


def _statements(scope: Scope) -> list[dict[str, object]]:
    bucket, prefix = S3 + escaped(scope.bucket), escaped(scope.prefix)
    objects = _READ + (_WRITE if scope.writable else [])
    listing = _LIST + (_LIST_UPLOADS if scope.writable else [])
    return [
        {"Effect": "Allow", "Action": objects, "Resource": f"{bucket}/{prefix}*"},
        {
            "Effect": "Allow",
            "Action": listing,
            "Resource": bucket,
            "Condition": {"StringLike": {"s3:prefix": f"{prefix}*"}},
        },
        {"Effect": "Allow", "Action": "s3:GetBucketLocation", "Resource": bucket},
    ]
