"""Listing keys, versions and uploads."""

from dataclasses import dataclass

from lakeshare.identity.caller import Need
from lakeshare.objects.model.names import bucket_arn
from lakeshare.objects.room import Room
from lakeshare.storage.port import Listing, Page, UploadListing, UploadPage, VersionListing, VersionPage


def _facts(prefix: str, delimiter: str, limit: int) -> tuple[tuple[str, str], ...]:
    return (("s3:prefix", prefix), ("s3:delimiter", delimiter), ("s3:max-keys", str(limit)))


@dataclass(frozen=True, slots=True)
class ListObjects:
    """A page of keys, with what the answer must repeat of the question."""

    listing: Listing
    url_encoded: bool = False
    with_owner: bool = False
    token: str | None = None
    start_after: str = ""
    marker: str = ""

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        listing = self.listing
        facts = _facts(listing.prefix, listing.delimiter, listing.limit)
        return (Need("s3:ListBucket", bucket_arn(listing.bucket), facts),)


async def list_objects(room: Room, call: ListObjects) -> Page:
    """Return a page of keys; a page of none is empty and the last."""
    if call.listing.limit == 0:
        await room.store.bucket(call.listing.bucket)
        return Page((), ())
    return await room.store.list(call.listing)


@dataclass(frozen=True, slots=True)
class ListVersions:
    """A page of versions."""

    listing: VersionListing
    url_encoded: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        listing = self.listing
        facts = _facts(listing.prefix, listing.delimiter, listing.limit)
        return (Need("s3:ListBucketVersions", bucket_arn(listing.bucket), facts),)


async def list_versions(room: Room, call: ListVersions) -> VersionPage:
    """Return a page of versions and delete markers."""
    if call.listing.limit == 0:
        await room.store.bucket(call.listing.bucket)
        return VersionPage((), ())
    return await room.store.list_versions(call.listing)


@dataclass(frozen=True, slots=True)
class ListUploads:
    """A page of the multipart uploads under way."""

    listing: UploadListing
    url_encoded: bool = False

    def requires(self) -> tuple[Need, ...]:
        """Say what the caller must be allowed."""
        return (Need("s3:ListBucketMultipartUploads", bucket_arn(self.listing.bucket)),)


async def list_uploads(room: Room, call: ListUploads) -> UploadPage:
    """Return a page of uploads."""
    if call.listing.limit == 0:
        await room.store.bucket(call.listing.bucket)
        return UploadPage((), ())
    return await room.store.list_uploads(call.listing)
