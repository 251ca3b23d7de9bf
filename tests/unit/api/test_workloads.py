from datetime import UTC, datetime

import pytest

from controller.api.meta import ObjectMeta
from controller.api.workloads import Pod, PodStatus, StatusCondition, slimmed_pod

SINCE = datetime(2026, 5, 4, 12, tzinfo=UTC)


def pod(**conditions: str) -> Pod:
    """A pod with these conditions."""
    found = tuple(
        StatusCondition(type=name, status=status, last_transition_time=SINCE)
        for name, status in conditions.items()
    )
    return Pod(metadata=ObjectMeta(name="web-0"), status=PodStatus(conditions=found))


@pytest.mark.parametrize(
    ("conditions", "since"),
    [
        ({"Ready": "True"}, SINCE),
        ({"Ready": "False"}, None),
        ({}, None),
        ({"Ready": "True", "InPlaceUpdateReady": "True"}, SINCE),
        ({"Ready": "True", "InPlaceUpdateReady": "False"}, None),
    ],
)
def test_a_pod_is_not_ready_while_openkruise_changes_its_containers(
    conditions: dict[str, str], since: datetime | None
) -> None:
    found = pod(**conditions)
    assert found.ready_since == since
    assert slimmed_pod(found).ready_since == since
