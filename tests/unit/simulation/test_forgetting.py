"""After a Rollout is deleted, no object that the passes keep contains its name."""

import gc
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.simulation.passes import Passes
from tests.unit import builders
from tests.unit.builders import make_deployment, make_rollout, make_service, make_steps, template
from tests.unit.worlds import World

GONE = "shop-of-a-branch"
CODE = (ModuleType, FunctionType, BuiltinFunctionType, CodeType, type)


def kept_by(passes: Passes) -> list[Any]:
    """Every object that the passes keep, without the objects of the simulation itself: the API server and its
    history."""
    state = passes.state
    elsewhere = (state, state.server, state.projections, passes, passes.decided, passes.notes)
    seen = {id(one) for one in elsewhere}
    found: list[Any] = []
    reconcilers = (passes._reconcile, passes._reconcile_routing)
    left: list[Any] = [passes._builder, passes.gates, passes.woken, *reconcilers]
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, CODE):
            continue
        seen.add(id(one))
        found.append(one)
        left += gc.get_referents(one)
    return found


def named(passes: Passes) -> list[str | bytes]:
    """Texts that name the Rollout, or its namespace."""
    kept = kept_by(passes)
    texts = [one for one in kept if isinstance(one, str) and GONE in one]
    return [*texts, *(one for one in kept if isinstance(one, bytes) and GONE.encode() in one)]


def released(style: str, turns: int) -> World:
    """A world after a release in a namespace of its own, this number of turns after another one began."""
    world, key = World(builders.NOW), Key(GONE, "web")
    world.cluster.deployments.put(here(make_deployment(replicas=2)))
    world.cluster.services.put(here(make_service()))
    world.put_route(GONE, "VirtualService", "web")
    world.rest()
    rollout = make_rollout(steps=make_steps("50%", "100%", pause=0), style=style)
    world.cluster.rollouts.put(here(rollout))
    world.rest()
    world.people.edit(key, template=template("v2"))
    world.rest()
    world.people.edit(key, template=template("v3"))
    for _ in range(turns):
        world.advance()
    return world


def here(found: Any) -> Any:
    """The object, in the namespace."""
    return structs.replace(found, metadata=structs.replace(found.metadata, namespace=GONE))


@pytest.mark.parametrize("turns", range(0, 24, 3))
@pytest.mark.parametrize("style", ["partition", "canary"])
def test_nothing_of_a_deleted_rollout_is_remembered(style: str, turns: int) -> None:
    world, key = released(style, turns), Key(GONE, "web")
    assert named(world.passes), "the passes know it as long as it is there"
    world.cluster.rollouts.delete(key)
    world.rest()
    assert world.cluster.rollouts.get(key) is None
    world.cluster.deployments.delete(key)
    world.cluster.services.delete(key)
    world.remove_route(GONE, "VirtualService", "web")
    world.rest()
    assert named(world.passes) == []
