"""The marks that the original controller leaves on a workload during a release, and whether it moves the workload.

Why: a release of the original may be under way when Moonshift starts in its place. Invariant: a workload that we hold
never counts as one of the original's, whatever else it carries.
"""

import msgspec

from controller.api import names
from controller.api.autoscaling import Autoscaler
from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject
from controller.domain.pods.marks import Marked, hold_on

ANNOTATIONS = (
    names.CONTROL_INFO,
    names.ORIGINALS_STRATEGY,
    names.EXTRA_STATUS,
    names.ORIGINALS_DAEMON_STRATEGY,
    names.ORIGINALS_DAEMON_REVISION,
    names.ORIGINALS_DAEMON_CONTROL,
)
"""Annotations that only the original needs."""
LABELS = (names.ORIGINALS_CONTROL,)
"""Labels that only the original needs."""


class OriginalsValues(msgspec.Struct, frozen=True, rename="camel"):
    """The owner's values of a workload under blue-green, as the original keeps them."""

    max_surge: int | str | None = None
    max_unavailable: int | str | None = None
    min_ready_seconds: int = 0
    progress_deadline_seconds: int | None = None

    @property
    def limits(self) -> JsonObject:
        """The two rolling update limits, as far as they were written."""
        limits = {"maxSurge": self.max_surge, "maxUnavailable": self.max_unavailable}
        return {name: value for name, value in limits.items() if value is not None}


class _PartitionStrategy(msgspec.Struct, frozen=True, rename="camel"):
    rolling_update: JsonObject | None = None


def moved_by_the_original(workload: Marked, rollout: str) -> bool:
    """The original has a release of this workload under way for this Rollout, and we have not taken it over."""
    hold = hold_on(workload)
    if hold.record is not None or hold.has_admission_token:
        return False
    marked = hold.rollout
    return marked == rollout or (not marked and names.CONTROL_INFO in hold.annotations)


def originals_values(text: str) -> OriginalsValues | None:
    """The values that the original kept; None if the text is not one of its annotations."""
    try:
        return decoded(text, OriginalsValues)
    except msgspec.DecodeError:
        return None


def partition_strategy(text: str) -> JsonObject:
    """The strategy of a Deployment in partition style, which the original moved into an annotation."""
    try:
        stored = decoded(text, _PartitionStrategy)
    except msgspec.DecodeError:
        stored = _PartitionStrategy()
    rolling = {"rollingUpdate": stored.rolling_update} if stored.rolling_update else {}
    return {"type": "RollingUpdate", **rolling}


def detached_from(autoscaler: Autoscaler, group: str, kind: str, name: str) -> bool:
    """The original has renamed the target of this autoscaler of the workload, so that it sizes nothing."""
    return autoscaler.sizes(group, kind, f"{name}{names.DISABLED_TARGET}")
