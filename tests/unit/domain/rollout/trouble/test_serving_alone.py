"""A third template while no stable pod is ready: the pods that serve everybody stay."""

import pytest

from controller.domain import reasons
from controller.domain.rollout.trouble.serving_alone import abandoned_pods_serve_alone
from controller.domain.rollout.words.release_value import as_stored
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    KEY,
    NOW,
    make_steps,
    ours_of,
    release,
    revision_of,
    sizes_of,
    status_of,
    wait,
)
from tests.unit.domain.rollout.scenes import approve, history, started
from tests.unit.worlds import World

STYLES = pytest.mark.parametrize("style", ["canary", "partition", "blueGreen"])


def ready_pods(world: World) -> int:
    return sum(p.ready_since is not None and not p.metadata.deleting for p in world.cluster.pods)


def without_stable_pods(style: str, *, traffic: bool = True) -> World:
    """A release at half of its pods, whose stable pods have all become unready."""
    world = started(style, make_steps("50%", "80%"), traffic=traffic, watched=False)
    world.people.fail_pods(frozenset({revision_of(world, "v1")}))
    world.rest()
    return world


@STYLES
@pytest.mark.parametrize("traffic", [True, False])
def test_the_last_ready_pods_are_not_removed_for_a_third_template(
    style: str, traffic: bool
) -> None:
    world = without_stable_pods(style, traffic=traffic)
    sizes = sizes_of(world)
    ready = history(world, lambda: ready_pods(world))
    release(world, "v3")
    wait(world, 700)
    stalled = condition(status_of(world), "Stalled")
    assert min(ready) == 5
    assert sizes_of(world) == sizes
    assert stalled is not None
    assert stalled.reason == reasons.SIDE_WITHOUT_ENDPOINTS
    assert "nobody would serve: the 5 ready pods of the release so far would be removed" in (
        stalled.message
    )


@STYLES
def test_the_release_so_far_goes_on_where_it_was_when_its_template_is_put_back(style: str) -> None:
    world = started(style, make_steps("30%", "50%", "80%"), watched=False)
    approve(world)
    world.people.fail_pods(frozenset({revision_of(world, "v1")}))
    world.rest()
    sizes = sizes_of(world)
    ready = history(world, lambda: ready_pods(world))
    release(world, "v3")
    wait(world, 60)
    release(world, "v2")
    wait(world, 60)
    assert (min(ready), sizes_of(world), ours_of(world).step) == (5, sizes, 2)
    assert "nobody would serve" not in status_of(world).message


@STYLES
def test_the_third_release_begins_when_a_stable_pod_is_ready(style: str) -> None:
    world = without_stable_pods(style)
    release(world, "v3")
    wait(world, 60)
    world.people.heal()
    world.rest()
    wait(world, 120)
    assert not {"v2", "+v2"} & sizes_of(world).keys()
    assert {"v3", "+v3"} & sizes_of(world).keys()


def test_an_unknown_stable_revision_holds_no_third_release() -> None:
    seen = without_stable_pods("partition").observe(KEY)
    assert seen is not None
    known = as_stored(seen, NOW)
    assert abandoned_pods_serve_alone(known.noting(stable_revision="")) is None
