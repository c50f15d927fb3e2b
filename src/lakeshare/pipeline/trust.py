"""Whom Java trusts: the authorities of a PEM file, or those of this machine, written as Java reads them.

The Java of the wheel knows the public authorities alone; one of an office's own is known to the machine, not to it.
"""

import ssl
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lakeshare.pipeline.errors import Misused

FILE = "trust.p12"
PASSWORD = "changeit"  # noqa: S105 - certificates are public; Java wants a word for the file nevertheless
VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT")
BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where systems keep their authorities."""


def machine_bundle(environ: Mapping[str, str]) -> Path | None:
    """Return the file of the authorities that this machine trusts, if it has one."""
    named = [environ[name] for name in VARIABLES if environ.get(name)]
    found = (Path(text) for text in [*named, ssl.get_default_verify_paths().cafile or "", *BUNDLES] if text)
    return next((path for path in found if path.is_file()), None)


def write_trust(bundle: Path, folder: Path) -> list[str]:
    """Write the authorities of a PEM file into a folder, and return the words that tell Java to trust them alone."""
    from cryptography import x509  # noqa: PLC0415 - loads slowly, and only TLS needs it
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12  # noqa: PLC0415

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=str(bundle))
    except OSError as reason:
        raise Misused(f"{bundle} holds no certificates: {reason}", "Give a PEM file: --ca-cert FILE") from None
    named = []
    with warnings.catch_warnings(action="ignore"):  # Some old authorities are written a little against the rules.
        for number, der in enumerate(context.get_ca_certs(binary_form=True)):
            with suppress(ValueError):  # One that cannot be read is one that is not trusted.
                found = x509.load_der_x509_certificate(der)
                named.append(pkcs12.PKCS12Certificate(found, f"authority-{number}".encode()))
    target = folder / FILE
    target.write_bytes(pkcs12.serialize_java_truststore(named, BestAvailableEncryption(PASSWORD.encode())))
    return [
        f"-Djavax.net.ssl.trustStore={target}",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        f"-Djavax.net.ssl.trustStorePassword={PASSWORD}",
    ]
