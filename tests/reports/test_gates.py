"""Reports about gates: failed ones, second tries, no data."""

from msgspec import structs

from controller.api.analysis import NoData, OnFailure
from controller.api.rollout import Pause, Phase, Step, StepState
from controller.domain import reasons
from tests.reports.played import played
from tests.reports.test_ends import is_as_before, ready_endpoints, retry
from tests.unit.builders import (
    inner_of,
    make_deployment,
    make_rollout,
    make_strategy,
    make_world,
    release,
    sizes_of,
    status_of,
    wait,
    weight_of,
)
from tests.unit.domain.rollout.approvals.test_analysing import ERRORS, gated, released, state
from tests.unit.domain.rollout.scenes import BOTH, approve, history, reason_of
from tests.unit.worlds import World


def gated_world(style: str, *, late: bool = False, background: bool = False) -> World:
    """A world whose release is rolled back by its gate: that of step 1, or of a late step, or of all steps."""
    gate = gated(on_failure=OnFailure.ROLLBACK)
    share = "80%" if late else "20%"
    step = Step(replicas=share, traffic=share, pause=Pause(duration=0), analysis=gate)
    steps = (step, Step(replicas="90%", traffic="90%"))
    strategy = make_strategy(style=style, steps=steps)
    if background:
        plain = tuple(
            Step(replicas=each, traffic=each, pause=Pause(duration=600))
            for each in ("20%", "50%", "80%")
        )
        strategy = structs.replace(strategy, steps=plain, analysis=gated())
    strict = make_deployment(max_unavailable=0)
    return make_world(make_rollout(strategy=strategy), strict)


@played("argoproj/argo-rollouts#777")
@BOTH
def test_a_late_gate_that_rolls_back_leaves_as_many_ready_pods_as_the_owner_demands(
    style: str,
) -> None:
    world = gated_world(style, late=True)
    ready = history(world, lambda: sum(pod.ready_since is not None for pod in world.cluster.pods))
    served = history(world, lambda: ready_endpoints(world, "web"))
    world.passes.measures.series["errors"] = (0.07,)
    release(world)
    wait(world, 300)
    assert is_as_before(world)
    assert min(ready) >= 10
    assert min(served) > 0


@played("argoproj/argo-rollouts#2824", "argoproj/argo-rollouts#3120")
@BOTH
def test_a_version_that_is_tried_again_is_measured_again_from_step_1(style: str) -> None:
    world = gated_world(style)
    world.passes.measures.series["errors"] = (0.07,)
    release(world)
    wait(world, 120)
    assert is_as_before(world)
    release(world)
    world.rest()
    assert reason_of(world, "Stalled") == reasons.REVISION_FAILED
    world.passes.measures.series["errors"] = (0.001,)
    retry(world)
    wait(world, 120)
    assert (inner_of(world).current_step_index, weight_of(world)) == (2, 90)
    approve(world)
    assert sizes_of(world) == {"v2": 10}
    assert status_of(world).phase == Phase.HEALTHY


@played("argoproj/argo-rollouts#1411")
@BOTH
def test_a_background_gate_that_fails_stops_the_release_at_its_step(style: str) -> None:
    world = gated_world(style, background=True)
    world.passes.measures.series["errors"] = (0.001,) * 3 + (0.9,)
    release(world)
    wait(world, 7200)
    assert reason_of(world, "Stalled") == reasons.ANALYSIS_FAILED
    assert (inner_of(world).current_step_index, weight_of(world)) == (1, 20)


@played("fluxcd/flagger#1035")
def test_the_owner_decides_about_a_gate_without_data() -> None:
    held = released(gated())
    wait(held, 900)
    assert state(held) == (1, StepState.STEP_METRICS_ANALYSIS)
    assert "waits for metrics without data" in status_of(held).message
    passing = structs.replace(ERRORS, no_data=NoData.PASS)
    assert state(released(gated(passing))) == (2, StepState.STEP_PAUSED)
