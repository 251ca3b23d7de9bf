"""Scenarios that run at the same time, each in a namespace of its own, and are reported one by one.

Why it exists: a release spends most of its time waiting for pods and grace periods. Invariant: only scenarios that
were selected run; a scenario's failure is its own test's failure; nothing runs on in the background of another test.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

Scenario = Callable[[], Awaitable[None]]


class Together:
    """Runs scenarios, at most `width` at once; the first requested result starts them all."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def start(self, scenarios: Iterable[tuple[str, Scenario]]) -> None:
        """Start the scenarios that have not been started."""
        room = asyncio.Semaphore(self._width)

        async def run(scenario: Scenario) -> None:
            async with room:
                await scenario()

        for name, scenario in scenarios:
            if name not in self._tasks:
                self._tasks[name] = asyncio.create_task(run(scenario), name=name)

    def tasks(self) -> tuple[asyncio.Task[None], ...]:
        """The tasks that have been begun."""
        return tuple(self._tasks.values())

    def with_those_of(self, others: "Together") -> "Together":
        """These scenarios and others, whose results are requested in one place."""
        self._tasks |= others._tasks
        return self

    async def ended(self) -> None:
        """Return when all scenarios have ended, well or not."""
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def result(self, name: str) -> None:
        """Return when all scenarios have ended and this one well; raise what it raised."""
        await self.ended()
        await self._tasks[name]
