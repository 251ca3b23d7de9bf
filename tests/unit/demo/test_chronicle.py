"""The recorded history is judged at every revision."""

import pytest

from demo import chronicle
from demo.expectations import (
    BASE_PAGE,
    BASE_RULE,
    CANARY_PAGE,
    CANARY_SUBSETS,
    HEADER_HTTP,
    WEIGHTED_HTTP,
)
from localcluster.history import Change, Kind
from tests.unit.demo.objects import (
    NEW,
    OLD,
    UPGRADED,
    destination_rule,
    history,
    of_deployment,
    of_pod,
    of_rollout,
    of_service,
    pod,
    rollout,
    virtual_service,
)

ORIGINAL = [BASE_RULE]
Step = tuple[Kind, dict[str, object], str]
START = [of_service(), destination_rule(CANARY_SUBSETS[:1]), of_pod(OLD), virtual_service(ORIGINAL)]
FIRST = [of_pod(NEW), destination_rule(CANARY_SUBSETS), virtual_service(WEIGHTED_HTTP)]
SECOND = [virtual_service(HEADER_HTTP)]
UPGRADE = [
    of_pod(UPGRADED),
    of_pod(pod("old", BASE_PAGE, "base", leaving=True)),
    of_pod(OLD, "DELETED"),
]
RESTORE = [virtual_service(ORIGINAL), destination_rule(CANARY_SUBSETS[:1])]
REMOVAL = [
    of_pod(pod("new", CANARY_PAGE, "canary", leaving=True)),
    of_pod(NEW, "DELETED"),
]
RIGHT = [*START, *FIRST, *SECOND, *UPGRADE, *RESTORE, *REMOVAL]


def contradictions(changes: list[Change]) -> list[str]:
    return [claim.text for claim in chronicle.judge(changes) if not claim.holds]


def test_a_right_order_passes() -> None:
    assert contradictions(history(RIGHT)) == []


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        pytest.param(
            [*START, FIRST[0], FIRST[2], FIRST[1], *SECOND, *UPGRADE, *RESTORE, *REMOVAL],
            "the subset was there before",
            id="route before subset",
        ),
        pytest.param(
            [*START, *FIRST, *SECOND, *RESTORE, *UPGRADE, *REMOVAL],
            "the stable Deployment's new pod was ready before",
            id="restore before upgrade",
        ),
        pytest.param(
            [*START, *FIRST, *SECOND, *UPGRADE, RESTORE[1], RESTORE[0], *REMOVAL],
            "the route went before the subset",
            id="subset gone before its route",
        ),
        pytest.param(
            [*START, *FIRST, *SECOND, *UPGRADE, *REMOVAL, *RESTORE],
            "the canary pod went after",
            id="pod gone before its route",
        ),
        pytest.param(
            [*START, *FIRST[1:], FIRST[0], *SECOND, *UPGRADE, *RESTORE, *REMOVAL],
            "every route led to a ready pod",
            id="route before its pod",
        ),
        pytest.param(
            [*START, *FIRST, *SECOND, *UPGRADE[1:], UPGRADE[0], *RESTORE, *REMOVAL],
            "every route led to a ready pod",
            id="old pod gone before the new one is ready",
        ),
        pytest.param(
            [*START, *FIRST],
            "the stable Deployment's new pod was ready before",
            id="never finished",
        ),
    ],
)
def test_a_wrong_order_is_noticed(steps: list[Step], expected: str) -> None:
    assert any(expected in text for text in contradictions(history(steps)))


def test_an_empty_history_proves_nothing() -> None:
    assert len(contradictions([])) == 5


def test_a_moment_of_unreadiness_between_right_states_is_noticed() -> None:
    gap = of_pod(pod("new", CANARY_PAGE, "canary", ready=False))
    steps = [*START, *FIRST, gap, of_pod(NEW), *SECOND, *UPGRADE, *RESTORE, *REMOVAL]
    [text] = contradictions(history(steps))
    assert "every route led to a ready pod" in text


def test_a_route_of_weight_zero_needs_nobody() -> None:
    weights = [{"route": [{**WEIGHTED_HTTP[0]["route"][0], "weight": 100}]}]
    weights[0]["route"].append({**WEIGHTED_HTTP[0]["route"][1], "weight": 0})
    steps = [*START, destination_rule(CANARY_SUBSETS), virtual_service(weights)]
    state = {change.key: change.object for change in history(steps)}
    assert chronicle.routes_to_nobody(state) == []


def test_the_timeline_has_each_change_once() -> None:
    timeline = chronicle.timeline(
        history(
            [
                *START,
                of_pod(OLD),
                of_rollout(rollout(phase="Healthy", step=2, state="Completed")),
                of_deployment("nginx-deployment-xxxxx", "ADDED"),
                of_rollout(rollout(1, "StepUpgrade")),
                *FIRST,
                of_deployment("nginx-deployment-xxxxx", "DELETED"),
            ]
        )
    )
    assert list(timeline) == [
        (2, "DestinationRule: subsets version-base"),
        (3, "pod old (base page) is ready"),
        (4, "VirtualService: requests → version-base"),
        (7, "Deployment nginx-deployment-xxxxx is made"),
        (8, "Rollout: step 1 StepUpgrade"),
        (9, "pod new (canary page) is ready"),
        (10, "DestinationRule: subsets version-base, canary"),
        (11, "VirtualService: requests → 80 % version-base, 20 % canary"),
        (12, "Deployment nginx-deployment-xxxxx is gone"),
    ]
