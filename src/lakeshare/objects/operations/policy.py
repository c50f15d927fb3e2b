"""A bucket's policy: who else may do what with it."""

from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.identity.policy.bucket import is_public, parse_bucket_policy
from lakeshare.objects.errors import NoSuchConfiguration
from lakeshare.objects.model.names import bucket_arn
from lakeshare.objects.room import Room
from lakeshare.storage.errors import NoSuchDocument

POLICY_DOCUMENT = "policy"


@dataclass(frozen=True, slots=True)
class BucketPolicyCall:
    """Reading (`text` is None), setting or removing (`text` is empty) a bucket's policy."""

    bucket: str
    action: str
    text: str | None = None

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need(self.action, bucket_arn(self.bucket)),)


async def get_policy(room: Room, call: BucketPolicyCall) -> str:
    """Return the policy as it was set."""
    try:
        return (await room.store.document(call.bucket, POLICY_DOCUMENT)).decode()
    except NoSuchDocument:
        raise NoSuchConfiguration("NoSuchBucketPolicy", "the bucket has no policy") from None


async def set_policy(room: Room, call: BucketPolicyCall) -> None:
    """Set or remove the policy; one that is malformed, or that reaches out of the bucket, is refused."""
    await room.store.bucket(call.bucket)
    if call.text:
        parse_bucket_policy(call.text, call.bucket)
    await room.store.set_document(call.bucket, POLICY_DOCUMENT, call.text.encode() if call.text else None)


async def get_policy_status(room: Room, call: BucketPolicyCall) -> bool:
    """Say whether the policy grants something to everyone; without one, nothing is."""
    try:
        text = await room.store.document(call.bucket, POLICY_DOCUMENT)
    except NoSuchDocument:
        return False
    return is_public(parse_bucket_policy(text, call.bucket))
