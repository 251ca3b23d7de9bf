"""A replica that was asked to stop goes on answering until nobody calls it any more.

Why it exists: between the end of a pod and the moment when every API server and proxy has heard of that, reviews still
come, and a closed port refuses changes of workloads. Invariant: after the signal the replica is not ready at once, its
Lease is free at once, its port stays open for the delay, and each answer asks its client for another connection. A
process that ends because a part failed does not wait. It must not know what is served.
"""

import asyncio

STOPPING_TAKES = 5.0
"""Seconds that the part itself may take beside the delay."""


class ShutdownDelay:
    """A part of the process that delays the end of the parts that were started before it."""

    def __init__(self, delay: float) -> None:
        """`delay` in seconds; 0 if nobody learns of the end (a process on one machine)."""
        self._delay = delay
        self._stop: asyncio.Event | None = None

    @property
    def begun(self) -> bool:
        """Whether the process was asked to stop."""
        return self._stop is not None and self._stop.is_set()

    @property
    def problem(self) -> str | None:
        """Why the replica is not ready."""
        return "asked to stop" if self.begun else None

    @property
    def stop_within(self) -> float:
        """Seconds that the supervisor has to give."""
        return self._delay + STOPPING_TAKES

    def watch(self, stop: asyncio.Event) -> None:
        """Take `stop` as the sign that the process was asked to stop."""
        self._stop = stop

    async def run(self) -> None:
        """Wait to be cancelled; after a sign to stop, hold that up for the delay."""
        try:
            await asyncio.Event().wait()
        finally:
            if self.begun:
                await asyncio.sleep(self._delay)
