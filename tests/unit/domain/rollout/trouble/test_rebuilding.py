"""Somebody deletes the stable ReplicaSet during a release: the controller makes it again, and asks nobody."""

import pytest

from controller.api.names import FREEZE_MIN_READY_SECONDS
from controller.domain import reasons
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    kept_template_of,
    ours_of,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.moving.test_from_zero import at_half, finish
from tests.unit.domain.rollout.scenes import (
    BOTH,
    approve,
    first_instants,
    history,
    pin_of,
    reason_of,
)
from tests.unit.domain.rollout.trouble.test_stable_gone import deleted_stable
from tests.unit.worlds import World

EVERY_STYLE = pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])


def canary_pods(world: World) -> int:
    return sum(
        found.spec.replicas
        for found in world.cluster.deployments
        if found.metadata.name.startswith("web-")
    )


def test_stable_pods_come_back_and_the_release_begins_again_at_step_1() -> None:
    world = deleted_stable(at_half("partition"))
    wait(world, 60)
    assert sizes_of(world) == {"v1": 8, "v2": 2}
    assert ours_of(world).step == 1
    assert pin_of(world) == revision_of(world, "v1")


def test_beside_an_extra_deployment_the_step_stays() -> None:
    world = at_half("canary")
    before = canary_pods(world)
    deleted_stable(world)
    wait(world, 60)
    assert sizes_of(world)["v1"] == 10
    assert canary_pods(world) == before
    assert ours_of(world).step == 2
    assert pin_of(world) == revision_of(world, "v1")


@BOTH
def test_nobody_has_to_decide(style: str) -> None:
    world = deleted_stable(at_half(style))
    wait(world, 60)
    stalled = condition(status_of(world), "Stalled")
    assert stalled is None or stalled.status == "False"


@EVERY_STYLE
def test_the_release_goes_on_to_its_end(style: str) -> None:
    world = deleted_stable(at_half(style))
    wait(world, 60)
    for _ in range(4):
        approve(world)
        wait(world, 60)
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == "Healthy"
    assert kept_template_of(world) is None


@EVERY_STYLE
def test_an_undo_goes_back_to_the_rebuilt_revision(style: str) -> None:
    world = deleted_stable(at_half(style))
    wait(world, 60)
    release(world, "v1")
    world.rest()
    wait(world, 60)
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == "Healthy"


@EVERY_STYLE
def test_a_third_version_does_not_make_an_unapproved_one_stable(style: str) -> None:
    world = at_half(style)
    stable = revision_of(world, "v1")
    (found,) = [rs for rs in world.cluster.replica_sets if rs.revision == stable]
    world.cluster.replica_sets.remove(found.metadata.key)
    release(world, "v3")
    world.rest()
    wait(world, 60)
    assert ours_of(world).stable_revision == stable
    assert "v2" not in sizes_of(world)


def beside_an_older_one(style: str) -> World:
    """v3 waits at 50 %, v2 is stable, the empty ReplicaSet of v1 still exists; v2's is deleted, and the Deployment's
    own controller is faster than we are.
    """
    world = at_half(style)
    finish(world)
    wait(world, 60)
    release(world, "v3")
    world.rest()
    approve(world)
    wait(world, 60)
    stable = revision_of(world, "v2")
    (found,) = [rs for rs in world.cluster.replica_sets if rs.revision == stable]
    world.cluster.replica_sets.remove(found.metadata.key)
    for _ in range(3):
        world.tick()
    return world


def test_pods_of_an_older_revision_give_their_place_to_stable_ones_and_the_step_stays() -> None:
    world = beside_an_older_one("canary")
    assert sizes_of(world) == {"v1": 10, "+v3": 5}
    world.rest()
    wait(world, 60)
    assert sizes_of(world) == {"v2": 10, "+v3": 5}
    assert ours_of(world).step == 2
    assert pin_of(world) == revision_of(world, "v2")
    approve(world)
    wait(world, 60)
    assert sizes_of(world) == {"v3": 10}


def test_the_share_of_the_deleted_side_moves_at_once_although_older_pods_are_wanted() -> None:
    world = beside_an_older_one("canary")
    deleted_at = world.cluster.now
    moved = first_instants(world, away=lambda: pin_of(world) == "")
    world.rest()
    assert moved["away"] == deleted_at
    assert pin_of(world) == revision_of(world, "v2")


def test_older_pods_stay_until_a_stable_one_is_ready() -> None:
    world = beside_an_older_one("canary")
    stable = revision_of(world, "v2")

    def nobody_serves() -> bool:
        ready = any(pod.revision == stable and pod.ready_since for pod in world.cluster.pods)
        return not ready and "v1" not in sizes_of(world)

    seen = history(world, nobody_serves)
    world.rest()
    wait(world, 60)
    assert seen == [False]


def test_people_are_heard_while_older_pods_give_their_place_back() -> None:
    world = beside_an_older_one("canary")
    world.people.jump(KEY, 1)
    world.rest()
    wait(world, 60)
    assert sizes_of(world)["v2"] == 10
    assert ours_of(world).step == 1


@pytest.mark.parametrize("ticks", [0, 3], ids=["before its controller", "after its controller"])
def test_blue_green_keeps_its_step_and_has_all_stable_pods_again(ticks: int) -> None:
    world = at_half("blueGreen")
    before = weight_of(world)
    stable = revision_of(world, "v1")
    (found,) = [rs for rs in world.cluster.replica_sets if rs.revision == stable]
    world.cluster.replica_sets.remove(found.metadata.key)
    for _ in range(ticks):
        world.tick()
    world.rest()
    wait(world, 60)
    assert sizes_of(world) == {"v1": 10, "v2": 5}
    assert (ours_of(world).step, weight_of(world)) == (2, before)
    assert pin_of(world) == stable


def test_the_rebuilt_side_of_blue_green_is_held_as_the_deleted_one_was() -> None:
    world = deleted_stable(at_half("blueGreen"))
    wait(world, 60)
    held = {rs.spec.min_ready_seconds for rs in world.cluster.replica_sets if rs.active}
    assert held == {FREEZE_MIN_READY_SECONDS}


def test_blue_green_asks_nobody_while_its_stable_side_comes_back() -> None:
    world = at_half("blueGreen")
    reasons_seen = history(world, lambda: reason_of(world, "Stalled"))
    deleted_stable(world)
    wait(world, 60)
    assert reasons.STABLE_REVISION_GONE not in reasons_seen
    assert reason_of(world, "Stalled") == ""
