"""Every request of one release to the API server. A change that adds one to every step fails here.

Events are not among them: they are sent beside the passes. The limits of a real control plane, Events included, are in
`tests/cluster/test_cost.py`.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from controller.api.rollout import Phase
from controller.kube.resources import Resource
from controller.simulation.api_server.server import MemoryApi
from controller.simulation.state import Delays, resource_of_kind
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    make_deployment,
    make_rollout,
    make_step,
    make_strategy,
    make_world,
    release,
    status_of,
)
from tests.unit.worlds import World

VERBS = ("get", "create", "replace", "merge_patch", "json_patch", "delete")
DELAYS = Delays(timedelta(seconds=0.3), timedelta(seconds=0.3))
REPLICAS = {"canary": 5, "partition": 10}
PERCENT = {"canary": 20, "partition": 10}

STEPS = 5
STATUS = "patch rollouts/status"
OF_BOTH = {
    "patch services": 3,
    "create services": 1,
    "delete services": 1,
    "replace virtualservices": 7,
    "patch virtualservices": 1,
    # A rollback needs the stable template and the owner's values, and more people may write the status than the
    # workload: a release keeps them in an object of its own, and deletes that at its end.
    "create controllerrevisions": 1,
    "delete controllerrevisions": 1,
}
EXPECTED = {
    "canary": {
        **OF_BOTH,
        STATUS: 14,
        # One more of each is a dry run: a quota or a policy that refuses the extra Deployment, or the canary Service,
        # stalls the release before it changes anything.
        "create deployments": 2,
        "create services": 2,
        "patch deployments": 6,
        "delete deployments": 1,
        "patch pods": 5,
    },
    "partition": {**OF_BOTH, STATUS: 20, "patch deployments": 12, "patch pods": 10},
}


class Asked:
    """The requests to the API server from now on."""

    def __init__(self, server: MemoryApi) -> None:
        self.found: Counter[str] = Counter()
        for verb in VERBS:
            setattr(server, verb, self._noting(verb, getattr(server, verb)))

    def _noting(
        self, verb: str, send: Callable[..., Awaitable[bytes]]
    ) -> Callable[..., Awaitable[bytes]]:
        async def sent(resource: Resource, *rest: object, **named: object) -> bytes:
            subresource = "/status" if "status" in rest else ""
            self.found[f"{verb.split('_')[-1]} {resource.plural}{subresource}"] += 1
            return await send(resource, *rest, **named)

        return sent


def at_rest(style: str) -> World:
    """Five automatic steps, as the bench has them."""
    shares = [f"{PERCENT[style] * number}%" for number in range(1, 6)]
    steps = tuple(make_step(share, share, pause=0) for share in shares)
    rollout = make_rollout(strategy=make_strategy(steps=steps, style=style, grace=1))
    return make_world(rollout, make_deployment(replicas=REPLICAS[style]), delays=DELAYS)


@pytest.mark.parametrize("style", ["canary", "partition"])
def test_a_release_of_five_steps_sends_exactly_these_requests(style: str) -> None:
    world = at_rest(style)
    asked = Asked(world.cluster.server)
    release(world)
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert asked.found == EXPECTED[style]


@pytest.mark.parametrize("style", ["canary", "partition"])
def test_a_release_asks_whether_its_gateway_took_each_step_by_no_more_requests(style: str) -> None:
    world = at_rest(style)
    world.scripts.confirming.add("VirtualService")
    found = world.raw_route(NAMESPACE, "VirtualService", "web")
    resource = resource_of_kind("networking.istio.io/v1", "VirtualService")
    place = (resource.group, resource.plural)
    world.cluster.server.storage.put(place, KEY, {**(found or {}), "status": {"says": True}})
    world.rest()
    asked = Asked(world.cluster.server)
    release(world)
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert asked.found == EXPECTED[style]
    assert world.scripts.questions == STEPS


@pytest.mark.parametrize("style", ["canary", "partition"])
def test_a_process_that_takes_over_during_a_release_reads_the_stable_service_once(
    style: str,
) -> None:
    world = at_rest(style)
    asked = Asked(world.cluster.server)
    release(world)
    world.run_until(lambda: asked.found["patch services"] == 1)
    world.restart()
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert asked.found["get services"] == 1
