"""The expectations of the demo hold for a right release, and for no other."""

import copy
from collections.abc import Callable

import pytest

from demo import expectations
from demo.claims import Claim
from demo.expectations import DEPLOYMENT, DESTINATION_RULE, VIRTUAL_SERVICE
from demo.snapshot import Snapshot
from tests.unit.demo import objects

Scene = Callable[[Snapshot], list[Claim]]


def wrong(claims: list[Claim]) -> list[str]:
    return [claim.text for claim in claims if not claim.holds]


SCENES: dict[str, tuple[Scene, Callable[[], Snapshot]]] = {
    "applied": (expectations.as_applied, objects.before),
    "rollout": (
        lambda s: expectations.under_a_rollout(s, objects.before()),
        objects.under_a_rollout,
    ),
    "step 1": (lambda s: expectations.at_step_one(s, objects.before()), objects.at_step_one),
    "step 2": (lambda s: expectations.at_step_two(s, objects.at_step_one()), objects.at_step_two),
    "end": (lambda s: expectations.at_the_end(s, objects.before()), objects.at_the_end),
}


@pytest.mark.parametrize("scene", SCENES)
def test_a_right_release_passes(scene: str) -> None:
    check, right = SCENES[scene]
    assert wrong(check(right())) == []


@pytest.mark.parametrize("other", SCENES)
@pytest.mark.parametrize("scene", SCENES)
def test_the_check_of_a_picture_refuses_every_other_picture(scene: str, other: str) -> None:
    if scene != other and (scene, other) != ("applied", "rollout"):
        check, _ = SCENES[scene]
        assert wrong(check(SCENES[other][1]()))


def annotate(name: str) -> Callable[[Snapshot], None]:
    def act(seen: Snapshot) -> None:
        seen.objects[name]["metadata"]["annotations"] = {"moonshift.dev/route": "left"}

    return act


def leave_a_weight(seen: Snapshot) -> None:
    seen.objects[VIRTUAL_SERVICE]["spec"]["http"] = [
        {"route": [{**entry, "weight": 100} for entry in rule["route"]]}
        for rule in seen.objects[VIRTUAL_SERVICE]["spec"]["http"]
    ]


def leave_the_subset(seen: Snapshot) -> None:
    seen.objects[DESTINATION_RULE]["spec"]["subsets"] = expectations.CANARY_SUBSETS


def leave_the_hold(seen: Snapshot) -> None:
    seen.objects[DEPLOYMENT]["spec"]["minReadySeconds"] = 2147483646


def leave_a_finalizer(seen: Snapshot) -> None:
    seen.objects["Service nginx-service"]["metadata"]["finalizers"] = ["rollouts.kruise.io/rollout"]


@pytest.mark.parametrize(
    "sabotage",
    [
        pytest.param(annotate(VIRTUAL_SERVICE), id="annotation on the VirtualService"),
        pytest.param(annotate(DESTINATION_RULE), id="annotation on the DestinationRule"),
        pytest.param(annotate("Gateway nginx-gateway"), id="annotation on the Gateway"),
        pytest.param(annotate(DEPLOYMENT), id="annotation on the Deployment"),
        pytest.param(leave_a_weight, id="weight in the route"),
        pytest.param(leave_the_subset, id="subset"),
        pytest.param(leave_the_hold, id="hold on the Deployment"),
        pytest.param(leave_a_finalizer, id="finalizer on the Service"),
    ],
)
def test_a_trace_left_at_the_end_is_noticed(sabotage: Callable[[Snapshot], None]) -> None:
    seen = objects.at_the_end()
    sabotage(seen)
    assert len(wrong(expectations.at_the_end(seen, objects.before()))) == 1


def test_an_unready_pod_is_noticed() -> None:
    seen = objects.at_step_one()
    unready = objects.pod("new", expectations.CANARY_PAGE, "canary", ready=False, batch="1")
    seen = Snapshot(seen.objects, (objects.OLD, unready), seen.deployments, seen.services)
    claims = expectations.at_step_one(seen, objects.before())
    assert wrong(claims) == ["one new pod runs beside the old one"]


def test_judging_changes_nothing() -> None:
    seen, first = objects.at_the_end(), objects.before()
    kept = copy.deepcopy((seen, first))
    expectations.at_the_end(seen, first)
    assert (seen, first) == kept
