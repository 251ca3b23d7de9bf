"""Releases a fleet that has been released before.

Why it exists: the status of a Rollout says that the last release succeeded until the next one begins. Invariant: a
Rollout is done when it was seen at work and then Healthy. It must not judge.
"""

import asyncio

from localcluster.api import JsonObject
from tests.bench.fleet import Fleet, change, healthy
from tests.bench.follow import Key, View
from tests.bench.ground import Ground

ROUND_SECONDS = 300.0


async def release_again(ground: Ground, made: Fleet, version: str, undo: str = "") -> None:
    """Release a version in all applications; as soon as all have begun, release `undo` instead if it is given."""
    begun: set[Key] = set()
    done: set[Key] = set()
    all_begun, all_done = asyncio.Event(), asyncio.Event()

    def heard(view: View) -> None:
        if view.key.namespace != made.namespace:
            return
        if not healthy(view):
            begun.add(view.key)
        elif view.key in begun:
            done.add(view.key)
        if len(begun) == len(made.names):
            all_begun.set()
        if len(done) == len(made.names):
            all_done.set()

    async with ground.rollouts.listening(heard), asyncio.timeout(ROUND_SECONDS):
        await change(ground, made, _template(version))
        if undo:
            await all_begun.wait()
            await change(ground, made, _template(undo))
        await all_done.wait()


def _template(version: str) -> JsonObject:
    return {"spec": {"template": {"metadata": {"annotations": {"version": version}}}}}
