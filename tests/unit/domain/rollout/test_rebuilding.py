"""Somebody deletes the stable ReplicaSet during a release: the controller makes it again, and asks nobody."""

import pytest

from controller.domain.rollout.status import condition
from tests.unit.builders import (
    kept_template_of,
    ours_of,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, pin_of
from tests.unit.domain.rollout.test_from_zero import at_half
from tests.unit.domain.rollout.test_stable_gone import deleted_stable
from tests.unit.worlds import World


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


@BOTH
def test_the_release_goes_on_to_its_end(style: str) -> None:
    world = deleted_stable(at_half(style))
    wait(world, 60)
    for _ in range(4):
        approve(world)
        wait(world, 60)
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == "Healthy"
    assert kept_template_of(world) is None


@BOTH
def test_an_undo_goes_back_to_the_rebuilt_revision(style: str) -> None:
    world = deleted_stable(at_half(style))
    wait(world, 60)
    release(world, "v1")
    world.rest()
    wait(world, 60)
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == "Healthy"


@pytest.mark.parametrize("style", ["partition", "canary"])
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
