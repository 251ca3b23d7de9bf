"""A DaemonSet that made more new pods than any step wanted: on nodes that joined, or that were all away."""

import pytest
from msgspec import structs

from controller.domain import reasons
from controller.domain.rollout.moving import surplus_new_pods
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    make_pod_set,
    make_set_world,
    make_steps,
    make_strategy,
    ours_of,
    release_set,
    revision_of,
    set_of,
    status_of,
    strategy_of,
    template,
    versions_of,
)
from tests.unit.domain.rollout.scenes import approve, reason_of
from tests.unit.domain.rollout.styles.test_sets_from_zero import away
from tests.unit.worlds import World

EACH = pytest.mark.parametrize("which", ["DaemonSet", "Advanced DaemonSet"])


def at_second_step(which: str = "DaemonSet", *, history: int | None = None) -> World:
    """A release of v2 that waits at 40 %: two of five pods."""
    found = make_pod_set(which)
    spec = structs.replace(found.spec, revision_history_limit=history)
    world = make_set_world(which, structs.replace(found, spec=spec))
    release_set(world)
    world.rest()
    approve(world)
    assert versions_of(world) == {"v1": 3, "v2": 2}
    return world


def without_nodes(world: World) -> None:
    """All nodes are away, and their pods with them."""
    world.cluster.nodes = 0
    for pod in world.cluster.pods_of(set_of(world)):
        world.cluster.pods.remove(pod.metadata.key)
    world.rest()


def with_nodes(world: World, nodes: int = 5) -> None:
    """Set the number of nodes; the controller sees it at once."""
    world.cluster.nodes = nodes


def give_stable_template(world: World) -> None:
    """Nodes are back, and the set has its stable template at this moment."""
    without_nodes(world)
    with_nodes(world)
    world.run_until(lambda: set_of(world).spec.template == template("v1"))
    assert ours_of(world).template_exchange == surplus_new_pods.STABLE


@EACH
def test_a_daemon_set_whose_nodes_were_all_away_has_the_first_steps_share_afterwards(
    which: str,
) -> None:
    world = at_second_step(which)
    stable = ours_of(world).stable_revision
    without_nodes(world)
    with_nodes(world)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert (ours_of(world).step, ours_of(world).stable_revision) == (1, stable)
    assert set_of(world).spec.template == template("v2")
    assert ours_of(world).template_exchange == ""
    approve(world)
    assert versions_of(world) == {"v1": 3, "v2": 2}


@EACH
def test_nodes_that_join_at_a_step_get_stable_pods_beyond_its_share(which: str) -> None:
    world = at_second_step(which)
    with_nodes(world, 8)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 4}
    assert ours_of(world).step == 2
    approve(world)
    assert versions_of(world) == {"v2": 8}
    assert status_of(world).phase == "Healthy"


def test_the_stable_template_on_loan_is_not_taken_for_a_rollback() -> None:
    world = at_second_step()
    give_stable_template(world)
    release = ours_of(world).release
    world.rest()
    assert ours_of(world).release == release
    assert status_of(world).phase == "Progressing"


def test_the_release_template_that_somebody_applies_meanwhile_is_the_releases_own() -> None:
    world = at_second_step()
    give_stable_template(world)
    release_set(world, "v2")
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert ours_of(world).template_exchange == ""


def test_a_third_revision_that_comes_meanwhile_is_released_over_the_running_one() -> None:
    world = at_second_step()
    give_stable_template(world)
    release_set(world, "v3")
    world.rest()
    assert versions_of(world) == {"v2": 4, "v3": 1}
    assert ours_of(world).template_exchange == ""


@pytest.mark.parametrize("how", ["deleted", "disabled"])
def test_a_rollout_that_ends_meanwhile_leaves_the_owners_template(how: str) -> None:
    world = at_second_step()
    give_stable_template(world)
    if how == "deleted":
        world.cluster.rollouts.delete(KEY)
    else:
        world.people.disable(KEY)
    world.rest()
    assert set_of(world).spec.template == template("v2")
    assert versions_of(world) == {"v2": 5}
    assert strategy_of(world) == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}


def test_nodes_that_go_again_meanwhile_leave_the_releases_template() -> None:
    world = at_second_step()
    give_stable_template(world)
    without_nodes(world)
    assert set_of(world).spec.template == template("v2")
    with_nodes(world)
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}


def test_a_daemon_set_that_is_made_again_meanwhile_is_another_one() -> None:
    world = at_second_step()
    give_stable_template(world)
    before = set_of(world)
    world.cluster.pod_sets.remove(KEY)
    fresh = make_pod_set("DaemonSet", version="v3")
    world.cluster.pod_sets.put(fresh)
    world.rest()
    assert set_of(world).metadata.uid != before.metadata.uid
    assert set_of(world).spec.template == template("v3")
    assert ours_of(world).template_exchange == ""


def test_ready_pods_beyond_the_share_go_within_the_owners_limit() -> None:
    """The controller is away while the nodes come back: all pods are new and ready."""
    world = at_second_step()
    without_nodes(world)
    with_nodes(world)
    away(world)
    assert versions_of(world) == {"v2": 5}
    seen: list[int] = []
    world.watchers.append(
        lambda: seen.append(
            sum(pod.ready_since is not None for pod in world.cluster.pods_of(set_of(world)))
        )
    )
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}
    assert min(seen) == 3


def test_pods_that_cannot_be_made_meanwhile_are_reported() -> None:
    world = at_second_step()
    give_stable_template(world)
    world.people.forbid_pods("exceeded quota: pods")
    world.rest()
    world.cluster.set_clock(world.cluster.now + world.cluster.delays.ready * 100)
    world.rest()
    assert reason_of(world, "Stalled") == "FailedCreate"
    world.people.heal()
    world.rest()
    assert versions_of(world) == {"v1": 4, "v2": 1}


@EACH
def test_a_set_that_keeps_no_history_comes_back_new_and_says_so(which: str) -> None:
    """The release's own template would be lost with its last pod."""
    world = at_second_step(which, history=0)
    stable = ours_of(world).stable_revision
    without_nodes(world)
    with_nodes(world)
    world.rest()
    assert versions_of(world) == {"v2": 5}
    assert ours_of(world).stable_revision == stable
    reported = condition(status_of(world), "Stalled")
    assert reported is not None
    assert reported.reason == reasons.STABLE_REVISION_GONE
    assert "kubectl moonshift undo web, or end the release" in reported.message
    release_set(world, "v1")
    world.rest()
    assert versions_of(world) == {"v1": 5}
    assert reason_of(world, "Stalled") == ""


def test_a_release_whose_template_is_lost_meanwhile_ends_with_the_stable_version() -> None:
    world = at_second_step()
    give_stable_template(world)
    new = revision_of(world, "v2")
    (kept,) = [r for r in world.cluster.revisions if r.metadata.name.endswith(new)]
    world.cluster.revisions.remove(kept.metadata.key)
    world.rest()
    assert set_of(world).spec.template == template("v1")
    assert status_of(world).phase == "Healthy"


def test_a_take_all_step_may_have_all_nodes() -> None:
    world = make_set_world(
        "DaemonSet", strategy=make_strategy(steps=make_steps("100%"), traffic=False)
    )
    release_set(world)
    world.run_until(lambda: versions_of(world) == {"v2": 5})
    world.rest()
    assert ours_of(world).template_exchange == ""
