"""Notifications: which events of which Rollouts are sent to which target, and the record of the sent ones.

Invariant: decoding accepts everything that the CRDs accept. A Notification and a ClusterNotification have the same
content; the second is about Rollouts of all namespaces, and its Secrets are in the controller's namespace. Nothing here
says when something is sent: `controller.domain.notifications` does.
"""

from datetime import datetime
from enum import StrEnum

import msgspec

from controller.api.analysis import ScriptRef, SecretKey
from controller.api.meta import Condition, ObjectMeta

DEFAULT_PER_MINUTE = 30
TOLD_KEPT = 500
"""Entries that a status keeps of what was sent; the oldest go first."""
WAITING_KEPT = 20
"""Events that a status keeps until their target takes them."""


class Topic(StrEnum):
    """The subjects of events; `spec.events` chooses among them."""

    STARTED = "Started"
    WAITS_FOR_APPROVAL = "WaitsForApproval"
    STALLED = "Stalled"
    GATE_FAILED = "GateFailed"
    ROLLED_BACK = "RolledBack"
    FINISHED = "Finished"
    DRIFT_HELD = "DriftHeld"


class LabelSelector(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Objects that have all of these labels."""

    match_labels: dict[str, str] = {}


class NotificationSpec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The target, and the events that it gets."""

    script: str = ""
    params: dict[str, msgspec.Raw] = {}
    secrets: dict[str, SecretKey] = {}
    script_ref: ScriptRef | None = None
    events: tuple[Topic, ...] = tuple(topic for topic in Topic if topic is not Topic.STARTED)
    selector: LabelSelector = LabelSelector()
    """Labels of Rollouts."""
    namespaces: tuple[str, ...] = ()
    """Of a ClusterNotification: the namespaces of Rollouts; empty means all."""
    link: str = ""
    """An address for people; `{{ namespace }}` and `{{ rollout }}` are filled in."""
    per_minute: int = DEFAULT_PER_MINUTE


class Told(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An event that was sent, or given up."""

    id: str = ""
    at: datetime | None = None
    given_up: bool = False


class Occasion(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An event of one Rollout: a fact that its status holds or held."""

    id: str
    """The same in every look, process and repetition."""
    topic: Topic
    reason: str
    """The reason of the condition or Event that says the same."""
    message: str
    at: datetime
    namespace: str
    rollout: str
    uid: str
    release: str
    """The same in all events of one release."""
    revision: str = ""
    step: int = 0
    steps: int = 0
    who: str = ""
    next: str = ""


class Waiting(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """An event that its target has not taken yet."""

    occasion: Occasion
    tries: int = 0
    due: datetime | None = None
    """When it is sent again."""


class NotificationStatus(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The events that were sent and that wait, and the reason."""

    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    last_told: datetime | None = None
    told: tuple[Told, ...] = ()
    waiting: tuple[Waiting, ...] = ()


class Notification(msgspec.Struct, frozen=True, rename="camel"):
    """A Notification, or a ClusterNotification, which has no namespace."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NotificationSpec = NotificationSpec()
    status: NotificationStatus = NotificationStatus()
