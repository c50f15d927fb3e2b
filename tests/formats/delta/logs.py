"""Delta logs made by tests: commits, checkpoints of every kind, and a few words for actions."""

import json
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TEXTS = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
ADD = [
    ("path", pa.string()),
    ("partitionValues", TEXTS),
    ("size", pa.int64()),
    ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()),
    ("deletionVector", VECTOR),
    ("stats", pa.string()),
]
REMOVE = [
    ("path", pa.string()),
    ("deletionTimestamp", pa.int64()),
    ("dataChange", pa.bool_()),
    ("deletionVector", VECTOR),
]
SMALL = {
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", TEXTS)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", TEXTS),
        ]
    ),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64())]),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
    "sidecar": pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]),
}


def protocol(reader=1, writer=2, features=None):
    found = {"minReaderVersion": reader, "minWriterVersion": writer}
    if features is not None:
        found |= {"readerFeatures": features, "writerFeatures": features}
    return {"protocol": found}


def field(name, kind, **metadata):
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def metadata(*fields, partitions=(), table="table-id", **configuration):
    schema = json.dumps({"type": "struct", "fields": list(fields)})
    return {
        "metaData": {
            "id": table,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema,
            "partitionColumns": list(partitions),
            "configuration": configuration,
        }
    }


def vector(text="h{&8fAg]=QYJvl-}c!yH", storage="u", offset=1, cardinality=1):
    found = {"storageType": storage, "pathOrInlineDv": text, "sizeInBytes": 34, "cardinality": cardinality}
    return found if offset is None else found | {"offset": offset}


def add(path, size=1, stats=None, partition=None, dv=None, data_change=True):
    found = {
        "path": path,
        "partitionValues": partition or {},
        "size": size,
        "modificationTime": 7,
        "dataChange": data_change,
    }
    if stats is not None:
        found["stats"] = stats if isinstance(stats, str) else json.dumps(stats)
    if dv is not None:
        found["deletionVector"] = dv
    return {"add": found}


def remove(path, dv=None):
    found = {"path": path, "deletionTimestamp": 3, "dataChange": True}
    return {"remove": found if dv is None else found | {"deletionVector": dv}}


class LogWriter:
    """Writes a log under a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.log = root / "_delta_log"
        self.log.mkdir(parents=True, exist_ok=True)

    def commit(self, version, *actions):
        text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
        path = self.log / f"{version:020d}.json"
        path.write_text(text)
        return path

    def compacted(self, first, last, *actions):
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (self.log / f"{first:020d}.{last:020d}.compacted.json").write_text(text)

    def classic(self, version, *actions, schema=None):
        path = self.log / f"{version:020d}.checkpoint.parquet"
        self.parquet(path, actions, schema)
        self.hint(version)
        return path

    def parts(self, version, *parts):
        for number, actions in enumerate(parts, 1):
            self.parquet(self.log / f"{version:020d}.checkpoint.{number:010d}.{len(parts):010d}.parquet", actions)

    def v2(self, version, small, *sidecars, kind="parquet"):
        """Write a V2 checkpoint; each of `sidecars` is a list of file actions."""
        folder = self.log / "_sidecars"
        folder.mkdir(exist_ok=True)
        named = []
        for actions in sidecars:
            path = folder / f"{uuid.uuid4()}.parquet"
            self.parquet(path, actions)
            named.append({"sidecar": {"path": path.name, "sizeInBytes": path.stat().st_size, "modificationTime": 1}})
        path = self.log / f"{version:020d}.checkpoint.{uuid.uuid4()}.{kind}"
        if kind == "json":
            lines = [{"checkpointMetadata": {"version": version}}, *small, *named]
            path.write_text("".join(json.dumps(action) + "\n" for action in lines))
        else:
            self.parquet(path, [*small, *named])
        return path

    def hint(self, version):
        (self.log / "_last_checkpoint").write_text(json.dumps({"version": version, "size": 1}))

    @staticmethod
    def parquet(path, actions, schema=None):
        kinds = schema or {"add": pa.struct(ADD), "remove": pa.struct(REMOVE), **SMALL}
        fields = [pa.field(name, kind) for name, kind in kinds.items()]
        rows = [{name: _row(value) for name, value in action.items() if name in kinds} for action in actions]
        pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields)), path)


def _row(value):
    """Turn an action of JSON into one of Parquet, where maps are lists of pairs."""
    found = dict(value)
    for name in ("partitionValues", "configuration"):
        if isinstance(found.get(name), dict):
            found[name] = list(found[name].items())
    if "format" in found:
        found["format"] = {"provider": found["format"]["provider"], "options": []}
    return found
