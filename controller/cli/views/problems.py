"""The problems of a release, from all known facts.

Invariant: a problem needs a person to look at it or to change something; work that only takes time belongs to
`waiting`. The most serious problem comes first, and each is reported once.
"""

import re

from controller.cli.views.given_up import held_until
from controller.cli.views.pod_troubles import PASSING
from controller.cli.views.view import (
    ConditionView,
    EventView,
    PodView,
    Remedy,
    Role,
    RolloutView,
    RouteView,
    View,
)
from controller.domain import reasons
from controller.telemetry.state.stalls import StallClass, stall_class

_BAD = frozenset({("Stalled", "True"), ("ConfigTracked", "False")})
MAX_WARNINGS = 3
"""Of the Events since the present state began, the last ones: older ones are in `describe`."""


class Why(View, frozen=True):
    """The short answer: the present wait, the command that would end it, the problems, and the commands to type."""

    rollout: str
    phase: str
    step: int
    steps: int
    state: str
    waits_for: str
    command: str
    problems: tuple[str, ...]
    next: tuple[Remedy, ...] = ()


def is_bad(condition: ConditionView) -> bool:
    """Whether somebody has to change something."""
    return (condition.type, condition.status) in _BAD


def problems_of(view: RolloutView) -> tuple[str, ...]:
    """The problems of the Rollout, one sentence each."""
    found = [view.unattended, view.overrun, _of_shared_routes(view), _given_up(view)]
    found += [
        f"{condition.type}: {condition.message or condition.reason}"
        for condition in view.conditions
        if is_bad(condition)
    ]
    found += [f"pod {pod.name}: {pod.because}" for pod in pods_in_trouble(view)]
    found += [_about(route) for route in view.routes]
    found += [f"Service/{each.name}: does not exist" for each in view.services if not each.exists]
    found += [f"{event.reason}: {event.message}" for event in _warnings(view)]
    found += [f"cannot be seen: {gap}" for gap in view.gaps]
    shown: list[str] = []
    for problem in filter(None, found):
        if not any(gist(problem) in earlier for earlier in shown):
            shown.append(problem)
    return tuple(shown)


_WHENCE = re.compile(r"(?:[\w./-]+: |not found: |step\(\d+\): )+(?=\S+ \S)")
"""Words before a sentence that name its source."""


def gist(problem: str) -> str:
    """The sentence without its source: a condition, its Event and its gate repeat the same sentence."""
    return _WHENCE.sub("", problem, count=1) if _WHENCE.match(problem) else problem


def pods_in_trouble(view: RolloutView) -> tuple[PodView, ...]:
    """By reason, one pod of each: fifty pods that cannot pull one image are one problem."""
    found: dict[str, PodView] = {}
    for revision in view.revisions:
        for pod in revision.pods:
            if not pod.ready and pod.because not in PASSING:
                found.setdefault(pod.because, pod)
    return tuple(found.values())


def _of_shared_routes(view: RolloutView) -> str:
    """Before the conditions: a member's condition repeats the message without the TrafficRouting's name."""
    shared = view.shared_routes
    return f"trafficrouting/{shared.name}: {shared.problem}" if shared and shared.problem else ""


def _given_up(view: RolloutView) -> str:
    """With the reason, if its Event is there. Before the Events: this sentence contains that one's."""
    if not view.given_up:
        return ""
    told = [event.message for event in view.events if event.reason == reasons.GIVEN_UP]
    sentence = told[-1] if told else view.given_up
    return f"{reasons.GIVEN_UP}: {sentence}; {held_until(view.summary.name)}"


def _about(route: RouteView) -> str:
    if route.problem:
        return f"{route.kind}/{route.name}: {route.state}"
    if route.drift:
        return (
            f"{route.kind}/{route.name}: somebody changed the release's content (describe shows it)"
        )
    return ""


def _warnings(view: RolloutView) -> list[EventView]:
    """Those since the present state began, or since the last stall was solved: its Event is no problem any more."""
    solved = [c.since for c in view.conditions if (c.type, c.status) == ("Stalled", "False")]
    since = max(filter(None, (view.summary.since, *solved)), default=None)
    found = [
        event
        for event in view.events
        if event.type == "Warning" and (since is None or event.at is None or event.at >= since)
    ]
    return [event for event in found if not _is_contradicted(event, view)][-MAX_WARNINGS:]


def _is_contradicted(event: EventView, view: RolloutView) -> bool:
    """A later fact says otherwise: another problem stalls the Rollout now, or a new pod is ready again.

    The time does not tell: a stall keeps its time when its reason or its message changes.
    """
    if event.reason == reasons.TRAFFIC_WITHDRAWN:
        return any(each.role is Role.CANARY and each.ready for each in view.revisions)
    return any(
        _is_of_a_stall(event.reason, condition) and event.message != condition.message
        for condition in view.conditions
        if (condition.type, condition.status) == ("Stalled", "True")
    )


def _is_of_a_stall(reason: str, stall: ConditionView) -> bool:
    """Pods' reasons are Kubernetes' own words: such a one is known only from the condition."""
    return reason == stall.reason or stall_class(reason) is not StallClass.OTHER


def why(view: RolloutView, command: str, remedies: tuple[Remedy, ...] = ()) -> Why:
    """`command` is a command with which the release would continue; empty if there is none."""
    summary = view.summary
    return Why(
        rollout=f"{summary.namespace}/{summary.name}",
        phase=summary.phase,
        step=summary.step,
        steps=summary.steps,
        state=summary.state,
        waits_for=summary.waits_for,
        command=command,
        problems=problems_of(view),
        next=remedies,
    )
