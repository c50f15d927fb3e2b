"""Conditions of reads: which ETags and times a reader will take (RFC 9110 13.2.2)."""

from dataclasses import dataclass

from lakeshare.objects.errors import NotModified, PreconditionFailed

_SECOND_NS = 1_000_000_000


def etags_of(text: str) -> tuple[str, ...]:
    """Read a list of ETags, quoted or not, weak or not."""
    return tuple(item.strip().removeprefix("W/").strip('"') for item in text.split(","))


@dataclass(frozen=True, slots=True)
class ReadCondition:
    """What a reader asks of an object before it is sent; times are whole seconds since 1970."""

    if_match: tuple[str, ...] = ()
    if_none_match: tuple[str, ...] = ()
    if_modified_since: int | None = None
    if_unmodified_since: int | None = None

    def check(self, etag: str, modified_at_ns: int) -> None:
        """Raise PreconditionFailed or NotModified unless the object may be sent."""
        self.require(etag, modified_at_ns)
        seconds = modified_at_ns // _SECOND_NS
        if self.if_none_match:
            if "*" in self.if_none_match or etag in self.if_none_match:
                raise NotModified(etag, modified_at_ns)
        elif self.if_modified_since is not None and seconds <= self.if_modified_since:
            raise NotModified(etag, modified_at_ns)

    def check_source(self, etag: str, modified_at_ns: int) -> None:
        """Raise PreconditionFailed unless the object may be copied."""
        try:
            self.check(etag, modified_at_ns)
        except NotModified:
            name = "x-amz-copy-source-if-none-match" if self.if_none_match else "x-amz-copy-source-if-modified-since"
            raise PreconditionFailed(name) from None

    def require(self, etag: str, modified_at_ns: int) -> None:
        """Raise PreconditionFailed where a positive condition does not hold."""
        if self.if_match:
            if "*" not in self.if_match and etag not in self.if_match:
                raise PreconditionFailed("If-Match")
        elif self.if_unmodified_since is not None and modified_at_ns // _SECOND_NS > self.if_unmodified_since:
            raise PreconditionFailed("If-Unmodified-Since")


@dataclass(frozen=True, slots=True)
class RangeCondition:
    """What must hold of an object for a range of it to be sent, and not the whole (RFC 9110 13.1.5): one of the two."""

    etag: str | None = None
    modified_at: int | None = None

    def holds(self, etag: str, modified_at_ns: int) -> bool:
        """Say whether a reader that has a part of an object may be sent another."""
        return self.etag == etag or self.modified_at == modified_at_ns // _SECOND_NS


UNCONDITIONAL = ReadCondition()
