"""MinIO's own open client against a live server, with the commands that its users type."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live import LiveServer, clean_environment

MIB = 1024**2
Mc = Callable[..., str]

pytestmark = pytest.mark.mc


def find_mc(cache: Path) -> str | None:
    """Find the client where LAKESHARE_MC says, in the cache, or on the PATH, where `mc` may be a file manager."""
    for candidate in (os.environ.get("LAKESHARE_MC"), str(cache / "bin/mc"), shutil.which("mc")):
        if not candidate or not Path(candidate).exists():
            continue
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if "MinIO" in said.stdout or "RELEASE" in said.stdout or "DEVELOPMENT" in said.stdout:
            return candidate
    return None


@pytest.fixture
def mc(cache: Path, any_server: LiveServer, tmp_path: Path) -> Mc:
    """Run `mc` with an alias `lake` for one of the two servers, and return what it prints."""
    command = find_mc(cache)
    if command is None:
        pytest.skip("needs mc, MinIO's open client: put it on the PATH, or `go install github.com/minio/mc@latest`")
    if any_server.ca_file:
        trusted = tmp_path / "mc" / "certs" / "CAs"
        trusted.mkdir(parents=True)
        shutil.copy(any_server.ca_file, trusted)

    def run(*arguments: str, code: int = 0) -> str:
        line = [command, "--config-dir", str(tmp_path / "mc"), "--no-color", *arguments]
        done = subprocess.run(line, env=clean_environment(), capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    run("alias", "set", "lake", any_server.endpoint, any_server.access_key, any_server.secret_key)
    return run


def test_the_object_commands_work(mc: Mc, tmp_path: Path, bucket_names: Callable[[str], str]):
    """mb, cp --recursive, tree --files, ls, stat, cat, rm and rb --force do what their users expect."""
    bucket = bucket_names("mc")
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "small.txt").write_text("small")
    (folder / "sub" / "large.bin").write_bytes(os.urandom(18 * MIB))

    mc("mb", f"lake/{bucket}")
    mc("cp", "--recursive", f"{folder}/", f"lake/{bucket}/in/")
    assert "large.bin" in mc("tree", "--files", f"lake/{bucket}")
    listed = [json.loads(line) for line in mc("ls", "--recursive", "--json", f"lake/{bucket}").splitlines()]
    assert [(item["key"], item["size"]) for item in listed] == [("in/small.txt", 5), ("in/sub/large.bin", 18 * MIB)]
    assert json.loads(mc("stat", "--json", f"lake/{bucket}/in/small.txt"))["size"] == 5
    assert mc("stat", f"lake/{bucket}")
    assert mc("cat", f"lake/{bucket}/in/small.txt") == "small"
    mc("cp", f"lake/{bucket}/in/sub/large.bin", str(tmp_path / "back"))
    assert (tmp_path / "back").read_bytes() == (folder / "sub" / "large.bin").read_bytes()
    mc("cp", f"lake/{bucket}/in/sub/large.bin", f"lake/{bucket}/copy.bin")
    mc("rm", f"lake/{bucket}/in/small.txt")
    assert "small.txt" not in mc("ls", "--recursive", f"lake/{bucket}")
    mc("rb", "--force", f"lake/{bucket}")
    assert bucket not in mc("ls", "lake")


def test_a_wrong_secret_is_told_at_once(mc: Mc, any_server: LiveServer):
    """An alias with a wrong secret is refused for its signature, not for something else."""
    said = mc("alias", "set", "wrong", any_server.endpoint, any_server.access_key, "not-the-secret", code=1)
    assert "signature" in said


def test_a_shared_link_is_read_without_a_key(mc: Mc, live_server: LiveServer, any_bucket: str, tmp_path: Path):
    """`share download` makes a URL with a signature in it."""
    (tmp_path / "f").write_text("f")
    mc("cp", str(tmp_path / "f"), f"lake/{any_bucket}/f")
    assert "X-Amz-Signature" in mc("share", "download", "--expire", "1h", f"lake/{any_bucket}/f")


def test_a_server_that_answers_is_ready(mc: Mc):
    """What waits for a cluster to be up is told that it is, for reading and for writing."""
    assert "is ready" in mc("ready", "lake")
    assert "is ready" in mc("ready", "lake", "--cluster-read")
