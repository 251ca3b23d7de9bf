"""A workload of any kind, in the part that all kinds have in common.

Invariant: any object of a workload's kind can be decoded; selector and template stay as they came.
"""

import msgspec

from controller.api.meta import ObjectMeta


class WorkloadSpec(msgspec.Struct, frozen=True):
    """Selector and template, raw."""

    selector: msgspec.Raw = msgspec.Raw(b"{}")
    template: msgspec.Raw = msgspec.Raw(b"{}")


class AnyWorkload(msgspec.Struct, frozen=True):
    """Its metadata and its spec."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()
