"""TLS: whose certificate is trusted, and how that is said."""

import pytest

from tests.cli.conftest import Cli
from tests.live import LiveServer


@pytest.fixture
def tls(cli: Cli, live_tls_server: LiveServer) -> Cli:
    """A user with an alias for the server with TLS, and no trust in it."""
    server = live_tls_server
    cli("alias", "set", "lake", server.endpoint, server.access_key, server.secret_key, "--no-check")
    return cli


def test_an_unknown_authority_is_refused(tls: Cli):
    """A certificate that nobody vouches for is refused, with the flags that help."""
    said = tls("ls", "lake", code=5).err
    assert "is not trusted" in said
    assert "--ca-cert" in said


def test_a_bundle_is_trusted(tls: Cli, live_tls_server: LiveServer):
    """--ca-cert, REQUESTS_CA_BUNDLE and SSL_CERT_FILE name authorities; --insecure asks for none."""
    bundle = str(live_tls_server.ca_file)
    tls("ls", "lake", "--ca-cert", bundle)
    tls("--insecure", "ls", "lake")
    for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        tls.environment = {name: bundle}
        tls("ls", "lake")


def test_a_bundle_stays_with_its_alias(cli: Cli, live_tls_server: LiveServer):
    """--ca-cert at `alias set` is kept, wherever the command is run later."""
    server = live_tls_server
    (cli.home / "ca.pem").write_bytes(server.ca_file.read_bytes())
    cli("alias", "set", "lake", server.endpoint, server.access_key, server.secret_key, "--ca-cert", "ca.pem")
    elsewhere = cli.home / "elsewhere"
    elsewhere.mkdir()
    cli("ls", "lake", cwd=elsewhere)
    assert cli("alias", "list", "--json").record["caCert"] == str(cli.home / "ca.pem")


def test_a_bundle_that_is_none_is_told(tls: Cli):
    """A file that is not there, or holds no certificates, is named."""
    assert "is not there" in tls("ls", "lake", "--ca-cert", "none.pem", code=1).err
    (tls.home / "empty.pem").touch()
    tls.environment = {"REQUESTS_CA_BUNDLE": "empty.pem"}
    assert "REQUESTS_CA_BUNDLE names empty.pem" in tls("ls", "lake", code=1).err


def test_http_to_a_port_with_tls_is_told(tls: Cli, live_tls_server: LiveServer):
    """Plain HTTP to a server with TLS is refused with the scheme that it needs."""
    server = live_tls_server
    url = server.endpoint.replace("https", "http")
    assert "https://" in tls("alias", "set", "plain", url, server.access_key, server.secret_key, code=5).err
