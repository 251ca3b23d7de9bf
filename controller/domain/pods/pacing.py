"""The next move of a paced Deployment: which knobs bring it from one batch to the next.

A held Deployment settles at S+U new and N−U old pods. A batch of k grows first ({k−k₀, k₀}: new pods beside the old),
and gives the old share back ({0, k}) when the caller says so: with traffic, after the route has moved and the
margin is over. Inside a batch the moves keep to the owner's own limits, in several small moves where need be.
Invariant: knobs come from the plan (S+U = k), never from counts of pods (a stale count would move too many).
"""

from controller.domain.pods.deployment import Knobs, Limits


def next_knobs(
    current: Knobs, wanted: int, ready: int, limits: Limits, *, give_back: bool
) -> Knobs:
    """The knobs to write next; equal to `current` when there is nothing to do, or something to wait for.

    `wanted` is the batch's number of new pods, `ready` how many new pods count as ready. New pods are never taken
    away: a smaller batch (a jump back) leaves them.
    """
    if current.new_pods < wanted:
        return _grow(current, wanted, ready, limits)
    if give_back and current.surge > 0 and ready >= current.new_pods:
        return Knobs(0, current.new_pods)
    return current


def _grow(current: Knobs, wanted: int, ready: int, limits: Limits) -> Knobs:
    if limits.surge == 0:
        # Down first: what is not ready yet counts against the owner's maxUnavailable.
        return Knobs(0, max(current.unavailable, min(wanted, ready + limits.unavailable)))
    surge = min(limits.surge, wanted - current.unavailable)
    if surge > current.surge:
        return Knobs(surge, current.unavailable)
    if ready >= current.new_pods:
        # The owner's maxSurge is used up: the old share goes earlier, by as much as is ready in its place.
        return Knobs(0, current.new_pods)
    return current


def settled(knobs: Knobs, wanted: int) -> bool:
    """All new pods of the batch are there and the old share was given back."""
    return knobs.surge == 0 and knobs.unavailable >= wanted
