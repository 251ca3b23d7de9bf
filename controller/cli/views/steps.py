"""The plan in words: the effect of each step, and the steps after the present one."""

from controller.api.rollout import HttpRouteMatch, Rollout, RolloutStatus, Step, Strategy
from controller.cli.views.view import StepView
from controller.domain.pods.plan import batch_size
from controller.domain.rollout.approvals.pause import last_step_needs_no_pause
from controller.domain.rollout.words.release_context import current_step, moonshift_status
from controller.domain.rollout.words.release_value import of_rollout_alone


def steps_of(strategy: Strategy) -> tuple[Step, ...]:
    """The steps, whichever the style."""
    return strategy.plan.steps if strategy.plan is not None else ()


def match_text(match: HttpRouteMatch) -> str:
    """One alternative: all parts must hold."""
    parts = [f"{item.name}{_sign(item.type)}{item.value}" for item in match.headers]
    parts += [f"?{item.name}{_sign(item.type)}{item.value}" for item in match.query_params]
    if match.path is not None:
        parts.append(f"path {match.path.value or '/'}")
    if match.method:
        parts.append(match.method)
    return " and ".join(parts)


def _sign(kind: str) -> str:
    return "~" if kind == "RegularExpression" else "="


def traffic_text(step: Step) -> str:
    """Which requests go to the new revision."""
    if step.matches:
        return "requests with " + " or ".join(match_text(match) for match in step.matches)
    return f"{step.traffic} of the traffic" if step.traffic is not None else "no routes"


def pause_text(rollout: Rollout, index: int) -> str:
    """How the step ends."""
    duration = steps_of(rollout.spec.strategy)[index - 1].pause.duration
    if duration == 0 or goes_on_by_itself(rollout, index):
        return "none"
    return "until approved" if duration is None else f"{duration} s"


def goes_on_by_itself(rollout: Rollout, index: int) -> bool:
    """The controller's own rule about a last step of all pods; it depends only on the plan."""
    if rollout.spec.strategy.canary is None:
        return False
    return last_step_needs_no_pause(of_rollout_alone(rollout), index)


def pods_text(steps: tuple[Step, ...], index: int, replicas: int | None) -> str:
    """How many new pods there are at the step."""
    asked = steps[index - 1].replicas
    if replicas is None or not isinstance(asked, str):
        return "" if asked is None else str(asked)
    return f"{asked} ({batch_size(steps, index, replicas)} of {replicas})"


def step_views(rollout: Rollout, replicas: int | None) -> tuple[StepView, ...]:
    """All steps; those before the present one are done, all of them when nothing is under way."""
    steps = steps_of(rollout.spec.strategy)
    now = current_step(rollout.status) if under_way(rollout.status) else 0
    return tuple(
        StepView(
            index=index,
            pods=pods_text(steps, index, replicas),
            traffic=traffic_text(step),
            pause=pause_text(rollout, index),
            mark="now" if index == now else "done" if index < now else "to come",
        )
        for index, step in enumerate(steps, 1)
    )


def under_way(status: RolloutStatus) -> bool:
    """A release is walking through its steps."""
    return status.phase == "Progressing"


def goes_in_steps(rollout: Rollout) -> bool:
    """A change of the workload would be released in steps: the Rollout is neither disabled nor being deleted."""
    return not (rollout.spec.disabled or rollout.metadata.deleting)


def next_text(rollout: Rollout, replicas: int | None) -> str:
    """The steps after the present one; empty when no release is under way."""
    steps = steps_of(rollout.spec.strategy)
    now = current_step(rollout.status)
    if not under_way(rollout.status) or moonshift_status(rollout.status).goal or not now:
        return ""
    if now >= len(steps):
        return "the end: all pods on the new revision, then routes and Services as their owners wrote them"
    step = steps[now]
    pods = pods_text(steps, now + 1, replicas)
    return (
        f"step {now + 1}/{len(steps)}: {pods or 'no more'} new pods, {traffic_text(step)}, "
        f"pause {pause_text(rollout, now + 1)}"
    )
