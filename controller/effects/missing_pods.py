"""Reads why the pods of a set are not created: its controller reports that in Events only.

Invariant: one request for each look, no watch; a missing right, or no Event, gives no answer and delays nothing.
"""

from collections.abc import AsyncIterable
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from controller.api.meta import ObjectMeta
from controller.domain.decision import Done, FindCauseOfMissingPods, Refusal
from controller.errors import Forbidden
from controller.kube.resources import CORE_EVENTS, Resource

LOOK_AGAIN = 10.0
"""Seconds until the next look: an increased quota causes no event of the set."""


class EventReads(Protocol):
    """The API calls that are needed."""

    def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncIterable[bytes]: ...


class _Event(msgspec.Struct, frozen=True, rename="camel"):
    metadata: ObjectMeta = ObjectMeta()
    reason: str = ""
    message: str = ""
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None

    @property
    def last(self) -> datetime:
        """When the Event was last repeated."""
        times = (self.last_timestamp, self.event_time, self.metadata.creation_timestamp)
        return max(
            (time for time in times if time is not None), default=datetime.min.replace(tzinfo=UTC)
        )

    @property
    def since(self) -> datetime:
        """When the Event first happened."""
        return self.first_timestamp or self.event_time or self.last


class _Events(msgspec.Struct, frozen=True):
    items: tuple[_Event, ...] = ()


async def cause_of_missing_pods(api: EventReads, action: FindCauseOfMissingPods) -> Done | Refusal:
    """The last Event of the set's controller about pods that it could not create."""
    selector = f"involvedObject.uid={action.uid},type=Warning"
    found: list[_Event] = []
    try:
        async for page in api.list_pages(
            CORE_EVENTS, action.workload.namespace, field_selector=selector
        ):
            found += msgspec.json.decode(page, type=_Events).items
    except Forbidden:
        return Done()
    failed = [event for event in found if event.reason.startswith("Failed")]
    if not failed:
        return Done()
    last = max(failed, key=lambda event: event.last)
    since = f"{last.since.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
    return Refusal(
        last.reason,
        f"{action.counts}; {last.message} (since {since})",
        object=str(action.workload),
        retry_after=LOOK_AGAIN,
    )
