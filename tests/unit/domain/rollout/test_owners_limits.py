"""The owner's own limits (partition, OnDelete, paused) say which pods may get a new template. They protect no pod of a
revision that was given up, however the release ends.
"""

import msgspec
import pytest
from msgspec import structs

from controller.api.jsontree import JsonObject
from controller.api.rollout import BlueGreenStrategy, Phase
from controller.domain import reasons
from tests.unit.builders import (
    KEY,
    SETS,
    make_pod_set,
    make_routing,
    make_set_world,
    make_steps,
    make_strategy,
    release_set,
    revision_of,
    set_of,
    status_of,
    strategy_of,
    versions_of,
    wait,
)
from tests.unit.domain.rollout.scenes import approve, reason_of
from tests.unit.worlds import World

ROLLING = "RollingUpdate"
LIMITS: dict[str, tuple[str, JsonObject]] = {
    "StatefulSet": ("StatefulSet", {"type": ROLLING, "rollingUpdate": {"partition": 4}}),
    "Advanced StatefulSet": ("Advanced StatefulSet", {"rollingUpdate": {"partition": 4}}),
    "Advanced StatefulSet without order": (
        "Advanced StatefulSet",
        {"rollingUpdate": {"partition": 4, "unorderedUpdate": {}}},
    ),
    "a kind labelled as StatefulSet": (
        "a kind labelled as StatefulSet",
        {"type": ROLLING, "rollingUpdate": {"partition": 4}},
    ),
    "CloneSet": ("CloneSet", {"partition": 4}),
    "CloneSet in percent": ("CloneSet", {"partition": "80%"}),
    "Advanced DaemonSet": (
        "Advanced DaemonSet",
        {"type": ROLLING, "rollingUpdate": {"partition": 4, "maxUnavailable": 2, "paused": False}},
    ),
    "DaemonSet": ("DaemonSet", {"type": "OnDelete"}),
}
EVERY = pytest.mark.parametrize("which", LIMITS)
MAY_BE_PAUSED = pytest.mark.parametrize(
    "which", [name for name, (kind, _) in LIMITS.items() if SETS[kind].group != "apps"]
)
ROUTED = pytest.mark.parametrize("traffic", [True, False])


def limited(which: str, *replicas: int | str, traffic: bool = False) -> World:
    """A release of v2 under its owner's limits, waiting at step 1."""
    kind, strategy = LIMITS[which]
    steps = make_steps(*(replicas or ("40%", "60%")), traffic=traffic)
    world = make_set_world(
        kind,
        make_pod_set(kind, strategy=strategy),
        strategy=make_strategy(steps=steps, traffic=traffic),
    )
    release_set(world)
    world.rest()
    return world


def is_back(world: World, which: str) -> bool:
    """Only stable pods run, the owner has the strategy back, and the release is over."""
    return (
        versions_of(world) == {"v1": 5}
        and strategy_of(world) == LIMITS[which][1]
        and status_of(world).phase == Phase.HEALTHY
        and all(pod.ready_since for pod in world.cluster.pods_of(set_of(world)))
    )


@EVERY
@ROUTED
def test_a_rollback_leaves_no_pod_of_the_rolled_back_revision(which: str, traffic: bool) -> None:
    world = limited(which, traffic=traffic)
    release_set(world, "v1")
    world.rest()
    assert is_back(world, which)


@EVERY
def test_the_owners_limits_return_only_when_no_rolled_back_pod_is_left(which: str) -> None:
    """A crash in between would leave such pods protected by these limits."""
    world = limited(which)
    release_set(world, "v1")
    left: list[int] = []

    def note() -> None:
        if strategy_of(world) == LIMITS[which][1] and "original-deployment-strategy" not in str(
            set_of(world).metadata.annotations
        ):
            left.append(versions_of(world).get("v2", 0))

    world.watchers.append(note)
    world.rest()
    assert left
    assert set(left) == {0}


@EVERY
def test_a_rollback_of_a_third_revision_leaves_no_pod_of_either(which: str) -> None:
    world = limited(which, "40%", "60%")
    release_set(world, "v3")
    world.rest()
    release_set(world, "v1")
    world.rest()
    assert is_back(world, which)


@EVERY
@pytest.mark.parametrize("how", ["delete", "disable"])
def test_a_rollout_that_goes_during_a_rollback_leaves_no_rolled_back_pod(
    which: str, how: str
) -> None:
    world = limited(which)
    release_set(world, "v1")
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert strategy_of(world) == LIMITS[which][1]
    gone = world.cluster.rollouts.get(KEY) is None
    assert gone if how == "delete" else status_of(world).phase == Phase.DISABLED


@EVERY
@pytest.mark.parametrize("how", ["delete", "disable"])
def test_a_rollout_does_not_stay_for_ever_for_pods_that_never_become_ready(
    which: str, how: str
) -> None:
    """No stable pod starts any more, so rolled-back pods have to stay: after ten minutes the Rollout goes."""
    world = limited(which)
    release_set(world, "v1")
    world.people.forbid_pods("no node has room")
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    began = world.cluster.now
    world.rest()
    assert (world.cluster.now - began).total_seconds() >= 600
    gone = world.cluster.rollouts.get(KEY) is None
    assert gone if how == "delete" else status_of(world).phase == Phase.DISABLED
    assert strategy_of(world) == LIMITS[which][1]


@EVERY
def test_a_version_given_up_at_its_deadline_leaves_no_pod(which: str) -> None:
    kind, strategy = LIMITS[which]
    plan = structs.replace(
        make_strategy(steps=make_steps("40%", traffic=False), traffic=False),
        progress_deadline_seconds=60,
        on_deadline_exceeded="Rollback",
    )
    world = make_set_world(
        kind, make_pod_set(kind, strategy=strategy, min_ready_seconds=90), strategy=plan
    )
    release_set(world)
    world.rest()
    wait(world, 600)
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert strategy_of(world) == strategy


@pytest.mark.parametrize("partition", [3, "60%"])
def test_a_rollback_of_a_clone_set_under_blue_green_leaves_no_new_pod(partition: int | str) -> None:
    """The owner's partition counts pods that are not of the newest template: new ones, after a rollback."""
    steps = make_steps("50%", "100%")
    world = make_set_world(
        "CloneSet",
        make_pod_set("CloneSet", strategy={"partition": partition}),
        strategy=BlueGreenStrategy(steps=steps, traffic_routings=(make_routing(),)),
    )
    release_set(world)
    world.rest()
    approve(world)
    assert versions_of(world) == {"v1": 5, "v2": 5}
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert strategy_of(world) == {"partition": partition}
    assert status_of(world).phase == Phase.HEALTHY


@EVERY
@pytest.mark.parametrize("how", ["delete", "disable"])
def test_the_owners_limits_hold_the_new_template_when_the_rollout_goes(
    which: str, how: str
) -> None:
    """They are the owner's wish about the new template: no pod becomes new that the owner did not allow."""
    world = limited(which)
    if how == "disable":
        world.people.disable(KEY)
    else:
        world.cluster.rollouts.delete(KEY)
    world.rest()
    assert versions_of(world) == {"v1": 3, "v2": 2}
    assert strategy_of(world) == LIMITS[which][1]


@EVERY
def test_a_success_adds_no_pod_beyond_the_owners_limits(which: str) -> None:
    world = limited(which, "40%")
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert versions_of(world) == {"v1": 3, "v2": 2}
    assert strategy_of(world) == LIMITS[which][1]


@EVERY
def test_a_success_after_a_third_revision_leaves_no_pod_of_the_abandoned_one(which: str) -> None:
    world = limited(which, "40%")
    world.people.replan(KEY, make_steps("20%", traffic=False))
    release_set(world, "v3")
    world.rest()
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert "v2" not in versions_of(world)
    assert strategy_of(world) == LIMITS[which][1]


@EVERY
def test_pods_that_the_owner_kept_at_an_older_revision_stay_there_in_a_rollback(which: str) -> None:
    """They ran before the release: the owner's limits still hold for them."""
    world = limited(which, "20%", "40%")
    approve(world)
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert versions_of(world) == {"v1": 3, "v2": 2}
    release_set(world, "v3")
    world.rest()
    before = versions_of(world)
    assert before["v3"] == 1
    stable = next(v for v in ("v1", "v2") if revision_of(world, v) in stable_revision(world))
    release_set(world, stable)
    world.rest()
    assert "v3" not in versions_of(world)
    assert versions_of(world)["v1"] >= before["v1"]
    assert strategy_of(world) == LIMITS[which][1]


def stable_revision(world: World) -> str:
    """The stable revision of the release under way."""
    inner = status_of(world).of_release
    assert inner is not None
    return inner.stable_revision


@MAY_BE_PAUSED
def test_a_rollback_under_the_owners_pause_waits_and_says_so(which: str) -> None:
    """A pause is no limit of the new template alone: no pod moves until its owner ends it."""
    world = limited(which)
    live = strategy_of(world)
    paused = {**live, "paused": True}
    if "CloneSet" not in which:
        inner = live["rollingUpdate"]
        assert isinstance(inner, dict)
        paused = {**live, "rollingUpdate": {**inner, "paused": True}}
    world.people.edit_set(KEY, update_strategy=msgspec.Raw(msgspec.json.encode(paused)))
    release_set(world, "v1")
    world.rest()
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER
    assert versions_of(world) == {"v1": 3, "v2": 2}
    wait(world, 3)
    live = strategy_of(world)
    going = {**live, "paused": False}
    if "CloneSet" not in which:
        inner = live["rollingUpdate"]
        assert isinstance(inner, dict)
        going = {**live, "rollingUpdate": {**inner, "paused": False}}
    world.people.edit_set(KEY, update_strategy=msgspec.Raw(msgspec.json.encode(going)))
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert status_of(world).phase == Phase.HEALTHY
