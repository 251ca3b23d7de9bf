"""The outcome of a pass: the next status, the facts to bring about, the time of the next pass, notes.

A guarded delete, size or mark of one object is in `objects`; the other actions have names of their own. Invariant:
every action is a *desired fact*, safe to repeat. These are only values: nothing here decides or acts.
"""

from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeVar

from controller.api.rollout import RolloutStatus
from controller.api.trafficrouting import TrafficRoutingStatus
from controller.domain.decision.configs import KeepConfig, RestoreConfig
from controller.domain.decision.objects import CONTROLLER_REVISION as CONTROLLER_REVISION
from controller.domain.decision.objects import POD as POD
from controller.domain.decision.objects import REPLICA_SET as REPLICA_SET
from controller.domain.decision.objects import SERVICE as SERVICE
from controller.domain.decision.objects import TRAFFIC_ROUTING as TRAFFIC_ROUTING
from controller.domain.decision.objects import DeleteObject, SetMetadata, SetSize
from controller.domain.decision.objects import deletion as deletion
from controller.domain.decision.objects import finalizers as finalizers
from controller.domain.decision.objects import size as size
from controller.domain.decision.outcome import Done, NotYet, Refusal
from controller.domain.decision.rollouts import (
    Measure,
    PrepareRollout,
    RecordRelease,
    RemoveFinalizer,
)
from controller.domain.decision.routes import (
    EnsureCanaryService,
    EnsureRoutes,
    PinService,
    RehearseRoutes,
    RestoreRoutes,
    UnpinService,
)
from controller.domain.decision.routes import (
    LaterSteps as LaterSteps,
)
from controller.domain.decision.routes import (
    OwnScript as OwnScript,
)
from controller.domain.decision.routes import (
    PartialMatches as PartialMatches,
)
from controller.domain.decision.routes import (
    Reference as Reference,
)
from controller.domain.decision.routes import (
    RoutePlan as RoutePlan,
)
from controller.domain.decision.templates import (
    EnsureCanaryDeployment,
    FindCauseOfMissingPods,
    FreezeReplicaSet,
    KeepRelease,
    RebuildReplicaSet,
    RehearseObjects,
    RevertTemplate,
    StampTemplate,
    WriteTemplate,
)
from controller.domain.decision.value import Value
from controller.domain.decision.workloads import (
    DropBatchRelease,
    FreeAutoscaler,
    FreezeWorkload,
    MoveWorkload,
    PauseAutoscaler,
    ReleaseWorkload,
    SetCurrentRevision,
    TakeOverWorkload,
)
from controller.domain.decision.workloads import (
    FieldOfSpec as FieldOfSpec,
)
from controller.domain.decision.workloads import (
    field_of_spec as field_of_spec,
)

Action = (
    PrepareRollout
    | RemoveFinalizer
    | FreezeWorkload
    | MoveWorkload
    | ReleaseWorkload
    | SetCurrentRevision
    | RevertTemplate
    | WriteTemplate
    | StampTemplate
    | KeepRelease
    | EnsureCanaryDeployment
    | RebuildReplicaSet
    | FreezeReplicaSet
    | DeleteObject
    | SetSize
    | SetMetadata
    | PinService
    | UnpinService
    | EnsureCanaryService
    | EnsureRoutes
    | RehearseRoutes
    | RehearseObjects
    | RestoreRoutes
    | FindCauseOfMissingPods
    | Measure
    | PauseAutoscaler
    | FreeAutoscaler
    | KeepConfig
    | RestoreConfig
    | RecordRelease
    | TakeOverWorkload
    | DropBatchRelease
)
Outcome = Done | NotYet | Refusal


class Severity(StrEnum):
    """Type of an Event."""

    NORMAL = "Normal"
    WARNING = "Warning"


class Note(Value, frozen=True):
    """Something to say: becomes an Event, a log line and a metric."""

    reason: str
    message: str
    severity: Severity = Severity.NORMAL
    ended: str = ""
    """For the note about the end of a release: how it ended (`rollout/ends/reported`)."""


S = TypeVar("S", bound=RolloutStatus | TrafficRoutingStatus)


class Decided(Value, Generic[S], frozen=True):
    """The outcome of one pass over an object."""

    status: S
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
    notes: tuple[Note, ...] = ()


class Decision(Decided[RolloutStatus], frozen=True):
    """The outcome of one pass over a Rollout."""

    brief: bool = False
    """There is no action, and the awaited change usually comes within moments: the next pass decides the same again."""


def stands_alone(action: Action) -> bool:
    """No other action waits for this one, least of all a rollback or the removal of a finalizer."""
    kept = isinstance(action, KeepConfig | RestoreConfig | KeepRelease)
    return kept or (isinstance(action, DeleteObject) and action.alone)
