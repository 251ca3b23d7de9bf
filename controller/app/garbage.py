"""Delays Python's full garbage collections while caches are filled and every Rollout gets its first pass.

Why: a full collection visits every object, and ten thousand Rollouts and their pods arrive together; it held up the
event loop for 0.4 s, again and again, longer than anything else here. Invariant: young objects are still collected, so
garbage of a long start is freed. Objects that are frozen afterwards have no cycles of their own: each is freed with its
last reference. It must be created once in a process.
"""

import asyncio
import gc

NEVER = 1_000_000
"""Collections of middle-aged objects before one of all objects: hours of a start."""
FIRST_PASSES = 60.0
"""Seconds in which the first passes create as many objects as the lists did: named kinds, states of routes."""


class FullCollections:
    """Full collections, delayed from the start of a process."""

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
