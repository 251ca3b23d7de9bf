"""Sizes, readiness and labels of batches."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.names import ROLLOUT_BATCH_ID, ROLLOUT_BATCH_ID_APPS, ROLLOUT_ID
from controller.api.quantity import IntOrPercent
from controller.domain.pods.labels import plan_labels
from controller.domain.pods.plan import batch_size, ready_needed
from controller.domain.pods.readiness import readiness_of
from tests.unit.builders import make_pod, make_step

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("replicas", "index", "expected"),
    [
        pytest.param(10, 0, 0, id="before the first step there are none"),
        pytest.param(10, 1, 2, id="a percentage"),
        pytest.param(5, 1, 1, id="exactly"),
        pytest.param(6, 1, 2, id="rounded up"),
        pytest.param(10, 2, 7, id="a count"),
        pytest.param(5, 2, 5, id="never more than there are"),
        pytest.param(10, 3, 10, id="all"),
        pytest.param(10, 9, 10, id="beyond the plan: its last step"),
        pytest.param(0, 1, 0, id="of nothing"),
    ],
)
def test_batches_are_cumulative_and_round_up(replicas: int, index: int, expected: int) -> None:
    steps = [make_step("20%"), make_step(7), make_step("100%")]
    assert batch_size(steps, index, replicas) == expected


@pytest.mark.parametrize(
    ("wanted", "updated", "threshold", "expected"),
    [
        pytest.param(4, 4, None, 4, id="absent tolerates none"),
        pytest.param(4, 4, 1, 3, id="a count"),
        pytest.param(5, 5, "30%", 3, id="a percentage of the updated pods, rounded up"),
        pytest.param(2, 2, "100%", 1, id="one must be ready whatever is tolerated"),
        pytest.param(0, 0, None, 0, id="nothing wanted, nothing needed"),
        pytest.param(5, 5, -3, 5, id="a negative one tolerates none"),
    ],
)
def test_the_failure_threshold_tolerates_unready_pods(
    wanted: int, updated: int, threshold: IntOrPercent | None, expected: int
) -> None:
    assert ready_needed(wanted, updated, threshold) == expected


def test_readiness_counts_by_the_owners_own_min_ready_seconds() -> None:
    pods = (
        make_pod("old", ready_since=NOW - timedelta(seconds=10)),
        make_pod("young", ready_since=NOW - timedelta(seconds=4)),
        make_pod("younger", ready_since=NOW - timedelta(seconds=1)),
        make_pod("unready"),
        make_pod("leaving", ready_since=NOW - timedelta(seconds=60), deleting=True),
    )
    counted = readiness_of(pods, 5, NOW)
    assert (counted.pods, counted.ready) == (4, 1)
    assert counted.next_at == NOW + timedelta(seconds=1)


def labelled(name: str, rollout_id: str, batch: str, apps: str | None = None) -> dict[str, str]:
    return {
        ROLLOUT_ID: rollout_id,
        ROLLOUT_BATCH_ID: batch,
        ROLLOUT_BATCH_ID_APPS: batch if apps is None else apps,
    }


def test_a_node_whose_clock_is_ahead_holds_no_release_up() -> None:
    ahead = make_pod(ready_since=NOW + timedelta(hours=1))
    assert readiness_of([ahead], 0, NOW).ready == 1
    assert readiness_of([ahead], 5, NOW).next_at == NOW + timedelta(hours=1, seconds=5)


def test_new_pods_belong_to_the_batch_with_room() -> None:
    pods = [make_pod(f"p{i}", created=NOW + timedelta(seconds=i)) for i in range(4)]
    planned = plan_labels(pods, "r", [2, 4, 6], 2)
    assert [(item.pod.metadata.name, item.batch) for item in planned] == [
        ("p0", 1),
        ("p1", 1),
        ("p2", 2),
        ("p3", 2),
    ]


def test_a_replaced_pod_takes_the_number_of_the_one_it_replaces() -> None:
    pods = [
        make_pod("kept", labels=labelled("kept", "r", "1")),
        make_pod("gone", labels=labelled("gone", "r", "1"), deleting=True),
        make_pod("second", labels=labelled("second", "r", "2")),
        make_pod("new"),
    ]
    assert [(i.pod.metadata.name, i.batch) for i in plan_labels(pods, "r", [2, 3], 2)] == [
        ("new", 1)
    ]


def test_pods_beyond_every_quota_belong_to_the_current_batch() -> None:
    pods = [make_pod(f"p{i}", created=NOW + timedelta(seconds=i)) for i in range(3)]
    assert [item.batch for item in plan_labels(pods, "r", [1, 2], 2)] == [1, 2, 2]


def test_pods_of_a_later_batch_keep_it_when_the_release_steps_back() -> None:
    pods = [make_pod("later", labels=labelled("later", "r", "3")), make_pod("new")]
    assert [(i.pod.metadata.name, i.batch) for i in plan_labels(pods, "r", [1, 2, 3], 1)] == [
        ("new", 1)
    ]


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(labelled("p", "other", "1"), id="another release's"),
        pytest.param(labelled("p", "r", "x"), id="no number"),
        pytest.param(labelled("p", "r", "7"), id="a batch the plan does not have"),
        pytest.param(labelled("p", "r", "1", apps="2"), id="the older name says another"),
    ],
)
def test_wrong_labels_are_put_right(labels: dict[str, str]) -> None:
    planned = plan_labels([make_pod("p", labels=labels)], "r", [1, 2], 1)
    assert [item.batch for item in planned] == [1]


@given(
    sizes=st.lists(st.integers(0, 12), min_size=1, max_size=5).map(sorted),
    made=st.integers(0, 15),
    index=st.integers(1, 5),
)
def test_labelling_is_complete_and_stable(sizes: list[int], made: int, index: int) -> None:
    current = min(index, len(sizes))
    pods = [make_pod(f"p{i:02}", created=NOW + timedelta(seconds=i)) for i in range(made)]
    planned = plan_labels(pods, "r", sizes, current)
    assert len(planned) == made
    assert all(1 <= item.batch <= current for item in planned)
    after = [
        make_pod(
            item.pod.metadata.name,
            created=item.pod.metadata.creation_timestamp,
            labels=labelled("", "r", str(item.batch)),
        )
        for item in planned
    ]
    assert plan_labels(after, "r", sizes, current) == ()


def test_a_pod_of_a_plan_that_was_shortened_belongs_to_its_last_batch() -> None:
    (label,) = plan_labels([make_pod()], "id", [1], current=2)
    assert label.batch == 1
