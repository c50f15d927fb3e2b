"""Configurations that a bucket does not have yet, each answered in S3's own words and never silently.

Reading one says that there is none; removing one is done already; setting one is not implemented.
"""

from dataclasses import dataclass

from lakeshare.http.response import Response
from lakeshare.objects.errors import AclNotSupported, InvalidRequest, NoSuchConfiguration, NotImplementedYet
from lakeshare.objects.operations.buckets import BucketCall
from lakeshare.objects.room import Room
from lakeshare.objects.wire import xml
from lakeshare.objects.wire.call import Call
from lakeshare.objects.wire.listing import owner_element
from lakeshare.objects.wire.write import xml_response
from lakeshare.storage.port import Bucket


@dataclass(frozen=True, slots=True)
class Probe:
    """A bucket's configuration that is never set: how its absence is said, by an error or an empty document."""

    marker: str
    read_action: str
    write_action: str
    missing_code: str = ""
    message: str = ""
    empty_root: str = ""


PROBES = (
    Probe("versioning", "s3:GetBucketVersioning", "s3:PutBucketVersioning", empty_root="VersioningConfiguration"),
    Probe(
        "notification", "s3:GetBucketNotification", "s3:PutBucketNotification", empty_root="NotificationConfiguration"
    ),
    Probe("logging", "s3:GetBucketLogging", "s3:PutBucketLogging", empty_root="BucketLoggingStatus"),
    Probe(
        "accelerate",
        "s3:GetAccelerateConfiguration",
        "s3:PutAccelerateConfiguration",
        empty_root="AccelerateConfiguration",
    ),
    Probe(
        "object-lock",
        "s3:GetBucketObjectLockConfiguration",
        "s3:PutBucketObjectLockConfiguration",
        "ObjectLockConfigurationNotFoundError",
        "Object Lock configuration does not exist for this bucket",
    ),
    Probe(
        "lifecycle",
        "s3:GetLifecycleConfiguration",
        "s3:PutLifecycleConfiguration",
        "NoSuchLifecycleConfiguration",
        "The lifecycle configuration does not exist",
    ),
    Probe(
        "encryption",
        "s3:GetEncryptionConfiguration",
        "s3:PutEncryptionConfiguration",
        "ServerSideEncryptionConfigurationNotFoundError",
        "The server side encryption configuration was not found",
    ),
    Probe(
        "replication",
        "s3:GetReplicationConfiguration",
        "s3:PutReplicationConfiguration",
        "ReplicationConfigurationNotFoundError",
        "The replication configuration was not found",
    ),
    Probe(
        "cors",
        "s3:GetBucketCORS",
        "s3:PutBucketCORS",
        "NoSuchCORSConfiguration",
        "The CORS configuration does not exist",
    ),
    Probe(
        "website",
        "s3:GetBucketWebsite",
        "s3:PutBucketWebsite",
        "NoSuchWebsiteConfiguration",
        "The specified bucket does not have a website configuration",
    ),
    Probe(
        "publicAccessBlock",
        "s3:GetBucketPublicAccessBlock",
        "s3:PutBucketPublicAccessBlock",
        "NoSuchPublicAccessBlockConfiguration",
        "The public access block configuration was not found",
    ),
    Probe(
        "ownershipControls",
        "s3:GetBucketOwnershipControls",
        "s3:PutBucketOwnershipControls",
        "OwnershipControlsNotFoundError",
        "The bucket ownership controls were not found",
    ),
)


@dataclass(frozen=True, slots=True)
class ProbeCodec:
    """The decoders and encoders of one probe."""

    probe: Probe

    def decode_get(self, call: Call) -> BucketCall:
        """Read a question for the configuration."""
        return BucketCall(call.bucket, self.probe.read_action)

    def encode_get(self, _room: Room, _call: BucketCall, _bucket: Bucket) -> Response:
        """Say that there is none."""
        if self.probe.missing_code:
            raise NoSuchConfiguration(self.probe.missing_code, self.probe.message)
        return xml_response(xml.document(self.probe.empty_root, ()))

    def decode_change(self, call: Call) -> BucketCall:
        """Read a change of the configuration."""
        return BucketCall(call.bucket, self.probe.write_action)

    def encode_put(self, _room: Room, _call: BucketCall, _bucket: Bucket) -> Response:
        """Say that setting it is not implemented."""
        raise NotImplementedYet(f"setting a bucket's {self.probe.marker}")

    def encode_delete(self, _room: Room, _call: BucketCall, _bucket: Bucket) -> Response:
        """Say that it is gone, as it always was."""
        return Response(204)


def encode_acl(room: Room, _call: object, _found: object) -> Response:
    """Write the one ACL that every bucket and object has: its owner may do everything."""
    grantee = (
        '<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser">'
        f"{xml.element('ID', room.owner.id)}{xml.element('DisplayName', room.owner.name)}</Grantee>"
    )
    grant = xml.group("Grant", grantee, xml.element("Permission", "FULL_CONTROL"))
    inner = [owner_element(room), xml.group("AccessControlList", grant)]
    return xml_response(xml.document("AccessControlPolicy", inner))


def encode_set_acl(_room: Room, _call: object, _found: object) -> Response:
    """Say that the one ACL there is was set; any other was refused when it was read."""
    return Response(200)


def refuse_other_acl(call: Call) -> None:
    """Refuse every ACL but the one that everything has."""
    if call.headers.get("x-amz-acl") != "private" or any(name.startswith("x-amz-grant-") for name in call.headers):
        raise AclNotSupported


def encode_request_payment(_room: Room, _call: BucketCall, _bucket: Bucket) -> Response:
    """Say who pays: the owner."""
    return xml_response(xml.document("RequestPaymentConfiguration", [xml.element("Payer", "BucketOwner")]))


def encode_no_lock(_room: Room, _call: object, _found: object) -> Response:
    """Say that an object has no lock, since its bucket has none."""
    raise InvalidRequest("Bucket is missing Object Lock Configuration")
