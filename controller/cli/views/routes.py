"""The state of a Rollout's gateway objects, in words, weights and a diff against the stored original.

Invariant: the controller's own rules compute state and original; there is no other comparison here.
"""

import difflib

import yaml

from controller.api.meta import Condition
from controller.cli.views.shares import shares_in
from controller.cli.views.view import RouteView, SharedRoutesView
from controller.domain.conditions import find_condition
from controller.domain.decision import Refusal
from controller.domain.observation import RouteAbsent, RoutePresent, RouteSeen, RouteUnreadable
from controller.domain.rollout.routes.routing import wanted_plan
from controller.domain.rollout.words.release_value import Release
from controller.domain.traffic.drift.object_state import read_object_state
from controller.domain.traffic.original.content import content_of
from controller.domain.traffic.tree import Tree

DIFF_CONTEXT = 2


def route_views(release: Release) -> tuple[RouteView, ...]:
    """The view of each gateway object of the Rollout."""
    plans = _plans(release)
    return tuple(_route_view(route, plans) for route in release.seen.routes)


def shared_routes_view(release: Release) -> SharedRoutesView | None:
    """The TrafficRouting that the Rollout names; None if it names none, or if that cannot be read."""
    routing = release.seen.traffic_routing
    if routing is None:
        return None
    status, name = routing.status, release.seen.rollout.metadata.name
    stall = find_condition(status.conditions, "Stalled")
    bad = stall if stall is not None and stall.status == "True" else Condition("", "")
    return SharedRoutesView(
        name=routing.metadata.name,
        phase=status.phase,
        routed=any(member.rollout == name and member.routed for member in status.members),
        reason=bad.reason,
        problem=bad.message or bad.reason,
    )


def _plans(release: Release) -> dict[str, int] | None:
    """The step of each traffic plan, by the plan's identity; None if the workload is not known."""
    if release.seen.workload is None:
        return None
    if not release.seen.routes:
        return {}
    return {
        wanted_plan(release, index).identity: index
        for index in range(len(release.steps), 0, -1)
        if release.step(index).routes_traffic
    }


def _route_view(route: RouteSeen, plans: dict[str, int] | None) -> RouteView:
    kind, name = route.reference.kind, route.reference.name
    match route.state:
        case RouteAbsent():
            return RouteView(kind, name, "does not exist", problem=True)
        case RouteUnreadable(message=message):
            # Conditions begin with the object and a colon; this line begins with the object already.
            subject, _, rest = message.partition(": ")
            text = rest if subject.endswith(f"/{name}") else message
            return RouteView(kind, name, text, problem=True)
        case RoutePresent() as present:
            return _present(kind, name, present, plans)


def _present(
    kind: str, name: str, present: RoutePresent, plans: dict[str, int] | None
) -> RouteView:
    object_state = read_object_state(bytes(present.raw), f"{kind}/{name}")
    if isinstance(object_state, Refusal):
        return RouteView(kind, name, object_state.message, problem=True)
    live = content_of(object_state.live)
    if not object_state.in_use:
        return RouteView(kind, name, "as its owner wrote it", shares=shares_in(live.get("spec")))
    step = plans.get(present.plan) if plans is not None else None
    state = _followed(step, workload_is_known=plans is not None)
    if present.touched:
        state += f", changed by {present.editor or 'somebody else'}"
        gone = [change for change in present.changes if change.endswith("which is gone")]
        state += f": {', '.join(gone)}" if gone else ""
    return RouteView(
        kind,
        name,
        state,
        follows=step,
        shares=shares_in(live.get("spec")),
        original_shares=shares_in(object_state.original.get("spec")),
        diff=content_diff(object_state.original, live),
        drift=content_diff(object_state.written, live)
        if object_state.touched and object_state.written is not None
        else (),
        problem=present.touched,
    )


def _followed(step: int | None, *, workload_is_known: bool) -> str:
    if not workload_is_known:
        return "follows a step: which one is not known without the workload"
    return f"follows step {step}" if step is not None else "follows another plan"


def content_diff(original: Tree, live: Tree) -> tuple[str, ...]:
    """Unified diff of two contents as YAML, without file names."""
    before, after = (_yaml(content) for content in (original, live))
    lines = difflib.unified_diff(before, after, n=DIFF_CONTEXT, lineterm="")
    return tuple(line for line in lines if not line.startswith(("---", "+++")))


def _yaml(content: Tree) -> list[str]:
    text: str = yaml.safe_dump(content, sort_keys=True, allow_unicode=True, width=1000)
    return text.splitlines()
