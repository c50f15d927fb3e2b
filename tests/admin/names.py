"""Names to put into the paths of the admin API's routes."""

KNOWN = {
    "user": "annie",
    "group": "team",
    "policy": "reader",
    "access_key": "LSAKEXAMPLE",
    "setting": "region",
    "share": "sales",
    "schema": "HR",
    "recipient": "acme",
    "source": "elsewhere",
}
"""What somebody can make under a name of their choice."""

NAMES = KNOWN | {
    "token": "238fe2ac-2ed6-4c2d-b7f3-6119049d08ba",
    "activation": "00000000-2ed6-4c2d-b7f3-6119049d08ba",
}
"""Those, and ids that no server has given."""
