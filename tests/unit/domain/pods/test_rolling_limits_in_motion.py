"""Rolling limits from move to move: each written value follows from the read values; no move makes a pod too many."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from controller.api.workloads import Deployment, DeploymentStrategy, RollingUpdate
from controller.domain.pods.deployment import (
    Limits,
    RollingLimits,
    planned_rolling_limits,
    read_rolling_limits,
    write_rolling_limits,
)
from controller.domain.pods.pacing import next_rolling_limits
from tests.unit.builders import make_deployment

PLAIN = make_deployment()
SIZES = (*range(1, 31), 33, 64, 97, 99, 100, 101, 102, 127, 150, 199, 200, 201, 251, 299, 300)


def written_as(rolling_limits: RollingLimits, replicas: int) -> Deployment:
    """A Deployment as the API server keeps it after these limits were written."""
    written = write_rolling_limits(rolling_limits, replicas)
    rolling = RollingUpdate(written.max_surge, written.max_unavailable)
    strategy = DeploymentStrategy("RollingUpdate", rolling)
    spec = structs.replace(PLAIN.spec, replicas=replicas, strategy=strategy)
    return structs.replace(PLAIN, spec=spec)


def test_limits_are_written_as_they_were_read() -> None:
    for replicas in SIZES:
        for unavailable in range(1, replicas + 1):
            read = read_rolling_limits(written_as(RollingLimits(0, unavailable), replicas))
            assert read_rolling_limits(written_as(read, replicas)) == read


def test_a_larger_share_to_return_is_never_written_as_a_smaller_one() -> None:
    for replicas in SIZES:
        given = [
            read_rolling_limits(written_as(RollingLimits(0, u), replicas)).unavailable
            for u in range(1, replicas + 1)
        ]
        assert given == sorted(given)
        assert given[-1] == replicas


def test_limits_that_no_percentage_can_express_count_as_restored() -> None:
    assert read_rolling_limits(written_as(RollingLimits(0, 2), 150)) == RollingLimits(1, 1)
    assert planned_rolling_limits(written_as(RollingLimits(0, 2), 150)) == RollingLimits(0, 2)
    assert planned_rolling_limits(written_as(RollingLimits(38, 2), 150)) != RollingLimits(0, 40)
    assert planned_rolling_limits(written_as(RollingLimits(3, 2), 10)) == RollingLimits(3, 2)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    replicas=st.integers(1, 300),
    share=st.integers(1, 100),
    surge=st.integers(0, 300),
    unavailable=st.integers(0, 300),
)
def test_moves_lead_to_the_batch_without_a_pod_too_many(
    replicas: int, share: int, surge: int, unavailable: int
) -> None:
    wanted = -(-share * replicas // 100)
    limits = Limits(surge, unavailable if surge or unavailable else 1)
    rolling_limits, new, gone = RollingLimits(0, 0), 0, 0
    for _ in range(3 * replicas + 5):
        following = next_rolling_limits(rolling_limits, wanted, new, limits, give_back=True)
        if following == rolling_limits:
            break
        deployment = written_as(following, replicas)
        rolling_limits = planned_rolling_limits(deployment)
        # Old pods go up to maxUnavailable and never come back; new ones fill what surge and they leave.
        current = read_rolling_limits(deployment)
        gone = max(gone, current.unavailable)
        new = min(replicas, current.surge + gone)
        assert new <= wanted
    assert new == wanted
    assert rolling_limits == RollingLimits(0, max(wanted, rolling_limits.unavailable))
