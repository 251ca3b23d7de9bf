"""Pods that have ended and whose objects stay: evicted by their node's kubelet, or of a node that was shut down.

Why: a ReplicaSet makes another pod and never deletes the ended one, so most clusters have some, of any revision. A
release of a Deployment waited for ever until an evicted pod of an earlier version was gone.
"""

import pytest

from controller.api.meta import Key
from controller.api.rollout import Phase
from controller.api.workloads import Pod
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_steps,
    make_world,
    ours_of,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
)
from tests.unit.domain.rollout.scenes import approve
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["partition", "canary"])


def evict(world: World, version: str) -> Key:
    """One pod of a version is evicted; its ReplicaSet makes another."""
    revision = revision_of(world, version)
    pod = next(p for p in world.cluster.pods if p.revision == revision and not p.ended)
    world.people.end_pod(pod.metadata.key)
    world.rest()
    return pod.metadata.key


def ended(world: World) -> list[Pod]:
    return [pod for pod in world.cluster.pods if pod.ended]


def finish(world: World) -> None:
    for _ in range(len(make_steps("20%", "50%"))):
        approve(world)


@STYLES
def test_an_evicted_pod_of_an_earlier_version_does_not_stop_a_release(style: str) -> None:
    world = make_world(make_rollout(style=style))
    evict(world, "v1")
    release(world, "v2")
    world.rest()
    finish(world)
    assert status_of(world).phase == Phase.HEALTHY
    release(world, "v3")
    world.rest()
    finish(world)
    assert (status_of(world).phase, sizes_of(world)["v3"]) == (Phase.HEALTHY, 10)
    assert len(ended(world)) == 1


@STYLES
def test_an_evicted_new_pod_counts_as_none(style: str) -> None:
    world = make_world(make_rollout(style=style))
    release(world)
    world.rest()
    revision = next(p.revision for p in world.cluster.pods if "batch-id" in str(p.metadata.labels))
    pod = next(p for p in world.cluster.pods if p.revision == revision)
    world.people.end_pod(pod.metadata.key)
    world.rest()
    shown = inner_of(world)
    assert (shown.canary_replicas, shown.canary_ready_replicas) == (2, 2)
    wait(world, 120)
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert stalled.status == "False"


def test_a_workload_with_an_evicted_stable_pod_returns_from_zero() -> None:
    world = make_world(make_rollout(style="partition"))
    evict(world, "v1")
    release(world)
    world.rest()
    world.people.edit(KEY, replicas=0)
    world.rest()
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert (ours_of(world).goal, inner_of(world).current_step_index) == ("", 1)
    assert inner_of(world).canary_ready_replicas == 2


def test_a_release_whose_pods_all_end_at_once_says_why() -> None:
    """A node that lacks a resource refuses each pod, and the ReplicaSet makes the next one."""
    world = make_world(make_rollout(style="partition"), make_deployment(replicas=2))
    world.cluster.delays = type(world.cluster.delays)(ready=world.cluster.delays.gone * 1000)
    release(world)
    for _ in range(8):
        wait(world, 10)
        revision = revision_of(world, "v2")
        for pod in tuple(world.cluster.pods):
            if pod.revision == revision and not pod.ended:
                world.people.end_pod(pod.metadata.key)
        world.pass_over(KEY)
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert stalled.reason == "Evicted"
