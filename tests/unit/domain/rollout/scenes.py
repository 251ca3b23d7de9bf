"""Worlds in the middle of a release, and ways to look at them."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

import pytest

from controller.api.meta import Key
from controller.api.rollout import Step, StepState
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    make_deployment,
    make_rollout,
    make_world,
    release,
    status_of,
    wait,
)
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World

T = TypeVar("T")
STATES = (
    StepState.BEFORE_STEP_UPGRADE,
    StepState.STEP_UPGRADE,
    StepState.STEP_TRAFFIC_ROUTING,
    StepState.STEP_PAUSED,
    StepState.COMPLETED,
)
BOTH = pytest.mark.parametrize("style", ["partition", "canary"])
EVERYWHERE = pytest.mark.parametrize("state", STATES)


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
    """Approve after a wait, so that the approval is no repeat; then run the world until it rests."""
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
    """The time at which each fact first becomes true, in the order of these times."""
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
    if found is None:
        return "gone"
    labels = ("pod-template-hash", "controller-revision-hash")
    return next((found.spec.selector[name] for name in labels if name in found.spec.selector), "")


def seconds(count: float) -> timedelta:
    """A span of time."""
    return timedelta(seconds=count)


def in_state(state: StepState, style: str) -> World:
    """A release of v2 seen in `state` (of step 1; Completed is the end phase)."""
    world = make_world(make_rollout(style=style))
    release(world)
    if state == StepState.COMPLETED:
        world.rest()
        approve(world)
        wait(world, 3)
        world.people.approve(KEY)
    world.run_until(lambda: inner_of(world).current_step_state == state)
    return world


def reason_of(world: World, kind: str = "Progressing") -> str:
    """Reason of a condition of the Rollout; empty if there is none."""
    found = condition(status_of(world), kind)
    return found.reason if found is not None else ""
