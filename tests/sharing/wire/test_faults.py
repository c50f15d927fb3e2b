"""Every error that a recipient can meet has its words."""

import inspect

import orjson
import pytest

from lakeshare.admin.wire.faults import FAULTS as ADMIN_FAULTS
from lakeshare.errors import Kind, LakeshareError
from lakeshare.http import json as http_json
from lakeshare.http import paths as http_paths
from lakeshare.sharing import errors
from lakeshare.sharing.wire.faults import BY_KIND, FAULTS, encode_fault, encode_oauth_fault, fault_of

# What only an operator meets is said by the admin API; BadGrant has OAuth's own words.
OPERATORS = {
    errors.BadName,
    errors.BadPlace,
    errors.BadSpec,
    errors.BadSpan,
    errors.BadEndpoint,
    errors.BadWindow,
    errors.TooMany,
    errors.ShareMissing,
    errors.SchemaMissing,
    errors.TableMissing,
    errors.RecipientMissing,
    errors.CredentialMissing,
    errors.SourceMissing,
    errors.NameTaken,
    errors.SourceInUse,
    errors.NotImplicit,
    errors.NoTableThere,
    errors.TableUnreadable,
    errors.BadGrant,
}


def met() -> list[type[LakeshareError]]:
    found = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.SharingError)]
    return sorted(set(found) - OPERATORS - {errors.SharingError}, key=lambda each: each.__name__)


@pytest.mark.parametrize("error", met(), ids=lambda error: error.__name__)
def test_every_error_has_its_words(error: type[LakeshareError]):
    """An error that a recipient can meet has a code and a status of its own in the table."""
    assert error in FAULTS


@pytest.mark.parametrize("error", sorted(OPERATORS - {errors.BadGrant}, key=lambda each: each.__name__))
def test_what_an_operator_meets_is_said_by_the_admin_api(error: type[LakeshareError]):
    """An error that only an operator can meet has its code in the table of the admin API."""
    assert error in ADMIN_FAULTS


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_has_its_words(kind: Kind):
    """An error that the table does not name is said by its kind."""
    assert kind in BY_KIND


def test_an_error_is_json():
    """An error has the two fields that the protocol names."""
    error = errors.NoSuchResource("a", "b", "c")
    response = encode_fault(error, fault_of(error))
    assert response.status == 404
    assert orjson.loads(response.body) == {"errorCode": "RESOURCE_DOES_NOT_EXIST", "message": error.message}


def test_a_refused_token_is_challenged_and_a_throttled_one_told_to_wait():
    """401 says how to come, 429 when to come again."""
    refused = encode_fault(errors.Unrecognised(), fault_of(errors.Unrecognised()))
    assert refused.status == 401
    assert dict(refused.headers)["www-authenticate"].startswith("Bearer")
    limited = errors.RateLimited(100, 3, shared=False)
    answer = encode_fault(limited, fault_of(limited))
    assert (answer.status, dict(answer.headers)["retry-after"]) == (429, "3")


def test_a_failure_of_ours_says_nothing_of_its_inside():
    """What went wrong inside is not told to a recipient."""

    class Broken(LakeshareError):
        pass

    error = Broken("secret detail")
    assert b"secret" not in encode_fault(error, fault_of(error)).body
    assert b"secret" not in encode_oauth_fault(error, fault_of(error)).body


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.BadGrant("invalid_scope", "no"), 400, "invalid_scope"),
        (errors.ClientRefused(), 401, "invalid_client"),
        (errors.RecipientSuspended(), 401, "invalid_client"),
        (http_paths.NoSuchMethod("GET", ("POST",)), 405, "invalid_request"),
        (http_json.BadJson("x"), 400, "invalid_request"),
    ],
)
def test_the_token_endpoint_speaks_oauth(error: LakeshareError, status: int, code: str):
    """Errors of the token endpoint are those of RFC 6749."""
    answer = encode_oauth_fault(error, fault_of(error))
    assert (answer.status, orjson.loads(answer.body)["error"]) == (status, code)
