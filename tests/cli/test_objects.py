"""The object commands, as their users type them, over plain HTTP and TLS."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable

import pytest

from tests.cli.conftest import Cli, Done
from tests.live import LiveServer

MIB = 1024**2
Quick = Callable[..., Done]


def keys(listed: Done) -> list[str]:
    return [item["key"] for item in listed.records if "key" in item]


@pytest.fixture
def filled(quick: Quick, lake: Cli, bucket: str) -> str:
    """A bucket with a few objects."""
    folder = lake.home / "filled"
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "sub" / "b.csv").write_text("x" * 2000)
    (folder / "sub" / "deep" / "c").write_text("")
    quick("cp", "-r", folder, bucket)
    return bucket


def test_a_round_trip(cli: Cli, any_server: LiveServer, bucket_names: Callable[[str], str]):
    """What goes up in one request or in parts comes down the same, over plain HTTP and over TLS."""
    cli.use(any_server)
    bucket = f"lake/{bucket_names('trip')}"
    folder = cli.home / "out"
    (folder / "sub").mkdir(parents=True)
    (folder / "empty").touch()
    (folder / "small").write_text("small")
    (folder / "sub" / "large").write_bytes(os.urandom(35 * MIB + 7))
    cli("mb", bucket)
    told = cli("cp", "--recursive", "--json", folder, f"{bucket}/pre").records
    assert {item["target"] for item in told if "target" in item} == {
        f"{bucket}/pre/{name}" for name in ("empty", "small", "sub/large")
    }
    assert told[-1]["transferred"] == told[-1]["total"] == 35 * MIB + 12
    cli("cp", "-r", f"{bucket}/pre", cli.home / "back")
    for name in ("empty", "small", "sub/large"):
        assert (cli.home / "back" / name).read_bytes() == (folder / name).read_bytes()
    assert cli("cat", f"{bucket}/pre/small").out == "small"
    cli("mv", f"{bucket}/pre/small", f"{bucket}/moved")
    assert keys(cli("ls", "-r", "--json", bucket)) == ["moved", "pre/empty", "pre/sub/large"]
    cli("rb", bucket, code=1)
    cli("rb", "--force", bucket)
    cli("ls", bucket, code=3)


def test_bytes_pass_between_servers(
    cli: Cli, live_server: LiveServer, live_tls_server: LiveServer, bucket_names: Callable[[str], str]
):
    """A copy from one server to another keeps bytes, content type and metadata, of small objects and of large ones."""
    cli.use(live_server, "one")
    cli.use(live_tls_server, "two")
    name = bucket_names("between")
    cli("mb", f"one/{name}", f"two/{name}")
    (cli.home / "small.csv").write_text("a,b")
    (cli.home / "large.bin").write_bytes(os.urandom(20 * MIB))
    cli("cp", "--attr", "team=sälës;Cache-Control=no-cache", "small.csv", "large.bin", f"one/{name}/x/")
    cli("cp", "-r", f"one/{name}/x/", f"two/{name}/y")
    for file in ("small.csv", "large.bin"):
        facts = cli("stat", "--json", f"two/{name}/y/{file}").record
        assert facts["metadata"]["X-Amz-Meta-Team"] == "sälës"
        assert facts["metadata"]["Cache-Control"] == "no-cache"
        cli("cp", f"two/{name}/y/{file}", f"back-{file}")
        assert (cli.home / f"back-{file}").read_bytes() == (cli.home / file).read_bytes()
    assert cli("stat", "--json", f"two/{name}/y/small.csv").record["metadata"]["Content-Type"] == "text/csv"


def test_ls(quick: Quick, filled: str):
    """`ls` lists a level, a prefix, one object or everything, and says where nothing is."""
    assert keys(quick("ls", "--json", filled)) == ["a.txt", "sub/"]
    assert keys(quick("ls", "--json", f"{filled}/sub")) == ["b.csv", "deep/"]
    assert keys(quick("ls", "--json", f"{filled}/sub/")) == ["b.csv", "deep/"]
    assert keys(quick("ls", "--json", f"{filled}/su")) == ["sub/"]
    assert keys(quick("ls", "--json", f"{filled}/a.txt")) == ["a.txt"]
    assert keys(quick("ls", "--json", "-r", filled)) == ["a.txt", "sub/b.csv", "sub/deep/c"]
    assert quick("ls", filled).lines[0].endswith("    14B STANDARD a.txt")
    assert quick("ls", "-r", "--summarize", filled).lines[-2:] == ["Total Size: 2.0 KiB", "Total Objects: 3"]
    assert quick("ls", "--json", "--versions", f"{filled}/a.txt").record["versionId"] == "null"
    assert "nothing at" in quick("ls", f"{filled}/none", code=3).err


def test_tree_and_du(quick: Quick, filled: str):
    """`tree` draws folders, and objects on demand; du sums up by levels."""
    assert quick("tree", filled).lines == [filled, "└─ sub", "   └─ deep"]
    assert quick("tree", "--files", "--depth", "1", filled).lines == [filled, "├─ a.txt", "└─ sub"]
    assert [item["type"] for item in quick("tree", "--files", "--json", f"{filled}/sub").records] == [
        "folder", "file", "folder", "file",
    ]  # fmt: skip
    name = filled.partition("/")[2]
    assert quick("du", filled).lines == [f"2.0KiB\t3 objects\t{name}"]
    assert [(item["prefix"], item["objects"]) for item in quick("du", "--json", "-r", filled).records] == [
        (f"{name}/sub/deep", 1), (f"{name}/sub", 2), (name, 3),
    ]  # fmt: skip
    assert quick("du", "--json", "lake").records[-1]["objects"] >= 3


def test_find(quick: Quick, filled: str):
    """`find` takes names, paths, expressions, sizes, depths and ages."""

    def found(*flags: str) -> list[str]:
        return [line.removeprefix(filled + "/") for line in quick("find", filled, *flags).lines]

    assert found() == ["a.txt", "sub/b.csv", "sub/deep/c"]
    assert found("--name", "*.csv") == ["sub/b.csv"]
    assert found("--path", "sub/*") == ["sub/b.csv", "sub/deep/c"]
    assert found("--regex", "^a|c$") == ["a.txt", "sub/deep/c"]
    assert found("--ignore", "sub/*") == ["a.txt"]
    assert found("--larger", "1KiB") == ["sub/b.csv"]
    assert found("--smaller", "14") == ["sub/deep/c"]
    assert found("--maxdepth", "1") == ["a.txt"]
    assert found("--newer-than", "1h") == ["a.txt", "sub/b.csv", "sub/deep/c"]
    assert found("--older", "1h") == []
    assert "cannot be read" in quick("find", filled, "--regex", "(", code=2).err
    assert "no size" in quick("find", filled, "--larger", "big", code=2).err


def test_cat_and_head(quick: Quick, filled: str):
    """`cat` prints all of it, or what follows an offset; head prints lines."""
    assert quick("cat", f"{filled}/a.txt", f"{filled}/a.txt").out == "one\ntwo\nthree\n" * 2
    assert quick("cat", "--offset", "4", f"{filled}/a.txt").out == "two\nthree\n"
    assert quick("head", "-n", "2", f"{filled}/a.txt").out == "one\ntwo\n"
    assert quick("head", f"{filled}/a.txt").out == "one\ntwo\nthree\n"
    assert quick("head", "-n", "0", f"{filled}/a.txt").out == ""
    assert quick("head", f"{filled}/sub/b.csv").out == "x" * 2000
    assert quick("cat", f"{filled}/sub/deep/c").out == ""
    assert "does not exist" in quick("cat", f"{filled}/none", code=3).err
    assert "is no object" in quick("cat", filled, code=2).err


def test_pipe(lake: Cli, bucket: str):
    """Standard input becomes an object, short or long."""
    lake("pipe", f"{bucket}/short.json", stdin='{"a": 1}')
    assert lake("stat", "--json", f"{bucket}/short.json").record["metadata"] == {"Content-Type": "application/json"}
    long = os.urandom(33 * MIB)
    assert lake("pipe", "--json", f"{bucket}/long", stdin=long).record["size"] == len(long)
    lake("cp", f"{bucket}/long", "back")
    assert (lake.home / "back").read_bytes() == long
    assert "is a folder" in lake("pipe", f"{bucket}/f/", code=2).err


def test_stat(quick: Quick, filled: str):
    """`stat` tells of a bucket, a folder and an object."""
    told = quick("stat", "--json", f"{filled}/a.txt").record
    assert (told["size"], told["type"], len(told["etag"])) == (14, "file", 32)
    assert told["checksum"]["CRC64NVME"]
    assert quick("stat", "--json", f"{filled}/sub").record["type"] == "folder"
    assert quick("stat", "--json", filled).record["location"] == "us-east-1"
    assert len(quick("stat", "--json", "-r", filled).records) == 3
    assert "Size     : 14 B" in quick("stat", f"{filled}/a.txt").lines
    assert "there is no" in quick("stat", f"{filled}/none", code=3).err
    assert "does not exist" in quick("stat", f"{filled}-none", code=3).err


def test_rm(quick: Quick, filled: str):
    """`rm` removes one object, or with --recursive --force everything below a prefix, and nothing by mistake."""
    assert quick("rm", f"{filled}/a.txt").out == f"Removed `{filled}/a.txt`.\n"
    assert "does not exist" in quick("rm", f"{filled}/a.txt", code=3).err
    quick("rm", "--force", f"{filled}/a.txt")
    assert "is a folder" in quick("rm", f"{filled}/sub/", code=2).err
    assert "--force" in quick("rm", "-r", f"{filled}/sub", code=2).err
    assert "whole server" in quick("rm", "-r", "--force", "lake", code=2).err
    assert len(quick("rm", "-r", "--dry-run", f"{filled}/sub").lines) == 2
    assert quick("rm", "-r", "--force", "--older-than", "1d", f"{filled}/sub").out == ""
    assert len(quick("rm", "-r", "--force", "--json", f"{filled}/sub").records) == 2
    assert quick("ls", "-r", filled).out == ""


def test_rm_of_a_folder_leaves_names_that_begin_alike(quick: Quick, lake: Cli, bucket: str):
    """`rm -r FOLDER` takes what is in the folder, not what begins with its name."""
    for name in ("t1", "t1/a", "t10/a"):
        quick("cp", _file(lake, "x"), f"{bucket}/{name}")
    quick("rm", "-r", "--force", f"{bucket}/t1")
    assert keys(quick("ls", "-r", "--json", bucket)) == ["t1", "t10/a"]


def test_rm_takes_names_from_standard_input(lake: Cli, bucket: str):
    """What find prints, rm --stdin removes."""
    for name in ("a.tmp", "b.tmp", "c"):
        lake("pipe", f"{bucket}/{name}", stdin="x")
    listed = lake("find", bucket, "--name", "*.tmp").out
    lake("rm", "--stdin", "--force", stdin=listed)
    assert keys(lake("ls", "-r", "--json", bucket)) == ["c"]


def test_more_than_one_page(quick: Quick, lake: Cli, bucket: str, monkeypatch: pytest.MonkeyPatch):
    """Listings and removals go past a page, of objects, of folders and of versions."""
    monkeypatch.setattr("lakeshare.cli.remote.listing.PAGE_LIMIT", 7)
    monkeypatch.setattr("lakeshare.cli.remote.store.DELETES_AT_ONCE", 5)
    names = [f"{number:02}/x" if number % 2 else f"{number:02}" for number in range(20)]
    for name in names:
        (lake.home / "many" / name).parent.mkdir(parents=True, exist_ok=True)
        (lake.home / "many" / name).touch()
    quick("cp", "-r", "--quiet", "many", f"{bucket}/many")
    assert keys(quick("ls", "-r", "--json", f"{bucket}/many")) == names
    assert keys(quick("ls", "--json", f"{bucket}/many")) == [name.rstrip("x") for name in names]
    assert sorted(keys(quick("ls", "-r", "--versions", "--json", f"{bucket}/many"))) == names
    assert quick("du", "--json", bucket).record["objects"] == 20
    assert len(quick("rm", "-r", "--force", "--json", bucket).records) == 20
    assert quick("ls", bucket).out == ""


def test_share(quick: Quick, lake: Cli, filled: str):
    """A link reads an object, or writes one, without a key."""
    told = quick("share", "download", "--expire", "1h", "--json", f"{filled}/a.txt").record
    assert told["timeLeft"] == 3600 * 10**9
    with urllib.request.urlopen(told["share"]) as answer:
        assert answer.read() == b"one\ntwo\nthree\n"
    assert len(quick("share", "download", "--json", "-r", filled).records) == 3
    link = quick("share", "upload", "--content-type", "text/csv", "--json", f"{filled}/new").record
    assert link["share"].startswith("curl -f -T <FILE> -H 'Content-Type: text/csv' ")
    request = urllib.request.Request(link["presigned"], b"new", {"Content-Type": "text/csv"}, method="PUT")
    with urllib.request.urlopen(request):
        pass
    assert quick("cat", f"{filled}/new").out == "new"
    other = urllib.request.Request(link["presigned"], b"new", {"Content-Type": "text/html"}, method="PUT")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(other)
    refused.value.close()
    assert "seven days" in quick("share", "download", "--expire", "8d", f"{filled}/a.txt", code=2).err
    assert "one object" in quick("share", "upload", f"{filled}/folder/", code=2).err


def test_attributes_and_tags(quick: Quick, lake: Cli, bucket: str):
    """--attr and --tags are kept with an object, and replaced by a copy that says others."""
    quick("cp", "--attr", "Content-Type=text/x;owner=ann", "--tags", "a=b&c=d", _file(lake, "x"), f"{bucket}/x")
    told = quick("stat", "--json", f"{bucket}/x").record["metadata"]
    assert (told["Content-Type"], told["X-Amz-Meta-Owner"]) == ("text/x", "ann")
    assert told["X-Amz-Tagging-Count"] == "2"
    quick("cp", "--attr", "owner=bob", f"{bucket}/x", f"{bucket}/y")
    assert quick("stat", "--json", f"{bucket}/y").record["metadata"]["X-Amz-Meta-Owner"] == "bob"
    assert "--attr" in quick("cp", "--attr", "nothing", f"{bucket}/x", f"{bucket}/z", code=2).err


def test_errors_as_json(quick: Quick, bucket: str):
    """With --json an error is one object on standard error, with its cause and the next step."""
    told = quick("ls", "--json", f"{bucket}-none", code=3)
    assert told.out == ""
    error = json.loads(told.err)
    assert error["status"] == "error"
    assert error["error"]["code"] == "NoSuchBucket"
    assert "lakeshare mb lake/BUCKET" in error["error"]["next"]
    assert json.loads(quick("--json", "ls", code=2).err)["status"] == "error"


def _file(lake: Cli, name: str) -> str:
    path = lake.home / name
    path.write_text(name)
    return str(path)


def test_tags(quick: Quick, filled: str):
    """Tags of an object and of a bucket are set, listed and removed."""
    for place in (f"{filled}/a.txt", filled):
        quick("tag", "set", place, "kind=a b&year=2026&ünï=%2Bx/y")
        told = quick("tag", "list", "--json", place).record["tagset"]
        assert told == {"kind": "a b", "year": "2026", "ünï": "+x/y"}
        quick("tag", "rm", place)
        assert quick("tag", "ls", "--json", place).record["tagset"] == {}
    assert "no tags" in quick("tag", "set", filled, "nothing", code=2).err


def test_anonymous(quick: Quick, lake: Cli, filled: str, live_server: LiveServer):
    """Everyone reads below a prefix that is opened to them, and nothing beside it, until it is closed."""
    quick("alias", "set", "open", live_server.endpoint, "--anonymous", "--no-check")
    everyone = filled.replace("lake/", "open/")
    quick("cat", f"{everyone}/sub/b.csv", code=4)
    quick("anonymous", "set", "download", f"{filled}/sub/")
    assert quick("cat", f"{everyone}/sub/b.csv").out == "x" * 2000
    assert keys(quick("ls", "--json", f"{everyone}/sub/")) == ["b.csv", "deep/"]
    quick("cat", f"{everyone}/a.txt", code=4)
    quick("ls", everyone, code=4)
    quick("anonymous", "set", "upload", f"{filled}/inbox/")
    quick("cp", _file(lake, "x"), f"{everyone}/inbox/x/y")
    quick("cat", f"{everyone}/inbox/x/y", code=4)
    told = quick("anonymous", "get", "--json", filled).records
    assert {(item["bucket"], item["permission"]) for item in told} == {
        (f"{filled}/sub", "download"), (f"{filled}/inbox", "upload"),
    }  # fmt: skip
    quick("anonymous", "set", "private", f"{filled}/sub/")
    quick("cat", f"{everyone}/sub/b.csv", code=4)
    quick("anonymous", "set", "private", f"{filled}/inbox/")
    assert quick("anonymous", "get-json", "--json", filled).record["policy"] == {}


def test_a_policy_of_ones_own_is_kept(quick: Quick, lake: Cli, filled: str):
    """`anonymous set` leaves what a bucket's policy says besides; `set-json` replaces all of it."""
    bucket = filled.partition("/")[2]
    mine = {
        "Sid": "Mine",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:DeleteObject",
        "Resource": f"arn:aws:s3:::{bucket}/*",
    }
    (lake.home / "policy.json").write_text(json.dumps({"Version": "2012-10-17", "Statement": [mine]}))
    quick("anonymous", "set-json", "policy.json", filled)
    quick("anonymous", "set", "public", filled)
    assert {item["permission"] for item in quick("anonymous", "list", "--json", filled).records} <= {"public", "custom"}
    quick("anonymous", "set", "none", filled)
    assert quick("anonymous", "get-json", "--json", filled).record["policy"]["Statement"] == [mine]
    assert quick("stat", "--json", filled).record["policy"] is True
    (lake.home / "nothing.json").write_text("{}")
    quick("anonymous", "set-json", "nothing.json", filled)
    assert quick("stat", "--json", filled).record["policy"] is False


def test_a_bucket_that_is_there_is_not_made_again(quick: Quick, bucket: str):
    """Making a bucket twice is told, and what to do about it; --ignore-existing is content with it."""
    said = quick("mb", bucket, code=1).err
    assert "is there already" in said
    assert "mb --ignore-existing" in said
    assert json.loads(quick("mb", bucket, "--json", code=1).err)["error"]["code"] == "BucketAlreadyOwnedByYou"
    quick("mb", "--ignore-existing", bucket)
