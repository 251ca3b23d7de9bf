"""The tables of `docs/states.md`: the disturbances in their order, and the result of each in each state.

Each cell is played: a release of v2 is brought into the state, disturbed, and left alone until it rests; the cell says
the reason that the condition Progressing gives first, and where the release rests. `python -m
tests.unit.domain.rollout.transition_table` writes both into the document; tests compare them.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from controller.api.rollout import Phase, StepState
from controller.domain.rollout.phases import DISTURBANCES as IN_ORDER
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    inner_of,
    make_deployment,
    make_rollout,
    make_steps,
    make_world,
    ours_of,
    release,
    status_of,
    template,
    wait,
)
from tests.unit.worlds import World

DOCUMENT = Path(__file__).parents[4] / "docs" / "states.md"
PLAYED = ("<!-- played: begin -->", "<!-- played: end -->")
RANKED = ("<!-- disturbances: begin -->", "<!-- disturbances: end -->")
STEPS = make_steps("20%", "50%")
STYLES = ("partition", "canary")


# --- states -----------------------------------------------------------------------------------------


def _in_step(state: StepState) -> Callable[[str], World]:
    def bring(style: str) -> World:
        world = make_world(make_rollout(style=style, steps=STEPS))
        release(world)
        world.run_until(lambda: inner_of(world).current_step_state == state)
        return world

    return bring


def _healthy(style: str) -> World:
    return make_world(make_rollout(style=style, steps=STEPS))


def _paused(style: str) -> World:
    world = _in_step(StepState.STEP_PAUSED)(style)
    world.people.pause(KEY)
    world.rest()
    return world


def _finalising(style: str) -> World:
    world = _in_step(StepState.STEP_PAUSED)(style)
    world.people.approve(KEY)
    world.rest()
    wait(world, 3)
    world.people.approve(KEY)
    world.run_until(lambda: ours_of(world).goal == "Success")
    return world


def _cancelling(style: str) -> World:
    world = _in_step(StepState.STEP_PAUSED)(style)
    release(world, "v1")
    world.run_until(lambda: ours_of(world).goal == "Rollback")
    return world


def _disabled(style: str) -> World:
    world = _healthy(style)
    world.people.disable(KEY)
    world.rest()
    return world


STATES: dict[str, Callable[[str], World]] = {
    "Healthy": _healthy,
    "BeforeStepUpgrade": _in_step(StepState.BEFORE_STEP_UPGRADE),
    "StepUpgrade": _in_step(StepState.STEP_UPGRADE),
    "StepTrafficRouting": _in_step(StepState.STEP_TRAFFIC_ROUTING),
    "StepPaused": _in_step(StepState.STEP_PAUSED),
    "Paused": _paused,
    "Cancelling": _cancelling,
    "Finalising": _finalising,
    "Disabled": _disabled,
}
"""By what a client sees, how a release gets there; `StepMetricsAnalysis` and `StepReady` are walked through."""


# --- disturbances -----------------------------------------------------------------------------------


def _workload_gone(world: World) -> None:
    world.cluster.deployments.delete(KEY)


def _workload_made_again(world: World) -> None:
    world.cluster.deployments.delete(KEY)
    world.cluster.deployments.put(make_deployment(version="v1"))


DISTURBANCES: dict[str, Callable[[World], None]] = {
    "approval": lambda world: world.people.approve(KEY),
    "template back": lambda world: world.people.edit(KEY, template=template("v1")),
    "third template": lambda world: world.people.edit(KEY, template=template("v3")),
    "jump to 2": lambda world: world.people.jump(KEY, 2),
    "longer plan": lambda world: world.people.replan(KEY, make_steps("20%", "30%", "50%")),
    "scaled to 20": lambda world: world.people.edit(KEY, replicas=20),
    "scaled to 0": lambda world: world.people.edit(KEY, replicas=0),
    "paused": lambda world: world.people.pause(KEY),
    "disabled": lambda world: world.people.disable(KEY),
    "deleted": lambda world: world.cluster.rollouts.delete(KEY),
    "workload deleted": _workload_gone,
    "workload made again": _workload_made_again,
}


# --- cells ------------------------------------------------------------------------------------------


def played(state: str, disturbance: str, style: str) -> str:
    """The first reason after the disturbance, and the state in which the release rests."""
    world = STATES[state](style)
    DISTURBANCES[disturbance](world)
    world.pass_over(KEY)
    first = _reason(world)
    world.rest()
    last = _rest(world)
    return f"{first} → {last}" if first and first != last else last


def _reason(world: World) -> str:
    if world.cluster.rollouts.get(KEY) is None:
        return ""
    found = condition(status_of(world), "Progressing")
    return found.reason if found is not None else ""


def _rest(world: World) -> str:
    """Phase, step and revision, in the words of the table."""
    if world.cluster.rollouts.get(KEY) is None:
        return f"gone, {_runs(world)}"
    status = status_of(world)
    if status.phase != Phase.PROGRESSING:
        return f"{status.phase}{_runs(world, comma=True)}"
    inner = inner_of(world)
    text = f"{inner.current_step_state} {inner.current_step_index} of {_version(world)}"
    return f"{text}, {_reason(world)}" if _reason(world) == "Paused" else text


def _version(world: World) -> str:
    deployment = world.cluster.deployments.get(KEY)
    assert deployment is not None
    return next(v for v in ("v1", "v2", "v3") if deployment.spec.template == template(v))


def _runs(world: World, *, comma: bool = False) -> str:
    """The revisions that run; nothing if there are no pods."""
    revisions = {pod.revision for pod in world.cluster.pods if not pod.metadata.deleting}
    known = {world.cluster.revision_of(template(v)): v for v in ("v1", "v2", "v3")}
    names = " + ".join(sorted(known[revision] for revision in revisions)) or "no pods"
    return f", {names}" if comma else names


def table() -> str:
    """The whole table, in Markdown: a row for each state and disturbance, a column for each style."""
    lines = [
        "| seen | disturbed by | partition style | canary style |",
        "|---|---|---|---|",
    ]
    for state in STATES:
        for disturbance in DISTURBANCES:
            cells = [played(state, disturbance, style) for style in STYLES]
            same = ["=" if cell == cells[0] else cell for cell in cells[1:]]
            lines.append(f"| `{state}` | {disturbance} | {cells[0]} | {' | '.join(same)} |")
    return "\n".join(lines)


def ranked() -> str:
    """The disturbances in the order in which a pass asks for them."""
    rows = (*(disturbance.words for disturbance in IN_ORDER), "The step itself.")
    return "\n".join(f"{number}. {row}" for number, row in enumerate(rows, start=1))


def written(marks: tuple[str, str] = PLAYED) -> str:
    """The text between two marks of the document."""
    return DOCUMENT.read_text().partition(marks[0])[2].partition(marks[1])[0].strip()


def _with(text: str, marks: tuple[str, str], content: str) -> str:
    before, begin, rest = text.partition(marks[0])
    _, end, after = rest.partition(marks[1])
    if not (begin and end):
        sys.exit(f"{DOCUMENT} has no lines {marks[0]} and {marks[1]}")
    return f"{before}{begin}\n\n{content}\n\n{end}{after}"


def main() -> None:
    """Write both tables into the document."""
    text = _with(DOCUMENT.read_text(), RANKED, ranked())
    DOCUMENT.write_text(_with(text, PLAYED, table()))


if __name__ == "__main__":
    main()
