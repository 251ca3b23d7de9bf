"""The next move of a paced Deployment: the rolling update limits on the way from one batch to the next.

A frozen Deployment settles at S+U new and N−U old pods. A batch of k first adds new pods ({k−k₀, k₀}), and removes the
old share ({0, k}) when the caller says so: with traffic, after the route has moved and the grace period is over. Inside
a batch the moves keep to the owner's own limits, in several small moves where necessary.
Invariant: limits come from the plan (S+U = k), never from counts of pods (an outdated count would move too many).
"""

from controller.domain.pods.deployment import Limits, RollingLimits


def next_rolling_limits(
    current: RollingLimits,
    wanted: int,
    ready: int,
    limits: Limits,
    *,
    give_back: bool,
    refused: bool = False,
) -> RollingLimits:
    """The limits to write next; equal to `current` when there is nothing to do, or something to wait for.

    `wanted` is the batch's number of new pods, `ready` the number of new pods that are ready. New pods are never
    removed: a smaller batch (a jump back) keeps them. With `refused`, more pods cannot be created before others go.
    """
    if refused and current.unavailable < ready < current.new_pods <= wanted:
        # A quota leaves less room than the owner's maxSurge: as many old pods go as new pods are ready.
        return RollingLimits(0, ready)
    if current.new_pods < wanted:
        return _grow(current, wanted, ready, limits)
    if give_back and current.surge > 0 and ready >= current.new_pods:
        return RollingLimits(0, current.new_pods)
    return current


def _grow(current: RollingLimits, wanted: int, ready: int, limits: Limits) -> RollingLimits:
    if limits.surge == 0:
        # Old pods first: new pods that are not ready count against the owner's maxUnavailable.
        return RollingLimits(0, max(current.unavailable, min(wanted, ready + limits.unavailable)))
    surge = min(limits.surge, wanted - current.unavailable)
    if surge > current.surge:
        return RollingLimits(surge, current.unavailable)
    if ready >= current.new_pods:
        # The owner's maxSurge is used up: old pods are removed earlier, as many as new pods are ready.
        return RollingLimits(0, current.new_pods)
    return current
