"""A set's controller says in Events why it makes no pods; they are asked for once, by the set's UID."""

from collections.abc import AsyncGenerator

import msgspec
import pytest

from controller.api.meta import Key
from controller.domain.decision import Done, FindCauseOfMissingPods, Refusal
from controller.effects.missing_pods import LOOK_AGAIN, cause_of_missing_pods
from controller.errors import Forbidden
from controller.kube.resources import Resource

ASKED = FindCauseOfMissingPods(
    Key("shop", "web"), "uid-1", "step(1): of 2 new pods 0 made, 0 ready"
)


class Events:
    """The Events of a list, in one page; `forbidden` where the right is missing."""

    def __init__(self, *items: dict[str, object], forbidden: bool = False) -> None:
        self._items = items
        self._forbidden = forbidden
        self.asked: list[tuple[str, str | None, str]] = []

    async def list_pages(
        self,
        resource: Resource,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
    ) -> AsyncGenerator[bytes, None]:
        self.asked.append((resource.name, namespace, field_selector))
        if self._forbidden:
            raise Forbidden("cannot list events", status=403)
        yield msgspec.json.encode({"items": self._items})


def event(reason: str, message: str, **times: str) -> dict[str, object]:
    return {"metadata": {"name": "e"}, "reason": reason, "message": message, **times}


async def test_the_last_message_is_reported_with_the_time_it_was_first_written() -> None:
    events = Events(
        event("FailedCreate", "old news", lastTimestamp="2026-03-01T10:00:00Z"),
        event(
            "FailedCreate",
            "create Pod web-1 failed: exceeded quota",
            firstTimestamp="2026-03-01T11:00:00Z",
            lastTimestamp="2026-03-01T12:00:00Z",
        ),
        event("Unhealthy", "another matter", lastTimestamp="2026-03-01T13:00:00Z"),
    )
    outcome = await cause_of_missing_pods(events, ASKED)
    assert outcome == Refusal(
        "FailedCreate",
        "step(1): of 2 new pods 0 made, 0 ready; create Pod web-1 failed: exceeded quota "
        "(since 2026-03-01 11:00:00Z)",
        object="shop/web",
        retry_after=LOOK_AGAIN,
    )
    assert events.asked == [("events", "shop", "involvedObject.uid=uid-1,type=Warning")]


async def test_an_event_of_the_new_kind_is_read_too() -> None:
    outcome = await cause_of_missing_pods(
        Events(event("FailedCreate", "no", eventTime="2026-03-01T11:00:00Z")), ASKED
    )
    assert isinstance(outcome, Refusal)
    assert outcome.message.endswith("no (since 2026-03-01 11:00:00Z)")


@pytest.mark.parametrize(
    "events", [Events(), Events(event("Unhealthy", "x")), Events(forbidden=True)]
)
async def test_missing_events_and_rights_delay_nothing(events: Events) -> None:
    assert await cause_of_missing_pods(events, ASKED) == Done()
