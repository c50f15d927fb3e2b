"""Shares and what is in them."""

import pytest

from lakeshare.sharing.errors import (
    BadName,
    IcebergNotShared,
    NameTaken,
    NoTableThere,
    SchemaMissing,
    ShareMissing,
    SourceMissing,
    TableMissing,
    TooMany,
)
from lakeshare.sharing.model.places import DeltaPlace, UniformPlace
from lakeshare.sharing.model.shares import Offer
from lakeshare.sharing.operations import contents, shares
from lakeshare.sharing.operations.contents import ChangeSchema, ChangeTables, ReplaceSchemas, SchemaCall
from lakeshare.sharing.operations.shares import CreateShare, ListShares, ShareCall, UpdateShare
from lakeshare.sharing.operations.shown import GET
from tests.sharing.estate import Estate


def contents_of(shown) -> dict[str, list[str]]:
    return {schema.name: [table.name for table in schema.tables] for schema in shown.schemas}


async def test_a_share_is_made_with_what_is_in_it(any_estate: Estate):
    """A share has the schemas and tables it was made with, and says what was found of them."""
    made = await any_estate.share("sales", "HR/staff", "HR/pay", "ops/sites", description="Numbers")
    assert contents_of(made) == {"HR": ["staff", "pay"], "ops": ["sites"]}
    assert [(each.name, each.report.version) for each in made.looked] == [("staff", 0), ("pay", 0), ("sites", 0)]
    assert await shares.get_share(any_estate.room, ShareCall("Sales", GET)) is not None
    (line,) = await shares.list_shares(any_estate.room, ListShares())
    assert (line.share.name, line.share.description, line.share.created_by) == ("sales", "Numbers", "root")


async def test_a_table_that_is_not_there_is_refused(any_estate: Estate):
    """A place without a Delta log, and a bucket that does not exist, are refused by name, and nothing is made."""
    await any_estate.store.create_bucket("lake")
    for place in (DeltaPlace("lake", "nothing"), DeltaPlace("nowhere", "x")):
        with pytest.raises(NoTableThere, match=place.bucket):
            await shares.create_share(
                any_estate.room, CreateShare("root", "sales", offers=(Offer("HR", "staff", place),))
            )
    with pytest.raises(ShareMissing):
        await shares.get_share(any_estate.room, ShareCall("sales", GET))


async def test_a_log_without_a_version_is_no_table(estate: Estate):
    """A folder whose log has files, and none of a version, is no table."""
    await estate.store.create_bucket("lake")
    await estate.file("lake", "staff/_delta_log/_last_checkpoint")
    with pytest.raises(NoTableThere, match="no commit"):
        await shares.create_share(
            estate.room, CreateShare("root", "s", offers=(Offer("HR", "t", DeltaPlace("lake", "staff")),))
        )


async def test_iceberg_tables_wait_for_the_catalog(estate: Estate):
    """An Iceberg table is refused with the reason."""
    offer = Offer("HR", "staff", UniformPlace("wh", ("hr",), "staff"))
    with pytest.raises(IcebergNotShared, match="cannot be shared by this release"):
        await shares.create_share(estate.room, CreateShare("root", "s", offers=(offer,)))


async def test_a_source_must_be_known(estate: Estate):
    """A table of a remote source that nobody named is refused."""
    offer = Offer("HR", "staff", DeltaPlace("b", "p", "elsewhere"))
    with pytest.raises(SourceMissing):
        await shares.create_share(estate.room, CreateShare("root", "s", offers=(offer,)))


async def test_the_creator_must_be_allowed_to_read(estate: Estate):
    """Sharing a table needs the right to list and to read it, besides the right to make shares."""
    needs = CreateShare("root", "s", offers=(Offer("HR", "t", DeltaPlace("lake", "hr/t")),)).requires()
    assert [(need.action, need.resource) for need in needs] == [
        ("admin:DeltaSharingCreateShare", "arn:aws:deltasharing:::share/s"),
        ("s3:ListBucket", "arn:aws:s3:::lake"),
        ("s3:GetObject", "arn:aws:s3:::lake/hr/t/*"),
    ]
    assert needs[1].facts == (("s3:prefix", "hr/t/"),)
    remote = CreateShare("root", "s", offers=(Offer("HR", "t", DeltaPlace("b", "p", "src")),)).requires()
    assert [need.action for need in remote] == ["admin:DeltaSharingCreateShare", "admin:DeltaSharing"]


async def test_tables_are_added_and_taken_out_at_one_moment(any_estate: Estate):
    """Adding and removing is one change; a schema that nothing is left of goes."""
    await any_estate.share("sales", "HR/staff", "ops/sites")
    new = Offer("new", "Items", await any_estate.table("lake", "items", versions=3))
    changed = await contents.change_tables(any_estate.room, ChangeTables("sales", (new,), (("OPS", "SITES"),), "text"))
    assert contents_of(changed) == {"HR": ["staff"], "new": ["Items"]}
    assert changed.share.description == "text"
    assert changed.looked[0].report.version == 2


async def test_a_change_that_fails_changes_nothing(any_estate: Estate):
    """When any part of a change is refused, none of it is made."""
    await any_estate.share("sales", "HR/staff")
    place = await any_estate.table("lake", "items")
    for add, remove, error in (
        ((Offer("HR", "STAFF", place),), (), NameTaken),
        ((Offer("HR", "items", place),), (("HR", "nothing"),), TableMissing),
        ((Offer("HR", "items", place),), (("no", "staff"),), SchemaMissing),
        ((Offer("HR", "items", DeltaPlace("lake", "nothing")),), (), NoTableThere),
    ):
        with pytest.raises(error):
            await contents.change_tables(any_estate.room, ChangeTables("sales", add, remove))
    assert contents_of(await shares.get_share(any_estate.room, ShareCall("sales", GET))) == {"HR": ["staff"]}


async def test_a_table_is_replaced_in_one_change(estate: Estate):
    """A table may be taken out and another added under its name at once."""
    await estate.share("sales", "HR/staff")
    place = await estate.table("lake", "newer")
    changed = await contents.change_tables(
        estate.room, ChangeTables("sales", (Offer("HR", "staff", place),), (("HR", "staff"),))
    )
    assert changed.schemas[0].tables[0].place == place


async def test_shares_and_schemas_are_renamed(any_estate: Estate):
    """A share and a schema keep their tables, ids and tokens under another name."""
    made = await any_estate.share("sales", "HR/staff", "ops/sites")
    issued = await any_estate.share_token("sales")
    renamed = await shares.update_share(any_estate.room, UpdateShare("sales", name="Turnover"))
    assert (renamed.share.name, renamed.share.id) == ("Turnover", made.share.id)
    changed = await contents.change_schema(any_estate.room, ChangeSchema("turnover", "hr", "People", "text"))
    assert contents_of(changed) == {"ops": ["sites"], "People": ["staff"]}
    assert changed.schemas[1].tables == made.schemas[0].tables
    view = await any_estate.view()
    assert view.table(await any_estate.admit(issued), "turnover", "people", "staff") is not None
    with pytest.raises(NameTaken):
        await contents.change_schema(any_estate.room, ChangeSchema("turnover", "ops", "PEOPLE"))
    await any_estate.share("stock")
    with pytest.raises(NameTaken):
        await shares.update_share(any_estate.room, UpdateShare("stock", name="TURNOVER"))


async def test_the_case_of_a_name_can_be_changed(estate: Estate):
    """A rename that changes the case alone is no conflict with itself."""
    await estate.share("sales", "HR/staff")
    assert (await shares.update_share(estate.room, UpdateShare("sales", name="SALES"))).share.name == "SALES"
    assert contents_of(await contents.change_schema(estate.room, ChangeSchema("sales", "HR", "hr"))) == {
        "hr": ["staff"]
    }


async def test_a_schema_is_removed(any_estate: Estate):
    """A schema goes with its tables, and the others stay."""
    await any_estate.share("sales", "HR/staff", "ops/sites")
    assert contents_of(await contents.remove_schema(any_estate.room, SchemaCall("sales", "hr"))) == {"ops": ["sites"]}
    with pytest.raises(SchemaMissing):
        await contents.remove_schema(any_estate.room, SchemaCall("sales", "hr"))


async def test_schemas_are_replaced_as_a_whole(any_estate: Estate):
    """What stays keeps its id, what is new is looked at, and what is not named goes."""
    made = await any_estate.share("sales", "HR/staff", "HR/pay", "ops/sites")
    place = await any_estate.table("lake", "items")
    kept = (Offer("HR", "staff", made.schemas[0].table("staff").place),)
    call = ReplaceSchemas("sales", "text", (("HR", ""), ("new", "n")), (Offer("new", "items", place),), kept)
    changed = await contents.replace_schemas(any_estate.room, call)
    assert contents_of(changed) == {"HR": ["staff"], "new": ["items"]}
    assert changed.schemas[0].tables[0].id == made.schemas[0].table("staff").id
    assert [each.name for each in changed.looked] == ["items"]
    assert [need.resource for need in call.requires() if need.action == "s3:GetObject"] == ["arn:aws:s3:::lake/items/*"]


async def test_bounds_are_kept(estate: Estate):
    """A bad name, and more tables at once than are looked at, are refused."""
    with pytest.raises(BadName):
        await shares.create_share(estate.room, CreateShare("root", "a.b"))
    place = await estate.table("lake", "t")
    offers = tuple(Offer("HR", f"t{number}", place) for number in range(201))
    with pytest.raises(TooMany):
        await shares.create_share(estate.room, CreateShare("root", "s", offers=offers))


async def test_a_whole_folder_is_shared(estate: Estate):
    """A folder that is shared whole is looked into, and warned of while it holds no table."""
    await estate.store.create_bucket("lake")
    call = CreateShare("root", "s", offers=(Offer("HR", "*", DeltaPlace("lake", "hr")),))
    made = await shares.create_share(estate.room, call)
    assert made.schemas[0].whole_delta == (DeltaPlace("lake", "hr"),)
    assert any("no table" in text for text in made.warnings)
    changed = await contents.change_tables(estate.room, ChangeTables("s", remove=(("HR", "*"),)))
    assert changed.schemas == ()
