"""Logs: one JSON object per line on stderr, readable text on a terminal.

Invariants: each name in `extra` becomes a key of its own; a credential is never logged, by its key
or by its shape; a value that cannot be encoded is shown by its repr rather than losing the line. Called once,
at the start of the process.
"""

import logging
import re
import sys
from datetime import UTC, datetime
from typing import TextIO

import msgspec

HIDDEN = "(hidden)"

# the attributes of every LogRecord; all others came through `extra`
_BUILT_IN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}
_SECRET_KEY = re.compile(r"authorization|token|password|secret|bearer|credential|private_key", re.I)
_SECRET_TEXT = re.compile(
    r"(?P<keep>(?:authorization|token|password)[\"']?\s*[:=]\s*[\"']?(?:bearer\s+)?|bearer\s+)"
    r"[^\s\"',;}]{6,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*",
    re.I,
)
_NO_HTTP = "aiohttp.http_exceptions"
# libraries that say every request at INFO
_TALKATIVE = ("httpx", "httpcore", "kr8s", "aiohttp.access", "asyncio")


def redacted(text: str) -> str:
    """`text` without bearer tokens, token assignments and JWTs."""
    return _SECRET_TEXT.sub(lambda found: (found["keep"] or "") + HIDDEN, text)


class JsonLines(logging.Formatter):
    """ts, level, logger, msg, then the record's own keys."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        line: dict[str, object] = {
            "ts": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": redacted(record.getMessage()),
        }
        line |= _fields(record)
        if record.exc_info:
            line["stack"] = redacted(self.formatException(record.exc_info))
        return msgspec.json.encode(line, enc_hook=repr).decode()


class PlainLines(logging.Formatter):
    """One readable line for each record, for people."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as time, level, message and key=value pairs."""
        pairs = "".join(f" {key}={value}" for key, value in _fields(record).items())
        text = f"{_timestamp(record)} {record.levelname:<7} {redacted(record.getMessage())}{pairs}"
        if record.exc_info:
            text += "\n" + redacted(self.formatException(record.exc_info))
        return text


class NoHttp(logging.Filter):
    """Everybody who reaches a port can send bytes that are not HTTP: log a line, not an error with a stack."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through; change the level of such a record to information."""
        kind = record.exc_info[0] if record.exc_info else None
        if kind is not None and kind.__module__ == _NO_HTTP:
            record.levelno, record.levelname = logging.INFO, "INFO"
            record.msg, record.args = "a client sent bytes that are no HTTP request", ()
            record.exc_info = record.exc_text = None
        return True


def configure_logging(
    level: str = "info", *, stream: TextIO | None = None, json_lines: bool | None = None
) -> None:
    """Write every record from `level` up to `stream`, as JSON unless `stream` is a terminal or another format is
    asked for."""
    stream = stream or sys.stderr
    if json_lines is None:
        json_lines = not stream.isatty()
    handler = logging.StreamHandler(stream)
    handler.addFilter(NoHttp())
    handler.setFormatter(JsonLines() if json_lines else PlainLines())
    root = logging.getLogger()
    for old in tuple(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


def _timestamp(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _fields(record: logging.LogRecord) -> dict[str, object]:
    fields: dict[str, object] = {}
    for key, value in vars(record).items():
        if key in _BUILT_IN or key.startswith("_"):
            continue
        if _SECRET_KEY.search(key):
            value = HIDDEN
        elif isinstance(value, str):
            value = redacted(value)
        elif not isinstance(value, int | float | bool | None):
            value = redacted(str(value))
        fields[key] = value
    return fields
