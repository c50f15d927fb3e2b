"""Whom Java is told to trust."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import pkcs12

from lakeshare.pipeline.errors import Misused
from lakeshare.pipeline.trust import PASSWORD, machine_bundle, write_trust


def test_authorities_of_a_file_are_written_for_java(certificate: tuple[Path, Path, Path], tmp_path: Path):
    """Java is pointed at a file that holds the authority, and no key."""
    words = write_trust(certificate[2], tmp_path)
    assert words[0] == f"-Djavax.net.ssl.trustStore={tmp_path}/trust.p12"
    kept = pkcs12.load_pkcs12((tmp_path / "trust.p12").read_bytes(), PASSWORD.encode())
    assert kept.key is None
    assert [each.certificate.subject.rfc4514_string() for each in kept.additional_certs] == [
        "CN=Lakeshare test authority"
    ]


def test_a_file_without_certificates_is_told(tmp_path: Path):
    """What is no PEM file of certificates, or is not there, is refused by its name."""
    path = tmp_path / "nothing.pem"
    for _ in range(2):
        with pytest.raises(Misused, match=r"nothing\.pem holds no certificates"):
            write_trust(path, tmp_path)
        path.write_text("nothing")


def test_the_bundle_of_the_environment_comes_first(tmp_path: Path):
    """A bundle that a variable names is taken if it is there."""
    path = tmp_path / "office.pem"
    assert machine_bundle({"REQUESTS_CA_BUNDLE": str(path)}) != path
    path.touch()
    assert machine_bundle({"REQUESTS_CA_BUNDLE": str(path)}) == path
