"""How long a rollback or a third revision waits for stable pods before all traffic goes to those that there are.

Why an end: a version that was taken back must not keep its share of the traffic for ever, and a third revision may have
to mend a broken stable one. Invariant: one rule for every kind of workload.
"""

from datetime import datetime, timedelta

from controller.api.duration import later, of_seconds
from controller.api.rollout import RolloutStatus
from controller.domain.pods.deployment import progress_deadline
from controller.domain.rollout.release_context import ReleaseContext, moonshift_status

SHORTEST_WAIT = timedelta(minutes=10)
"""A longer progress deadline of the owner makes the wait longer."""


def stable_is_awaited_until(context: ReleaseContext, status: RolloutStatus) -> datetime:
    """The end of the wait, counted from the beginning of the present goal."""
    ours = moonshift_status(status)
    since = ours.goal_since or ours.state_since or context.now
    given = of_seconds(progress_deadline(context.owners_values))
    return later(since, max(given, SHORTEST_WAIT))
