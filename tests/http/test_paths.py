"""Paths with names in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeshare.http.paths import SEGMENT_LIMIT, BadPath, NoSuchMethod, NoSuchPath, Paths

PATHS = Paths(
    "/api",
    [
        ("GET", "/users", "list"),
        ("GET", "/users/{user}", "get"),
        ("PUT", "/users/{user}", "put"),
        ("GET", "/users/me", "me"),
        ("GET", "/users/{user}/keys/{key}", "key"),
    ],
)


@pytest.mark.parametrize(
    ("path", "target", "names"),
    [
        ("/api/users", "list", {}),
        ("/api/users/ann", "get", {"user": "ann"}),
        ("/api/users/me", "me", {}),
        ("/api/users/a%2Fb/keys/%C3%A9", "key", {"user": "a/b", "key": "é"}),
    ],
)
def test_a_path_leads_to_its_target(path: str, target: str, names: dict[str, str]):
    """Names are taken from the path with their percent-encoding undone; a literal part wins over a name."""
    found = PATHS.find("GET", path)
    assert (found.target, found.names) == (target, names)


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/", "/api/users/", "/api/users//keys/k", "/api/users/a/keys", "/other/users", "/apiusers", "/api/x"],
)
def test_other_paths_lead_nowhere(path: str):
    """A path that no route has, an empty name, and another prefix are missing."""
    with pytest.raises(NoSuchPath):
        PATHS.find("GET", path)


def test_other_methods_are_told_which_there_are():
    """A path that exists for other methods names them."""
    with pytest.raises(NoSuchMethod) as refused:
        PATHS.find("DELETE", "/api/users/ann")
    assert refused.value.allowed == ("GET", "PUT")


def test_a_name_is_utf_8():
    """A name whose bytes are no text is refused."""
    with pytest.raises(BadPath):
        PATHS.find("GET", "/api/users/%ff")


def test_a_route_stands_once():
    """Two routes with the same method and path are a mistake that is found at once."""
    with pytest.raises(ValueError, match="twice"):
        Paths("", [("GET", "/{a}", 1), ("GET", "/{b}", 2)])


@given(st.text("/ab%20é", max_size=60))
def test_no_path_breaks_it(path: str):
    """Any path is found or refused, however many parts it has."""
    for long in (path, path + "/a" * SEGMENT_LIMIT * 2):
        try:
            PATHS.find("GET", "/api" + long)
        except (NoSuchPath, BadPath, NoSuchMethod):
            continue
