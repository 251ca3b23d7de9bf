"""Reports about changes in the middle: another version, another size, lost pods, objects that somebody else writes."""

import pytest

from controller.api.rollout import HttpRouteMatch, Phase, Step, StepState, ValueMatch
from tests.reports.played import played
from tests.reports.test_ends import broken, limited, ready_endpoints
from tests.unit.builders import (
    BLUE_GREEN,
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_service,
    make_step,
    make_steps,
    make_world,
    release,
    revision_of,
    sizes_of,
    status_of,
    template,
    wait,
    weight_of,
    workload_of,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, history, pin_of, reason_of, started
from tests.unit.domain.rollout.styles.test_blue_green import autoscaled, blue_green
from tests.unit.worlds import World


def new_pods(world: World, version: str = "v2") -> int:
    """Pods of a version, in the Deployment or in the extra one."""
    sizes = sizes_of(world)
    return sizes.get(version, 0) + sizes.get(f"+{version}", 0)


# --- another version ------------------------------------------------------------------------------


@played("argoproj/argo-rollouts#1852")
@BOTH
def test_pods_of_a_version_that_another_one_replaced_only_become_fewer(style: str) -> None:
    world = started(style, make_steps("40%", "60%"))
    release(world, "v3")
    seen = history(world, lambda: new_pods(world, "v2"))
    world.rest()
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == 0


@played("argoproj/argo-rollouts#1295", "argoproj/argo-rollouts#1690")
@pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
def test_the_latest_of_many_versions_is_released_and_no_pod_of_the_others_stays(style: str) -> None:
    world = make_world(make_rollout(style=style, steps=make_steps("20%", "50%")))
    for version in ("v2", "v3", "v4", "v5"):
        release(world, version)
        wait(world, 2)
    world.rest()
    assert (new_pods(world, "v5"), weight_of(world)) == (2, 20)
    assert [new_pods(world, version) for version in ("v2", "v3", "v4")] == [0, 0, 0]
    for _ in range(2):
        approve(world)
    assert sizes_of(world) == {"v5": 10}


@played("fluxcd/flagger#30")
@BOTH
def test_approvals_of_one_version_do_not_count_for_the_next(style: str) -> None:
    world = started(style, make_steps("20%", "50%", "80%"), watched=False)
    approve(world)
    assert inner_of(world).current_step_index == 2
    release(world, "v3")
    seen = history(world, lambda: weight_of(world))
    world.rest()
    assert (inner_of(world).current_step_index, weight_of(world)) == (1, 20)
    assert seen[:2] == [50, None]


@played("openkruise/rollouts#309")
@pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
@pytest.mark.parametrize("steps", [make_steps("100%"), make_steps("20%"), make_steps("60%", "80%")])
def test_a_plan_that_gets_shorter_in_the_middle_is_walked_to_its_end(
    style: str, steps: tuple[Step, ...]
) -> None:
    world = make_world(make_rollout(style=style, steps=make_steps("20%", "50%", "80%")))
    release(world)
    world.rest()
    approve(world)
    assert status_of(world).current_step_index == 2
    world.people.replan(KEY, steps)
    world.rest()
    assert (status_of(world).current_step_index or 0) <= len(steps)
    for _ in steps:
        approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == Phase.HEALTHY


# --- another size -----------------------------------------------------------------------------------


@played("argoproj/argo-rollouts#4261")
@BOTH
def test_a_paused_rollout_follows_the_owners_number_of_replicas(style: str) -> None:
    world = started(style, watched=False)
    world.people.pause(KEY)
    world.rest()
    world.people.edit(KEY, replicas=20)
    world.rest()
    assert sum(sizes_of(world).values()) >= 20
    assert weight_of(world) == 20
    assert inner_of(world).current_step_index == 1


@played("argoproj/argo-rollouts#738")
@BOTH
def test_growth_in_the_middle_goes_to_both_versions_in_the_steps_shares(style: str) -> None:
    world = started(style, watched=False)
    world.people.edit(KEY, replicas=20)
    world.rest()
    assert new_pods(world) == 4
    assert sizes_of(world)["v1"] >= 16
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert sizes_of(world)["v1"] >= 8


@played("openkruise/kruise#2239")
def test_many_changes_of_the_size_move_no_share() -> None:
    world = started("partition", make_steps("50%"), watched=False)
    for replicas in (20, 12, 30, 8, 16, 10):
        world.people.edit(KEY, replicas=replicas)
        world.rest()
    assert sizes_of(world) == {"v1": 5, "v2": 5}


@played("argoproj/argo-rollouts#1415")
@BOTH
def test_an_autoscaler_that_acts_while_new_pods_start_takes_no_stable_pod(style: str) -> None:
    world = make_world(make_rollout(style=style, steps=make_steps("50%")))
    broken(world)
    release(world)
    wait(world, 30)
    served = history(world, lambda: ready_endpoints(world, "web"))
    for replicas in (16, 12, 10):
        world.people.edit(KEY, replicas=replicas)
        wait(world, 30)
    assert min(served) >= 7  # The owner's maxUnavailable is 25 %.
    assert sizes_of(world)["v1"] >= 7


@played("argoproj/argo-rollouts#3583", "fluxcd/flagger#574")
@BOTH
def test_replicas_that_change_together_with_the_template_count_from_the_first_step(
    style: str,
) -> None:
    world = make_world(make_rollout(style=style))
    world.people.edit(KEY, template=template("v2"), replicas=20)
    world.rest()
    assert new_pods(world) == 4
    for _ in range(2):
        approve(world)
    assert sizes_of(world) == {"v2": 20}


@played("argoproj/argo-rollouts#4541")
@BOTH
def test_pods_that_come_after_a_scaling_to_nothing_are_served(style: str) -> None:
    world = started(style, watched=False)
    world.people.edit(KEY, replicas=0)
    world.rest()
    assert (pin_of(world), pin_of(world, "web-canary")) == (revision_of(world, "v1"), "gone")
    assert weight_of(world) is None
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert ready_endpoints(world, "web") >= 8
    assert (ready_endpoints(world, "web-canary"), weight_of(world)) == (2, 20)


@played("argoproj/argo-rollouts#4950")
@pytest.mark.parametrize("style", ["partition", "canary", BLUE_GREEN])
def test_a_release_without_replicas_waits_for_nobody(style: str) -> None:
    world = make_world(
        make_rollout(style=style, steps=make_steps("20%", "50%")), make_deployment(replicas=0)
    )
    release(world)
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert weight_of(world) is None
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert sizes_of(world) == {"v2": 10}


@played("argoproj/argo-rollouts#4200")
def test_another_version_follows_a_change_of_the_size_under_blue_green() -> None:
    world = blue_green()
    release(world)
    world.rest()
    world.people.edit(KEY, replicas=6)
    world.rest()
    release(world, "v3")
    world.rest()
    assert new_pods(world, "v2") == 0
    assert sizes_of(world) == {"v1": 6, "v3": 3}


@played("argoproj/argo-rollouts#2857")
def test_the_extra_pods_of_a_canary_are_not_the_owners_replicas() -> None:
    world = started("canary", make_steps("50%"))
    autoscaled(world)
    world.rest()
    assert sizes_of(world) == {"v1": 10, "+v2": 5}
    assert workload_of(world).spec.replicas == 10
    assert workload_of(world).status.replicas == 10


@played("argoproj/argo-rollouts#4973")
@BOTH
def test_growth_after_a_rollback_brings_no_pod_of_the_version_that_was_rolled_back(
    style: str,
) -> None:
    world = started(style, watched=False)
    release(world, "v1")
    wait(world, 4)
    new = history(world, lambda: new_pods(world))
    for replicas in (15, 25):
        world.people.edit(KEY, replicas=replicas)
        wait(world, 10)
    world.rest()
    assert new == sorted(new, reverse=True)
    assert sizes_of(world) == {"v1": 25}
    assert pin_of(world, "web-canary") == "gone"


@played("argoproj/argo-rollouts#3565")
@BOTH
def test_a_manifest_that_takes_an_autoscalers_pods_away_takes_no_more(style: str) -> None:
    world = make_world(make_rollout(style=style), make_deployment(replicas=15))
    served = history(world, lambda: ready_endpoints(world, "web"))
    world.people.edit(KEY, template=template("v2"), replicas=10)
    world.rest()
    assert min(served) >= 7  # Ten pods, of which 25 % may be unavailable.
    assert new_pods(world) == 2


# --- lost and missing pods --------------------------------------------------------------------------


@played("argoproj/argo-rollouts#2050")
@BOTH
def test_stable_pods_stay_when_new_pods_are_missing(style: str) -> None:
    world = started(style, make_steps("50%", "80%"), watched=False)
    stable = sizes_of(world)["v1"]
    broken(world)
    for pod in list(world.cluster.pods):
        if pod.revision == revision_of(world, "v2"):
            world.people.delete_pod(pod.metadata.key)
    wait(world, 60)
    world.people.approve(KEY)
    wait(world, 60)
    assert sizes_of(world)["v1"] >= stable
    assert inner_of(world).current_step_index == 1
    assert ready_endpoints(world, "web") >= stable


@played("argoproj/argo-rollouts#1774", "argoproj/argo-rollouts#995")
@BOTH
def test_a_good_version_gets_through_although_the_stable_one_is_broken(style: str) -> None:
    world = make_world(make_rollout(style=style))
    world.people.fail_pods(frozenset(pod.metadata.uid for pod in world.cluster.pods))
    broken(world, "v1")
    wait(world, 10)
    release(world)
    for _ in range(3):
        approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert ready_endpoints(world, "web") == 10
    assert status_of(world).phase == Phase.HEALTHY


@played("fluxcd/flagger#1247")
@BOTH
def test_a_quota_that_allows_a_part_of_the_pods_stalls_the_release_with_its_words(
    style: str,
) -> None:
    world = limited(style)
    world.people.forbid_pods("exceeded quota: pods", 11)
    release(world)
    wait(world, 120)
    if style == "canary":
        assert reason_of(world, "Stalled") != ""
        assert "exceeded quota" in status_of(world).message
        assert weight_of(world) is None
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}


@played("argoproj/argo-rollouts#3501")
@BOTH
def test_from_a_number_of_pods_to_a_share_no_new_pod_goes(style: str) -> None:
    steps = (Step(replicas=1), Step(replicas="10%", traffic="10%"), Step(replicas="50%"))
    world = started(style, steps)
    seen = history(world, lambda: new_pods(world))
    served = history(world, lambda: ready_endpoints(world, "web"))
    for _ in range(2):
        approve(world)
    assert seen == sorted(seen)
    assert min(served) >= 5


@played("argoproj/argo-rollouts#3898")
@BOTH
def test_a_header_route_leads_to_ready_pods_although_a_third_version_comes(style: str) -> None:
    beta = HttpRouteMatch(headers=(ValueMatch(name="x-group", value="beta"),))
    world = started(style, (make_step("20%", matches=(beta,)), make_step("50%", "50%")))
    empty: list[str] = []

    def look() -> None:
        plan = world.routes[0].plan
        if plan is not None and plan.matches and ready_endpoints(world, "web-canary") == 0:
            empty.append(pin_of(world, "web-canary"))

    world.watchers.append(look)
    release(world, "v3")
    world.rest()
    plan = world.routes[0].plan
    assert plan is not None
    assert len(plan.matches) == 1
    assert pin_of(world, "web-canary") == revision_of(world, "v3")
    assert empty == []


# --- objects that others write ----------------------------------------------------------------------


@played("argoproj/argo-rollouts#849")
@BOTH
def test_a_route_that_somebody_changed_by_hand_is_written_again(style: str) -> None:
    world = started(style)
    world.touch_routes()
    world.rest()
    assert weight_of(world) == 20


@played("openkruise/rollouts#210")
@BOTH
def test_both_services_of_a_route_have_ready_pods_whenever_it_names_them(style: str) -> None:
    world = make_world(make_rollout(style=style))
    empty: list[float] = []

    def look() -> None:
        weight = weight_of(world)
        sides = ("web", "web-canary") if weight is not None else ("web",)
        if any(ready_endpoints(world, side) == 0 for side in sides):
            empty.append(weight or 0)

    world.watchers.append(look)
    release(world)
    world.rest()
    for _ in range(2):
        approve(world)
    assert empty == []
    assert sizes_of(world) == {"v2": 10}


@played("argoproj/argo-rollouts#71")
@BOTH
def test_a_service_that_was_made_again_in_the_middle_is_pinned_again(style: str) -> None:
    world = started(style, watched=False)
    world.cluster.services.remove(KEY)
    wait(world, 5)
    world.people.apply_service(make_service())
    world.rest()
    assert pin_of(world) == revision_of(world, "v1")
    assert (inner_of(world).current_step_state, weight_of(world)) == (StepState.STEP_PAUSED, 20)
    release(world, "v1")
    world.rest()
    assert pin_of(world) == ""
    assert ready_endpoints(world, "web") == 10


@played("argoproj/argo-rollouts#4365")
@BOTH
def test_a_release_ends_although_pods_are_evicted_all_the_time(style: str) -> None:
    world = started(style, watched=False)
    for _ in range(2):
        approve(world)
        for _ in range(5):
            for pod in tuple(world.cluster.pods)[:1]:
                world.people.delete_pod(pod.metadata.key)
            wait(world, 3)
    world.rest()
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == Phase.HEALTHY


@played("fluxcd/flagger#1026")
@BOTH
def test_a_chart_that_applies_its_service_in_a_release_leaves_it_pinned_and_served(
    style: str,
) -> None:
    world = started(style, watched=False)
    served = history(world, lambda: ready_endpoints(world, "web"))
    pins = history(world, lambda: pin_of(world))
    for _ in range(3):
        world.people.apply_service(make_service())
        wait(world, 5)
    assert pins == [revision_of(world, "v1")]
    assert min(served) >= 8
