from typing import Any

import msgspec
from msgspec import structs

from controller.api import names
from controller.cli.views.routes import content_diff, route_views
from controller.cli.views.shares import shares_in
from controller.cli.views.view import RouteView
from controller.domain.decision import Reference
from controller.domain.observation import RouteAbsent, RouteSeen, RouteState, RouteUnreadable
from controller.domain.rollout.routes.routing import wanted_plan
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.traffic.drift.object_state import see_route
from controller.domain.traffic.original.content import write_original
from controller.domain.traffic.original.record import write_state
from controller.domain.traffic.tree import Tree
from tests.unit.cli.builders import NOW, make_situation

REFERENCE = Reference("networking.istio.io/v1", "VirtualService", "web", "web", "web-canary")


def destination(host: str, weight: int) -> dict[str, Any]:
    return {"destination": {"host": host}, "weight": weight}


ORIGINAL: Tree = {"spec": {"http": [{"route": [destination("web", 100)]}]}}
DESIRED: Tree = {
    "spec": {"http": [{"route": [destination("web", 80), destination("web-canary", 20)]}]}
}


def view_of(state: RouteState) -> RouteView:
    (view,) = route_views(make_situation(routes=(RouteSeen(REFERENCE, state),)))
    return view


def in_use(plan: str, live: Tree) -> RouteState:
    original = write_original(ORIGINAL)
    state = write_state(
        release="r1", rollout="web", plan=plan, depth=0, original=original, desired=DESIRED
    )
    marks = {names.ORIGINAL_SPEC: original, names.ROUTE_STATE: state}
    return see_route(REFERENCE, msgspec.json.encode({"metadata": {"annotations": marks}, **live}))


def plan_of_step(index: int) -> str:
    context = make_situation(routes=(RouteSeen(REFERENCE, RouteAbsent()),))
    return wanted_plan(context, index).identity


def test_an_object_at_rest_is_its_owners() -> None:
    view = view_of(see_route(REFERENCE, msgspec.json.encode(ORIGINAL)))
    assert (view.state, view.shares, view.diff) == ("as its owner wrote it", ("web 100",), ())


def test_an_object_in_use_says_its_step_weights_and_difference() -> None:
    view = view_of(in_use(plan_of_step(2), DESIRED))
    assert (view.state, view.follows, view.problem) == ("follows step 2", 2, False)
    assert view.shares == ("web 80, web-canary 20",)
    assert view.original_shares == ("web 100",)
    assert "+      weight: 80" in view.diff
    assert "-      weight: 100" in view.diff
    assert not any(line.startswith(("---", "+++")) for line in view.diff)


def test_a_plan_of_no_step_is_another_plan() -> None:
    assert view_of(in_use("else", DESIRED)).state == "follows another plan"


def test_without_the_workload_the_step_of_an_object_is_not_known() -> None:
    """An approver may read Rollouts, and perhaps gateway objects, but no workload."""
    routes = (RouteSeen(REFERENCE, in_use(plan_of_step(2), DESIRED)),)
    seen = structs.replace(make_situation(routes=routes).seen, workload=None)
    (view,) = route_views(as_stored(seen, NOW))
    assert view.state == "follows a step: which one is not known without the workload"
    assert (view.follows, view.problem) == (None, False)
    assert view.shares == ("web 80, web-canary 20",)


def test_an_object_somebody_wrote_over_is_a_problem() -> None:
    meddled: Tree = {
        "spec": {"http": [{"route": [destination("web", 50), destination("web-canary", 50)]}]}
    }
    view = view_of(in_use(plan_of_step(1), meddled))
    assert view.problem
    assert view.state == "follows step 1, changed by somebody else"


def test_absent_and_unreadable_objects_are_problems_with_a_text() -> None:
    assert view_of(RouteAbsent()).state == "does not exist"
    unreadable = view_of(RouteUnreadable("Forbidden", "you may not"))
    assert (unreadable.state, unreadable.problem) == ("you may not", True)


def test_weights_are_found_by_shape() -> None:
    assert shares_in({"rules": [{"backendRefs": [{"name": "a", "weight": 1}, {"name": "b"}]}]}) == (
        "a 1",
    )
    assert shares_in([{"serviceName": "x", "weight": 5}, {"weight": 6}]) == ("x 5, ? 6",)
    assert shares_in([{"weight": True}, {"name": "y"}]) == ()
    subset: Tree = {"destination": {"host": "h", "subset": "v2"}, "weight": 3}
    assert shares_in([subset]) == ("h (subset v2) 3",)


def test_equal_contents_have_no_difference() -> None:
    assert content_diff(ORIGINAL, ORIGINAL) == ()
