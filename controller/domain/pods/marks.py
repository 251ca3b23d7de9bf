"""Our marks on a workload of any kind: the Rollout that controls it, the admission pause, its owner's own values.

Invariant: only admission (and the controller, where admission could not) writes marks; everything else reads them here.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from controller.api.decoding import decoded
from controller.api.jsontree import JsonObject, child
from controller.api.meta import ObjectMeta
from controller.api.names import ADMISSION_PAUSE, IN_PROGRESSING, ORIGINAL_STRATEGY
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


class Hold(NamedTuple):
    """Our hold on a workload, as its annotations say it. A decision asks for one part; each part is read when asked."""

    annotations: Mapping[str, object]

    def _text(self, name: str) -> str:
        found = self.annotations.get(name)
        return found if isinstance(found, str) else ""

    @property
    def marked(self) -> bool:
        """The workload is marked for a release, by whatever Rollout."""
        return IN_PROGRESSING in self.annotations

    @property
    def rollout(self) -> str:
        """Name of the Rollout that controls the workload, or an empty string."""
        try:
            return decoded(self._text(IN_PROGRESSING), _Mark).rollout_name
        except msgspec.DecodeError:
            return ""

    @property
    def record(self) -> OwnersRecord | None:
        """The owner's own values that admission saved; None if nothing is held, or the record is another program's."""
        return read_record(self._text(ORIGINAL_STRATEGY))

    @property
    def has_admission_token(self) -> bool:
        """Admission has held the workload for a release, and the controller has not made its first move."""
        return ADMISSION_PAUSE in self.annotations


def hold_on(workload: Marked | JsonObject | None) -> Hold:
    """Our hold on a workload: a typed object, or the JSON that admission gets."""
    if workload is None or isinstance(workload, dict):
        return Hold(child(workload, "metadata", "annotations"))
    return Hold(workload.metadata.annotations)


def read_record(text: str) -> OwnersRecord | None:
    """The record in an annotation; None for one without a release, which another program wrote."""
    try:
        record = decoded(text, OwnersRecord)
    except msgspec.DecodeError:
        return None
    return record if record.release else None
