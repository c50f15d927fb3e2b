"""Listings over the wire: what a recipient sees, a page at a time, and nothing else."""

import pytest
import requests

from tests.sharing.protocol.provider import SCHEMA, Provider, Recipient, refused

PREFIXES = ("/_delta-sharing/v1", "/_delta-sharing", "/delta-sharing/v1", "/delta-sharing")


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_prefix_leads_to_the_same_shares(reader: Recipient, provider: Provider, prefix: str):
    """The protocol is served under both names, with and without its version."""
    answer = requests.get(f"{provider.server.endpoint}{prefix}/shares", headers=reader.headers, timeout=30)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert [each["name"] for each in answer.json()["items"]] == ["main"]


def test_names_are_found_whatever_their_case(reader: Recipient):
    """Shares, schemas and tables are answered with their own spelling."""
    assert reader.get("/shares/MAIN").json()["share"]["name"] == "main"
    assert reader.get("/shares/Main/schemas").json()["items"][0]["name"] == SCHEMA
    found = reader.get("/shares/Main/schemas/DEFAULT/tables/PEOPLE").json()
    assert (found["name"], found["schema"], found["share"], found["format"]) == ("people", SCHEMA, "main", "delta")


def test_pages_hold_every_table_once(reader: Recipient):
    """Tables come in pages as small as one, by tokens, and all of them together are the whole list."""
    for path in ("/shares/main/all-tables", f"/shares/main/schemas/{SCHEMA}/tables"):
        whole = [each["name"] for each in reader.get(path).json()["items"]]
        found, token = [], None
        for _ in range(5):
            page = reader.get(path, maxResults=1, **({"pageToken": token} if token else {})).json()
            found += [each["name"] for each in page["items"]]
            if not (token := page.get("nextPageToken")):
                break
        assert found == whole == ["days", "people"]


def test_a_page_of_none_says_how_to_go_on(reader: Recipient):
    """MaxResults may be 0: no item, and a token."""
    page = reader.get("/shares", maxResults=0).json()
    assert page["items"] == []
    assert [each["name"] for each in reader.get("/shares", pageToken=page["nextPageToken"]).json()["items"]] == ["main"]


def test_tokens_are_good_for_their_own_list_alone(reader: Recipient):
    """A page token of another list, or one that was made up, is refused in the words of the reference."""
    token = reader.get("/shares/main/all-tables", maxResults=1).json()["nextPageToken"]
    for bad in (token, "AAAA", "ü", "x" * 5000):
        answer = reader.get(f"/shares/main/schemas/{SCHEMA}/tables", pageToken=bad)
        refused(answer, 400, "INVALID_PARAMETER_VALUE", "invalid 'nextPageToken'")


@pytest.mark.parametrize("size", ["-1", "501"])
def test_page_sizes_out_of_bounds_are_refused(reader: Recipient, size: str):
    """The bounds are those of the reference, in its words."""
    text = "Acceptable values of 'maxResults' are 0 to 500, inclusive. (Default: 500)"
    refused(reader.get("/shares", maxResults=size), 400, "INVALID_PARAMETER_VALUE", text)
    refused(reader.get("/shares", maxResults="ten"), 400, "MALFORMED_REQUEST", "maxResults")


def test_what_is_not_shared_does_not_exist(reader: Recipient, provider: Provider):
    """A share of someone else's is answered like one that never was."""
    provider.share("secret", people="people")
    for path in ("/shares/secret", "/shares/never", "/shares/secret/schemas", "/shares/secret/all-tables"):
        refused(reader.get(path), 404, "RESOURCE_DOES_NOT_EXIST", "does not exist, please contact your share provider")
    name = f"main/{SCHEMA}/none"
    answer = reader.get(reader.of("none", "metadata"))
    refused(answer, 404, "RESOURCE_DOES_NOT_EXIST", f"[Share/Schema/Table] '{name}' does not exist")
    assert [each["name"] for each in reader.get("/shares").json()["items"]] == ["main"]


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer dapi" + "0" * 64, "Basic Zm9vOmJhcg==", "Bearer ü"])
def test_without_a_good_token_nothing_is_answered(provider: Provider, header: str):
    """No token, a made up one and another scheme are 401, as JSON."""
    url = f"{provider.server.endpoint}/_delta-sharing/v1/shares"
    answer = requests.get(url, headers={"Authorization": header.encode()} if header else {}, timeout=30)
    refused(answer, 401, "UNAUTHENTICATED", "bearer token")
    assert "Bearer" in answer.headers["www-authenticate"]


def test_unknown_paths_and_methods_are_said_in_json(reader: Recipient):
    """A path or a method that the protocol does not have is no surprise to a client."""
    refused(reader.get("/volumes"), 404, "ENDPOINT_NOT_FOUND", "nothing at")
    refused(reader.get(reader.of("people", "query")), 405, "METHOD_NOT_ALLOWED", "POST")
