"""A Service whose pin is over stays un-pinned while an abandoned revision goes."""

import pytest

from tests.unit.builders import (
    KEY,
    make_deployment,
    make_rollout,
    make_world,
    release,
    revision_of,
    sizes_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import finish
from tests.unit.domain.rollout.scenes import approve, history, pin_of


@pytest.mark.parametrize("turns", [2, 4, 6])
def test_a_stable_replica_set_that_goes_while_a_revision_is_abandoned_unpins_its_service_once(
    turns: int,
) -> None:
    """Of one pod every step takes all, so its Service is not pinned; it was when there were ten."""
    world = make_world(make_rollout(style="partition"), make_deployment(replicas=10))
    release(world)
    world.rest()
    approve(world)
    world.people.edit(KEY, replicas=1)
    release(world, "v3")
    for _ in range(turns):
        world.advance()
    pins = history(world, lambda: pin_of(world))
    (stable,) = [r for r in world.cluster.replica_sets if r.revision == revision_of(world, "v1")]
    world.cluster.replica_sets.delete(stable.metadata.key)
    world.rest()
    assert len(pins) <= 3, pins
    finish(world)
    assert sizes_of(world) == {"v3": 1}
    assert pin_of(world) == ""
