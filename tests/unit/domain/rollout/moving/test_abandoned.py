"""Stable pods replace the pods of an abandoned revision before those go, and before routes lead all traffic to stable.

Why: a person rolls a step with all pods back, and applies the next version before the old pods are ready. All pods of
the abandoned revision were removed at once: no ready pod was left until the old ones had started. With routes, the two
stable pods of a step of 75 % of eight got all traffic.
"""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.quantity import IntOrPercent
from controller.api.rollout import StepState
from controller.domain import reasons
from controller.domain.rollout.moving.abandoned import lasting_exchange
from tests.unit.builders import (
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_step,
    make_world,
    ours_of,
    release,
    revision_of,
    template,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.scenes import approve, reason_of
from tests.unit.simulation.invariants import Watch
from tests.unit.worlds import World

SHARES = (("50%", "75%"), ("25%", "75%"), ("25%", "100%"))
"""Shares of the two steps before the last; the release waits at the second."""


def at_the_second_step(
    shares: tuple[str, str],
    surge: IntOrPercent = "25%",
    unavailable: IntOrPercent = "25%",
    *,
    replicas: int = 8,
    watched: bool = True,
    routed: int = 0,
) -> World:
    """A release whose first `routed` steps set a share; `watched`: the owner's maxUnavailable is checked after each
    change.
    """
    traffic = (*shares[:routed], None, None, None)
    steps = tuple(make_step(*step) for step in zip((*shares, "100%"), traffic, strict=False))
    rollout = make_rollout(style="partition", steps=steps, traffic=bool(routed))
    deployment = make_deployment(replicas=replicas, max_surge=surge, max_unavailable=unavailable)
    world = make_world(rollout, deployment)
    if watched:
        Watch(world)
    release(world)
    world.rest()
    approve(world)
    return world


def pods_of(world: World, version: str) -> int:
    revision = revision_of(world, version)
    sets = [rs for rs in world.cluster.replica_sets if rs.revision == revision]
    return sum(rs.spec.replicas for rs in sets)


@pytest.mark.parametrize("shares", SHARES)
@pytest.mark.parametrize(("surge", "unavailable"), [("25%", "25%"), (1, 0), (0, 1)])
@pytest.mark.parametrize("replicas", [4, 5])
def test_a_third_revision_leaves_as_many_ready_pods_as_the_owner_wants(
    shares: tuple[str, str], surge: IntOrPercent, unavailable: IntOrPercent, replicas: int
) -> None:
    for between, after in product((("v3",), ("v1", "v3"), ("v3", "v4")), (0.2, 3)):
        world = at_the_second_step(shares, surge, unavailable, replicas=replicas)
        for version in between:
            release(world, version)
            wait(world, after)
        world.rest()
        assert inner_of(world).current_step_state == StepState.STEP_PAUSED
        assert inner_of(world).current_step_index == 1
        assert pods_of(world, "v2") in (0, replicas - pods_of(world, between[-1]))


@pytest.mark.parametrize(("surge", "unavailable"), [("25%", "25%"), (1, 0), (0, 1)])
@pytest.mark.parametrize("replicas", [2, 4, 8])
def test_routes_lead_all_traffic_to_stable_once_two_thirds_of_its_pods_are_ready(
    surge: IntOrPercent, unavailable: IntOrPercent, replicas: int
) -> None:
    shares = ("25%", "50%" if replicas == 2 else "75%")
    world = at_the_second_step(
        shares,
        surge,
        unavailable,
        replicas=replicas,
        watched=False,
        routed=2,
    )
    ready: list[int] = []

    def all_traffic_goes_to_stable() -> None:
        if weight_of(world) in (None, 0) and ours_of(world).goal:
            revision = revision_of(world, "v1")
            pods = (pod for pod in world.cluster.pods if pod.revision == revision)
            ready.append(sum(pod.ready_since is not None for pod in pods))

    world.watchers.append(all_traffic_goes_to_stable)
    release(world, "v3")
    world.rest()
    assert 3 * min(ready) >= 2 * replicas
    assert pods_of(world, "v2") == 0
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED


def test_at_a_step_without_traffic_a_third_revision_leaves_as_many_ready_pods_too() -> None:
    """Nothing is pinned there: requests reach the abandoned pods although the plan has routes."""
    world = at_the_second_step(("25%", "75%"), routed=1)
    release(world, "v3")
    world.rest()
    assert (pods_of(world, "v1"), pods_of(world, "v2"), pods_of(world, "v3")) == (6, 0, 2)


def test_routes_leave_the_abandoned_pods_of_a_paused_deployment_without_an_exchange() -> None:
    world = at_the_second_step(("25%", "75%"), routed=2)
    world.people.edit(KEY, template=template("v3"), paused=True)
    world.rest()
    assert weight_of(world) is None
    assert reason_of(world, "Stalled") == reasons.PAUSED_BY_OWNER


def test_abandoned_pods_that_get_no_requests_go_although_a_stable_pod_is_broken() -> None:
    world = at_the_second_step(("25%", "25%"), 1, 0, watched=False, routed=2)
    stable = next(p for p in world.cluster.pods if p.revision == revision_of(world, "v1"))
    world.people.fail_pods(frozenset({stable.metadata.uid}))
    release(world, "v3")
    wait(world, 30)
    assert pods_of(world, "v2") == 0
    assert pods_of(world, "v3") == 2


def test_routes_leave_the_abandoned_pods_where_a_quota_refuses_stable_ones() -> None:
    world = at_the_second_step(("25%", "75%"), watched=False, routed=2)
    world.people.forbid_pods("exceeded quota")
    release(world, "v3")
    wait(world, 60)
    assert weight_of(world) is None


def test_abandoned_pods_that_serve_alone_outlive_the_deadline() -> None:
    """The release had taken all pods, and the stable revision to which it goes back cannot start."""
    world = at_the_second_step(("25%", "100%"), watched=False)
    world.people.fail_pods(frozenset({revision_of(world, "v1")}))
    release(world, "v1")
    wait(world, 1)
    release(world, "v3")
    wait(world, 700)
    assert pods_of(world, "v2") > 0
    assert reason_of(world, "Stalled") == reasons.SIDE_WITHOUT_ENDPOINTS


def test_abandoned_pods_go_after_the_deadline_if_too_few_stable_ones_become_ready() -> None:
    world = at_the_second_step(("25%", "75%"), watched=False, routed=2)
    first = {pod.metadata.uid for pod in world.cluster.pods}

    def no_other_stable_pod_starts() -> None:
        stable = (p for p in world.cluster.pods if p.revision == revision_of(world, "v1"))
        later = frozenset(pod.metadata.uid for pod in stable) - first
        world.people.fail_pods(later)

    world.watchers.append(no_other_stable_pod_starts)
    release(world, "v3")
    wait(world, 598)
    assert pods_of(world, "v2") > 0
    wait(world, 30)
    assert pods_of(world, "v2") == 0


def looked_at(stable: int, left: int, allowed: int) -> tuple[int, int]:
    """The sizes after the Deployment's controller looked: of equals it enlarges the newer and shrinks the older one."""
    missing = allowed - stable - left
    stable_changes = stable > left if missing > 0 else stable >= left
    return (stable + missing, left) if stable_changes else (stable, left + missing)


@given(stable=st.integers(1, 30), left=st.integers(1, 30), most=st.integers(0, 10), early=...)
def test_an_exchange_lasts_whenever_the_deployments_controller_looks(
    stable: int, left: int, most: int, early: bool
) -> None:
    pods = lasting_exchange(stable, left, min(most, left))
    allowed, wanted = stable + left, (stable + pods, left - pods)
    sizes = (stable, left - pods)
    if early:
        sizes = looked_at(*sizes, allowed)
    if left - pods >= stable:
        sizes = (stable + pods, sizes[1])
    assert looked_at(*sizes, allowed) == wanted
    assert pods >= min(most, left) - 1
