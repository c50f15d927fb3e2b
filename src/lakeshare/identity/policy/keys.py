"""The names of condition keys: how they are compared, which are known, and which only the server may set."""

from functools import lru_cache

_KEYS_KEPT = 1024
_KNOWN = """
aws:username aws:userid aws:groups aws:principaltype aws:principalarn
aws:sourceip aws:securetransport aws:currenttime aws:epochtime aws:tokenissuetime aws:useragent aws:referer
s3:prefix s3:delimiter s3:max-keys s3:versionid s3:locationconstraint s3:authtype s3:signatureversion s3:signatureage
s3:object-lock-mode s3:object-lock-retain-until-date
s3:object-lock-legal-hold s3:object-lock-remaining-retention-days s3:existingobjecttag/ s3:requestobjecttag/
s3:requestobjecttagkeys s3:if-match s3:if-none-match s3:x-amz-acl s3:x-amz-content-sha256 s3:x-amz-copy-source
s3:x-amz-grant-full-control s3:x-amz-grant-read s3:x-amz-grant-read-acp s3:x-amz-grant-write
s3:x-amz-grant-write-acp s3:x-amz-metadata-directive s3:x-amz-server-side-encryption
s3:x-amz-server-side-encryption-aws-kms-key-id s3:x-amz-server-side-encryption-customer-algorithm
s3:x-amz-storage-class s3:x-amz-website-redirect-location
s3tables:namespace s3tables:tablename s3tables:viewname s3tables:functionname s3tables:registerlocation
lakeshare:bucketowner
s3tables:kmskeyarn s3tables:ssealgorithm s3tables:warehousetag/ s3tables:tabletag/
sts:durationseconds sts:rolesessionname
"""

KNOWN_KEYS = frozenset(_KNOWN.split())

EXISTING_TAG = "s3:existingobjecttag/"
"""Begins the keys that ask for a tag of the object itself, which must be read for them."""

BUCKET_OWNER = "lakeshare:bucketowner"
"""Asks for the user that made the bucket, which must be read for it; a bucket that root made has none."""

# What a request says of itself can never stand in for these.
SERVER_KEYS = frozenset(
    {
        "aws:username",
        "aws:userid",
        "aws:groups",
        "aws:sourceip",
        "aws:securetransport",
        "aws:currenttime",
        "aws:epochtime",
        "aws:tokenissuetime",
        "aws:useragent",
        "aws:referer",
        "s3:authtype",
        "s3:signatureversion",
        "s3:signatureage",
    }
)
_SERVER_PREFIXES = ("aws:principal", "jwt:", "ldap:")


def condition_key(name: str) -> str:
    """Write a condition key as it is compared: case counts after a `/` only, where a tag's name stands."""
    head, slash, tail = name.partition("/")
    return head.lower() + slash + tail


def is_known(key: str) -> bool:
    """Whether the server sets this key for some action."""
    head, slash, _ = key.partition("/")
    return head + slash in KNOWN_KEYS


@lru_cache(maxsize=_KEYS_KEPT)
def is_server_key(key: str) -> bool:
    """Whether only the server may say what this key is."""
    return key in SERVER_KEYS or key.startswith(_SERVER_PREFIXES)
