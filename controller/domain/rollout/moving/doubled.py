"""Blue-green of a CloneSet: new pods by its own surge, held so that every old one stays until the end.

The arithmetic, and why it takes more than `maxSurge`, is in `pods/doubling`. Invariants: nothing is sized by an
autoscaler while the pods are doubled; and as the hold keeps the CloneSet's controller from deleting any pod, those that
an owner who scales it in asks for no more are deleted here.
"""

from msgspec import Raw, json

from controller.api.jsontree import JsonObject, changed, same
from controller.api.names import HOLD_MIN_READY_SECONDS
from controller.api.podsets import ScaleStrategy
from controller.api.rollout import RolloutStatus
from controller.api.workloads import Pod
from controller.domain import reasons
from controller.domain.decision import Action, DeletePod, FieldOfSpec, Refusal
from controller.domain.pods.doubling import Present, beyond, doubled
from controller.domain.pods.partition import surging
from controller.domain.pods.readiness import Readiness
from controller.domain.rollout import autoscalers
from controller.domain.rollout.moving.sets import (
    Sets,
    blocked_set,
    make_way,
    owners_limits,
    owners_strategy,
    set_strategy,
)
from controller.domain.rollout.situation import Situation
from controller.domain.rollout.turn import Stop


class DoubledCloneSet(Sets):
    """The surge follows the steps."""

    def clear(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """As for other sets, once no autoscaler is at work."""
        held = autoscalers.hold(sit)
        if held:
            return Stop(status=status, actions=held)
        problem = _cannot_surge(sit)
        if problem is not None:
            return Stop(status=status, problem=problem)
        return make_way(sit, status) if sit.latched else blocked_set(sit, status)

    def grow(
        self, sit: Situation, index: int, counted: Readiness, *, give_back: bool
    ) -> tuple[Action, ...]:
        """As many pods beside the old ones as the step wants; they never become fewer."""
        plan = doubled(sit.replicas, sit.batch(index), _present(sit))
        strategy = surging(owners_strategy(sit), plan.partition, plan.surge)
        fields = (*_min_ready(sit, HOLD_MIN_READY_SECONDS), *_named(sit, plan.named))
        return (*self.fit(sit), *set_strategy(sit, strategy, fields))

    def keep(self, sit: Situation, index: int) -> tuple[Action, ...]:
        """Autoscalers stay held, lost pods come back, and a hand edit of the knobs is corrected."""
        moves = self.grow(sit, index, Readiness(0, 0), give_back=False) if sit.observed else ()
        return (*autoscalers.hold(sit), *moves)

    def fit(self, sit: Situation) -> tuple[Action, ...]:
        """Each revision has as many pods as replicas at most."""
        if not sit.observed:
            return ()
        more = (*beyond(sit.replicas, _old_pods(sit)), *beyond(sit.replicas, sit.new_pods))
        return tuple(DeletePod(pod.metadata.key, pod.metadata.uid) for pod in more)

    def clear_abandoned(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """Delete them; the old pods are all there."""
        return make_way(sit, status)

    def refill(self, sit: Situation, stable: Readiness) -> tuple[Action, ...] | None:
        """The stable revision has never shrunk."""
        return None

    def owners_fields(self, sit: Situation) -> tuple[FieldOfSpec, ...]:
        """minReadySeconds as its owner has it, and no pod is named any more."""
        return (*_min_ready(sit, sit.owners_values.min_ready_seconds), *_named(sit, ()))

    def promoted(self, sit: Situation, status: RolloutStatus) -> Stop | None:
        """As for all sets; and the pods beside those the owner asks for are gone, and no Service leads to them."""
        if sit.pod_set.status.replicas > sit.replicas or _serves_what_goes(sit):
            return Stop(status)
        return super().promoted(sit, status)


def _present(sit: Situation) -> Present:
    return Present(
        old=_old_pods(sit),
        new=sit.new_pods,
        named=_scale_strategy(sit).pods_to_delete,
        known_ready=sit.pod_set.status.updated_ready_replicas,
    )


def _scale_strategy(sit: Situation) -> ScaleStrategy:
    return json.decode(sit.pod_set.spec.scale_strategy, type=ScaleStrategy)


def _old_pods(sit: Situation) -> tuple[Pod, ...]:
    return tuple(pod for pod in sit.workload.pods if pod.revision != sit.new_revision)


def _serves_what_goes(sit: Situation) -> bool:
    going = {pod.metadata.uid for pod in sit.workload.pods if pod.metadata.deleting}
    return any(going & sit.ready_endpoints(service) for service in sit.stable_services)


def _cannot_surge(sit: Situation) -> Refusal | None:
    """What its owner wrote keeps the CloneSet from making pods beside others."""
    if owners_limits(sit).type == "InPlaceOnly":
        what = "spec.updateStrategy.type is InPlaceOnly: a pod that is updated in place cannot stay"
        return _refused(sit, f"{what}; use ReCreate or InPlaceIfPossible, or canary")
    if _scale_strategy(sit).max_unavailable is not None:
        what = "spec.scaleStrategy.maxUnavailable stops new pods while pods are held as unavailable"
        return _refused(sit, f"{what}; take it out for the release, or use canary")
    return None


def _refused(sit: Situation, why: str) -> Refusal:
    text = f"{sit.workload_name} cannot be released blue-green: {why}"
    return Refusal(reasons.UNSUPPORTED_STYLE, text, object=sit.workload_name)


def _min_ready(sit: Situation, seconds: int) -> tuple[FieldOfSpec, ...]:
    present = sit.pod_set.spec.min_ready_seconds
    if (present or 0) == seconds:
        return ()
    return (FieldOfSpec("minReadySeconds", Raw(json.encode(seconds)) if seconds else None),)


def _named(sit: Situation, names: tuple[str, ...]) -> tuple[FieldOfSpec, ...]:
    live: JsonObject = json.decode(sit.pod_set.spec.scale_strategy, type=JsonObject)
    wanted = changed(live, ("podsToDelete",), list(names) or None)
    if same(live, wanted):
        return ()
    return (FieldOfSpec("scaleStrategy", Raw(json.encode(wanted))),)
