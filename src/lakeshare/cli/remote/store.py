"""The verbs of S3 that commands use, on one server."""

import base64
import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from lakeshare.cli.errors import ClientError, Refused, Unreachable
from lakeshare.cli.remote import xml
from lakeshare.cli.remote.body import EMPTY, Body, Bytes
from lakeshare.cli.remote.listing import Listing
from lakeshare.cli.remote.model import Bucket, ObjectFacts
from lakeshare.cli.remote.server import Answer, Call, Moved, Pairs, Server, unwatched
from lakeshare.cli.units import moment
from lakeshare.identity.sigv4.canonical import encode, encode_path

DELETES_AT_ONCE = 1000
"""Most keys in one DeleteObjects, by S3's limit."""
PRESIGN_LIMIT_SECONDS = 7 * 86400
"""Longest life of a presigned URL, by S3's limit."""

_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NONE: Mapping[str, str] = {}

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Doomed:
    """A key, or a version of it, that is to be removed."""

    key: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What became of a key that was to be removed."""

    key: str
    version: str = ""
    error: ClientError | None = field(default=None)


class Store:
    """Buckets and objects of one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.listing = Listing(server)

    @property
    def name(self) -> str:
        """The alias that it goes by."""
        return self.server.alias.name

    def named(self, bucket: str, key: str = "") -> str:
        """Write an object as it is typed."""
        return f"{self.name}/{bucket}" + (f"/{key}" if key else "")

    def buckets(self) -> list[Bucket]:
        """List the buckets."""
        answer = self.server.ask(Call("GET", "/", named=self.name))
        listed = _document(answer, "ListAllMyBucketsResult", self.name).all("Buckets")
        return [
            Bucket(node.text_of("Name"), moment(node.text_of("CreationDate")))
            for node in (listed[0].all("Bucket") if listed else ())
        ]

    def make_bucket(self, bucket: str, region: str = "") -> None:
        """Make a bucket."""
        body = (
            f"<CreateBucketConfiguration><LocationConstraint>{xml.escape(region)}</LocationConstraint>"
            "</CreateBucketConfiguration>"
            if region and region != "us-east-1"
            else ""
        )
        self._bucket("PUT", bucket, body=Bytes(body.encode()))

    def remove_bucket(self, bucket: str) -> None:
        """Remove a bucket that is empty."""
        self._bucket("DELETE", bucket)

    def has_bucket(self, bucket: str) -> bool:
        """Say whether there is such a bucket."""
        try:
            self._bucket("HEAD", bucket)
        except Refused as error:
            if error.status == 404:
                return False
            raise
        return True

    def location(self, bucket: str) -> str:
        """Return a bucket's region."""
        answer = self._bucket("GET", bucket, (("location", ""),))
        return _document(answer, "LocationConstraint", self.name).text or "us-east-1"

    def policy(self, bucket: str) -> Json | None:
        """Return a bucket's policy; None where it has none."""
        try:
            answer = self._bucket("GET", bucket, (("policy", ""),))
        except Refused as error:
            if error.code == "NoSuchBucketPolicy":
                return None
            raise
        document: Json = json.loads(answer.body)
        return document

    def set_policy(self, bucket: str, policy: Json | None) -> None:
        """Give a bucket a policy, or take it away."""
        if policy is None:
            self._bucket("DELETE", bucket, (("policy", ""),))
        else:
            self._bucket("PUT", bucket, (("policy", ""),), body=Bytes(json.dumps(policy).encode()))

    def tags(self, bucket: str, key: str) -> dict[str, str]:
        """Return the tags of an object, or of a bucket where there is no key."""
        try:
            answer = self.server.ask(self._tagging("GET", bucket, key))
        except Refused as error:
            if error.code == "NoSuchTagSet":
                return {}
            raise
        sets = _document(answer, "Tagging", self.named(bucket, key)).all("TagSet")
        return {node.text_of("Key"): node.text_of("Value") for one in sets for node in one.all("Tag")}

    def set_tags(self, bucket: str, key: str, tags: Mapping[str, str]) -> None:
        """Give an object, or a bucket, tags in place of those it has."""
        if not tags:
            self.server.ask(self._tagging("DELETE", bucket, key))
            return
        inner = "".join(
            f"<Tag><Key>{xml.escape(name)}</Key><Value>{xml.escape(value)}</Value></Tag>"
            for name, value in tags.items()
        )
        body = f"<Tagging><TagSet>{inner}</TagSet></Tagging>".encode()
        call = self._tagging("PUT", bucket, key)
        self.server.ask(replace(call, body=Bytes(body), headers={"content-md5": _md5(body)}))

    def _tagging(self, method: str, bucket: str, key: str) -> Call:
        return Call(method, path_of(bucket, key), (("tagging", ""),), named=self.named(bucket, key))

    def head(self, bucket: str, key: str, version: str = "") -> ObjectFacts:
        """Return an object's facts."""
        call = replace(self.call("HEAD", bucket, key, version), headers={"x-amz-checksum-mode": "ENABLED"})
        return ObjectFacts.of(self.server.ask(call).headers)

    def find(self, bucket: str, key: str) -> ObjectFacts | None:
        """Return an object's facts, or None where there is no such object."""
        try:
            return self.head(bucket, key)
        except Refused as error:
            if error.status == 404:
                return None
            raise

    def get(self, bucket: str, key: str, headers: Mapping[str, str] = _NONE, version: str = "") -> Call:
        """Return the request for an object's bytes, to be opened and read."""
        return replace(self.call("GET", bucket, key, version), headers=headers)

    def put(
        self, bucket: str, key: str, body: Body, headers: Mapping[str, str] = _NONE, moved: Moved = unwatched
    ) -> Answer:
        """Write an object."""
        return self.server.ask(replace(self.call("PUT", bucket, key), headers=headers, body=body), moved)

    def copy(
        self, bucket: str, key: str, source: tuple[str, str], headers: Mapping[str, str] = _NONE, version: str = ""
    ) -> None:
        """Copy an object within the server."""
        all_headers = {"x-amz-copy-source": copy_source(*source, version), **headers}
        answer = self.server.ask(replace(self.call("PUT", bucket, key), headers=all_headers))
        _document(answer, "CopyObjectResult", self.named(bucket, key))

    def delete(self, bucket: str, key: str, version: str = "") -> None:
        """Remove an object."""
        self.server.ask(self.call("DELETE", bucket, key, version))

    def delete_many(self, bucket: str, doomed: Iterable[Doomed]) -> Iterator[Deleted]:
        """Remove keys, a thousand a request, and tell what became of each."""
        waiting = iter(doomed)
        while batch := list(islice(waiting, DELETES_AT_ONCE)):
            odd = [item for item in batch if _NOT_IN_XML.search(item.key)]
            plain = [item for item in batch if not _NOT_IN_XML.search(item.key)]
            if plain:
                yield from self._delete_batch(bucket, plain)
            for item in odd:
                yield self._delete_one(bucket, item)

    def _delete_one(self, bucket: str, item: Doomed) -> Deleted:
        try:
            self.delete(bucket, item.key, item.version)
        except Refused as error:
            return Deleted(item.key, item.version, error)
        return Deleted(item.key, item.version)

    def _delete_batch(self, bucket: str, batch: Sequence[Doomed]) -> Iterator[Deleted]:
        objects = "".join(
            f"<Object><Key>{xml.escape(item.key)}</Key>"
            + (f"<VersionId>{xml.escape(item.version)}</VersionId>" if item.version else "")
            + "</Object>"
            for item in batch
        )
        body = f"<Delete><Quiet>true</Quiet>{objects}</Delete>".encode()
        answer = self._bucket("POST", bucket, (("delete", ""),), {"content-md5": _md5(body)}, Bytes(body))
        failed = {
            (node.text_of("Key"), node.text_of("VersionId")): Refused(
                403, node.text_of("Code"), node.text_of("Message"), self.named(bucket, node.text_of("Key"))
            )
            for node in _document(answer, "DeleteResult", self.name).all("Error")
        }
        for item in batch:
            error = failed.get((item.key, item.version)) or failed.get((item.key, ""))
            yield Deleted(item.key, item.version, error)

    def presign(self, call: Call, expires_seconds: int) -> str:
        """Return a URL that does what a call does and needs no key; the call's headers must be sent with it."""
        if self.server.signer is None:
            raise ClientError(f"the alias {self.name} has no key to sign with", "Its objects are open as they are.")
        url = self.server.alias.url + call.target
        return self.server.signer.presign(call.method, url, time.time(), expires_seconds, call.headers)

    def call(self, method: str, bucket: str, key: str, version: str = "") -> Call:
        """Return a request about an object."""
        query: Pairs = (("versionId", version),) if version else ()
        return Call(method, path_of(bucket, key), query, named=self.named(bucket, key))

    def _bucket(
        self, method: str, bucket: str, query: Pairs = (), headers: Mapping[str, str] = _NONE, body: Body = EMPTY
    ) -> Answer:
        try:
            return self.server.ask(Call(method, path_of(bucket), query, headers, body, named=self.named(bucket)))
        except Refused as error:
            if error.code == "NoSuchKey":  # A HEAD says 404 and no more.
                raise Refused(404, "NoSuchBucket", "there is no such bucket", self.named(bucket)) from None
            raise


def _md5(body: bytes) -> str:
    """Write a body's MD5 as the header has it that S3 asks for beside some documents."""
    return base64.b64encode(hashlib.md5(body, usedforsecurity=False).digest()).decode()


def path_of(bucket: str, key: str = "") -> str:
    """Return the path of a bucket or an object, percent-encoded."""
    return f"/{encode(bucket)}" + (f"/{encode_path(key)}" if key else "")


def copy_source(bucket: str, key: str, version: str = "") -> str:
    """Write the header that names a copy's source."""
    return encode_path(f"/{bucket}/{key}") + (f"?versionId={encode(version)}" if version else "")


def _document(answer: Answer, root: str, named: str) -> xml.Node:
    """Read an answer's document; S3 may say 200 and then that it failed."""
    try:
        node = xml.parse(answer.body)
    except ValueError:
        node = xml.Node("")
    if node.name == "Error":
        raise Refused(500, node.text_of("Code"), node.text_of("Message"), named)
    if node.name != root:
        raise Unreachable(
            f"{named} does not answer as S3 does", "Check that the alias's URL is that of the server, not of a console."
        )
    return node
