"""HorizontalPodAutoscalers, with the fields by which a blue-green release pauses them.

Invariant: `behavior` is kept as the bytes the API server sent, because it belongs to the owner and is restored
unchanged.
"""

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.workload_kinds import KindName

AUTOSCALER = KindName("autoscaling/v2", "HorizontalPodAutoscaler")


class ScaleTarget(msgspec.Struct, frozen=True, rename="camel"):
    """The workload an autoscaler sizes."""

    api_version: str = ""
    kind: str = ""
    name: str = ""


class AutoscalerSpec(msgspec.Struct, frozen=True, rename="camel"):
    """An autoscaler: its target and its scaling behavior."""

    scale_target_ref: ScaleTarget = ScaleTarget()
    behavior: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class Autoscaler(msgspec.Struct, frozen=True):
    """A HorizontalPodAutoscaler."""

    metadata: ObjectMeta = ObjectMeta()
    spec: AutoscalerSpec = AutoscalerSpec()

    def sizes(self, group: str, kind: str, name: str) -> bool:
        """Whether the autoscaler sizes this workload; API versions do not matter."""
        target = self.spec.scale_target_ref
        named = (KindName(target.api_version, target.kind).group, target.kind, target.name)
        return named == (group, kind, name)
