"""Partitions of sets of pods: the original's conversions, and corrections of its mistakes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.api.jsontree import JsonObject, child
from controller.api.quantity import IntOrPercent, planned_replicas
from controller.api.workload_kinds import WorkloadKind
from controller.domain.pods.partition import (
    counted_partition,
    kept_old,
    moving_no_pod,
    ordered_partition,
    ordinals,
    partition_of,
    partitioned,
)
from tests.unit.builders import make_pod

STATEFUL, CLONES = WorkloadKind.STATEFUL_SET, WorkloadKind.CLONE_SET
NATIVE_DAEMONS, DAEMONS = WorkloadKind.DAEMON_SET, WorkloadKind.ADVANCED_DAEMON_SET


@pytest.mark.parametrize(
    ("replicas", "batch", "clones", "stateful"),
    [
        (10, "20%", "80%", 8),
        (5, "20%", "80%", 4),
        (5, "40%", "60%", 3),
        (5, "60%", "40%", 2),
        (5, "80%", "20%", 1),
        (5, "100%", "0%", 0),
        (3, "50%", "33%", 1),
        (1, "50%", "0%", 0),
        (5, "90%", "0%", 0),
        (10, 5, 5, 5),
        (10, 200, 0, 0),
    ],
)
def test_a_batch_becomes_a_partition(
    replicas: int, batch: IntOrPercent, clones: IntOrPercent, stateful: int
) -> None:
    new = planned_replicas(batch, replicas)
    assert counted_partition(replicas, new, percent=isinstance(batch, str)) == clones
    assert ordered_partition(replicas, new, ()) == stateful


def test_a_percentage_that_would_keep_a_pod_too_many_is_written_as_a_count() -> None:
    assert counted_partition(101, 100, percent=True) == 1
    assert counted_partition(99, 1, percent=True) == "98%"


@given(st.integers(0, 500), st.data())
def test_a_partition_allows_exactly_the_pods_it_was_made_for(
    replicas: int, data: st.DataObject
) -> None:
    new = data.draw(st.integers(0, replicas))
    partition = counted_partition(replicas, new, percent=True)
    assert replicas - kept_old(partition, replicas) == new


@given(st.integers(0, 40), st.data())
def test_the_partition_of_a_statefulset_makes_no_pod_too_many_and_keeps_those_that_are_new(
    replicas: int, data: st.DataObject
) -> None:
    there = data.draw(st.frozensets(st.integers(0, replicas + 5)))
    wanted = data.draw(st.integers(0, replicas))
    partition = ordered_partition(replicas, wanted, there)
    present = {ordinal for ordinal in there if ordinal < replicas}
    after = present | set(range(partition, replicas))
    assert len(after) == max(wanted, len(present))


def test_pods_that_were_added_above_the_partition_do_not_come_out_new() -> None:
    assert ordered_partition(20, 4, {8, 9}) == 18


def test_the_strategy_is_its_owners_with_our_partition_in_it() -> None:
    own: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    inner = {"maxUnavailable": 2, "partition": 3}
    assert partitioned(STATEFUL, own, 3) == {"type": "RollingUpdate", "rollingUpdate": inner}
    assert partitioned(DAEMONS, {}, 3) == {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 3, "paused": False},
    }
    by_owner: JsonObject = {"rollingUpdate": {"paused": True}}
    assert child(partitioned(DAEMONS, by_owner, 3), "rollingUpdate")["paused"] is True
    assert partitioned(CLONES, {"maxSurge": 1}, "40%") == {"maxSurge": 1, "partition": "40%"}


def test_a_held_set_keeps_every_pod() -> None:
    assert moving_no_pod(STATEFUL, {}) == {
        "type": "RollingUpdate",
        "rollingUpdate": {"partition": 32767},
    }
    assert moving_no_pod(CLONES, {"type": "InPlaceOnly"}) == {
        "type": "InPlaceOnly",
        "partition": "100%",
    }
    own: JsonObject = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}
    assert moving_no_pod(NATIVE_DAEMONS, own) == {
        "type": "OnDelete",
        "rollingUpdate": {"maxUnavailable": 1},
    }


@pytest.mark.parametrize(
    ("kind", "strategy", "found"),
    [
        (STATEFUL, {}, 0),
        (STATEFUL, {"rollingUpdate": {"partition": 2}}, 2),
        (CLONES, {"partition": "30%"}, "30%"),
        (CLONES, {"partition": True}, 0),
    ],
)
def test_the_partition_in_a_strategy_is_read(
    kind: WorkloadKind, strategy: JsonObject, found: IntOrPercent
) -> None:
    assert partition_of(kind, strategy) == found


def test_ordinals_are_counted_from_the_sets_own_start() -> None:
    pods = [make_pod("web-7"), make_pod("web-5"), make_pod("web-x")]
    assert ordinals(pods, 5) == {0, 2}
