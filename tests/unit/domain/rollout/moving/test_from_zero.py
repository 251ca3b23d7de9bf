"""A Deployment that is scaled to zero during a release and back: only its stable revision comes back by itself."""

from collections.abc import Callable

import pytest
from msgspec import structs

from controller.api.names import ADMISSION_PAUSE, POD_TEMPLATE_HASH
from controller.api.rollout import BlueGreenStrategy, Phase, Strategy
from controller.domain import reasons
from controller.domain.decision import SetSize
from controller.domain.rollout.phases import decide
from controller.domain.rollout.styles.choice import mechanism_of
from controller.domain.rollout.words.release_context import moonshift_status
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NOW,
    lose_kept,
    make_rollout,
    make_routing,
    make_steps,
    make_world,
    ours_of,
    release,
    revision_of,
    sizes_of,
    status_of,
    with_spec,
)
from tests.unit.domain.rollout.scenes import approve, history, pin_of, started
from tests.unit.worlds import World


def finish(world: World) -> None:
    """Every step is approved."""
    for _ in range(4):
        if status_of(world).phase == Phase.PROGRESSING:
            approve(world)


ZERO = pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])


def at_half(style: str) -> World:
    """A release that waits at 50 %."""
    if style == "blueGreen":
        plan = BlueGreenStrategy(steps=make_steps("20%", "50%"), traffic_routings=(make_routing(),))
        world = make_world(with_spec(make_rollout(), strategy=Strategy(blue_green=plan)))
        release(world)
        world.rest()
    else:
        world = started(style, watched=False)
    approve(world)
    return world


def emptied(style: str) -> World:
    """A release at 50 % whose workload is scaled to zero."""
    world = at_half(style)
    world.people.edit(KEY, replicas=0)
    return world


def most_new(world: World) -> Callable[[], int]:
    """The most pods of v2 at any instant from now on."""
    seen: list[int] = []
    world.watchers.append(lambda: seen.append(sizes_of(world).get("v2", 0)))
    return lambda: max(seen, default=0)


@ZERO
def test_after_zero_replicas_the_first_steps_share_and_never_more_is_new(style: str) -> None:
    world = emptied(style)
    world.rest()
    most = most_new(world)
    world.people.edit(KEY, replicas=10)
    world.rest()
    new = "+v2" if style == "canary" else "v2"
    assert sizes_of(world) == {"v1": 8 if style == "partition" else 10, new: 2}
    assert most() == (0 if style == "canary" else 2)
    assert ours_of(world).stable_revision == revision_of(world, "v1")
    assert ours_of(world).step == 1
    approve(world)
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}


@ZERO
def test_at_zero_replicas_no_ready_new_pod_is_behind_the_stable_service(style: str) -> None:
    """The stable pods may go first; the stable Service still stays pinned."""
    world = at_half(style)
    leaked = history(world, lambda: pin_of(world) == "" and bool(ready_new(world)))
    world.people.edit(KEY, replicas=0)
    world.rest()
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert leaked == [False]


def ready_new(world: World) -> list[str]:
    """Ready pods of v2, whoever owns them."""
    return [
        pod.metadata.name
        for pod in world.cluster.pods
        if pod.ready_since is not None
        and not pod.metadata.deleting
        and pod.revision != revision_of(world, "v1")
    ]


@pytest.mark.parametrize("ticks", range(9))
@ZERO
def test_to_zero_and_back_at_once_ends_with_the_first_steps_share(style: str, ticks: int) -> None:
    world = emptied(style)
    for _ in range(ticks):
        world.tick()
    world.people.edit(KEY, replicas=10)
    world.rest()
    new = sum(size for name, size in sizes_of(world).items() if "v2" in name)
    assert new in (2, 5)
    assert sizes_of(world)["v1"] == (10 - new if style == "partition" else 10)
    assert ours_of(world).stable_revision == revision_of(world, "v1")
    finish(world)
    assert sizes_of(world) == {"v2": 10}


@pytest.mark.parametrize("ticks", range(9))
def test_in_canary_style_no_new_pod_comes_with_zero_and_back_at_once(ticks: int) -> None:
    """The workload has no ReplicaSet of the new template, so its own controller has only stable to fill."""
    world = emptied("canary")
    most, beside = most_new(world), history(world, lambda: sizes_of(world).get("+v2", 0))
    for _ in range(ticks):
        world.tick()
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert most() == 0
    assert max(beside) <= 5


@ZERO
def test_a_workload_may_go_to_zero_and_back_unseen(style: str) -> None:
    """The controller is away: the new version has taken everything, and serves."""
    world = emptied(style)
    for _ in range(6):
        world.tick()
    world.people.edit(KEY, replicas=10)
    for _ in range(8):
        world.tick()
    world.rest()
    assert sizes_of(world)["v1"] >= 8
    assert sizes_of(world).get("v2", 0) <= 5
    assert ours_of(world).stable_revision == revision_of(world, "v1")


def test_from_zero_an_older_release_that_was_made_last_does_not_come_back_either() -> None:
    """History v1, v2, undone to v1; then v3: from zero the Deployment's controller takes the revision made last."""
    world = make_world()
    for version in ("v2", "v1"):
        release(world, version)
        world.rest()
        finish(world)
    assert sizes_of(world) == {"v1": 10}
    release(world, "v3")
    world.rest()
    world.people.edit(KEY, replicas=0)
    world.rest()
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert sizes_of(world) == {"v1": 8, "v3": 2}


def test_a_template_that_comes_at_zero_is_released_over_the_stable_revision() -> None:
    world = started(watched=False)
    world.people.edit(KEY, replicas=0)
    world.rest()
    release(world, "v3")
    world.rest()
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert sizes_of(world) == {"v1": 8, "v3": 2}
    assert ours_of(world).stable_revision == revision_of(world, "v1")
    release(world, "v1")
    world.rest()
    assert sizes_of(world) == {"v1": 10}


def known(world: World, revision: str) -> str:
    """The stable revision after a pass, where this one was noted before."""
    status = status_of(world)
    ours = structs.replace(moonshift_status(status), stable_revision=revision)
    seen = world.observe(KEY)
    assert seen is not None
    rollout = structs.replace(seen.rollout, status=structs.replace(status, moonshift=ours))
    decision = decide(structs.replace(seen, rollout=rollout), world.cluster.now)
    return moonshift_status(decision.status).stable_revision


def before_the_first_move() -> World:
    """A release that has begun, and of which nothing was made."""
    world = make_world()
    release(world)

    def begun() -> bool:
        reported = condition(status_of(world), "Progressing")
        return reported is not None and reported.reason == reasons.IN_ROLLING

    world.run_until(begun)
    return world


def test_the_running_revision_is_stable_if_none_was_known() -> None:
    world = before_the_first_move()
    assert known(world, "") == revision_of(world, "v1")


def test_a_stable_revision_stays_stable_with_any_other_revision() -> None:
    """A release of an earlier version, which keeps nothing yet."""
    world = before_the_first_move()
    lose_kept(world)
    assert known(world, "web-gone") == "web-gone"


def test_another_stable_revision_in_the_status_is_corrected() -> None:
    world = before_the_first_move()
    assert known(world, "web-gone") == revision_of(world, "v1")


@pytest.mark.parametrize("kept", [True, False])
def test_a_stable_replica_set_that_is_deleted_at_zero_is_made_again_where_it_is_kept(
    kept: bool,
) -> None:
    world = emptied("partition")
    revision = revision_of(world, "v1")
    world.rest()
    (stable,) = [rs for rs in world.cluster.replica_sets if rs.revision == revision]
    world.cluster.replica_sets.remove(stable.metadata.key)
    if not kept:
        lose_kept(world)
    world.rest()
    assert ours_of(world).goal == "ScaledAway"
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert sizes_of(world) == ({"v1": 8, "v2": 2} if kept else {"v2": 10})
    assert ours_of(world).stable_revision == revision


@pytest.mark.parametrize(("replicas", "stable", "new"), [(10, 8, 2), (1, 0, 1)])
def test_an_admission_pause_that_is_lost_at_zero_is_put_back(
    replicas: int, stable: int, new: int
) -> None:
    """Nobody looked while somebody resumed and scaled it: of one pod there is no half, so the new one goes at once."""
    world = emptied("partition")
    world.rest()
    world.people.unheard = True
    world.people.edit(KEY, paused=False, replicas=replicas)
    world.people.unheard = False
    for _ in range(4):
        world.tick()
    assert sizes_of(world) == {"v2": replicas}
    seen = history(world, lambda: sizes_of(world))
    world.rest()
    assert {"v1": replicas} in seen
    assert sizes_of(world).get("v1", 0) == stable
    assert sizes_of(world)["v2"] == new
    assert ours_of(world).stable_revision == revision_of(world, "v1")


def at_one_new_pod() -> World:
    """A release at 20 % of a single pod, which is the new one."""
    world = started("partition", watched=False)
    world.people.edit(KEY, replicas=1)
    world.rest()
    assert sizes_of(world) == {"v2": 1}
    return world


def test_a_single_new_pod_serves_until_stable_pods_have_come() -> None:
    world = at_one_new_pod()
    ready = history(world, lambda: any(pod.ready_since is not None for pod in world.cluster.pods))
    wanted: list[int] = []
    world.watchers.append(lambda: wanted.append(sum(sizes_of(world).values())))
    world.people.edit(KEY, replicas=40)
    world.rest()
    assert sizes_of(world) == {"v1": 32, "v2": 8}
    assert ready == [True]
    assert max(wanted) <= 60


def test_a_stable_replica_set_without_annotations_comes_back_too() -> None:
    world = at_one_new_pod()
    (stable,) = [rs for rs in world.cluster.replica_sets if not rs.active]
    bare = structs.replace(stable.metadata, annotations={})
    world.cluster.replica_sets.put(structs.replace(stable, metadata=bare))
    world.people.edit(KEY, replicas=10)
    world.rest()
    assert sizes_of(world) == {"v1": 8, "v2": 2}


def test_of_two_revisions_with_half_the_pods_each_the_one_with_fewer_ready_pods_makes_room() -> (
    None
):
    """Of equal ReplicaSets the Deployment's controller would shrink the oldest: the stable one that gets pods here."""
    seen = started("partition", make_steps("50%"), watched=False).observe(KEY)
    assert seen is not None
    assert seen.workload is not None
    present = seen.workload.template_hash
    stable, new = sorted(seen.workload.replica_sets, key=lambda one: one[1] == present)
    labels = {**new[0].metadata.labels, POD_TEMPLATE_HASH: "older"}
    older = structs.replace(
        new[0], metadata=structs.replace(new[0].metadata, name="older", uid="older", labels=labels)
    )
    empty = structs.replace(stable[0], spec=structs.replace(stable[0].spec, replicas=0))
    held = seen.workload.deployment
    marks = {**held.metadata.annotations, ADMISSION_PAUSE: "true"}
    paused = structs.replace(
        held,
        spec=structs.replace(held.spec, paused=True),
        metadata=structs.replace(held.metadata, annotations=marks),
    )
    workload = structs.replace(
        seen.workload, object=paused, replica_sets=((empty, stable[1]), new, (older, "older"))
    )
    release_now = as_stored(structs.replace(seen, workload=workload), NOW)
    stop = mechanism_of(release_now).bring_stable_back(release_now)
    assert stop is not None
    sizes = [(a.object.name, a.replicas) for a in stop.actions if isinstance(a, SetSize)]
    # The limits leave no room for a pod in addition.
    assert sizes == [("older", 0), (stable[0].metadata.name, 5)]
