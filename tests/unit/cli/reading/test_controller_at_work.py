from datetime import UTC, datetime, timedelta

import pytest

from controller.api.names import DEFAULT_NAMESPACE, LEASE
from controller.cli.reading.controller_at_work import LeaderLease, abandoned, seems_to_stand_still
from controller.runtime.leader import LeaseRecord
from tests.unit.cli.builders import make_rollout

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


def lease(ago: float, duration: float = 15.0) -> LeaderLease:
    return LeaderLease(
        DEFAULT_NAMESPACE,
        LEASE,
        LeaseRecord(
            holder="controller-1",
            duration=duration,
            acquired_at=None,
            renewed_at=NOW - timedelta(seconds=ago),
            transitions=0,
            version="1",
        ),
    )


def test_a_lease_that_is_not_renewed_any_more_is_reported_with_its_age() -> None:
    text = abandoned(lease(600), NOW)
    assert "no controller is at work" in text
    assert "kruise-rollout/71ddec2c.kruise.io was renewed 10m ago" in text


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(
            LeaderLease(DEFAULT_NAMESPACE, LEASE, None), id="no Lease: leader election may be off"
        ),
        pytest.param(lease(2), id="renewed just now"),
        pytest.param(lease(29), id="a new leader is about to be found"),
        pytest.param(lease(100, duration=60), id="a long Lease"),
        pytest.param(lease(-40), id="another clock"),
    ],
)
def test_nothing_is_reported_where_a_controller_may_be_at_work(known: LeaderLease) -> None:
    assert abandoned(known, NOW) == ""


def test_a_timed_pause_that_is_long_over_is_a_standstill_and_one_that_runs_is_not() -> None:
    rollout = make_rollout(step=2)  # paused for 60 s, 90 s ago
    times = [timedelta(seconds=seconds) for seconds in (-60, -1, 0, 60)]
    assert [seems_to_stand_still(rollout, NOW + time) for time in times] == [
        False,
        False,
        True,
        True,
    ]


def test_an_unobserved_change_is_a_standstill_also_at_rest() -> None:
    assert seems_to_stand_still(make_rollout(phase="Healthy", generation=2), NOW)
    assert seems_to_stand_still(make_rollout(phase=""), NOW)
    assert not seems_to_stand_still(make_rollout(phase="Healthy"), NOW)
