"""Rollouts in every state, as the simulated cluster stores them: released, held, stalled, undone, disabled, deleted.

Why the simulation: these are the statuses that the controller's own decisions write, in the order in which it does.
"""

import functools
from collections.abc import Iterator

import msgspec

from controller.api.rollout import BlueGreenStrategy, Rollout
from controller.domain.decision import Refusal
from controller.kube.resources import ROLLOUTS
from tests.unit.builders import (
    KEY,
    VIRTUAL_SERVICE,
    make_deployment,
    make_rollout,
    make_routing,
    make_steps,
    make_strategy,
    make_world,
    release,
    with_spec,
)
from tests.unit.worlds import World

STYLES = ("partition", "canary", "blueGreen")
KIND = (ROLLOUTS.group, ROLLOUTS.plural)


@functools.cache
def every_state() -> tuple[Rollout, ...]:
    """Each status that was written, once."""
    found: dict[bytes, Rollout] = {}
    for style in STYLES:
        for story in (_to_the_end, _held, _stalled, _back, _disabled, _timed, _deleted, _alone):
            for rollout in _written(story(style)):
                body = msgspec.json.encode(
                    (rollout.spec, rollout.status, rollout.metadata.deleting)
                )
                found.setdefault(body, rollout)
    return tuple(found.values())


def _written(world: World) -> Iterator[Rollout]:
    for change in world.cluster.server.storage.since(0):
        if change.kind == KIND and change.type != "DELETED":
            yield msgspec.convert(change.object, type=Rollout)


def _begun(style: str, pause: int | None = None) -> World:
    steps = make_steps("20%", "50%", "100%", pause=pause)
    strategy = make_strategy(steps=steps, style="partition" if style == "blueGreen" else style)
    strategy = msgspec.structs.replace(
        strategy, traffic_routings=(make_routing("web", VIRTUAL_SERVICE),)
    )
    rollout = make_rollout(strategy=strategy)
    if style == "blueGreen":
        plan = BlueGreenStrategy(steps=steps, traffic_routings=strategy.traffic_routings)
        whole = msgspec.structs.replace(rollout.spec.strategy, canary=None, blue_green=plan)
        rollout = with_spec(rollout, strategy=whole)
    world = make_world(rollout, make_deployment(replicas=5))
    world.rest()
    release(world)
    world.rest()
    return world


def _to_the_end(style: str) -> World:
    world = _begun(style)
    for _ in range(3):
        world.people.approve(KEY)
        world.rest()
    return world


def _held(style: str) -> World:
    world = _begun(style)
    world.people.pause(KEY)
    world.rest()
    world.people.pause(KEY, paused=False)
    world.rest()
    return world


def _stalled(style: str) -> World:
    world = _begun(style)
    world.people.forbid("EnsureRoutes", Refusal("Forbidden", "may not write"))
    world.people.approve(KEY)
    world.rest()
    return world


def _back(style: str) -> World:
    world = _begun(style)
    release(world, "v1")
    world.rest()
    return world


def _disabled(style: str) -> World:
    world = _begun(style)
    world.people.disable(KEY)
    world.rest()
    return world


def _timed(style: str) -> World:
    return _begun(style, pause=5)


def _deleted(style: str) -> World:
    world = _begun(style)
    world.cluster.rollouts.delete(KEY)
    world.rest()
    return world


def _alone(style: str) -> World:
    """Its workload is gone."""
    world = _begun(style)
    world.cluster.deployments.delete(KEY)
    world.rest()
    return world
