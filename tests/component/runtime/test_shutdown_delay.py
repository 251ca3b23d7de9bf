"""A replica that was asked to stop delays its end; a replica with a failed part does not."""

import asyncio

from controller.runtime.shutdown_delay import ShutdownDelay
from controller.runtime.supervisor import Part, Supervisor


async def _stops(stopped: list[str], name: str) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        stopped.append(name)


async def test_serving_stops_after_the_delay_and_leading_before_it() -> None:
    stop, stopped = asyncio.Event(), list[str]()
    shutdown_delay = ShutdownDelay(delay=0.05)
    shutdown_delay.watch(stop)
    lease_was_free: list[bool] = []

    async def held_up() -> None:
        try:
            await shutdown_delay.run()
        finally:
            lease_was_free.append(stopped == ["rollouts"])

    parts = [
        Part("webhooks", lambda: _stops(stopped, "webhooks")),
        Part("farewell", held_up, shutdown_delay.stop_within),
        Part("rollouts", lambda: _stops(stopped, "rollouts")),
    ]
    assert shutdown_delay.problem is None
    running = asyncio.create_task(Supervisor(parts, stop).run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    stop.set()
    assert shutdown_delay.problem == "asked to stop"
    await running
    assert lease_was_free == [True]
    assert stopped == ["rollouts", "webhooks"]


async def test_a_process_that_was_not_asked_to_stop_does_not_wait() -> None:
    shutdown_delay = ShutdownDelay(delay=3600.0)
    shutdown_delay.watch(asyncio.Event())
    running = asyncio.create_task(shutdown_delay.run())
    await asyncio.sleep(0)
    running.cancel()
    await asyncio.wait((running,), timeout=60)
    assert running.cancelled()
