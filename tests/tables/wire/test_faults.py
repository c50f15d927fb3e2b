"""Every error of the catalog has a type and a status that clients know."""

import pytest

from lakeshare.errors import Kind, LakeshareError
from lakeshare.tables import errors
from lakeshare.tables.wire.faults import BY_KIND, FAULTS, encode_fault, fault_of

STATUSES = {400, 401, 403, 404, 405, 406, 409, 422, 429, 500, 503}
OURS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.TablesError)]


@pytest.mark.parametrize("error", [each for each in OURS if each is not errors.TablesError])
def test_each_error_has_its_line(error: type[LakeshareError]):
    """Each error that the catalog raises stands in the table."""
    assert error in FAULTS


def test_every_status_is_the_specifications():
    """Only statuses of the specification are answered, and 405 and 429, which HTTP has."""
    assert {fault.status for fault in (*FAULTS.values(), *BY_KIND.values())} <= STATUSES
    assert set(BY_KIND) == set(Kind)


def test_a_failure_of_ours_tells_nothing_of_its_inside():
    """An internal error is told without its message; an unknown commit with it."""

    class Inside(LakeshareError):
        kind = Kind.INTERNAL

    error = Inside("/var/lib/secret")
    assert b"secret" not in encode_fault(error, fault_of(error)).body
    unknown = errors.CommitStateUnknown()
    assert b"load the table" in encode_fault(unknown, fault_of(unknown)).body
