"""Autoscalers of a workload whose pods are doubled: held before the first new pod, restored at the end."""

import msgspec
import pytest
from msgspec import UNSET, structs

from controller.api.autoscaling import Autoscaler, AutoscalerSpec, ScaleTarget
from controller.api.jsontree import JsonObject
from controller.api.meta import Key, ObjectMeta
from controller.api.names import ORIGINAL_BEHAVIOR
from controller.api.rollout import (
    Phase,
)
from controller.domain import reasons
from controller.domain.availability import Forbidden
from controller.domain.decision import Decision, Refusal, RemoveFinalizer
from controller.domain.pods.held_autoscalers import owners_behavior
from controller.domain.rollout.phases import decide
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    ours_of,
    release,
    sizes_of,
    status_of,
    wait,
)
from tests.unit.domain.rollout.scenes import approve, reason_of
from tests.unit.domain.rollout.styles.test_blue_green import HPA, autoscaled, blue_green, over
from tests.unit.worlds import World


def resumed_by_another_writer(world: World) -> list[int]:
    """Like KEDA, a writer restores its own autoscaler each time it sees it changed; the number of times."""
    autoscaled(world)
    own = world.cluster.autoscalers[HPA]
    times = [0]

    def write_back() -> None:
        live = world.cluster.autoscalers[HPA]
        if ORIGINAL_BEHAVIOR in live.metadata.annotations:
            times[0] += 1
            world.cluster.autoscalers.put(
                structs.replace(own, metadata=structs.replace(own.metadata, uid=live.metadata.uid))
            )

    world.watchers.append(write_back)
    return times


def test_an_autoscaler_that_another_writer_resumes_is_paused_twice_and_then_reported() -> None:
    world = blue_green()
    times = resumed_by_another_writer(world)
    release(world)
    wait(world, 60)
    assert times == [2]
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", reasons.AUTOSCALER_CONTESTED)
    assert "another writer resumed it twice within a minute" in stalled.message
    assert sizes_of(world) == {"v1": 4}
    wait(world, 300)
    assert times == [4]


def test_a_pause_that_is_refused_is_no_fight_and_the_release_goes_on_with_the_right() -> None:
    world = blue_green()
    autoscaled(world)
    world.people.forbid("PauseAutoscaler", Refusal("Forbidden", "you may not patch it"))
    release(world)
    seen = set()
    for _ in range(20):
        wait(world, 20)
        seen.add(reason_of(world, "Stalled"))
    assert seen == {"Forbidden"}
    assert sizes_of(world) == {"v1": 4}
    world.people.grant("PauseAutoscaler")
    wait(world, 10)
    assert reason_of(world, "Stalled") == ""
    assert sizes_of(world) == {"v1": 4, "v2": 2}


def test_a_release_whose_autoscaler_is_resumed_can_be_approved_and_taken_back() -> None:
    world = blue_green()
    autoscaled(world)
    release(world)
    world.rest()
    before = sizes_of(world)
    resumed_by_another_writer(world)
    wait(world, 1)
    assert reason_of(world, "Stalled") == reasons.AUTOSCALER_CONTESTED
    assert sizes_of(world) == before
    world.people.approve(KEY)
    world.run_until(lambda: ours_of(world).step == 2)
    release(world, "v1")
    world.run_until(lambda: status_of(world).phase == Phase.HEALTHY)
    world.rest()
    assert sizes_of(world) == {"v1": 4}
    over(world)


@pytest.mark.parametrize("behavior", [None, '{"scaleDown":{"stabilizationWindowSeconds":60}}'])
def test_every_autoscaler_of_the_workload_is_held_and_restored_as_it_was(
    behavior: str | None,
) -> None:
    world = blue_green()
    for name in ("web", "other"):
        autoscaled(world, behavior, name)
    foreign = Autoscaler(
        metadata=ObjectMeta(name="foreign", namespace=NAMESPACE),
        spec=AutoscalerSpec(ScaleTarget("apps/v1", "Deployment", "shop")),
    )
    world.cluster.autoscalers.put(foreign)
    before = {found.metadata.name: found.spec for found in world.cluster.autoscalers}
    release(world)
    world.rest()
    for name in ("web", "other"):
        held: dict[str, JsonObject] = msgspec.json.decode(
            msgspec.json.encode(world.cluster.autoscalers[Key(NAMESPACE, name)].spec.behavior)
        )
        assert {name: rules["selectPolicy"] for name, rules in held.items()} == {
            "scaleUp": "Disabled",
            "scaleDown": "Disabled",
        }
    assert world.cluster.autoscalers[Key(NAMESPACE, "foreign")].spec == foreign.spec
    for _ in range(3):
        approve(world)
    assert {found.metadata.name: found.spec for found in world.cluster.autoscalers} == before
    over(world)


def test_an_autoscaler_is_held_before_the_first_pod_is_doubled_and_when_it_comes_later() -> None:
    world = blue_green()
    autoscaled(world)
    release(world)
    world.run_until(lambda: "v2" in sizes_of(world))
    assert ORIGINAL_BEHAVIOR in world.cluster.autoscalers[HPA].metadata.annotations
    world.rest()
    autoscaled(world, name="late")
    world.rest()
    late = world.cluster.autoscalers[Key(NAMESPACE, "late")]
    assert late.metadata.annotations == {ORIGINAL_BEHAVIOR: "null"}


@pytest.mark.parametrize("behavior", [msgspec.Raw(b'{"scaleUp":{"selectPolicy":"Max"}}'), UNSET])
def test_a_manual_change_of_an_autoscaler_does_not_change_the_restored_value(
    behavior: msgspec.Raw | msgspec.UnsetType,
) -> None:
    world = blue_green()
    autoscaled(world, '{"scaleUp":{}}')
    release(world)
    world.rest()
    held = world.cluster.autoscalers[HPA]
    freed = structs.replace(held.spec, behavior=behavior)
    world.cluster.autoscalers.put(structs.replace(held, spec=freed))
    world.rest()
    again = world.cluster.autoscalers[HPA]
    assert again.metadata.annotations == {ORIGINAL_BEHAVIOR: '{"scaleUp":{}}'}
    assert again.spec == held.spec


def test_an_unreadable_record_leaves_no_behavior_behind() -> None:
    odd = Autoscaler(metadata=ObjectMeta(annotations={ORIGINAL_BEHAVIOR: "?"}))
    assert owners_behavior(odd) is None


def blind(world: World, *, deleting: bool = False) -> Decision:
    """The decision while the autoscalers cannot be read."""
    seen = world.observe(KEY)
    assert seen is not None
    rollout = seen.rollout
    if deleting:
        meta = structs.replace(rollout.metadata, deletion_timestamp=world.cluster.now)
        rollout = structs.replace(rollout, metadata=meta)
    unknown = structs.replace(seen, rollout=rollout, autoscalers=Forbidden("you may not list them"))
    return decide(unknown, world.cluster.now)


def test_autoscalers_that_may_not_be_read_are_reported_with_the_right_to_grant() -> None:
    world = blue_green()
    release(world)
    seen = world.observe(KEY)
    assert seen is not None
    text = (
        'horizontalpodautoscalers.autoscaling is forbidden: User "system:serviceaccount:ours:manager" cannot list '
        'resource "horizontalpodautoscalers" in API group "autoscaling" at the cluster scope'
    )
    unknown = structs.replace(seen, autoscalers=Forbidden(text))
    stalled = condition(decide(unknown, world.cluster.now).status, "Stalled")
    assert stalled is not None
    assert stalled.message.endswith(
        "; grant list on horizontalpodautoscalers.autoscaling to ServiceAccount ours/manager"
    )


def stalled_condition(decision: Decision) -> tuple[str, str]:
    stalled = condition(decision.status, "Stalled")
    assert stalled is not None
    assert "you may not list them" in stalled.message
    return stalled.status, stalled.reason


@pytest.mark.parametrize("passes", [0, 1, 3])
def test_no_pod_moves_while_the_autoscalers_cannot_be_read_at_the_begin_and_during_a_release(
    passes: int,
) -> None:
    world = blue_green()
    release(world)
    for _ in range(passes):
        world.pass_over(KEY)
    decision = blind(world)
    assert stalled_condition(decision) == ("True", "Forbidden")
    assert decision.status.phase == status_of(world).phase
    assert decision.actions == ()


def test_a_rollout_does_not_go_while_autoscalers_it_holds_cannot_be_read() -> None:
    world = blue_green()
    release(world)
    world.rest()
    decision = blind(world, deleting=True)
    assert stalled_condition(decision) == ("True", "Forbidden")
    assert decision.actions == ()


@pytest.mark.parametrize("gone", [False, True])
def test_a_rollout_without_a_release_goes_while_autoscalers_cannot_be_read(gone: bool) -> None:
    world = blue_green()
    if gone:
        world.cluster.deployments.remove(KEY)
        world.rest()
    assert RemoveFinalizer() in blind(world, deleting=True).actions
