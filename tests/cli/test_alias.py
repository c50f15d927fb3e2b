"""Aliases: made, listed, forgotten, and kept where nobody else can read them."""

import json
import stat

import pytest

from tests.cli.conftest import Cli
from tests.live import LiveServer, free_port


def test_an_alias_is_kept_for_its_owner_alone(cli: Cli, live_server: LiveServer):
    """The file of aliases is made with its folder, and only its owner can read it."""
    cli.use(live_server)
    assert stat.S_IMODE(cli.config.stat().st_mode) == 0o600
    assert stat.S_IMODE(cli.config.parent.stat().st_mode) == 0o700
    assert [path.name for path in cli.config.parent.iterdir()] == ["config.json"]
    cli.config.chmod(0o644)
    assert "others can read" in cli("alias", "list").err
    cli.use(live_server, "other")
    assert stat.S_IMODE(cli.config.stat().st_mode) == 0o600


def test_set_list_remove(cli: Cli, live_server: LiveServer):
    """An alias is listed without its secret, replaced by one of its name, and forgotten."""
    cli.use(live_server)
    cli.use(live_server)
    told = cli("alias", "list", "--json").record
    assert (told["alias"], told["URL"], told["accessKey"], told["secretKey"]) == (
        "lake", live_server.endpoint, live_server.access_key, "***",
    )  # fmt: skip
    assert live_server.secret_key not in cli("alias", "ls", "lake").out
    assert cli("alias", "list", "lake", "--show-secrets", "--json").record["secretKey"] == live_server.secret_key
    cli("alias", "rm", "lake")
    assert cli("alias", "list").out == ""
    assert "alias set lake URL" in cli("ls", "lake", code=3).err
    assert "no alias" in cli("alias", "remove", "lake", code=3).err


def test_the_server_is_asked_first(cli: Cli, live_server: LiveServer):
    """A key that is unknown, a wrong secret, a wrong scheme and a silent port are each told, and nothing is kept."""
    url, key, secret = live_server.endpoint, live_server.access_key, live_server.secret_key
    unknown = cli("alias", "set", "lake", url, "nobody-knows-me", secret, code=4)
    assert "does not know the key 'nobody-knows-me'" in unknown.err
    wrong = cli("alias", "set", "lake", url, key, "wrong-secret", code=4)
    assert f"secret of the key {key!r} is wrong" in wrong.err
    assert "does not speak TLS" in cli("alias", "set", "lake", url.replace("http", "https"), key, secret, code=5).err
    nobody = cli("alias", "set", "lake", f"http://127.0.0.1:{free_port()}", key, secret, code=5)
    assert "nobody listens" in nobody.err
    assert "lakeshare server" in nobody.err
    assert not cli.config.exists()
    cli("alias", "set", "lake", url, key, "wrong-secret", "--no-check")
    assert "alias set lake URL" in cli("ls", "lake", code=4).err


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("localhost", "http://localhost"),
        ("ftp://host", "http://host"),
        ("http://host/bucket", "http://host"),
        ("http://key:secret@host", "KEY SECRET"),
        ("http://host:port", "http://127.0.0.1:9000"),
        ("http://", "http://127.0.0.1:9000"),
    ],
)
def test_what_is_no_url_is_told(cli: Cli, url: str, said: str):
    """A URL that cannot be a server's is refused with one that can."""
    assert said in cli("alias", "set", "lake", url, "key", "secret", code=2).err


def test_what_is_no_alias_is_told(cli: Cli):
    """A name that would be taken for something else is refused."""
    for name in ("./x", "-x", "a/b", "ü", "1"):
        assert "cannot be an alias" in cli("alias", "set", "--no-check", "--", name, "http://h", "k", "s", code=2).err


def test_keys_may_be_piped_in(cli: Cli, live_server: LiveServer):
    """Key and secret are read from standard input, where no history keeps them."""
    url = live_server.endpoint
    cli("alias", "set", "lake", url, stdin=f"{live_server.access_key}\n{live_server.secret_key}\n")
    cli("alias", "set", "more", url, live_server.access_key, stdin=f"{live_server.secret_key}\n")
    cli("ls", "lake")
    cli("ls", "more")
    assert "missing" in cli("alias", "set", "lake", url, code=2).err


def test_the_environment_holds_aliases_too(cli: Cli, live_server: LiveServer):
    """LAKESHARE_HOST_name is an alias, wins over the file and over MC_HOST_name, and cannot be removed."""
    from urllib.parse import quote

    keys = f"{quote(live_server.access_key, '')}:{quote(live_server.secret_key, '')}"
    cli("alias", "set", "both", "http://127.0.0.1:1", "k", "s", "--no-check")
    cli.environment |= {
        "LAKESHARE_HOST_both": f"http://{keys}@{live_server.netloc}",
        "MC_HOST_both": "http://k:s@127.0.0.1:1",
        "MC_HOST_old": f"http://{keys}@{live_server.netloc}",
    }
    cli("ls", "both")
    cli("ls", "old")
    assert {item["src"] for item in cli("alias", "list", "--json").records} == {"LAKESHARE_HOST_both", "MC_HOST_old"}
    assert "unset MC_HOST_old" in cli("alias", "remove", "old", code=1).err
    cli.environment["LAKESHARE_HOST_bad"] = "host:9000"
    assert "LAKESHARE_HOST_bad is no alias" in cli("ls", "bad", code=2).err


def test_the_file_of_mc_is_read(cli: Cli, live_server: LiveServer):
    """A file that mc wrote works as it is, and what is in it that we do not know is kept."""
    content = {
        "version": "10",
        "aliases": {
            "play": {
                "url": live_server.endpoint + "/",
                "accessKey": live_server.access_key,
                "secretKey": live_server.secret_key,
                "api": "s3v4",
                "path": "auto",
            },
            "local": {"url": "http://localhost:9000", "accessKey": "", "secretKey": "", "api": "S3v4", "path": "auto"},
        },
        "other": 1,
    }
    cli.config.parent.mkdir()
    cli.config.write_text(json.dumps(content))
    cli.config.chmod(0o600)
    cli("ls", "play")
    cli("alias", "remove", "local")
    assert json.loads(cli.config.read_text())["other"] == 1


def test_a_broken_file_is_told(cli: Cli):
    """A file that is no JSON, or holds no aliases, is named with what to do."""
    cli.config.parent.mkdir()
    for text in ("{", "[]", '{"aliases": []}', '{"aliases": {"lake": {}}}'):
        cli.config.write_text(text)
        assert "config.json" in cli("ls", "lake", code=1).err


def test_a_folder_of_ones_own(cli: Cli, live_server: LiveServer):
    """--config-dir, before the command or after it, names another folder."""
    key = (live_server.endpoint, live_server.access_key, live_server.secret_key)
    cli("--config-dir", "mine", "alias", "set", "lake", *key)
    assert (cli.home / "mine" / "config.json").exists()
    cli("ls", "lake", "-C", "mine")
    cli("ls", "lake", code=3)


def test_an_alias_without_a_key(cli: Cli, live_server: LiveServer):
    """An anonymous alias asks unsigned, and is refused where not everyone may."""
    cli("alias", "set", "open", live_server.endpoint, "--anonymous", "--no-check")
    assert cli("ls", "open", code=4).err
    assert "no key" in cli("share", "upload", "open/bucket/key", code=1).err
