"""Why a release ends.

Why a file of its own: trouble and moving pods ask for the goal, and only the end of a release knows its sequence of
facts. Invariant: the values stand in stored statuses, so they never change. It must not say how a release ends.
"""

from enum import StrEnum


class Goal(StrEnum):
    """Why a release ends."""

    SUCCESS = "Success"
    ROLLBACK = "Rollback"
    CONTINUOUS = "Continuous"
    """Another revision came; changes of the abandoned release are reverted before the release starts again."""
    DISABLED = "RolloutDisabled"
    DELETING = "RolloutDeleting"
    WORKLOAD_GONE = "WorkloadGone"
    SCALED_AWAY = "ScaledAway"
    """The workload has, or had, no replicas: only the stable revision returns, and the release begins again."""
