"""The Iceberg catalog from the command line, in both forms of its arguments."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Typed

SCHEMA = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"id": 1, "name": "id", "type": "long", "required": True},
            {"id": 2, "name": "name", "type": "string", "required": False, "doc": "Product name"},
            {
                "id": 3,
                "name": "tags",
                "required": False,
                "type": {"type": "list", "element-id": 4, "element": "string", "element-required": False},
            },
        ],
    }
)


@pytest.fixture
def orders(quick: Typed, warehouse: str) -> str:
    """A table, as it is typed in one path."""
    quick("table", "create", "lake", warehouse, "ns", "orders", "--schema", SCHEMA)
    return f"lake/{warehouse}/ns/orders"


def test_the_commands_of_the_documents_make_a_table(lake: Cli, bucket_names: Callable[[str], str]):
    """Warehouse, namespace and table are made as AIStor's documents type it, and the table is listed."""
    name = bucket_names("cli-doc")
    assert lake("table", "warehouse", "create", "lake", name).lines == [f"Warehouse '{name}' created successfully."]
    lake("table", "namespace", "create", "lake", name, "mynamespace")
    made = lake("table", "create", "lake", name, "mynamespace", "mytable", "--schema", SCHEMA)
    assert made.lines[0] == "Table 'mynamespace.mytable' created successfully."
    assert lake("table", "list", "lake", name, "mynamespace").lines == ["mytable"]


def test_a_path_means_the_same_as_words(quick: Typed, warehouse: str, orders: str):
    """Slashes and blanks divide alike, and `ls` and `rm` are `list` and `remove`."""
    assert quick("table", "ls", f"lake/{warehouse}/ns").lines == ["orders"]
    assert quick("table", "list", f"lake/{warehouse}", "ns").lines == ["orders"]
    by_path = quick("table", "show", orders, "--json").record
    by_words = quick("table", "show", "lake", warehouse, "ns", "orders", "--json").record
    assert by_path == by_words
    quick("table", "rm", f"{orders}/")
    assert quick("table", "ls", f"lake/{warehouse}/ns").lines == []


def test_warehouses_are_listed_shown_and_removed(quick: Typed, warehouse: str):
    """A warehouse that holds something is kept, and says what to do; one that does not goes and leaves its bucket."""
    assert warehouse in [each["name"] for each in quick("table", "warehouse", "list", "lake", "--json").records]
    assert any(line.startswith(warehouse) for line in quick("table", "warehouse", "ls", "lake").lines)
    assert f"Bucket             : {warehouse}" in quick("table", "warehouse", "info", "lake", warehouse).lines
    refused = quick("table", "warehouse", "remove", "lake", warehouse, code=1)
    assert "--purge --force" in refused.err
    assert "--purge --force" in quick("table", "warehouse", "remove", "lake", warehouse, "--purge", code=2).err
    quick("table", "namespace", "remove", "lake", warehouse, "ns")
    quick("table", "warehouse", "rm", f"lake/{warehouse}")
    assert quick("table", "warehouse", "info", f"lake/{warehouse}", code=3).err
    quick("rb", f"lake/{warehouse}")


def test_a_warehouse_is_purged_with_everything(quick: Typed, warehouse: str, orders: str):
    """With --purge --force the tables go too."""
    said = quick("table", "warehouse", "remove", "lake", warehouse, "--purge", "--force")
    assert "being removed" in said.out
    assert "lakeshare table warehouse list lake" in quick("table", "show", orders, code=3).err


def test_what_is_there_already_may_be_ignored(quick: Typed, warehouse: str, orders: str):
    """--ignore-existing makes it a success to find a warehouse, a namespace or a table in its place."""
    again = quick("table", "warehouse", "create", "lake", warehouse, code=1)
    assert "--ignore-existing" in again.err
    quick("table", "warehouse", "create", "lake", warehouse, "-p")
    quick("table", "namespace", "create", "lake", warehouse, "ns", code=1)
    quick("table", "namespace", "create", "lake", warehouse, "ns", "-p")
    quick("table", "create", orders, "--schema", SCHEMA, code=1)
    assert "there already" in quick("table", "create", orders, "--schema", SCHEMA, "-p").out


def test_a_bucket_with_objects_becomes_a_warehouse_when_that_is_said(quick: Typed, bucket: str, tmp_path: Path):
    """Without --upgrade-existing it is refused, and the refusal says so."""
    file = tmp_path / "file"
    file.write_text("x")
    quick("cp", file, f"{bucket}/file")
    assert "--upgrade-existing" in quick("table", "warehouse", "create", bucket, code=1).err
    quick("table", "warehouse", "create", bucket, "--upgrade-existing")
    assert quick("table", "warehouse", "info", bucket, "--json").record["upgraded"]


def test_namespaces_nest(quick: Typed, warehouse: str):
    """Further parts of a path are further levels."""
    quick("table", "namespace", "create", f"lake/{warehouse}/ns/eu", "--attr", "owner=ann", "-a", "tier=gold")
    quick("table", "namespace", "create", f"lake/{warehouse}/ns/eu/north")
    assert quick("table", "namespace", "list", "lake", warehouse).lines == ["ns"]
    assert quick("table", "namespace", "list", f"lake/{warehouse}/ns").lines == ["ns/eu"]
    assert quick("table", "namespace", "ls", f"lake/{warehouse}", "-r").lines == ["ns", "ns/eu", "ns/eu/north"]
    shown = quick("table", "namespace", "info", f"lake/{warehouse}/ns/eu")
    assert any(line.split() == ["owner", ":", "ann"] for line in shown.lines)
    updated = quick(
        *("table", "namespace", "update", f"lake/{warehouse}/ns/eu", "--set", "owner=bob"),
        *("--remove", "tier", "--remove", "colour"),
    )
    assert "It had no colour." in updated.out
    properties = quick("table", "namespace", "info", f"lake/{warehouse}/ns/eu", "--json").record["properties"]
    assert properties["owner"] == "bob"
    assert "tier" not in properties
    quick("table", "create", f"lake/{warehouse}/ns/eu/north/t", "--schema", SCHEMA)
    assert quick("table", "show", "lake", warehouse, "ns", "eu", "north", "t").lines[0] == "Table: ns.eu.north.t"
    assert "Remove that first" in quick("table", "namespace", "rm", f"lake/{warehouse}/ns/eu", code=1).err
    assert "nothing to change" in quick("table", "namespace", "update", f"lake/{warehouse}/ns", code=2).err


def test_a_table_is_shown_with_its_columns(quick: Typed, orders: str):
    """Columns have their ids, types and what they are for."""
    lines = quick("table", "show", orders).lines
    assert "Format         : version 2" in lines
    assert "Rows           : none: nothing was written yet" in lines
    at = lines.index("Columns:")
    assert [line.split() for line in lines[at + 1 : at + 4]] == [
        ["1", "id", "long", "required"],
        ["2", "name", "string", "Product", "name"],
        ["3", "tags", "list<string>"],
    ]


def test_a_table_is_renamed_and_moved(quick: Typed, warehouse: str, orders: str):
    """The new name stands last in both forms, and --to-namespace moves it."""
    quick("table", "rename", "lake", warehouse, "ns", "orders", "sales")
    quick("table", "namespace", "create", f"lake/{warehouse}/archive")
    quick("table", "rename", f"lake/{warehouse}/ns/sales", "sales", "--to-namespace", "archive")
    assert quick("table", "list", "lake", warehouse, "archive").lines == ["sales"]
    assert "table list lake" in quick("table", "rename", orders, "other", code=3).err
    quick("table", "rename", orders, code=2)


def test_a_table_that_was_removed_is_registered_again(quick: Typed, orders: str):
    """Without --purge the files stay, and the metadata file gives the table back."""
    location = quick("table", "show", orders, "--json").record["metadata-location"]
    assert "Its files stay." in quick("table", "remove", orders).out
    quick("table", "register", orders, "--metadata-location", location)
    assert quick("table", "show", orders, "--json").record["metadata-location"] == location
    quick("table", "register", orders, "-l", location, code=1)
    quick("table", "register", orders, "-l", location, "-p")


def test_the_history_has_a_line_for_each_version(quick: Typed, orders: str):
    """A new table has one version, without a snapshot."""
    (line,) = quick("table", "history", orders, "--json").records
    assert line["version"] == 0
    assert line["snapshot-id"] is None
    assert quick("table", "history", orders).lines[0].split() == ["Version", "When", "Snapshot", "Schema", "By"]


def test_views_have_sql_for_each_engine(quick: Typed, warehouse: str):
    """A word before a colon is a dialect if it is one, and part of the SQL otherwise."""
    place = f"lake/{warehouse}/ns/big"
    quick(
        *("table", "view", "create", "lake", warehouse, "ns", "big", "--sql", "SELECT id FROM t WHERE a = 'x:y'"),
        *("--sql", "trino:SELECT id FROM t"),
    )
    shown = quick("table", "view", "show", place, "--json").record["metadata"]["versions"][0]["representations"]
    assert [(each["dialect"], each["sql"]) for each in shown] == [
        ("spark", "SELECT id FROM t WHERE a = 'x:y'"),
        ("trino", "SELECT id FROM t"),
    ]
    assert "SQL (trino):" in quick("table", "view", "show", place).lines
    assert quick("table", "view", "ls", f"lake/{warehouse}/ns").lines == ["big"]
    quick("table", "view", "exists", place)
    quick("table", "view", "rename", place, "large")
    assert "there is no view ns.big" in quick("table", "view", "exists", place, code=3).err
    quick("table", "view", "drop", f"lake/{warehouse}/ns/large")
    assert quick("table", "view", "list", f"lake/{warehouse}/ns").lines == []


def test_maintenance_is_chosen_at_every_place(quick: Typed, warehouse: str, orders: str):
    """What is set for a warehouse is shown for its tables with where it comes from; update changes a part."""
    quick("table", "maintenance", "set", f"lake/{warehouse}", "--type", "snapshots", "--max-age-hours", "48")
    quick("table", "maintenance", "set", f"lake/{warehouse}/ns", "--namespace", "--type", "unreferenced")
    quick("table", "maintenance", "update", orders, "--type", "icebergSnapshotManagement", "--min-snapshots", "7")
    found = {
        (each["type"], each["setting"]): (each["value"], each["from"])
        for each in quick("table", "maintenance", "info", orders, "--json").records
    }
    assert found["icebergSnapshotManagement", "status"] == ("enabled", f"warehouse {warehouse}")
    assert found["icebergSnapshotManagement", "maxSnapshotAgeHours"] == (48, f"warehouse {warehouse}")
    assert found["icebergSnapshotManagement", "minSnapshotsToKeep"] == (7, "table")
    assert found["icebergUnreferencedFileRemoval", "status"] == ("enabled", "namespace ns")
    quick("table", "maintenance", "remove", orders, "--type", "snapshots")
    lines = quick("table", "maintenance", "info", orders).lines
    assert any(line.split() == ["icebergSnapshotManagement", "minSnapshotsToKeep", "1", "default"] for line in lines)
    quick("table", "maintenance", "info", "lake")
    assert quick("table", "warehouse", "maintenance", "info", "lake", warehouse).out
    assert "nothing to change" in quick("table", "maintenance", "update", orders, "--type", "snapshots", code=2).err


@pytest.mark.parametrize(
    ("flag", "reason"), [("--noncurrent-days", "in any version"), ("--target-file-size-mb", "compaction")]
)
def test_flags_of_aistor_that_mean_nothing_here_are_explained(quick: Typed, orders: str, flag: str, reason: str):
    """Who comes with a script for AIStor is told why a flag is not taken, and what to use."""
    said = quick("table", "maintenance", "set", orders, "--type", "unreferenced", flag, "3", code=2).err
    assert flag in said
    assert reason in said


def test_a_table_s_own_properties_are_shown_before_what_is_chosen(quick: Typed, warehouse: str):
    """Iceberg lets them count first, so that whoever asks what is done must see them."""
    place, name = f"lake/{warehouse}/ns/kept", "history.expire.min-snapshots-to-keep"
    quick("table", "create", place, "--schema", SCHEMA, "--attr", f"{name}=9", "--attr", "colour=red")
    told = quick("table", "maintenance", "info", place, "--json").records
    assert [(each["setting"], each["value"]) for each in told if each["type"] == "property"] == [(name, "9")]


def test_maintenance_is_run_and_reported(quick: Typed, orders: str):
    """A dry run says what would go, a run that is waited for what went, and the report what to do."""
    dry = quick("table", "maintenance", "run", orders, "--type", "snapshots", "--dry-run")
    assert dry.lines == ["It would remove nothing."]
    assert "Not_Yet_Run" not in quick("table", "maintenance", "status", orders).out
    quick("table", "maintenance", "run", orders, "--type", "snapshots")
    jobs = quick("table", "maintenance", "jobs", "lake", "--json").records
    assert all(job["warehouse"] and job["kind"] for job in jobs)
    ran = quick("table", "maintenance", "run", orders, "--type", "unreferenced", "--wait")
    assert ran.lines == ["It removed nothing."]
    assert "Successful" in quick("table", "maintenance", "status", orders).out
    told = quick("table", "maintenance", "status", orders, "--json").records
    assert {each["status"] for each in told} == {"success"}
    assert {each["job-status"] for each in told} == {"Successful"}
    chosen = quick("table", "maintenance", "set", orders, "--type", "snapshots", "--json").record
    assert (chosen["status"], chosen["value"]["status"]) == ("success", "enabled")
    assert quick("table", "maintenance", "report", orders).lines[-1] == "  nothing"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("list", "lake"), 2, "Write ALIAS WAREHOUSE NAMESPACE"),
        (("show", "lake/w/n"), 2, "Write ALIAS WAREHOUSE NAMESPACE TABLE"),
        (("show", "lake/w//n/t"), 2, "%2F"),
        (("show", "other/w/n/t"), 3, "there is no alias 'other'"),
        (("show", "lake/no-such-warehouse/n/t"), 3, "lakeshare table warehouse list lake"),
        (("create", "lake/w/n/t", "--schema", "{"), 2, "--schema is no JSON"),
        (("create", "lake/w/n/t", "--schema", "[]"), 2, "no JSON object"),
        (("create", "lake/w/n/t", "--schema", "@nowhere"), 3, "nowhere cannot be read"),
        (("create", "lake/w/n/t", "--schema", "{}", "--attr", "colour"), 2, "name=value"),
        (("maintenance", "run", "lake/w/n/t", "--type", "dusting"), 2, "--type snapshots"),
        (("maintenance", "set", "lake/w", "--type", "compaction"), 2, "pipeline"),
        (("maintenance", "set", "lake/w", "--type", "snapshots", "--unreferenced-days", "1"), 2, "no setting"),
        (("maintenance", "info", "lake/w/n"), 2, "--namespace"),
        (("config", "lake", "w"), 2, "--spark"),
        (("config", "lake", "w", "--spark", "--name", "a-b"), 2, "no name for a catalog"),
        (("rename", "lake/w/n/t", "n/t2"), 2, "%2F"),
    ],
)
def test_what_is_typed_wrongly_is_told_with_the_next_step(
    quick: Typed, arguments: tuple[str, ...], code: int, says: str
):
    """Each refusal ends with the code that fits it, and says what to type instead."""
    assert says in quick("table", *arguments, code=code).err


def test_what_is_missing_is_told_with_the_next_step(quick: Typed, warehouse: str):
    """A namespace that is not there is told with the commands that list and make one."""
    refused = quick("table", "create", f"lake/{warehouse}/other/t", "--schema", SCHEMA, code=3)
    assert "lakeshare table namespace list lake" in refused.err
    told = json.loads(quick("table", "show", f"lake/{warehouse}/ns/t", "--json", code=3).err)
    assert told["error"]["code"] == "NoSuchTableException"


def test_a_new_name_may_be_a_path_and_is_never_one_name_with_slashes(quick: Typed, warehouse: str, orders: str):
    """What is typed as a path leads to another namespace of the warehouse; anything else with a slash is refused."""
    quick("table", "namespace", "create", f"lake/{warehouse}/archive")
    quick("table", "rename", orders, f"lake/{warehouse}/archive/sales")
    assert quick("table", "list", "lake", warehouse, "archive").lines == ["sales"]
    moved = f"lake/{warehouse}/archive/sales"
    assert "%2F" in quick("table", "rename", moved, "ns/orders", code=2).err
    assert "another warehouse" in quick("table", "rename", moved, "lake/other/ns/orders", code=2).err
    quick("table", "rename", moved, "a%2Fb")
    assert quick("table", "show", f"lake/{warehouse}/archive/a%2Fb").lines[0] == "Table: archive.a/b"


def test_what_is_in_the_way_and_is_not_the_same_is_never_ignored(
    quick: Typed, warehouse: str, orders: str, bucket: str, tmp_path: Path
):
    """A view in a table's place, a table under another name and a bucket with objects are told, also with -p."""
    location = quick("table", "show", orders, "--json").record["metadata-location"]
    for flags in ((), ("-p",)):
        view = quick("table", "view", "create", orders, "--sql", "SELECT 1", *flags, code=1)
        assert "Table with same name already exists" in view.err
        assert "Choose another name" in view.err
        twice = quick("table", "register", f"{orders}_2", "-l", location, *flags, code=1)
        assert "in this warehouse already" in twice.err
    (tmp_path / "file").write_text("x")
    quick("cp", tmp_path / "file", f"{bucket}/file")
    assert "--upgrade-existing" in quick("table", "warehouse", "create", bucket, "-p", code=1).err
    assert f"table view list lake/{warehouse}/ns`" in quick("table", "view", "exists", f"{orders}_2", code=3).err
