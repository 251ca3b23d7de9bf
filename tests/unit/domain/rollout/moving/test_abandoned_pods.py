"""Pods of an abandoned revision in a set of pods go within the owner's maxUnavailable, and stable ones come instead.

Why: a third revision deleted all abandoned pods of a CloneSet at once (two of ten were left), and sent all traffic of a
StatefulSet to the two stable pods of ten, for as long as its steps took.
"""

import msgspec
import pytest

from controller.api.jsontree import JsonObject
from controller.api.rollout import StepState
from controller.domain import reasons
from tests.unit.builders import (
    KEY,
    inner_of,
    make_pod_set,
    make_set_world,
    make_step,
    make_strategy,
    ours_of,
    release_set,
    revision_of,
    template,
    versions_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve, history, reason_of
from tests.unit.worlds import World

REPLICAS = 10
STATEFUL = ("StatefulSet", "Advanced StatefulSet", "a kind labelled as StatefulSet")


def at_80_percent(which: str, *, routed: bool, own: JsonObject | None = None) -> World:
    """A release that waits with eight of ten new pods."""
    traffic = ("20%", "80%") if routed else (None, None)
    steps = (make_step("20%", traffic[0]), make_step("80%", traffic[1]), make_step("100%"))
    strategy = make_strategy(steps=steps, traffic=routed)
    pod_set = make_pod_set(which, replicas=REPLICAS, strategy=own)
    world = make_set_world(which, pod_set, strategy=strategy)
    release_set(world)
    world.rest()
    approve(world)
    assert versions_of(world) == {"v1": 2, "v2": 8}
    return world


def ready_of(world: World, *versions: str) -> int:
    """Ready pods of these versions that are not being deleted."""
    revisions = {revision_of(world, version) for version in versions}
    return sum(
        pod.ready_since is not None
        and not pod.metadata.deleting
        and pod.revision.removeprefix("web-") in revisions
        for pod in world.cluster.pods
    )


@pytest.mark.parametrize("routed", [False, True])
def test_a_third_revision_of_a_cloneset_leaves_as_many_ready_pods_as_its_owner_wants(
    routed: bool,
) -> None:
    world = at_80_percent("CloneSet", routed=routed)
    ready = history(world, lambda: ready_of(world, "v1", "v2", "v3"))
    release_set(world, "v3")
    world.rest()
    assert min(ready) == 8  # maxUnavailable is 20 %
    assert versions_of(world) == {"v1": 8, "v3": 2}


@pytest.mark.parametrize("which", [*STATEFUL, "CloneSet"])
def test_all_traffic_goes_to_the_stable_pods_of_a_set_once_two_thirds_are_ready(which: str) -> None:
    world = at_80_percent(which, routed=True)
    seen = history(world, lambda: (weight_of(world) or 0, ready_of(world, "v1")))
    release_set(world, "v3")
    world.rest()
    assert min(stable for weight, stable in seen if not weight) >= 7
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert versions_of(world)["v3"] == 2


def test_the_abandoned_pods_of_a_daemonset_stay_until_a_step_needs_their_places() -> None:
    """Its controller creates no pod of an older template, so nothing can be exchanged."""
    steps = (make_step("20%", "20%"), make_step("80%", "80%"), make_step("100%"))
    world = make_set_world("DaemonSet", strategy=make_strategy(steps=steps))
    release_set(world)
    world.rest()
    approve(world)
    assert versions_of(world) == {"v1": 1, "v2": 4}
    release_set(world, "v3")
    world.rest()
    assert versions_of(world) == {"v1": 1, "v2": 3, "v3": 1}


@pytest.mark.parametrize("which", ["DaemonSet", "Advanced DaemonSet"])
@pytest.mark.parametrize(("rolled_back", "fewest"), [(False, 1), (True, 4)])
def test_the_stable_pods_of_a_daemonset_return_before_a_third_revision_if_it_is_rolled_back_first(
    which: str, rolled_back: bool, fewest: int
) -> None:
    """The known limit of docs/states.md, and the way around it: five times the usual load of a pod, or 1.25 times."""
    steps = (make_step("20%", "20%"), make_step("80%", "80%"), make_step("100%"))
    world = make_set_world(which, strategy=make_strategy(steps=steps))
    release_set(world)
    world.rest()
    approve(world)
    seen = history(world, lambda: (weight_of(world) or 0, ready_of(world, "v1")))
    if rolled_back:
        release_set(world, "v1")
        world.rest()
        wait(world, 60)
    release_set(world, "v3")
    world.rest()
    assert min(stable for weight, stable in seen if not weight) == fewest


@pytest.mark.parametrize("which", [*STATEFUL, "CloneSet"])
def test_the_last_exchanged_pods_are_ready_before_all_traffic_goes_to_stable_ones(
    which: str,
) -> None:
    steps = (make_step("50%", "50%"), make_step("100%"))
    world = make_set_world(
        which, make_pod_set(which, replicas=2), strategy=make_strategy(steps=steps)
    )
    release_set(world)
    world.rest()
    assert versions_of(world) == {"v1": 1, "v2": 1}
    seen = history(world, lambda: (weight_of(world), ready_of(world, "v1"), ours_of(world).goal))
    release_set(world, "v3")
    world.rest()
    assert min(stable for weight, stable, goal in seen if goal and weight is None) == 2


@pytest.mark.parametrize("which", STATEFUL)
def test_without_routes_the_abandoned_pods_of_a_stateful_set_stay_until_a_step_needs_their_places(
    which: str,
) -> None:
    world = at_80_percent(which, routed=False)
    release_set(world, "v3")
    world.rest()
    assert versions_of(world) == {"v1": 2, "v2": 6, "v3": 2}


def test_a_third_revision_goes_on_after_the_deadline_if_no_other_stable_pod_becomes_ready() -> None:
    world = at_80_percent("CloneSet", routed=True)
    world.people.forbid_pods("exceeded quota")
    release_set(world, "v3")
    wait(world, 599)
    assert (ready_of(world, "v1"), ready_of(world, "v2")) == (2, 6)
    wait(world, 10)
    assert weight_of(world) is None
    world.people.heal()
    world.rest()
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert versions_of(world) == {"v1": 8, "v3": 2}


def test_nothing_is_exchanged_for_a_stable_revision_without_a_ready_pod() -> None:
    """A StatefulSet would wait for every pod that cannot start."""
    own: JsonObject = {"rollingUpdate": {"maxUnavailable": 5}}
    world = at_80_percent("Advanced StatefulSet", routed=True, own=own)
    world.people.fail_pods(frozenset({f"web-{revision_of(world, 'v1')}"}))
    release_set(world, "v3")
    wait(world, 2)
    assert versions_of(world) == {"v1": 2, "v2": 8}


@pytest.mark.parametrize("which", ["Advanced StatefulSet", "CloneSet"])
def test_routes_leave_the_abandoned_pods_of_a_paused_set_without_an_exchange(which: str) -> None:
    world = at_80_percent(which, routed=True)
    own: JsonObject = {"paused": True}
    strategy = own if which == "CloneSet" else {"rollingUpdate": own}
    written = msgspec.Raw(msgspec.json.encode(strategy))
    world.people.edit_set(KEY, template=template("v3"), update_strategy=written)
    world.rest()
    assert weight_of(world) is None
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER


@pytest.mark.parametrize("which", ["DaemonSet", "Advanced DaemonSet"])
@pytest.mark.parametrize("routed", [False, True])
def test_a_third_revision_takes_the_nodes_of_abandoned_pods_and_leaves_the_stable_ones(
    which: str, routed: bool
) -> None:
    """The Advanced DaemonSet's controller took the last stable pod, which the traffic of the first step needs."""
    traffic = ("20%", "80%") if routed else (None, None)
    steps = (make_step("20%", traffic[0]), make_step("80%", traffic[1]), make_step("100%"))
    strategy = make_strategy(steps=steps, traffic=routed)
    world = make_set_world(which, make_pod_set(which), strategy=strategy)
    release_set(world)
    world.rest()
    approve(world)
    assert versions_of(world) == {"v1": 1, "v2": 4}
    stable = history(world, lambda: ready_of(world, "v1"))
    release_set(world, "v3")
    world.rest()
    assert versions_of(world) == {"v1": 1, "v2": 3, "v3": 1}
    approve(world)
    assert versions_of(world) == {"v1": 1, "v3": 4}
    assert min(stable) == 1
    approve(world)
    assert versions_of(world) == {"v3": 5}
