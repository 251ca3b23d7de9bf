"""Worlds in the middle of a release, and ways to look at them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from controller.api.meta import Key
from controller.api.rollout import Step
from controller.simulation.world import World
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    make_deployment,
    make_rollout,
    make_world,
    release,
    wait,
)
from tests.unit.simulation.invariants import Watch

T = TypeVar("T")


def started(
    style: str = "partition",
    steps: tuple[Step, ...] | None = None,
    *,
    replicas: int = 10,
    traffic: bool = True,
    watched: bool = True,
) -> World:
    """A release of v2, at rest where it waits first; the invariants are watched from then on.

    Not `watched` where the test itself takes pods or Services away.
    """
    rollout = make_rollout(style=style, steps=steps, traffic=traffic)
    world = make_world(rollout, make_deployment(replicas=replicas))
    if watched:
        Watch(world)
    release(world)
    world.rest()
    return world


def approve(world: World) -> None:
    """An approval that cannot be taken for a repeat, and what comes of it."""
    wait(world, 3)
    world.people.approve(KEY)
    world.rest()


def history(world: World, look: Callable[[], T]) -> list[T]:
    """Every different value `look` has from now on, in order."""
    seen = [look()]

    def note() -> None:
        value = look()
        if value != seen[-1]:
            seen.append(value)

    world.watchers.append(note)
    return seen


def first_instants(world: World, **facts: Callable[[], bool]) -> dict[str, datetime]:
    """When each fact is first so, from now on, in the order in which that happened."""
    seen: dict[str, datetime] = {}

    def note() -> None:
        for name, fact in facts.items():
            if name not in seen and fact():
                seen[name] = world.cluster.now

    world.watchers.append(note)
    return seen


def pin_of(world: World, service: str = "web") -> str:
    """Revision a Service is pinned to; `gone` where there is no such Service."""
    found = world.cluster.services.get(Key(NAMESPACE, service))
    return found.spec.selector.get("pod-template-hash", "") if found is not None else "gone"


def seconds(count: float) -> timedelta:
    """A span of time."""
    return timedelta(seconds=count)
