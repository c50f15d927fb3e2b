"""What all tests share: a live server over plain HTTP and one over TLS, and how a test says that it needs a tool."""

import ipaddress
import itertools
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.live import LiveServer, running

IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
# A test may say, even in CI, that it is not for this machine: with one of these as the start of its reason.
SKIPS_ALLOWED_IN_CI = ("long form", "only on macOS", "only on ARM")

_log_marks: dict[LiveServer, int] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long forms of tests too (minutes each)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    for item in items:
        if "long" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="long form: run scripts/test --long"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report: pytest.TestReport = yield
    if report.failed:
        for server, mark in _log_marks.items():
            if said := server.log_since(mark).strip():
                report.sections.append((f"log of the server at {server.endpoint}", said))
    if report.skipped and IN_CI and isinstance(report.longrepr, tuple) and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if not reason.startswith(SKIPS_ALLOWED_IN_CI):
            report.outcome = "failed"
            report.longrepr = f"skipped, which is a failure when CI=true: {reason}"
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for server in _log_marks:
        _log_marks[server] = server.log_size()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    if skipped:
        reasons = {report.longrepr[2].removeprefix("Skipped: ") for report in skipped}
        terminalreporter.section(f"{len(skipped)} tests were not run", yellow=True)
        for reason in sorted(reasons):
            terminalreporter.write_line(f"  {reason}")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the source tree."""
    return Path(__file__).parents[1]


@pytest.fixture(scope="session")
def cache(repository: Path) -> Path:
    """The folder for what is fetched or built once: jars, and clients that are not Python's."""
    return Path(os.environ.get("LAKESHARE_CACHE") or repository / ".cache")


@pytest.fixture(scope="session")
def live_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server with two workers over plain HTTP, for the whole session."""
    with running(tmp_path_factory.mktemp("live") / "data") as server:
        yield from _watched(server)


@pytest.fixture(scope="session")
def live_tls_server(
    tmp_path_factory: pytest.TempPathFactory, certificate: tuple[Path, Path, Path]
) -> Iterator[LiveServer]:
    """A server with two workers over TLS, for the whole session."""
    with running(tmp_path_factory.mktemp("live-tls") / "data", tls=certificate) as server:
        yield from _watched(server)


@pytest.fixture(params=["http", "https"])
def any_server(request: pytest.FixtureRequest) -> LiveServer:
    """Each of the two servers in turn."""
    name = "live_server" if request.param == "http" else "live_tls_server"
    server: LiveServer = request.getfixturevalue(name)
    return server


def _watched(server: LiveServer) -> Iterator[LiveServer]:
    _log_marks[server] = 0
    yield server
    del _log_marks[server]


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A certificate for localhost, its key, and the authority that signed it, as PEM files."""
    folder = tmp_path_factory.mktemp("tls")
    authority_key, server_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = _sign("Lakeshare test authority", authority_key, "Lakeshare test authority", authority_key, ca=True)
    server = _sign("localhost", server_key, "Lakeshare test authority", authority_key, ca=False)
    paths = folder / "server.pem", folder / "server.key", folder / "authority.pem"
    paths[0].write_bytes(server.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        server_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    paths[2].write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    return paths


_SIGNS_CERTIFICATES = x509.KeyUsage(
    key_cert_sign=True, crl_sign=True, digital_signature=True, content_commitment=False, key_encipherment=False,
    data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
)  # fmt: skip


def _sign(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    ca: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if ca:
        builder = builder.add_extension(_SIGNS_CERTIFICATES, critical=True)  # Python 3.13 asks for it.
    else:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


@pytest.fixture(scope="session")
def bucket_names() -> Callable[[str], str]:
    """Make bucket names that no other test of this session has."""
    numbers = itertools.count(1)
    return lambda stem: f"{stem}-{os.getpid()}-{next(numbers)}"
