"""A release that takes a Service from another workload's pods says so."""

import msgspec
from msgspec import structs

from controller.domain import reasons
from controller.domain.decision import Severity
from tests.unit.builders import make_deployment, make_rollout, make_world, release, template
from tests.unit.domain.rollout.scenes import BOTH, pin_of


@BOTH
def test_pods_of_another_workload_behind_a_pinned_service_are_warned_of_once(style: str) -> None:
    world = make_world(make_rollout(style=style))
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
    release(world)
    world.rest()
    assert pin_of(world)
    (note,) = [n for n in world.passes.notes if n.reason == reasons.OTHER_PODS_BEHIND_SERVICE]
    assert note.severity is Severity.WARNING
    assert note.message == (
        "Service shop/web also leads to 3 ready pods that do not belong to Deployment shop/web: they get no requests "
        "through it until the release ends. Give each workload a Service of its own"
    )


@BOTH
def test_a_workload_alone_behind_its_service_is_not_warned_of(style: str) -> None:
    world = make_world(make_rollout(style=style))
    release(world)
    world.rest()
    assert pin_of(world)
    assert not [n for n in world.passes.notes if n.reason == reasons.OTHER_PODS_BEHIND_SERVICE]
