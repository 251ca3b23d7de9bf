"""A step ends only after its metrics have passed; a gate that fails holds the release or rolls it back."""

from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.analysis import (
    Analysis,
    AnalysisRun,
    AnalysisTemplate,
    AnalysisTemplateSpec,
    Argument,
    Bounds,
    Comparison,
    Golden,
    Metric,
    OnFailure,
    OnInconclusive,
    PrometheusQuery,
    TemplateRef,
    ValueRule,
    Verdict,
)
from controller.api.meta import Condition, ObjectMeta
from controller.api.rollout import Pause, Step, StepState
from controller.domain import reasons
from controller.domain.rollout.approvals import analysing
from controller.domain.rollout.words.status import condition, with_moonshift_status
from controller.simulation.state import Delays
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    lose_kept,
    make_rollout,
    make_strategy,
    make_world,
    ours_of,
    release,
    sizes_of,
    status_of,
    wait,
)
from tests.unit.worlds import World

QUERY = PrometheusQuery(query='errors{revision="{{ revision }}"}')
ERRORS = Metric(name="errors", prometheus=QUERY, success=ValueRule(max=0.01), interval="10s")


def gated(*metrics: Metric, **options: object) -> Analysis:
    return structs.replace(Analysis(metrics=metrics or (ERRORS,)), **options)


def released(
    analysis: Analysis | None,
    *,
    background: Analysis | None = None,
    pause: Pause | None = None,
    **series: tuple[float, ...],
) -> World:
    """A release whose first of two steps has this gate; each metric has its series."""
    steps = (
        Step(replicas="20%", traffic="20%", pause=pause or Pause(duration=0), analysis=analysis),
        Step(replicas="50%", traffic="50%"),
    )
    strategy = structs.replace(make_strategy(steps=steps), analysis=background)
    world = make_world(make_rollout(strategy=strategy))
    world.passes.measures.series |= {
        name.replace("_stable", "/stable"): s for name, s in series.items()
    }
    release(world)
    wait(world, 20)
    return world


def approve(world: World) -> None:
    """An approval that cannot be taken for a repeat, and the seconds after it."""
    wait(world, 3)
    world.people.approve(KEY)
    wait(world, 20)


def stalled(world: World) -> Condition:
    found = condition(status_of(world), "Stalled")
    assert found is not None
    return found


def state(world: World) -> tuple[int, str]:
    ours = ours_of(world)
    return ours.step, ours.state


def run_of(world: World, step: int = 1) -> AnalysisRun:
    return next(run for run in ours_of(world).analyses if run.step == step)


def test_a_step_goes_on_when_its_metrics_pass() -> None:
    world = released(gated(), errors=(0.001,))
    assert state(world) == (2, StepState.STEP_PAUSED)
    assert ours_of(world).visits[0].analysis == "Passed: 1 of 1 metrics passed"


def test_the_visit_of_a_step_keeps_the_last_measurements_of_its_gate() -> None:
    metric_of_five = structs.replace(ERRORS, count=5, failure_limit=1)
    world = released(gated(metric_of_five), errors=(0.001, 0.002, 0.5, 0.003, 0.004))
    wait(world, 200)
    (metric,) = ours_of(world).visits[0].metrics
    assert (metric.name, metric.verdict) == ("errors", Verdict.PASSED)
    assert [seen.value for seen in metric.readings] == [0.5, 0.003, 0.004]
    assert [seen.reading for seen in metric.readings] == ["Bad", "Good", "Good"]


def test_the_visit_of_a_step_whose_gate_failed_has_the_bad_measurement() -> None:
    world = released(gated(), errors=(0.9,))
    (metric,) = ours_of(world).visits[0].metrics
    assert (metric.verdict, metric.readings[-1].value) == (Verdict.FAILED, 0.9)


def test_a_gate_without_data_is_reported_after_ten_minutes_until_there_is_some() -> None:
    world = released(gated())
    wait(world, 500)
    assert stalled(world).status == "False"
    wait(world, 200)
    assert state(world) == (1, StepState.STEP_METRICS_ANALYSIS)
    assert stalled(world).reason == reasons.ANALYSIS_WITHOUT_DATA
    assert "without data, or with too few requests: errors." in stalled(world).message
    world.passes.measures.series["errors"] = (0.001,)
    wait(world, 20)
    assert state(world) == (2, StepState.STEP_PAUSED)
    assert stalled(world).status == "False"


def test_a_metric_of_a_template_without_data_is_reported_too() -> None:
    template = AnalysisTemplate(
        metadata=ObjectMeta(name="errors", namespace=NAMESPACE),
        spec=AnalysisTemplateSpec(metrics=(ERRORS,)),
    )
    world = released(Analysis(templates=(TemplateRef("errors"),)))
    world.cluster.analysis_templates.put(template)
    wait(world, 700)
    assert stalled(world).reason == reasons.ANALYSIS_WITHOUT_DATA


def test_a_template_behind_two_others_wakes_the_release_that_waits_for_it() -> None:
    def template(name: str, *names: str, metrics: tuple[Metric, ...] = ()) -> AnalysisTemplate:
        refs = tuple(map(TemplateRef, names))
        spec = AnalysisTemplateSpec(templates=refs, metrics=metrics)
        return AnalysisTemplate(metadata=ObjectMeta(name=name, namespace=NAMESPACE), spec=spec)

    world = released(Analysis(templates=(TemplateRef("a"),)), errors=(0.001,))
    for one in (template("a", "b"), template("b", "c")):
        world.cluster.analysis_templates.put(one)
    wait(world, 20)
    assert stalled(world).reason == reasons.ANALYSIS_TEMPLATE_NOT_FOUND
    assert "AnalysisTemplate c, which AnalysisTemplate b names" in stalled(world).message
    world.cluster.analysis_templates.put(template("c", metrics=(ERRORS,)))
    wait(world, 20)
    assert state(world) == (2, StepState.STEP_PAUSED)


def test_a_gate_that_gets_data_or_has_a_deadline_is_not_reported_as_one_without_data() -> None:
    slow = released(gated(structs.replace(ERRORS, count=100)), errors=(0.001,))
    wait(slow, 700)
    assert (state(slow)[1], stalled(slow).status) == (StepState.STEP_METRICS_ANALYSIS, "False")
    ending = released(gated(deadline_seconds=1200))
    wait(ending, 700)
    assert stalled(ending).status == "False"
    wait(ending, 600)
    assert stalled(ending).reason == reasons.ANALYSIS_INCONCLUSIVE


def test_a_metric_is_not_measured_more_often_than_once_in_a_second() -> None:
    world = released(gated(structs.replace(ERRORS, interval="0s")))
    before = run_of(world).metrics[0].taken
    wait(world, 10)
    assert 9 <= run_of(world).metrics[0].taken - before <= 11


def test_the_ten_minutes_without_data_begin_after_the_initial_delay_of_the_metric() -> None:
    world = released(gated(structs.replace(ERRORS, initial_delay="15m")))
    wait(world, 1000)
    assert run_of(world).metrics[0].no_data
    assert stalled(world).status == "False"
    wait(world, 600)
    assert stalled(world).reason == reasons.ANALYSIS_WITHOUT_DATA


def test_a_step_waits_for_as_many_measurements_as_were_asked_for() -> None:
    world = released(
        gated(structs.replace(ERRORS, count=3, interval="1m")), errors=(0.0, 0.005, 0.002)
    )
    assert state(world) == (1, StepState.STEP_METRICS_ANALYSIS)
    assert run_of(world).metrics[0].good == 1
    wait(world, 60)
    assert run_of(world).metrics[0].good == 2
    assert "wait for its metrics" in status_of(world).message
    wait(world, 80)
    assert state(world) == (2, StepState.STEP_PAUSED)


def test_a_failed_gate_holds_the_step_with_any_pause() -> None:
    world = released(gated(), errors=(0.07,))
    assert state(world) == (1, StepState.STEP_PAUSED)
    wait(world, 3600)
    assert state(world) == (1, StepState.STEP_PAUSED)
    found = stalled(world)
    assert found.reason == reasons.ANALYSIS_FAILED
    assert "metric errors: 0.07 is above 0.01" in found.message
    assert sizes_of(world) == {"v1": 8, "v2": 2}


def said(world: World, reason: str) -> list[str]:
    """The Events of a reason."""
    return [note.message for note in world.passes.notes if note.reason == reason]


def test_a_failed_gate_is_one_event_that_says_every_way_on() -> None:
    world = released(gated(), errors=(0.07,))
    wait(world, 3600)
    (text,) = said(world, reasons.ANALYSIS_FAILED)
    assert "step(1)" in text
    commands = ("undo", "retry", "approve")
    assert all(f"(kubectl moonshift {command} {KEY.name})" in text for command in commands)


def test_a_background_gate_that_fails_is_one_event() -> None:
    world = released(None, background=gated(), pause=Pause(), errors=(0.0, 0.9))
    wait(world, 3600)
    assert len(said(world, reasons.ANALYSIS_FAILED)) == 1


def test_a_gate_that_rolls_back_is_one_event_of_the_gate_and_one_of_the_rollback() -> None:
    world = released(gated(on_failure=OnFailure.ROLLBACK), errors=(0.07,))
    wait(world, 60)
    assert len(said(world, reasons.ANALYSIS_FAILED)) == 1
    assert len(said(world, reasons.GIVEN_UP)) == 1


def test_an_approval_outranks_a_failed_gate() -> None:
    world = released(gated(), errors=(0.07,))
    approve(world)
    assert state(world) == (2, StepState.STEP_PAUSED)
    assert stalled(world).status == "False"


def test_a_failed_gate_with_on_failure_rollback_rolls_the_revision_back() -> None:
    world = released(gated(on_failure=OnFailure.ROLLBACK), errors=(0.07,))
    wait(world, 60)
    assert sizes_of(world) == {"v1": 10}
    assert ours_of(world).failed_template


def without_stable_replica_set(world: World) -> None:
    """Somebody deletes the ReplicaSet of the stable version."""
    for found in list(world.cluster.replica_sets):
        if found.revision == ours_of(world).stable_revision:
            world.cluster.replica_sets.delete(found.metadata.key)


def test_a_rollback_without_a_kept_template_holds_instead() -> None:
    world = released(gated(on_failure=OnFailure.ROLLBACK))
    without_stable_replica_set(world)
    lose_kept(world)
    world.passes.measures.series["errors"] = (0.07,)
    wait(world, 30)
    assert ours_of(world).failed_template == ""
    assert state(world) == (1, StepState.STEP_PAUSED)


def test_a_rollback_takes_the_template_that_the_release_has_kept() -> None:
    world = released(gated(on_failure=OnFailure.ROLLBACK))
    without_stable_replica_set(world)
    world.passes.measures.series["errors"] = (0.07,)
    wait(world, 60)
    assert ours_of(world).failed_template
    assert sizes_of(world) == {"v1": 10}


def test_missing_data_holds_the_step_and_is_reported() -> None:
    world = released(gated())
    wait(world, 500)
    assert state(world) == (1, StepState.STEP_METRICS_ANALYSIS)
    assert "no value for the new revision; noData: hold" in status_of(world).message


def test_a_gate_without_a_verdict_in_its_time_holds() -> None:
    world = released(gated(deadline_seconds=60))
    wait(world, 61)
    found = stalled(world)
    assert found.reason == reasons.ANALYSIS_INCONCLUSIVE
    assert "no verdict within 60 s" in found.message


@pytest.mark.parametrize(
    ("expected", "ends"),
    [
        (OnInconclusive.PASS, (2, StepState.STEP_PAUSED)),
        (OnInconclusive.PAUSE, (1, StepState.STEP_PAUSED)),
        (OnInconclusive.FAIL, (1, StepState.STEP_PAUSED)),
    ],
)
def test_the_owner_decides_the_meaning_of_an_inconclusive_gate(
    expected: OnInconclusive, ends: tuple[int, str]
) -> None:
    world = released(gated(deadline_seconds=60, on_inconclusive=expected))
    wait(world, 61)
    assert state(world) == ends


def test_the_new_revision_is_compared_with_the_stable_one() -> None:
    compared = Metric(name="p99", prometheus=QUERY, compare=Comparison(ratio=Bounds(max=1.2)))
    worse = released(gated(compared), p99=(0.3,), p99_stable=(0.2,))
    assert "the ratio 1.5 is above 1.2" in stalled(worse).message
    as_good = released(gated(compared), p99=(0.21,), p99_stable=(0.2,))
    assert state(as_good) == (2, StepState.STEP_PAUSED)


def test_a_dry_run_reports_and_decides_nothing() -> None:
    world = released(gated(structs.replace(ERRORS, dry_run=True)), errors=(0.9,))
    assert state(world) == (2, StepState.STEP_PAUSED)


def test_queries_name_the_revision_they_are_about() -> None:
    world = released(gated(), errors=(0.9,))
    revision = inner_of(world).pod_template_hash
    assert run_of(world).metrics[0].query == f'errors{{revision="{revision}"}}'


def test_a_word_that_has_no_value_is_reported_and_nothing_is_measured() -> None:
    wrong = Metric(name="errors", prometheus=PrometheusQuery(query="x{a='{{ args.zone }}'}"))
    world = released(gated(wrong), errors=(0.0,))
    found = stalled(world)
    assert found.reason == reasons.INVALID_ANALYSIS
    assert "{{ args.zone }} has no value here" in found.message


def test_a_word_that_only_the_stable_side_lacks_is_reported() -> None:
    compared = Metric(name="p99", golden=Golden("p99", "nowhere"), compare=Comparison())
    world = released(gated(compared))
    assert "there is no golden p99 of nowhere" in stalled(world).message


def test_a_missing_template_is_reported_and_found_when_it_comes() -> None:
    ref = TemplateRef("errors")
    world = released(Analysis(templates=(ref,), args=(Argument("limit", "x"),)), errors=(0.0,))
    assert stalled(world).reason == reasons.ANALYSIS_TEMPLATE_NOT_FOUND
    template = AnalysisTemplate(
        metadata=ObjectMeta(name=ref.name, namespace=NAMESPACE),
        spec=AnalysisTemplateSpec(metrics=(ERRORS,)),
    )
    world.cluster.analysis_templates.put(template)
    wait(world, 40)
    assert state(world) == (2, StepState.STEP_PAUSED)


def test_canary_style_names_the_extra_deployment() -> None:
    asked = PrometheusQuery(query="x{w='{{ canary.workload }}'}")
    metric = Metric(name="errors", prometheus=asked, success=ValueRule(max=1))
    steps = (Step(replicas="20%", analysis=gated(metric)), Step(replicas="50%"))
    strategy = make_strategy(steps=steps, style="canary")
    world = make_world(make_rollout(strategy=strategy))
    release(world)
    wait(world, 20)
    extra = [d.metadata.name for d in world.cluster.deployments if d.metadata.name != "web"]
    assert run_of(world).metrics[0].query == f"x{{w='{extra[0]}'}}"


# --- in the background --------------------------------------------------------------------------


def test_the_background_gate_rolls_a_revision_back_during_any_wait_of_the_step() -> None:
    watching = gated(on_failure=OnFailure.ROLLBACK)
    world = released(None, background=watching, pause=Pause(), errors=(0.0, 0.0, 0.5))
    assert state(world) == (1, StepState.STEP_PAUSED)
    wait(world, 60)
    assert sizes_of(world) == {"v1": 10}


def test_a_background_without_a_kept_template_holds_instead() -> None:
    watching = gated(on_failure=OnFailure.ROLLBACK)
    world = released(None, background=watching, pause=Pause())
    without_stable_replica_set(world)
    lose_kept(world)
    world.passes.measures.series["errors"] = (0.07,)
    wait(world, 30)
    assert ours_of(world).failed_template == ""


def test_the_background_begins_at_its_starting_step() -> None:
    watching = gated(starting_step=2)
    world = released(None, background=watching, pause=Pause(), errors=(0.9,))
    wait(world, 60)
    assert ours_of(world).analyses == ()
    approve(world)
    assert stalled(world).reason == reasons.ANALYSIS_FAILED


def test_a_background_that_fails_stops_the_work_of_a_step() -> None:
    world = released(None, background=gated(), pause=Pause(), errors=(0.0,))
    world.cluster.delays = Delays(ready=timedelta(days=1))
    world.passes.measures.series["errors"] = (0.9,)
    approve(world)
    wait(world, 600)
    assert state(world) == (2, StepState.STEP_UPGRADE)
    assert "measure again (kubectl moonshift retry" in stalled(world).message


def test_a_step_and_the_background_are_measured_side_by_side() -> None:
    step = gated(structs.replace(ERRORS, name="latency", count=2, interval="1m"))
    world = released(step, background=gated(), errors=(0.0,), latency=(0.0,))
    assert [run.step for run in ours_of(world).analyses] == [0, 1]
    wait(world, 60)
    assert state(world) == (2, StepState.STEP_PAUSED)


def test_an_approval_outranks_a_failed_background() -> None:
    world = released(None, background=gated(), pause=Pause(), errors=(0.0, 0.5, 0.0))
    wait(world, 15)
    assert stalled(world).reason == reasons.ANALYSIS_FAILED
    world.passes.measures.series["errors"] = (0.0,)
    approve(world)
    assert state(world) == (2, StepState.STEP_PAUSED)
    assert stalled(world).status == "False"
    assert run_of(world, 0).verdict == Verdict.RUNNING


def test_a_background_that_has_passed_is_not_begun_again() -> None:
    once = gated(structs.replace(ERRORS, count=1))
    world = released(None, background=once, pause=Pause(), errors=(0.0, 0.9))
    approve(world)
    wait(world, 60)
    assert run_of(world, 0).verdict == Verdict.PASSED
    assert run_of(world, 0).metrics[0].taken == 1


def test_a_background_that_cannot_be_asked_stops_the_release_and_says_why() -> None:
    world = released(None, background=Analysis(templates=(TemplateRef("x", cluster_scope=True),)))
    assert "ClusterAnalysisTemplate x does not exist" in stalled(world).message


@pytest.mark.parametrize("place", ["step", "background"])
def test_a_gate_that_can_never_be_asked_is_reported_before_the_first_pod(place: str) -> None:
    wrong = Analysis(metrics=(Metric(name="e", prometheus=PrometheusQuery(query="{{ args.x }}")),))
    of_step, background = (wrong, None) if place == "step" else (None, wrong)
    steps = (
        Step(replicas="20%", traffic="20%"),
        Step(replicas="50%", traffic="50%", analysis=of_step),
    )
    strategy = structs.replace(make_strategy(steps=steps), analysis=background)
    world = make_world(make_rollout(strategy=strategy))
    release(world)
    world.rest()
    gate = "the gate of step 2" if place == "step" else "the gate in the background"
    assert stalled(world).message.startswith(f"{gate}: metric e: {{{{ args.x }}}} has no value")
    assert sizes_of(world) == {"v1": 10}


@pytest.mark.parametrize(
    ("most", "query"), [("MOST_METRICS", "up"), ("MOST_OF_A_PLAN", "{{ window }}" * 10)]
)
def test_the_gates_of_a_plan_are_bounded_together(
    most: str, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them are filled in the one pass before the first pod."""
    gate = Analysis(
        metrics=tuple(
            Metric(name, prometheus=PrometheusQuery(query=query)) for name in ("a", "b", "c")
        )
    )
    steps = tuple(Step(replicas=number, analysis=gate) for number in (1, 2, 3))
    limit = {"MOST_METRICS": 8, "MOST_OF_A_PLAN": 8 * len(query)}[most]
    monkeypatch.setattr(analysing, most, limit)
    world = make_world(make_rollout(strategy=make_strategy(steps=steps)))
    release(world)
    world.rest()
    assert stalled(world).reason == reasons.INVALID_ANALYSIS
    assert stalled(world).message.startswith("with the gate of step 3 the gates of this plan have")
    assert sizes_of(world) == {"v1": 10}


@pytest.mark.parametrize("place", ["step", "background"])
def test_a_template_that_goes_during_a_release_stops_it_until_it_is_there_again(place: str) -> None:
    gate = Analysis(templates=(TemplateRef("errors"),))
    of_step, background = (gate, None) if place == "step" else (None, gate)
    template = AnalysisTemplate(
        metadata=ObjectMeta(name="errors", namespace=NAMESPACE),
        spec=AnalysisTemplateSpec(metrics=(ERRORS,)),
    )
    steps = (
        Step(replicas="20%", traffic="20%", pause=Pause()),
        Step(replicas="50%", traffic="50%", pause=Pause(), analysis=of_step),
    )
    strategy = structs.replace(make_strategy(steps=steps), analysis=background)
    world = make_world(make_rollout(strategy=strategy))
    world.passes.measures.series |= {"errors": (0.0,)}
    world.cluster.analysis_templates.put(template)
    release(world)
    wait(world, 20)
    world.cluster.analysis_templates.remove(template.metadata.key)
    approve(world)
    assert stalled(world).reason == reasons.ANALYSIS_TEMPLATE_NOT_FOUND
    world.cluster.analysis_templates.put(template)
    wait(world, 60)
    assert stalled(world).status == "False"
    approve(world)
    assert ours_of(world).step == 2


def retry(world: World) -> None:
    """Removes the records of the gates that failed, as `moonshift retry` does."""
    rollout = world.cluster.rollouts[KEY]
    kept = tuple(run for run in ours_of(world).analyses if run.verdict != Verdict.FAILED)
    forgotten = with_moonshift_status(rollout.status, analyses=kept)
    world.cluster.rollouts.put(structs.replace(rollout, status=forgotten))
    wait(world, 20)


def test_a_gate_that_is_retried_is_measured_before_its_step_continues() -> None:
    world = released(gated(), errors=(0.9,))
    assert stalled(world).reason == reasons.ANALYSIS_FAILED
    retry(world)
    assert state(world) == (1, StepState.STEP_PAUSED)
    assert stalled(world).reason == reasons.ANALYSIS_FAILED
    world.passes.measures.series["errors"] = (0.001,)
    retry(world)
    assert state(world) == (2, StepState.STEP_PAUSED)
    assert ours_of(world).visits[0].analysis == "Passed: 1 of 1 metrics passed"


def test_a_gate_that_a_step_gets_during_its_pause_is_measured() -> None:
    world = released(None, pause=Pause(), errors=(0.9,))
    assert state(world) == (1, StepState.STEP_PAUSED)
    first = Step(replicas="20%", traffic="20%", pause=Pause(), analysis=gated())
    world.people.replan(KEY, (first, Step(replicas="50%", traffic="50%")))
    wait(world, 20)
    assert stalled(world).reason == reasons.ANALYSIS_FAILED


def test_a_gate_that_is_taken_away_while_it_measures_and_comes_back_is_measured() -> None:
    world = released(gated(structs.replace(ERRORS, count=100)), pause=Pause(), errors=(0.001,))
    assert state(world) == (1, StepState.STEP_METRICS_ANALYSIS)
    second = Step(replicas="50%", traffic="50%")
    first = Step(replicas="20%", traffic="20%", pause=Pause())
    world.people.replan(KEY, (first, second))
    wait(world, 20)
    assert state(world) == (1, StepState.STEP_PAUSED)
    world.people.replan(KEY, (structs.replace(first, analysis=gated()), second))
    wait(world, 20)
    assert run_of(world).verdict == Verdict.PASSED
