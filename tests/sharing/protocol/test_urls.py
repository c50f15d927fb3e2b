"""Whatever sharing hands out reads what was shared: it cannot write, list, or read beside it."""

from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
import requests
from botocore.exceptions import ClientError
from deltalake import DeltaTable

from tests.boto import boto_client
from tests.sharing.protocol.provider import DELTA, Provider, Recipient, files_of, refused, url_of

REFUSED = {400, 403, 405}


def first_url(reader: Recipient, table: str = "people", **headers: str) -> str:
    """Return the URL of a file."""
    return url_of(files_of(reader.lines(table, headers))[0])


def test_a_url_serves_get_head_and_ranges(reader: Recipient):
    """As clients use them: whole, by its head, from the end, and in part; 206 is never compressed."""
    url = first_url(reader)
    whole = requests.get(url, timeout=30)
    assert whole.status_code == 200
    assert whole.content.startswith(b"PAR1")
    head = requests.head(url, timeout=30)
    assert (head.status_code, int(head.headers["content-length"])) == (200, len(whole.content))
    tail = requests.get(url, headers={"Range": "bytes=-8", "Accept-Encoding": "gzip"}, timeout=30)
    assert (tail.status_code, tail.content) == (206, whole.content[-8:])
    assert "content-encoding" not in tail.headers
    part = requests.get(url, headers={"Range": f"bytes=4-{len(whole.content) - 1}"}, timeout=30)
    assert (part.status_code, part.content) == (206, whole.content[4:])


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
def test_a_url_cannot_write(reader: Recipient, provider: Provider, method: str):
    """Nothing but reading is signed."""
    url = first_url(reader)
    before = requests.get(url, timeout=30).content
    answer = requests.request(method, url, data=b"other bytes", timeout=30)
    assert 400 <= answer.status_code < 600
    assert requests.get(url, timeout=30).content == before
    assert provider.server.process.poll() is None


def test_a_url_is_for_its_object_and_its_bytes_alone(reader: Recipient, provider: Provider):
    """Another key, another pin, no pin, a listing or a query beside it: the signature holds for none of them."""
    url = first_url(reader)
    start, query = url.split("?")
    pin = parse_qs(query)["x-lakeshare-pin"][0]
    provider.put("people/other.parquet", b"not shared by this URL")
    wrong = [
        url.replace(".parquet", ".orc"),
        start.rsplit("/", 1)[0] + "/other.parquet?" + query,
        url.replace(pin, "0" * len(pin)),
        url.replace(f"&x-lakeshare-pin={pin}", ""),
        f"{provider.server.endpoint}/{provider.bucket}?{query}",
        f"{provider.server.endpoint}/?{query}",
        f"{url}&versionId=null",
        f"{url}&uploads",
        f"{url}&tagging",
    ]
    for each in wrong:
        assert requests.get(each, timeout=30).status_code in REFUSED, each
    assert requests.get(url, timeout=30).status_code == 200


def test_the_name_of_a_key_opens_nothing(reader: Recipient, provider: Provider):
    """The access key stands in every URL: to name it without a signature is to be nobody."""
    url = first_url(reader)
    start = url.split("?")[0]
    credential = parse_qs(urlsplit(url).query)["X-Amz-Credential"][0].replace("/", "%2F")
    for query in (
        f"X-Amz-Credential={credential}",
        f"x=X-Amz-Credential={credential}",
        f"x=X-Amz-Credential={credential}&list-type=2",
        f"X-Amz-Credential={credential}&X-Amz-Signature={'0' * 64}",
    ):
        assert requests.get(f"{start}?{query}", timeout=30).status_code in REFUSED, query
        assert requests.get(f"{provider.server.endpoint}/{provider.bucket}?{query}", timeout=30).status_code in REFUSED
    header = {"Authorization": f"AWS4-HMAC-SHA256 Credential={credential.replace('%2F', '/')}, SignedHeaders=host, "
              f"Signature={'0' * 64}"}  # fmt: skip
    assert requests.get(start, headers=header, timeout=30).status_code in REFUSED


def test_a_url_keeps_its_bytes_when_the_object_is_replaced_or_deleted(provider: Provider):
    """VACUUM while a recipient reads, or a file written anew under its name: the bytes that were signed, or none."""
    provider.write("kept", pd.DataFrame({"n": [1, 2, 3]}))
    provider.share("keeping", kept="kept")
    mine = provider.token("keeping")
    url = first_url(mine, "kept")
    before = requests.get(url, timeout=30).content
    key = urlsplit(url).path.split("/", 2)[2]
    provider.put(key, b"other bytes")
    assert requests.get(url, timeout=30).content == before
    provider.s3.delete_object(Bucket=provider.bucket, Key=key)
    assert requests.get(url, timeout=30).content == before
    refused(mine.query("kept"), 400, "TABLE_UNREADABLE", "is not there")


def test_revoking_a_token_ends_its_urls_at_once(provider: Provider, reader: Recipient):
    """The query is refused, and so is every URL that it gave; another token's are not."""
    mine = provider.token("main")
    url, theirs = first_url(mine), first_url(reader)
    assert requests.get(url, timeout=30).status_code == 200
    provider.admin("DELETE", f"/tokens/{mine.token_id}")
    assert requests.get(url, timeout=30).status_code == 403
    refused(mine.query("people"), 401, "UNAUTHENTICATED", "bearer token")
    assert requests.get(theirs, timeout=30).status_code == 200


def test_removing_a_share_ends_its_urls_at_once(provider: Provider):
    """What is shared no more is read no more."""
    provider.write("passing", pd.DataFrame({"n": [1]}))
    provider.share("passing", passing="passing")
    mine = provider.token("passing")
    url = first_url(mine, "passing")
    assert requests.get(url, timeout=30).status_code == 200
    provider.admin("DELETE", "/shares/passing")
    assert requests.get(url, timeout=30).status_code == 403


def test_urls_name_the_endpoint_that_is_set(provider: Provider, reader: Recipient):
    """The setting counts as soon as it is made, and without it the host that the client used."""
    assert first_url(reader).startswith(provider.server.endpoint)
    provider.admin("PUT", "/settings/delta_sharing_endpoint", {"value": "https://shares.example.net"})
    try:
        assert first_url(reader).startswith(f"https://shares.example.net/{provider.bucket}/people/")
    finally:
        provider.admin("DELETE", "/settings/delta_sharing_endpoint")
    assert first_url(reader).startswith(provider.server.endpoint)


def test_a_table_may_not_name_files_elsewhere(provider: Provider):
    """A log that points out of the table's folder shares nothing of what is there."""
    provider.put("private/secret.parquet", b"PAR1 secret")
    metadata = {"metaData": {"id": "11111111-1111-1111-1111-111111111111", "format": {"provider": "parquet"},
                "schemaString": '{"type":"struct","fields":[]}',
                "partitionColumns": [], "configuration": {}}}  # fmt: skip
    protocol = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    paths = {
        "climbing": "../private/secret.parquet",
        "encoded": "%2E%2E/private/secret.parquet",
        "absolute": f"s3://{provider.bucket}/private/secret.parquet",
        "dotted": f"s3://{provider.bucket}/dotted/../private/secret.parquet",
        "file": "file:///etc/passwd",
    }
    for name, path in paths.items():
        add = {"add": {"path": path, "partitionValues": {}, "size": 11, "modificationTime": 1, "dataChange": True}}
        provider.log(name, 0, protocol, metadata, add)
    provider.share("sly", **{name: name for name in paths})
    mine = provider.token("sly")
    for name in paths:
        for headers in ({}, DELTA):
            answer = mine.query(name, headers)
            assert answer.status_code == 400, (name, answer.text)
            assert "X-Amz-Signature" not in answer.text


# Temporary credentials for the folder of a table.


def folder(reader: Recipient, table: str, **body: str) -> requests.Response:
    """Ask for credentials."""
    url = reader.profile["endpoint"] + reader.of(table, "temporary-table-credentials")
    return requests.post(url, json=body, headers=reader.headers, timeout=30)


def client_of(provider: Provider, said: dict[str, str]):
    """Make a client of S3 with credentials."""
    return boto_client(provider.server, said["accessKeyId"], said["secretAccessKey"], said["sessionToken"])


def denied(call, *words: str, **arguments: object) -> None:
    """Hold a call to be refused."""
    with pytest.raises(ClientError) as refusal:
        call(**arguments)
    code = refusal.value.response["Error"]["Code"]
    assert code in (words or ("AccessDenied",)), code


def test_credentials_read_the_folder_of_a_table(provider: Provider, reader: Recipient):
    """They list and read the table, as a folder, and delta-rs opens it with them."""
    said = folder(reader, "people").json()["credentials"]
    assert said["location"] == f"s3://{provider.bucket}/people"
    keys = said["awsTempCredentials"]
    s3 = client_of(provider, keys)
    listed = s3.list_objects_v2(Bucket=provider.bucket, Prefix="people/")["Contents"]
    assert s3.get_object(Bucket=provider.bucket, Key=listed[0]["Key"])["Body"].read()
    options = provider.server.delta_options | {
        "AWS_ACCESS_KEY_ID": keys["accessKeyId"],
        "AWS_SECRET_ACCESS_KEY": keys["secretAccessKey"],
        "AWS_SESSION_TOKEN": keys["sessionToken"],
    }
    assert DeltaTable(said["location"], storage_options=options).to_pyarrow_table().num_rows == 6


def test_credentials_cannot_write_nor_read_beside(provider: Provider, reader: Recipient):
    """No write of any kind, no other prefix, no other bucket, no bucket's settings."""
    provider.put("people2/x", b"beside")
    s3 = client_of(provider, folder(reader, "people").json()["credentials"]["awsTempCredentials"])
    bucket, key = provider.bucket, "people/_delta_log/00000000000000000000.json"
    assert s3.head_object(Bucket=bucket, Key=key)
    denied(s3.put_object, Bucket=bucket, Key="people/new", Body=b"x")
    denied(s3.put_object, Bucket=bucket, Key=key, Body=b"x")
    denied(s3.delete_object, Bucket=bucket, Key=key)
    denied(s3.delete_objects, Bucket=bucket, Delete={"Objects": [{"Key": key}]})
    denied(s3.copy_object, Bucket=bucket, Key="people/copy", CopySource={"Bucket": bucket, "Key": key})
    denied(s3.create_multipart_upload, Bucket=bucket, Key="people/new")
    denied(s3.put_object_tagging, Bucket=bucket, Key=key, Tagging={"TagSet": []})
    denied(s3.get_object, Bucket=bucket, Key="people2/x")
    denied(s3.get_object, Bucket=bucket, Key="days/x")
    denied(s3.list_objects_v2, Bucket=bucket)
    denied(s3.list_objects_v2, Bucket=bucket, Prefix="people")
    denied(s3.get_bucket_policy, Bucket=bucket)
    denied(s3.create_bucket, Bucket="made-by-a-recipient")


def test_credentials_need_their_own_token_and_end_with_the_recipients(provider: Provider, reader: Recipient):
    """A token of another table, none, or a revoked recipient: refused."""
    mine = provider.token("main")
    people = folder(mine, "people").json()["credentials"]["awsTempCredentials"]
    days = folder(mine, "days").json()["credentials"]["awsTempCredentials"]
    mixed = client_of(provider, people | {"sessionToken": days["sessionToken"]})
    denied(mixed.list_objects_v2, "InvalidToken", "AccessDenied", Bucket=provider.bucket, Prefix="days/")
    without = client_of(provider, people | {"sessionToken": "x"})
    denied(without.list_objects_v2, "InvalidToken", "AccessDenied", Bucket=provider.bucket, Prefix="people/")
    good = client_of(provider, people)
    assert good.list_objects_v2(Bucket=provider.bucket, Prefix="people/")["KeyCount"]
    provider.admin("DELETE", f"/tokens/{mine.token_id}")
    denied(good.list_objects_v2, "InvalidAccessKeyId", Bucket=provider.bucket, Prefix="people/")


def test_credentials_are_for_the_tables_own_folder(reader: Recipient, provider: Provider):
    """A location may name the folder or one inside of it, and nothing else; without all history there are none."""
    inside = folder(reader, "people", location=f"s3://{provider.bucket}/people/_delta_log")
    assert inside.status_code == 200
    for location in (f"s3://{provider.bucket}/days", f"s3://{provider.bucket}/people/../days", "s3://other/people"):
        refused(folder(reader, "people", location=location), 400, "INVALID_PARAMETER_VALUE", "the location must be")
    spec = provider.spec("newest", "people", history=False)
    provider.admin("POST", "/shares", {"name": "no-folder", "tables": [spec]})
    other = provider.token("no-folder")
    refused(folder(other, "newest"), 400, "INVALID_PARAMETER_VALUE", "history sharing is not enabled")
