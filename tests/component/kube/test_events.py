"""Events: one object per note, however often it is made."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator

import msgspec

from controller.api.meta import ObjectMeta
from controller.kube.event_gathering import HOLD_SECONDS
from controller.kube.events import KNOWN, QUEUE, EventRecorder
from controller.kube.resources import ROLLOUTS
from tests.component.kube.faulty_server import FaultyServer, answering, connected, resetting, status
from tests.component.runtime.virtual_time import VirtualClock, virtual_time

WEB = ObjectMeta(name="web", namespace="shop", uid="u1", resource_version="9")


class Dropped:
    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()

    def event_dropped(self, reason: str) -> None:
        self.reasons[reason] += 1


@contextlib.asynccontextmanager
async def recording(
    server: FaultyServer, metrics: Dropped | None = None
) -> AsyncIterator[EventRecorder]:
    async with server.running(), connected(server) as client:
        recorder = EventRecorder(
            client,
            component="moonshift",
            instance="pod-1",
            clock=VirtualClock(),
            metrics=metrics,
            gathered=frozenset({"Progressing"}),
        )
        task = asyncio.create_task(recorder.run())
        try:
            yield recorder
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@virtual_time
async def test_a_note_becomes_a_complete_event() -> None:
    server = FaultyServer(others=[answering(201, b"{}")])
    async with recording(server) as recorder:
        recorder.record(ROLLOUTS, WEB, "Normal", "StepReady", "step 1 is ready", "Advance")
        await recorder.drain()
    (request,) = server.requests
    assert request.path == "/apis/events.k8s.io/v1/namespaces/shop/events"
    sent = request.json()
    assert sent["reportingController"] == "moonshift"
    assert sent["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert (sent["type"], sent["reason"], sent["note"], sent["action"]) == (
        "Normal",
        "StepReady",
        "step 1 is ready",
        "Advance",
    )
    assert sent["regarding"]["apiVersion"] == "rollouts.kruise.io/v1beta1"
    assert sent["metadata"]["name"].startswith("web.")


@virtual_time
async def test_a_repeated_note_is_one_object_patched_at_most_every_five_minutes() -> None:
    server = FaultyServer(others=[answering(201, b"{}")])
    async with recording(server) as recorder:
        for _ in range(700):
            recorder.record(ROLLOUTS, WEB, "Warning", "Refused", "no such script")
            await asyncio.sleep(1)
        await recorder.drain()
    assert [request.method for request in server.requests] == ["POST", "PATCH", "PATCH"]
    name = server.requests[0].json()["metadata"]["name"]
    assert server.requests[1].path.endswith(f"/events/{name}")
    assert server.requests[1].json()["series"]["count"] == 301


@virtual_time
async def test_another_message_is_another_object() -> None:
    server = FaultyServer(others=[answering(201, b"{}")])
    async with recording(server) as recorder:
        recorder.record(ROLLOUTS, WEB, "Normal", "StepReady", "step 1")
        recorder.record(ROLLOUTS, WEB, "Normal", "StepReady", "step 2")
        await recorder.drain()
    assert len({request.json()["metadata"]["name"] for request in server.requests}) == 2


def notes_of(server: FaultyServer) -> list[str]:
    return [request.json()["note"] for request in server.requests]


@virtual_time
async def test_steps_that_follow_each_other_within_seconds_share_an_event() -> None:
    server = FaultyServer(others=[answering(201, b"{}")])
    async with recording(server) as recorder:
        for step in range(1, 6):
            recorder.record(ROLLOUTS, WEB, "Normal", "Progressing", f"step({step}) done")
            await asyncio.sleep(2)
        assert notes_of(server) == ["step(1) done"]
        await asyncio.sleep(HOLD_SECONDS)
    later = "step(2) done; step(3) done; step(4) done; step(5) done"
    assert notes_of(server) == ["step(1) done", later]
    assert server.requests[1].json()["eventTime"] == "2026-01-01T00:00:02.000000Z"


@virtual_time
async def test_nothing_of_an_object_that_is_gone_is_remembered() -> None:
    server = FaultyServer(others=[answering(201, b"{}")])
    async with recording(server) as recorder:
        for step in range(5):
            recorder.record(ROLLOUTS, WEB, "Normal", "StepReady", f"step {step}")
        recorder.forget(ROLLOUTS, WEB.key)
        await recorder.drain()
        assert not recorder._known
        assert recorder._number == 0
    assert notes_of(server) == [f"step {step}" for step in range(5)]


@virtual_time
async def test_a_note_that_was_held_is_written_after_its_object_is_gone_and_is_not_remembered() -> (
    None
):
    server = FaultyServer(others=[answering(201, b"{}")])
    async with recording(server) as recorder:
        for step in (1, 2, 3):
            recorder.record(ROLLOUTS, WEB, "Normal", "Progressing", f"step({step}) done")
        recorder.forget(ROLLOUTS, WEB.key)
        await asyncio.sleep(HOLD_SECONDS + 1)
        assert not recorder._known
        assert recorder._number == 0
    assert notes_of(server) == ["step(1) done", "step(2) done; step(3) done"]


@virtual_time
async def test_the_object_whose_last_event_is_the_oldest_is_forgotten_first() -> None:
    server = FaultyServer(others=[answering(201, b"{}")])
    async with recording(server) as recorder:
        for number in range(KNOWN // 2 + 1):
            other = msgspec.structs.replace(WEB, name=f"web-{number}", uid=f"u{number}")
            for step in (1, 2):
                recorder.record(ROLLOUTS, other, "Normal", "StepReady", f"step {step}")
        known = {key.name for _, key in recorder._known}
        assert recorder._number == KNOWN
        assert known == {f"web-{number}" for number in range(1, KNOWN // 2 + 1)}


@virtual_time
async def test_held_back_events_are_written_before_the_process_ends() -> None:
    server = FaultyServer(others=[answering(201, b"{}")])
    async with recording(server) as recorder:
        for step in (1, 2):
            recorder.record(ROLLOUTS, WEB, "Normal", "Progressing", f"step({step}) done")
        await recorder.drain()
    assert notes_of(server) == ["step(1) done", "step(2) done"]


@virtual_time
async def test_a_note_that_a_predecessor_made_is_continued() -> None:
    server = FaultyServer(
        others=[answering(409, status(409, "AlreadyExists")), answering(200, b"{}")]
    )
    async with recording(server) as recorder:
        recorder.record(ROLLOUTS, WEB, "Normal", "StepReady", "step 1")
        await recorder.drain()
    assert [request.method for request in server.requests] == ["POST", "PATCH"]
    assert server.requests[1].json()["series"]["count"] == 2


@virtual_time
async def test_a_note_whose_event_expired_is_reported_again() -> None:
    server = FaultyServer(
        others=[
            answering(201, b"{}"),
            answering(404, status(404, "NotFound")),
            answering(201, b"{}"),
        ]
    )
    async with recording(server) as recorder:
        recorder.record(ROLLOUTS, WEB, "Normal", "StepReady", "step 1")
        await asyncio.sleep(3601)
        recorder.record(ROLLOUTS, WEB, "Normal", "StepReady", "step 1")
        await recorder.drain()
    assert [request.method for request in server.requests] == ["POST", "PATCH", "POST"]


@virtual_time
async def test_events_beyond_the_queue_are_counted_and_recording_never_waits() -> None:
    async with FaultyServer().running() as server, connected(server) as client:
        metrics = Dropped()
        recorder = EventRecorder(
            client, component="moonshift", instance="p", clock=VirtualClock(), metrics=metrics
        )
        for number in range(QUEUE + 5):
            recorder.record(ROLLOUTS, WEB, "Normal", "StepReady", f"step {number}")
    assert metrics.reasons == {"full": 5}


@virtual_time
async def test_an_event_that_cannot_be_written_is_given_up_and_the_next_one_is_tried() -> None:
    metrics = Dropped()
    server = FaultyServer(others=[resetting, resetting, resetting, answering(201, b"{}")])
    async with recording(server, metrics) as recorder:
        recorder.record(ROLLOUTS, WEB, "Normal", "A", "first")
        recorder.record(ROLLOUTS, WEB, "Normal", "B", "second")
        await recorder.drain(60)
    assert metrics.reasons == {"failed": 1}
    assert server.requests[-1].json()["note"] == "second"


@virtual_time
async def test_an_event_of_a_namespace_that_goes_keeps_no_other_waiting() -> None:
    metrics = Dropped()
    refused = answering(403, status(403, "Forbidden"))
    server = FaultyServer(others=[refused, answering(201, b"{}")])
    async with recording(server, metrics) as recorder:
        recorder.record(ROLLOUTS, WEB, "Normal", "A", "first")
        recorder.record(ROLLOUTS, WEB, "Normal", "B", "second")
        await recorder.drain(60)
    assert metrics.reasons == {"failed": 1}
    assert [request.json()["note"] for request in server.requests] == ["first", "second"]


@virtual_time
async def test_long_texts_are_cut_to_the_length_that_the_server_accepts() -> None:
    server = FaultyServer(others=[answering(201, b"{}")])
    long_name = ObjectMeta(name="w" * 253, namespace="shop", uid="u")
    async with recording(server) as recorder:
        recorder.record(ROLLOUTS, long_name, "Warning", "R" * 200, "ü" * 2000)
        await recorder.drain()
    sent = server.requests[0].json()
    assert len(sent["note"].encode()) == 1024
    assert len(sent["reason"]) == 128
    assert len(sent["metadata"]["name"]) <= 253
