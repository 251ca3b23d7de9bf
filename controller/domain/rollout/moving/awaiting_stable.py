"""How long a rollback or a third revision waits for stable pods before all traffic goes to those that there are.

Why an end: a version that was taken back must not keep its share of the traffic for ever, and a third revision may have
to mend a broken stable one. Invariant: one rule for every kind of workload.
"""

from datetime import datetime, timedelta

from controller.api.duration import later, of_seconds
from controller.domain.pods.deployment import progress_deadline
from controller.domain.rollout.words.release_value import Release

SHORTEST_WAIT = timedelta(minutes=10)
"""A longer progress deadline of the owner makes the wait longer."""


def stable_is_awaited_until(release: Release) -> datetime:
    """The end of the wait, counted from the beginning of the present goal."""
    ours = release.ours
    since = ours.goal_since or ours.state_since or release.now
    given = of_seconds(progress_deadline(release.owners_values))
    return later(since, max(given, SHORTEST_WAIT))
