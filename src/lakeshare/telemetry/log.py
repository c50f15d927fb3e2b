"""Log lines on standard error: one logfmt line an event, `time level logger event key=value …`.

Rooms log through the standard library (`logging.getLogger("lakeshare.<room>")`), the event as the message and
its facts as `extra`; this file decides how they look. Secrets print as `***` whoever passes them, and so do facts
whose name says that they are one.
"""

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import IO

from lakeshare.settings import BadSetting, Secret, Settings

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
VALUE_LIMIT = 2048
"""Longest value in a line, in characters."""

HIDDEN = frozenset(
    {"authorization", "password", "secret", "secret_key", "security_token", "session_token", "signature", "token"}
)
"""Facts that are never printed, by name."""

_PLAIN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class LogfmtFormatter(logging.Formatter):
    """Formats a record as one line, and a traceback as one quoted value in it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        parts = [
            f"time={moment}",
            f"level={record.levelname.lower()}",
            f"logger={record.name}",
            f"event={_value(record.getMessage())}",
        ]
        parts += [f"{name}={_fact(name, value)}" for name, value in record.__dict__.items() if name not in _PLAIN]
        if record.exc_info and record.exc_info[0] is not None:
            parts.append(f"error={_value(record.exc_info[0].__name__ + ': ' + str(record.exc_info[1]))}")
            parts.append(f"traceback={_value(''.join(traceback.format_tb(record.exc_info[2])), limit=None)}")
        return " ".join(parts)


def configure(settings: Settings, stream: IO[str] | None = None) -> None:
    """Send the log to standard error, at the level of the settings."""
    level = LEVELS.get(settings.log_level.lower())
    if level is None:
        raise BadSetting("log_level", settings.log_level, "write debug, info, warning or error")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LogfmtFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("lakeshare").setLevel(level)
    logging.captureWarnings(capture=True)


def set_level(settings: Settings) -> None:
    """Print lines from another level on, that of the settings."""
    logging.getLogger("lakeshare").setLevel(LEVELS[settings.log_level.lower()])


def _fact(name: str, value: object) -> str:
    if isinstance(value, Secret) or name.lower() in HIDDEN:
        return "***"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return _value(str(value))


def _value(text: str, limit: int | None = VALUE_LIMIT) -> str:
    """Quote a value where a reader of the line could not tell its end, and never let it start a new line."""
    if limit is not None and len(text) > limit:
        text = text[:limit] + "…"
    if text and text.isprintable() and not any(mark in text for mark in ' "=\\'):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return '"' + "".join(each if each.isprintable() else f"\\x{ord(each):02x}" for each in escaped) + '"'
