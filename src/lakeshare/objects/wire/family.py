"""S3 as one family of the server's port: from a request to a route, and from an error to S3's XML."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lakeshare.errors import LakeshareError
from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.identity.caller import Need
from lakeshare.identity.errors import AccessDenied
from lakeshare.identity.gate import Admission
from lakeshare.objects.errors import BucketTaken, OwnerMismatch
from lakeshare.objects.model.names import bucket_arn
from lakeshare.objects.operations.buckets import CreateBucket, make_again
from lakeshare.objects.operations.multipart import CopyPart
from lakeshare.objects.operations.read import ObjectCall, ReadObject
from lakeshare.objects.operations.tagging import TagObject
from lakeshare.objects.operations.write import CopyObject
from lakeshare.objects.room import Room
from lakeshare.objects.wire import routes
from lakeshare.objects.wire.body import body_of, document_of
from lakeshare.objects.wire.call import Call, Target, host_bucket, params_of, target_of
from lakeshare.objects.wire.faults import encode_fault, fault_of
from lakeshare.objects.wire.headers import with_hoisted
from lakeshare.objects.wire.routes import Operation, Route, Takes
from lakeshare.storage.errors import BucketExists, NoSuchKey
from lakeshare.storage.port import Bucket

_READS = (ReadObject, ObjectCall, TagObject, CopyObject, CopyPart)
"""What reads an object, and so may tell that there is none."""

Authorise = Callable[[Admission, Sequence[Need]], Awaitable[object]]
"""Allows all of the needs, or raises."""


@dataclass(slots=True)
class S3Match:
    """A request that was found a route. No body is read early: S3 names its digest in the head.

    `host_bucket` is the bucket where the host names it, and the path does not.
    """

    services: ClassVar[frozenset[str]] = frozenset({"s3"})
    early_limit_bytes: ClassVar[int] = 0

    name: str
    room: Room
    request: Request
    route: Route
    target: Target
    params: Mapping[str, str]
    authorise: Authorise
    host_bucket: str = ""
    admission: Admission | None = None

    async def decode(self, admission: Admission, _early_body: bytes = b"") -> Operation:
        """Turn the head, and a bounded document where the operation takes one, into a value."""
        self.admission = admission
        verified, headers, document, owner = admission.verified, self.request.headers, b"", ""
        if verified is not None and verified.hoisted:  # a presigned URL may carry headers as parameters
            headers = with_hoisted(headers, verified.hoisted)
        if "x-amz-expected-bucket-owner" in headers:
            _check_owner(self.room, headers["x-amz-expected-bucket-owner"])
        if self.route.takes is Takes.DOCUMENT:
            document = await document_of(self.request, verified, self.route.name)
            owner = admission.caller.owner
        operation: Operation = self.route.decode(
            Call(self.target, self.params, headers, verified is not None, document, owner)
        )
        return operation

    async def perform(self, operation: Any) -> Response:
        """Do it, and write the answer."""
        route = self.route
        if route.takes is Takes.BODY:
            verified = self.admission.verified if self.admission else None
            result = await route.operate(self.room, operation, body_of(self.request, verified))
        else:
            try:
                result = await route.operate(self.room, operation)
            except NoSuchKey as missing:
                await self._may_learn_of_absence(operation, missing)
                raise
            except BucketExists:
                result = await self._make_again(operation)
        return route.encode(self.room, operation, result)

    async def _may_learn_of_absence(self, operation: Operation, missing: NoSuchKey) -> None:
        """Let only who may list the bucket learn that a key is not there; others are denied, as S3 does."""
        if isinstance(operation, _READS) and self.admission is not None:
            facts = (("s3:prefix", missing.key),)
            await self.authorise(self.admission, (Need("s3:ListBucket", bucket_arn(missing.bucket), facts),))

    async def _make_again(self, operation: CreateBucket) -> Bucket:
        """Let only who may see a bucket make it again; others learn no more than that its name is taken."""
        if self.admission is not None:
            try:
                await self.authorise(self.admission, (Need("s3:ListBucket", bucket_arn(operation.bucket)),))
            except AccessDenied:
                raise BucketTaken(operation.bucket) from None
        return await make_again(self.room, operation)


def _check_owner(room: Room, expected: str) -> None:
    if expected != room.owner.id:
        raise OwnerMismatch


class S3Family:
    """The S3 API."""

    def __init__(self, room: Room, domains: tuple[str, ...], authorise: Authorise) -> None:
        self._room = room
        self._domains = domains
        self._authorise = authorise

    def find(self, request: Request) -> S3Match:
        """Return the route of a request, or refuse it."""
        hosted = host_bucket(request, self._domains) if self._domains else ""
        target = target_of(request, hosted)
        params = params_of(request.raw_query)
        route = routes.find(request.method, target, params, request.headers)
        return S3Match(route.name, self._room, request, route, target, params, self._authorise, hosted)

    def refuse(self, error: LakeshareError, request: Request) -> tuple[str, Response]:
        """Write an error as S3 does; also return its code."""
        fault = fault_of(error)
        return fault.code, encode_fault(error, fault, request.raw_path, request.id, request.method)

    def finish(self, response: Response, request: Request) -> Response:
        """Add the ids that every S3 answer has."""
        response.headers += (("x-amz-request-id", request.id), ("x-amz-id-2", request.id))
        return response
