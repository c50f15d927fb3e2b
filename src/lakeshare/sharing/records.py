"""How sharing lies in state: its keyspaces, and the one key that every change writes."""

from dataclasses import dataclass

from lakeshare.sharing.model.recipients import Activation, OAuthClient, Recipient, Token
from lakeshare.sharing.model.shares import Schema, Share
from lakeshare.sharing.model.sources import RemoteSource
from lakeshare.state.epoch import Epoch
from lakeshare.state.keyspace import Keyspace

EPOCH = Epoch(("sharing",), ("sharing", "epoch"))
"""Written by every change of sharing, so that each change knows that no other came between."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The key, sealed, that every other key of sharing is derived from."""

    sealed: bytes
    created_at: int = 0


SHARES = Keyspace(("sharing", "share"), Share)
SCHEMAS = Keyspace(("sharing", "schema"), Schema)
"""By the id of the share, and the schema's folded name."""
RECIPIENTS = Keyspace(("sharing", "recipient"), Recipient)
TOKENS = Keyspace(("sharing", "token"), Token)
CLIENTS = Keyspace(("sharing", "client"), OAuthClient)
ACTIVATIONS = Keyspace(("sharing", "activation"), Activation)
SOURCES = Keyspace(("sharing", "source"), RemoteSource)
KEYS = Keyspace(("sharing", "keys"), Keys)
PLACE_OF_KEYS = "sharing"
