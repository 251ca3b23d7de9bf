"""Our marks on a workload of any kind: the Rollout that controls it, the admission pause, its owner's own values.

Invariant: only admission (and the controller, where admission could not) writes marks; everything else reads them here.
"""

from typing import Protocol

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject
from controller.api.meta import ObjectMeta
from controller.api.names import IN_PROGRESSING, ORIGINAL_STRATEGY
from controller.api.quantity import IntOrPercent
from controller.api.rollout import OwnersValues


class Marked(Protocol):
    """Anything that may carry marks."""

    @property
    def metadata(self) -> ObjectMeta:
        """Labels and annotations."""
        ...


class OwnersRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The annotation with the owner's own values and the release they were saved for.

    `strategy` is a Deployment's `spec.strategy` or a set's `spec.updateStrategy`. The stable revision of a set is kept
    here, because its own controller may forget it; a Deployment keeps it in a label. Absent: the owner wrote nothing.
    """

    release: str = ""
    strategy: JsonObject | msgspec.UnsetType | None = msgspec.UNSET
    min_ready_seconds: int = 0
    progress_deadline_seconds: int | msgspec.UnsetType | None = msgspec.UNSET
    paused: bool = False
    stable_revision: str | msgspec.UnsetType = msgspec.UNSET
    stable_template: str | msgspec.UnsetType = msgspec.UNSET
    scale_limit: IntOrPercent | msgspec.UnsetType = msgspec.UNSET
    """A CloneSet's `scaleStrategy.maxUnavailable`."""

    @property
    def written_strategy(self) -> JsonObject:
        """The owner's strategy; empty if there is none."""
        return self.strategy or {}

    @property
    def values(self) -> OwnersValues:
        """The values alone."""
        strategy = msgspec.json.encode(self.strategy) if self.strategy else None
        deadline = self.progress_deadline_seconds
        return OwnersValues(
            strategy=msgspec.Raw(strategy) if strategy else None,
            min_ready_seconds=self.min_ready_seconds,
            progress_deadline_seconds=None if deadline is msgspec.UNSET else deadline,
            paused=self.paused,
        )


class _Mark(msgspec.Struct, frozen=True, rename="camel"):
    rollout_name: str = ""


def owners_record(workload: Marked) -> OwnersRecord | None:
    """The record that admission saved, or None."""
    return read_record(workload.metadata.annotations.get(ORIGINAL_STRATEGY, ""))


def read_record(text: str) -> OwnersRecord | None:
    """The record in an annotation; None for one without a release, which another program wrote."""
    try:
        record = decoded(text, OwnersRecord)
    except msgspec.DecodeError:
        return None
    return record if record.release else None


def marked_for(workload: Marked) -> str:
    """Name of the Rollout that controls this workload, or an empty string."""
    return rollout_in(workload.metadata.annotations.get(IN_PROGRESSING, ""))


def rollout_in(mark: str) -> str:
    """Name of the Rollout in a mark, or an empty string."""
    try:
        return decoded(mark, _Mark).rollout_name
    except msgspec.DecodeError:
        return ""
