"""The admin API does what its OpenAPI document says: schemathesis asks, with data that fits and data that does not."""

import hashlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from requests.auth import AuthBase
from schemathesis.specs.openapi.checks import positive_data_acceptance

from lakeshare.admin.wire import openapi
from lakeshare.identity.sigv4.keys import Credentials
from lakeshare.identity.sigv4.sign import Signer
from lakeshare.settings import Secret
from tests.admin.client import Client
from tests.admin.names import KNOWN
from tests.live import LiveServer, running

READER = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}}


@schemathesis.serializer("application/x-ndjson")
def lines(_ctx: Any, value: Any) -> bytes:
    """Send lines as they are."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


class Signed(AuthBase):
    """Signs what schemathesis sends, as it is sent."""

    def __init__(self, server: LiveServer) -> None:
        self._signer = Signer(Credentials(server.access_key, Secret(server.secret_key)))

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        digest = hashlib.sha256(body.encode() if isinstance(body, str) else body).hexdigest()
        signed = self._signer.headers(str(request.method), str(request.url), time.time(), {}, digest)
        request.headers.update({name: value for name, value in signed.items() if name != "host"})
        return request


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """A server of its own, since anything may be asked of it; identities that paths can name are there."""
    with running(tmp_path_factory.mktemp("schemathesis") / "data") as live:
        root = Client.root(live)
        root.ok("POST", "/users", {"name": KNOWN["user"]})
        root.ok("PUT", f"/groups/{KNOWN['group']}")
        root.ok("PUT", f"/policies/{KNOWN['policy']}", READER)
        root.ok("POST", "/access-keys", {"access_key": KNOWN["access_key"]})
        root.ok("POST", "/shares", {"name": KNOWN["share"], "schemas": [{"name": KNOWN["schema"]}]})
        root.ok("POST", "/recipients", {"name": KNOWN["recipient"], "shares": [KNOWN["share"]]})
        yield live


# What is signed and what is not is for other tests: here, everything is.
schema = schemathesis.openapi.from_dict({name: part for name, part in openapi.document().items() if name != "security"})
# These have rules that JSON Schema has no words for: policies, values of settings, an export, one of two parameters,
# specifications of tables, URLs, lists of addresses.
OWN_GRAMMAR = {
    "PutPolicy",
    "CreateAccessKey",
    "UpdateAccessKey",
    "PutSetting",
    "ImportState",
    "ListAccessKeys",
    "CreateShare",
    "ChangeTables",
    "CreateShareToken",
    "RotateToken",
    "CreateRecipient",
    "UpdateRecipient",
    "CreateRecipientToken",
    "CreateActivation",
    "CreateSource",
    "PutSource",
}


@schema.parametrize()
@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_every_operation_does_what_the_document_says(case: Any, server: LiveServer):
    """Whatever is sent, the answer has a status, a type and a shape that the document names, and no failure of ours."""
    if case.path_parameters and case.meta is not None and case.meta.generation.mode.is_positive:
        case.path_parameters = {name: KNOWN.get(name, value) for name, value in case.path_parameters.items()}
    freed = [positive_data_acceptance] if case.operation.definition.raw["operationId"] in OWN_GRAMMAR else []
    case.call_and_validate(base_url=server.endpoint, auth=Signed(server), excluded_checks=freed)
