"""Blue-green of a CloneSet: new pods by its own surge, frozen so that every old pod stays until the end.

`pods/doubling` has the arithmetic, and says why `maxSurge` alone is not enough. Invariants: no autoscaler changes the
size while the pods are doubled. The freeze keeps the CloneSet's controller from deleting any pod, so surplus pods after
scaling in are deleted here.
"""

from msgspec import Raw, json

from controller.api.names import FREEZE_MIN_READY_SECONDS
from controller.api.podsets import ScaleStrategy
from controller.api.workloads import Pod
from controller.domain import reasons
from controller.domain.decision import Action, FieldOfSpec, Refusal
from controller.domain.pods.doubling import Present, beyond, doubled
from controller.domain.pods.partition import CLOSED, surging
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout.moving import autoscalers
from controller.domain.rollout.moving.sets import (
    blocked_set,
    deletion_of,
    make_way,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.routes import services
from controller.domain.rollout.styles.clones_from_zero import CloneSets, opened
from controller.domain.rollout.words.release_value import Release
from controller.domain.rollout.words.transition import Stop


class DoubledCloneSet(CloneSets):
    """The surge follows the steps."""

    def preconditions(self, release: Release) -> Stop | None:
        """As for other sets, once all autoscalers are paused."""
        held = autoscalers.hold(release)
        if held is not None:
            return held
        problem = _cannot_surge(release)
        if problem is not None:
            return release.stop(problem=problem)
        return make_way(release) if release.admission_paused else blocked_set(release)

    def grow(
        self, release: Release, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """Add as many pods to the old ones as the step wants; their number never falls."""
        plan = doubled(release.replicas, release.batch(index), _present(release))
        strategy = surging(owners_strategy(release), plan.partition, plan.surge)
        fields = (
            *_min_ready(release, FREEZE_MIN_READY_SECONDS),
            *opened(release, plan.named),
        )
        return (*self.delete_excess(release), *set_strategy(release, strategy, fields))

    def keep(self, release: Release, index: int) -> tuple[Action, ...]:
        """Lost pods are replaced, and manual changes of our fields are corrected."""
        return (
            self.grow(release, index, Readiness(0, 0), give_back=False) if release.observed else ()
        )

    def delete_excess(self, release: Release) -> tuple[Action, ...]:
        """Each revision has at most `replicas` pods."""
        if not release.observed:
            return ()
        more = (
            *beyond(release.replicas, _old_pods(release)),
            *beyond(release.replicas, release.new_pods),
        )
        return tuple(map(deletion_of, more))

    def clear_abandoned(self, release: Release) -> Stop | None:
        """Delete the pods of the abandoned revision; all stable pods exist, so no request needs the deleted ones."""
        return make_way(release)

    def owners_fields(self, release: Release) -> tuple[FieldOfSpec, ...]:
        """The owner's minReadySeconds, and an empty list of pods to delete."""
        return (
            *_min_ready(release, release.owners_values.min_ready_seconds),
            *opened(release, ()),
        )

    def promoted(self, release: Release) -> Stop | None:
        """As for all sets; also, surplus pods are gone, and no Service selects them."""
        surplus = release.pod_set.status.replicas > release.replicas
        if surplus or services.stable_services_lead_to_leaving_pods(release):
            return release.stop()
        return super().promoted(release)


def _present(release: Release) -> Present:
    return Present(
        old=_old_pods(release),
        new=release.new_pods,
        named=_scale_strategy(release).pods_to_delete,
        known_ready=release.pod_set.status.updated_ready_replicas,
    )


def _scale_strategy(release: Release) -> ScaleStrategy:
    return json.decode(release.pod_set.spec.scale_strategy, type=ScaleStrategy)


def _old_pods(release: Release) -> tuple[Pod, ...]:
    return tuple(pod for pod in release.workload.pods if pod.revision != release.new_revision)


def _cannot_surge(release: Release) -> Refusal | None:
    """A field of the owner that keeps the CloneSet from adding pods."""
    if owners_limits(release).type == "InPlaceOnly":
        what = "spec.updateStrategy.type is InPlaceOnly: a pod that is updated in place cannot stay"
        return _refused(release, f"{what}; use ReCreate or InPlaceIfPossible, or canary")
    if _scale_strategy(release).max_unavailable not in (None, CLOSED):
        what = "spec.scaleStrategy.maxUnavailable stops new pods while pods are held as unavailable"
        return _refused(release, f"{what}; take it out for the release, or use canary")
    return None


def _refused(release: Release, why: str) -> Refusal:
    text = f"{release.workload_name} cannot be released blue-green: {why}"
    return Refusal(reasons.UNSUPPORTED_STYLE, text, object=release.workload_name)


def _min_ready(release: Release, seconds: int) -> tuple[FieldOfSpec, ...]:
    present = release.pod_set.spec.min_ready_seconds
    if (present or 0) == seconds:
        return ()
    return (FieldOfSpec("minReadySeconds", Raw(json.encode(seconds)) if seconds else None),)
