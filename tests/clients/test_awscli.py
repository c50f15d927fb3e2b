"""The AWS command line against a live server, as a user types it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.live import LiveServer, clean_environment

MIB = 1024**2
Aws = Callable[..., str]


@pytest.fixture
def aws(any_server: LiveServer, tmp_path: Path) -> Aws:
    """Run `aws` against one of the two servers and return what it prints."""
    command = [str(Path(sys.executable).with_name("aws")), "--endpoint-url", any_server.endpoint]
    environment = clean_environment(
        AWS_ACCESS_KEY_ID=any_server.access_key,
        AWS_SECRET_ACCESS_KEY=any_server.secret_key,
        AWS_DEFAULT_REGION="us-east-1",
        AWS_CONFIG_FILE=str(tmp_path / "none"),
        AWS_MAX_ATTEMPTS="1",
    )
    if any_server.ca_file:
        environment["AWS_CA_BUNDLE"] = str(any_server.ca_file)

    def run(*arguments: str) -> str:
        done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_a_folder_is_copied_listed_synced_and_removed(aws: Aws, any_bucket: str, tmp_path: Path):
    """cp, ls, sync, an 18 MB copy inside the store and rm --recursive do what they do at AWS."""
    folder, back = tmp_path / "folder", tmp_path / "back"
    (folder / "sub").mkdir(parents=True)
    (folder / "small.txt").write_text("small")
    (folder / "sub" / "large.bin").write_bytes(os.urandom(18 * MIB))

    aws("s3", "cp", "--recursive", str(folder), f"s3://{any_bucket}/in")
    listed = aws("s3", "ls", "--recursive", f"s3://{any_bucket}/in/")
    assert [line.split()[2:] for line in listed.splitlines()] == [
        ["5", "in/small.txt"],
        [str(18 * MIB), "in/sub/large.bin"],
    ]
    assert "PRE sub/" in aws("s3", "ls", f"s3://{any_bucket}/in/")

    aws("s3", "cp", f"s3://{any_bucket}/in/sub/large.bin", f"s3://{any_bucket}/copy/large.bin")
    aws("s3", "cp", f"s3://{any_bucket}/copy/large.bin", str(tmp_path / "copied"))
    assert (tmp_path / "copied").read_bytes() == (folder / "sub" / "large.bin").read_bytes()

    aws("s3", "sync", f"s3://{any_bucket}/in", str(back))
    assert (back / "small.txt").read_text() == "small"
    assert aws("s3", "sync", str(back), f"s3://{any_bucket}/in") == ""

    aws("s3", "rm", "--recursive", f"s3://{any_bucket}/")
    aws("s3", "rb", f"s3://{any_bucket}")
    assert any_bucket not in aws("s3", "ls")
