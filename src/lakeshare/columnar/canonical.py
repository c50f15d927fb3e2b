"""One spelling for each absolute path, so that two spellings of one file meet in a replay. No Arrow here."""

import re

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def canonical(path: str) -> str:
    """Write `/a`, `file:/a` and `file:///a` alike, and schemes in lower case; leave a relative path as it is."""
    if path.startswith("/"):
        return "file:///" + path.lstrip("/")
    match = _SCHEME.match(path)
    if match is None:
        return path
    scheme, rest = match[1].lower(), path[match.end() :]
    return "file:///" + rest.lstrip("/") if scheme == "file" else f"{scheme}:{rest}"
