"""An end of a release leaves no Service of a shared TrafficRouting without a pod."""

import pytest
from msgspec import structs

from controller.api.meta import Key
from controller.api.rollout import Phase
from controller.domain import reasons
from controller.domain.rollout.words.status import condition
from tests.unit.builders import make_steps, template
from tests.unit.domain.trafficrouting.scenes import TWENTY, A, lane, shared_world
from tests.unit.worlds import World


def edited(world: World, rel: str, version: str) -> None:
    """The template has another image and another label."""
    world.people.edit(A, template=template(version, {"app": "a", "rel": rel}))


def selecting(world: World, **selector: str) -> None:
    service = world.cluster.services[A]
    spec = structs.replace(service.spec, selector={"app": "a", **selector})
    world.cluster.services.put(structs.replace(service, spec=spec))


def behind(world: World, name: Key = A) -> int:
    pods = world.cluster.selected(world.cluster.services[name])
    return sum(pod.ready_since is not None for pod in pods)


@pytest.mark.parametrize("style", ["partition", "canary"])
def test_a_rollback_keeps_the_last_endpoint_of_a_shared_service(style: str) -> None:
    """Selector and label changed together; the undo changes the label alone back."""
    world = shared_world(
        "a",
        routing=lane("a", strategy=TWENTY),
        style=style,
        steps=make_steps("50%", traffic=False),
    )
    edited(world, "b", "v2")
    selecting(world, rel="b")
    world.rest()
    fewest: list[int] = []
    world.watchers.append(lambda: fewest.append(behind(world)))
    world.people.edit(A, template=template("v1", {"app": "a"}))
    world.rest()
    status = world.cluster.rollouts[A].status
    stalled = condition(status, "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", reasons.SERVICE_SELECTS_NO_POD)
    assert "Service shop/a: its selector app=a,rel=b matches none of the stable" in stalled.message
    selecting(world)
    world.rest()
    assert world.cluster.rollouts[A].status.phase == Phase.HEALTHY
    assert behind(world) == 3
    assert min(fewest) > 0
