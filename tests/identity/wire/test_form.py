"""Forms of STS, their routes and their errors."""

import importlib
import inspect
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.errors import Kind, LakeshareError
from lakeshare.identity.caller import ANONYMOUS, Caller, CallerKind
from lakeshare.identity.directory_errors import DirectoryError
from lakeshare.identity.errors import IdentityError, RootCredentialsUnusable
from lakeshare.identity.policy.actions import KNOWN_ACTIONS
from lakeshare.identity.policy.errors import PolicyError
from lakeshare.identity.wire import sts, xml
from lakeshare.identity.wire.errors import BadParameter, FormError, NotAForm, UnknownAction, UnknownVersion
from lakeshare.identity.wire.faults import BY_KIND, FAULTS, encode_fault, fault_of
from lakeshare.identity.wire.form import PARAMETER_LIMIT, read_form

VERSION = {"Version": "2011-06-15"}
USER = Caller(CallerKind.USER, "annie", user="annie", holder="annie")
MODULES = ("lakeshare.identity.errors", "lakeshare.identity.policy.errors", "lakeshare.identity.wire.errors")
# Roots, which are never raised, and what stops a server before it can answer anything.
NOT_MET = {LakeshareError, IdentityError, DirectoryError, PolicyError, FormError, RootCredentialsUnusable}


def test_a_form_is_read_from_body_and_query():
    """Parameters come from both, percent-encoding and plus signs undone; those of a signature are left out."""
    form = read_form("Action=AssumeRole&X-Amz-Date=1", b"Version=2011-06-15&Policy=%7B%22a%22%3A+1%7D&Empty=")
    assert form == {"Action": "AssumeRole", "Version": "2011-06-15", "Policy": '{"a": 1}', "Empty": ""}


@pytest.mark.parametrize(
    ("query", "body", "error"),
    [
        ("Action=a", b"Action=b", BadParameter),
        ("", b"Action=a&Action=a", BadParameter),
        ("", "Action=é".encode(), NotAForm),
        ("", b"Action=%ff", NotAForm),
        ("", b"&".join([b"a=1"] * (PARAMETER_LIMIT + 1)), NotAForm),
    ],
)
def test_other_bodies_are_refused(query: str, body: bytes, error: type[LakeshareError]):
    """A parameter twice, bytes that are no text, and too many parameters are refused."""
    with pytest.raises(error):
        read_form(query, body)


@given(st.binary(max_size=200), st.text("abAction=&%+", max_size=50))
def test_no_body_breaks_it(body: bytes, query: str):
    """Any bytes are a form or are refused."""
    try:
        read_form(query, body)
    except FormError:
        return


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({}, UnknownVersion),
        ({"Action": "AssumeRole", "Version": "2010-05-08"}, UnknownVersion),
        (VERSION, UnknownAction),
        (VERSION | {"Action": "GetSessionToken"}, UnknownAction),
    ],
)
def test_what_is_not_served_is_refused_by_name(form: Mapping[str, str], error: type[LakeshareError]):
    """Another version and another action are refused."""
    with pytest.raises(error):
        sts.find(form)


@pytest.mark.parametrize("name", sorted(sts.ROUTES))
@pytest.mark.parametrize("caller", [USER, ANONYMOUS], ids=["user", "nobody"])
def test_every_action_asks_for_its_right(name: str, caller: Caller):
    """What a form decodes to requires the route's action on the caller itself."""
    route = sts.ROUTES[name]
    needs = route.decode(caller, VERSION | {"Action": name}).requires()
    assert (needs[0].action, needs[0].resource) == (route.action, f"arn:aws:iam:::user/{caller.user}")
    assert route.action in KNOWN_ACTIONS


@pytest.mark.parametrize("duration", ["", "-1", "1e3", "900.0", "٩٠٠", "9" * 7])
def test_a_duration_is_a_number(duration: str):
    """What is no number of seconds is refused."""
    with pytest.raises(BadParameter):
        sts.decode_assume_role(USER, {"DurationSeconds": duration})


@pytest.mark.parametrize("name", ["PolicyArns.member.1.arn", "Tags.member.1.Key", "SourceIdentity", "TokenCode"])
def test_what_would_narrow_a_session_is_never_skipped(name: str):
    """A parameter that is not served is refused rather than left out."""
    with pytest.raises(BadParameter):
        sts.decode_assume_role(USER, {name: "x"})


def errors() -> list[type[LakeshareError]]:
    members = [
        each for name in MODULES for _, each in inspect.getmembers(importlib.import_module(name), inspect.isclass)
    ]
    return [each for each in members if issubclass(each, LakeshareError) and each not in NOT_MET]


@pytest.mark.parametrize("error", errors(), ids=lambda error: error.__name__)
def test_every_error_has_its_words(error: type[LakeshareError]):
    """An error of identity has a code and a status in STS's dialect."""
    assert error in FAULTS


def test_every_kind_has_its_words():
    """An error that the table does not name is said by its kind, whichever that is."""
    assert set(BY_KIND) == set(Kind)


def test_errors_are_well_formed_whatever_they_say():
    """What XML cannot carry does not get into it."""
    error = BadParameter("<\x00\ud800&", "]]>")
    body = encode_fault(error, fault_of(error), "ID").body
    assert isinstance(body, bytes)
    assert b"&lt;" in body
    assert b"\x00" not in body


def test_times_are_written_as_sts_does():
    """A time is UTC, to the second."""
    assert xml.timestamp(0) == "1970-01-01T00:00:00Z"
