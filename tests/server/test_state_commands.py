"""Export, import and verify of a data directory's state, as operators type it."""

import json
import subprocess

from tests.live import lakeshare, running
from tests.raw import RawClient


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([lakeshare(), "state", *words], capture_output=True, text=True, check=False)


def test_an_import_of_an_export_is_what_was_exported(tmp_path):
    """What a served directory exports is sound, and imports into another as the same facts."""
    first, second = tmp_path / "first", tmp_path / "second"
    with running(first) as server:
        client = RawClient.of(server)
        body = json.dumps({"name": "ann", "secret_key": "a-long-secret-key"}).encode()
        assert client.send("POST", "/_admin/v1/users", body, {"content-type": "application/json"}).status == 201
        client.close()
        assert run("export", str(first), str(tmp_path / "one")).returncode == 0
    with running(second):
        pass
    refused = run("import", str(second), str(tmp_path / "one"), "--replace")
    assert (refused.returncode, "bring that secrets.key along" in refused.stderr) == (1, True)
    (second / "secrets.key").write_bytes((first / "secrets.key").read_bytes())
    assert run("verify", str(tmp_path / "one")).returncode == 0
    done = run("import", str(second), str(tmp_path / "one"), "--replace", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr)["records"] > 0
    assert run("export", str(second), str(tmp_path / "two")).returncode == 0
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_changed_export_is_refused_whole(tmp_path):
    """An export with one byte changed is not sound, and nothing of it is imported."""
    data = tmp_path / "data"
    with running(data):
        pass
    assert run("export", str(data), str(tmp_path / "one")).returncode == 0
    text = (tmp_path / "one").read_bytes()
    (tmp_path / "one").write_bytes(text.replace(b"0", b"1", 1))
    refused = run("verify", str(tmp_path / "one"))
    assert (refused.returncode, refused.stderr.startswith("lakeshare:")) == (1, True)
