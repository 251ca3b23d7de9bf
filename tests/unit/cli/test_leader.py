from datetime import UTC, datetime, timedelta

import pytest

from controller.cli.leader import abandoned
from controller.runtime.leader import LeaseRecord

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def lease(ago: float, duration: float = 15.0) -> LeaseRecord:
    return LeaseRecord(
        holder="controller-1",
        duration=duration,
        acquired_at=None,
        renewed_at=NOW - timedelta(seconds=ago),
        transitions=0,
        version="1",
    )


def test_a_lease_that_is_not_renewed_any_more_is_told_with_its_age() -> None:
    text = abandoned(lease(600), NOW)
    assert "no controller is at work" in text
    assert "kruise-rollout/71ddec2c.kruise.io was renewed 10m ago" in text


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(None, id="no Lease: leader election may be off"),
        pytest.param(lease(2), id="renewed just now"),
        pytest.param(lease(29), id="a new leader is about to be found"),
        pytest.param(lease(100, duration=60), id="a long Lease"),
        pytest.param(lease(-40), id="another clock"),
    ],
)
def test_nothing_is_said_where_a_controller_may_be_at_work(known: LeaseRecord | None) -> None:
    assert abandoned(known, NOW) == ""
