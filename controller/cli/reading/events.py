"""Events about a Rollout, newest last, through the older of the two Event APIs: rights to read that one are common."""

from datetime import datetime

import msgspec

from controller.api.meta import ObjectMeta
from controller.api.rollout import Rollout
from controller.cli.views.view import EventView
from controller.kube.client import KubeClient
from controller.kube.resources import Resource
from controller.kube.watch import read_page

CORE_EVENTS = Resource("", "v1", "events", "Event")
SHOWN = 20


class _Series(msgspec.Struct, frozen=True, rename="camel"):
    count: int = 0
    last_observed_time: datetime | None = None


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """An Event, with the count of either API."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: int | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: _Series | None = None

    @property
    def at(self) -> datetime | None:
        """The instant at which the Event was seen last."""
        series = self.series.last_observed_time if self.series is not None else None
        return series or self.last_timestamp or self.event_time or self.metadata.creation_timestamp


async def read_events(client: KubeClient, rollout: Rollout) -> tuple[EventView, ...]:
    """The last Events about this very object."""
    chosen = f"involvedObject.uid={rollout.metadata.uid}"
    found: list[Event] = []
    async for page in client.list_pages(
        CORE_EVENTS, rollout.metadata.namespace, field_selector=chosen
    ):
        found += [msgspec.json.decode(item, type=Event) for item in read_page(page).items or ()]
    found.sort(key=lambda event: event.at.timestamp() if event.at is not None else 0.0)
    return tuple(event_view(event) for event in found[-SHOWN:])


def event_view(event: Event) -> EventView:
    """The fields that are shown of it."""
    count = event.series.count if event.series is not None else event.count or 1
    return EventView(event.type, event.reason, event.message, event.at, max(1, count))
