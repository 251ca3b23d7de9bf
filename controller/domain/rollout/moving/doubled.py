"""Blue-green of a CloneSet: new pods by its own surge, frozen so that every old pod stays until the end.

`pods/doubling` has the arithmetic, and says why `maxSurge` alone is not enough. Invariants: no autoscaler changes the
size while the pods are doubled. The freeze keeps the CloneSet's controller from deleting any pod, so surplus pods after
scaling in are deleted here.
"""

from msgspec import Raw, json

from controller.api.names import FREEZE_MIN_READY_SECONDS
from controller.api.podsets import ScaleStrategy
from controller.api.rollout import RolloutStatus
from controller.api.workloads import Pod
from controller.domain import reasons
from controller.domain.decision import Action, FieldOfSpec, Refusal
from controller.domain.pods.doubling import Present, beyond, doubled
from controller.domain.pods.partition import CLOSED, surging
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout import autoscalers, services
from controller.domain.rollout.moving import clones_from_zero
from controller.domain.rollout.moving.given_up import SetsWithLimits
from controller.domain.rollout.moving.sets import (
    blocked_set,
    deletion_of,
    make_way,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.release_context import ReleaseContext
from controller.domain.rollout.transition import Stop


class DoubledCloneSet(SetsWithLimits):
    """The surge follows the steps."""

    def preconditions(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """As for other sets, once all autoscalers are paused."""
        held = autoscalers.hold(context, status)
        if held is not None:
            return held
        problem = _cannot_surge(context)
        if problem is not None:
            return Stop(status=status, problem=problem)
        return (
            make_way(context, status) if context.admission_paused else blocked_set(context, status)
        )

    def grow(
        self, context: ReleaseContext, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """Add as many pods to the old ones as the step wants; their number never falls."""
        plan = doubled(context.replicas, context.batch(index), _present(context))
        strategy = surging(owners_strategy(context), plan.partition, plan.surge)
        fields = (
            *_min_ready(context, FREEZE_MIN_READY_SECONDS),
            *clones_from_zero.opened(context, plan.named),
        )
        return (*self.delete_excess(context), *set_strategy(context, strategy, fields))

    def keep(self, context: ReleaseContext, index: int) -> tuple[Action, ...]:
        """Lost pods are replaced, and manual changes of our fields are corrected."""
        return (
            self.grow(context, index, Readiness(0, 0), give_back=False) if context.observed else ()
        )

    def delete_excess(self, context: ReleaseContext) -> tuple[Action, ...]:
        """Each revision has at most `replicas` pods."""
        if not context.observed:
            return ()
        more = (
            *beyond(context.replicas, _old_pods(context)),
            *beyond(context.replicas, context.new_pods),
        )
        return tuple(map(deletion_of, more))

    def clear_abandoned(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """Delete the pods of the abandoned revision; all stable pods exist, so no request needs the deleted ones."""
        return make_way(context, status)

    def scale_up_stable(
        self, context: ReleaseContext, stable: Readiness
    ) -> tuple[Action, ...] | None:
        """The stable revision has never shrunk."""
        return None

    def only_stable_returns(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """A CloneSet creates no pod until the stable revision is its current one again."""
        return clones_from_zero.only_stable_returns(context, status)

    def returned_as_new(self, context: ReleaseContext, status: RolloutStatus) -> bool:
        """Whether the CloneSet's controller has made the new revision the current one."""
        return clones_from_zero.returned_as_new(context, status)

    def bring_stable_back(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """All pods are stable ones, and ready."""
        return clones_from_zero.bring_stable_back(context, status)

    def owners_fields(self, context: ReleaseContext) -> tuple[FieldOfSpec, ...]:
        """The owner's minReadySeconds, and an empty list of pods to delete."""
        return (
            *_min_ready(context, context.owners_values.min_ready_seconds),
            *clones_from_zero.opened(context, ()),
        )

    def promoted(self, context: ReleaseContext, status: RolloutStatus) -> Stop | None:
        """As for all sets; also, surplus pods are gone, and no Service selects them."""
        surplus = context.pod_set.status.replicas > context.replicas
        if surplus or services.stable_services_lead_to_leaving_pods(context):
            return Stop(status)
        return super().promoted(context, status)


def _present(context: ReleaseContext) -> Present:
    return Present(
        old=_old_pods(context),
        new=context.new_pods,
        named=_scale_strategy(context).pods_to_delete,
        known_ready=context.pod_set.status.updated_ready_replicas,
    )


def _scale_strategy(context: ReleaseContext) -> ScaleStrategy:
    return json.decode(context.pod_set.spec.scale_strategy, type=ScaleStrategy)


def _old_pods(context: ReleaseContext) -> tuple[Pod, ...]:
    return tuple(pod for pod in context.workload.pods if pod.revision != context.new_revision)


def _cannot_surge(context: ReleaseContext) -> Refusal | None:
    """A field of the owner that keeps the CloneSet from adding pods."""
    if owners_limits(context).type == "InPlaceOnly":
        what = "spec.updateStrategy.type is InPlaceOnly: a pod that is updated in place cannot stay"
        return _refused(context, f"{what}; use ReCreate or InPlaceIfPossible, or canary")
    if _scale_strategy(context).max_unavailable not in (None, CLOSED):
        what = "spec.scaleStrategy.maxUnavailable stops new pods while pods are held as unavailable"
        return _refused(context, f"{what}; take it out for the release, or use canary")
    return None


def _refused(context: ReleaseContext, why: str) -> Refusal:
    text = f"{context.workload_name} cannot be released blue-green: {why}"
    return Refusal(reasons.UNSUPPORTED_STYLE, text, object=context.workload_name)


def _min_ready(context: ReleaseContext, seconds: int) -> tuple[FieldOfSpec, ...]:
    present = context.pod_set.spec.min_ready_seconds
    if (present or 0) == seconds:
        return ()
    return (FieldOfSpec("minReadySeconds", Raw(json.encode(seconds)) if seconds else None),)
