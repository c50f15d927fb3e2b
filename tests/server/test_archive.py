"""Backup and restore of a whole data directory, by the commands that operators type."""

import json
import subprocess

from lakeshare.storage.local.fsck import check
from tests.live import lakeshare, running
from tests.raw import RawClient


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([lakeshare(), *words], capture_output=True, text=True, check=False)


def test_a_server_comes_back_from_its_backup(tmp_path):
    """A backup taken while the server runs restores to one with the same objects, identities and root key."""
    data, copy, again = tmp_path / "data", tmp_path / "copy", tmp_path / "again"
    with running(data, credentials=None) as server:
        pair = json.loads((data / "root-credentials.json").read_text())
        client = RawClient.of(server, pair["access_key"], pair["secret"])
        assert client.send("PUT", "/kept").status == 200
        bodies = {"small": b"tiny", "large": bytes(300_000)}
        for key, body in bodies.items():
            assert client.send("PUT", f"/kept/{key}", body).status == 200
        done = run("backup", str(data), str(copy), "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["blobs"] == 1
        client.close()
    done = run("restore", str(copy), str(again))
    assert done.returncode == 0, done.stderr
    with running(again, credentials=None) as server:
        client = RawClient.of(server, pair["access_key"], pair["secret"])
        assert {key: client.send("GET", f"/kept/{key}").body for key in bodies} == bodies
        client.close()
    assert check(again, deep=True).clean


def test_fsck_finds_a_lost_blob(tmp_path):
    """Fsck is clean on a sound directory, and says by name what lost its content; its exit code says so too."""
    data = tmp_path / "data"
    with running(data) as server:
        client = RawClient.of(server)
        client.send("PUT", "/kept")
        client.send("PUT", "/kept/large", bytes(300_000))
        client.close()
    assert run("fsck", str(data), "--deep").returncode == 0
    (blob,) = (path for path in (data / "blobs").glob("*/*"))
    blob.unlink()
    done = run("fsck", str(data), "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 1
    assert (report["counts"], report["affected"]) == ({"missing": 1}, ["kept/large"])


def test_a_restore_overwrites_nothing(tmp_path):
    """A restore into a folder that holds anything is refused with the reason."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    done = run("restore", str(tmp_path / "full"), str(tmp_path / "full"))
    assert done.returncode == 1
    assert "lakeshare:" in done.stderr
