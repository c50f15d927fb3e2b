"""What a recipient sees, a page at a time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeshare.sharing.errors import NoSuchResource
from lakeshare.sharing.model.places import DeltaPlace
from lakeshare.sharing.model.shares import Offer
from lakeshare.sharing.operations import catalog, shares
from lakeshare.sharing.operations.catalog import START, Paging, Position
from lakeshare.sharing.operations.shares import CreateShare
from tests.sharing.estate import Estate


async def all_tables(estate: Estate, access, share: str, limit: int) -> list[str]:
    found: list[str] = []
    after: Position | None = START
    for _ in range(200):
        page = await catalog.list_all_tables(estate.room, access, share, Paging(limit, after))
        assert len(page.items) <= limit
        found += [f"{each.schema.name}/{each.table.name}" for each in page.items]
        if (after := page.next) is None:
            return found
    raise AssertionError("the pages do not end")


async def test_shares_and_schemas_come_in_pages_by_name(estate: Estate):
    """Shares and schemas come in order of folded names, whatever the size of a page."""
    for name in ("Beta", "alpha", "gamma"):
        await estate.share(name, "S2/t", "s1/t")
    await estate.recipient("acme", "alpha", "Beta", "gamma")
    access = await estate.admit(await estate.recipient_token("acme"))
    first = catalog.list_shares(access, Paging(2))
    assert [share.name for share in first.items] == ["alpha", "Beta"]
    rest = catalog.list_shares(access, Paging(2, first.next))
    assert ([share.name for share in rest.items], rest.next) == (["gamma"], None)
    schemas = await catalog.list_schemas(estate.room, access, "BETA", Paging(1))
    assert [each.name for each in schemas.items] == ["s1"]
    schemas = await catalog.list_schemas(estate.room, access, "BETA", Paging(1, schemas.next))
    assert ([each.name for each in schemas.items], schemas.next) == (["S2"], None)


async def test_an_empty_page_goes_on(estate: Estate):
    """A page of no items has a place to go on from if there is anything at all."""
    await estate.share("sales", "HR/staff")
    access = await estate.admit(await estate.share_token("sales"))
    page = catalog.list_shares(access, Paging(0))
    assert (page.items, page.next) == ([], START)
    tables = await catalog.list_all_tables(estate.room, access, "sales", Paging(0))
    assert (list(tables.items), tables.next) == ([], START)


@pytest.mark.parametrize("limit", [1, 2, 3, 500])
async def test_whole_folders_are_listed_with_tables_made_later(estate: Estate, limit: int):
    """Tables that are named come first, then those found in folders, each name once, later ones too."""
    named = await estate.table("lake", "apart/staff")
    for name in ("b", "a", "Staff", "c"):
        await estate.table("lake", f"hr/{name}")
    await estate.table("lake", "more/a")
    await estate.table("lake", "more/z")
    await estate.file("lake", "hr/not-a-table/file.txt")
    await estate.file("lake", "hr/odd name/_delta_log/00000000000000000000.json")
    offers = (
        Offer("HR", "staff", named),
        Offer("HR", "*", DeltaPlace("lake", "hr")),
        Offer("HR", "*", DeltaPlace("lake", "more")),
        Offer("z", "last", named),
    )
    await shares.create_share(estate.room, CreateShare("root", "all", offers=offers))
    access = await estate.admit(await estate.share_token("all"))
    assert await all_tables(estate, access, "all", limit) == ["HR/staff", "HR/a", "HR/b", "HR/c", "HR/z", "z/last"]
    await estate.table("lake", "hr/later")
    assert "HR/later" in await all_tables(estate, access, "all", limit)
    found = await catalog.find_table(estate.room, access, "ALL", "hr", "LATER")
    assert (found.full_name, found.table.place) == ("all.HR.later", DeltaPlace("lake", "hr/later"))
    assert (await catalog.find_table(estate.room, access, "all", "HR", "staff")).table.place == named


async def test_what_is_not_shared_does_not_exist(estate: Estate):
    """A share, schema or table that is not the recipient's is missing, in the words that clients look for."""
    await estate.share("sales", "HR/staff")
    await estate.share("stock", "main/items")
    access = await estate.admit(await estate.share_token("sales"))
    for names, shown in (
        (("stock", "main", "items"), "stock"),
        (("sales", "no", "t"), "sales/no"),
        (("sales", "HR", "t"), "sales/HR/t"),
    ):
        with pytest.raises(NoSuchResource) as refused:
            await catalog.find_table(estate.room, access, *names)
        text = f"[Share/Schema/Table] '{shown}' does not exist, "
        assert refused.value.message == text + "please contact your share provider for further information."


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from("ABCDE"), st.lists(st.sampled_from("pqrstuv"), unique=True, max_size=7), min_size=1
    ),
    st.integers(1, 5),
)
async def test_pages_together_are_the_whole(layout: dict[str, list[str]], limit: int):
    """Whatever the layout and the size of pages, the pages together list each table once, in order."""
    estate = Estate()
    offers = [
        Offer(schema, table, await estate.table("lake", f"{schema}/{table}"))
        for schema in layout
        for table in layout[schema]
    ]
    schemas = tuple((schema, "") for schema in layout)
    await shares.create_share(estate.room, CreateShare("root", "all", offers=tuple(offers), schemas=schemas))
    access = await estate.admit(await estate.share_token("all"))
    expected = [f"{schema}/{table}" for schema in sorted(layout) for table in sorted(layout[schema])]
    assert await all_tables(estate, access, "all", limit) == expected
