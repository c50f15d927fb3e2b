"""What a shell offers after a tab."""

import subprocess

import pytest

from tests.cli.conftest import Cli
from tests.live import lakeshare

TRY = r"""
PATH="$1:$PATH"; shift
eval "$(lakeshare completion bash)"
complete -p lakeshare
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
compopt() { :; }
_lakeshare_completion lakeshare
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def tab(lake: Cli):
    """Press tab after some words in bash, and return what is offered."""

    def press(*words: str) -> list[str]:
        folder = str(lakeshare()).rpartition("/")[0]
        done = subprocess.run(
            ["bash", "-c", TRY, "bash", folder, "lakeshare", *words],
            env=lake.env,
            cwd=lake.home,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stderr == ""
        registered, *offered = done.stdout.splitlines()
        assert "_lakeshare_completion" in registered
        return [word for word in offered if word]

    return press


def test_commands_flags_and_places_are_offered(lake: Cli, bucket: str, tab):
    """Commands, flags, aliases, buckets and prefixes are each completed from their beginnings."""
    lake("pipe", f"{bucket}/folder/object", stdin="x")
    (lake.home / "later.txt").touch()
    assert tab("tre") == ["tree"]
    assert tab("admin", "pol") == ["policy"]
    assert tab("ls", "--rec") == ["--recursive"]
    assert tab("ls", "la") == ["lake/"]
    assert sorted(tab("cp", "la")) == ["lake/", "later.txt"]
    assert tab("admin", "info", "la") == ["lake"]
    assert bucket in tab("rb", bucket[:-1])
    assert tab("ls", f"{bucket}/f") == [f"{bucket}/folder/"]
    assert tab("cat", f"{bucket}/folder/") == [f"{bucket}/folder/object"]
    assert tab("ls", "none/") == []


def test_a_server_that_is_away_offers_nothing(lake: Cli, tab):
    """A server that cannot be asked costs no error at the prompt."""
    lake("alias", "set", "away", "http://127.0.0.1:9", "k", "s", "--no-check")
    assert tab("ls", "away/") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(cli: Cli, shell: str):
    """A script names the program and the variable by which it is asked."""
    said = cli("completion", shell).out
    assert "_LAKESHARE_COMPLETE" in said
    assert f"{shell}_complete" in said
