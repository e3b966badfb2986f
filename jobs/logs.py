"""Log lines of services and workers: one line each, as text or as JSON.

A line is bounded and holds no line break, whatever it quotes. Tracebacks follow a line of
text, and are a member of one in JSON.
"""

import json
import logging
from datetime import UTC, datetime
from typing import Final, Literal

from jobs.work_context import CALLER_ID, KEY, REQUEST_ID, WORK, WORKER
from store.byte_limits import MAX_LOG_LINE_BYTES

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
MAX_CHARS: Final = 4_000
MAX_TRACEBACK_CHARS: Final = 16_000
MAX_ESCAPED_CHARS: Final = 1_000
"""Of a traceback whose escapes in JSON would exceed the limit of a line."""
_CONTEXT: Final = (REQUEST_ID, KEY, CALLER_ID, WORKER)
_ESCAPES: Final = {code: f"\\x{code:02x}" for code in (*range(32), 127, *range(128, 160))} | {
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}


def log_as(form: LogFormat, least: LogLevel) -> None:
    """Have all loggers of this process write to stderr in this format, from this level on."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLine() if form == "json" else TextLine())
    logging.basicConfig(level=least.upper(), handlers=[handler])


class TextLine(logging.Formatter):
    """`LEVEL logger: message`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and the traceback behind it if there is one."""
        line = f"{record.levelname} {record.name}: {_message(record)}"
        traceback = _traceback(self, record)
        return _bounded(line if traceback is None else f"{line}\n{traceback}")


class JsonLine(logging.Formatter):
    """An object with the same members in every line; null where something is not known."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object."""
        work = WORK.get()
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **{name: work.get(name) or None for name in _CONTEXT},
            "traceback": _traceback(self, record),
        }
        written = json.dumps(line)
        if len(written) > MAX_LOG_LINE_BYTES:  # of escapes, each six bytes or twelve
            end = (line["traceback"] or "")[-MAX_ESCAPED_CHARS:]
            written = json.dumps(line | {"traceback": end or None})
        return written


def _message(record: logging.LogRecord) -> str:
    message = record.getMessage()
    if len(message) > MAX_CHARS:  # the cause is at the end where it is a traceback, as of uvicorn
        half = MAX_CHARS // 2
        message = f"{message[: half - 3]}...{message[-half:]}"
    return message.translate(_ESCAPES)


def _bounded(text: str) -> str:
    """Return the beginning of a text that is within `MAX_LOG_LINE_BYTES`."""
    data = text.encode(errors="backslashreplace")
    return data[:MAX_LOG_LINE_BYTES].decode(errors="ignore")


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str | None:
    if not record.exc_info:
        return None
    return formatter.formatException(record.exc_info)[-MAX_TRACEBACK_CHARS:]
