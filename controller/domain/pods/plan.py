"""How many new pods each step wants, and how many of them must be ready.

Invariant: counts are cumulative and never outside [0, replicas]; percentages round up, as in the original.
"""

from collections.abc import Sequence

from controller.api.quantity import IntOrPercent, planned_replicas, scaled_up
from controller.api.rollout import Step


def batch_size(steps: Sequence[Step], index: int, replicas: int) -> int:
    """New pods wanted at 1-based step `index`; 0 before the first, and for a plan that has lost its steps."""
    if index < 1 or not steps:
        return 0
    step = steps[min(index, len(steps)) - 1]
    return planned_replicas(step.replicas, replicas)


def ready_needed(wanted: int, updated: int, failure_threshold: IntOrPercent | None) -> int:
    """How many of `wanted` pods must be ready for a batch to count.

    The threshold tolerates that many unready pods, as a count or as a percentage of the *updated* pods rounded up;
    absent, negative or unreadable tolerates none. At least one must be ready, or a release of broken pods would pass.
    """
    if wanted == 0:
        return 0
    tolerated = max(0, scaled_up(failure_threshold, updated))
    return max(1, wanted - tolerated)
