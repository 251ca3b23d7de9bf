"""The checker of releases flags bad histories: one written by hand for each rule; a good history passes."""

import copy
from collections.abc import Callable
from dataclasses import replace

import pytest

from localcluster.api import JsonObject
from localcluster.history import Key, Kind
from tests.cluster import manifests
from tests.cluster.invariants import judge_end
from tests.cluster.kinds import (
    AUTOSCALERS,
    DEPLOYMENTS,
    DESTINATION_RULES,
    PODS,
    ROLLOUTS,
    SERVICES,
    VIRTUAL_SERVICES,
)
from tests.cluster.manifests import NEW_IMAGE, STABLE_IMAGE, THIRD_IMAGE, Application, StepPlan
from tests.unit.cluster.history_builder import APP, HistoryBuilder, at_rest, strategy

SHARED = replace(APP, shared=True)
DOUBLED = replace(APP, canary=False, blue_green=True, steps=(StepPlan(2, 0), StepPlan(2, 50)))
MORE = (StepPlan(2, 50), StepPlan(3, 80))
ORDERED = replace(APP, canary=False, workload="StatefulSet")


def at_step_1(app: Application = APP) -> HistoryBuilder:
    """A release at its first step, as it should be."""
    history = (
        at_rest(app).do("release", NEW_IMAGE).service("shop", "old").service("shop-canary", "new")
    )
    return history.pod("c", NEW_IMAGE).endpoints("shop-canary", "c").route(80, 20)


def going() -> HistoryBuilder:
    """A release at its first step, whose Rollout says so."""
    return at_step_1().status(1)


def at_step_2(*steps: StepPlan) -> HistoryBuilder:
    """The second of three steps is approved, and the route is still that of the first."""
    history = at_step_1(replace(APP, replicas=4, steps=(StepPlan(1, 20), *(steps or MORE))))
    return history.do("approve").pod("d", NEW_IMAGE).endpoints("shop-canary", "c", "d")


def finished() -> HistoryBuilder:
    """All steps approved, half of everything new."""
    history = at_step_1().do("approve").pod("d", NEW_IMAGE).endpoints("shop-canary", "c", "d")
    return history.route(50, 50).do("approve").service("shop").endpoints("shop", "a", "b", "c", "d")


def doubled(*ways: str) -> HistoryBuilder:
    """A blue-green release with all its pods, and an autoscaler that may move in some ways."""
    history = at_rest(DOUBLED).do("release", NEW_IMAGE).service("shop", "old")
    behavior = {way: {"selectPolicy": "Max"} for way in ways}
    still = {way: {"selectPolicy": "Disabled"} for way in ("scaleUp", "scaleDown")}
    history.put(AUTOSCALERS, "shop", {"spec": {"behavior": {**still, **behavior}}})
    return history.pod("c", NEW_IMAGE).pod("d", NEW_IMAGE)


def scaled_down() -> HistoryBuilder:
    """A StatefulSet that lost its newest pod, which the route leads to, by a scale-down."""
    history = at_rest(ORDERED).do("release", NEW_IMAGE).service("shop", "old")
    history.service("shop-canary", "new").drop(PODS, "b").pod("b", NEW_IMAGE)
    history.endpoints("shop", "a").endpoints("shop-canary", "b").route(80, 20)
    return history.scale(1).drop(PODS, "b").endpoints("shop-canary")


def test_a_good_history_passes() -> None:
    history = finished().drop(PODS, "a").drop(PODS, "b").endpoints("shop", "c", "d").route(100)
    assert history.drop(SERVICES, "shop-canary").broken() == set()


def test_a_status_that_follows_the_approved_steps_passes() -> None:
    history = at_step_1().status(1).do("approve").status(1).status(2).do("release", "shop:v3")
    history.status(2).status(1, "third").do("approve").status(2, "third")
    history.do("release", STABLE_IMAGE).status(2, "third").status(1, "third")
    assert "StepsInOrder" not in history.broken()


BAD: dict[str, tuple[str, Callable[[], HistoryBuilder]]] = {
    "a status that shows a step which nobody approved": (
        "StepsInOrder",
        lambda: at_step_1().status(1).status(2),
    ),
    "a status that goes back a step by itself": (
        "StepsInOrder",
        lambda: at_step_1().status(1).do("approve").status(2).status(1),
    ),
    "an end with nobody behind the stable Service": (
        "every_service_leads_somewhere_at_the_end",
        lambda: going().endpoints("shop").route(100).over(),
    ),
    "an end without the stable Service that the route names": (
        "every_service_leads_somewhere_at_the_end",
        lambda: going().drop(SERVICES, "shop").route(100).over(),
    ),
    "a rollback that ends before the Service leads to the pods that came back": (
        "every_service_leads_somewhere_at_the_end",
        lambda: going().do("release", STABLE_IMAGE).route(100).endpoints("shop").over(),
    ),
    "a rollback that leaves a rolled-back pod": (
        "no_given_up_pod_is_left",
        lambda: going().route(100).do("release", STABLE_IMAGE).over(),
    ),
    "a third revision that leaves a pod of the second": (
        "no_given_up_pod_is_left",
        lambda: going().do("release", THIRD_IMAGE).route(100).drop(PODS, "a").over(),
    ),
    "weights that do not add up": (
        "weights_are_well_formed",
        lambda: at_step_1().route(80, 10),
    ),
    "a route to a Service that does not exist": (
        "routes_lead_to_ready_pods",
        lambda: at_rest().do("release", NEW_IMAGE).service("shop", "old").route(80, 20),
    ),
    "a route to a Service with nobody behind it": (
        "routes_lead_to_ready_pods",
        lambda: at_step_1().endpoints("shop-canary"),
    ),
    "a route to a subset that does not exist": (
        "routes_lead_to_ready_pods",
        lambda: at_rest(SHARED).do("release", NEW_IMAGE).route(80, 20),
    ),
    "a subset that selects no pod": (
        "routes_lead_to_ready_pods",
        lambda: (
            at_rest(SHARED)
            .do("release", NEW_IMAGE)
            .put(DESTINATION_RULES, "shop", {"spec": {"subsets": []}})
        ),
    ),
    "a new pod that is ready before the pin": (
        "new_pods_find_the_stable_service_pinned",
        lambda: at_rest().do("release", NEW_IMAGE).pod("c", NEW_IMAGE),
    ),
    "a new pod behind the pinned Service": (
        "new_pods_find_the_stable_service_pinned",
        lambda: at_step_1().endpoints("shop", "a", "b", "c"),
    ),
    "a pod too many": (
        "new_pods_stay_within_the_approved_step",
        lambda: at_step_1().pod("d", NEW_IMAGE),
    ),
    "more traffic than approved": (
        "traffic_stays_within_the_approved_step",
        lambda: at_step_1().route(50, 50),
    ),
    "too few pods": (
        "enough_pods_are_ready",
        lambda: at_step_1().drop(PODS, "a").drop(PODS, "b"),
    ),
    "a strategy that kills all pods at once": (
        "the_strategy_is_never_recreate",
        lambda: at_step_1().put(DEPLOYMENTS, "shop", strategy("Recreate")),
    ),
    "two extra Deployments": (
        "there_is_one_extra_deployment_at_most",
        lambda: extra(extra(at_step_1(), "shop-1"), "shop-2"),
    ),
    "an old pod that goes before the last approval of blue-green": (
        "blue_green_keeps_every_old_pod",
        lambda: doubled().drop(PODS, "a"),
    ),
    "an autoscaler at work on doubled pods": (
        "doubled_pods_are_not_autoscaled",
        lambda: doubled("scaleDown"),
    ),
    "a route that stays although a scale-down took its pods, and comes back to nobody": (
        "routes_lead_to_ready_pods",
        lambda: scaled_down().route(100).route(80, 20),
    ),
    "a share that falls after the last approval": (
        "ShareNeverFalls",
        lambda: finished().route(100),
    ),
    "a share that falls in the middle of a step": (
        "ShareNeverFalls",
        lambda: at_step_1().route(90, 10),
    ),
    "a share that is taken away between two steps, and comes back": (
        "ShareNeverFalls",
        lambda: at_step_2().route(100, 0).route(50, 50),
    ),
    "a share that falls between the last step and the last approval": (
        "ShareNeverFalls",
        lambda: at_step_2(StepPlan(2, 50)).route(50, 50).route(80, 20),
    ),
    "a share that falls when a route is put back": (
        "ShareNeverFalls",
        lambda: at_step_2().route(50, 50).by_others().route(60, 40).route(80, 20),
    ),
    "a share that begins anew at the next step": (
        "ShareNeverFalls",
        lambda: at_step_2().route(95, 5),
    ),
    "a canary Service that goes a second after the route left it": (
        "Margin",
        lambda: slow(finished().route(100).drop(SERVICES, "shop-canary")),
    ),
    "a pod that goes a second after the route left it": (
        "Margin",
        lambda: slow(at_step_1().do("release", STABLE_IMAGE).route(100).drop(PODS, "c")),
    ),
    "a subset that goes a second after the last route that named it": (
        "PointedAt",
        lambda: slow(named_subset().route(100).subsets("base")),
    ),
    "a DestinationRule that goes a second after the last route that named its subset": (
        "PointedAt",
        lambda: slow(named_subset().route(100).drop(DESTINATION_RULES, "shop")),
    ),
    "a route that names a subset a second after it was written": (
        "PointedAt",
        lambda: slow(with_subset().route(80, 20)),
    ),
    "a route without a share that names a subset a second after it was written": (
        "PointedAt",
        lambda: slow(with_subset().route(100, 0)),
    ),
    "a route that names a subset again a second after it was put back": (
        "PointedAt",
        lambda: slow(
            named_subset().subsets("base").route(100).subsets("base", "canary").route(80, 20)
        ),
    ),
    "a Service that stays pinned to pods that are gone": (
        "EmptySides",
        lambda: at_step_1().drop(PODS, "a").drop(PODS, "b").endpoints("shop").long(),
    ),
    "a route that goes on to new pods that are gone": (
        "EmptySides",
        lambda: at_step_1().endpoints("shop-canary").long(),
    ),
    "a route that goes on to a subset whose pods are gone": (
        "EmptySides",
        lambda: named_subset().endpoints("shop", "c").long(),
    ),
    "an old pod beside all the others": (
        "pods_stay_within_the_surge",
        lambda: at_step_1().pod("e", STABLE_IMAGE),
    ),
    "pods in place of others before those are gone, where there is no surge": (
        "pods_stay_within_the_surge",
        lambda: at_rest(ORDERED).do("release", NEW_IMAGE).service("shop", "old").pod("c", "x"),
    ),
    "a third revision that is routed to beside the one before it": (
        "two_revisions_get_requests_at_most",
        lambda: third_revision().endpoints("shop-canary", "c", "e"),
    ),
    "a third revision behind a Service without routes": (
        "two_revisions_get_requests_at_most",
        lambda: third_revision(replace(APP, virtual_service=False)).endpoints(
            "shop", "a", "c", "e"
        ),
    ),
    "all traffic to the one stable pod of two": (
        "enough_stable_pods_get_all_traffic",
        lambda: third_revision(replace(APP, canary=False)).route(100),
    ),
    "a subset that goes although a route without a share names it": (
        "PointedAt",
        lambda: named_subset().route(100, 0).subsets("base"),
    ),
}


def third_revision(app: Application = APP) -> HistoryBuilder:
    """A release at its first step makes way for another: three revisions have ready pods, no more than there may be."""
    history = at_step_1()
    history.app = app
    history.do("release", THIRD_IMAGE).drop(PODS, "b").endpoints("shop", "a")
    return history.pod("e", THIRD_IMAGE)


def test_a_third_revision_that_takes_the_place_of_the_one_before_passes() -> None:
    history = third_revision().endpoints("shop-canary", "e").drop(PODS, "c")
    assert "two_revisions_get_requests_at_most" not in history.broken()


def test_the_surge_that_the_owner_allows_passes_once_the_last_step_is_approved() -> None:
    assert "pods_stay_within_the_surge" not in finished().pod("e", NEW_IMAGE).broken()


def with_subset(seconds: int = 1) -> HistoryBuilder:
    """A release behind one Service, before its first share, some seconds after the subset of the new pods was
    written.
    """
    history = at_rest(SHARED).do("release", NEW_IMAGE).pod("c", NEW_IMAGE, "canary")
    history.subsets("base", "canary")
    for _ in range(seconds - 1):
        history.endpoints("shop", "a", "b", "c")
    return history


def named_subset() -> HistoryBuilder:
    """The same at its first step: the route names the subset of the new pods, which was written in time."""
    return with_subset(3).route(80, 20)


def test_a_subset_that_is_named_in_time_passes() -> None:
    assert "PointedAt" not in slow(named_subset()).broken()


def test_a_subset_that_is_written_again_without_a_change_may_be_named_at_once() -> None:
    history = slow(with_subset(3).subsets("base", "canary").route(80, 20))
    assert "PointedAt" not in history.broken()


def test_a_subset_that_goes_in_time_passes() -> None:
    history = named_subset().do("release", STABLE_IMAGE).route(100).route(80, 20).route(100)
    history.endpoints("shop", "a", "b", "c")
    history.app = replace(history.app, grace=2)
    assert history.subsets("base").broken() == set()


SMALLER: dict[str, Callable[[], HistoryBuilder]] = {
    "a rollback": lambda: at_step_2().do("release", STABLE_IMAGE).route(100),
    "another revision": lambda: at_step_2().do("release", THIRD_IMAGE).route(100),
    "a step with a smaller share": lambda: at_step_2(StepPlan(2, 10), StepPlan(3, 80)).route(
        90, 10
    ),
    "a step without a share": lambda: at_step_2(StepPlan(2), StepPlan(3, 80)).route(100),
    "an edited plan": lambda: edited(at_step_2()).route(90, 10),
    "no ready new pod any more": (
        lambda: at_step_2().drop(PODS, "c").drop(PODS, "d").endpoints("shop-canary").route(100)
    ),
    "a route that its owner applies again, until it is put back": (
        lambda: at_step_2().route(100).by_others().route(80, 20)
    ),
    "a route that somebody deletes": (
        lambda: at_step_2().drop(VIRTUAL_SERVICES, "shop").route(100).by_others()
    ),
    "a restart": lambda: at_step_2().do("release", NEW_IMAGE).service("x").route(100),
    "a Rollout that is deleted": lambda: at_step_2().do("delete").route(100),
    "a template that a gate took back": lambda: taken_back(at_step_2()).route(100),
}


def edited(history: HistoryBuilder) -> HistoryBuilder:
    """The Rollout gets other steps."""
    plan = {"canary": {"steps": [{"traffic": "10%"}]}}
    return history.put(ROLLOUTS, "shop", {"spec": {"strategy": plan}})


def taken_back(history: HistoryBuilder) -> HistoryBuilder:
    """The workload has its old template again, which no person asked for."""
    return history.put(DEPLOYMENTS, "shop", manifests.deployment(history.app))


@pytest.mark.parametrize("name", SMALLER)
def test_a_falling_share_passes_for(name: str) -> None:
    assert "ShareNeverFalls" not in SMALLER[name]().broken()


def test_an_end_without_endpoints_passes_where_there_were_none_before() -> None:
    history = HistoryBuilder().pod("a", STABLE_IMAGE).service("shop").route(100)
    history.do("release", NEW_IMAGE).status(1).do("approve").do("approve").over()
    assert "every_service_leads_somewhere_at_the_end" not in history.broken()
    led = at_rest().do("release", NEW_IMAGE).status(1).scale(0).endpoints("shop").over()
    assert "every_service_leads_somewhere_at_the_end" not in led.broken()


def test_pods_of_an_image_that_ran_before_and_pods_on_their_way_out_are_no_leftovers() -> None:
    history = at_rest().pod("old", THIRD_IMAGE).do("release", NEW_IMAGE).status(1)
    history.do("release", THIRD_IMAGE).do("release", STABLE_IMAGE).over()
    assert "no_given_up_pod_is_left" not in history.broken()
    leaving = going().do("release", STABLE_IMAGE).route(100)
    pod = copy.deepcopy(leaving.pod("c", NEW_IMAGE).changes.pop().object)
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert "no_given_up_pod_is_left" not in leaving.put(PODS, "c", pod).over().broken()


def test_a_place_that_is_empty_for_the_grace_period_passes() -> None:
    history = at_step_1().endpoints("shop").pod("x", "x").endpoints("shop", "a")
    assert "EmptySides" not in history.long().broken()


def test_a_share_without_any_ready_pod_is_not_flagged() -> None:
    history = at_step_1().drop(PODS, "c").drop(PODS, "a").drop(PODS, "b").endpoints("shop")
    assert "EmptySides" not in history.endpoints("shop-canary").route(80, 20).route(80, 20).broken()


def test_doubled_pods_beside_a_held_autoscaler_pass() -> None:
    assert doubled().broken() == set()


def test_the_pods_that_a_scale_down_takes_are_not_held_against_the_release() -> None:
    assert "routes_lead_to_ready_pods" not in scaled_down().broken()


def test_a_pod_deleted_because_the_owner_wants_none_is_no_fault_of_the_release() -> None:
    history = at_step_1().scale(0).route(100).drop(PODS, "c")
    assert "Margin" not in slow(history).broken()


def extra(history: HistoryBuilder, name: str) -> HistoryBuilder:
    labels = {"rollouts.kruise.io/canary-deployment": "shop"}
    metadata = {"name": name, "namespace": "here", "labels": labels}
    return history.put(DEPLOYMENTS, name, {"metadata": metadata, **strategy("RollingUpdate")})


def slow(history: HistoryBuilder) -> HistoryBuilder:
    history.app = replace(history.app, grace=3)
    return history


@pytest.mark.parametrize("name", BAD)
def test_the_checker_flags(name: str) -> None:
    rule, history = BAD[name]
    assert rule in history().broken()


def as_it_was() -> dict[Key, JsonObject]:
    kinds = {"Deployment": DEPLOYMENTS, "Service": SERVICES, "VirtualService": VIRTUAL_SERVICES}
    return {Key(kinds[o["kind"]], "here", "shop"): o for o in manifests.objects(APP)}


def test_an_end_with_everything_restored_passes() -> None:
    state = copy.deepcopy(as_it_was())
    state[Key(ROLLOUTS, "here", "shop")] = manifests.rollout(APP)
    deployment = state[Key(DEPLOYMENTS, "here", "shop")]
    deployment["metadata"]["labels"] = {"rollouts.kruise.io/workload-type": "deployment"}
    label: JsonObject = {"f:labels": {".": {}, "f:rollouts.kruise.io/workload-type": {}}}
    deployment["metadata"]["managedFields"] = managed("f:metadata", label)
    assert judge_end(APP, state, as_it_was()) == []


def managed(part: str, fields: JsonObject | None = None) -> list[JsonObject]:
    """An entry of our field manager's."""
    entry = {"manager": "moonshift", "operation": "Update", "fieldsV1": {part: fields or {}}}
    return [entry]


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        pytest.param(VIRTUAL_SERVICES, ("spec", "hosts"), ["other"], id="another spec"),
        pytest.param(SERVICES, ("metadata", "labels", "x"), "y", id="a label"),
        pytest.param(
            SERVICES,
            ("metadata", "managedFields"),
            managed("f:spec"),
            id="a field of which we are the manager",
        ),
        pytest.param(
            DEPLOYMENTS,
            ("metadata", "managedFields"),
            managed("f:spec"),
            id="a field of the workload of which we are the manager",
        ),
        pytest.param(DEPLOYMENTS, ("spec", "paused"), True, id="a workload left paused"),
        pytest.param(
            DEPLOYMENTS, ("metadata", "annotations", "moonshift.dev/latch"), "1", id="a mark"
        ),
    ],
)
def test_the_end_is_flagged_if_a_leftover_exists(
    kind: Kind, path: tuple[str, ...], value: object
) -> None:
    state = copy.deepcopy(as_it_was())
    place = state[Key(kind, "here", "shop")]
    for part in path[:-1]:
        place = place.setdefault(part, {})
    place[path[-1]] = value
    assert {v.rule for v in judge_end(APP, state, as_it_was())} == {"everything_is_restored"}


def test_leftovers_of_a_release_are_flagged() -> None:
    state = as_it_was() | {Key(SERVICES, "here", "shop-canary"): {"metadata": {}}}
    labels = {"rollouts.kruise.io/canary-deployment": "shop"}
    state[Key(DEPLOYMENTS, "here", "shop-x")] = {"metadata": {"labels": labels}}
    found = judge_end(APP, state, as_it_was())
    assert [v.rule for v in found] == ["nothing_is_left_over"] * 2
