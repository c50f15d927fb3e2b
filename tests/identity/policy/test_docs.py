"""What operators are told: every action, operator, built-in policy and bound stands in `docs/identity.md`."""

import re
from pathlib import Path

from lakeshare.identity.policy import document, parse
from lakeshare.identity.policy.actions import SERVICES
from lakeshare.identity.policy.builtin import BUILT_IN
from lakeshare.identity.policy.keys import SERVER_KEYS, condition_key, is_known
from lakeshare.identity.policy.operators import OPERATORS
from lakeshare.identity.session_tokens import DEFAULT_SESSION_SECONDS, MAX_SESSION_SECONDS, MIN_SESSION_SECONDS

TEXT = (Path(__file__).parents[3] / "docs" / "identity.md").read_text()
QUOTED = set(re.findall(r"`([^`\n]+)`", TEXT))


def test_every_action_is_documented():
    """The lists of actions are those that policies know, and no others."""
    section = TEXT.partition("## Actions")[2]
    for service, names in SERVICES.items():
        block = section.partition(f"**`{service}`**:")[2].partition("**")[0]
        assert re.findall(r"`([^`]+)`", block) == names.split()


def test_every_operator_policy_and_key_is_documented():
    """Operators, built-in policies and the server's condition keys all stand there, and what stands there exists."""
    assert QUOTED >= OPERATORS
    assert BUILT_IN.keys() <= QUOTED
    keys = {condition_key(name) for name in QUOTED if re.fullmatch(r"(aws|s3|s3tables|sts):[\w/-]+", name)}
    keys -= {f"{service}:{name}".lower() for service, names in SERVICES.items() for name in names.split()}
    assert keys >= SERVER_KEYS
    assert [key for key in keys if not is_known(key)] == []


def test_the_bounds_are_documented():
    """The bounds that the page names are the bounds that hold."""
    size = document.MAX_POLICY_BYTES // 1024
    assert f"at most {size} KiB, {parse.MAX_STATEMENTS} statements, {parse.MAX_VALUES} values" in TEXT
    assert f"{parse.MAX_CONDITIONS} condition keys" in TEXT
    assert f"{MIN_SESSION_SECONDS} to {MAX_SESSION_SECONDS} seconds, {DEFAULT_SESSION_SECONDS} if" in TEXT
    assert f"at most {document.MAX_SESSION_POLICY_BYTES} bytes" in TEXT
