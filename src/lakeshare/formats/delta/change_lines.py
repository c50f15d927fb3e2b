"""What changed, as lines of NDJSON: the files of commits one by one, in either format of Delta Sharing."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import md5, sha256

import orjson

from lakeshare.formats.delta.actions import AddFile, ChangeFile, RemoveFile
from lakeshare.formats.delta.changes import CommitChanges
from lakeshare.formats.delta.lines import LineShape, UrlMaker, located_urls
from lakeshare.formats.delta.vectors import DeletionVector

FILES_A_CHUNK = 1024
"""How many files are written at once."""

ChangedFile = AddFile | RemoveFile | ChangeFile
_Json = Mapping[str, object]


def delta_change_lines(changes: CommitChanges, timestamp_ms: int, urls: UrlMaker, shape: LineShape) -> Iterator[bytes]:
    """Yield a commit's files in the delta format: each with its `add`, `remove` or `cdc` action. Some heavy steps."""
    for files in _chunks(changes.files):
        paths, vectors = _urls(files, urls)
        yield b"".join(
            _line("file", _delta_file(file, path, vector, changes.version, timestamp_ms, shape))
            for file, path, vector in zip(files, paths, vectors, strict=True)
        )


def parquet_change_lines(
    changes: CommitChanges, timestamp_ms: int, urls: UrlMaker, shape: LineShape
) -> Iterator[bytes]:
    """Yield a commit's files in the parquet format, as `add`, `cdf` and `remove` lines. Some heavy steps."""
    for files in _chunks(changes.files):
        paths, _ = _urls(files, urls)
        yield b"".join(
            _line(_PARQUET_NAMES[type(file)], _parquet_file(file, path, changes.version, timestamp_ms, shape))
            for file, path in zip(files, paths, strict=True)
        )


_PARQUET_NAMES = {AddFile: "add", RemoveFile: "remove", ChangeFile: "cdf"}


def _chunks(files: Sequence[ChangedFile]) -> Iterator[Sequence[ChangedFile]]:
    for start in range(0, len(files), FILES_A_CHUNK):
        yield files[start : start + FILES_A_CHUNK]


def _urls(files: Sequence[ChangedFile], urls: UrlMaker) -> tuple[Sequence[str], Sequence[str | None]]:
    """Make the URLs of files, and those of their deletion vectors where these lie in files."""
    vectors = [_vector(file) for file in files]
    links = iter(located_urls([vector.path for vector in vectors if vector and vector.path], urls))
    return located_urls([file.path for file in files], urls), [
        next(links) if vector and vector.path else None for vector in vectors
    ]


def _vector(file: ChangedFile) -> DeletionVector | None:
    return None if isinstance(file, ChangeFile) else file.deletion_vector


def _line(name: str, fields: _Json) -> bytes:
    return orjson.dumps({name: fields}, option=orjson.OPT_APPEND_NEWLINE)


def _id(path: str, shape: LineShape) -> str:
    digest = sha256(path.encode()) if shape.id_column == "sha256" else md5(path.encode(), usedforsecurity=False)
    return digest.hexdigest()


def _parquet_file(file: ChangedFile, url: str, version: int, timestamp_ms: int, shape: LineShape) -> _Json:
    found: dict[str, object] = {
        "url": url,
        "id": _id(file.path, shape),
        "partitionValues": file.partition_values or {},
        "size": file.size or 0,
        "version": version,
        "timestamp": timestamp_ms,
        "expirationTimestamp": shape.expiration_ms,
    }
    if isinstance(file, AddFile) and file.stats is not None:
        found["stats"] = file.stats
    return found


def _delta_file(  # noqa: PLR0913, PLR0917 - a line has so many facts.
    file: ChangedFile, url: str, vector_url: str | None, version: int, timestamp_ms: int, shape: LineShape
) -> _Json:
    found: dict[str, object] = {
        "id": _id(file.path, shape),
        "version": version,
        "timestamp": timestamp_ms,
        "expirationTimestamp": shape.expiration_ms,
    }
    vector = _vector(file)
    if vector is not None and vector.path is not None:
        found["deletionVectorFileId"] = _id(vector.path, shape)
    found["deltaSingleAction"] = _single_action(file, {"path": url}, vector, vector_url)
    return found


def _single_action(
    file: ChangedFile, action: dict[str, object], vector: DeletionVector | None, vector_url: str | None
) -> _Json:
    action |= {"partitionValues": file.partition_values or {}, "size": file.size or 0}
    if vector is not None:
        action["deletionVector"] = _descriptor(vector, vector_url)
    match file:
        case AddFile():
            action |= {"modificationTime": file.modification_time, "dataChange": file.data_change}
            return {"add": action if file.stats is None else action | {"stats": file.stats}}
        case RemoveFile():
            action |= {"dataChange": file.data_change, "extendedFileMetadata": True}
            at = file.deletion_timestamp
            return {"remove": action if at is None else action | {"deletionTimestamp": at}}
        case ChangeFile():
            return {"cdc": action | {"dataChange": False}}


def _descriptor(vector: DeletionVector, url: str | None) -> _Json:
    """Describe a vector: inline as it is, any other by a URL, as an absolute one."""
    sizes: dict[str, object] = {"sizeInBytes": vector.size_bytes, "cardinality": vector.cardinality}
    if url is None:
        return {"storageType": "i", "pathOrInlineDv": vector.text} | sizes
    offset = {} if vector.offset is None else {"offset": vector.offset}
    return {"storageType": "p", "pathOrInlineDv": url} | offset | sizes
