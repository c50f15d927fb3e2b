"""Table locations inside buckets: under them, direct S3 access follows table permissions. Pure.

A catalog claims the prefix of each table it keeps. Then a write under that prefix needs the right to put the table's
data, however much S3 the caller has; a read may come from either right. The bounds of a claim are its slashes: a
claim of `t1/` says nothing of `t10/`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from lakeshare.identity.arns import bucket_and_key, folder_of
from lakeshare.identity.caller import Need

READ_ACTION = "s3tables:GetTableData"
WRITE_ACTION = "s3tables:PutTableData"
_PREFIX = "s3:prefix"

# Everything else under a claim counts as a write.
_READS = frozenset(
    {
        "s3:GetObject",
        "s3:GetObjectAcl",
        "s3:GetObjectAttributes",
        "s3:GetObjectTagging",
        "s3:GetObjectVersion",
        "s3:GetObjectVersionAcl",
        "s3:GetObjectVersionAttributes",
        "s3:GetObjectVersionTagging",
        "s3:ListBucket",
        "s3:ListBucketVersions",
        "s3:ListBucketMultipartUploads",
        "s3:ListMultipartUploadParts",
    }
)
_LISTINGS = frozenset({"s3:ListBucket", "s3:ListBucketVersions", "s3:ListBucketMultipartUploads"})


@dataclass(frozen=True, slots=True)
class Claim:
    """The keys of a bucket that begin with a prefix belong to a table; an empty prefix claims the bucket's keys."""

    bucket: str
    prefix: str
    table: str
    facts: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "prefix", folder_of(self.prefix))


@dataclass(frozen=True, slots=True)
class TableNeed:
    """What a need is under a claim: the same right over the table, and whether only that right will do."""

    need: Need
    writes: bool


class Claims:
    """Claims, found by key."""

    __slots__ = ("_buckets",)

    def __init__(self, claims: Iterable[Claim] = ()) -> None:
        self._buckets: dict[str, dict[str, Claim]] = {}
        for claim in claims:
            self._buckets.setdefault(claim.bucket, {})[claim.prefix] = claim

    def covering(self, bucket: str, key: str) -> Claim | None:
        """Return the claim with the longest prefix of a key."""
        prefixes = self._buckets.get(bucket)
        if not prefixes:
            return None
        end = len(key)
        while end > 0:  # at most one step for each slash of a key
            end = key.rfind("/", 0, end)
            if (found := prefixes.get(key[: end + 1])) is not None:
                return found
        return prefixes.get("")

    def over(self, need: Need) -> TableNeed | None:
        """Return what an S3 need is under the claim that covers it; None where no claim does."""
        if not self._buckets or (named := bucket_and_key(need.resource)) is None:
            return None
        bucket, key = named
        if not key:
            key = _listed(need)
        claim = self.covering(bucket, key) if key else None
        if claim is None:
            return None
        writes = need.action not in _READS
        action = WRITE_ACTION if writes else READ_ACTION
        return TableNeed(Need(action, claim.table, claim.facts), writes)


NO_CLAIMS = Claims()


class Territory(Protocol):
    """What a catalog claims of buckets, as it stands now."""

    async def claims(self, needs: Sequence[Need]) -> Claims:
        """Return the claims over what a request needs. Raises AccessDenied for writes that nobody may do there."""
        ...


def is_write(need: Need) -> bool:
    """Say whether an S3 need counts as a write under a claim."""
    return need.action not in _READS


def _listed(need: Need) -> str:
    """Return the prefix that a listing is bound to; a prefix inside a claim is treated as a key there."""
    if need.action not in _LISTINGS:
        return ""
    prefixes = [value for name, value in need.facts if name == _PREFIX]
    return prefixes[0] if len(prefixes) == 1 else ""
