"""The autoscalers of a Rollout's namespace, of which those of its workload are paused by a blue-green release.

Invariant: an autoscaler that cannot be read may size the workload, so it is not left out: then none are known.
"""

from typing import Protocol

import msgspec

from controller.api.autoscaling import AUTOSCALER, Autoscaler
from controller.api.decoding import decoded
from controller.api.rollout import Rollout
from controller.domain.availability import Failing, NotServed, Unavailable
from controller.kube.kind_watch import Kind, RawObject


class Objects(Protocol):
    """The objects of the kinds that Rollouts name."""

    def every(self, kind: Kind, namespace: str) -> tuple[RawObject, ...] | Unavailable:
        """All objects of a namespace, or why they are not known."""
        ...


def autoscalers_of(objects: Objects, rollout: Rollout) -> tuple[Autoscaler, ...] | Unavailable:
    """All autoscalers of the namespace; none unless the Rollout is blue-green: they are not watched for others."""
    if rollout.spec.strategy.blue_green is None:
        return ()
    found = objects.every(AUTOSCALER, rollout.metadata.namespace)
    if isinstance(found, NotServed):
        return ()
    return found if not isinstance(found, tuple) else _read(found)


def _read(found: tuple[RawObject, ...]) -> tuple[Autoscaler, ...] | Failing:
    views: list[Autoscaler] = []
    for item in found:
        try:
            views.append(decoded(item.raw, Autoscaler))
        except msgspec.DecodeError as failure:
            return Failing(f"{AUTOSCALER.kind} {item.metadata.key} cannot be read: {failure}")
    return tuple(views)
