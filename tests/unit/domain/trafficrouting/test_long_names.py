"""A Rollout whose name is longer than a finalizer's last part may be joins and leaves like any other."""

from controller.api.meta import Key
from tests.unit.builders import NAMESPACE
from tests.unit.domain.trafficrouting.scenes import (
    approve,
    change,
    lane,
    routing_of,
    shared_world,
    state,
)

LONG = Key(NAMESPACE, "checkout-" * 10 + "web")


def test_a_rollout_with_a_long_name_joins_and_leaves() -> None:
    world = shared_world(LONG.name, routing=lane(LONG.name))
    change(world, LONG)
    world.rest()
    parts = [name.partition("/")[2] for name in routing_of(world).metadata.finalizers]
    assert all(len(part) <= 63 for part in parts), "the API server refuses longer ones"
    assert [member.rollout for member in routing_of(world).status.members] == [LONG.name]
    assert routing_of(world).status.members[0].routed
    for _ in range(2):
        approve(world, LONG)
    assert state(world, LONG) == "Completed"
    assert not [n for n in routing_of(world).metadata.finalizers if n.startswith("progressing")]
