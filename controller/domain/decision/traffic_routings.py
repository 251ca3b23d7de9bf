"""Facts about a TrafficRouting."""

from controller.api.meta import Key
from controller.domain.decision.value import Value


class SetFinalizers(Value, frozen=True, tag=True):
    """A TrafficRouting carries exactly these finalizers."""

    traffic_routing: Key
    resource_version: str
    finalizers: tuple[str, ...]
