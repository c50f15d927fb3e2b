"""What an operator sees at the first start, and what a server refuses to start with."""

import json
import stat
import subprocess
import time

from botocore.auth import HmacV1QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.live import clean_environment, free_port, lakeshare, running
from tests.raw import RawClient


def start(data, *options, **environment):
    command = [lakeshare(), "server", str(data), "--address", f"127.0.0.1:{free_port()}", *options]
    env = clean_environment(**environment)
    return subprocess.run(command, capture_output=True, text=True, env=env, timeout=30, check=False)


def version_2_url(server, path):
    """Sign the path of a key for a GET, as botocore does."""
    request = AWSRequest("GET", server.endpoint + path)
    HmacV1QueryAuth(Credentials(server.access_key, server.secret_key), expires=60).add_auth(request)
    return request.url.removeprefix(server.endpoint)


def waited_for(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_the_first_start_makes_a_root_key_and_prints_it_once(tmp_path):
    """The pair is printed at the first start only, works, and lies in a file that only its owner can read."""
    data = tmp_path / "data"
    with running(data, credentials=None) as server:
        pair = json.loads((data / "root-credentials.json").read_text())
        assert waited_for(lambda: pair["secret"] in server.log_since(0))
        client = RawClient.of(server, pair["access_key"], pair["secret"])
        assert client.send("GET", "/").status == 200
        client.close()
        first = server.log_size()
    assert stat.S_IMODE((data / "root-credentials.json").stat().st_mode) == 0o600
    with running(data, credentials=None) as server:
        assert waited_for(lambda: "Lakeshare serves" in server.log_since(first))
        assert pair["secret"] not in server.log_since(first)


def test_the_well_known_pair_needs_a_switch_off_loopback(tmp_path):
    """Minioadmin is warned of on loopback, and refused on other addresses without the switch."""
    known = {"MINIO_ROOT_USER": "minioadmin", "MINIO_ROOT_PASSWORD": "minioadmin"}
    with running(tmp_path / "data", credentials=None, environment=known) as server:
        assert waited_for(lambda: "warning:" in server.log_since(0))
        client = RawClient.of(server, "minioadmin", "minioadmin")
        assert client.send("GET", "/").status == 200
        client.close()
    refused = start(tmp_path / "data", "--address", f":{free_port()}", **known)
    assert refused.returncode == 1
    assert "allow-default-credentials" in refused.stderr


def test_what_cannot_be_is_said_before_the_start(tmp_path):
    """A bad setting, half a pair, a taken port or a folder of someone else's is named, with what to do."""
    assert "LAKESHARE_WORKERS" in start(tmp_path / "a", LAKESHARE_WORKERS="many").stderr
    assert "root" in start(tmp_path / "a", LAKESHARE_ROOT_USER="only-half").stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    assert "cannot be used as a data directory" in start(tmp_path / "mine").stderr
    with running(tmp_path / "b") as server:
        taken = start(tmp_path / "c", "--address", f"127.0.0.1:{server.port}")
        assert (taken.returncode, "address in use" in taken.stderr) == (1, True)


def test_the_guard_of_commits_can_be_turned_off(tmp_path):
    """With the setting off, a Delta commit is overwritten as any other key."""
    with running(tmp_path / "data", "--delta-commit-guard", "false") as server:
        client = RawClient.of(server)
        client.send("PUT", "/plain")
        path = "/plain/t/_delta_log/00000000000000000000.json"
        assert client.send("PUT", path, b"one").status == client.send("PUT", path, b"two").status == 200
        assert client.send("GET", path).body == b"two"
        client.close()


def test_a_bucket_may_stand_in_the_host_name(tmp_path):
    """With a domain set, `bucket.domain` serves the bucket, and the bare domain the service."""
    with running(tmp_path / "data", "--domains", "s3.example.test") as server:
        client = RawClient.of(server)
        assert client.send("PUT", "/hosted").status == 200
        assert client.send("PUT", "/hosted/a/b", b"by path").status == 200
        url = f"http://hosted.s3.example.test:{server.port}/a/b"
        headers = client.signer.headers("GET", url, time.time())
        assert client.send_as_is("GET", "/a/b", b"", headers).body == b"by path"
        client.close()


def test_a_version_2_url_opens_one_key_under_either_style(tmp_path):
    """Version 2 does not sign the host: a URL for `x` opens no other key when the host names the bucket."""
    with running(tmp_path / "data", "--domains", "s3.example.test") as server:
        client = RawClient.of(server)
        client.send("PUT", "/hosted")
        client.send("PUT", "/hosted/x", b"signed")
        client.send("PUT", "/hosted/hosted/x", b"other")
        client.send("PUT", "/hosted/hosted.csv", b"under its host")
        by_path, by_host = (version_2_url(server, f"/hosted/{key}") for key in ("x", "hosted.csv"))
        host = {"host": f"hosted.s3.example.test:{server.port}"}
        assert client.send_as_is("GET", by_path, b"", {}).body == b"signed"
        assert client.send_as_is("GET", by_path, b"", host).code == "SignatureDoesNotMatch"
        assert client.send_as_is("GET", by_host.removeprefix("/hosted"), b"", host).body == b"under its host"
        client.close()


def test_active_content_is_not_shown_by_browsers(tmp_path):
    """Pages and scripts are sent as attachments, and no type is guessed."""
    with running(tmp_path / "data") as server:
        client = RawClient.of(server)
        client.send("PUT", "/web")
        client.send("PUT", "/web/page", b"<script>", {"content-type": "text/html"})
        client.send("PUT", "/web/text", b"words", {"content-type": "text/plain"})
        page, text = (client.send("GET", f"/web/{key}").headers for key in ("page", "text"))
        assert page["content-disposition"] == "attachment"
        assert "content-disposition" not in text
        assert page["x-content-type-options"] == text["x-content-type-options"] == "nosniff"
        client.close()


def test_every_request_has_an_audit_line_without_secrets(tmp_path):
    """Refused and allowed requests are audited alike, and no signature or secret is in the log."""
    data = tmp_path / "data"
    with running(data) as server:
        client = RawClient.of(server)
        stranger = RawClient.of(server, "nobody-knows", "this-secret-key")
        assert client.send("PUT", "/audited").status == 200
        assert stranger.send("GET", "/audited").status == 403
        signed = client.signer.presign("GET", client.url("/audited/x"), time.time(), 60)
        client.send_as_is("GET", signed.partition(str(server.port))[2], b"", {})
        client.close()
        stranger.close()
    lines = "".join(path.read_text() for path in (data / "audit").iterdir())
    events = [json.loads(line) for line in lines.splitlines()]
    assert {("CreateBucket", 200), ("ListObjects", 403), ("GetObject", 404)} <= {
        (e["action"], e["status"]) for e in events
    }
    assert server.secret_key not in lines
    assert "Signature" not in lines
    assert all(path.stat().st_mode & 0o077 == 0 for path in (data / "audit").iterdir())
