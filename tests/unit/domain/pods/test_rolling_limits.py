"""The two rolling update limits of a held Deployment: the written values, how Kubernetes reads them, and the values
that follow.
"""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.quantity import scaled_down, scaled_up
from controller.api.rollout import OwnersValues
from controller.domain.pods.deployment import (
    Limits,
    RollingLimits,
    WrittenLimits,
    has_limits,
    owners_limits,
    read_rolling_limits,
    write_rolling_limits,
)
from controller.domain.pods.pacing import next_rolling_limits
from tests.unit.builders import make_deployment


@st.composite
def plans(draw: st.DrawFn) -> tuple[int, RollingLimits]:
    """A size, and limits that a plan may ask for."""
    replicas = draw(st.integers(1, 300))
    unavailable = draw(st.integers(0, replicas))
    surge = draw(st.integers(0, replicas - unavailable))
    return replicas, RollingLimits(surge, unavailable)


def as_kubernetes_reads(rolling_limits: WrittenLimits, replicas: int) -> RollingLimits:
    """maxSurge rounds up, maxUnavailable rounds down, and both zero means one unavailable."""
    surge = scaled_up(rolling_limits.max_surge, replicas)
    unavailable = scaled_down(rolling_limits.max_unavailable, replicas)
    return RollingLimits(surge, unavailable) if surge or unavailable else RollingLimits(0, 1)


@given(plans())
def test_new_pods_are_exactly_as_many_as_planned(plan: tuple[int, RollingLimits]) -> None:
    replicas, rolling_limits = plan
    if rolling_limits.new_pods == 0:
        return
    assert (
        as_kubernetes_reads(write_rolling_limits(rolling_limits, replicas), replicas).new_pods
        == rolling_limits.new_pods
    )


@given(plans())
def test_up_to_a_hundred_replicas_both_rolling_limits_are_exact(
    plan: tuple[int, RollingLimits],
) -> None:
    replicas, rolling_limits = plan
    if replicas <= 100 and rolling_limits.new_pods:
        assert (
            as_kubernetes_reads(write_rolling_limits(rolling_limits, replicas), replicas)
            == rolling_limits
        )


@given(plans())
def test_never_more_old_pods_are_restored_than_planned(plan: tuple[int, RollingLimits]) -> None:
    replicas, rolling_limits = plan
    if rolling_limits.new_pods:
        seen = as_kubernetes_reads(write_rolling_limits(rolling_limits, replicas), replicas)
        assert seen.unavailable <= rolling_limits.unavailable
        assert rolling_limits.unavailable - seen.unavailable <= -(-replicas // 100)


@given(plans(), st.integers(1, 300))
def test_scaling_in_never_takes_the_whole_stable_revision(
    plan: tuple[int, RollingLimits], smaller: int
) -> None:
    # Experiment 4: with integer limits 5+5 scaled to 5 leaves 0+5.
    replicas, rolling_limits = plan
    after = min(smaller, replicas)
    written_limits = write_rolling_limits(rolling_limits, replicas)
    if rolling_limits.unavailable < replicas and after > 1:
        assert scaled_down(written_limits.max_unavailable, after) < after


@pytest.mark.parametrize(
    ("replicas", "rolling_limits", "expected"),
    [
        pytest.param(10, RollingLimits(0, 5), WrittenLimits("0%", "50%"), id="half of ten"),
        pytest.param(10, RollingLimits(5, 5), WrittenLimits("50%", "50%"), id="5 and 5 of ten"),
        pytest.param(250, RollingLimits(3, 5), WrittenLimits(3, "2%"), id="above a hundred"),
    ],
)
def test_the_share_of_old_pods_that_may_go_is_written_as_a_percentage(
    replicas: int, rolling_limits: RollingLimits, expected: WrittenLimits
) -> None:
    assert write_rolling_limits(rolling_limits, replicas) == expected


def test_a_workload_of_nothing_has_rolling_limits_of_nothing() -> None:
    assert write_rolling_limits(RollingLimits(0, 0), 0) == WrittenLimits(0, "0%")


@pytest.mark.parametrize(
    ("surge", "unavailable", "same"),
    [
        pytest.param("20%", "30%", True, id="the same percentages"),
        pytest.param("20%", "31%", False, id="another percentage"),
        pytest.param(2, "30%", False, id="a count instead of a percentage"),
        pytest.param("20%", 3, False, id="an integer maxUnavailable is another thing"),
    ],
)
def test_written_limits_are_recognised(
    surge: str | int, unavailable: str | int, same: bool
) -> None:
    deployment = make_deployment(max_surge=surge, max_unavailable=unavailable)
    assert has_limits(deployment, WrittenLimits("20%", "30%")) is same


def test_counts_are_recognised_above_a_hundred_replicas() -> None:
    deployment = make_deployment(replicas=250, max_surge=3, max_unavailable="1%")
    assert has_limits(deployment, WrittenLimits(3, "1%"))
    assert not has_limits(deployment, WrittenLimits(4, "1%"))
    assert read_rolling_limits(deployment) == RollingLimits(3, 2)


@pytest.mark.parametrize(("replicas", "missing"), [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1), (8, 2)])
def test_rolling_limits_that_round_to_nothing_let_one_pod_be_missing(
    replicas: int, missing: int
) -> None:
    deployment = make_deployment(replicas=replicas, max_surge="0%", max_unavailable="25%")
    assert read_rolling_limits(deployment) == RollingLimits(0, missing)


def test_a_deployment_without_rolling_limits_is_at_the_beginning() -> None:
    deployment = make_deployment()
    bare = msgspec.structs.replace(
        deployment,
        spec=msgspec.structs.replace(
            deployment.spec,
            strategy=msgspec.structs.replace(deployment.spec.strategy, rolling_update=None),
        ),
    )
    assert read_rolling_limits(bare) == RollingLimits(0, 0)
    assert not has_limits(bare, WrittenLimits("0%", "0%"))


@pytest.mark.parametrize(
    ("strategy", "limits"),
    [
        pytest.param(None, Limits(3, 2), id="absent: the API's 25 % each"),
        pytest.param(b'{"type":"Recreate"}', Limits(3, 2), id="no rollingUpdate: the same"),
        pytest.param(
            b'{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}', Limits(1, 0), id="counts"
        ),
        pytest.param(
            b'{"rollingUpdate":{"maxSurge":"15%","maxUnavailable":"15%"}}',
            Limits(2, 1),
            id="surge rounds up, unavailable down",
        ),
        pytest.param(
            b'{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}}',
            Limits(0, 1),
            id="both zero means one, as in Kubernetes",
        ),
    ],
)
def test_the_owners_limits_are_read_as_kubernetes_reads_them(
    strategy: bytes | None, limits: Limits
) -> None:
    raw = msgspec.Raw(strategy) if strategy is not None else None
    assert owners_limits(OwnersValues(strategy=raw), 10) == limits


TWENTY_FIVE = Limits(3, 2)


@pytest.mark.parametrize(
    ("current", "wanted", "ready", "limits", "give_back", "expected"),
    [
        pytest.param(
            RollingLimits(0, 0),
            2,
            0,
            TWENTY_FIVE,
            False,
            RollingLimits(2, 0),
            id="grow beside the old",
        ),
        pytest.param(
            RollingLimits(2, 0),
            2,
            2,
            TWENTY_FIVE,
            False,
            RollingLimits(2, 0),
            id="wait for the route",
        ),
        pytest.param(
            RollingLimits(2, 0),
            2,
            2,
            TWENTY_FIVE,
            True,
            RollingLimits(0, 2),
            id="give the share back",
        ),
        pytest.param(
            RollingLimits(2, 0),
            2,
            1,
            TWENTY_FIVE,
            True,
            RollingLimits(2, 0),
            id="not before all are ready",
        ),
        pytest.param(
            RollingLimits(0, 2), 5, 2, TWENTY_FIVE, False, RollingLimits(3, 2), id="the next batch"
        ),
        pytest.param(
            RollingLimits(0, 0),
            5,
            0,
            TWENTY_FIVE,
            False,
            RollingLimits(3, 0),
            id="no more than maxSurge",
        ),
        pytest.param(
            RollingLimits(3, 0),
            5,
            2,
            TWENTY_FIVE,
            False,
            RollingLimits(3, 0),
            id="surge used up: wait",
        ),
        pytest.param(
            RollingLimits(3, 0),
            5,
            3,
            TWENTY_FIVE,
            False,
            RollingLimits(0, 3),
            id="then give back early",
        ),
        pytest.param(
            RollingLimits(0, 0),
            5,
            0,
            Limits(0, 2),
            False,
            RollingLimits(0, 2),
            id="no surge: down first",
        ),
        pytest.param(
            RollingLimits(0, 2),
            5,
            1,
            Limits(0, 2),
            False,
            RollingLimits(0, 3),
            id="by what is ready",
        ),
        pytest.param(
            RollingLimits(0, 2), 5, 0, Limits(0, 2), False, RollingLimits(0, 2), id="and not below"
        ),
        pytest.param(
            RollingLimits(0, 5),
            2,
            5,
            TWENTY_FIVE,
            True,
            RollingLimits(0, 5),
            id="a smaller batch keeps all",
        ),
    ],
)
def test_the_next_limits_follow_from_the_present_ones(
    current: RollingLimits,
    wanted: int,
    ready: int,
    limits: Limits,
    give_back: bool,
    expected: RollingLimits,
) -> None:
    assert next_rolling_limits(current, wanted, ready, limits, give_back=give_back) == expected


@given(
    replicas=st.integers(1, 60),
    surge=st.integers(0, 10),
    unavailable=st.integers(0, 10),
    batches=st.lists(st.integers(1, 60), min_size=1, max_size=5),
    give_back=st.booleans(),
)
def test_every_plan_is_reached_within_the_owners_limits(
    replicas: int, surge: int, unavailable: int, batches: list[int], give_back: bool
) -> None:
    limits = Limits(surge, unavailable) if surge or unavailable else Limits(0, 1)
    rolling_limits = RollingLimits(0, 0)
    for wanted in sorted(min(batch, replicas) for batch in batches):
        for _ in range(4 * replicas + 4):
            ready = rolling_limits.new_pods  # everything asked for became ready
            following = next_rolling_limits(
                rolling_limits, wanted, ready, limits, give_back=give_back
            )
            if following == rolling_limits:
                break
            assert following.surge <= max(limits.surge, rolling_limits.surge)
            # The returned pods were ready before, or are within maxUnavailable.
            assert following.unavailable <= ready + limits.unavailable
            rolling_limits = following
        assert rolling_limits.new_pods == wanted
        assert rolling_limits.surge == 0 or not give_back
        assert rolling_limits.new_pods >= wanted
