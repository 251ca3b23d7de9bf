"""Pods that cannot be created, or that fail, stall the release after a minute with a message, for every kind."""

import re
from datetime import timedelta

import pytest
from msgspec import structs

from controller.api.meta import Condition
from controller.api.workloads import ContainerState, ContainerStatus, Terminated, Waiting
from controller.domain.decision import FindCauseOfMissingPods, Refusal
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.status import condition
from controller.simulation.state import Delays
from tests.unit.builders import (
    KEY,
    SETS,
    make_deployment,
    make_rollout,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    release_set,
    status_of,
    template,
    wait,
)
from tests.unit.domain.rollout.scenes import BOTH
from tests.unit.domain.rollout.test_refused import statuses_of
from tests.unit.worlds import World

QUOTA = 'pods "web-5d9-x7k2p" is forbidden: exceeded quota: small, requested: pods=1, used: pods=10'
PULL = ContainerStatus(
    name="web", image="img:v2", state=ContainerState(waiting=Waiting("ErrImagePull", "not found"))
)
BACK_OFF = structs.replace(
    PULL, state=ContainerState(waiting=Waiting("ImagePullBackOff", "Back-off"))
)
CRASH = ContainerStatus(
    name="web",
    restart_count=4,
    state=ContainerState(waiting=Waiting("CrashLoopBackOff", "back-off")),
    last_state=ContainerState(terminated=Terminated("OOMKilled", "", 137)),
)


def stalled(world: World) -> Condition:
    found = condition(status_of(world), "Stalled")
    assert found is not None
    return found


def fail_v2(world: World, why: ContainerStatus) -> None:
    revision = world.cluster.revision_of(template("v2"))
    world.people.fail_pods(frozenset({revision, f"web-{revision}"}), why)


@BOTH
def test_pods_that_may_not_be_created_stall_the_release_after_a_minute_without_a_deadline(
    style: str,
) -> None:
    world = make_world(make_rollout(style=style))
    world.people.forbid_pods(QUOTA)
    release(world)
    wait(world, 55)
    assert stalled(world).status == "False"
    wait(world, 10)
    found = stalled(world)
    assert (found.status, found.reason) == ("True", "FailedCreate")
    assert found.message.startswith(
        'step(1): of 2 new pods 0 made, 0 ready; pods "web-5d9-…" is forbidden: exceeded quota: small'
    )
    assert "(since 2026-03-01 12:00:" in found.message
    assert status_of(world).message == found.message
    world.people.heal()
    world.rest()
    assert stalled(world).status == "False"
    assert status_of(world).current_step_state == "StepPaused"


@BOTH
@pytest.mark.parametrize(
    ("why", "reason", "words"),
    [
        (PULL, "ImagePullBackOff", "image img:v2 cannot be pulled: not found"),
        (CRASH, "CrashLoopBackOff", "container web ends with exit code 137 (OOMKilled)"),
    ],
)
def test_pods_that_fail_stall_the_release_after_a_minute_with_their_reason(
    style: str, why: ContainerStatus, reason: str, words: str
) -> None:
    world = make_world(make_rollout(style=style))
    fail_v2(world, why)
    release(world)
    wait(world, 70)
    found = stalled(world)
    assert (found.status, found.reason) == ("True", reason)
    assert found.message.startswith("step(1): of 2 new pods 0 ready; pod web-")
    assert words in found.message
    world.people.heal()
    world.rest()
    assert stalled(world).status == "False"


def test_a_big_step_whose_pods_take_their_time_one_after_the_other_is_not_stalled() -> None:
    deployment = make_deployment(replicas=20, max_surge=1, max_unavailable=0)
    world = make_world(make_rollout(), deployment, delays=Delays(ready=timedelta(seconds=40)))
    release(world)
    seen: list[str] = []
    world.watchers.append(lambda: seen.append(stalled(world).status))
    wait(world, 130)
    assert set(seen) == {"False"}


def test_events_of_a_set_that_replaces_its_pods_slowly_are_not_read() -> None:
    world = make_set_world(
        "StatefulSet", strategy=make_strategy(steps=make_steps("60%", "80%"), traffic=False)
    )
    world.cluster.delays = Delays(ready=timedelta(seconds=35), gone=timedelta(seconds=35))
    world.people.forbid("FindCauseOfMissingPods", Refusal("Asked", "it should not be"))
    release_set(world)
    wait(world, 200)
    assert stalled(world).status == "False"


def test_alternating_messages_are_written_once() -> None:
    world = make_world()
    fail_v2(world, PULL)
    release(world)
    wait(world, 70)
    written = statuses_of(world)
    for _ in range(3):
        for why in (BACK_OFF, PULL):
            fail_v2(world, why)
            wait(world, 5)
    assert len(written) == 1
    assert "not found" in stalled(world).message


@pytest.mark.parametrize("which", sorted(SETS))
def test_events_of_a_set_with_missing_pods_are_read_after_a_minute(which: str) -> None:
    world = make_set_world(
        which, strategy=make_strategy(steps=make_steps("40%", "60%"), traffic=False)
    )
    release_set(world)
    world.people.forbid_pods("create Pod web-4 in StatefulSet web failed: exceeded quota")
    wait(world, 50)
    assert stalled(world).status == "False"
    wait(world, 20)
    found = stalled(world)
    assert (found.status, found.reason) == ("True", "FailedCreate")
    assert "exceeded quota" in found.message
    world.people.heal()
    world.rest()
    assert stalled(world).status == "False"


@pytest.mark.parametrize("which", sorted(SETS))
def test_a_set_whose_pods_fail_says_why(which: str) -> None:
    world = make_set_world(
        which, strategy=make_strategy(steps=make_steps("40%", "60%"), traffic=False)
    )
    fail_v2(world, PULL)
    release_set(world)
    wait(world, 70)
    assert (stalled(world).status, stalled(world).reason) == ("True", "ImagePullBackOff")


def test_an_end_whose_pods_may_not_be_created_says_so() -> None:
    world = make_world(make_rollout(steps=make_steps("20%")))
    release(world)
    world.rest()
    world.people.approve(KEY)
    world.run_until(lambda: ours_of(world).goal == "Success")
    world.people.forbid_pods(QUOTA)
    wait(world, 90)
    assert stalled(world).reason == "FailedCreate"
    assert stalled(world).message.startswith("the end of the release (Success): ")
    world.people.heal()
    world.rest()
    assert status_of(world).phase == "Healthy"


def test_a_deadline_reports_the_problem_of_the_pods_and_restores_the_template() -> None:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%")),
        progress_deadline_seconds=100,
        on_deadline_exceeded="Rollback",
    )
    world = make_world(make_rollout(strategy=strategy))
    fail_v2(world, PULL)
    release(world)
    wait(world, 70)
    assert stalled(world).reason == "ImagePullBackOff"
    wait(world, 60)
    assert status_of(world).phase == "Healthy"
    assert ours_of(world).failed_template


def test_a_deadline_without_a_kept_template_reports_the_problem_of_the_pods() -> None:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%")), progress_deadline_seconds=100
    )
    world = make_world(make_rollout(strategy=strategy))
    fail_v2(world, PULL)
    release(world)
    wait(world, 110)
    assert stalled(world).reason == "ProgressDeadlineExceeded"
    assert "image img:v2 cannot be pulled: not found" in stalled(world).message


def test_the_pod_whose_problem_a_deadline_reports_is_named_once() -> None:
    strategy = structs.replace(
        make_strategy(steps=make_steps("20%", "50%")), progress_deadline_seconds=100
    )
    world = make_world(make_rollout(strategy=strategy))
    fail_v2(world, PULL)
    release(world)
    wait(world, 110)
    found = stalled(world).message
    (in_trouble,) = re.findall(r"; pod (\S+): ", found)
    (other,) = re.findall(r"; not ready: (\S+);", found)
    assert found.count(in_trouble) == 1
    assert other != in_trouble


def test_pods_that_cannot_be_made_while_a_step_waits_for_a_person_are_reported() -> None:
    world = make_world(make_rollout())
    release(world)
    world.rest()
    world.people.forbid_pods(QUOTA)
    world.people.edit(KEY, replicas=20)
    wait(world, 200)
    assert status_of(world).current_step_state == "StepPaused"
    assert (stalled(world).status, stalled(world).reason) == ("True", "FailedCreate")


def test_events_of_a_set_are_not_read_while_one_of_its_pods_ends() -> None:
    world = make_set_world("StatefulSet", strategy=make_strategy(steps=make_steps("60%", "80%")))
    release_set(world)
    world.run_until(lambda: ours_of(world).state == "StepUpgrade")
    seen = world.observe(KEY)
    assert seen is not None
    assert seen.workload is not None
    leaving, *others = seen.workload.pods[1:]
    going = structs.replace(leaving.metadata, deletion_timestamp=world.cluster.now)
    pods = (structs.replace(leaving, metadata=going), *others)
    fewer = structs.replace(seen, workload=structs.replace(seen.workload, pods=pods))
    later = world.cluster.now + timedelta(hours=1)
    asked = [type(action) for action in decide(fewer, later).actions]
    assert FindCauseOfMissingPods not in asked
    still = structs.replace(fewer, workload=structs.replace(seen.workload, pods=tuple(others)))
    assert FindCauseOfMissingPods in [type(action) for action in decide(still, later).actions]


@BOTH
def test_pods_that_begin_to_fail_at_a_pause_are_reported_within_a_minute(style: str) -> None:
    world = make_world(make_rollout(style=style, traffic=False))
    release(world)
    world.rest()
    fail_v2(world, CRASH)
    wait(world, 70)
    found = stalled(world)
    assert (found.status, found.reason) == ("True", "CrashLoopBackOff")
    assert "step(1): of 2 new pods 0 ready" in found.message
    assert status_of(world).current_step_state == "StepPaused"
    assert ours_of(world).step == 1
    world.people.heal()
    world.rest()
    assert stalled(world).status == "False"


def test_an_approval_counts_although_pods_fail_at_the_pause() -> None:
    world = make_world(make_rollout(traffic=False))
    release(world)
    world.rest()
    fail_v2(world, CRASH)
    wait(world, 70)
    assert stalled(world).reason == "CrashLoopBackOff"
    world.people.approve(KEY)
    wait(world, 5)
    assert ours_of(world).step == 2


def test_a_timed_pause_ends_although_pods_fail() -> None:
    steps = make_steps("20%", pause=100, traffic=False) + make_steps("50%", traffic=False)
    world = make_world(make_rollout(steps=steps, traffic=False))
    release(world)
    wait(world, 10)
    assert status_of(world).current_step_state == "StepPaused"
    fail_v2(world, CRASH)
    wait(world, 70)
    assert (stalled(world).status, ours_of(world).step) == ("True", 1)
    wait(world, 40)
    assert ours_of(world).step == 2


def test_failing_pods_within_the_plans_tolerance_are_not_reported_at_a_pause() -> None:
    strategy = make_strategy(traffic=False, failure_threshold="50%")
    world = make_world(make_rollout(strategy=strategy))
    release(world)
    world.rest()
    revision = world.cluster.revision_of(template("v2"))
    (one, *_) = (pod for pod in world.cluster.pods if pod.revision == revision)
    world.people.fail_pods(frozenset({one.metadata.uid}), CRASH)
    wait(world, 200)
    assert stalled(world).status == "False"


@pytest.mark.parametrize("which", SETS)
def test_pods_of_a_set_that_begin_to_fail_at_a_pause_are_reported(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    assert status_of(world).current_step_state == "StepPaused"
    fail_v2(world, CRASH)
    wait(world, 70)
    assert "CrashLoopBackOff" in (stalled(world).reason, stalled(world).message) or (
        "container web ends with exit code 137" in stalled(world).message
    )
