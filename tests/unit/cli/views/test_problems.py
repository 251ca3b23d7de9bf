"""The problems that are shown for a release, and the states that are no problem."""

from datetime import timedelta

import pytest
from msgspec import structs

from controller.cli.output import plain
from controller.cli.render.why import answer
from controller.cli.views.look import look_at
from controller.cli.views.problems import MAX_WARNINGS, problems_of, why
from controller.cli.views.view import (
    ConditionView,
    EventView,
    PodView,
    RevisionView,
    Role,
    RolloutView,
    RouteView,
    ServiceView,
    Summary,
)
from tests.unit.cli.builders import NEW, NOW, make_deployment, make_observation, make_pod

SUMMARY = Summary(
    "shop", "web", "Progressing", 2, 3, "StepUpgrade", "pods", "Deployment/web", since=NOW
)
QUIET = RolloutView(SUMMARY)


def test_a_slow_step_is_no_problem() -> None:
    pods = tuple(
        PodView(f"p{i}", False, because=why) for i, why in enumerate(("", "Pending", "not ready"))
    )
    view = structs.replace(
        QUIET,
        revisions=(RevisionView(Role.CANARY, "new", pods),),
        routes=(RouteView("HTTPRoute", "web", "follows step 1", 1),),
        conditions=(ConditionView("Ready", "False"), ConditionView("Stalled", "False")),
        events=(EventView("Normal", "Routed", "routes follow step 1", NOW),),
    )
    assert problems_of(view) == ()


def test_pods_with_one_trouble_are_one_problem() -> None:
    pods = tuple(PodView(f"p{i}", False, because="ErrImagePull") for i in range(50))
    view = structs.replace(QUIET, revisions=(RevisionView(Role.CANARY, "new", pods),))
    assert problems_of(view) == ("pod p0: ErrImagePull",)


def test_a_missing_service_of_the_plan_is_a_problem_between_releases_too() -> None:
    missing = ServiceView("web", Role.STABLE, exists=False)
    view = structs.replace(QUIET, services=(missing, ServiceView("api", Role.STABLE)))
    assert problems_of(view) == ("Service/web: does not exist",)


def test_a_missing_service_is_reported_once() -> None:
    text = "Service shop/web does not exist: create it again, which a rollback needs, too"
    view = structs.replace(
        QUIET,
        services=(ServiceView("web", Role.STABLE, exists=False),),
        conditions=(ConditionView("Stalled", "True", "ServiceNotFound", text),),
    )
    assert problems_of(view) == (f"Stalled: {text}",)


def test_nobody_at_work_comes_before_everything() -> None:
    stalled = ConditionView("Stalled", "True", "ServiceNotFound")
    view = structs.replace(QUIET, unattended="no controller is at work", conditions=(stalled,))
    assert problems_of(view) == ("no controller is at work", "Stalled: ServiceNotFound")


def test_a_small_workload_whose_only_pod_is_new_is_a_problem() -> None:
    pods = (make_pod("p", NEW),)
    view = look_at(make_observation(pods=pods, workload=make_deployment(replicas=1)), NOW, {})
    problems, *_ = problems_of(view)
    assert problems.startswith("step(1) asks for ")
    assert problems.endswith("all of the traffic goes to the new version")


def test_a_changed_route_is_a_problem() -> None:
    route = RouteView("HTTPRoute", "web", "changed", drift=("-a", "+b"))
    (problems,) = problems_of(structs.replace(QUIET, routes=(route,)))
    assert problems.startswith("HTTPRoute/web: somebody changed")


def test_warnings_of_the_present_state_are_reported_once_and_older_ones_not() -> None:
    old = EventView("Warning", "Old", "long ago", NOW - timedelta(hours=1))
    new = [EventView("Warning", f"New{i}", "now", NOW + timedelta(seconds=i)) for i in range(5)]
    view = structs.replace(QUIET, events=(old, *new, new[-1]))
    problems = problems_of(view)
    assert problems == ("New3: now", "New4: now")
    assert len(problems) < MAX_WARNINGS < len(new)


def test_an_event_of_a_stall_that_is_solved_is_no_problem_any_more() -> None:
    at = NOW + timedelta(seconds=5)
    told = EventView("Warning", "AnalysisTemplateNotFound", "does not exist", at)
    again = EventView("Warning", "HeldAgain", "held", NOW + timedelta(seconds=20))
    solved = ConditionView("Stalled", "False", "", "", NOW + timedelta(seconds=10))
    view = structs.replace(QUIET, events=(told, again), conditions=(solved,))
    assert problems_of(view) == ("HeldAgain: held",)
    still = structs.replace(solved, since=NOW - timedelta(hours=1))
    assert len(problems_of(structs.replace(view, conditions=(still,)))) == 2


OF_STABLE = "no pod of the stable revision is ready: all requests go to the new revision"
OF_NEW = "no pod of the new revision is ready: all requests go to the stable revision"


def while_stalled(
    message: str, *events: EventView, reason: str = "SideWithoutEndpoints"
) -> RolloutView:
    """The problem changed after the stall began, so the condition's time is older than both Events."""
    stall = ConditionView("Stalled", "True", reason, message, NOW)
    return structs.replace(QUIET, conditions=(stall,), events=events)


@pytest.mark.parametrize("reason", ["SideWithoutEndpoints", "ServiceNotFound", "ErrImagePull"])
def test_the_event_of_a_stall_that_another_replaced_is_no_problem(reason: str) -> None:
    before = EventView("Warning", reason, OF_STABLE, NOW)
    after = EventView("Warning", "SideWithoutEndpoints", OF_NEW, NOW + timedelta(seconds=4))
    now_so = reason if reason == "ErrImagePull" else "SideWithoutEndpoints"
    view = while_stalled(OF_NEW, before, after, reason=now_so)
    assert problems_of(view) == (f"Stalled: {OF_NEW}",)


def test_a_warning_beside_a_stall_stays_a_problem() -> None:
    other = EventView("Warning", "CopyDiffers", "a copy differs", NOW)
    view = while_stalled(OF_NEW, other)
    assert problems_of(view) == (f"Stalled: {OF_NEW}", "CopyDiffers: a copy differs")


@pytest.mark.parametrize("ready", [False, True])
def test_withdrawn_traffic_is_a_problem_while_no_new_pod_is_ready(ready: bool) -> None:
    text = "step(2): no pod of the new version is ready; its traffic goes to the stable one"
    pods = RevisionView(Role.CANARY, "new", (PodView("p", ready),), ready=int(ready))
    told = EventView("Warning", "TrafficWithdrawn", text, NOW)
    view = structs.replace(QUIET, revisions=(pods,), events=(told,))
    assert bool(problems_of(view)) is not ready


def test_programs_get_the_same_and_the_command() -> None:
    view = structs.replace(QUIET, gaps=("pods: forbidden",))
    found = why(view, "moonshift resume web")
    assert (found.rollout, found.step, found.waits_for) == ("shop/web", 2, "pods")
    assert (found.command, found.problems) == ("moonshift resume web", problems_of(view))


def test_the_same_sentence_of_several_sources_is_shown_once() -> None:
    text = "Service shop/web does not exist"
    summary = structs.replace(SUMMARY, waits_for=f"ServiceNotFound: {text}", stalled=True)
    view = structs.replace(
        QUIET,
        summary=summary,
        conditions=(ConditionView("Stalled", "True", "ServiceNotFound", text),),
        events=(EventView("Warning", "ServiceNotFound", text, NOW),),
    )
    assert problems_of(view) == (f"Stalled: {text}",)
    assert plain(answer(view, NOW)).count(text) == 1


def test_no_duration_is_shown_of_a_state_that_began_just_now() -> None:
    assert "for" not in plain(answer(QUIET, NOW)).splitlines()[0].split()
    later = plain(answer(QUIET, NOW + timedelta(seconds=5)))
    assert later.splitlines()[0].endswith("for 5s")
