"""Facts about Services: which revision they select, and the canary Service."""

from controller.api.meta import Key
from controller.domain.decision.value import Value


class PinService(Value, frozen=True, tag=True):
    """The Service selects one revision only."""

    service: Key
    resource_version: str
    label: str
    revision: str


class UnpinService(Value, frozen=True, tag=True):
    """The Service has its owner's own selector."""

    service: Key
    resource_version: str
    label: str


class EnsureCanaryService(Value, frozen=True, tag=True):
    """A copy of the stable Service selects the new revision."""

    stable: Key
    name: str
    label: str
    revision: str
    rollout_uid: str
    selector_patch: dict[str, str] = {}
    appends: bool = False
    """The patch counts for labels, too, that the stable Service does not select by."""
    stable_version: str = ""
    """The resource version of the observed stable Service."""
    renewed: bool = False
    """An existing copy gets the selector that the stable Service has now."""


class DeleteCanaryService(Value, frozen=True, tag=True):
    """The canary Service made for this Rollout is gone."""

    service: Key
    uid: str
