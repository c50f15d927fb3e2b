"""Conditions and the Delta guard, raced across workers."""

import hashlib
import threading

import pytest

from tests.raw import RawClient

RACERS = 12


def race(server, work):
    """Run the work in as many threads as there are racers, each with a connection of its own."""
    outcomes = [None] * RACERS
    barrier = threading.Barrier(RACERS)

    def run(number):
        client = RawClient.of(server)
        client.send("HEAD", "/")
        barrier.wait()
        outcomes[number] = work(client, number)
        client.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(RACERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def upload_of(client, path, body):
    upload = client.send("POST", f"{path}?uploads").between("<UploadId>", "<")
    etag = client.send("PUT", f"{path}?partNumber=1&uploadId={upload}", body).headers["etag"]
    part = f"<Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>"
    return upload, f"<CompleteMultipartUpload>{part}</CompleteMultipartUpload>".encode()


@pytest.mark.parametrize("verb", ["put", "large put", "copy", "complete"])
@pytest.mark.parametrize("condition", ["absent", "etag"])
def test_a_condition_has_exactly_one_winner(live_server, raw, bucket, verb, condition):
    """Of any number of racers on one key, over two workers, exactly one wins; the others are told so."""
    path, headers = f"/{bucket}/contested", {"if-none-match": "*"}
    if condition == "etag":
        headers = {"if-match": raw.send("PUT", path, b"first").headers["etag"]}
    for number in range(RACERS):
        raw.send("PUT", f"/{bucket}/source-{number}", f"copy {number}".encode())

    def work(client, number):
        body = f"racer {number}".encode() * (20_000 if verb == "large put" else 1)
        if verb == "copy":
            return client.send(
                "PUT", path, headers={**headers, "x-amz-copy-source": f"/{bucket}/source-{number}"}
            ).status
        if verb == "complete":
            upload, document = upload_of(client, path, body)
            return client.send("POST", f"{path}?uploadId={upload}", document, headers).status
        return client.send("PUT", path, body, headers).status

    outcomes = race(live_server, work)
    assert sorted(outcomes) == [200] + [412] * (RACERS - 1)


def test_a_conditional_delete_has_one_winner(live_server, raw, bucket):
    """Of racing If-Match deletes and puts on one ETag exactly one wins."""
    path = f"/{bucket}/contested"
    etag = raw.send("PUT", path, b"first").headers["etag"]

    def work(client, number):
        if number % 2:
            return client.send("DELETE", path, headers={"if-match": etag}).status
        return client.send("PUT", path, b"other", {"if-match": etag}).status

    outcomes = race(live_server, work)
    assert len([status for status in outcomes if status in (200, 204)]) == 1
    present = raw.send("HEAD", path).status == 200
    assert present == (outcomes[::2].count(200) == 1)


@pytest.mark.parametrize("etag", [None, "*"])
def test_of_racing_deletes_one_has_removed_the_object(live_server, raw, bucket, etag):
    """A delete that names an ETag, or any, tells whether it was the one: the others find nothing."""
    path = f"/{bucket}/contested"
    named = etag or raw.send("PUT", path, b"first").headers["etag"]
    raw.send("PUT", path, b"first")
    outcomes = race(live_server, lambda client, _: client.send("DELETE", path, headers={"if-match": named}).status)
    assert sorted(outcomes) == [204] + [404] * (RACERS - 1)
    assert raw.send("DELETE", path).status == 204


def test_a_bulk_delete_tells_which_etag_was_there(raw, bucket):
    """A key of a bulk delete that names an ETag and is gone is an error of its own; others are not."""
    items = "<Object><Key>a</Key><ETag>x</ETag></Object><Object><Key>b</Key></Object>"
    answer = raw.send("POST", f"/{bucket}?delete", f"<Delete>{items}</Delete>".encode())
    assert (answer.status, answer.code) == (200, "NoSuchKey")
    assert "<Deleted><Key>b</Key>" in answer.body.decode()


def test_if_match_on_nothing_is_a_missing_key(raw, bucket):
    """A write that insists on an ETag finds no key: 404, and nothing is stored."""
    answer = raw.send("PUT", f"/{bucket}/none", b"x", {"if-match": '"abc"'})
    assert (answer.status, answer.code) == (404, "NoSuchKey")
    assert raw.send("HEAD", f"/{bucket}/none").status == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_condition_that_is_not_offered_is_refused(raw, bucket, method):
    """A write with If-Unmodified-Since is not done as if nothing had been asked."""
    path, old = f"/{bucket}/k", {"if-unmodified-since": "Thu, 01 Jan 2015 00:00:00 GMT"}
    raw.send("PUT", path, b"first")
    assert raw.send(method, path, b"", old).code == "NotImplemented"
    assert raw.send("GET", path).body == b"first"


COMMIT = "t/_delta_log/00000000000000000007.json"


def test_a_delta_commit_is_written_once(raw, bucket):
    """Put, Copy and Complete over a Delta commit are refused with the text that log stores look for."""
    path = f"/{bucket}/{COMMIT}"
    assert raw.send("PUT", path, b"winner").status == 200
    raw.send("PUT", f"/{bucket}/source", b"loser")
    upload, document = upload_of(raw, path, b"loser")
    refusals = [
        raw.send("PUT", path, b"loser"),
        raw.send("PUT", path, headers={"x-amz-copy-source": f"/{bucket}/source"}),
        raw.send("POST", f"{path}?uploadId={upload}", document),
    ]
    for answer in refusals:
        assert (answer.status, answer.code) == (412, "PreconditionFailed")
        assert "412 Precondition Failed" in answer.between("<Message>", "</Message>")
        assert "delete the target first" in answer.between("<Message>", "</Message>")
    assert raw.send("GET", path).body == b"winner"


def test_a_retry_of_the_same_commit_is_no_conflict(raw, bucket):
    """The same bytes again are a retry after a lost answer: 200, with the same ETag."""
    path = f"/{bucket}/{COMMIT}"
    first, second = (raw.send("PUT", path, b"winner") for _ in range(2))
    assert first.status == second.status == 200
    assert first.headers["etag"] == second.headers["etag"] == f'"{hashlib.md5(b"winner").hexdigest()}"'
    assert raw.send("PUT", path, b"winner", {"if-none-match": "*"}).status == 412


def test_a_removed_commit_may_be_written_again(raw, bucket):
    """Once deleted, a commit's name is free: a table can be mirrored anew."""
    path = f"/{bucket}/{COMMIT}"
    raw.send("PUT", path, b"old")
    assert raw.send("DELETE", path).status == 204
    assert raw.send("PUT", path, b"new").status == 200


@pytest.mark.parametrize(
    "key",
    [
        "t/_delta_log/_last_checkpoint",
        "t/_delta_log/00000000000000000007.checkpoint.parquet",
        "t/_delta_log/0000000000000000007.json",
        "t/_delta_log/000000000000000000007.json",
        "t/_delta_log/sub/00000000000000000007.json",
        "t/00000000000000000007.json",
        "t/_delta_log/00000000000000000007.json.tmp",
        "t/_delta_log/00000000000000000007.00000000000000000009.compacted.json",
    ],
)
def test_nothing_else_is_guarded(raw, bucket, key):
    """Checkpoints, pointers and names that only look like commits are overwritten as ever."""
    path = f"/{bucket}/{key}"
    assert raw.send("PUT", path, b"one").status == raw.send("PUT", path, b"two").status == 200
    assert raw.send("GET", path).body == b"two"


def test_racing_drivers_lose_no_commit(live_server, raw, bucket):
    """Drivers that check and then write, as Spark's default log store does: one is told yes for each version."""
    versions = 10

    def work(client, number):
        won = []
        for version in range(versions):
            path = f"/{bucket}/race/_delta_log/{version:020d}.json"
            client.send("HEAD", path)
            if client.send("PUT", path, f"driver {number}".encode()).status == 200:
                won.append(version)
        return won

    outcomes = race(live_server, work)
    for version in range(versions):
        winners = [number for number, won in enumerate(outcomes) if version in won]
        body = raw.send("GET", f"/{bucket}/race/_delta_log/{version:020d}.json").body
        assert [f"driver {number}".encode() for number in winners] == [body]
