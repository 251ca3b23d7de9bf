"""Partition style: the limits of a held Deployment follow from plan, step and its present size, from nothing before."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.api.quantity import IntOrPercent
from controller.api.workloads import RollingUpdate
from controller.domain.pods.deployment import RollingLimits, write_rolling_limits
from controller.domain.pods.plan import batch_size
from tests.unit.builders import KEY, make_steps, sizes_of, workload_of
from tests.unit.domain.rollout.scenes import approve, started
from tests.unit.worlds import World


def limits_of(world: World) -> RollingUpdate | None:
    """maxSurge and maxUnavailable in force."""
    return workload_of(world).spec.strategy.rolling_update


def scaled(world: World, size: int) -> None:
    """Scale the workload to this number of replicas, and let it come to rest."""
    world.people.edit(KEY, replicas=size)
    world.rest()


@settings(max_examples=25, deadline=None)
@given(
    share=st.sampled_from([1, 2, "20%", "50%"]),
    sizes=st.lists(st.integers(3, 30), min_size=1, max_size=4),
)
def test_any_sizes_end_with_the_limits_of_the_last(share: IntOrPercent, sizes: list[int]) -> None:
    plan = make_steps(share, "90%")
    world = started(steps=plan, traffic=False, watched=False)
    for size in sizes:
        scaled(world, size)
    written = write_rolling_limits(RollingLimits(0, batch_size(plan, 1, sizes[-1])), sizes[-1])
    assert limits_of(world) == RollingUpdate(written.max_surge, written.max_unavailable)
    assert sum(sizes_of(world).values()) == sizes[-1]


@pytest.mark.parametrize("sizes", [(3, 10), (4, 20, 5, 10), (30, 10)])
def test_a_count_does_not_grow_with_the_sizes_that_came_between(sizes: tuple[int, ...]) -> None:
    world = started(steps=make_steps(1, "90%"), traffic=False, watched=False)
    for size in sizes:
        scaled(world, size)
    assert limits_of(world) == RollingUpdate("0%", "10%")


def test_a_step_back_keeps_the_limits_of_the_step_it_came_from() -> None:
    """Its pods stay: a smaller limit would say something that is not so."""
    world = started(steps=make_steps("20%", "50%", "90%"), traffic=False, watched=False)
    approve(world)
    world.people.jump(KEY, 1)
    world.rest()
    assert sizes_of(world) == {"v1": 5, "v2": 5}
    assert limits_of(world) == RollingUpdate("0%", "50%")


def test_no_stable_pod_goes_for_a_limit_alone() -> None:
    """Nothing new is there yet: the new pod comes first."""
    world = started(steps=make_steps("20%", "90%"), traffic=False, watched=False)
    fewest = [10]
    world.watchers.append(lambda: fewest.append(sum(sizes_of(world).values())))
    for size in (20, 10):
        scaled(world, size)
    assert min(fewest) >= 10
    assert sizes_of(world) == {"v1": 8, "v2": 2}
