"""Facts about the released workload and its autoscalers, also those that somebody else held.

The original controller held them, or a Rollout of the same name that exists no more. Invariant: an action that writes
the spec has the generation or the version that was observed, so an outdated write changes nothing.
"""

import msgspec

from controller.api.meta import Key
from controller.api.names import FREEZE_MIN_READY_SECONDS, FREEZE_PROGRESS_DEADLINE_SECONDS
from controller.api.quantity import IntOrPercent
from controller.api.rollout import OwnersValues
from controller.api.workload_kinds import KindName
from controller.domain.decision.value import Value


class FreezeWorkload(Value, frozen=True, tag=True):
    """The workload is labelled, marked, frozen and paused for its release, as admission would have done it.

    `record` has the owner's own values (JSON); values that the workload itself still records come first. The limits of
    a Deployment are the step's, where they are given.
    """

    kind: KindName
    workload: Key
    generation: int
    rollout: str
    release: str
    record: str = ""
    stable_revision: str = ""
    beside: bool = False
    max_surge: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    resumed: bool = False
    """The owner removed a pause that the record still contains."""


class PaceDeployment(Value, frozen=True, tag=True):
    """The workload has these rolling update limits; `admission_pause` is the token to remove, empty when there is none.

    Frozen, unless the owner's own readiness is given: the running revision is never frozen.

    `generation` is that of the observed spec: an outdated write changes nothing. `extra_status` is written with it.
    """

    workload: Key
    generation: int
    max_surge: IntOrPercent
    max_unavailable: IntOrPercent
    admission_pause: str = ""
    extra_status: str = ""
    min_ready_seconds: int = FREEZE_MIN_READY_SECONDS
    progress_deadline_seconds: int = FREEZE_PROGRESS_DEADLINE_SECONDS


class ReleaseDeployment(Value, frozen=True, tag=True):
    """The workload has its owner's own values again, and none of the named annotations and labels of ours.

    `entries` are the places of our field manager among its managers, in the observed version.
    """

    workload: Key
    generation: int
    owners: OwnersValues | None
    annotations: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    resource_version: str = ""
    entries: tuple[int, ...] = ()


class FieldOfSpec(Value, frozen=True):
    """A field of a spec and its wanted value (raw JSON); None removes an existing field."""

    name: str
    value: msgspec.Raw | None


class MoveSet(Value, frozen=True, tag=True):
    """A set of pods has this update strategy (raw JSON); `admission_pause` is the token to remove, or empty.

    `fields` of the spec change in the same write. `generation` is that of the observed spec: an outdated write changes
    nothing.
    """

    kind: KindName
    workload: Key
    generation: int
    strategy: msgspec.Raw
    admission_pause: str = ""
    fields: tuple[FieldOfSpec, ...] = ()


class ReleaseSet(Value, frozen=True, tag=True):
    """A set of pods has its owner's own values again, and none of the named annotations and labels of ours."""

    kind: KindName
    workload: Key
    generation: int
    owners: OwnersValues | None
    annotations: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    fields: tuple[FieldOfSpec, ...] = ()


class SetCurrentRevision(Value, frozen=True, tag=True):
    """The status of a set of pods names this revision as its current one; lost pods return with it."""

    kind: KindName
    workload: Key
    uid: str
    revision: str


class PauseAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler sizes nothing, and its owner's `behavior` (JSON) is kept on it."""

    autoscaler: Key
    resource_version: str
    original: str


class FreeAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler has its owner's `behavior` again; None: it has none."""

    autoscaler: Key
    resource_version: str
    behavior: msgspec.Raw | None


class TakeOverWorkload(Value, frozen=True, tag=True):
    """The workload carries our marks and record in place of the original's; none of its pods moves by that."""

    kind: KindName
    workload: Key
    generation: int
    rollout: str
    release: str
    stable_revision: str = ""
    stable_template: str = ""


class TakeOverAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler names its workload again, and sizes nothing; `original` is its owner's `behavior` (JSON)."""

    autoscaler: Key
    resource_version: str
    target: str
    original: str


class DropBatchRelease(Value, frozen=True, tag=True):
    """The BatchRelease is gone: no controller that removes its finalizer is left."""

    batch_release: Key
