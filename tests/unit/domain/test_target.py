"""The target of a step: its new pods, its traffic, its pins."""

import pytest

from controller.api.rollout import CanaryStrategy, Step, TrafficRoutingRef
from controller.domain.target import Pinned, Target, Traffic, target_of

ROUTED = Step(replicas="20%", traffic="20%")
PODS_ONLY = Step(replicas="50%")
ALL = Step(replicas="100%")
ROUTING = (TrafficRoutingRef(service="web"),)
DIVIDED, ORIGINAL, AS_BEFORE = Traffic.DIVIDED, Traffic.ORIGINAL, Traffic.AS_BEFORE
YES, NO, AS_IT_IS = Pinned.YES, Pinned.NO, Pinned.AS_IT_IS


def plan(*steps: Step) -> CanaryStrategy:
    return CanaryStrategy(steps=steps, traffic_routings=ROUTING)


@pytest.mark.parametrize(
    ("steps", "index", "target"),
    [
        ((ROUTED, PODS_ONLY, ALL), 1, Target(2, DIVIDED, YES)),
        ((ROUTED, PODS_ONLY, ALL), 2, Target(5, ORIGINAL, NO)),
        ((ROUTED, PODS_ONLY, ALL), 3, Target(10, AS_BEFORE, NO, replaces_all=True)),
        ((PODS_ONLY, ROUTED), 1, Target(5, ORIGINAL, YES)),
        ((PODS_ONLY, PODS_ONLY), 1, Target(5, ORIGINAL, NO)),
        ((ROUTED,), 9, Target(2, DIVIDED, NO)),
        ((Step(replicas=10, traffic="5%"),), 1, Target(10, AS_BEFORE, NO, replaces_all=True)),
        ((), 1, Target(0, ORIGINAL, NO)),
    ],
)
def test_partition_style(steps: tuple[Step, ...], index: int, target: Target) -> None:
    assert target_of(plan(*steps), index, 10, replaces=True) == target


def test_new_pods_beside_all_old_ones_leave_something_to_divide() -> None:
    all_routed = Step(replicas="100%", traffic="50%")
    assert target_of(plan(all_routed), 1, 10, replaces=False) == Target(10, DIVIDED, YES)


def test_where_no_old_pod_runs_routes_and_pins_stay_as_they_are() -> None:
    target = target_of(plan(ROUTED), 1, 10, replaces=True, beside_old_pods=False)
    assert target == Target(2, AS_BEFORE, AS_IT_IS)


def test_a_service_that_both_revisions_share_is_never_pinned() -> None:
    shared = CanaryStrategy(
        steps=(ROUTED,), traffic_routings=ROUTING, disable_generate_canary_service=True
    )
    assert target_of(shared, 1, 10, replaces=True).pinned is AS_IT_IS


def test_without_a_size_only_what_is_so_at_every_size_is_said() -> None:
    some = plan(Step(replicas=3, traffic="5%"), ALL)
    assert target_of(some, 1, None, replaces=True) == Target(None, DIVIDED, YES)
    assert target_of(some, 2, None, replaces=True) == Target(None, AS_BEFORE, NO, replaces_all=True)
