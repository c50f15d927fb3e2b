"""Every error that the admin API can meet has its words."""

import importlib
import inspect

import orjson
import pytest

from lakeshare.admin.errors import AdminError, BadField
from lakeshare.admin.wire.faults import BY_KIND, FAULTS, encode_fault, fault_of
from lakeshare.errors import Kind, LakeshareError
from lakeshare.http.paths import NoSuchMethod
from lakeshare.identity.directory_errors import DirectoryError
from lakeshare.identity.errors import IdentityError, RootCredentialsUnusable
from lakeshare.identity.policy.errors import PolicyError
from lakeshare.identity.vault import VaultUnusable
from lakeshare.identity.wire.errors import FormError
from lakeshare.state.errors import StateError

MODULES = (
    "lakeshare.admin.errors",
    "lakeshare.http.json",
    "lakeshare.http.paths",
    "lakeshare.http.request",
    "lakeshare.identity.directory_errors",
    "lakeshare.identity.errors",
    "lakeshare.identity.policy.errors",
    "lakeshare.identity.vault",
    "lakeshare.settings",
    "lakeshare.state.errors",
)
# Roots, which are never raised, and what stops a server before it can answer anything.
NOT_MET = {
    LakeshareError,
    AdminError,
    IdentityError,
    DirectoryError,
    PolicyError,
    FormError,
    StateError,
    RootCredentialsUnusable,
    VaultUnusable,
}


def errors() -> list[type[LakeshareError]]:
    members = [
        each for name in MODULES for _, each in inspect.getmembers(importlib.import_module(name), inspect.isclass)
    ]
    return sorted(
        {each for each in members if issubclass(each, LakeshareError)} - NOT_MET, key=lambda each: each.__name__
    )


@pytest.mark.parametrize("error", errors(), ids=lambda error: error.__name__)
def test_every_error_has_its_words(error: type[LakeshareError]):
    """An error of the rooms below has a code and a status of its own in the table."""
    assert error in FAULTS


def test_every_kind_has_its_words():
    """An error that the table does not name is said by its kind, whichever that is."""
    assert set(BY_KIND) == set(Kind)

    class Unheard(LakeshareError):
        kind = Kind.FULL

    assert fault_of(Unheard()).status == 507


def test_an_error_is_json_with_its_facts():
    """Code, message and request id are there, and the field where one is at fault; odd texts do not break it."""
    error = BadField("na\udc80me", "it is \ud800 odd")
    answer = encode_fault(error, fault_of(error), "ABC")
    assert answer.status == 400
    assert isinstance(answer.body, bytes)
    told = orjson.loads(answer.body)["error"]
    assert (told["code"], told["request_id"], told["field"]) == ("BadField", "ABC", "na?me")


def test_methods_that_are_possible_are_named():
    """A method that a path does not have is answered with those that it has."""
    error = NoSuchMethod("BREW", ("GET", "PUT"))
    answer = encode_fault(error, fault_of(error), "ABC")
    assert (answer.status, dict(answer.headers)["allow"]) == (405, "GET, PUT")
