"""The RolloutHistory: a record of one release, as clients of the original read it.

Beyond the original's fields it has the outcome of the release, the duration of each step and the approvers. Invariant:
written once, when a release is over; never read back for a decision.
"""

from datetime import datetime

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.names import GROUP
from controller.api.quantity import IntOrPercent
from controller.api.rollout import Approval, HttpRouteMatch, StepVisit

HISTORY_ROLLOUT_NAME = f"{GROUP}/rollout-name"
"""Label on a RolloutHistory: name of its Rollout."""

_Data = msgspec.Raw | msgspec.UnsetType
"""Raw or absent; `Raw | None` would decode nothing but null."""


class RolloutRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The Rollout as it was; `data` is its raw spec."""

    rollout_id: str = msgspec.field(default="", name="rolloutID")
    name: str = ""
    data: _Data = msgspec.UNSET


class WorkloadRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The workload as it was."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    data: _Data = msgspec.UNSET


class ObjectRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Any other object as it was."""

    name: str = ""
    kind: str = ""
    data: _Data = msgspec.UNSET


class TrafficRecord(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The gateway objects of the release."""

    ingress: ObjectRecord | None = None
    http_route: ObjectRecord | None = None
    objects: tuple[ObjectRecord, ...] = ()
    """All gateway objects, of every kind."""


class HistorySpec(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The objects of the release."""

    rollout: RolloutRecord | None = None
    workload: WorkloadRecord | None = None
    service: ObjectRecord | None = None
    traffic_routing: TrafficRecord | None = None


class HistoryPod(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A pod that a step made."""

    name: str = ""
    ip: str = ""
    node_name: str = ""


class HistoryStep(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The pods of one step, counted from 1."""

    canary_step_index: int = 0
    pods: tuple[HistoryPod, ...] = ()
    replicas: IntOrPercent | None = None
    traffic: str = ""
    matches: tuple[HttpRouteMatch, ...] = ()
    visits: tuple[StepVisit, ...] = ()
    working_seconds: float = 0
    waiting_seconds: float = 0
    approvals: tuple[Approval, ...] = ()


class HistoryStatus(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`phase` is `completed` once everything is written down."""

    phase: str = ""
    canary_steps: tuple[HistoryStep, ...] = ()
    outcome: str = ""
    revision: str = ""
    stable_revision: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    working_seconds: float = 0
    waiting_seconds: float = 0
    """Seconds at steps whose pods and routes were in place."""
    approvals: tuple[Approval, ...] = ()


class RolloutHistory(msgspec.Struct, frozen=True, rename="camel"):
    """A RolloutHistory."""

    metadata: ObjectMeta = ObjectMeta()
    spec: HistorySpec = HistorySpec()
    status: HistoryStatus = HistoryStatus()
