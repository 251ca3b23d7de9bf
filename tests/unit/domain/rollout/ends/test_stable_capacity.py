"""Enough stable pods are ready before all traffic returns to them."""

import pytest
from msgspec import structs

from controller.api.networking import Service
from controller.api.rollout import Phase
from controller.domain.rollout.phases import decide
from tests.unit.builders import (
    KEY,
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
    weight_of,
)
from tests.unit.domain.rollout.scenes import (
    approve,
    history,
    pin_of,
    seconds,
    started,
)
from tests.unit.worlds import World


def test_rollback_with_too_few_stable_pods_grows_them_before_the_traffic_comes_back() -> None:
    world = started(steps=make_steps("20%", "80%"))
    approve(world)
    assert sizes_of(world) == {"v1": 2, "v2": 8}
    release(world, "v1")
    world.run_until(lambda: weight_of(world) is None)
    ready = [p for p in world.cluster.pods if p.revision == revision_of(world, "v1")]
    assert sum(pod.ready_since is not None for pod in ready) * 3 >= 20
    world.rest()
    assert sizes_of(world) == {"v1": 10}


@pytest.mark.parametrize(("step", "quota"), [("50%", 10), ("80%", 10), ("50%", 11)])
def test_rollback_under_a_full_quota_puts_stable_pods_in_the_places_of_new_ones(
    step: str, quota: int
) -> None:
    world = started(steps=make_steps(step))
    world.people.forbid_pods("exceeded quota", quota)
    fewest = history(world, lambda: sum(p.ready_since is not None for p in world.cluster.pods))
    release(world, "v1")
    wait(world, 60)
    assert weight_of(world) is None
    world.rest()
    assert sizes_of(world) == {"v1": 10}
    assert status_of(world).phase == Phase.HEALTHY
    # The owner's maxUnavailable is 25 %.
    assert min(fewest) >= 8


def test_rollback_under_a_full_quota_takes_one_pod_at_a_time_where_the_owner_allows_none() -> None:
    surge_only = make_deployment(max_surge="25%", max_unavailable=0)
    world = make_world(make_rollout(steps=make_steps("50%")), surge_only)
    release(world)
    world.rest()
    world.people.forbid_pods("exceeded quota", 10)
    fewest = history(world, lambda: sum(p.ready_since is not None for p in world.cluster.pods))
    release(world, "v1")
    wait(world, 60)
    assert weight_of(world) is None
    assert min(fewest) >= 9


def test_traffic_leaves_a_version_that_was_taken_back_even_if_stable_pods_cannot_come() -> None:
    world = started(steps=make_steps("50%"), watched=False)
    world.people.forbid_pods("exceeded quota")
    release(world, "v1")
    begun = world.cluster.now
    world.run_until(lambda: weight_of(world) is None)
    assert 600 <= (world.cluster.now - begun).total_seconds() < 610


def test_a_rollback_without_a_ready_stable_pod_leaves_the_traffic_with_the_new_ones() -> None:
    world = started(steps=make_steps("50%"), watched=False)
    world.people.fail_pods(frozenset({revision_of(world, "v1")}))
    world.rest()
    release(world, "v1")
    wait(world, 700)
    world.rest()
    assert ours_of(world).goal == "Rollback"
    assert [pin_of(world), pin_of(world, "web-canary")] == ["", ""]
    assert sizes_of(world)["v2"] == 5


def web_of(world: World) -> Service:
    """The stable Service."""
    return world.cluster.services[KEY]


@pytest.mark.parametrize("how", ["deleted", "disabled"])
def test_routes_return_to_all_pods_where_two_stable_ones_of_ten_are_left(how: str) -> None:
    """The two had got all traffic for the grace period; the workload continues with its new pods anyway."""
    world = started("partition", make_steps("80%", "100%"))
    pods = world.cluster.selected
    behind = history(
        world,
        lambda: (weight_of(world), sum(p.ready_since is not None for p in pods(web_of(world)))),
    )
    if how == "deleted":
        world.cluster.rollouts.delete(KEY)
    else:
        world.people.disable(KEY)
    world.rest()
    assert behind[0] == (80, 2)
    assert min(pods for weight, pods in behind if weight is None) >= 8
    assert sizes_of(world) == {"v2": 10}


@pytest.mark.parametrize("version", ["v1", "v3"], ids=["rollback", "third revision"])
def test_canary_style_needs_no_more_stable_pods_before_its_routes_return(version: str) -> None:
    world = started("canary", watched=False)
    stable = [p for p in world.cluster.pods if p.revision == revision_of(world, "v1")]
    world.people.fail_pods(frozenset(pod.metadata.uid for pod in stable[:5]))
    world.rest()
    release(world, version)
    world.run_until(lambda: weight_of(world) is None)
    world.run_until(lambda: pin_of(world, "web-canary") == "gone")
    assert weight_of(world) is None


def test_routes_return_once_the_stable_service_leads_to_the_pods_that_became_ready() -> None:
    world = started("partition")
    release(world, "v1")
    seen = world.observe(KEY)
    assert seen is not None
    assert seen.workload is not None
    slices = tuple(
        structs.replace(part, endpoints=(part.endpoints or ())[:1])
        if part.service == "web"
        else part
        for part in seen.slices
    )
    late = structs.replace(seen, slices=slices)
    stable = [pod for pod in seen.workload.pods if pod.revision == revision_of(world, "v1")]
    times = [pod.ready_since for pod in stable if pod.ready_since is not None]
    waits = decide(late, max(times) + seconds(9))
    assert (waits.actions, waits.wake_at) == ((), max(times) + seconds(10))
    assert decide(seen, max(times) + seconds(9)).actions
    assert decide(late, max(times) + seconds(10)).actions


def test_canary_style_waits_for_no_stable_pod_when_another_revision_comes() -> None:
    """It keeps all of them; no pod of the abandoned revision could become a stable one."""
    world = started("canary", make_steps("50%"), watched=False)
    stable = [pod for pod in world.cluster.pods if pod.revision == revision_of(world, "v1")]
    world.people.fail_pods(frozenset(pod.metadata.uid for pod in stable[:4]))
    release(world, "v3")
    wait(world, 60)
    assert sizes_of(world) == {"v1": 10, "+v3": 5}
    assert weight_of(world) == 50
