"""The outcome of a pass: the next status, the facts to bring about, the time of the next pass, notes.

One file for each kind of object that an action is about. Invariant: every action is a *desired fact*, safe to repeat.
These are only values: nothing here decides or acts.
"""

from datetime import datetime
from enum import StrEnum

from controller.api.rollout import RolloutStatus
from controller.domain.decision.autoscalers import FreeAutoscaler, PauseAutoscaler
from controller.domain.decision.canary_deployments import (
    DeleteCanaryDeployment,
    EnsureCanaryDeployment,
    RehearseObjects,
    ScaleCanaryDeployment,
)
from controller.domain.decision.configs import DropConfig, KeepConfig, RestoreConfig
from controller.domain.decision.histories import RecordRelease
from controller.domain.decision.measurements import Measure
from controller.domain.decision.outcome import Done, NotYet, Refusal
from controller.domain.decision.pods import DeletePod, FindCauseOfMissingPods, LabelPod, MarkPod
from controller.domain.decision.replica_sets import (
    DeleteReplicaSet,
    FreezeReplicaSet,
    RebuildReplicaSet,
    ScaleReplicaSet,
)
from controller.domain.decision.rollouts import PrepareRollout, RemoveFinalizer
from controller.domain.decision.routes import (
    EnsureRoutes,
    RehearseRoutes,
    RestoreRoutes,
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
from controller.domain.decision.services import (
    DeleteCanaryService,
    EnsureCanaryService,
    PinService,
    UnpinService,
)
from controller.domain.decision.takeover import (
    ClaimObject,
    DropBatchRelease,
    TakeOverAutoscaler,
    TakeOverCanary,
    TakeOverRoute,
    TakeOverWorkload,
)
from controller.domain.decision.templates import (
    DropKept,
    KeepRelease,
    RevertTemplate,
    StampTemplate,
    WriteTemplate,
)
from controller.domain.decision.traffic_routings import SetFinalizers
from controller.domain.decision.value import Value
from controller.domain.decision.workloads import (
    FieldOfSpec as FieldOfSpec,
)
from controller.domain.decision.workloads import (
    FreezeWorkload,
    LabelWorkload,
    MoveSet,
    PaceDeployment,
    ReleaseDeployment,
    ReleaseSet,
    SetCurrentRevision,
)

Action = (
    PrepareRollout
    | RemoveFinalizer
    | LabelWorkload
    | FreezeWorkload
    | PaceDeployment
    | ReleaseDeployment
    | MoveSet
    | ReleaseSet
    | SetCurrentRevision
    | RevertTemplate
    | WriteTemplate
    | StampTemplate
    | KeepRelease
    | DropKept
    | EnsureCanaryDeployment
    | ScaleCanaryDeployment
    | DeleteCanaryDeployment
    | ScaleReplicaSet
    | DeleteReplicaSet
    | RebuildReplicaSet
    | FreezeReplicaSet
    | PinService
    | UnpinService
    | EnsureCanaryService
    | DeleteCanaryService
    | EnsureRoutes
    | RehearseRoutes
    | RehearseObjects
    | RestoreRoutes
    | DeletePod
    | LabelPod
    | MarkPod
    | FindCauseOfMissingPods
    | Measure
    | PauseAutoscaler
    | FreeAutoscaler
    | KeepConfig
    | RestoreConfig
    | DropConfig
    | SetFinalizers
    | RecordRelease
    | TakeOverWorkload
    | TakeOverCanary
    | ClaimObject
    | TakeOverAutoscaler
    | TakeOverRoute
    | DropBatchRelease
)
ConfigAction = KeepConfig | RestoreConfig | DropConfig
KeptAction = KeepRelease | DropKept
ALONE = ConfigAction | KeptAction
"""No other action waits for these, least of all a rollback or the removal of a finalizer."""
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
    """For the note about the end of a release: how it ended (`rollout/ends`)."""


class Decision(Value, frozen=True):
    """The outcome of one pass."""

    status: RolloutStatus
    actions: tuple[Action, ...] = ()
    wake_at: datetime | None = None
    notes: tuple[Note, ...] = ()
    brief: bool = False
    """There is no action, and the awaited change usually comes within moments: the next pass decides the same again."""
