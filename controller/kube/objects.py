"""Moonshift's kinds as classes of kr8s, for programs of others.

    api = await kr8s.asyncio.api()
    rollout = await Rollout.get("web", namespace="shop", api=api)
    await rollout.wait("jsonpath='{.status.phase}'=Healthy")

Any Api of kr8s will do; `kr8s_api` has one with the controller's connections. Invariant: `raw` is the API server's
answer, and `record` only decodes it. The controller and its commands decode bytes into `controller.api` and do not use
these classes: docs/decisions/20261125-where-kr8s-is-used.md says why.
"""

from typing import ClassVar, Generic, TypeVar

import msgspec
from kr8s.asyncio.objects import APIObject

from controller.api import history, rollout, trafficrouting
from controller.kube.resources import ROLLOUT_HISTORIES, ROLLOUTS, TRAFFIC_ROUTINGS

T = TypeVar("T")


class _Recorded(APIObject, Generic[T]):
    """An object that can be read as a type of the wire."""

    _asyncio = True
    namespaced = True
    type: ClassVar[type[msgspec.Struct]]

    @property
    def record(self) -> T:
        """The whole object, decoded."""
        return msgspec.json.decode(msgspec.json.encode(self.to_dict()), type=self.type)  # type: ignore[return-value]  # each class names its own


class Rollout(_Recorded[rollout.Rollout]):
    """A Rollout, in v1beta1."""

    version = ROLLOUTS.api_version
    kind = ROLLOUTS.kind
    endpoint = plural = ROLLOUTS.plural
    singular = "rollout"
    type = rollout.Rollout


class RolloutHistory(_Recorded[history.RolloutHistory]):
    """The record of a finished release."""

    version = ROLLOUT_HISTORIES.api_version
    kind = ROLLOUT_HISTORIES.kind
    endpoint = plural = ROLLOUT_HISTORIES.plural
    singular = "rollouthistory"
    type = history.RolloutHistory


class TrafficRouting(_Recorded[trafficrouting.TrafficRouting]):
    """Gateway objects that several Rollouts share."""

    version = TRAFFIC_ROUTINGS.api_version
    kind = TRAFFIC_ROUTINGS.kind
    endpoint = plural = TRAFFIC_ROUTINGS.plural
    singular = "trafficrouting"
    type = trafficrouting.TrafficRouting
