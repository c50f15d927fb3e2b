"""What clients say that they can, and what they are told of the answer: headers in lower case, as clients look for."""

from collections.abc import Mapping

from lakeshare.sharing.errors import InvalidParameter
from lakeshare.sharing.model.asking import Capabilities, ResponseFormat

HEADER = "delta-sharing-capabilities"
VERSION_HEADER = "delta-table-version"
ID_HEADER = "fileidhash"
MAX_CHARACTERS = 4_096
_FORMATS = {each.value: each for each in ResponseFormat}


def read_capabilities(headers: Mapping[str, str]) -> Capabilities:
    """Read the header; without it parquet must be used."""
    told: dict[str, frozenset[str]] = {}
    for part in headers.get(HEADER, "")[:MAX_CHARACTERS].lower().split(";"):
        name, _, values = part.partition("=")
        if name.strip():
            told[name.strip()] = frozenset(each.strip() for each in values.split(",") if each.strip())
    formats = frozenset(_FORMATS[each] for each in told.get("responseformat", ()) if each in _FORMATS)
    return Capabilities(
        formats or frozenset({ResponseFormat.PARQUET}),
        told.get("readerfeatures"),
        "true" in told.get("includeendstreamaction", ()),
    )


def read_id_hash(headers: Mapping[str, str]) -> str:
    """Read which digest makes ids; empty leaves it to the format. Raises InvalidParameter."""
    given = headers.get(ID_HEADER)
    if given is None:
        return ""
    found = _FORMATS.get(given.strip().lower())
    if found is None:
        raise InvalidParameter(f"Unsupported fileidhash: {given[:64]}")
    return found.id_column


def answer_headers(
    request_headers: Mapping[str, str], version: int, chosen: ResponseFormat, *, end_stream: bool = False
) -> list[tuple[str, str]]:
    """Write what every answer about a table says."""
    said = f"responseformat={chosen.value}" + (";includeendstreamaction=true" if end_stream else "")
    headers = [(VERSION_HEADER, str(version)), (HEADER, said)]
    if (given := request_headers.get(ID_HEADER)) is not None:
        headers.append((ID_HEADER, given.strip().lower()))
    return headers
