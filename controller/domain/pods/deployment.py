"""Reading a Deployment under a release: whose it is, its owner's own values, where its knobs stand.

Two means hold a Deployment (docs/architecture.md, "Moving pods"). The *hold*: a minReadySeconds that
no pod reaches, so that the Deployment controller makes exactly the surge allowed and stops. The
*latch*: `paused` with a token of ours, from the admission of a template change until our first move.
Invariant: a Deployment that is paused without our token is its owner's, and nothing here calls it ours.
"""

import msgspec

from controller.api.names import LATCH
from controller.api.quantity import IntOrPercent, is_count, parse_percent, scaled_down, scaled_up
from controller.api.rollout import OwnersValues
from controller.api.workloads import Deployment, DeploymentStrategy


def latched(deployment: Deployment) -> bool:
    """Admission paused it for a release and our first move has not been made."""
    return deployment.spec.paused and LATCH in deployment.metadata.annotations


def paused_by_its_owner(deployment: Deployment) -> bool:
    """Paused, and not by us."""
    return deployment.spec.paused and LATCH not in deployment.metadata.annotations


class Limits(msgspec.Struct, frozen=True):
    """How far the owner lets a batch deviate from `replicas`, in pods; never both zero."""

    surge: int
    unavailable: int


def owners_limits(owners: OwnersValues, replicas: int) -> Limits:
    """The owner's maxSurge and maxUnavailable in pods, with the API's defaults (25 % each) and rounding."""
    surge: IntOrPercent = "25%"
    unavailable: IntOrPercent = "25%"
    if owners.strategy is not None:
        strategy = msgspec.json.decode(owners.strategy, type=DeploymentStrategy)
        rolling = strategy.rolling_update
        if rolling is not None and rolling.max_surge is not None:
            surge = rolling.max_surge
        if rolling is not None and rolling.max_unavailable is not None:
            unavailable = rolling.max_unavailable
    limits = Limits(scaled_up(surge, replicas), scaled_down(unavailable, replicas))
    return limits if limits.surge or limits.unavailable else Limits(0, 1)


class Knobs(msgspec.Struct, frozen=True):
    """maxSurge and maxUnavailable in pods. While held, new pods settle at `surge + unavailable`."""

    surge: int
    unavailable: int

    @property
    def new_pods(self) -> int:
        """How many pods of the new revision there are once the Deployment controller has settled."""
        return self.surge + self.unavailable


class WrittenKnobs(msgspec.Struct, frozen=True):
    """The knobs as they are written into the Deployment."""

    max_surge: IntOrPercent
    max_unavailable: IntOrPercent


def read_knobs(deployment: Deployment) -> Knobs:
    """The knobs of a held Deployment in pods of its present size, with Kubernetes' rounding.

    Where both come to nothing (25 % of 2 pods), Kubernetes lets one pod be missing: a surge written over that would
    make a new pod too many.
    """
    rolling = deployment.spec.strategy.rolling_update
    replicas = deployment.spec.replicas
    if rolling is None:
        return Knobs(0, 0)
    surge = scaled_up(rolling.max_surge, replicas)
    unavailable = scaled_down(rolling.max_unavailable, replicas)
    return Knobs(surge, unavailable if surge or unavailable else min(1, replicas))


def write_knobs(knobs: Knobs, replicas: int) -> WrittenKnobs:
    """`knobs` as percentages of `replicas`, exact: reading them back gives the same pods.

    maxUnavailable must be a percentage: an integer one deletes the stable revision when the workload is scaled below it
    (experiment: 5+5 with {0, 5}, scaled to 5, leaves 0+5). Up to 100 replicas ⌈100·U/N⌉ % rounds down to U, and
    ⌊100·S/N⌋ % rounds up to S. Above 100 one percent is more than a pod: then it is the largest percentage that does
    not round to more than U, and the rest is surge, as a count, which is harmless when scaling in. So what was read is
    written as it was; a smaller one would add as much surge over old pods that are gone already. 100 % only for all.
    """
    if replicas <= 0:
        return WrittenKnobs(0, "0%")
    if knobs.unavailable >= replicas:
        percent = 100
    elif replicas <= 100:
        percent = -(-100 * knobs.unavailable // replicas)
    else:
        percent = -(-100 * (knobs.unavailable + 1) // replicas) - 1
    surge = knobs.surge + knobs.unavailable - percent * replicas // 100
    if replicas <= 100:
        return WrittenKnobs(f"{100 * surge // replicas}%", f"{percent}%")
    return WrittenKnobs(surge, f"{percent}%")


def written(deployment: Deployment, knobs: WrittenKnobs) -> bool:
    """The Deployment's strategy already says exactly this."""
    rolling = deployment.spec.strategy.rolling_update
    return (
        rolling is not None
        and _same(rolling.max_surge, knobs.max_surge)
        and _same(rolling.max_unavailable, knobs.max_unavailable)
    )


def _same(left: IntOrPercent | None, right: IntOrPercent) -> bool:
    if is_count(left) and is_count(right):
        return left == right
    return parse_percent(left) == parse_percent(right) and isinstance(left, type(right))


def standing_knobs(deployment: Deployment) -> Knobs:
    """Where the plan stands: as `read_knobs`, but a surge that no percentage can say counts as given back.

    Else a batch of a workload above 100 replicas would wait for ever for what cannot be written.
    """
    knobs = read_knobs(deployment)
    given_back = Knobs(0, knobs.new_pods)
    said = write_knobs(given_back, deployment.spec.replicas)
    return given_back if written(deployment, said) else knobs
