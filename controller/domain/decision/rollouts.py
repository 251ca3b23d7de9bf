"""Facts about the Rollout itself."""

from controller.domain.decision.value import Value


class PrepareRollout(Value, frozen=True, tag=True):
    """The Rollout carries our finalizer and the hash of its plan."""

    plan_hash: str


class RemoveFinalizer(Value, frozen=True, tag=True):
    """The Rollout no longer carries our finalizer."""
