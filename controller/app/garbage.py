"""When Python looks for garbage among all objects: not while caches are filled and every Rollout is looked at once.

Why: a full collection goes through every object that there is, and ten thousand Rollouts and their pods come in one go;
it held up the event loop for 0.4 s, again and again, which is longer than anything else here does. Invariant: young
objects are looked through all the time, so that garbage of a start that takes long goes. What is frozen after it has no
cycles of its own: it goes when the last reference to it goes. It must be made once in a process.
"""

import asyncio
import gc

NEVER = 1_000_000
"""Collections of middle-aged objects before one of all objects: hours of a start."""
FIRST_PASSES = 60.0
"""Seconds in which the first passes make as many objects as the lists: the kinds that are named, states of routes."""


class FullCollections:
    """Put off from the start of a process on."""

    def __init__(self) -> None:
        gc.freeze()  # modules are never freed, so the garbage collector need not visit them
        self._usual = gc.get_threshold()
        self._timer: asyncio.TimerHandle | None = None
        self._put_off()

    def await_first_passes(self) -> None:
        """The caches are full, or the Lease was taken: passes over everything begin now."""
        self._put_off()
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(FIRST_PASSES, self._resume)

    def _put_off(self) -> None:
        gc.set_threshold(*self._usual[:2], NEVER)

    def _resume(self) -> None:
        self._timer = None
        gc.freeze()
        gc.set_threshold(*self._usual)
