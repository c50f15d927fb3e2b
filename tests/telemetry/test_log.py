"""Log lines: one an event, readable by machines, with no secret in them."""

import io
import logging
from collections.abc import Iterator

import pytest

from lakeshare.settings import BadSetting, Secret, Settings
from lakeshare.telemetry.log import VALUE_LIMIT, configure


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """Leave logging as it was."""
    root, ours = logging.getLogger(), logging.getLogger("lakeshare")
    before = [*root.handlers], root.level, ours.level
    yield
    root.handlers[:], root.level, ours.level = before
    logging.captureWarnings(capture=False)


@pytest.fixture
def lines() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def log(lines: io.StringIO) -> logging.Logger:
    configure(Settings(), lines)
    return logging.getLogger("lakeshare.test")


def test_an_event_is_one_line_of_facts(log: logging.Logger, lines: io.StringIO):
    """Time, level, logger and event come first, then the facts in their order."""
    log.info("bucket made", extra={"bucket": "b", "size_bytes": 5, "share": 0.5, "empty": "", "public": False})
    line = lines.getvalue()
    assert line.count("\n") == 1
    assert line.startswith("time=20")
    wanted = (
        'level=info logger=lakeshare.test event="bucket made" bucket=b size_bytes=5 share=0.5 empty="" public=false\n'
    )
    assert line.split(" ", 1)[1] == wanted


def test_secrets_are_never_printed(log: logging.Logger, lines: io.StringIO):
    """Neither a secret nor a fact with a secret's name shows its value."""
    log.error("key", extra={"key": Secret("hunter2"), "Authorization": "AWS4 hunter2", "signature": "hunter2"})
    log.error("also %s", Secret("hunter2"))
    assert "hunter2" not in lines.getvalue()
    assert lines.getvalue().count("***") == 4


@pytest.mark.parametrize(
    "value", ["a\nlevel=error event=forged", 'a" b="c', "a=b", "\x1b[31mred", "a\\", "a\r\nb", "\u2028"]
)
def test_no_value_can_forge_a_line_or_a_fact(value: str, log: logging.Logger, lines: io.StringIO):
    """What a client sends stays one quoted value."""
    log.info("seen", extra={"agent": value})
    line = lines.getvalue()
    assert line.endswith('"\n')
    assert line[:-1].isprintable()
    assert line.partition(" agent=")[2].startswith('"')


def test_long_values_are_cut(log: logging.Logger, lines: io.StringIO):
    """A value has a bound."""
    log.info("seen", extra={"agent": "x" * 100_000})
    assert len(lines.getvalue()) < VALUE_LIMIT + 200


def test_an_error_has_its_traceback_on_the_same_line(log: logging.Logger, lines: io.StringIO):
    """An exception is two facts, not twenty lines."""
    try:
        int("the reason")
    except ValueError:
        log.exception("failed", extra={"request_id": "ABC"})
    line = lines.getvalue()
    assert line.count("\n") == 1
    assert 'request_id=ABC error="ValueError: invalid literal' in line
    assert ' traceback="' in line
    assert "test_log.py" in line


def test_the_level_is_the_setting(lines: io.StringIO):
    """Events below the level are not printed."""
    configure(Settings(log_level="warning"), lines)
    logging.getLogger("lakeshare.x").info("no")
    logging.getLogger("lakeshare.x").warning("yes")
    assert "event=yes" in lines.getvalue()
    assert "event=no" not in lines.getvalue()


def test_foreign_libraries_are_heard_when_it_matters(lines: io.StringIO):
    """Other loggers print warnings and above."""
    configure(Settings(log_level="debug"), lines)
    logging.getLogger("foreign").info("chatter")
    logging.getLogger("foreign").warning("trouble")
    assert "chatter" not in lines.getvalue()
    assert "event=trouble" in lines.getvalue()


def test_an_unknown_level_is_an_error():
    """A typo in the level names the setting and what to write."""
    with pytest.raises(BadSetting, match="log_level cannot be 'loud': write debug, info, warning or error"):
        configure(Settings(log_level="loud"))
