"""Maps failures of the API server to our own exceptions.

Invariant: the server's message and reason reach the reader unchanged, whatever the code; an answer that is not
a `Status` (a proxy's page, an empty body) still becomes a useful error. Nothing here decides what to do about
it.
"""

import msgspec

from controller.api.decoding import decoded
from controller.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    ServerFault,
    Throttled,
    Unauthorized,
    WebhookFailed,
)

_NO_ANSWER = "failed calling webhook"
"""Words of the API server if a webhook that it must ask before a write gave no answer."""
_LONGEST_BODY = 1024
LONGEST_WAIT = 60.0
"""Seconds for which a server is left alone at its wish; a proxy that asks for a day must not stop all writes of a day.
"""

_BY_CODE: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
}


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    retry_after_seconds: float = 0.0


class Status(msgspec.Struct, frozen=True):
    """The `Status` object that accompanies a failure."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


def error_from_response(code: int, body: bytes, retry_after: str = "") -> ApiError:
    """The exception for an HTTP answer of 300 or more; `retry_after` is that header's value."""
    try:
        status = decoded(body, Status)
    except msgspec.DecodeError:
        text = body[:_LONGEST_BODY].decode("utf-8", "replace").strip()
        status = Status(message=text)
    return error_from_status(status, code, retry_after)


def error_from_status(status: Status, code: int = 0, retry_after: str = "") -> ApiError:
    """The exception for a `Status`, also if it comes as an event of a watch."""
    code = code or status.code or 500
    message = status.message or status.reason or f"HTTP {code} without a message"
    if code == 429:
        return Throttled(
            message,
            status=code,
            reason=status.reason,
            retry_after=seconds_asked_for(status, retry_after),
        )
    if code == 409 and status.reason == "AlreadyExists":
        return AlreadyExists(message, status=code, reason=status.reason)
    if (kind := _BY_CODE.get(code)) is not None:
        return kind(message, status=code, reason=status.reason)
    if code == 500 and _NO_ANSWER in message:
        return WebhookFailed(message, status=code, reason=status.reason)
    # a redirect is never followed: an API server sends none
    kind = Invalid if 400 <= code < 500 else ServerFault
    return kind(message, status=code, reason=status.reason)


def seconds_asked_for(status: Status, retry_after: str) -> float:
    """The wait the server asked for, `LONGEST_WAIT` at most; 0 if none, or in a form we do not read (a date)."""
    asked = status.details.retry_after_seconds if status.details else 0.0
    if retry_after.strip().isdecimal():
        asked = float(retry_after)
    return min(asked, LONGEST_WAIT)
