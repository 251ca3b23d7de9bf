"""Facts about HorizontalPodAutoscalers."""

import msgspec

from controller.api.meta import Key
from controller.domain.decision.value import Value


class PauseAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler sizes nothing, and its owner's `behavior` (JSON) is kept on it."""

    autoscaler: Key
    resource_version: str
    original: str


class FreeAutoscaler(Value, frozen=True, tag=True):
    """An autoscaler has its owner's `behavior` again; None: it has none."""

    autoscaler: Key
    resource_version: str
    behavior: msgspec.Raw | None
