from typing import Any

import msgspec
import pytest

from controller.api.rollout import Rollout
from controller.cli.views.waiting import (
    NODES,
    NOTHING,
    REPLICAS,
    RESUME,
    timers,
    waits_for,
)
from controller.domain.decision import Reference
from controller.domain.observation import RoutePresent, RouteSeen
from controller.domain.rollout.approvals.pause import awaits_approval
from controller.domain.rollout.routes.routing import GIVEN_BACK
from controller.domain.rollout.words.messages import SCALED_AWAY
from tests.unit.cli.builders import (
    NEW,
    OLD,
    ago,
    make_pod,
    make_rollout,
    make_service,
    make_situation,
    make_slice,
)

STALL = {"type": "Stalled", "status": "True", "reason": "ServiceNotFound", "message": "no web"}
BACK_OFF = {
    "containerStatuses": [
        {"name": "web", "state": {"waiting": {"reason": "ErrImagePull", "message": "no such"}}}
    ]
}


@pytest.mark.parametrize(
    ("rollout", "text"),
    [
        (make_rollout(), "an approval"),
        (make_rollout(step=2), "the pause of this step to end"),
        (
            make_rollout(approval={"step": 1}),
            "the controller to store that step(1) was approved",
        ),
        (
            make_rollout(step=2, canary={"currentStepState": "StepReady"}),
            "the controller to store that step(2) was approved",
        ),
        (make_rollout(conditions=[STALL]), "ServiceNotFound: no web"),
        (make_rollout(phase=""), "a controller: none has seen this Rollout yet"),
        (make_rollout(phase="Initial"), "its workload: a message"),
        (make_rollout(phase="Healthy", state="Completed"), NOTHING),
        (make_rollout(phase="Disabled"), NOTHING),
        (make_rollout(phase="Healthy", generation=2), "the controller to see the latest change"),
        (make_rollout(paused=True), RESUME),
        (make_rollout(state="BeforeStepUpgrade"), "the step to begin"),
        (make_rollout(state="StepUpgrade"), "the new pods of this step to be ready"),
        (make_rollout(state="StepTrafficRouting"), "the routes to follow this step"),
        (
            make_rollout(state="StepMetricsAnalysis"),
            "its pause, which begins when no client can still repeat the approval or jump before",
        ),
        (make_rollout(state="StepReady"), "the controller to begin the next step"),
        (make_rollout(state="SomethingNew"), "the controller to continue the release"),
        (
            make_rollout(goal="Rollback", canary={"finalisingStep": "RestoreStableService"}),
            "the stable Service to lead to ready pods without its pin",
        ),
        (make_rollout(goal="ScaledAway", state="BeforeStepUpgrade"), REPLICAS),
        (make_rollout(goal="ScaledAway", paused=True), REPLICAS),
        (make_rollout(goal="ScaledAway", kind="DaemonSet"), NODES),
        (
            make_rollout(
                goal="ScaledAway", canary={"finalisingStep": "FinalisingStepRouteTrafficToStable"}
            ),
            "the routes to be as their owners wrote them",
        ),
        (make_rollout(phase="Terminating"), "the controller to continue the release"),
        (
            make_rollout(phase="Disabling", canary={"finalisingStep": "ResumeWorkload"}),
            "all pods of the workload to be ready",
        ),
    ],
)
def test_the_sentence_names_the_missing_part(rollout: Rollout, text: str) -> None:
    assert waits_for(rollout) == text


def test_the_first_pod_that_cannot_start_is_named() -> None:
    pods = (
        make_pod("web-a", NEW),
        make_pod("web-b", NEW, ready=False, status=BACK_OFF),
    )
    rollout = make_rollout(state="StepUpgrade")
    assert waits_for(rollout, make_situation(rollout, pods=pods)) == (
        "2 new pods to be ready: 2 made, 1 ready; web-b: ErrImagePull: no such"
    )


def test_a_service_without_the_new_pods_is_named() -> None:
    pod = make_pod("web-a", NEW)
    rollout = make_rollout(state="StepTrafficRouting")
    context = make_situation(rollout, pods=(pod,), services=(make_service("web-canary", NEW),))
    assert waits_for(rollout, context) == "Service web-canary to lead to the new pods"
    seen = make_situation(rollout, pods=(pod,), slices=(make_slice("web-canary", pod),))
    assert waits_for(rollout, seen) == "the grace period after the routes moved"


def test_a_step_without_routes_waits_for_the_old_share() -> None:
    rollout = make_rollout(step=3, state="StepTrafficRouting")
    assert waits_for(rollout, make_situation(rollout)) == "the old share of the pods to go"


@pytest.mark.parametrize("goal", ["Rollback", "Continuous"])
def test_stable_pods_that_have_to_be_ready_before_the_routes_return_are_counted(goal: str) -> None:
    canary = {"finalisingStep": "FinalisingStepRouteTrafficToStable"}
    rollout = make_rollout(goal=goal, canary=canary)
    route = RouteSeen(
        route_to("VirtualService"),
        RoutePresent(msgspec.Raw(b"{}"), plan="p", in_use=True, depth=0),
    )
    pods = tuple(make_pod(f"web-{number}", OLD) for number in range(7))
    assert waits_for(rollout, make_situation(rollout, pods=pods[:6], routes=(route,))) == (
        "7 ready pods of the old version, which then gets all traffic back: 6 are ready"
    )
    enough = make_situation(rollout, pods=pods, routes=(route,))
    assert waits_for(rollout, enough) == "the routes to be as their owners wrote them"


@pytest.mark.parametrize(
    "parts",
    [
        {"goal": "Rollback", "canary": {"finalisingStep": "FinalisingStepRouteTrafficToStable"}},
        {"state": "BeforeStepUpgrade"},
    ],
)
def test_the_grace_period_between_routes_and_the_objects_that_they_named_is_reported(
    parts: dict[str, Any],
) -> None:
    rollout = make_rollout(**parts, routePlan=f"{GIVEN_BACK}1", routedAt=ago(1))
    sentence = "the grace period after the routes were restored; then {} will be restored, too"
    assert waits_for(rollout) == sentence.format("the objects that they named")
    raw = msgspec.Raw(b"{}")
    routes = (
        RouteSeen(route_to("VirtualService"), RoutePresent(raw)),
        RouteSeen(route_to("DestinationRule"), RoutePresent(raw, plan="p", in_use=True, depth=1)),
    )
    context = make_situation(rollout, routes=routes)
    assert waits_for(rollout, context) == sentence.format("DestinationRule web")
    assert [timer.what for timer in timers(context)] == ["grace period after the routes moved"]


def test_the_grace_period_before_a_route_names_a_subset_is_reported() -> None:
    named = {"content": "x", "since": ago(1)}
    rollout = make_rollout(state="StepTrafficRouting", namedContent=named)
    pod = make_pod("web-1", NEW)
    raw = msgspec.Raw(b"{}")
    routes = (
        RouteSeen(route_to("VirtualService"), RoutePresent(raw)),
        RouteSeen(route_to("DestinationRule"), RoutePresent(raw, plan="p", in_use=True, depth=1)),
    )
    parts = {"pods": (pod,), "slices": (make_slice("web-canary", pod),), "routes": routes}
    assert waits_for(rollout, make_situation(rollout, **parts)) == (
        "the grace period after gateway objects were written that others name"
    )
    later = make_rollout(state="StepTrafficRouting", namedContent={**named, "since": ago(9)})
    assert "to follow step 1" in waits_for(later, make_situation(later, **parts))


def test_a_grace_period_without_a_wait_is_not_shown() -> None:
    rollout = make_rollout(state="StepUpgrade", routePlan=f"{GIVEN_BACK}1", routedAt=ago(1))
    assert waits_for(rollout) == "the new pods of this step to be ready"


def route_to(kind: str) -> Reference:
    return Reference("networking.istio.io/v1", kind, "web", "web", "web-canary")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, True),
        ({"step": 2}, False),
        ({"paused": True}, False),
        ({"state": "StepUpgrade"}, False),
        ({"phase": "Healthy"}, False),
        ({"goal": "Rollback"}, False),
        ({"approval": {"step": 1}}, False),
        ({"approval": {"step": 2}}, True),
        ({"canary": {"currentStepState": "StepReady"}}, False),
    ],
)
def test_only_an_endless_pause_awaits_an_approval(parts: dict[str, Any], expected: bool) -> None:
    assert awaits_approval(make_rollout(**parts)) is expected


def test_timers_that_still_run_are_listed() -> None:
    rollout = make_rollout(
        step=2,
        stateSince=ago(10),
        routedAt=ago(1),
        endpointsReadySince={"web-canary": ago(100)},
    )
    found = {timer.what: timer.until.isoformat() for timer in timers(make_situation(rollout))}
    assert found == {
        "pause of this step": "2026-05-04T12:00:50+00:00",
        "grace period after the routes moved": "2026-05-04T12:00:02+00:00",
    }


def test_the_pause_of_a_step_does_not_end_by_the_clock_while_the_release_is_paused() -> None:
    assert timers(make_situation(make_rollout(step=2, stateSince=ago(59.5), paused=True))) == ()


def test_zero_replicas_are_shown_in_words() -> None:
    assert "scaled to zero" in SCALED_AWAY
    assert "scaled to zero" in waits_for(make_rollout(goal="ScaledAway"))
