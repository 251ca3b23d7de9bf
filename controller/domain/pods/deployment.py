"""Reads a Deployment during a release: whether its owner paused it, its owner's own values, its rolling update limits.

Two means hold a Deployment (docs/architecture.md, "Moving pods"). The *availability freeze* is a minReadySeconds that
no pod reaches, so that the Deployment's controller creates exactly the allowed surge and stops. The *admission pause*
is `paused` with a token of ours, from the admission of a template change until our first move.
Invariants: a Deployment that is paused without our token was paused by its owner; so was one with our token whose
record says that its owner had paused it.
"""

import msgspec

from controller.api.quantity import IntOrPercent, is_count, parse_percent, scaled_down, scaled_up
from controller.api.rollout import OwnersValues
from controller.api.workloads import Deployment, DeploymentStrategy
from controller.domain.pods.marks import hold_on


def admission_paused(deployment: Deployment) -> bool:
    """Admission paused it for a release and our first move has not been made."""
    return deployment.spec.paused and hold_on(deployment).has_admission_token


def paused_by_its_owner(deployment: Deployment) -> bool:
    """Paused, and not only by us: its owner had paused it when another template came."""
    if not deployment.spec.paused:
        return False
    hold = hold_on(deployment)
    if not hold.has_admission_token:
        return True
    record = hold.record
    return record is not None and record.paused


class Limits(msgspec.Struct, frozen=True):
    """The owner's limits for a batch, in pods above and below `replicas`; never both zero."""

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


def progress_deadline(owners: OwnersValues) -> int:
    """The owner's progressDeadlineSeconds, with the API's default."""
    given = owners.progress_deadline_seconds
    return 600 if given is None else given


class RollingLimits(msgspec.Struct, frozen=True):
    """maxSurge and maxUnavailable in pods. While the Deployment is frozen, new pods settle at `surge + unavailable`."""

    surge: int
    unavailable: int

    @property
    def new_pods(self) -> int:
        """The number of pods of the new revision once the Deployment's controller has settled."""
        return self.surge + self.unavailable


class WrittenLimits(msgspec.Struct, frozen=True):
    """The limits in the form in which they are written into the Deployment."""

    max_surge: IntOrPercent
    max_unavailable: IntOrPercent


def read_rolling_limits(deployment: Deployment) -> RollingLimits:
    """The limits of a frozen Deployment in pods of its present size, with Kubernetes' rounding.

    Where both round to nothing (25 % of 2 pods), Kubernetes lets one pod be missing: writing a surge over that would
    create a new pod too many.
    """
    rolling = deployment.spec.strategy.rolling_update
    replicas = deployment.spec.replicas
    if rolling is None:
        return RollingLimits(0, 0)
    surge = scaled_up(rolling.max_surge, replicas)
    unavailable = scaled_down(rolling.max_unavailable, replicas)
    return RollingLimits(surge, unavailable if surge or unavailable else min(1, replicas))


def write_rolling_limits(rolling_limits: RollingLimits, replicas: int) -> WrittenLimits:
    """`rolling_limits` as percentages of `replicas`, exact: reading them back gives the same pods.

    maxUnavailable must be a percentage: an integer deletes the stable revision when the workload is scaled below it
    (experiment: 5+5 with {0, 5}, scaled to 5, leaves 0+5). Up to 100 replicas ⌈100·U/N⌉ % rounds down to U, and
    ⌊100·S/N⌋ % rounds up to S. Above 100 one percent is more than a pod: then it is the largest percentage that does
    not round to more than U, and the rest is surge, as a count, which is harmless when scaling in. So limits that were
    read are written unchanged; a smaller percentage would add as much surge for old pods that are gone already. 100 %
    only for all.
    """
    if replicas <= 0:
        return WrittenLimits(0, "0%")
    if rolling_limits.unavailable >= replicas:
        percent = 100
    elif replicas <= 100:
        percent = -(-100 * rolling_limits.unavailable // replicas)
    else:
        percent = -(-100 * (rolling_limits.unavailable + 1) // replicas) - 1
    surge = rolling_limits.surge + rolling_limits.unavailable - percent * replicas // 100
    if replicas <= 100:
        return WrittenLimits(f"{100 * surge // replicas}%", f"{percent}%")
    return WrittenLimits(surge, f"{percent}%")


def has_limits(deployment: Deployment, rolling_limits: WrittenLimits) -> bool:
    """The Deployment's strategy already says exactly this."""
    rolling = deployment.spec.strategy.rolling_update
    return (
        rolling is not None
        and _same(rolling.max_surge, rolling_limits.max_surge)
        and _same(rolling.max_unavailable, rolling_limits.max_unavailable)
    )


def _same(left: IntOrPercent | None, right: IntOrPercent) -> bool:
    if is_count(left) and is_count(right):
        return left == right
    return parse_percent(left) == parse_percent(right) and isinstance(left, type(right))


def planned_rolling_limits(deployment: Deployment) -> RollingLimits:
    """As `read_rolling_limits`, but a surge that no percentage can express counts as removed already.

    Otherwise a batch of a workload above 100 replicas would wait for ever for limits that cannot be written.
    """
    rolling_limits = read_rolling_limits(deployment)
    given_back = RollingLimits(0, rolling_limits.new_pods)
    limits = write_rolling_limits(given_back, deployment.spec.replicas)
    return given_back if has_limits(deployment, limits) else rolling_limits
