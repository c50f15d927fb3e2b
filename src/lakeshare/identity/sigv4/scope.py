"""The credential scope of a signature: whose key, on which day, for which region and service.

`ACCESS-KEY/20260101/us-east-1/s3/aws4_request`. Taken apart from the right, since an access key may hold slashes
and a region may be empty.
"""

from dataclasses import dataclass
from functools import lru_cache

CREDENTIAL_LIMIT = 512
"""Longest credential read, in characters; AWS's access keys have at most 128."""

_TERMINATOR = "aws4_request"
_PARTS = 5
_DATE_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose signing key: `text` is the part that goes into the string to sign."""

    access_key: str
    date: str
    region: str
    service: str
    text: str


def scope_of(access_key: str, date: str, region: str, service: str) -> Scope:
    """Make a scope from its parts."""
    return Scope(access_key, date, region, service, f"{date}/{region}/{service}/{_TERMINATOR}")


def parse_credential(credential: str) -> Scope:
    """Read a credential; raises ValueError with what is wrong."""
    if len(credential) > CREDENTIAL_LIMIT:
        raise ValueError(f"the credential is longer than {CREDENTIAL_LIMIT} characters")
    return _parse(credential)


@lru_cache(maxsize=1024)
def _parse(credential: str) -> Scope:
    parts = credential.rsplit("/", _PARTS - 1)
    if len(parts) != _PARTS or not parts[0]:
        raise ValueError("the credential must be ACCESS-KEY/YYYYMMDD/REGION/SERVICE/aws4_request")
    access_key, date, region, service, terminator = parts
    if terminator != _TERMINATOR:
        raise ValueError(f"the credential must end in {_TERMINATOR}")
    if len(date) != _DATE_DIGITS or not (date.isascii() and date.isdigit()):
        raise ValueError("the credential's date must be YYYYMMDD")
    if not (credential.isascii() and credential.isprintable()):
        raise ValueError("the credential holds characters other than printable ASCII")
    return scope_of(access_key, date, region, service)
