"""The TrafficRouting: traffic for several Rollouts that are released together, in the part Moonshift reads.

Served in v1alpha1 only, as by the original; its matches may say all that a step's matches may.
"""

from datetime import datetime

import msgspec

from controller.api.meta import Condition, ObjectMeta
from controller.api.names import GROUP
from controller.api.rollout import (
    EmptySide,
    HeaderModifier,
    HttpRouteMatch,
    NamedContent,
    Step,
    TrafficRoutingRef,
)

TRAFFIC_ROUTING_FINALIZER = f"{GROUP}/trafficrouting"
"""Finalizer on a TrafficRouting: its gateway objects are restored before it goes."""
PROGRESSING_FINALIZER_PREFIX = f"progressing.{GROUP}/"
"""Finalizer that a Rollout in progress puts on the TrafficRouting it shares, followed by its name."""


class TrafficRoutingStrategy(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Where the traffic goes while any of the Rollouts progresses; `weight` is in percent."""

    weight: int | None = None
    request_header_modifier: HeaderModifier | None = None
    matches: tuple[HttpRouteMatch, ...] = ()

    @property
    def as_step(self) -> Step:
        """The share and the matches for the gateway objects, in the form of a step of a Rollout."""
        return Step(
            traffic=None if self.weight is None else f"{self.weight}%",
            matches=self.matches,
            request_header_modifier=self.request_header_modifier,
        )


class TrafficRoutingSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The spec: the routes that the owner wants."""

    object_ref: tuple[TrafficRoutingRef, ...] = ()
    strategy: TrafficRoutingStrategy = TrafficRoutingStrategy()


class Member(msgspec.Struct, frozen=True, rename="camel"):
    """A Rollout that has joined, or has left and is still under way."""

    rollout: str = ""
    routed: bool = False
    """The routes lead to its new pods."""
    since: datetime | None = None
    release_started_at: datetime | None = None
    """The start of the release for which the routes were tried before its first pod; None if that is not known."""


class Teardown(msgspec.Struct, frozen=True, rename="camel"):
    """Gateway objects of closed shared routes that wait until the objects above them have been restored long enough."""

    depth: int = 0
    since: datetime | None = None


class TrafficRoutingStatus(msgspec.Struct, frozen=True, rename="camel", omit_defaults=False):
    """The status: the observed state and the present phase."""

    observed_generation: int = 0
    phase: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] = ()
    members: tuple[Member, ...] = ()
    """The members whose new pods the routes lead to, or led to, and since when."""
    descent: Teardown | None = None
    """The depth down to which objects of closed shared routes are restored, and since when."""
    named_content: NamedContent | None = None
    """The content of gateway objects of open shared routes that others may name; null if there is nothing."""
    empty_sides: dict[str, EmptySide] = {}
    """By `stable/<Service>` and `new/<Service>`: revisions without a ready pod while the other has one."""
    written: tuple[str, ...] = ()
    """The gateway objects of open shared routes that have followed a plan, as `<kind>.<group>/<name>`."""


class TrafficRouting(msgspec.Struct, frozen=True, rename="camel"):
    """A TrafficRouting."""

    metadata: ObjectMeta = ObjectMeta()
    spec: TrafficRoutingSpec = TrafficRoutingSpec()
    status: TrafficRoutingStatus = TrafficRoutingStatus()
    unreadable: tuple[str, ...] = ()
    """Parts of the stored status that could not be read, and are not in `status`; no field of the object."""
