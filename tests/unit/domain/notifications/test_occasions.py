"""Events are facts of a stored status, with ids that never change."""

from collections import Counter
from collections.abc import Callable
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from controller.api.analysis import AnalysisRun, Verdict
from controller.api.notification import Occasion, Topic
from controller.api.rollout import Rollout, StepState, StepVisit
from controller.domain import reasons
from controller.domain.notifications.occasions import occasions
from controller.domain.rollout.ends.reported import End
from controller.domain.rollout.words.status import with_condition, with_moonshift_status
from tests.unit.builders import (
    KEY,
    make_rollout,
    make_step,
    make_world,
    ours_of,
    release,
    template,
    wait,
)
from tests.unit.domain.rollout.scenes import started
from tests.unit.worlds import World

ENDS = (End.SUCCEEDED, End.ROLLED_BACK, End.ROLLED_BACK_BY_GATE, End.ROLLED_BACK_BY_DEADLINE)


def seen(world: World) -> Rollout:
    """The Rollout as it is stored."""
    return world.cluster.rollouts[KEY]


def topics(rollout: Rollout) -> set[Topic]:
    """What its status says."""
    return {one.topic for one in occasions(rollout)}


def about(rollout: Rollout, topic: Topic) -> Occasion:
    """Its one event of a topic."""
    (found,) = [one for one in occasions(rollout) if one.topic == topic]
    return found


def approve_all(world: World) -> None:
    """Every step is approved."""
    for _ in range(3):
        wait(world, 10)
        world.people.approve(KEY)
        world.rest()


class Told:
    """Everything that was ever an event of a world, looked at after each of its writes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.found: dict[str, Occasion] = {}
        world.watchers.append(self.look)

    def look(self) -> None:
        for one in occasions(seen(self.world)):
            before = self.found.setdefault(one.id, one)
            same = (one.topic, one.reason, one.release, one.at, one.uid)
            assert same == (before.topic, before.reason, before.release, before.at, before.uid)

    def of_releases(self) -> Counter[tuple[str, Topic]]:
        """How often each release began and ended."""
        once = (Topic.STARTED, Topic.FINISHED)
        return Counter((one.release, one.topic) for one in self.found.values() if one.topic in once)

    def stays(self) -> Counter[tuple[str, int, datetime]]:
        """How often each stay at a step was an event."""
        return Counter(
            (one.release, one.step, one.at)
            for one in self.found.values()
            if one.topic is Topic.WAITS_FOR_APPROVAL
        )

    def ends(self) -> Counter[Topic]:
        """How many ends there were."""
        found = Counter(one.topic for one in self.found.values())
        return Counter({topic: found[topic] for topic in (Topic.FINISHED, Topic.ROLLED_BACK)})


def test_before_the_first_release_there_is_nothing_to_tell() -> None:
    assert occasions(seen(make_world())) == ()


def test_a_step_without_a_time_waits_for_an_approval_and_says_what_to_type() -> None:
    rollout = seen(started())
    assert topics(rollout) == {Topic.STARTED, Topic.WAITS_FOR_APPROVAL}
    found = about(rollout, Topic.WAITS_FOR_APPROVAL)
    assert (found.step, found.steps) == (1, 2)
    assert found.next == f"kubectl moonshift approve {KEY.name} -n {KEY.namespace}"


@pytest.mark.parametrize("step", [0, 3])
def test_a_step_that_the_plan_does_not_have_waits_for_nobody(step: int) -> None:
    rollout = seen(started())
    status = with_moonshift_status(rollout.status, step=step)
    assert Topic.WAITS_FOR_APPROVAL not in topics(structs.replace(rollout, status=status))


def test_a_step_with_a_time_waits_for_nobody() -> None:
    world = make_world(make_rollout(steps=(make_step("20%", pause=600), make_step("50%"))))
    release(world)
    world.run_until(lambda: ours_of(world).state == StepState.STEP_PAUSED)
    assert topics(seen(world)) == {Topic.STARTED}


def test_a_step_whose_stay_is_not_recorded_waits_since_its_state_began() -> None:
    rollout = seen(started())
    status = with_moonshift_status(rollout.status, visits=())
    found = about(structs.replace(rollout, status=status), Topic.WAITS_FOR_APPROVAL)
    assert found.at == ours_of(started()).state_since


def test_a_rollout_without_a_plan_has_no_steps() -> None:
    rollout = seen(started())
    bare = structs.replace(rollout.spec.strategy, canary=None, blue_green=None)
    spec = structs.replace(rollout.spec, strategy=bare)
    assert about(structs.replace(rollout, spec=spec), Topic.STARTED).steps == 0


def test_a_pause_that_was_left_and_came_back_by_itself_is_the_same_event() -> None:
    rollout = seen(started())
    later = with_moonshift_status(rollout.status, state_since=None)
    again = structs.replace(rollout, status=later)
    assert about(rollout, Topic.WAITS_FOR_APPROVAL).id == about(again, Topic.WAITS_FOR_APPROVAL).id


def test_a_second_stay_at_a_step_is_another_event() -> None:
    rollout = seen(started())
    first = about(rollout, Topic.WAITS_FOR_APPROVAL)
    visit = StepVisit(step=1, started_at=first.at.replace(year=2031))
    status = with_moonshift_status(rollout.status, visits=(*ours_of(started()).visits, visit))
    second = about(structs.replace(rollout, status=status), Topic.WAITS_FOR_APPROVAL)
    assert second.id != first.id
    assert second.release == first.release


def test_an_end_names_who_approved_last() -> None:
    world = started()
    approve_all(world)
    rollout = seen(world)
    assert topics(rollout) == {Topic.STARTED, Topic.FINISHED}
    found = about(rollout, Topic.FINISHED)
    assert found.reason == reasons.RELEASE_COMPLETED
    assert found.who == ours_of(world).approvals[-1].by
    assert found.release == about(rollout, Topic.STARTED).release


def test_a_release_that_is_undone_is_rolled_back_and_not_finished() -> None:
    world = started()
    world.people.undo(KEY, template("v1"))
    world.rest()
    assert topics(seen(world)) == {Topic.STARTED, Topic.ROLLED_BACK}
    assert about(seen(world), Topic.ROLLED_BACK).reason == reasons.RELEASE_CANCELED


def test_a_return_in_batches_is_told_when_it_begins() -> None:
    rollout = seen(started())
    status = with_moonshift_status(rollout.status, returning=True)
    found = structs.replace(rollout, status=status)
    assert about(found, Topic.ROLLED_BACK).reason == reasons.RELEASE_RESTARTED
    assert Topic.STARTED not in topics(found)


@pytest.mark.parametrize(
    ("reason", "topic"),
    [
        (reasons.DEADLINE_EXCEEDED, Topic.STALLED),
        (reasons.ROUTE_HELD, Topic.DRIFT_HELD),
        (reasons.ANALYSIS_FAILED, None),
    ],
)
def test_a_stall_is_told_under_the_topic_of_its_reason(reason: str, topic: Topic | None) -> None:
    world = started()
    rollout = seen(world)
    status = with_condition(rollout.status, "Stalled", "True", reason, "why", world.cluster.now)
    stalled = structs.replace(rollout, status=status)
    assert topics(stalled) - topics(rollout) == ({topic} if topic else set())
    if topic:
        found = about(stalled, topic)
        assert (found.reason, found.message) == (reason, "why")
        assert found.next == f"kubectl moonshift why {KEY.name} -n {KEY.namespace}"


@pytest.mark.parametrize("message", ["errors was 0.2", ""])
def test_a_failed_gate_is_told_with_its_words_and_its_step(message: str) -> None:
    world = started()
    rollout, at = seen(world), world.cluster.now
    runs = (
        AnalysisRun(step=2, started_at=at, verdict=Verdict.FAILED, message=message),
        AnalysisRun(step=0, started_at=at),
    )
    status = with_moonshift_status(rollout.status, analyses=runs)
    found = about(structs.replace(rollout, status=status), Topic.GATE_FAILED)
    assert (found.step, found.reason) == (2, reasons.ANALYSIS_FAILED)
    assert found.message == (message or "the gate of step 2 failed")


def test_a_condition_without_a_time_counts_from_the_beginning() -> None:
    world = started()
    rollout = seen(world)
    status = with_condition(rollout.status, "Stalled", "True", "X", "why", world.cluster.now)
    bare = tuple(structs.replace(one, last_transition_time=None) for one in status.conditions)
    status = structs.replace(status, conditions=bare)
    found = about(structs.replace(rollout, status=status), Topic.STALLED)
    assert found.at == ours_of(world).started_at


DEEDS: dict[str, Callable[[World], None]] = {
    "release v2": lambda world: release(world, "v2"),
    "release v3": lambda world: release(world, "v3"),
    "undo": lambda world: world.people.undo(KEY, template("v1")),
    "approve": lambda world: world.people.approve(KEY),
    "jump": lambda world: world.people.jump(KEY, 1),
    "pause": lambda world: world.people.pause(KEY),
    "go on": lambda world: world.people.pause(KEY, False),
    "crash": lambda world: world.restart(),
    "rest": lambda world: world.rest(),
    "wait": lambda world: wait(world, 700),
}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(sorted(DEEDS)), max_size=14), st.sampled_from(["a", "b"]))
def test_an_id_never_changes_and_each_end_is_one_event(deeds: list[str], style: str) -> None:
    world = make_world(make_rollout(style={"a": "partition", "b": "canary"}[style]))
    told = Told(world)
    for deed in deeds:
        DEEDS[deed](world)
    world.rest()
    ended = [note.ended for note in world.passes.notes if note.ended in ENDS]
    won = sum(one is End.SUCCEEDED for one in ended)
    expected = {Topic.FINISHED: won, Topic.ROLLED_BACK: len(ended) - won}
    assert told.ends() == Counter(expected)
    assert set(told.of_releases().values()) <= {1}
    assert set(told.stays().values()) <= {1}


def test_what_lasts_longer_than_a_step_stays_the_same_event() -> None:
    world = started()
    status = with_condition(seen(world).status, "Stalled", "True", "X", "why", world.cluster.now)
    rollout = structs.replace(seen(world), status=status)
    later = structs.replace(rollout, status=with_moonshift_status(status, step=2))
    for topic in (Topic.STARTED, Topic.STALLED):
        assert about(rollout, topic).id == about(later, topic).id
