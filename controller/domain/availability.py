"""Whether objects of a kind can be read, as a type: an unknown object is never treated as a missing one.

Invariant: one vocabulary for everything that is watched: gateway kinds, workloads, autoscalers, revisions, ConfigMaps
and Secrets. A decision sees `Unavailable` with its reason where objects are not known, never an empty list.
"""

from typing import ClassVar

from controller.domain.decision import Value


class Synced(Value, frozen=True, tag=True):
    """All objects are known, and changes arrive."""


class Loading(Value, frozen=True, tag=True):
    """The objects are being listed for the first time; the answer comes without help."""

    message: str
    reason: ClassVar[str] = "Loading"


class Forbidden(Value, frozen=True, tag=True):
    """A right is missing, in the API server's words."""

    message: str
    reason: ClassVar[str] = "Forbidden"


class NotServed(Value, frozen=True, tag=True):
    """The cluster does not serve the kind in any version of its group: there are no objects of it."""

    message: str
    reason: ClassVar[str] = "KindNotServed"


class Failing(Value, frozen=True, tag=True):
    """The API server does not answer, or answers with an error."""

    message: str
    reason: ClassVar[str] = "Unreadable"


Unavailable = Loading | Forbidden | NotServed | Failing
Availability = Synced | Unavailable


def or_correct(message: str, why: Unavailable | None, correction: str) -> str:
    """The message about an object that cannot be read. A kind that is not served may be a mistake of the author, who is
    able to correct it at this moment; `correction` names the fields.
    """
    return f"{message}, or correct {correction}" if isinstance(why, NotServed) else message
