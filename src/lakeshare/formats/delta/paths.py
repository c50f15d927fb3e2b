"""The names of a Delta table's files, and what they say."""

import re

_COMMIT = re.compile(r"(?:^|/)_delta_log/[0-9]{20}\.json\Z")


def is_commit(key: str) -> bool:
    """Say whether a key names a Delta commit: 20 digits and `.json`, directly under `_delta_log/`."""
    return _COMMIT.search(key) is not None
