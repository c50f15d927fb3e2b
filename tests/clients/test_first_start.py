"""What somebody meets who starts a server for the first time: keys, warnings, refusals, and files."""

import json
import re
import signal
import stat
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.live import ACCESS_KEY, SECRET_KEY, clean_environment, free_port, lakeshare, running

SHOWN = re.compile(r"access key: (\S+)\s+secret key: (\S+)")


def test_a_root_key_is_made_shown_once_and_kept(tmp_path: Path, connect: Callable[..., Any]):
    """The first start prints a root key that works; the second prints none, and the key still works."""
    data = tmp_path / "data"
    with running(data, credentials=None) as server:
        shown = SHOWN.search(server.log_since(0))
        assert shown, server.log_since(0)
        keyed = replace(server, access_key=shown[1], secret_key=shown[2])
        connect(keyed).create_bucket(Bucket="first")
        first_log = server.log_size()
    files = [path for path in data.iterdir() if path.is_file() and shown[1] in path.read_bytes().decode("latin-1")]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600]
    with running(data, credentials=None) as server:
        assert shown[2] not in server.log_since(first_log)
        keyed = replace(server, access_key=shown[1], secret_key=shown[2])
        assert [item["Name"] for item in connect(keyed).list_buckets()["Buckets"]] == ["first"]


def test_no_other_user_can_look_into_the_data(tmp_path: Path):
    """The data directory is closed to other users."""
    data = tmp_path / "data"
    with running(data):
        assert stat.S_IMODE(data.stat().st_mode) & 0o077 == 0


def refusal(*arguments: str, **environment: str) -> str:
    """Return what a server says that does not start."""
    done = subprocess.run(
        [lakeshare(), "server", *arguments],
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def test_the_well_known_pair_is_refused_off_loopback(tmp_path: Path):
    """A server that other machines reach does not start with the pair that everybody knows."""
    said = refusal(
        str(tmp_path / "data"),
        "--address",
        f":{free_port()}",
        MINIO_ROOT_USER="minioadmin",
        MINIO_ROOT_PASSWORD="minioadmin",
    )
    assert "allow_default_credentials" in said or "allow-default-credentials" in said


def test_half_a_root_key_is_refused(tmp_path: Path):
    """A root user without a password is a mistake, and is called one."""
    assert "root_password" in refusal(str(tmp_path / "data"), LAKESHARE_ROOT_USER="somebody")


def test_a_wrong_setting_is_named(tmp_path: Path):
    """A setting with a value that it cannot have stops the start, by its name."""
    assert "--workers" in refusal(str(tmp_path / "data"), "--workers", "none")


def test_a_port_in_use_is_named(tmp_path: Path):
    """A server whose port is taken says which one."""
    with running(tmp_path / "one") as server:
        said = refusal(str(tmp_path / "two"), "--address", server.netloc)
        assert str(server.port) in said


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_answered_is_there_after_the_end(tmp_path: Path, connect: Callable[..., Any], number: signal.Signals):
    """Whatever ends the server, what it has acknowledged is there at the next start, and fsck finds nothing wrong."""
    data = tmp_path / "data"
    body = b"x" * 200_000
    with running(data, ended_by_test=True) as server:
        client = connect(server)
        client.create_bucket(Bucket="kept")
        for key in range(20):
            client.put_object(Bucket="kept", Key=str(key), Body=body)
        server.process.send_signal(number)
        server.process.wait(60)
    with running(data) as server:
        client = connect(server)
        assert client.list_objects_v2(Bucket="kept")["KeyCount"] == 20
        assert client.get_object(Bucket="kept", Key="19")["Body"].read() == body
    done = subprocess.run([lakeshare(), "fsck", "--deep", "--json", data], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["clean"]


def test_a_backup_of_a_running_server_is_a_server(tmp_path: Path, connect: Callable[..., Any]):
    """A backup that was taken while the server ran, once restored, serves what was there."""
    data, copy, again = tmp_path / "data", tmp_path / "copy", tmp_path / "again"
    with running(data) as server:
        client = connect(server)
        client.create_bucket(Bucket="kept")
        client.put_object(Bucket="kept", Key="small", Body=b"small")
        client.put_object(Bucket="kept", Key="large", Body=b"x" * 200_000)
        for command in (["backup", data, copy], ["restore", copy, again]):
            done = subprocess.run([lakeshare(), *command], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    with running(again, credentials=(ACCESS_KEY, SECRET_KEY)) as server:
        client = connect(server)
        assert client.get_object(Bucket="kept", Key="small")["Body"].read() == b"small"
        assert client.head_object(Bucket="kept", Key="large")["ContentLength"] == 200_000
