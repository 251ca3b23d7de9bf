"""The new revision as clients read it: the name that its kind gives it, its real pods, and no field empty for ever."""

import msgspec
import pytest
from msgspec import structs

from controller.api.rollout import MoonshiftStatus, Phase, RolloutStatus, StepState
from controller.domain.rollout.phases import decide
from tests.unit.builders import (
    KEY,
    NOW,
    SETS,
    inner_of,
    make_deployment,
    make_pod_set,
    make_rollout,
    make_set_world,
    make_steps,
    make_strategy,
    make_world,
    original_name,
    ours_of,
    release,
    release_set,
    revision_of,
    set_of,
    status_of,
    template,
    wait,
)
from tests.unit.domain.rollout.scenes import BOTH, approve, started
from tests.unit.worlds import World

EVERY = pytest.mark.parametrize("which", sorted(SETS))
SHORT = ("CloneSet", "Advanced DaemonSet")


def own_name(world: World, which: str, version: str) -> str:
    """The name that the kind gives a version, as its status or the label of its pods spells it."""
    short = revision_of(world, version)
    return short if which in (*SHORT, "DaemonSet") else f"web-{short}"


def put_status(world: World, status: RolloutStatus) -> None:
    world.cluster.rollouts.put(structs.replace(world.cluster.rollouts[KEY], status=status))


def as_older_versions_wrote_it(world: World) -> None:
    """`canaryRevision` is the hash of the template, and nothing else says it."""
    status = status_of(world)
    ours = status.moonshift
    inner = status.of_release
    assert inner is not None
    assert isinstance(ours, MoonshiftStatus)
    written = structs.replace(inner, canary_revision=ours.template)
    put_status(
        world,
        structs.replace(status.with_release(written), moonshift=structs.replace(ours, template="")),
    )


# --- names ----------------------------------------------------------------------------------------


@EVERY
def test_a_set_of_pods_is_named_as_its_kind_names_it(which: str) -> None:
    world = make_set_world(which)
    assert inner_of(world).canary_revision == own_name(world, which, "v1")
    release_set(world)
    world.rest()
    inner = inner_of(world)
    assert inner.current_step_state == StepState.STEP_PAUSED
    assert inner.canary_revision == own_name(world, which, "v2")
    assert inner.pod_template_hash == own_name(world, which, "v2")
    assert ours_of(world).template == world.cluster.hash_of(template("v2"))
    status = set_of(world).status
    if status.update_revision:
        assert status.update_revision.endswith(inner.canary_revision)
    release_set(world, "v1")
    world.rest()
    assert status_of(world).phase == Phase.HEALTHY
    assert inner_of(world).canary_revision == own_name(world, which, "v1")


@EVERY
def test_a_release_begun_by_an_older_version_continues_at_its_step(which: str) -> None:
    world = make_set_world(which)
    release_set(world)
    world.rest()
    as_older_versions_wrote_it(world)
    began = ours_of(world).started_at
    world.restart()
    world.rest()
    assert ours_of(world).started_at == began
    assert inner_of(world).current_step_state == StepState.STEP_PAUSED
    assert inner_of(world).canary_revision == own_name(world, which, "v2")
    approve(world)
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert inner_of(world).current_step_state == StepState.COMPLETED


@EVERY
def test_a_rollout_at_rest_of_an_older_version_is_renamed_silently(which: str) -> None:
    world = make_set_world(which)
    as_older_versions_wrote_it(world)
    seen = world.observe(KEY)
    assert seen is not None
    decision = decide(seen, world.cluster.now)
    assert decision.notes == ()
    world.rest()
    assert inner_of(world).canary_revision == own_name(world, which, "v1")


def test_a_name_that_is_not_known_yet_is_empty_and_comes_with_a_later_pass() -> None:
    world = make_set_world("StatefulSet")
    release_set(world)
    world.pass_over(KEY)
    assert inner_of(world).canary_revision == ""
    assert status_of(world).phase == Phase.PROGRESSING
    world.rest()
    assert inner_of(world).canary_revision == own_name(world, "StatefulSet", "v2")


def test_a_name_that_was_known_stays_while_the_set_catches_up_with_another_spec() -> None:
    world = make_set_world("Advanced StatefulSet")
    release_set(world)
    world.rest()
    world.people.edit_set(KEY, replicas=7)
    world.pass_over(KEY)
    assert inner_of(world).canary_revision == own_name(world, "Advanced StatefulSet", "v2")


def test_a_deployment_is_named_as_clients_of_the_original_compute_it() -> None:
    world = make_world()
    assert inner_of(world).canary_revision == original_name("v1")
    release(world)
    world.rest()
    inner = inner_of(world)
    assert inner.canary_revision == inner.observed_rollout_id == original_name("v2")
    assert ours_of(world).template == world.cluster.hash_of(template("v2"))


def test_a_deployment_with_a_template_that_the_original_has_no_name_for_is_named_by_ours() -> None:
    world = make_world()
    pod = msgspec.Raw(b'{"metadata":{"labels":{"app":"web"}},"spec":{"unheardOf":1}}')
    world.people.edit(KEY, template=pod)
    world.rest()
    assert inner_of(world).canary_revision == world.cluster.hash_of(pod)


def test_a_deployment_at_rest_of_an_older_version_is_renamed_silently() -> None:
    world = make_world()
    as_older_versions_wrote_it(world)
    seen = world.observe(KEY)
    assert seen is not None
    assert decide(seen, world.cluster.now).notes == ()
    world.rest()
    assert inner_of(world).canary_revision == original_name("v1")


# --- healthy before the revision was seen -----------------------------------------------------------


def test_a_deployment_that_is_healthy_before_its_replica_set_was_seen_is_named_later() -> None:
    world = World(NOW)
    world.cluster.deployments.put(make_deployment())
    world.cluster.rollouts.put(make_rollout())
    while status_of(world).phase != Phase.HEALTHY:
        world.pass_over(KEY)
    assert inner_of(world).stable_revision == ""
    world.rest()
    assert inner_of(world).stable_revision == revision_of(world, "v1")
    assert inner_of(world).pod_template_hash == revision_of(world, "v1")


@EVERY
def test_a_set_that_is_healthy_before_its_revision_was_seen_is_named_later(which: str) -> None:
    world = World(NOW)
    world.cluster.pod_sets.put(make_pod_set(which))
    world.cluster.rollouts.put(make_rollout(ref=SETS[which]))
    while status_of(world).phase != Phase.HEALTHY:
        world.pass_over(KEY)
    world.rest()
    inner = inner_of(world)
    name = own_name(world, which, "v1")
    assert (inner.stable_revision, inner.canary_revision, inner.pod_template_hash) == (name,) * 3


def test_known_names_stay_as_the_release_wrote_them() -> None:
    world = started(steps=make_steps("20%"))
    approve(world)
    assert status_of(world).phase == Phase.HEALTHY
    assert inner_of(world).stable_revision == revision_of(world, "v1")
    assert inner_of(world).pod_template_hash == revision_of(world, "v2")


# --- counts -----------------------------------------------------------------------------------------


def counts(world: World) -> tuple[int, int]:
    inner = inner_of(world)
    return inner.canary_replicas, inner.canary_ready_replicas


@BOTH
def test_scaling_during_a_pause_shows(style: str) -> None:
    world = started(style, watched=False)
    assert counts(world) == (2, 2)
    world.people.edit(KEY, replicas=20)
    world.rest()
    assert counts(world) == (4, 4)


@BOTH
def test_pods_that_fail_during_a_pause_show(style: str) -> None:
    world = started(style, watched=False)
    new = next(
        pod for pod in world.cluster.pods if pod.revision == inner_of(world).pod_template_hash
    )
    world.people.fail_pods(frozenset({new.metadata.uid}))
    world.rest()
    assert counts(world) == (2, 1)


@BOTH
def test_scaling_shows_though_the_spec_is_paused(style: str) -> None:
    world = started(style, watched=False)
    world.people.pause(KEY)
    new = inner_of(world).pod_template_hash
    pods = frozenset(pod.metadata.uid for pod in world.cluster.pods if pod.revision == new)
    world.people.fail_pods(pods)
    world.rest()
    assert counts(world) == (2, 0)


@EVERY
def test_a_set_scaled_during_a_pause_shows(which: str) -> None:
    strategy = make_strategy(steps=make_steps("40%", "60%"), traffic=False)
    world = make_set_world(which, strategy=strategy)
    release_set(world)
    world.rest()
    assert counts(world) == (2, 2)
    if "Daemon" in which:
        world.cluster.nodes = 10
    else:
        world.people.edit_set(KEY, replicas=10)
    world.rest()
    new = own_name(world, which, "v2")
    alive = [pod for pod in world.cluster.pods if pod.revision == new and not pod.metadata.deleting]
    assert counts(world) == (len(alive), len(alive))
    assert len(alive) >= 2


def test_a_pod_that_becomes_ready_by_the_owners_seconds_in_a_pause_is_counted_at_that_instant() -> (
    None
):
    world = make_world(make_rollout(), make_deployment(min_ready_seconds=20))
    release(world)
    world.rest()
    world.people.edit(KEY, replicas=20)
    wait(world, 10)
    assert counts(world)[1] == 2
    wait(world, 20)
    assert counts(world) == (4, 4)
