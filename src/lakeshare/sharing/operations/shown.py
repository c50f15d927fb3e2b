"""A share as an operator sees it, and the actions that guard shares."""

from dataclasses import dataclass

from lakeshare.sharing.errors import ShareMissing
from lakeshare.sharing.model.shares import Schema, Share
from lakeshare.sharing.operations.offers import Looked
from lakeshare.sharing.view import View

CREATE, GET, LIST = "admin:DeltaSharingCreateShare", "admin:DeltaSharingGetShare", "admin:DeltaSharingListShares"
UPDATE, DELETE = "admin:DeltaSharingUpdateShare", "admin:DeltaSharingDeleteShare"


@dataclass(frozen=True, slots=True)
class ShownShare:
    """A share with its schemas, and the names of the recipients that it is granted to."""

    share: Share
    schemas: tuple[Schema, ...]
    recipients: tuple[str, ...] = ()
    looked: tuple[Looked, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what was found of its tables that the operator should know."""
        return tuple(text for each in self.looked for text in each.warnings)


def existing(view: View, name: str) -> Share:
    """Return a share. Raises ShareMissing."""
    share = view.share(name)
    if share is None:
        raise ShareMissing(name)
    return share


def shown(view: View, share: Share) -> ShownShare:
    """Return a share with what an operator sees of it."""
    named = tuple(each.name for each in view.recipients if share.id in each.grants and not each.is_implicit)
    return ShownShare(share, view.schemas(share), named)
