"""A release that takes a Service from another workload's pods says so."""

import msgspec
import pytest
from msgspec import structs

from controller.domain import reasons
from controller.domain.decision import Severity
from controller.domain.rollout.words.status import condition
from tests.unit.builders import (
    NAMESPACE,
    make_deployment,
    make_rollout,
    make_world,
    release,
    sizes_of,
    status_of,
    template,
)
from tests.unit.domain.rollout.scenes import BOTH, pin_of
from tests.unit.worlds import World


def with_another_workload(world: World) -> None:
    """Three ready pods of another Deployment are behind the Service."""
    other = make_deployment(replicas=3)
    world.cluster.deployments.put(
        structs.replace(
            other,
            metadata=structs.replace(other.metadata, name="other"),
            spec=structs.replace(
                other.spec,
                selector=msgspec.Raw(b'{"matchLabels":{"app":"web","of":"other"}}'),
                template=template("x1", {"app": "web", "of": "other"}),
            ),
        )
    )
    world.rest()


def two_subsets() -> bytes:
    """A VirtualService of two subsets of one Service."""
    parts = [("v1", 80), ("v3", 20)]
    route = [{"destination": {"host": "web", "subset": s}, "weight": w} for s, w in parts]
    spec = {"hosts": ["web"], "http": [{"route": route}]}
    return msgspec.json.encode({"metadata": {"name": "web", "namespace": NAMESPACE}, "spec": spec})


@BOTH
def test_pods_of_another_workload_behind_a_pinned_service_are_warned_of_once(style: str) -> None:
    world = make_world(make_rollout(style=style))
    with_another_workload(world)
    release(world)
    world.rest()
    assert pin_of(world)
    (note,) = [n for n in world.passes.notes if n.reason == reasons.OTHER_PODS_BEHIND_SERVICE]
    assert note.severity is Severity.WARNING
    assert note.message == (
        "Service shop/web also leads to 3 ready pods that do not belong to Deployment shop/web: they get no requests "
        "through it until the release ends. Give each workload a Service of its own"
    )


@pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])
def test_a_pin_that_would_empty_the_subset_of_another_workload_is_refused_before_a_pod_is_made(
    style: str,
) -> None:
    world = make_world(make_rollout(style=style), raw=two_subsets())
    with_another_workload(world)
    release(world)
    world.rest()
    stalled = condition(status_of(world), "Stalled")
    assert stalled is not None
    assert (stalled.status, stalled.reason) == ("True", reasons.OTHER_PODS_BEHIND_SERVICE)
    assert "into the subsets v1, v3, and 3 ready pods" in stalled.message
    assert (pin_of(world), sizes_of(world).get("v2")) == ("", None)


@pytest.mark.parametrize("style", ["partition", "canary", "blueGreen"])
def test_subsets_of_the_released_workload_alone_are_no_obstacle(style: str) -> None:
    world = make_world(make_rollout(style=style), raw=two_subsets())
    release(world)
    world.rest()
    assert pin_of(world)


@BOTH
def test_a_workload_alone_behind_its_service_is_not_warned_of(style: str) -> None:
    world = make_world(make_rollout(style=style))
    release(world)
    world.rest()
    assert pin_of(world)
    assert not [n for n in world.passes.notes if n.reason == reasons.OTHER_PODS_BEHIND_SERVICE]
