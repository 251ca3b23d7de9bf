"""A StatefulSet that is scaled to zero during a release and back: stable pods return first, then new ones."""

from collections.abc import Callable

import pytest

from tests.unit.builders import (
    KEY,
    make_set_world,
    ours_of,
    release_set,
    set_of,
    status_of,
    strategy_of,
    versions_of,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve, history
from tests.unit.worlds import World

LIKE_IT = pytest.mark.parametrize(
    "which", ["StatefulSet", "Advanced StatefulSet", "a kind labelled as StatefulSet"]
)


def at_second_step(which: str = "StatefulSet") -> World:
    """A release of v2 that waits at 40 %: two of five pods."""
    world = make_set_world(which)
    release_set(world)
    world.rest()
    approve(world)
    assert versions_of(world) == {"v1": 3, "v2": 2}
    return world


def emptied(which: str = "StatefulSet") -> World:
    """The same, at zero."""
    world = at_second_step(which)
    world.people.edit_set(KEY, replicas=0)
    world.rest()
    assert versions_of(world) == {}
    return world


def back(world: World) -> None:
    """It has its replicas again."""
    world.people.edit_set(KEY, replicas=5)
    world.rest()


def most_ready(world: World) -> Callable[[], int]:
    """The most ready pods of v2 at any instant from now on."""
    seen: list[int] = []
    world.watchers.append(lambda: seen.append(_ready_new(world)))
    return lambda: max(seen, default=0)


def _ready_new(world: World) -> int:
    update = set_of(world).status.update_revision
    pods = world.cluster.pods_of(set_of(world))
    return sum(pod.revision == update and pod.ready_since is not None for pod in pods)


@LIKE_IT
def test_after_zero_replicas_the_first_steps_share_and_never_more_is_new(which: str) -> None:
    world = emptied(which)
    most = most_ready(world)
    back(world)
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert most() == 1
    assert ours_of(world).step == 1
    approve(world)
    assert versions_of(world) == {"v1": 3, "v2": 2}


def test_a_rollback_after_zero_goes_to_the_earlier_stable_revision() -> None:
    world = at_second_step()
    stable = ours_of(world).stable_revision
    world.people.edit_set(KEY, replicas=0)
    world.rest()
    back(world)
    assert ours_of(world).stable_revision == stable
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert set_of(world).status.current_revision == stable
    assert status_of(world).phase == "Healthy"


def test_a_rollback_at_zero_replicas_gives_the_owners_strategy_back() -> None:
    world = emptied()
    release_set(world, "v1")
    world.rest()
    assert strategy_of(world) == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    back(world)
    assert versions_of(world) == {"v1": 5}


def test_at_zero_replicas_nothing_counts_as_complete() -> None:
    world = emptied()
    assert strategy_of(world) == {"type": "OnDelete"}
    assert set_of(world).status.current_revision == ours_of(world).stable_revision


@pytest.mark.parametrize("ticks", range(12))
def test_to_zero_and_back_at_once_ends_with_a_steps_share(ticks: int) -> None:
    world = at_second_step()
    world.people.edit_set(KEY, replicas=0)
    for _ in range(ticks):
        world.tick()
    back(world)
    assert versions_of(world) in ({"v1": 4, "v2": 1}, {"v1": 3, "v2": 2})


def test_a_workload_may_go_to_zero_and_back_unseen() -> None:
    """The controller is away: all pods are new, ready, and called current; they go one after another."""
    world = at_second_step()
    world.people.edit_set(KEY, replicas=0)
    away(world)
    world.people.edit_set(KEY, replicas=5)
    away(world)
    assert versions_of(world) == {"v2": 5}
    assert set_of(world).status.current_revision != ours_of(world).stable_revision
    fewest = fewest_pods(world)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert fewest() >= 4


def away(world: World) -> None:
    """Kubernetes' controllers go on, ours does not."""
    for _ in range(30):
        world.tick()
        world.cluster.set_clock(world.cluster.now + 3 * world.cluster.delays.ready)


def fewest_pods(world: World) -> Callable[[], int]:
    """The fewest ready pods at any instant from now on."""
    seen: list[int] = []
    world.watchers.append(
        lambda: seen.append(
            sum(pod.ready_since is not None for pod in world.cluster.pods_of(set_of(world)))
        )
    )
    return lambda: min(seen, default=0)


def test_a_stable_revision_that_is_gone_is_not_waited_for() -> None:
    world = at_second_step()
    world.people.edit_set(KEY, replicas=0)
    away(world)
    stable = ours_of(world).stable_revision
    (kept,) = [r for r in world.cluster.revisions if r.metadata.name == stable]
    world.cluster.revisions.remove(kept.metadata.key)
    world.rest()
    back(world)
    assert versions_of(world) == {"v2": 5}


def test_the_last_new_pod_goes_after_the_routes_have_left_it() -> None:
    world = at_second_step()
    world.people.edit_set(KEY, replicas=0)
    away(world)
    world.people.edit_set(KEY, replicas=5)
    away(world)
    assert (versions_of(world), weight_of(world)) == ({"v2": 5}, 40)
    unserved = history(world, lambda: bool(weight_of(world)) and not _ready_new(world))
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert unserved == [False]
