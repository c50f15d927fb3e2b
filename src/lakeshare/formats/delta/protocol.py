"""What reading a table asks of a reader, and what of it is known here."""

from lakeshare.formats.delta.actions import Protocol
from lakeshare.formats.delta.errors import BrokenLog, UnsupportedTable

LOG_FEATURES = frozenset({"v2Checkpoint", "vacuumProtocolCheck"})
"""Features of the log alone: whoever is handed the files that the log names needs none of them."""

DATA_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "variantType",
        "variantType-preview",
        "variantShredding",
        "variantShredding-preview",
    }
)
"""Features of data files and of what file actions say of them: the reader of the files needs them too."""

KNOWN_READER_FEATURES = LOG_FEATURES | DATA_FEATURES
FEATURES_VERSION = 3
"""The reader version from which features are listed by name (PROTOCOL, Table Features)."""
MAPPING_VERSION = 2


def check_readable(protocol: Protocol) -> None:
    """Refuse a table that asks for a reader version or a reader feature that is not known, naming it."""
    if not 1 <= protocol.min_reader_version <= FEATURES_VERSION:
        raise UnsupportedTable(
            f"the table needs reader version {protocol.min_reader_version}, and {FEATURES_VERSION} is the newest known"
        )
    if protocol.min_reader_version < FEATURES_VERSION:
        return
    unknown = sorted(set(protocol.reader_features or ()) - KNOWN_READER_FEATURES)
    if unknown:
        raise UnsupportedTable(f"the table needs reader features that are not known: {', '.join(unknown)}", unknown)


def check_consistent(protocol: Protocol) -> None:
    """Refuse a protocol that lists reader features below the version that has them."""
    if protocol.reader_features and protocol.min_reader_version < FEATURES_VERSION:
        raise BrokenLog(f"the protocol lists reader features at reader version {protocol.min_reader_version}")


def features_of_data(protocol: Protocol) -> frozenset[str]:
    """Return the features that a reader of the table's files needs, by name, also where the version implies them."""
    if protocol.min_reader_version == MAPPING_VERSION:
        return frozenset({"columnMapping"})
    if protocol.min_reader_version < MAPPING_VERSION:
        return frozenset()
    return frozenset(protocol.reader_features or ()) - LOG_FEATURES


def has_reader_feature(protocol: Protocol, feature: str) -> bool:
    """Say whether readers must respect a feature."""
    return feature in features_of_data(protocol) or feature in (protocol.reader_features or ())
