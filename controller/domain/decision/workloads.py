"""Facts about the released workload and its autoscalers, also those that somebody else held.

The original controller held them, or a Rollout of the same name that exists no more. Invariant: an action that writes
the spec has the generation or the version that was observed, so an outdated write changes nothing.
"""

import msgspec

from controller.api.meta import Key
from controller.api.quantity import IntOrPercent
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


class FieldOfSpec(Value, frozen=True):
    """A field of a spec and its wanted value (raw JSON); None removes an existing field."""

    name: str
    value: msgspec.Raw | None


class MoveWorkload(Value, frozen=True, tag=True):
    """The workload has these fields of its spec, from which its own controller moves pods.

    `admission_pause` is the token to remove, empty when there is none. `generation` is that of the observed spec: an
    outdated write changes nothing. `extra_status` is written with it.
    """

    kind: KindName
    workload: Key
    generation: int
    fields: tuple[FieldOfSpec, ...]
    admission_pause: str = ""
    extra_status: str = ""


class ReleaseWorkload(Value, frozen=True, tag=True):
    """The workload has its owner's own values again, and none of the named annotations and labels of ours.

    No `fields`: it has the values already. `entries` are the places of our field manager among its managers, in the
    observed version, if that is given.
    """

    kind: KindName
    workload: Key
    generation: int
    fields: tuple[FieldOfSpec, ...] = ()
    annotations: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    resource_version: str = ""
    entries: tuple[int, ...] = ()


class SetCurrentRevision(Value, frozen=True, tag=True):
    """The status of a set of pods names this revision as its current one; lost pods return with it."""

    kind: KindName
    workload: Key
    uid: str
    revision: str


class PauseAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler sizes nothing, and its owner's `behavior` (JSON) is kept on it.

    With `target`, it names this workload again: another controller had led it away.
    """

    autoscaler: Key
    resource_version: str
    original: str
    target: str = ""


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


class DropBatchRelease(Value, frozen=True, tag=True):
    """The BatchRelease is gone: no controller that removes its finalizer is left."""

    batch_release: Key


def field_of_spec(name: str, value: object) -> FieldOfSpec:
    """A field with this value."""
    return FieldOfSpec(name, msgspec.Raw(msgspec.json.encode(value)))
