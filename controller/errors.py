"""The one tree of exceptions.

Invariant: an exception means that the *world* failed (network, API server, worker, flags); a user's mistake is
never raised, it is returned as a condition. Foreign exceptions are mapped onto this tree at the edge that meets them.

    MoonshiftError
    ├── ApiError                 the API server answered with a failure
    │   ├── Unauthorized         401
    │   ├── Forbidden            403: a right is missing, or an admission plugin said no
    │   ├── NotFound             404: the object, or the whole kind
    │   ├── AlreadyExists        409 on create
    │   ├── Conflict             409: somebody wrote in between, or a precondition did not hold
    │   ├── Gone                 410: the resource version is too old to watch or list from
    │   ├── Invalid              400 or 422: the request itself is wrong
    │   ├── Throttled            429, with the wait the server asked for
    │   └── ServerFault          5xx
    │       ├── WebhookFailed    500: an admission webhook gave no answer, and nothing was written
    │       └── UnreadableAnswer the answer to a read cannot be decoded
    ├── Unreachable              no answer: refused, reset, timed out
    ├── Postponed                not yet; come back after a delay, for this reason
    ├── WorkerUnavailable        the script worker gave no answer about a script
    ├── LostLease                this process is no longer the leader and must stop writing
    └── BadConfiguration         flags or files the process was started with
"""

from typing import NamedTuple


class MoonshiftError(Exception):
    """Root of the tree; never raised itself."""


class ApiError(MoonshiftError):
    """The API server answered a request with a failure; `status` is the HTTP code."""

    def __init__(self, message: str, *, status: int, reason: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason


class Unauthorized(ApiError):
    """401: the credential was not accepted, even after it was read again."""


class Right(NamedTuple):
    """A right, in the words of the API server's authorizer; `account` is its subject, the controller's own account if
    empty.
    """

    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    account: str = ""
    """A ServiceAccount, `namespace/name`."""


class Forbidden(ApiError):
    """403: the message of the API server names verb, resource, namespace and user; `right` is the missing right."""

    right: Right | None = None


class NotFound(ApiError):
    """404: the object does not exist, or its kind is not served."""


class AlreadyExists(ApiError):
    """409 on create."""


class Conflict(ApiError):
    """409: the object changed since it was read, or a `test` or precondition failed."""


class Gone(ApiError):
    """410: the resource version is no longer in the server's history; list again."""


class Invalid(ApiError):
    """400 or 422: repeating the same request cannot help."""


class Throttled(ApiError):
    """429: `retry_after` seconds were asked for (0 when the server named none)."""

    def __init__(
        self, message: str, *, status: int = 429, reason: str = "", retry_after: float = 0.0
    ) -> None:
        super().__init__(message, status=status, reason=reason)
        self.retry_after = retry_after


class ServerFault(ApiError):
    """5xx: whether the request took effect is unknown."""


class WebhookFailed(ServerFault):
    """500: an admission webhook with failure policy Fail gave no answer; the write was certainly not made.

    The API server's message names only the webhook, so `request` has the verb and the object.
    """

    request: str = ""


class UnreadableAnswer(ServerFault):
    """The answer to a read cannot be decoded: it is damaged, or an object in it is nested too deeply."""

    def __init__(self, message: str) -> None:
        super().__init__(message, status=500)


RefusedWrite = Forbidden | Invalid | WebhookFailed
WRITE_REFUSED = (Forbidden, Invalid, WebhookFailed)
"""The API server refused a write and says why: the reason goes into a status, for a person to act on."""


class Unreachable(MoonshiftError):
    """No answer from a peer; whether the request took effect is unknown."""


class Postponed(MoonshiftError):
    """Work that cannot continue before `delay` seconds have passed."""

    def __init__(self, delay: float, reason: str) -> None:
        super().__init__(reason)
        self.delay = delay
        self.reason = reason


class WorkerUnavailable(MoonshiftError):
    """The script worker could not be reached, or is overloaded; nothing is known about the script."""


class LostLease(MoonshiftError):
    """The Lease could not be renewed in time: stop writing at once."""


class BadConfiguration(MoonshiftError):
    """A flag or a file given at start is unusable; the text says which, why and what to do."""
