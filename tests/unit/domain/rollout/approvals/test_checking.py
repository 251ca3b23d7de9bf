"""A release goes on only after its checks have passed; a check that fails holds it or rolls it back."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
import pytest
from msgspec import structs

from controller.api.analysis import Analysis, Metric, OnFailure, PrometheusQuery, ValueRule
from controller.api.checks import Check, CheckPlace, CheckRun, CheckVerdict
from controller.api.meta import Key
from controller.api.rollout import Pause, Phase, RolloutSpec, Step, StepState
from controller.domain import reasons
from controller.domain.checks.answering import Errs, Fails, Holds, Keeps, Passes, Said
from controller.domain.decision import AskCheck
from controller.domain.rollout.words.status import condition, with_moonshift_status
from tests.unit.builders import (
    KEY,
    lose_kept,
    make_rollout,
    make_strategy,
    make_world,
    ours_of,
    release,
    sizes_of,
    status_of,
    template,
    wait,
)
from tests.unit.domain.rollout.approvals.test_analysing import without_stable_replica_set
from tests.unit.worlds import World

BEFORE, ROUTED, END, ROLLBACK = "before", "routed", "end", "rollback"


def check(name: str, at: str = ROUTED, **options: object) -> Check:
    return structs.replace(Check(name=name, script="http", at=at), **options)


def checked(
    *checks: Check,
    start: tuple[Check, ...] = (),
    says: Mapping[str, Sequence[Said]] | None = None,
    analysis: Analysis | None = None,
    pause: Pause | None = None,
    seconds: int = 20,
) -> World:
    """A release of two steps, the second of which has these checks."""
    steps = (
        Step(replicas="20%", traffic="20%", pause=Pause(duration=0)),
        Step(
            replicas="50%",
            traffic="50%",
            pause=pause or Pause(duration=0),
            analysis=analysis,
            checks=checks,
        ),
    )
    strategy = structs.replace(make_strategy(steps=steps), checks=start)
    world = make_world(make_rollout(strategy=strategy))
    world.passes.checks.series |= says or {}
    release(world)
    wait(world, seconds)
    return world


def place(world: World) -> tuple[int, str]:
    ours = ours_of(world)
    return ours.step, ours.state


def runs(world: World) -> dict[str, CheckRun]:
    return {run.name: run for run in ours_of(world).checks}


def stalled(world: World) -> str:
    found = condition(status_of(world), "Stalled")
    assert found is not None
    return found.message if found.status == "True" else ""


def events(world: World, reason: str) -> list[str]:
    return [note.message for note in world.passes.notes if note.reason == reason]


def finished(world: World) -> None:
    wait(world, 60)
    assert status_of(world).phase == Phase.HEALTHY


HOLD = Holds("not yet", 30)


def test_a_release_with_checks_that_pass_ends() -> None:
    world = checked(check("a", BEFORE), check("b"), check("c", END), start=(check("s"),))
    finished(world)
    assert {name: run.verdict for name, run in runs(world).items()} == dict.fromkeys(
        "abcs", "Passed"
    )
    assert events(world, reasons.CHECK_PASSED) == [
        "the start: check s: simulated",
        "step(2): check a: simulated",
        "step(2): check b: simulated",
        "step(2): check c: simulated",
    ]


@pytest.mark.parametrize(
    ("at", "where", "new_pods"),
    [
        (BEFORE, (2, StepState.BEFORE_STEP_UPGRADE), 2),
        (ROUTED, (2, StepState.STEP_METRICS_ANALYSIS), 5),
        (END, (2, StepState.STEP_READY), 5),
    ],
)
def test_a_check_that_holds_lets_the_release_wait_where_it_is_asked(
    at: str, where: tuple[int, str], new_pods: int
) -> None:
    world = checked(check("c", at), says={"c": (HOLD, HOLD, Passes("yes"))})
    assert place(world) == where
    assert status_of(world).message.endswith("wait for its checks: c: not yet")
    assert sizes_of(world).get("v2", 0) == new_pods
    wait(world, 25)
    assert len(world.passes.checks.asked) == 2
    wait(world, 30)
    finished(world)


def test_no_pod_moves_before_the_checks_of_the_strategy_have_passed() -> None:
    world = checked(start=(check("s"),), says={"s": (HOLD, Passes("yes"))})
    assert place(world) == (1, StepState.BEFORE_STEP_UPGRADE)
    assert "v2" not in sizes_of(world)
    wait(world, 30)
    finished(world)
    assert [asked.release.phase for asked in world.passes.checks.asked] == ["start", "start"]


@pytest.mark.parametrize(
    ("at", "where"),
    [
        (BEFORE, (2, StepState.BEFORE_STEP_UPGRADE)),
        (ROUTED, (2, StepState.STEP_PAUSED)),
        (END, (2, StepState.STEP_PAUSED)),
    ],
)
def test_a_check_that_fails_stops_the_release_and_says_what_to_type(
    at: str, where: tuple[int, str]
) -> None:
    world = checked(check("c", at), says={"c": (Fails("rejected"),)})
    assert place(world) == where
    words = stalled(world)
    assert words.startswith("check c of step(2) failed: rejected; go back (kubectl moonshift undo")
    assert "retry" in words
    assert ("approve" in words) == (where[1] == StepState.STEP_PAUSED)
    assert events(world, reasons.CHECK_FAILED) == [words]
    (record,) = ours_of(world).visits[-1].checks
    assert (record.name, record.at, record.verdict) == ("c", at, CheckVerdict.FAILED)
    wait(world, 300)
    assert place(world) == where
    assert len(world.passes.checks.asked) == 1


@pytest.mark.parametrize("at", [ROUTED, END])
def test_an_approval_outranks_a_check_that_failed(at: str) -> None:
    world = checked(check("c", at), says={"c": (Fails("rejected"),)})
    world.people.approve(KEY)
    wait(world, 5)
    assert runs(world)["c"].verdict == CheckVerdict.APPROVED
    finished(world)


@pytest.mark.parametrize("at", [BEFORE, ROUTED, END, "start"])
def test_a_check_rolls_the_revision_back_where_it_is_told_to(at: str) -> None:
    asked = check("c", at, on_failure=OnFailure.ROLLBACK)
    start = (structs.replace(asked, at=""),) if at == "start" else ()
    world = checked(*(() if start else (asked,)), start=start, says={"c": (Fails("rejected"),)})
    wait(world, 60)
    assert "v2" not in sizes_of(world)
    assert status_of(world).phase == Phase.HEALTHY
    (given_up,) = events(world, reasons.GIVEN_UP)
    assert given_up.endswith("check c: rejected")
    ended = [note.ended for note in world.passes.notes if note.ended]
    assert ended == ["rolled_back_by_gate"]


@pytest.mark.parametrize("at", [BEFORE, ROUTED, END, "start"])
def test_a_check_without_a_yes_fails_when_its_time_is_over(at: str) -> None:
    asked = check("c", at, timeout_seconds=90)
    start = (structs.replace(asked, at=""),) if at == "start" else ()
    world = checked(*(() if start else (asked,)), start=start, says={"c": (HOLD,)})
    wait(world, 60)
    assert not stalled(world)
    wait(world, 40)
    assert "failed: no yes within 90 s: not yet" in stalled(world)


def test_a_check_that_cannot_be_asked_holds_with_the_reason_and_is_asked_again() -> None:
    world = checked(check("c"), says={"c": (Errs("no such host"), Passes("yes"))})
    assert status_of(world).message.endswith("wait for its checks: c: no such host")
    wait(world, 30)
    finished(world)


def test_what_a_script_keeps_is_stored_before_it_is_asked_on() -> None:
    kept = (Keeps('{"run":7}'), Holds("run 7 goes on", 10, '{"run":7}'), Passes("run 7 is good"))
    world = checked(check("c"), says={"c": kept})
    finished(world)
    asked = world.passes.checks.asked
    assert [(one.turn, one.state) for one in asked] == [(1, ""), (2, '{"run":7}'), (3, '{"run":7}')]
    assert len({one.id for one in asked}) == 1


def test_a_gate_and_a_check_of_a_step_are_asked_at_the_same_time() -> None:
    errors = Metric(
        name="errors",
        prometheus=PrometheusQuery(query="errors"),
        success=ValueRule(max=0.01),
        interval="10s",
        count=3,
    )
    analysis = Analysis(metrics=(errors,))
    world = checked(check("c"), analysis=analysis, says={"c": (HOLD, Passes("yes"))}, seconds=16)
    assert place(world) == (2, StepState.STEP_METRICS_ANALYSIS)
    assert world.passes.checks.asked
    assert ours_of(world).analyses
    world.passes.measures.series["errors"] = (0.0,)
    wait(world, 60)
    finished(world)


@pytest.mark.parametrize("series", [(0.0,), (0.5,)])
def test_a_check_that_failed_beside_a_gate_holds_the_step_until_it_is_asked_again(
    series: tuple[float, ...],
) -> None:
    errors = Metric(
        name="errors",
        prometheus=PrometheusQuery(query="errors"),
        success=ValueRule(max=0.01),
        interval="10s",
        count=3,
    )
    world = checked(
        check("c"), analysis=Analysis(metrics=(errors,)), says={"c": (Fails("no"), Passes("yes"))}
    )
    world.passes.measures.series["errors"] = series
    assert place(world) == (2, StepState.STEP_PAUSED)
    assert "check c" in stalled(world)


def test_a_gate_that_failed_beside_a_check_that_holds_stops_the_step() -> None:
    errors = Metric(
        name="errors",
        prometheus=PrometheusQuery(query="errors"),
        success=ValueRule(max=0.01),
        interval="10s",
    )
    world = checked(
        check("c"), analysis=Analysis(metrics=(errors,)), says={"c": (HOLD,)}, seconds=0
    )
    world.passes.measures.series["errors"] = (0.5,)
    wait(world, 40)
    assert place(world) == (2, StepState.STEP_PAUSED)
    assert "metrics of step(2) failed" in stalled(world)
    assert not events(world, reasons.LOOPING)
    world.people.approve(KEY)
    finished(world)


def test_a_rollback_informs_for_the_steps_that_were_reached_only() -> None:
    steps = (
        Step(replicas="20%", checks=(check("one", ROLLBACK),)),
        Step(replicas="50%", checks=(check("two", ROLLBACK),)),
    )
    world = make_world(make_rollout(strategy=make_strategy(steps=steps)))
    release(world)
    wait(world, 20)
    world.people.undo(KEY, template("v1"))
    finished(world)
    assert list(runs(world)) == ["one"]


def test_a_check_that_failed_is_asked_again_when_a_person_removed_its_record() -> None:
    world = checked(check("c"), says={"c": (Fails("no"),)})
    first = runs(world)["c"].id
    world.passes.checks.series["c"] = (Passes("yes"),)
    rollout = world.cluster.rollouts[KEY]
    forgotten = with_moonshift_status(rollout.status, checks=())
    world.cluster.rollouts.put(structs.replace(rollout, status=forgotten))
    wait(world, 20)
    assert runs(world)["c"].id != first
    finished(world)


def test_rollback_outranks_a_check_that_holds() -> None:
    for at in (BEFORE, ROUTED, END):
        world = checked(check("c", at), says={"c": (HOLD,)})
        world.people.undo(KEY, template("v1"))
        wait(world, 30)
        assert "v2" not in sizes_of(world)
        assert status_of(world).phase == Phase.HEALTHY


def test_nothing_is_asked_while_the_owner_holds_the_release() -> None:
    world = checked(check("c"), says={"c": (HOLD,)})
    asked = len(world.passes.checks.asked)
    world.people.pause(KEY)
    wait(world, 120)
    assert len(world.passes.checks.asked) == asked


def test_a_rollback_tells_the_steps_that_were_reached_and_waits_for_nothing() -> None:
    told = check("told", ROLLBACK)
    world = checked(check("c"), told, says={"c": (HOLD,), "told": (Errs("away"), Passes("ok"))})
    assert [one.check.name for one in world.passes.checks.asked] == ["c"]
    world.people.undo(KEY, template("v1"))
    wait(world, 20)
    assert status_of(world).phase == Phase.HEALTHY
    assert runs(world)["told"].verdict == CheckVerdict.RUNNING
    wait(world, 40)
    assert runs(world)["told"].verdict == CheckVerdict.PASSED
    assert [one.release.phase for one in world.passes.checks.asked][-2:] == [
        CheckPlace.ROLLBACK
    ] * 2
    assert events(world, reasons.CHECK_PASSED) == ["step(2): check told: ok"]


def test_a_rollback_that_cannot_be_told_is_an_event_and_nothing_else() -> None:
    told = check("told", ROLLBACK)
    world = checked(told, pause=Pause(), says={"told": (Fails("who are you"),)})
    world.people.undo(KEY, template("v1"))
    wait(world, 30)
    assert status_of(world).phase == Phase.HEALTHY
    assert not stalled(world)
    assert events(world, reasons.CHECK_FAILED) == ["step(2): check told: who are you"]


def test_a_step_that_is_visited_again_asks_again_under_another_id() -> None:
    world = checked(check("c"), pause=Pause())
    world.people.jump(KEY, 2)
    wait(world, 20)
    ids = [one.id for one in world.passes.checks.asked]
    assert len(ids) == len(set(ids)) == 2


def test_a_deadline_of_the_step_does_not_count_the_wait_for_a_check() -> None:
    steps = (Step(replicas="50%", traffic="50%", checks=(check("c", BEFORE),)),)
    strategy = structs.replace(
        make_strategy(steps=steps), progress_deadline_seconds=60, on_deadline_exceeded="Rollback"
    )
    world = make_world(make_rollout(strategy=strategy))
    world.passes.checks.series |= {"c": (HOLD,)}
    release(world)
    wait(world, 300)
    assert place(world) == (1, StepState.BEFORE_STEP_UPGRADE)
    assert not stalled(world)


def test_words_of_the_release_stand_in_parameters() -> None:
    params = {"address": msgspec.Raw(b'"http://{{ canary.service }}/"'), "n": msgspec.Raw(b"3")}
    world = checked(check("c", params=params))
    (asked,) = world.passes.checks.asked
    assert {name: bytes(raw) for name, raw in asked.check.params.items()} == {
        "address": b'"http://web-canary/"',
        "n": b"3",
    }
    assert asked.release.step == 2
    assert asked.release.weight == 50
    assert asked.release.images == {"web": "img:v2"}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (b'"{{ nobody }}"', "check c: {{ nobody }} has no value here"),
        (b"[1]", "check c: params.p: a parameter is a text, a number, true or false"),
    ],
)
def test_a_check_that_can_never_be_asked_is_reported_before_the_first_pod(
    params: bytes, words: str
) -> None:
    world = checked(check("c", params={"p": msgspec.Raw(params)}))
    assert words in stalled(world)
    assert "v2" not in sizes_of(world)


def test_a_crash_before_any_action_or_status_asks_a_check_under_no_other_id() -> None:
    kept = (Keeps('{"run":7}'), Holds("run 7 goes on", 10, '{"run":7}'), Passes("run 7 is good"))
    for crashed in range(4):
        world = checked(check("a", BEFORE), check("c"), says={"a": kept, "c": kept}, seconds=0)
        for _ in range(120):
            world.pass_over(KEY, crash_after=crashed)
            world.passes.checks.forget(KEY)
            wait(world, 1)
        finished(world)
        ids: dict[str, set[str]] = {}
        for one in world.passes.checks.asked:
            ids.setdefault(one.check.name, set()).add(one.id)
        assert {name: len(found) for name, found in ids.items()} == {"a": 1, "c": 1}


def test_a_check_is_asked_only_when_its_record_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = (Keeps('{"run":7}'), Holds("goes on", 10, '{"run":7}'), Passes("good"))
    world = checked(check("a", BEFORE), check("c"), says={"a": kept, "c": kept}, seconds=0)
    ask, stored = world.passes.checks.ask, list[bool]()

    def watched(key: Key, asked: AskCheck) -> None:
        known = [(run.id, run.turn + 1, run.state) for run in ours_of(world).checks]
        stored.append((asked.id, asked.turn, asked.state) in known)
        ask(key, asked)

    monkeypatch.setattr(world.passes.checks, "ask", watched)
    finished(world)
    assert stored == [True] * 6


def test_a_check_that_is_edited_so_that_it_cannot_be_asked_holds_with_the_reason() -> None:
    world = checked(check("c"), says={"c": (HOLD,)})
    wrong = check("c", params={"address": msgspec.Raw(b'"{{ nobody }}"')})
    world.people.change(KEY, with_checks_of_the_second_step(wrong))
    wait(world, 60)
    assert "c: check c: {{ nobody }} has no value here" in status_of(world).message
    world.passes.checks.series["c"] = (Passes("yes"),)
    world.people.change(KEY, with_checks_of_the_second_step(check("c")))
    finished(world)


def with_checks_of_the_second_step(*checks: Check) -> Callable[[RolloutSpec], RolloutSpec]:
    def edited(spec: RolloutSpec) -> RolloutSpec:
        canary = spec.strategy.canary
        assert canary is not None
        steps = (canary.steps[0], structs.replace(canary.steps[1], checks=checks))
        plan = structs.replace(canary, steps=steps)
        return structs.replace(spec, strategy=structs.replace(spec.strategy, canary=plan))

    return edited


def test_a_check_that_cannot_take_the_revision_back_holds_it() -> None:
    asked = check("c", on_failure=OnFailure.ROLLBACK)
    world = checked(asked, says={"c": (HOLD, Fails("rejected"))})
    without_stable_replica_set(world)
    lose_kept(world)
    wait(world, 40)
    assert "check c of step(2) failed: rejected" in stalled(world)


def test_a_rollback_whose_check_has_left_the_plan_informs_nobody() -> None:
    world = checked(check("told", ROLLBACK), pause=Pause(), says={"told": (Errs("away"),)})
    world.people.undo(KEY, template("v1"))
    wait(world, 30)
    asked = len(world.passes.checks.asked)
    world.people.replan(KEY, (Step(replicas="20%", traffic="20%"),))
    finished(world)
    assert len(world.passes.checks.asked) == asked
