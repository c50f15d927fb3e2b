"""Certificates: which connections are taken, and how they are replaced under way."""

import shutil
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from lakeshare.http.request import Request
from lakeshare.http.response import Response
from lakeshare.http.tls import BadCertificate, Tls
from lakeshare.settings import Settings
from tests.http.edge import Edge, served

HUGE = bytes(range(256)) * 40_000


async def handler(request: Request) -> Response:
    return Response(200, [], HUGE if request.raw_path == "/huge" else request.scheme.encode())


@pytest.fixture
def pair(certificate: tuple[Path, Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the certificate and its key that a test may replace."""
    shutil.copy(certificate[0], tmp_path / "cert.pem")
    shutil.copy(certificate[1], tmp_path / "key.pem")
    return tmp_path / "cert.pem", tmp_path / "key.pem"


@pytest.fixture
def edge(pair: tuple[Path, Path]) -> Iterator[Edge]:
    with served(handler, Tls(str(pair[0]), str(pair[1]))) as edge:
        yield edge


def trusting(authority: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority))


def unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def self_signed(cert: Path, key: Path) -> bytes:
    """Write a new pair over the files, and return the certificate as a client sees it."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "replaced")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(secret, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    key.write_bytes(secret.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return made.public_bytes(serialization.Encoding.DER)


def shown(edge: Edge) -> bytes:
    """Return the certificate that a new connection is shown."""
    with edge.connect_tls(unchecked()) as client:
        assert isinstance(client.sock, ssl.SSLSocket)
        return client.sock.getpeercert(binary_form=True) or b""


def test_requests_are_answered_over_tls(edge: Edge, certificate: tuple[Path, Path, Path]):
    """A verified connection carries small and large answers, and says https."""
    with edge.connect_tls(trusting(certificate[2])) as client:
        assert client.ask("/").body == b"https"
        assert client.ask("/huge").body == HUGE
        assert client.ask("/").body == b"https"


def test_http_1_1_is_negotiated(edge: Edge):
    """A client that also offers HTTP/2 is given HTTP/1.1."""
    context = unchecked()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with edge.connect_tls(context) as client:
        assert isinstance(client.sock, ssl.SSLSocket)
        assert client.sock.selected_alpn_protocol() == "http/1.1"


def test_old_versions_are_refused(edge: Edge):
    """TLS 1.1 is not spoken."""
    context = unchecked()
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        context.minimum_version = ssl.TLSVersion.TLSv1_1
    with pytest.warns(DeprecationWarning, match="TLSv1_1 is deprecated"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    raw = socket.create_connection(("127.0.0.1", edge.port))
    with pytest.raises((ssl.SSLError, ConnectionResetError)):
        context.wrap_socket(raw, server_hostname="localhost")
    raw.close()


def test_a_plain_request_to_a_tls_port_is_dropped(edge: Edge):
    """A client that forgot TLS gets no answer, and the server goes on."""
    with edge.connect() as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b"HTTP/" not in client.rest()
    assert shown(edge)


def test_a_handshake_that_never_ends_is_dropped(pair: tuple[Path, Path]):
    """A client that connects and shakes no hands is let go after the time for a head."""
    with served(handler, Tls(str(pair[0]), str(pair[1])), header_timeout=1) as edge, edge.connect() as client:
        client.send(b"\x16\x03\x01\x02\x00")
        assert client.closed()


def test_a_new_certificate_is_shown_to_new_connections_and_old_ones_go_on(edge: Edge, pair: tuple[Path, Path]):
    """Replacing the files changes what new clients see, and breaks nobody's connection."""
    with edge.connect_tls(unchecked()) as client:
        assert client.ask("/").status == 200
        before = shown(edge)
        after = self_signed(*pair)
        assert edge.tls is not None
        assert edge.tls.reload()
        assert shown(edge) == after != before
        assert client.ask("/huge").body == HUGE


def test_changed_files_are_noticed(edge: Edge, pair: tuple[Path, Path]):
    """No signal is needed: the files are looked at, and read again only when they are others."""
    assert edge.tls is not None
    after = self_signed(*pair)
    edge.tls.reload_if_changed()
    assert shown(edge) == after
    newest = edge.tls._newest
    edge.tls.reload_if_changed()
    assert edge.tls._newest is newest


@pytest.mark.parametrize("broken", ["key", "cert", "missing"])
def test_files_that_do_not_fit_leave_the_old_ones_in_use(broken: str, edge: Edge, pair: tuple[Path, Path], caplog):
    """Half a renewal is reported, and the certificate in use stays."""
    before = shown(edge)
    cert, key = pair
    if broken == "missing":
        key.unlink()
    elif broken == "key":
        kept = cert.read_bytes()
        self_signed(cert, key)
        cert.write_bytes(kept)
    else:
        cert.write_text("no certificate")
    assert edge.tls is not None
    edge.tls.reload_if_changed()
    assert shown(edge) == before
    assert "certificate not reloaded" in caplog.text
    after = self_signed(cert, key)
    edge.tls.reload_if_changed()
    assert shown(edge) == after


def test_settings_need_both_files(pair: tuple[Path, Path]):
    """A certificate without its key is an error that says so; neither is no TLS."""
    assert Tls.of(Settings()) is None
    assert Tls.of(Settings(tls_cert=str(pair[0]), tls_key=str(pair[1]))) is not None
    with pytest.raises(BadCertificate, match="both are needed"):
        Tls.of(Settings(tls_cert=str(pair[0])))
    with pytest.raises(BadCertificate, match="cannot use the certificate"):
        Tls.of(Settings(tls_cert="/no/such/file", tls_key=str(pair[1])))
