"""Facts about a release that somebody else began: we hold each object that was held for it, or nobody does.

The original controller began it, or a Rollout of the same name that exists no more.
"""

from controller.api.meta import Key
from controller.api.workload_kinds import KindName
from controller.domain.decision.value import Value


class TakeOverWorkload(Value, frozen=True, tag=True):
    """The workload carries our marks and record in place of the original's; none of its pods moves by that."""

    kind: KindName
    workload: Key
    generation: int
    rollout: str
    release: str
    stable_revision: str = ""
    stable_template: str = ""


class TakeOverCanary(Value, frozen=True, tag=True):
    """Take over an extra Deployment of the original; `template_hash` is empty if its template is not the present
    one."""

    deployment: Key
    resource_version: str
    rollout_uid: str
    template_hash: str
    finalizers: tuple[str, ...] = ()
    """The finalizers of others: they stay."""


class TakeOverAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler names its workload again, and sizes nothing; `original` is its owner's `behavior` (JSON)."""

    autoscaler: Key
    resource_version: str
    target: str
    original: str


class DropBatchRelease(Value, frozen=True, tag=True):
    """The BatchRelease is gone: no controller that removes its finalizer is left."""

    batch_release: Key
