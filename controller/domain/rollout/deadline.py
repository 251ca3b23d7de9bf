"""A release whose present step, or whose end, takes longer than its plan allows: said in words, with what is missing.

Invariant: unless its plan says Rollback nothing is stopped by a deadline: what is being done goes on being tried, and
when it succeeds after all the release goes on and the problem is gone. The end is never taken back; its clock starts
when its goal is set. Waiting for people never counts: not for an approval, nor while the spec is paused, nor while a
problem is told that only people can solve.
"""

from datetime import datetime

from msgspec import structs

from controller.api.rollout import RolloutStatus, StepState
from controller.domain import reasons
from controller.domain.decision import Refusal
from controller.domain.gates.deadline import deadline_of
from controller.domain.rollout.reverting import given_up
from controller.domain.rollout.situation import Situation, canary_status, position
from controller.domain.rollout.status import with_position
from controller.domain.rollout.stuck import steady, told, trouble_of, with_trouble
from controller.domain.rollout.turn import Stop

NAMED_PODS = 3
"""Unready pods that are named; a person looks at one of them first."""
ROLLBACK = "Rollback"
"""Value of `onDeadlineExceeded`."""
_WORKING = (
    StepState.BEFORE_STEP_UPGRADE,
    StepState.STEP_UPGRADE,
    StepState.STEP_TRAFFIC_ROUTING,
)


def with_deadline(sit: Situation, stop: Stop) -> Stop:
    """`stop`, stalled where its work has taken too long; no time passes where people have to help first."""
    return (
        held_up(sit, stop)
        if stop.problem is not None
        else _stalled_in_time(sit, _resumed(sit, stop))
    )


def held_up(sit: Situation, stop: Stop) -> Stop:
    """`stop`, at which the clock of the work stands still."""
    ours = position(stop.status)
    unmeasured = sit.strategy.progress_deadline_seconds is None or _began(stop.status) is None
    if unmeasured or ours.held_up_since is not None:
        return stop
    return structs.replace(stop, status=with_position(stop.status, held_up_since=sit.now))


def _resumed(sit: Situation, stop: Stop) -> Stop:
    """`stop`, with the clock going on from where it stood when people were first waited for."""
    held, began = position(stop.status).held_up_since, _began(stop.status)
    if held is None:
        return stop
    status = with_position(stop.status, held_up_since=None)
    if began is not None:
        status = with_position(status, worked_since=began + (sit.now - max(held, began)))
    return structs.replace(stop, status=status)


def _stalled_in_time(sit: Situation, stop: Stop) -> Stop:
    began = _began(stop.status)
    if began is None:
        return stop
    stop = with_trouble(sit, stop, began)
    deadline = deadline_of(began, sit.strategy.progress_deadline_seconds, sit.now)
    if deadline is None:
        return stop
    if not deadline.exceeded:
        return structs.replace(stop, wake_at=min(stop.wake_at or deadline.due, deadline.due))
    problem = _stuck(sit, stop)
    going = position(stop.status).goal or sit.returning
    if sit.strategy.on_deadline_exceeded == ROLLBACK and not going:
        taken_back = given_up(sit, stop.status, problem.message)
        if taken_back is not None:
            return taken_back
    return structs.replace(stop, problem=problem)


def _began(status: RolloutStatus) -> datetime | None:
    """From when the work that is going on counts; None while people or a timer are waited for."""
    began = _first_began(status)
    later = position(status).worked_since
    return began if began is None or later is None else max(began, later)


def _first_began(status: RolloutStatus) -> datetime | None:
    ours = position(status)
    if ours.goal:
        return ours.goal_since
    if ours.state not in _WORKING or not ours.visits:
        return None
    present = ours.visits[-1]
    # A step that was ready once and lost its pods works anew from then on, however long it had waited for people.
    return present.started_at if present.ready_at is None else ours.state_since


def _stuck(sit: Situation, stop: Stop) -> Refusal:
    ours, seconds = position(stop.status), sit.strategy.progress_deadline_seconds
    trouble = trouble_of(sit, stop.status)
    if ours.goal:
        part = canary_status(stop.status).finalising_step
        text = (
            f"the end of the release ({ours.goal}) has taken more than {seconds} s, it is at {part}"
        )
    else:
        told_of = trouble.pod if trouble is not None else ""
        missing = _missing(sit, stop.status, told_of)
        text = f"step({ours.step}) has taken more than {seconds} s: {missing}"
    if trouble is not None:
        head = f"{text}; "
        text = steady(sit, reasons.DEADLINE_EXCEEDED, head, f"{head}{told(trouble)}")
    return Refusal(reasons.DEADLINE_EXCEEDED, text, object=sit.workload_name)


def _missing(sit: Situation, status: RolloutStatus, told_of: str) -> str:
    """What the step waits for; the pod whose trouble is told behind it is not named here."""
    ours = position(status)
    if ours.state == StepState.STEP_TRAFFIC_ROUTING:
        return "the routes do not follow it yet, or the old pods' share is not given back"
    counted, wanted = sit.ready(sit.new_pods), sit.wanted(ours.step)
    unready = [
        pod.metadata.name
        for pod in sit.new_pods
        if pod.ready_since is None and not pod.metadata.deleting and pod.metadata.name != told_of
    ]
    named = ", ".join(sorted(unready)[:NAMED_PODS])
    more = f" and {len(unready) - NAMED_PODS} more" if len(unready) > NAMED_PODS else ""
    of_these = f"; not ready: {named}{more}" if unready else ""
    return f"{counted.ready} of {wanted} new pods are ready{of_these}"
