"""The target of a step: its new pods, its traffic, and whether the stable Services are pinned.

Why one function: whoever asks a part of it in words of its own decides the rest again, and differently. Invariant:
pure; without the workload's size it says only what is so at every size. Must not know a live object.
"""

from collections.abc import Sequence
from enum import Enum, auto

from controller.api.rollout import BlueGreenStrategy, CanaryStrategy, Step
from controller.domain.decision import Value
from controller.domain.pods.plan import batch_size


class Traffic(Enum):
    """Where a step sends the requests."""

    ORIGINAL = auto()
    """The routes are as their owners wrote them: requests follow the pods."""
    DIVIDED = auto()
    """The routes divide the requests as the step says."""
    AS_BEFORE = auto()
    """No old pod is left to divide with: the routes stay as they are until every pod is new."""


class Pinned(Enum):
    """Whether the stable Services select the stable revision only."""

    YES = auto()
    NO = auto()
    AS_IT_IS = auto()


class Target(Value, frozen=True):
    """The target of one step; `new_pods` is None if the workload's size is not known."""

    new_pods: int | None
    traffic: Traffic
    pinned: Pinned
    replaces_all: bool = False
    """New pods take the places of all old ones: a stable Service that is pinned would select nothing."""


def target_of(
    plan: CanaryStrategy | BlueGreenStrategy,
    index: int,
    size: int | None,
    *,
    replaces: bool,
    beside_old_pods: bool = True,
) -> Target:
    """The target of the 1-based step. `replaces`: new pods take the places of old ones (partition style).
    `beside_old_pods`: old pods run, or none is needed.
    """
    if not plan.steps:
        return Target(0, Traffic.ORIGINAL, Pinned.NO)
    step = plan.steps[max(1, min(index, len(plan.steps))) - 1]
    if size is None:
        new_pods, are_all = None, step.replicas == "100%"
    else:
        new_pods = batch_size(plan.steps, index, size)
        are_all = new_pods >= size
    replaces_all = replaces and are_all
    if replaces_all or not beside_old_pods:
        traffic = Traffic.AS_BEFORE
    else:
        traffic = Traffic.DIVIDED if step.routes_traffic else Traffic.ORIGINAL
    pinned = Pinned.NO if replaces_all else _pinned(plan, index, step, traffic)
    return Target(new_pods, traffic, pinned, replaces_all)


def _pinned(
    plan: CanaryStrategy | BlueGreenStrategy, index: int, step: Step, traffic: Traffic
) -> Pinned:
    """From the first step of a release that routes traffic in this or a later step (the original pins at step 1 only,
    B19), but not at a step without traffic after steps with it.
    """
    before, from_here = plan.steps[: index - 1], plan.steps[index - 1 :]
    follows_pods = _any_routes(before) and not step.routes_traffic
    if follows_pods or not _any_routes(from_here):
        return Pinned.NO
    separate = bool(plan.traffic_routings) and not plan.disable_generate_canary_service
    return Pinned.YES if separate and traffic is not Traffic.AS_BEFORE else Pinned.AS_IT_IS


def _any_routes(steps: Sequence[Step]) -> bool:
    return any(step.routes_traffic for step in steps)
