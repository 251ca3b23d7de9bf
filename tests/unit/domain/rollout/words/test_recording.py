"""Releases that are over are written down: outcome, steps, pods, durations, approvals."""

import msgspec
import pytest
from msgspec import structs

from controller.api.history import RolloutHistory
from controller.api.rollout import MoonshiftStatus, NetworkRef
from controller.domain.decision import RecordRelease
from controller.domain.rollout.phases import decide
from tests.unit.builders import (
    KEY,
    NAMESPACE,
    inner_of,
    make_deployment,
    make_rollout,
    make_routing,
    make_step,
    make_steps,
    make_strategy,
    make_world,
    ours_of,
    release,
    wait,
)
from tests.unit.domain.rollout.scenes import BOTH, approve
from tests.unit.worlds import World


def recorded(style: str = "partition", keep: int = 10, **plan: object) -> World:
    """A release of v2 at rest at its first step, in a cluster that keeps records."""
    strategy = make_strategy(style=style, **plan)  # type: ignore[arg-type] # the builder's own names
    world = make_world(make_rollout(strategy=strategy), make_deployment())
    world.cluster.histories_kept = keep
    release(world)
    world.rest()
    return world


def records(world: World) -> list[RolloutHistory]:
    """All records, the oldest first."""
    return list(world.cluster.histories)


def outcomes(world: World) -> list[str]:
    return [record.status.outcome for record in records(world)]


@BOTH
def test_a_release_that_succeeded_is_written_down_once(style: str) -> None:
    world = recorded(style)
    assert records(world) == []
    approve(world)
    approve(world)
    (record,) = records(world)
    assert record.status.outcome == "Succeeded"
    assert record.status.phase == "completed"
    assert record.metadata.labels == {
        "rollouts.kruise.io/rollout-id": inner_of(world).observed_rollout_id,
        "rollouts.kruise.io/rollout-name": "web",
    }
    assert record.metadata.name.startswith("web-")
    assert [(a.step, a.by) for a in record.status.canary_steps[0].approvals] == [(1, "ann")]
    assert [a.by for a in record.status.canary_steps[1].approvals] == ["ann"]


@BOTH
def test_the_pods_of_each_step_are_those_with_its_labels(style: str) -> None:
    world = recorded(style)
    approve(world)
    approve(world)
    (record,) = records(world)
    counts = [len(step.pods) for step in record.status.canary_steps]
    assert counts[0] == 2
    assert sum(counts) == 10


def test_time_is_split_into_work_and_waiting() -> None:
    world = recorded()
    wait(world, 100)
    approve(world)
    wait(world, 50)
    approve(world)
    (record,) = records(world)
    first, second = record.status.canary_steps
    assert first.waiting_seconds >= 100
    assert 50 <= second.waiting_seconds < 60
    assert 0 < first.working_seconds < 20
    total = record.status.working_seconds + record.status.waiting_seconds
    assert total == pytest.approx(
        sum(step.working_seconds + step.waiting_seconds for step in (first, second))
    )
    assert record.status.started_at is not None
    assert record.status.ended_at is not None
    assert total <= (record.status.ended_at - record.status.started_at).total_seconds()


def test_a_step_that_was_left_before_it_was_ready_has_only_worked() -> None:
    world = make_world(make_rollout(steps=make_steps("20%", "50%")))
    world.cluster.histories_kept = 5
    release(world)
    world.run_until(lambda: ours_of(world).state == "StepUpgrade")
    wait(world, 1)
    release(world, "v1")
    world.rest()
    (record,) = records(world)
    assert record.status.outcome == "RolledBack"
    assert record.status.revision != record.status.stable_revision
    assert record.status.waiting_seconds == 0
    assert record.status.working_seconds > 0
    assert record.status.canary_steps[1].visits == ()


def test_a_jump_is_a_further_visit() -> None:
    world = recorded()
    world.people.jump(KEY, 2)
    world.rest()
    world.people.jump(KEY, 1)
    world.rest()
    world.people.jump(KEY, 2)
    world.rest()
    approve(world)
    (record,) = records(world)
    assert [len(step.visits) for step in record.status.canary_steps] == [2, 2]


@BOTH
def test_a_rollback_is_written_down_as_one(style: str) -> None:
    world = recorded(style)
    release(world, "v1")
    world.rest()
    assert outcomes(world) == ["RolledBack"]


@BOTH
def test_an_abandoned_release_is_written_down_before_the_next_begins(style: str) -> None:
    world = recorded(style)
    before = ours_of(world)
    release(world, "v3")
    world.rest()
    assert outcomes(world) == ["Superseded"]
    (record,) = records(world)
    assert record.status.started_at == before.started_at
    workload = record.spec.workload
    assert workload is not None
    assert workload.data is msgspec.UNSET
    approve(world)
    approve(world)
    assert outcomes(world) == ["Superseded", "Succeeded"]


def test_a_release_that_was_disabled_or_deleted_is_written_down() -> None:
    world = recorded()
    world.people.disable(KEY)
    world.rest()
    assert outcomes(world) == ["RolloutDisabled"]
    world = recorded()
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert outcomes(world) == ["RolloutDeleted"]


def test_deleting_or_disabling_at_rest_writes_nothing_down() -> None:
    world = make_world()
    world.cluster.histories_kept = 5
    world.people.disable(KEY)
    world.rest()
    world.cluster.rollouts.delete(KEY)
    world.rest()
    assert records(world) == []


def test_a_release_whose_workload_was_deleted_is_written_down() -> None:
    world = recorded()
    world.cluster.deployments.delete(KEY)
    world.rest()
    assert outcomes(world) == ["WorkloadDeleted"]


def test_no_more_are_kept_than_asked_for() -> None:
    world = recorded(keep=2)
    for version in ("v3", "v4", "v5"):
        release(world, version)
        world.rest()
    assert len(records(world)) == 2


def test_nothing_is_written_down_where_nothing_is_kept() -> None:
    world = recorded(keep=0)
    approve(world)
    approve(world)
    assert records(world) == []


def test_the_objects_of_the_release_are_in_the_record() -> None:
    routes = (NetworkRef("gateway.networking.k8s.io/v1", "HTTPRoute", "web"),)
    strategy = structs.replace(
        make_strategy(),
        traffic_routings=(make_routing("web", *routes),),
        steps=(make_step(2, "20%"),),
    )
    world = make_world(make_rollout(strategy=strategy))
    route = b'{"spec":{"rules":[]}}'
    world.put_route(NAMESPACE, "HTTPRoute", "web", route)
    world.cluster.histories_kept = 5
    release(world)
    world.rest()
    approve(world)
    (record,) = records(world)
    spec = record.spec
    assert spec.rollout is not None
    assert spec.rollout.name == "web"
    assert spec.service is not None
    assert spec.service.name == "web"
    assert spec.traffic_routing is not None
    found = spec.traffic_routing.http_route
    assert found is not None
    assert (found.name, bytes(found.data)) == ("web", b'{"rules":[]}')  # type: ignore[arg-type] # given above
    assert [entry.kind for entry in spec.traffic_routing.objects] == ["HTTPRoute"]
    assert spec.traffic_routing.ingress is None


def test_a_repeated_record_has_the_same_name() -> None:
    world = recorded()
    release(world, "v1")
    found: set[str] = set()
    names: set[str] = set()

    def look() -> None:
        seen = world.observe(KEY)
        assert seen is not None
        for action in decide(seen, world.cluster.now).actions:
            if isinstance(action, RecordRelease):
                found.add(str(action.history.spec))
                names.add(action.history.metadata.name)

    world.watchers.append(look)
    world.rest()
    assert len(names) <= 1
    assert [record.metadata.name for record in records(world)] == [*names] or not names


def test_visits_are_bounded() -> None:
    world = recorded()
    for step in (2, 1) * 40:
        world.people.jump(KEY, step)
        world.rest()
    ours = ours_of(world)
    assert isinstance(ours, MoonshiftStatus)
    assert len(ours.visits) == 60
