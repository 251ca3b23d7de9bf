"""Our marks on a workload of any kind: under whose control it is, latched or not, what its owner's own values are.

Invariant: only admission (and a controller that makes up for it) puts marks on; everything else reads them here.
"""

from typing import Protocol

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.names import IN_PROGRESSING, ORIGINAL_STRATEGY
from controller.api.rollout import OwnersValues


class Marked(Protocol):
    """Anything that may carry marks."""

    @property
    def metadata(self) -> ObjectMeta:
        """Labels and annotations."""
        ...


class OwnersRecord(msgspec.Struct, frozen=True, rename="camel"):
    """The annotation with the owner's own values and the release they were saved for.

    `strategy` is a Deployment's `spec.strategy` or a set's `spec.updateStrategy`. What ran at admission is kept where
    the workload's own controller may forget it.
    """

    release: str = ""
    strategy: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """Raw or absent; `Raw | None` would decode nothing but null."""
    min_ready_seconds: int = 0
    progress_deadline_seconds: int | None = None
    paused: bool = False
    stable_revision: str = ""
    stable_template: str = ""

    @property
    def values(self) -> OwnersValues:
        """The values alone."""
        saved = self.strategy
        strategy = saved if isinstance(saved, msgspec.Raw) and bytes(saved) != b"null" else None
        return OwnersValues(
            strategy=strategy,
            min_ready_seconds=self.min_ready_seconds,
            progress_deadline_seconds=self.progress_deadline_seconds,
            paused=self.paused,
        )


class _Mark(msgspec.Struct, frozen=True, rename="camel"):
    rollout_name: str = ""


def owners_record(workload: Marked) -> OwnersRecord | None:
    """What admission saved, or None; a record without a release is of another make, here as at admission."""
    text = workload.metadata.annotations.get(ORIGINAL_STRATEGY, "")
    try:
        record = msgspec.json.decode(text, type=OwnersRecord)
    except msgspec.DecodeError:
        return None
    return record if record.release else None


def marked_for(workload: Marked) -> str:
    """Name of the Rollout that has this workload under control, or an empty string."""
    try:
        mark = msgspec.json.decode(
            workload.metadata.annotations.get(IN_PROGRESSING, ""), type=_Mark
        )
    except msgspec.DecodeError:
        return ""
    return mark.rollout_name
