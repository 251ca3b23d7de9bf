"""When Python looks for garbage among the objects of the caches: not while they are filled, and not among them later.

Why: a full collection goes through every object that there is, and as many as ten thousand Rollouts and their pods are
come in one go; it held up the event loop for 0.4 s, again and again, which is longer than anything else here does.
Invariant: young objects are looked through all the time, so that garbage of a start that takes long goes. What is
frozen has no cycles of its own: it goes when the last reference to it goes. It must be begun once in a process.
"""

import gc

NEVER = 1_000_000
"""Collections of middle-aged objects before one of all objects: hours of a start."""


class FillingCaches:
    """From the start of a process until its caches are full."""

    def __init__(self) -> None:
        gc.freeze()  # modules stay for good: no collection has to look at them
        self._usual = gc.get_threshold()
        gc.set_threshold(*self._usual[:2], NEVER)

    def ends(self) -> None:
        """The caches are full."""
        gc.freeze()
        gc.set_threshold(*self._usual)
