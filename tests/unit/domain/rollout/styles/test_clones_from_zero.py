"""A CloneSet that is scaled to zero during a release and back: stable pods return first, then new ones."""

from collections.abc import Callable

import msgspec
import pytest
from msgspec import structs

from controller.api.jsontree import JsonObject
from controller.api.podsets import PodSet
from controller.api.rollout import BlueGreenStrategy
from tests.unit.builders import (
    KEY,
    make_pod_set,
    make_routing,
    make_set_world,
    make_steps,
    ours_of,
    release_set,
    set_of,
    status_of,
    versions_of,
)
from tests.unit.domain.rollout.scenes import approve
from tests.unit.domain.rollout.styles.test_sets_from_zero import away, fewest_pods
from tests.unit.worlds import World

BESIDE = BlueGreenStrategy(steps=make_steps("20%", "40%"), traffic_routings=(make_routing(),))
BOTH = pytest.mark.parametrize("style", ["partition", "blue-green"])
AT_STEP = {
    "partition": ({"v1": 4, "v2": 1}, {"v1": 3, "v2": 2}),
    "blue-green": ({"v1": 5, "v2": 1}, {"v1": 5, "v2": 2}),
}


def at_second_step(style: str, pod_set: PodSet | None = None) -> World:
    """A release of v2 that waits at 40 % of five pods."""
    strategy = BESIDE if style == "blue-green" else None
    world = make_set_world("CloneSet", pod_set, strategy=strategy)
    release_set(world)
    world.rest()
    approve(world)
    assert versions_of(world) == AT_STEP[style][1]
    return world


def emptied(style: str, pod_set: PodSet | None = None) -> World:
    """The same, at zero."""
    world = at_second_step(style, pod_set)
    world.people.edit_set(KEY, replicas=0)
    world.rest()
    assert versions_of(world) == {}
    return world


def back(world: World) -> None:
    """It has its replicas again."""
    world.people.edit_set(KEY, replicas=5)
    world.rest()


def most_new(world: World) -> Callable[[], int]:
    """The most pods of v2 at any instant from now on."""
    seen: list[int] = []
    world.watchers.append(lambda: seen.append(versions_of(world).get("v2", 0)))
    return lambda: max(seen, default=0)


def scaling_of(world: World) -> JsonObject:
    """Its scale strategy."""
    found: JsonObject = msgspec.json.decode(set_of(world).spec.scale_strategy)
    return found


def limited(limit: int | str) -> PodSet:
    """A CloneSet with this maxUnavailable for the time in which it grows."""
    found = make_pod_set("CloneSet")
    scale = msgspec.Raw(msgspec.json.encode({"maxUnavailable": limit}))
    return structs.replace(found, spec=structs.replace(found.spec, scale_strategy=scale))


@BOTH
def test_after_zero_replicas_the_first_steps_share_and_never_more_is_new(style: str) -> None:
    world = emptied(style)
    most = most_new(world)
    back(world)
    assert versions_of(world) == AT_STEP[style][0]
    assert most() == 1
    assert ours_of(world).step == 1
    approve(world)
    assert versions_of(world) == AT_STEP[style][1]


@BOTH
def test_a_cloneset_creates_no_pod_at_zero_and_may_again_afterwards(style: str) -> None:
    world = emptied(style)
    assert scaling_of(world) == {"maxUnavailable": 0}
    back(world)
    assert "maxUnavailable" not in scaling_of(world)


def test_a_rollback_after_zero_goes_to_the_earlier_stable_revision() -> None:
    world = emptied("partition")
    stable = ours_of(world).stable_revision
    back(world)
    assert ours_of(world).stable_revision == stable
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert status_of(world).phase == "Healthy"


@BOTH
def test_a_rollback_at_zero_replicas_lets_the_cloneset_create_pods_again(style: str) -> None:
    world = emptied(style)
    release_set(world, "v1")
    world.rest()
    assert scaling_of(world) == {}
    back(world)
    assert versions_of(world) == {"v1": 5}


@BOTH
@pytest.mark.parametrize("ticks", range(0, 12, 2))
def test_to_zero_and_back_at_once_ends_with_a_steps_share(style: str, ticks: int) -> None:
    world = at_second_step(style)
    world.people.edit_set(KEY, replicas=0)
    for _ in range(ticks):
        world.tick()
    back(world)
    assert versions_of(world) in AT_STEP[style]


def test_a_workload_may_go_to_zero_and_back_unseen() -> None:
    """The controller is away: all pods are new and ready; they go one after another."""
    world = at_second_step("partition")
    world.people.edit_set(KEY, replicas=0)
    away(world)
    world.people.edit_set(KEY, replicas=5)
    away(world)
    assert versions_of(world) == {"v2": 5}
    fewest = fewest_pods(world)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert fewest() >= 4


def test_the_owners_own_limit_is_in_force_again_afterwards() -> None:
    world = emptied("partition", limited("60%"))
    assert scaling_of(world) == {"maxUnavailable": 0}
    back(world)
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert scaling_of(world) == {"maxUnavailable": "60%"}


def test_the_owners_change_of_the_limit_at_zero_is_in_force_afterwards() -> None:
    world = emptied("partition", limited("60%"))
    changed = msgspec.Raw(b'{"maxUnavailable":2}')
    world.people.edit_set(KEY, scale_strategy=changed)
    world.rest()
    assert scaling_of(world) == {"maxUnavailable": 0}
    back(world)
    assert scaling_of(world) == {"maxUnavailable": 2}


def test_a_manifest_without_the_limit_does_not_let_new_pods_in() -> None:
    world = emptied("partition", limited("60%"))
    most = most_new(world)
    world.people.edit_set(KEY, scale_strategy=msgspec.Raw(b"{}"), replicas=5)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert most() == 1
    assert scaling_of(world) == {"maxUnavailable": "60%"}


def test_taking_the_label_off_at_zero_lets_the_cloneset_create_pods() -> None:
    world = emptied("partition", limited("60%"))
    world.cluster.rollouts.remove(KEY)
    world.people.label_set(KEY, {})
    assert scaling_of(world) == {"maxUnavailable": "60%"}


def test_a_stable_revision_that_is_gone_is_not_waited_for() -> None:
    world = at_second_step("partition")
    world.people.edit_set(KEY, replicas=0)
    away(world)
    stable = ours_of(world).stable_revision
    (kept,) = [r for r in world.cluster.revisions if r.metadata.name.endswith(stable)]
    world.cluster.revisions.remove(kept.metadata.key)
    world.rest()
    back(world)
    assert versions_of(world) == {"v2": 5}
