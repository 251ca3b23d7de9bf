"""Several stories that run in step, so that one event of the controller affects all of them.

Invariant: a story that fails drops out and does not hold up the others; its error is kept under its title.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable, Mapping

from tests.cluster.story import Story

UserAction = Callable[[Story], Awaitable[object]]


class Crowd:
    """Stories by title."""

    def __init__(self, stories: Mapping[str, Story]) -> None:
        self._going = dict(stories)
        self.failures: dict[str, str] = {}
        """The errors of the stories that failed, by title."""

    async def all(self, action: UserAction) -> None:
        """Run one action in all stories; returns when the last story has finished it."""
        titles = list(self._going)
        done = await asyncio.gather(
            *(action(self._going[title]) for title in titles), return_exceptions=True
        )
        for title, outcome in zip(titles, done, strict=True):
            if isinstance(outcome, BaseException):
                self.failures[title] = "".join(traceback.format_exception(outcome))
                del self._going[title]
