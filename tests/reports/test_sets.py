"""Reports about CloneSets, StatefulSets and DaemonSets, and about the two colours of blue-green."""

import pytest

from controller.api.jsontree import JsonObject
from controller.api.rollout import Phase
from tests.reports.played import played
from tests.reports.test_ends import ready_endpoints
from tests.unit.builders import (
    BLUE_GREEN,
    KEY,
    make_pod_set,
    make_rollout,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    release,
    release_set,
    revision_of,
    set_of,
    sizes_of,
    status_of,
    strategy_of,
    versions_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve, history, pin_of
from tests.unit.worlds import World


def set_world(which: str, strategy: JsonObject | None = None, *replicas: int | str) -> World:
    """A set of five pods under its owner's strategy, at rest."""
    steps = make_steps(*(replicas or ("40%", "60%")), traffic=False)
    return make_set_world(
        which,
        make_pod_set(which, strategy=strategy),
        strategy=make_strategy(steps=steps, traffic=False),
    )


def break_set(world: World, version: str = "v2") -> None:
    """Pods of this version never become ready."""
    name = revision_of(world, version)
    world.people.fail_pods(frozenset({name, f"web-{name}"}))


@played("openkruise/kruise#376")
@pytest.mark.parametrize("which", ["CloneSet", "DaemonSet", "Advanced DaemonSet"])
def test_a_rollback_before_the_new_pods_are_ready_takes_no_stable_pod(which: str) -> None:
    world = set_world(which)
    break_set(world)
    release_set(world)
    wait(world, 60)
    stable = {p.metadata.uid for p in world.cluster.pods_of(set_of(world)) if p.ready_since}
    assert stable
    release_set(world, "v1")
    world.rest()
    assert stable <= {pod.metadata.uid for pod in world.cluster.pods_of(set_of(world))}
    assert versions_of(world) == {"v1": 5}


@played("openkruise/kruise#632")
@pytest.mark.parametrize("partition", [1, 3, 5, "60%"])
def test_a_rollback_reaches_the_pods_behind_the_owners_partition(partition: int | str) -> None:
    own: JsonObject = {"partition": partition}
    world = set_world("CloneSet", own)
    release_set(world)
    world.rest()
    assert versions_of(world)["v2"] == 2
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert strategy_of(world) == own
    assert status_of(world).phase == Phase.HEALTHY


@played("openkruise/kruise#1153", "openkruise/kruise#286")
@pytest.mark.parametrize("surge", [1, "50%", "100%"])
def test_the_surge_of_a_clone_set_brings_no_pod_beyond_the_step(surge: int | str) -> None:
    world = set_world("CloneSet", {"maxSurge": surge, "maxUnavailable": 0})
    release_set(world)
    new = history(world, lambda: versions_of(world).get("v2", 0))
    for _ in range(20):
        world.tick()
    assert new == [0]
    world.rest()
    assert max(new) == 2
    approve(world)
    assert max(new) == 3
    assert versions_of(world)["v2"] == 3


@played("openkruise/kruise#1749")
@pytest.mark.parametrize("which", ["StatefulSet", "Advanced StatefulSet"])
def test_a_pod_that_is_deleted_while_a_step_waits_comes_back_in_its_own_version(which: str) -> None:
    world = set_world(which)
    release_set(world)
    world.rest()
    before = {p.metadata.name: p.revision for p in world.cluster.pods_of(set_of(world))}
    for pod in tuple(world.cluster.pods_of(set_of(world))):
        world.people.delete_pod(pod.metadata.key)
        world.rest()
    after = {p.metadata.name: p.revision for p in world.cluster.pods_of(set_of(world))}
    assert after == before
    assert versions_of(world) == {"v1": 3, "v2": 2}


@played("argoproj/argo-rollouts#2235")
@pytest.mark.parametrize("end", ["approved", "rolled back"])
def test_the_service_has_ready_pods_at_every_instant_of_blue_green(end: str) -> None:
    world = make_world(make_rollout(style=BLUE_GREEN, steps=make_steps("100%")))
    served = history(world, lambda: ready_endpoints(world, "web") > 0)
    release(world)
    world.rest()
    if end == "approved":
        approve(world)
    else:
        release(world, "v1")
        world.rest()
    assert served == [True]
    assert sizes_of(world) == {"v2" if end == "approved" else "v1": 10}
    assert ready_endpoints(world, "web") == 10


@played("argoproj/argo-rollouts#83")
@pytest.mark.parametrize("after", ["partition", "canary"])
def test_no_pin_of_blue_green_outlives_a_change_of_the_style(after: str) -> None:
    world = make_world(make_rollout(style=BLUE_GREEN, steps=make_steps("100%")))
    release(world)
    world.rest()
    approve(world)
    assert pin_of(world) == ""
    canary = make_strategy(style=after)
    world.people.change(KEY, lambda _: make_rollout(strategy=canary).spec)
    world.rest()
    release(world, "v3")
    world.rest()
    assert weight_of(world) == 20
    assert ready_endpoints(world, "web-canary") == 2
    for _ in range(2):
        approve(world)
    assert pin_of(world) == ""
    assert sizes_of(world) == {"v3": 10}


STYLES = ("partition", "canary", BLUE_GREEN)


@played("argoproj/argo-rollouts#555")
@pytest.mark.parametrize("before", STYLES)
@pytest.mark.parametrize("after", STYLES)
@pytest.mark.parametrize("end", ["approved", "rolled back"])
def test_a_release_whose_style_changes_in_the_middle_comes_to_its_end(
    before: str, after: str, end: str
) -> None:
    steps = make_steps("20%", "50%")
    world = make_world(make_rollout(style=before, steps=steps))
    release(world)
    world.rest()
    served = history(world, lambda: ready_endpoints(world, "web"))
    world.people.change(KEY, lambda _: make_rollout(style=after, steps=steps).spec)
    world.rest()
    if end == "approved":
        for _ in steps:
            approve(world)
    else:
        release(world, "v1")
        world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert sizes_of(world) == {"v2" if end == "approved" else "v1": 10}
    assert (pin_of(world), pin_of(world, "web-canary"), weight_of(world)) == ("", "gone", None)
    assert min(served) >= 5
