"""Whether objects of a kind can be read, as a type: what is not known is never taken for what does not exist.

Invariant: one vocabulary for everything that is watched: gateway kinds, workloads, autoscalers, revisions, ConfigMaps
and Secrets. A decision sees `Unavailable` with its reason where objects are not known, never an empty list.
"""

from typing import ClassVar

from controller.domain.decision import Value


class Synced(Value, frozen=True, tag=True):
    """All objects are known, and changes are heard of."""


class Loading(Value, frozen=True, tag=True):
    """They are being listed for the first time; the answer comes by itself."""

    message: str
    reason: ClassVar[str] = "Loading"


class Forbidden(Value, frozen=True, tag=True):
    """A right is missing: the API server's words."""

    message: str
    reason: ClassVar[str] = "Forbidden"


class NotServed(Value, frozen=True, tag=True):
    """The cluster has no such kind, in any version of its group: there are no objects of it."""

    message: str
    reason: ClassVar[str] = "KindNotServed"


class Failing(Value, frozen=True, tag=True):
    """The API server does not answer, or answers with a fault."""

    message: str
    reason: ClassVar[str] = "Unreadable"


Unavailable = Loading | Forbidden | NotServed | Failing
Availability = Synced | Unavailable
